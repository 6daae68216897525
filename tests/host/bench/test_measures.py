"""What is printed of a measure: a value at the limit holds, one beyond it or none does not."""

from __future__ import annotations

import math

import pytest

from beltline.host.bench.measures import at_most


@pytest.mark.parametrize(
    ("measured", "passed"), [(24.9, True), (25.0, True), (25.1, False), (math.nan, False), (math.inf, False)]
)
def test_at_most(measured: float, passed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert at_most("a call", 25.0, measured, "ms") is passed
    verdict = "holds" if passed else "does not hold"
    assert capsys.readouterr().out == f"measure  a call: asked at most 25 ms: measured {measured:g} ms, {verdict}\n"
