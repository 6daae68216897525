"""Inequality of a distribution or a sample: Lorenz curves, Gini coefficients and percentiles."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.analysis.policy import check_result
from beltline.host.analysis.refine import Refined
from beltline.host.analysis.stationary import stationary_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, first, numbers_of, place, shown
from beltline.host.results.result import Result


def lorenz(values: ArrayLike | Result | Refined, mass: ArrayLike | None = None) -> tuple[Array, Array]:
    """Compute a Lorenz curve: the share of the total that the poorest part of the population holds.

    Parameters
    ----------
    values : array or Result
        Amount that each person or group holds, of any shape; no amount negative, at least one above 0. For a
        :class:`Result` with an infinite horizon: its asset under the stationary distribution.
    mass : array, optional
        Number or share of people who hold each amount, of the shape of ``values``, none negative; by default 1 for
        each. Must be None if ``values`` is a result.

    Returns
    -------
    people, share : (n + 1,) float64 arrays
        Cumulative share of people, poorest first, and cumulative share of the total; both run from 0 to 1. The curve
        connects these points by straight lines. ``n`` is the number of different amounts.

    Raises
    ------
    ProblemError
        An argument is not an array of such numbers, or the result has no unique stationary distribution.

    Examples
    --------
    >>> import beltline as bl
    >>> people, share = bl.lorenz([0.0, 1.0, 3.0, 1.0])
    >>> people.tolist(), share.tolist()
    ([0.0, 0.25, 0.75, 1.0], [0.0, 0.0, 0.4, 1.0])
    """
    if isinstance(values, Result | Refined):
        if mass is not None:
            raise ProblemError("mass must be None if values is a result, whose stationary distribution is used")
        check_result(values, "a Lorenz curve")
        mass = stationary_distribution(values)
        mass = mass.sum(axis=tuple(axis for axis in range(mass.ndim) if axis != mass.ndim - 2))
        values = values.problem.grid
    wanted, kind = "an array of numbers or a Result", type(values).__name__
    if hasattr(values, "gini"):
        raise ProblemError(
            f"values must be {wanted}, not of type {kind}; {kind} has an attribute gini and a method lorenz"
        )
    amounts = numbers_of("values", values, wanted).astype(np.float64)
    if not amounts.size:
        raise ProblemError(f"values must be at least one number, not an empty array of shape {amounts.shape}")
    weight = np.ones(amounts.shape) if mass is None else numbers_of("mass", mass).astype(np.float64)
    if weight.shape != amounts.shape:
        raise ProblemError(f"mass must have the shape of values, {amounts.shape}, not {weight.shape}")
    for name, table in (("values", amounts), ("mass", weight)):
        bad = ~(np.isfinite(table) & (table >= 0))
        if bad.any():
            where = first(bad)
            raise ProblemError(
                f"{name} must be finite and not negative, but {place(name, where)} is {shown(table[where])}"
            )
    # Shares do not depend on the units, and powers of 2 change no digit: sums must not overflow.
    amounts, weight = (np.ldexp(table, -int(np.frexp(table.max())[1])) for table in (amounts, weight))
    levels, which = np.unique(amounts.ravel(), return_inverse=True)
    people = np.bincount(which.ravel(), weights=weight.ravel(), minlength=levels.size)
    levels, people = levels[people > 0], people[people > 0]
    total = float(levels @ people)
    if not total > 0:
        raise ProblemError("at least one of values with positive mass must be above 0, or shares are not defined")
    ends = [np.concatenate([[0.0], np.cumsum(part)]) for part in (people, levels * people)]
    return ends[0] / ends[0][-1], ends[1] / ends[1][-1]


def gini(values: ArrayLike | Result | Refined, mass: ArrayLike | None = None) -> float:
    """Compute the Gini coefficient: twice the area between the Lorenz curve and the line of equality.

    It is 0 if everybody holds the same, and close to 1 if one of many holds everything.

    Parameters
    ----------
    values : array or Result
        Amount that each person or group holds, or a result; see :func:`beltline.lorenz`.
    mass : array, optional
        Number or share of people who hold each amount; by default 1 for each.

    Returns
    -------
    float

    Raises
    ------
    ProblemError
        As :func:`beltline.lorenz`.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.gini([0.0, 0.0, 1.0, 3.0])
    0.625
    """
    people, share = lorenz(values, mass)
    return float(1.0 - (np.diff(people) * (share[1:] + share[:-1])).sum())


def percentiles(values: ArrayLike, mass: ArrayLike, shares: ArrayLike) -> Array:
    """Return percentiles: for each share, the lowest value at or below which this share of ``mass`` lies.

    Parameters
    ----------
    values, mass : arrays of one shape
        Amounts, and the number or share of people who hold each; no mass negative, at least one above 0.
    shares : (n,) array
        From 0 to 1.

    Returns
    -------
    (n,) float64 array

    Examples
    --------
    >>> percentiles([1.0, 2.0, 5.0], [0.5, 0.25, 0.25], [0.5, 0.75, 0.9]).tolist()
    [1.0, 2.0, 5.0]
    """
    amounts, weight = np.asarray(values, np.float64).ravel(), np.asarray(mass, np.float64).ravel()
    positive = weight > 0
    amounts, weight = amounts[positive], weight[positive]
    order = np.argsort(amounts, kind="stable")
    reached = np.cumsum(weight[order])
    # The factor: a share that exceeds a cumulative mass only by rounding errors counts as reached.
    place = np.searchsorted(reached, np.asarray(shares, np.float64) * reached[-1] * (1 - 1e-12))
    found: Array = amounts[order][np.minimum(place, amounts.size - 1)]
    return found
