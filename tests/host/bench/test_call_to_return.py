"""Times from call to return: each part is reported, and a solve that fails has no time."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from beltline.gpu_ref.cuda.device import available
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
    ((call, ratio, alone),) = re.findall(r"return: ([\d.]+) ms .* ([\d.]+) times the solve, ([\d.]+) ms", lines[2])
    assert float(ratio) == pytest.approx(float(call) / float(alone), abs=0.01)


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


def test_calls_on_a_gpu_and_their_parts(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def on_processor(problem: Any, **options: Any) -> Any:
        return solve(problem, **options | {"device": "cpu"})

    def one_by_one(problems: Any, *, chunk: int, **options: Any) -> Any:
        assert chunk == len(problems) == 3
        return (type("Attempt", (), {"result": on_processor(problem, **options)}) for problem in problems)

    monkeypatch.setattr(call_to_return, "solve", on_processor)
    monkeypatch.setattr(call_to_return, "solve_many", one_by_one)
    monkeypatch.setattr(call_to_return, "available", lambda: "")
    monkeypatch.setattr(call_to_return, "device_name", lambda: "a card")
    assert main(["--gpu", "--grid", "64", "--repeats", "2", "--batch", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["device", "gpu", "gpu"] + 4 * ["batch"]
    assert "verify" in lines[1]
    assert "verify" not in lines[2]
    (call,), (besides,) = (re.findall(rf"{text}: ([\d.]+) ms", lines[1]) for text in ("to return", "and read"))
    assert 0 < float(besides) < float(call)


@pytest.mark.skipif(not available(), reason="there is a CUDA device")
def test_a_gpu_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["--gpu"])
    assert "--gpu cannot be used" in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--grid", "16"], ["--repeats", "0"], ["--batch", "1"]])
def test_bad_numbers_are_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(arguments)
    name, _ = arguments
    assert f"{name} must be at least" in capsys.readouterr().err.splitlines()[-1]
