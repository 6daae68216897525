"""The tables of choices between grid points, on small grids."""

from __future__ import annotations

import numpy as np
import pytest

from docs.tables.refine import HEADS, closed, cost_of_the_grid, endogenous, errors, exact, tables


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_errors(capsys: pytest.CaptureFixture[str]) -> None:
    errors("savings without debt", grids=(33, 65), fine=257)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Reference: `egm` on 257 points, which differs from half of them by ")
    assert cells(lines[2]) == ["grid points", "error of", *HEADS]
    rows = [cells(line) for line in lines[4:10]]
    assert [row[0] for row in rows] == ["33"] * 3 + ["65"] * 3
    for row in rows[1::3]:
        assert row[1] == "consumption, mean"
        error = dict(zip(HEADS, map(float, row[2:]), strict=True))
        assert error["refined"] < min(error["grid"], error["parabola"], error["one step"], error["lines"])


def test_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    cost_of_the_grid("RBC", grids=(33, 65))
    lines = capsys.readouterr().out.splitlines()
    coarse, fine = (cells(line) for line in lines[2:4])
    assert coarse[0] == "33"
    assert fine[4] == "concave"
    assert float(coarse[2]) > 2 * float(fine[2]) > 1000 * float(fine[1])


def test_the_closed_form_is_the_limit_of_the_endogenous_grid_method() -> None:
    assert np.abs(endogenous(closed(129)) / exact(closed, 129) - 1).max() < 1e-10


def test_all_tables(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    for name in ("errors", "cost_of_the_grid"):
        monkeypatch.setattr(f"docs.tables.refine.{name}", called.append)
    tables("cpu")
    assert called == [n for n in ("RBC, log utility, full depreciation", "RBC", "savings without debt") for _ in "12"]
    assert "### RBC" in capsys.readouterr().out
