"""How unequal a distribution is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from host.checks import ProblemError

Array = NDArray[np.float64]


def lorenz(wealth: ArrayLike, mass: ArrayLike | None = None) -> tuple[Array, Array]:
    """Return the Lorenz curve: shares of people, poorest first, and what share of all wealth they own.

    Both begin at 0 and end at 1.

    Parameters
    ----------
    wealth
        Of each agent, or of each place of a distribution; from 0.
    mass
        Of each of them; by default all the same.

    Raises
    ------
    ProblemError
        There is no wealth, or something is negative or no number.
    """
    owned = np.asarray(wealth, dtype=np.float64).reshape(-1)
    people = np.ones(owned.size) if mass is None else np.asarray(mass, dtype=np.float64).reshape(-1)
    if owned.size != people.size:
        raise ProblemError(f"mass must have as many entries as wealth, {owned.size}, not {people.size}")
    for name, table in (("wealth", owned), ("mass", people)):
        if not (np.isfinite(table).all() and table.min(initial=0.0) >= 0 and table.sum() > 0):
            raise ProblemError(f"{name} must be finite, from 0, and not all 0")
    order = np.argsort(owned, kind="stable")
    shares, parts = (np.concatenate([[0.0], np.cumsum(t[order])]) for t in (people, owned * people))
    if not parts[-1] > 0:
        raise ProblemError("nobody owns anything")
    return shares / shares[-1], parts / parts[-1]


def gini(wealth: ArrayLike, mass: ArrayLike | None = None) -> float:
    """Return the Gini coefficient, one less twice the area under the Lorenz curve: 0 where all own the same.

    Arguments and errors as of :func:`lorenz`.
    """
    shares, parts = lorenz(wealth, mass)
    return float(1 - (np.diff(shares) * (parts[1:] + parts[:-1])).sum())
