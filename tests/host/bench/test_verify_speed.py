"""Verification in one pass beside divide and conquer: both give the same verdict."""

from __future__ import annotations

import re

import pytest

from docs.tables import verify_speed
from docs.tables.verify_speed import divided, main


def test_both_ways_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--grid", "256", "--repeats", "2"]) == 0
    out = capsys.readouterr().out
    for way in ("as verified", "a sweep from the policy", "divide and conquer"):
        times = r"median [\d.]+ ms, [\d.]+ to [\d.]+, and [\d.]+ ms after the others"
        assert re.search(rf"256 x 4, {way}: {times}; residual [\d.e-]+, 0 missed", out)
    assert re.search(r"As verified: [\d.]+ times as fast as divide and conquer, median of 2 turns\n$", out)


def test_a_search_that_differs_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: object) -> object:
        found = divided(*arguments)  # type: ignore[arg-type]
        found.value[:] += 1e-3
        return found

    monkeypatch.setattr(verify_speed, "divided", wrong)
    assert main(["--grid", "64", "--repeats", "1"]) == 1


def test_bad_numbers_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--repeats", "0"])
    assert "--repeats must be at least 1, not 0" in capsys.readouterr().err
