"""The estimation says so when it failed, and is the same wherever it runs."""

from __future__ import annotations

import runpy
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from support.paths import ROOT

ESTIMATION = runpy.run_path(str(ROOT / "examples" / "estimation.py"))
SMALL = ["--grid", "64", "--samples", "12", "--periods", "1000"]


def found(**changes: Any) -> dict[str, Any]:
    run = SimpleNamespace(success=True, nfev=3)
    return {
        "first": run,
        "second": run,
        "point": np.array([0.984, 2.0, 0.95]),
        "errors": np.array([0.001, 0.1, 0.01]),
        "model": np.ones(5),
        "deviation": np.ones(5),
        "slopes": np.ones((5, 3)),
        "values": np.ones(3),
        "distance": 1.0,
    } | changes


@pytest.mark.parametrize(
    ("changes", "true", "good"),
    [
        ({}, (0.984, 2.0, 0.95), True),
        ({}, (0.9821, 2.19, 0.969), True),
        ({}, (0.984, 2.21, 0.95), False),
        ({}, None, True),
        ({"second": SimpleNamespace(success=False, nfev=50)}, (0.984, 2.0, 0.95), False),
        ({"first": SimpleNamespace(success=False, nfev=50)}, None, False),
        ({"point": np.array([0.995, 2.0, 0.95])}, None, False),
        ({"values": np.array([2.0, 1.0, 0.001])}, None, False),
    ],
)
def test_what_did_not_converge_or_is_far_from_the_truth_is_no_success(
    changes: dict[str, Any], true: Any, good: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ESTIMATION["report"](found(**changes), np.ones(5), true, 7) is good
    assert ("did not converge" in capsys.readouterr().out) == any(
        not run.success for run in changes.values() if hasattr(run, "success")
    )


@pytest.mark.slow
def test_dask_workers_and_data_from_a_file_give_the_same_digits(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("distributed", reason="needs Dask's distributed")
    economy = ESTIMATION["Economy"](Namespace(grid=64, states=9, samples=12), 1000, progress=False)
    series = economy.sample((0.984, 2.0, 0.95), seed=1)
    columns = ("output", "consumption", "capital")
    table = np.stack([series[name] for name in columns], axis=1)
    np.savetxt(tmp_path / "data.csv", table, "%.17g", ",", header=",".join(columns), comments="")
    ESTIMATION["main"](SMALL)
    own = capsys.readouterr().out
    plot = tmp_path / "objective.png"
    ESTIMATION["main"]([*SMALL, "--workers", "2", "--data", str(tmp_path / "data.csv"), "--plot", str(plot)])
    given = capsys.readouterr().out
    assert plot.stat().st_size > 10_000
    assert "from the truth" in own
    assert "from the truth" not in given
    for name in ("beta", "eta", "rho"):
        (one,), (other,) = (
            [line.split() for line in text.splitlines() if name in line.split()[:1]] for text in (own, given)
        )
        assert one[2:4] == other[1:3]
    assert own.splitlines()[5:] == given.splitlines()[5:-1]


def test_too_few_samples_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        ESTIMATION["main"](["--samples", "4"])
    assert stop.value.code == 2
    assert "--samples must be above 10 for a covariance of moments, not 4" in capsys.readouterr().err
