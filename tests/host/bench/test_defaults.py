"""The timings of the default method beside a plain loop and DiscreteDP."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from typing import Any

import pytest

import beltline as bl
from beltline.host.bench import defaults
from beltline.host.bench.defaults import LOOP, OURS, THEIRS, main
from support.clock import FakeClock
from support.quantecon_import import markov as markov
from support.quantecon_import import run_import


@pytest.mark.usefixtures("markov")
def test_values_agree_and_times_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--points", "100", "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("savings 100 x 5, cpu, mpi (start=coarse): chosen because ")
    assert re.search(r"\n  bl.solve +[\d.]+ ms\n  a monotone Numba loop +[\d.]+ ms, [\d.]+ times as long; values ", out)
    assert re.search(r"DiscreteDP, policy iteration +[\d.]+ ms|QuantEcon is not installed", out)


@pytest.mark.usefixtures("markov")
def test_values_that_differ_are_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(*arguments: Any, **more: Any) -> bl.Result:
        result: bl.Result = bl.solve(*arguments, **more)
        return replace(result, value=result.value + 1e-3)

    monkeypatch.setattr(defaults, "solve", wrong)
    assert main(["--points", "50", "--repeats", "1"]) == 1
    capsys.readouterr()


@pytest.mark.parametrize(
    ("loop", "pairs", "verdicts"),
    [
        (3.1, 20.5, ["3: measured 3.1, holds", "20: measured 20.5, holds"]),
        (2.9, 20.5, ["3: measured 2.9, does not hold", "20: measured 20.5, holds"]),
        (3.1, 19.5, ["3: measured 3.1, holds", "20: measured 19.5, does not hold"]),
        (3.1, None, ["3: measured 3.1, holds"]),
    ],
)
def test_measures_of_the_default(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    loop: float,
    pairs: float | None,
    verdicts: list[str],
) -> None:
    clock = FakeClock()
    solved = bl.solve(defaults.savings(20), tol=1e-10, progress=False)

    def taking(seconds: float, found: Any) -> Any:
        def run(*arguments: Any, **options: Any) -> Any:
            clock.now += seconds
            return found

        return run

    monkeypatch.setattr(defaults, "time", clock)
    monkeypatch.setattr(defaults, "SIZES", (20,))
    monkeypatch.setattr(defaults, "solve", taking(1.0, solved))
    monkeypatch.setattr(defaults, "loop", taking(loop, solved.value))
    # The same as pairs has no measure, however fast it is.
    runs = {OURS: taking(0.01, solved.value)} | ({THEIRS: taking(pairs, solved.value)} if pairs else {})
    monkeypatch.setattr(defaults, "discrete_dp", lambda problem: runs)
    status = main(["--points", "20", "--repeats", "3"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("measure")]
    assert [line.split("asked at least ")[1] for line in lines] == verdicts
    assert [LOOP in line for line in lines] == [True, False][: len(lines)]
    assert status == any("not" in verdict for verdict in verdicts)


def test_every_method_of_the_rules_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rules", "--repeats", "1", "--largest", "600"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("*") for line in lines] == [0, *[1] * (len(lines) - 2), 1]
    assert re.search(r"by a factor of [\d.]+ on average \(geometric mean\), [\d.]+ at most$", lines[-1])


def test_bad_numbers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--points", "500", "2"])
    assert "--points must be at least 8, not [500, 2]" in capsys.readouterr().err


def test_quantecon_that_crashes_while_it_is_imported_skips_a_test() -> None:
    def ended(status: int) -> Any:
        return lambda command, **_: subprocess.CompletedProcess(command, status, "", "no such module")

    with pytest.raises(pytest.skip.Exception, match="ended by signal 6"):
        run_import(run=ended(-6))
    with pytest.raises(AssertionError, match="no such module"):
        run_import(run=ended(1))
