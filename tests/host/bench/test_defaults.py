"""The timings of the default method beside a plain loop and DiscreteDP."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import beltline as bl
from beltline.host.bench import defaults
from beltline.host.bench.defaults import main


def test_values_agree_and_times_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--points", "100", "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("savings 100 x 5, cpu, mpi (start=coarse, inner=10): chosen because ")
    assert re.search(r"\n  bl.solve +[\d.]+ ms\n  a monotone Numba loop +[\d.]+ ms, [\d.]+ times as long; values ", out)
    assert re.search(r"DiscreteDP, policy iteration +[\d.]+ ms|QuantEcon is not installed", out)


def test_values_that_differ_are_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong(*arguments: Any, **more: Any) -> bl.Result:
        result: bl.Result = bl.solve(*arguments, **more)
        return replace(result, value=result.value + 1e-3)

    monkeypatch.setattr(defaults, "solve", wrong)
    assert main(["--points", "50", "--repeats", "1"]) == 1
    capsys.readouterr()


def test_every_method_of_the_rules_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rules", "--repeats", "1", "--largest", "600"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.count("*") for line in lines] == [0, *[1] * (len(lines) - 2), 1]
    assert re.search(r"by a factor of [\d.]+ on average \(geometric mean\), [\d.]+ at most$", lines[-1])


def test_bad_numbers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--points", "500", "2"])
    assert "--points must be at least 8, not [500, 2]" in capsys.readouterr().err
