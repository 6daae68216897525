"""The time of a first solve, and what it must not import."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from docs.tables import start_up
from docs.tables.start_up import main
from support.paths import ROOT

HEAVY = ("amaranth", "asyncio", "cupy", "h5py", "matplotlib", "mpmath", "pandas", "scipy.optimize", "xarray")


def test_a_default_solve_imports_nothing_heavy_but_numba() -> None:
    code = (
        "import sys, beltline as bl; bl.solve(bl.rbc(grid=64), progress=False); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[] True\n"


def test_times_are_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["--grid", "64", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" ")[0] for line in lines] == ["import", "all", "processor", "returned", "whole"]
    seconds = [float(re.findall(r"([\d.]+) s", line)[0]) for line in lines]
    assert 0 < seconds[0] < seconds[1] < seconds[3] < seconds[4]


def test_a_solve_that_fails_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(
        start_up, "LINES", start_up.LINES.replace("result = bl.solve(", "result = bl.solve(max_sweeps=1, problem=")
    )
    with pytest.raises(RuntimeError, match=r"^the solve with 64 grid points did not succeed$"):
        main(["--grid", "64"])


@pytest.mark.parametrize(
    ("returned", "status", "verdict"),
    [((9.0, 0.7, 0.9, 5.0), 0, "0.9 s, holds"), ((0.5, 1.1, 1.2, 0.9), 1, "1.1 s, does")],
)
def test_the_first_solve_is_asked_within_a_second(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    returned: tuple[float, ...],
    status: int,
    verdict: str,
) -> None:
    # The first of the processes does not count.
    turns = iter(returned)
    monkeypatch.setattr(start_up, "run", lambda grid: (0.1, 0.2, 0.3, next(turns), 8.0))
    assert main(["--repeats", "3"]) == status
    assert f"asked at most 1 s: measured {verdict}" in capsys.readouterr().out.splitlines()[-1]
