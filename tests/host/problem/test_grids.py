"""Grids against their formulas at 40 digits, and arguments that are refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import beltline as bl


@pytest.mark.parametrize(
    ("grid", "formula"),
    [
        (bl.grid_uniform(-1.0, 4.0, 101), lambda u: -1 + 5 * u),
        (bl.grid_polynomial(0.0, 1000.0, 100, 7), lambda u: 1000 * u**7),
        (bl.grid_polynomial(0.5, 40.0, 33), lambda u: 0.5 + 39.5 * u**2),
        (bl.grid_log(0.0, 50.0, 64, 0.25), lambda u: mpmath.mpf("0.25") * (mpmath.mpf(201) ** u - 1)),
        (bl.grid_log(1.0, 100.0, 21), lambda u: mpmath.mpf(100) ** u),
    ],
)
def test_points_are_those_of_the_formula(grid: np.ndarray[Any, Any], formula: Callable[[Any], Any]) -> None:
    with mpmath.workdps(40):
        exact = [float(formula(mpmath.mpf(i) / (grid.size - 1))) for i in range(grid.size)]
    assert grid == pytest.approx(exact, rel=1e-13, abs=1e-13)
    assert grid[-1] == exact[-1]
    assert (np.diff(grid) > 0).all()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: bl.grid_uniform(1, 1, 5), "high must be a finite number above low = 1, not 1"),
        (lambda: bl.grid_uniform("a", 1, 5), "low must be a finite number, not 'a'"),  # type: ignore[arg-type]
        (lambda: bl.grid_uniform(0, 1, 1), "points must be a whole number from 2 to 1048576, not 1"),
        (lambda: bl.grid_uniform(0, 1, 10**9), "points must be a whole number from 2 to 1048576, not 1000000000"),
        (lambda: bl.grid_polynomial(0, 1, 5, 0.5), "power must be a number from 1, not 0.5"),
        (lambda: bl.grid_log(0, 1, 5, 0), "shift must be a number above 0, not 0"),
        (
            lambda: bl.grid_polynomial(1, 2, 1000, 7),
            "1000 points from 1 to 2 lie so close together at the lower end that point 1 equals point 0: use fewer "
            "points, or a spacing closer to even",
        ),
        (lambda: bl.grid_log(0, "b", 5), "high must be a finite number above low = 0, not 'b'"),  # type: ignore[arg-type]
    ],
)
def test_refusals(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
        make()
