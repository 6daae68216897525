"""The time of a first solve, and what it must not import."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from beltline.host.bench import start_up
from beltline.host.bench.start_up import main
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
    assert [line.split(" ")[0] for line in lines] == ["import", "all", "processor", "whole"]
    seconds = [float(re.findall(r"([\d.]+) s", line)[0]) for line in lines]
    assert 0 < seconds[0] < seconds[1] < seconds[3]


def test_a_solve_that_fails_is_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(
        start_up, "LINES", start_up.LINES.replace("result = bl.solve(", "result = bl.solve(max_sweeps=1, problem=")
    )
    with pytest.raises(RuntimeError, match=r"^the solve with 64 grid points did not succeed$"):
        main(["--grid", "64"])
