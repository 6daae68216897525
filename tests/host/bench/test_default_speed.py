"""The timings of sovereign default by brackets and by full search."""

from __future__ import annotations

import re

import pytest

from beltline.host.models.arellano.model import arellano
from docs.tables.default_speed import by_brackets, by_full_search, main


def test_both_sides_have_the_same_bits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--bonds", "31", "--incomes", "5", "--tol", "1e-6", "--repeats", "1"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"31 x 5: full search [\d.]+ s, \d+ sweeps\n", out)
    assert re.search(r"31 x 5: brackets, the same sweeps [\d.]+ s: .* after the tenth; the same bits\n", out)
    for way in ("with policy evaluation between them", "from coarser grids, as bl.solve does it"):
        assert re.search(way + r" [\d.]+ s, \d+ sweeps: .*; the same prices, values within the sum of the bounds", out)


def test_values_are_distinguished() -> None:
    country = arellano(21, 3)
    assert (by_brackets(country, 1e-3).value != by_full_search(country, 1e-1)[0]).any()


def test_an_even_number_of_bonds_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--bonds", "30"])
    assert "--bonds must be an odd number from 3, so that 0 is one of them, not 30" in capsys.readouterr().err
