"""Grids of the endogenous state: evenly spaced, or denser at the lower end, where policies have most curvature."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real, whole

GRID_SIZE_LIMIT = 2**20
"""Largest number of points, so that a mistyped size is refused before memory is allocated."""


def grid_uniform(low: float, high: float, points: int) -> Array:
    """Return an evenly spaced grid.

    Parameters
    ----------
    low, high : float
        First and last point, ``low < high``.
    points : int
        Number of points, from 2 to ``GRID_SIZE_LIMIT`` (1,048,576).

    Returns
    -------
    (points,) float64 array
        Strictly increasing.

    Raises
    ------
    ProblemError
        An argument is out of range, or two points would be equal in double precision.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.grid_uniform(0.0, 2.0, points=5).tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0]
    """
    return _spaced(low, high, points, lambda share: share)


def grid_polynomial(low: float, high: float, points: int, power: float = 2.0) -> Array:
    """Return a grid with polynomial spacing, denser at the lower end: ``low + (high - low) u**power``, ``u`` even.

    Parameters
    ----------
    low, high : float
        First and last point, ``low < high``.
    points : int
        Number of points, from 2 to ``GRID_SIZE_LIMIT`` (1,048,576).
    power : float, default 2
        Exponent, at least 1. 1 gives an even grid; a higher power moves points to the lower end. Maliar, Maliar and
        Valli (2010) use 7.

    Returns
    -------
    (points,) float64 array
        Strictly increasing.

    Raises
    ------
    ProblemError
        An argument is out of range, or two points would be equal in double precision.

    Sources
    -------
    Maliar, Maliar and Valli (2010), "Solving the incomplete markets model with aggregate uncertainty using the
    Krusell-Smith algorithm", Journal of Economic Dynamics and Control 34(1), 42-49.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.grid_polynomial(0.0, 16.0, points=5, power=2).tolist()
    [0.0, 1.0, 4.0, 9.0, 16.0]
    """
    power = real("power", power, "a number from 1", lambda v: 1 <= v < math.inf)
    return _spaced(low, high, points, lambda share: share**power)


def grid_log(low: float, high: float, points: int, shift: float = 1.0) -> Array:
    """Return a grid with logarithmic spacing, denser at the lower end: ``ln(x - low + shift)`` is evenly spaced.

    Parameters
    ----------
    low, high : float
        First and last point, ``low < high``.
    points : int
        Number of points, from 2 to ``GRID_SIZE_LIMIT`` (1,048,576).
    shift : float, default 1
        In units of ``x``, above 0. The smaller it is, the denser is the lower end. ``shift=low`` gives even steps of
        ``ln x``.

    Returns
    -------
    (points,) float64 array
        Strictly increasing.

    Raises
    ------
    ProblemError
        An argument is out of range, or two points would be equal in double precision.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.grid_log(1.0, 16.0, points=5, shift=1.0).round(12).tolist()
    [1.0, 2.0, 4.0, 8.0, 16.0]
    """
    shift = real("shift", shift, "a number above 0", lambda v: 0 < v < math.inf)

    def logarithmic(share: Array) -> Array:
        ratio = (float(high) - float(low)) / shift
        if math.isinf(ratio):
            raise ProblemError(f"shift must be so large that (high - low) / shift is finite, not {shift!r}")
        range_of_logs = math.log1p(ratio)
        return np.asarray(np.expm1(share * range_of_logs) / math.expm1(range_of_logs))

    return _spaced(low, high, points, logarithmic)


def _spaced(low: float, high: float, points: int, spacing: Callable[[Array], Array]) -> Array:
    """Return a grid from ``low`` to ``high``; ``spacing`` maps an even grid on [0, 1] to the relative positions."""
    low = real("low", low, "a finite number", math.isfinite)
    high = real("high", high, f"a finite number above low = {low:g}", lambda v: low < v < math.inf)
    wanted = f"a whole number from 2 to {GRID_SIZE_LIMIT}"
    points = whole("points", points, wanted, lambda v: 2 <= v <= GRID_SIZE_LIMIT)
    if math.isinf(high - low):
        raise ProblemError(f"high - low must be finite, and {high!r} - {low!r} is too large for double precision")
    grid = low + (high - low) * spacing(np.linspace(0.0, 1.0, points))
    grid[-1] = high
    if (np.diff(grid) <= 0).any():
        i = int(np.argmax(np.diff(grid) <= 0))
        raise ProblemError(
            f"{points} points from {low:g} to {high:g} lie so close together at the lower end that point {i + 1} "
            f"equals point {i}: use fewer points, or a spacing closer to even"
        )
    return grid
