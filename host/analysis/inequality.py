"""How unequally something is held: Lorenz curves and Gini coefficients, of a distribution or of a sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, first, place, shown


def lorenz(values: ArrayLike, mass: ArrayLike | None = None) -> tuple[Array, Array]:
    """Return the Lorenz curve: shares of people, poorest first, and the share of all ``values`` that is theirs.

    Parameters
    ----------
    values
        What people hold, any shape; none negative, not all zero.
    mass
        How many hold it, of the same shape, none negative; by default everybody counts the same.

    Returns
    -------
    people, share : (n + 1,) float64 arrays
        From 0 to 1; the curve is the straight lines between them. ``n`` is the number of different values that
        somebody holds.

    Raises
    ------
    ProblemError
        An argument is none of that.
    """
    held = np.asarray(values, dtype=np.float64)
    weight = np.ones(held.shape) if mass is None else np.asarray(mass, dtype=np.float64)
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


def gini(values: ArrayLike, mass: ArrayLike | None = None) -> float:
    """Return the Gini coefficient: twice the area between :func:`lorenz` and equality, 0 where all hold the same.

    Arguments and errors as there.
    """
    people, share = lorenz(values, mass)
    return float(1.0 - (np.diff(people) * (share[1:] + share[:-1])).sum())
