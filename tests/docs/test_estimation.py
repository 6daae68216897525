"""The estimation reports when it fails, and its numbers do not depend on where it runs."""

from __future__ import annotations

import runpy
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from support.paths import ROOT

EXAMPLES = ROOT / "examples"
# Python looks for modules in the folder of the program.
sys.path.insert(0, str(EXAMPLES))
try:
    ESTIMATION = runpy.run_path(str(EXAMPLES / "estimation.py"))
    COSTS = runpy.run_path(str(EXAMPLES / "adjustment_costs.py"))
finally:
    sys.path.remove(str(EXAMPLES))
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
    assert ESTIMATION["report"](ESTIMATION["Economy"], found(**changes), np.ones(5), true, 7) is good
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


def test_simulated_plants_are_those_of_the_stationary_distribution() -> None:
    study, point = COSTS["Plants"](4000, 3, 1), np.array([0.01, 0.05, 0.1])
    (panels,) = study.of(point)
    exact = bl.solve(
        bl.lumpy_investment(steps=1, low=0.003, high=200.0, fixed=0.01, convex=0.05, sigma=0.1), progress=False
    ).moments()
    names = ("inaction", "negative", "sd_rate", "serial_correlation", "productivity_correlation")
    assert panels.shape == (3, len(study.moments)) == (3, len(names))
    np.testing.assert_allclose(panels.mean(axis=0), [exact[name] for name in names], rtol=0.03, atol=0.01)
    # Guesses share their random numbers; data have others.
    assert (COSTS["Plants"](4000, 3, 1).of(point)[0] == panels).all()
    assert study.data(point, 1).shape == (5,)
    assert (study.data(point, 1) != study.data(point, 2)).all()


def test_costs_are_estimated_from_moments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    few = ["--plants", "200", "--samples", "12", "--steps", "1"]
    plot = tmp_path / "objective.png"
    COSTS["main"]([*few, "--moments", "0.8", "0.01", "0.2", "0.0", "0.25", "--plot", str(plot)])
    text = capsys.readouterr().out
    assert "from the truth" not in text
    assert [line.split()[0] for line in text.splitlines()[1:4]] == ["fixed", "convex", "sigma"]
    assert plot.stat().st_size > 10_000
    with pytest.raises(SystemExit):
        COSTS["main"](["--moments", "0.8"])
    assert "--moments: expected 5 arguments" in capsys.readouterr().err


def test_moments_of_which_one_is_a_combination_of_the_others_are_refused() -> None:
    class Dependent(ESTIMATION["Study"]):  # type: ignore[misc,name-defined]
        names, moments, samples = ("a",), ("one", "same"), 20
        low, high, step = np.array([0.0]), np.array([1.0]), np.array([0.1])

        def of(self, *points: Any) -> list[Any]:
            draws = np.random.default_rng(0).random(self.samples)
            return [np.stack([point[0] + draws, 1.0 - point[0] - draws], axis=1) for point in points]

        def data(self, point: Any, seed: int) -> Any:
            return self.of(point)[0][0]

    with pytest.raises(SystemExit, match=r"^the moments are linearly dependent at \[0\.\d+\]: leave one out$"):
        ESTIMATION["estimate"](Dependent(), np.array([0.9, 0.1]))


HEADER = "output,consumption,capital"
GOOD = [f"{1 + 0.01 * i},{0.5 + 0.01 * (i * i % 7)},{10 + i}" for i in range(12)]


def test_data_are_read_with_names_in_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("\n".join([f"# {HEADER}", *GOOD]))
    assert list(ESTIMATION["read"](path)["capital"]) == [10.0 + i for i in range(12)]
