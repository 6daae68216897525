"""The stationary distribution of households under a policy, on or between grid points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, identity, vstack
from scipy.sparse.csgraph import breadth_first_order, connected_components
from scipy.sparse.linalg import splu

from beltline.host.problem.arrays import Array

MASS_MOVES = 1e-13
"""Total variation distance between two periods below which a distribution counts as stationary."""

PERIODS = 200_000
"""Number of periods after which the iteration on a distribution gives up."""

ELIMINATED = 1e-9
"""Largest change of the shares of all states in a period, in total, at which their equations count as solved."""

VISITS = 1000
"""Number of periods after which the state that is then the most likely is the reference of the equations."""

SOLVED_STATES = 40_000
"""Largest number of states for which linear equations are solved; with more, the distribution is iterated."""


def stationary_of(step: Any) -> tuple[Array | None, bool]:
    """Compute the stationary distribution of a Markov matrix, ``(n, n)``.

    States that can all reach each other, and no other state, form a closed class. If there is exactly one, the
    stationary distribution is unique and zero outside it; its equations are solved by sparse elimination in the order
    of the grid (choices are near ``x``, so that the factors stay sparse). The time does not depend on how slowly the
    distribution converges.

    Returns
    -------
    mass : (n,) array or None
        The distribution. None if it is not unique or more than ``SOLVED_STATES`` states are in the closed class.
    unique : bool
        Whether there is exactly one closed class.
    """
    size = step.shape[0]
    count, classes = connected_components(step, directed=True, connection="strong")
    closed = np.ones(count, dtype=bool)
    # A state from which another class can be reached is in a class that is not closed.
    origin = np.repeat(np.arange(size), np.diff(step.indptr))
    leaves = classes[origin] != classes[step.indices]
    closed[classes[origin[leaves]]] = False
    unique = int(closed.sum()) == 1
    inside = np.flatnonzero(closed[classes])
    if unique and inside.size <= SOLVED_STATES:
        back = step[inside][:, inside].T.tocsr()
        shares = _with_share_of_one(back, 0)
        if not np.abs(back @ shares - shares).sum() <= ELIMINATED:
            # The first state is so unlikely that the shares of others, as multiples of its share, are not accurate.
            for _ in range(VISITS):
                shares = back @ shares
            shares = _with_share_of_one(back, int(shares.argmax()))
        mass = np.zeros(size)
        mass[inside] = shares
        return mass, True
    return None, unique


def _with_share_of_one(back: Any, reference: int) -> Array:
    """Solve the equations of shares that ``back`` carries forward, the share of ``reference`` set to 1 until all are
    scaled; its own equation follows from the others.
    """
    size = back.shape[0]
    shares, others = np.ones(size), np.arange(size) != reference
    if size > 1:
        equations = (identity(size, format="csc") - back.tocsc())[others]
        factors = splu(
            equations[:, others].tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        shares[others] = factors.solve(-equations[:, [reference]].toarray().ravel())
    shares = np.maximum(np.nan_to_num(shares), 0.0)
    total = float(shares.sum())
    return np.asarray(shares / total) if 0.0 < total < np.inf else np.full(size, 1.0 / size)


def renewed(step: Any, entering: Array) -> Array | None:
    """Compute the stationary mass of a population that members leave and others enter; None if some never leave.

    Parameters
    ----------
    step : (n, n) sparse matrix
        Moves of a period; the rows of states that are left sum to less than 1.
    entering : (n,) array
        Mass that enters each state in every period. Only states that it can reach are eliminated, so that the time does
        not depend on how many others there are.
    """
    inside = np.sort(_reached(step, entering))
    within = step[inside][:, inside]
    leaves = np.asarray(within.sum(axis=1)).ravel() < 1.0 - 1e-9
    # Search backwards: to states that can be left, then to states that lead to those.
    if _reached(within.T.tocsr(), leaves.astype(np.float64)).size < inside.size:
        return None
    mass = np.zeros(step.shape[0])
    equations = (identity(inside.size, format="csr") - within.T).tocsc()
    mass[inside] = np.maximum(splu(equations).solve(entering[inside]), 0.0)
    return mass


def _reached(step: csr_matrix, first: Array) -> NDArray[np.intp]:
    """Return the states that can be reached from those in which ``first`` is not 0, these included."""
    ahead, size = vstack([csr_matrix(first[None]), step.tocsr()]).tocsr(), first.size + 1
    padded = csr_matrix((ahead.data, ahead.indices + 1, ahead.indptr), shape=(size, size))
    return np.asarray(breadth_first_order(padded, 0, return_predecessors=False)[1:] - 1)
