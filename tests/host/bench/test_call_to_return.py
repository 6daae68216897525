"""Times from call to return: each part is reported, and a solve that fails has no time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from beltline.gpu_ref.cuda.device import available
from beltline.host.models.rbc import rbc
from beltline.host.results.result import Result
from beltline.host.solver.solve import solve
from docs.tables import call_to_return
from docs.tables.call_to_return import beside, main, timed
from support.clock import FakeClock


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
    assert capsys.readouterr().out.splitlines()[0].endswith("in fresh processes: 375.000 ms (250.000)")


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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """Return the clock of the command, on whose headline problem of 64 grid points every measure is asked."""
    clock = FakeClock()
    monkeypatch.setattr(call_to_return, "time", clock)
    monkeypatch.setattr(call_to_return, "HEADLINE", 64)
    monkeypatch.setattr(call_to_return, "SMALL", (16,))
    monkeypatch.setattr(call_to_return, "BATCH", 5)
    monkeypatch.setattr(call_to_return, "available", lambda: "")
    monkeypatch.setattr(call_to_return, "device_name", lambda: "a card")
    return clock


def calls(clock: FakeClock, monkeypatch: pytest.MonkeyPatch, takes: Callable[[str, bool], dict[str, float]]) -> None:
    """Let each call of ``solve`` take the milliseconds of ``takes(device, verify)``, by part."""
    solved = solve(rbc(grid=64), device="cpu", method="shift", progress=False)

    def fake(problem: Any, *, device: str, verify: bool = True, **options: Any) -> Result:
        parts = {name: 1e-3 * spent for name, spent in takes(device, verify).items()}
        clock.now += sum(parts.values())
        parts.pop("outside", None)
        return replace(solved, problem=problem, timing=parts)

    monkeypatch.setattr(call_to_return, "solve", fake)


def measures(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return the printed lines of measures, from what is asked on."""
    lines = capsys.readouterr().out.splitlines()
    return [line.partition(": ")[2] for line in lines if line.startswith("measure")]


@pytest.mark.parametrize(
    ("beside_cpu", "beside_machine", "expected"),
    [
        ((0.1, 0.19), 24.0, ("0.29 ms, holds", "1.29, holds", "24 ms, holds")),
        ((0.1, 0.21), 24.0, ("0.31 ms, does not hold", "1.31, does not hold", "24 ms, holds")),
        ((0.1, 0.19), 26.0, ("0.29 ms, holds", "1.29, holds", "26 ms, does not hold")),
    ],
)
def test_measures_of_processors(
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    beside_cpu: tuple[float, float],
    beside_machine: float,
    expected: tuple[str, str, str],
) -> None:
    load, verification = beside_cpu

    def takes(device: str, verify: bool) -> dict[str, float]:
        if device == "emulator":
            return {"open": 50.0, "solve": 400.0, "outside": beside_machine}
        return {"load": load, "solve": 1.0, "outside": verification if verify else 0.0}

    calls(clock, monkeypatch, takes)
    status = main(["--grid", "64", "--repeats", "3"])
    asked = ("asked at most 0.3 ms: measured ", "asked at most 1.3: measured ", "asked at most 25 ms: measured ")
    assert measures(capsys) == [start + end for start, end in zip(asked, expected, strict=True)]
    assert status == any("not" in end for end in expected)


def test_the_median_call_counts(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    verified = [100.0, 1.2, 1.2, 9.0]

    def takes(device: str, verify: bool) -> dict[str, float]:
        return {"solve": 1.0, "outside": verified.pop(0) - 1.0 if verify else 0.0}

    calls(clock, monkeypatch, takes)
    assert call_to_return.shift(rbc(grid=64), 3)
    assert measures(capsys) == ["asked at most 1.3: measured 1.2, holds"]


@pytest.mark.parametrize(
    ("verified", "unverified", "outside", "expected"),
    [
        (2.9, 1.4, 0.4, ("2.9 ms, holds", "1.4 ms, holds", "0.4 ms, holds")),
        (3.1, 1.4, 0.4, ("3.1 ms, does not hold", "1.4 ms, holds", "0.4 ms, holds")),
        (2.9, 1.6, 0.4, ("2.9 ms, holds", "1.6 ms, does not hold", "0.4 ms, holds")),
        (2.9, 1.4, 0.6, ("2.9 ms, holds", "1.4 ms, holds", "0.6 ms, does not hold")),
    ],
)
def test_measures_of_calls_on_a_gpu(
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    verified: float,
    unverified: float,
    outside: float,
    expected: tuple[str, ...],
) -> None:
    def takes(device: str, verify: bool) -> dict[str, float]:
        whole = verified if verify else unverified
        return {"load": 0.2, "solve": whole - outside - 0.5, "read": 0.3, "verify": 0.1, "outside": outside - 0.1}

    calls(clock, monkeypatch, takes)
    passed = call_to_return.gpu(rbc(grid=64), 3)
    asked = ("asked at most 3 ms: ", "asked at most 1.5 ms: ", "asked at most 0.5 ms: ")
    assert measures(capsys) == [f"{start}measured {end}" for start, end in zip(asked, expected, strict=True)]
    assert passed == (not any("not" in end for end in expected))


@pytest.mark.parametrize(("small", "large", "status"), [(0.39, 0.38, 0), (0.41, 0.38, 1), (0.39, 0.42, 1)])
def test_measures_of_batches_on_a_gpu(
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    small: float,
    large: float,
    status: int,
) -> None:
    solved = solve(rbc(grid=64), device="cpu", method="shift", progress=False)

    def batch(problems: Any, *, verify: bool, **options: Any) -> Any:
        for problem in problems:
            # An unverified batch has no measure.
            clock.now += 1e-3 * ((large if problem.points == 64 else small) if verify else 9.0)
            yield type("Attempt", (), {"result": solved})

    monkeypatch.setattr(call_to_return, "SMALL_BATCH", 32)
    monkeypatch.setattr(call_to_return, "solve_many", batch)
    calls(clock, monkeypatch, lambda device, verify: {"solve": 0.1})
    assert main(["--gpu", "--grid", "64", "--repeats", "2", "--batch", "5"]) == status
    found = measures(capsys)[3:]
    assert [float(re.findall(r"measured ([\d.]+) ms", line)[0]) for line in found] == [large, small]
    assert [line.endswith("does not hold") for line in found] == [large > 0.4, small > 0.4]


def test_a_batch_that_is_too_small_has_no_measure(
    clock: FakeClock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solved = solve(rbc(grid=64), device="cpu", method="shift", progress=False)
    attempt = type("Attempt", (), {"result": solved})
    monkeypatch.setattr(call_to_return, "solve_many", lambda problems, **options: [attempt for _ in problems])
    assert call_to_return.batch(64, 4, 1)
    assert measures(capsys) == []


@pytest.mark.parametrize(("seconds", "verdict"), [(0.4, "holds"), (0.6, "does not hold")])
def test_measure_of_opening(
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    seconds: float,
    verdict: str,
) -> None:
    done = type("Done", (), {"stdout": f"{seconds}\n"})
    monkeypatch.setattr(call_to_return.subprocess, "run", lambda *arguments, **options: done)
    calls(clock, monkeypatch, lambda device, verify: {"open": 1.0})
    assert call_to_return.opening(64, 2) == (verdict == "holds")
    assert measures(capsys) == [f"asked at most 500 ms: measured {1e3 * seconds:g} ms, {verdict}"]
