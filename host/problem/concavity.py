"""Concavity in ``x`` of the first guess ``V0``, which searches that compare only a few candidates need.

The objective of a state then has a single peak in ``x'``, so that the search can stop at the first point whose
neighbours are lower. The value function of a problem whose choices lie on a grid is rarely concave to the last digit:
near a borrowing limit, for instance, it is not. Devices and methods that need a concave first guess use its least
concave majorant.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, first, table
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import constant_in_x, slope_fall, slope_noise, slope_rise

START_ROUNDING = 2.0**-50
"""Relative error of ``start`` (a few roundings of double precision) that does not count as a lack of concavity."""


def first_convexity(grid: Array, start: Array, wealth: Array, beta: float, eta: float) -> tuple[int, int, float] | None:
    """Find where ``start`` is so convex in ``x`` that an objective of the first sweep may have several peaks.

    The objective is ``U(W - x') + beta E[V0(x')]``. Where the slope of ``beta V0`` rises by less than the slope of
    utility falls, the objective is concave although ``V0`` is not.

    Parameters
    ----------
    grid : (N_k,) array
    start, wealth : (N_k, N_z) arrays
        First guess ``V0``, in units of utility, and cash on hand ``W``, in units of the good.
    beta, eta : float
        Discount factor and relative risk aversion.

    Returns
    -------
    (point, state, rise), or None where every objective has a single peak
        Indices of the first grid point and exogenous state at which that can happen, and by how much the slope of
        ``start`` rises there.
    """
    if grid.size < 3 or constant_in_x(start):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        rise = slope_rise(grid, start)
        size = np.abs(start)
        largest = np.maximum(np.maximum(size[:-2], size[1:-1]), size[2:])
        noise = START_ROUNDING * largest * slope_noise(grid, 1.0)[:, None]
        fall = slope_fall(grid, float(wealth.max()), eta)[:, None]
        # A slope that overflowed compares as false, and then counts as convex: it is not known to fall.
        convex = ~(rise <= noise) & ~(beta * rise <= fall)
    if not convex.any():
        return None
    j, s = first(convex)
    return j + 1, s, float(rise[j, s])


def concave_majorant(values: ArrayLike, grid: ArrayLike) -> Array:
    """Return the least concave majorant of a function on a grid: the smallest concave function nowhere below it.

    Use it to make a first guess (``start=`` of a :class:`~beltline.host.problem.problem.Problem`) that every device and
    method accepts from a value that is not concave, such as one that was loaded, interpolated from another grid, or
    computed for a problem with kinks. For problems with an infinite horizon, devices and methods that need a concave
    first guess do this themselves.

    Parameters
    ----------
    values : (N_k,) or (N_k, N_z) array
        Values of the function, finite. Each column is a separate function of ``x``.
    grid : (N_k,) array
        Grid of ``x``, strictly increasing, with any spacing.

    Returns
    -------
    float64 array of the shape of ``values``
        In the units of ``values``. It is piecewise linear and equals ``values`` at its kinks.

    Raises
    ------
    ProblemError
        ``values`` is not finite or does not have one row per grid point, or ``grid`` does not increase.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.concave_majorant([0.0, 0.0, 3.0, 3.5], grid=[0.0, 1.0, 3.0, 4.0]).tolist()
    [0.0, 1.0, 3.0, 3.5]
    """
    # Imported here because loading it takes a fifth of a second.
    from scipy.optimize import isotonic_regression

    x = table("grid", grid, 1)
    if x.size < 1 or not (np.diff(x) > 0).all():
        raise ProblemError("grid must be strictly increasing, with at least 1 point")
    given = table("values", values, (1, 2))
    if given.shape[0] != x.size:
        raise ProblemError(f"values must have one row per grid point, {x.size}, not {given.shape[0]}")
    majorant = given.reshape(x.size, -1).copy()
    if x.size < 3:
        return majorant.reshape(given.shape)
    steps = np.diff(x) / (x[-1] - x[0])
    for column in majorant.T:
        # Scaled by its largest value, so that no difference overflows.
        unit = max(float(np.abs(column).max()), np.finfo(float).tiny)
        slopes = np.diff(column / unit) / steps
        knots = isotonic_regression(slopes, weights=steps, increasing=False).blocks
        column[:] = np.interp(x, x[knots], column[knots])
    return majorant.reshape(given.shape)


def with_concave_start(problem: Problem) -> tuple[Problem, str]:
    """Return ``problem`` with a first guess from which a search that needs a single peak can begin, and a note.

    With an infinite horizon, a ``start`` that is too convex is replaced by its least concave majorant, and the note
    says so in one sentence for ``message`` of the result. Otherwise the problem is returned unchanged, with an empty
    note. With a finite horizon ``start`` is the value after the last age, a part of the problem that must not change;
    verification then tells whether the search found the best choices.
    """
    if problem.horizon is not None:
        return problem, ""
    convex = first_convexity(problem.grid, problem.start, problem.wealth, problem.beta, problem.eta)
    if convex is None:
        return problem, ""
    point, state, _ = convex
    note = (
        f"The solve began from the least concave majorant of start, which is not concave in x at grid point {point}, "
        f"state {state}, as this search needs."
    )
    return replace(problem, start=concave_majorant(problem.start, problem.grid)), note
