"""Times from call to return: each part is reported, and a solve that fails has no time."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from beltline.host.bench import call_to_return
from beltline.host.bench.call_to_return import beside, main, timed
from beltline.host.models.rbc import rbc
from beltline.host.solver.solve import solve


def test_every_part_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_to_return, "SMALL", (16,))
    assert main(["--grid", "64", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["small", "small", "shift", "turns", "machine"]
    for line in lines:
        for median, least in re.findall(r"([\d.]+) ms \(([\d.]+)\)", line):
            assert 0 < float(least) <= float(median)
    (ratio,) = re.findall(r"([\d.]+) times the solve", lines[2])
    assert float(ratio) > 1


def test_overhead_excludes_the_solve_and_the_opening() -> None:
    result = solve(rbc(grid=16), device="cpu", progress=False)
    slow = replace(result, timing={"open": 100.0, "solve": 1000.0, "verify": 1.0})
    assert beside(lambda: slow) == pytest.approx(-1100.0, abs=1.0)


def test_a_solve_that_fails_is_no_time() -> None:
    call = partial(solve, rbc(grid=16), max_sweeps=3, device="cpu", method="warm", progress=False)
    with pytest.raises(RuntimeError, match=r"^the solve with 16 grid points did not succeed: The largest change of V"):
        timed(call)


def test_opening_is_timed_in_fresh_processes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def run(command: list[str], **options: Any) -> Any:
        started.append(command)
        return type("Done", (), {"stdout": f"{0.25 * len(started)}\n"})

    def emulated(*arguments: Any, **options: Any) -> Any:
        return solve(*arguments, **options | {"device": "emulator"})

    monkeypatch.setattr(call_to_return, "solve", emulated)
    monkeypatch.setattr(call_to_return.subprocess, "run", run)
    call_to_return.opening(64, 2)
    assert len(started) == 2
    assert capsys.readouterr().out.endswith("in fresh processes: 375.000 ms (250.000)\n")


@pytest.mark.parametrize("arguments", [["--grid", "16"], ["--repeats", "0"]])
def test_bad_numbers_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(arguments)
    name, _ = arguments
    assert f"{name} must be at least" in capsys.readouterr().err.splitlines()[-1]
