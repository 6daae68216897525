"""The tables of the pages on the life cycle, paths after a shock and types of households; tested at small sizes."""

from __future__ import annotations

import pytest

from docs.tables import aiyagari_path as aiyagari_path_tables
from docs.tables import aiyagari_types as aiyagari_types_tables
from docs.tables import cohort as cohort_tables


def rows(printed: str) -> list[list[str]]:
    """Return the cells of the rows of a table, without its head."""
    lines = [line for line in printed.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_a_cohort_by_age_and_by_grid(capsys: pytest.CaptureFixture[str]) -> None:
    cohort_tables.ages(60)
    printed = capsys.readouterr().out
    assert printed.startswith("A cohort from age 21 to 100, 60 grid points x 80 ages x 21 states, on device cpu\n")
    assert "\n  age                    21       30       40 " in printed
    cohort_tables.errors((40, 120), 200)
    coarse, fine = rows(capsys.readouterr().out)
    assert (coarse[0], fine[0]) == ("40", "120")
    assert float(fine[2]) < float(coarse[2])


def test_paths_by_grid_and_by_shock(capsys: pytest.CaptureFixture[str]) -> None:
    aiyagari_path_tables.grids((20,))
    ((grid, _, lowest, same, *_),) = rows(capsys.readouterr().out)
    assert (grid, float(same)) == ("20", 0.0)
    assert -1.2 < float(lowest) < -0.7
    aiyagari_path_tables.shocks(20, {"+1%, at once over": {"shock": 0.01, "persistence": 0.0, "periods": 150}})
    ((name, output, eaten, *_),) = rows(capsys.readouterr().out)
    assert (name, output) == ("+1%, at once over", "+1.000")
    assert 0 < float(eaten) < 0.2


def test_types_of_households(capsys: pytest.CaptureFixture[str]) -> None:
    aiyagari_types_tables.types(30, {"two": {"types": 2, "states": 3}})
    ((name, rate, *_),) = rows(capsys.readouterr().out)
    assert name == "two"
    assert 2.0 < float(rate) < 4.2
