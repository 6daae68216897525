"""Concavity of values in ``x``, which searches with few candidates rest on.

A value on a grid is rarely concave to the last digit: where households stop at a limit, the values of choices from a
grid are not concave from point to point. Devices and methods that need a concave start take its least concave majorant.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, first, table
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import slope_fall, slope_noise, slope_rise

START_ROUNDING = 2.0**-50
"""Relative error (a few roundings of double precision) that a start may carry without being called non-concave."""


def convex_at(grid: Array, start: Array, wealth: Array, beta: float, eta: float) -> tuple[int, int, float] | None:
    """Where ``start`` is too convex in ``x`` to search from: first grid point, state, and the rise of its slope.

    None where utility's curvature makes up for any rise, so that the objectives of a first sweep have a single peak.
    """
    if grid.size < 3:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        rise = slope_rise(grid, start)
        size = np.abs(start)
        largest = np.maximum(np.maximum(size[:-2], size[1:-1]), size[2:])
        noise = START_ROUNDING * largest * slope_noise(grid, 1.0)[:, None]
        fall = slope_fall(grid, float(wealth.max()), eta)[:, None]
        # Slopes beyond double precision are not known to fall.
        convex = ~(rise <= noise) & ~(beta * rise <= fall)
    if not convex.any():
        return None
    j, s = first(convex)
    return j + 1, s, float(rise[j, s])


def concave_majorant(values: ArrayLike, grid: ArrayLike) -> Array:
    """Return the smallest concave function of ``x`` that is nowhere below ``values``, on the grid.

    A start that every search can begin from, of a value that is not concave: one that was loaded, drawn between the
    points of another grid, or returned by a solve of a problem with kinks. Devices whose search needs it make it
    themselves for problems with an infinite horizon.

    Parameters
    ----------
    values : (N_k,) or (N_k, N_z) array
        Finite; each column is a function of ``x`` of its own.
    grid : (N_k,) array
        ``X``, strictly increasing, uniform or not.

    Returns
    -------
    float64 array of the shape of ``values``, in its units. Equal to ``values`` where these touch it, and on straight
    lines between those points.

    Raises
    ------
    ProblemError
        An argument is not of that kind.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.concave_majorant([0.0, 0.0, 3.0, 3.5], grid=[0.0, 1.0, 3.0, 4.0]).tolist()
    [0.0, 1.0, 3.0, 3.5]
    """
    # Here, because it takes a fifth of a second to load.
    from scipy.optimize import isotonic_regression

    x = table("grid", grid, 1)
    if x.size < 1 or not (np.diff(x) > 0).all():
        raise ProblemError("grid must be strictly increasing, with at least 1 point")
    given = table("values", values, 1 if np.ndim(values) == 1 else 2)
    if given.shape[0] != x.size:
        raise ProblemError(f"values must have one row per grid point, {x.size}, not {given.shape[0]}")
    majorant = given.reshape(x.size, -1).copy()
    if x.size < 3:
        return majorant.reshape(given.shape)
    steps = np.diff(x) / (x[-1] - x[0])
    for column in majorant.T:
        # In units of its size, so that no difference leaves the range.
        unit = max(float(np.abs(column).max()), np.finfo(float).tiny)
        slopes = np.diff(column / unit) / steps
        knots = isotonic_regression(slopes, weights=steps, increasing=False).blocks
        column[:] = np.interp(x, x[knots], column[knots])
    return majorant.reshape(given.shape)


def searchable(problem: Problem) -> tuple[Problem, str]:
    """Return ``problem`` with a start that a search resting on single peaks can begin from, and a sentence about it.

    With a horizon the start is part of the problem, and stays: verification finds out whether the search was right.
    The sentence is empty where nothing is replaced.
    """
    if problem.horizon is not None:
        return problem, ""
    convex = convex_at(problem.grid, problem.start, problem.wealth, problem.beta, problem.eta)
    if convex is None:
        return problem, ""
    point, state, _ = convex
    note = (
        f"The solve began from the least concave majorant of start, which is not concave in x at grid point {point}, "
        f"state {state}, as this search needs."
    )
    return replace(problem, start=concave_majorant(problem.start, problem.grid)), note
