"""What is printed of a measure: a value at the limit holds, one beyond it or none does not."""

from __future__ import annotations

import math

import pytest

from beltline.host.bench.measures import at_least, at_most


@pytest.mark.parametrize(
    ("measured", "passed"), [(24.9, True), (25.0, True), (25.1, False), (math.nan, False), (math.inf, False)]
)
def test_at_most(measured: float, passed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert at_most("a call", 25.0, measured, "ms") is passed
    verdict = "holds" if passed else "does not hold"
    assert capsys.readouterr().out == f"measure  a call: asked at most 25 ms: measured {measured:g} ms, {verdict}\n"


@pytest.mark.parametrize(("measured", "passed"), [(2.9, False), (3.0, True), (3.1, True), (math.nan, False)])
def test_at_least(measured: float, passed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert at_least("a ratio", 3.0, measured) is passed
    verdict = "holds" if passed else "does not hold"
    assert capsys.readouterr().out == f"measure  a ratio: asked at least 3: measured {measured:g}, {verdict}\n"
