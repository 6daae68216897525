"""Grids of the endogenous state: evenly spaced, or closer together at the lower end, where policies bend."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, whole

GRID_SIZE_LIMIT = 2**20
"""Largest grid that is built, so that a mistyped size is refused and not allocated."""


def grid_uniform(low: float, high: float, points: int) -> Array:
    """Return ``points`` evenly spaced values from ``low`` to ``high``, both included.

    Raises
    ------
    ProblemError
        An argument out of range: ``high`` above ``low``, from 2 to ``GRID_SIZE_LIMIT`` points, no two of them equal.
    """
    return _spread(low, high, points, lambda share: share)


def grid_polynomial(low: float, high: float, points: int, power: float = 2.0) -> Array:
    """Return values from ``low`` to ``high`` as dense at the lower end as ``low + (high - low) u**power``, ``u`` even.

    ``power`` is at least 1, which is :func:`grid_uniform`; 7 is that of Maliar, Maliar and Valli (2010). Other
    arguments and errors as there.
    """
    power = real("power", power, "a number from 1", lambda v: 1 <= v < math.inf)
    return _spread(low, high, points, lambda share: share**power)


def grid_log(low: float, high: float, points: int, shift: float = 1.0) -> Array:
    """Return values from ``low`` to ``high`` of which ``ln(x - low + shift)`` is evenly spaced.

    The smaller ``shift``, above 0 and in units of ``x``, the closer together are the lowest. ``low = shift`` gives
    even steps of ``ln x``. Other arguments and errors as of :func:`grid_uniform`.
    """
    shift = real("shift", shift, "a number above 0", lambda v: 0 < v < math.inf)

    def bent(share: Array) -> Array:
        whole_way = math.log1p((high - low) / shift)
        return np.asarray(np.expm1(share * whole_way) / math.expm1(whole_way))

    return _spread(low, high, points, bent)


def _spread(low: float, high: float, points: int, bend: Callable[[Array], Array]) -> Array:
    low = real("low", low, "a finite number", math.isfinite)
    high = real("high", high, f"a finite number above low = {low:g}", lambda v: low < v < math.inf)
    wanted = f"a whole number from 2 to {GRID_SIZE_LIMIT}"
    points = whole("points", points, wanted, lambda v: 2 <= v <= GRID_SIZE_LIMIT)
    grid = low + (high - low) * bend(np.linspace(0.0, 1.0, points))
    grid[-1] = high
    if (np.diff(grid) <= 0).any():
        i = int(np.argmax(np.diff(grid) <= 0))
        raise ProblemError(
            f"{points} points from {low:g} to {high:g} lie so close together at the lower end that number {i + 1} "
            f"equals number {i}: use fewer points, or a grid that bends less"
        )
    return grid
