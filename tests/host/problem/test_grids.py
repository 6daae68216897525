"""Grids against their formulas at 40 digits, and arguments that are refused."""

from __future__ import annotations

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
