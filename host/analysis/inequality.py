"""How unequally something is held: Lorenz curves and Gini coefficients, of a distribution or of a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.analysis.stationary import stationary_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, first, place, shown
from beltline.host.results.result import Result


def lorenz(values: ArrayLike | Result, mass: ArrayLike | None = None) -> tuple[Array, Array]:
    """Return the Lorenz curve: shares of people, poorest first, and the share of all ``values`` that is theirs.

    Parameters
    ----------
    values
        What people hold, any shape; none negative, not all zero. Or a result with an infinite horizon: what is held is
        then its asset, under :func:`~beltline.host.analysis.stationary.stationary_distribution`.
    mass
        How many hold it, of the same shape, none negative; by default everybody counts the same. None with a
        result.

    Returns
    -------
    people, share : (n + 1,) float64 arrays
        From 0 to 1; the curve is the straight lines between them. ``n`` is the number of different values that
        somebody holds.

    Raises
    ------
    ProblemError
        An argument is not of that kind, or the result has no stationary distribution.
    """
    if isinstance(values, Result):
        if mass is not None:
            raise ProblemError("mass must be None where values is a result, whose stationary distribution is taken")
        mass = stationary_distribution(values).sum(axis=1)
        values = values.problem.grid
    held = _numbers("values", values)
    weight = np.ones(held.shape) if mass is None else _numbers("mass", mass)
    if weight.shape != held.shape:
        raise ProblemError(f"mass must have the shape of values, {held.shape}, not {weight.shape}")
    for name, table in (("values", held), ("mass", weight)):
        bad = ~(np.isfinite(table) & (table >= 0))
        if bad.any():
            where = first(bad)
            raise ProblemError(f"{name} must be numbers from 0, but {place(name, where)} is {shown(table[where])}")
    levels, which = np.unique(held.ravel(), return_inverse=True)
    people = np.bincount(which.ravel(), weights=weight.ravel(), minlength=levels.size)
    levels, people = levels[people > 0], people[people > 0]
    total = float(levels @ people)
    if not total > 0:
        raise ProblemError("somebody must hold something, or there are no shares of it")
    ends = [np.concatenate([[0.0], np.cumsum(part)]) for part in (people, levels * people)]
    return ends[0] / ends[0][-1], ends[1] / ends[1][-1]


def _numbers(name: str, values: object) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        own = ", which has its own: use its attribute gini or its method lorenz" if hasattr(values, "gini") else ""
        kind, wanted = type(values).__name__, " or a Result" if name == "values" else ""
        raise ProblemError(f"{name} must be an array of numbers{wanted}, not of type {kind}{own}") from None


def gini(values: ArrayLike | Result, mass: ArrayLike | None = None) -> float:
    """Return the Gini coefficient: twice the area between :func:`lorenz` and equality, 0 where all hold the same.

    Arguments and errors as there.

    Examples
    --------
    >>> import beltline as bl
    >>> bl.gini([0.0, 0.0, 1.0, 3.0])
    0.625
    """
    people, share = lorenz(values, mass)
    return float(1.0 - (np.diff(people) * (share[1:] + share[:-1])).sum())


def percentiles(values: ArrayLike, mass: ArrayLike, shares: ArrayLike) -> Array:
    """Return the values below or at which lie these shares of ``mass``: the lowest value for which it is so.

    Parameters
    ----------
    values, mass
        What is held and how many hold it, of one shape; at least one of ``mass`` above 0, none negative.
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
    held, weight = np.asarray(values, np.float64).ravel(), np.asarray(mass, np.float64).ravel()
    there = weight > 0
    held, weight = held[there], weight[there]
    order = np.argsort(held, kind="stable")
    reached = np.cumsum(weight[order])
    # A share that rounding puts a hair above what is reached is meant to be reached.
    place = np.searchsorted(reached, np.asarray(shares, np.float64) * reached[-1] * (1 - 1e-12))
    found: Array = held[order][np.minimum(place, held.size - 1)]
    return found
