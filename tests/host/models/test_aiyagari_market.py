"""An economy is solved where its market clears and its grid is long enough, and not elsewhere."""

from __future__ import annotations

import beltline as bl


def test_a_market_that_does_not_clear_is_no_success() -> None:
    found = bl.solve(bl.aiyagari(grid=100, states=3), tol=1e-5, progress=False)
    assert abs(found.excess) < 0.01 or not found.success


def test_a_grid_that_ends_too_early_is_no_success() -> None:
    found = bl.solve(bl.aiyagari(grid=200, high=10.0), tol=1e-5, progress=False)
    assert found.at_top < 1e-3 or not found.success
