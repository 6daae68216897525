"""Where firms end up that enter, follow a policy and exit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix, identity, vstack
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from beltline.host.problem.arrays import Array


def survival(policy: NDArray[np.int32], stays: NDArray[np.bool_], produces: NDArray[np.bool_], chain: Array) -> Array:
    """Probability that a firm of each state produces in the next period, too, ``(N_n, N_z)``.

    Parameters
    ----------
    policy : (N_n, N_z) array of int32
        Index of the workers of the period, by those of the last period and productivity.
    stays : (N_n, N_z) array of bool
        Where a firm does not exit at the end of the period.
    produces : (N_n, N_z) array of bool
        Where a firm that has seen its productivity does not exit.
    chain : (N_z, N_z) array
    """
    ahead = produces.astype(np.float64) @ chain.T
    found: Array = np.where(stays, np.take_along_axis(ahead, policy, axis=0), 0.0)
    return found


def ahead(
    mass: Array,
    policy: NDArray[np.int32],
    stays: NDArray[np.bool_],
    produces: NDArray[np.bool_],
    chain: Array,
    entry: Array,
) -> Array:
    """The mass of firms of each state in the next period, with a mass of 1 of entrants, who begin without workers."""
    moved = np.zeros_like(mass)
    np.add.at(moved, (policy, np.arange(policy.shape[1])), np.where(stays, mass, 0.0))
    found: Array = (moved @ chain) * produces
    found[0] += entry
    return found


def stationary(
    policy: NDArray[np.int32],
    stays: NDArray[np.bool_],
    produces: NDArray[np.bool_],
    chain: Array,
    entry: Array,
) -> Array | None:
    """Return the mass of firms that produce, by workers of the last period and productivity, for a mass of 1 of
    entrants a period; ``None`` where some firms never exit.

    With a firing cost firms choose few sizes: they come to the ends of the band in which they keep their workers. So
    the equations ``mass = ahead(mass)`` are solved by sparse elimination on the sizes that entrants come to, however
    fine the grid is.

    Parameters
    ----------
    policy, stays, produces, chain
        As of :func:`survival`.
    entry : (N_z,) array
        Probability of each productivity for an entrant.
    """
    points, states = policy.shape
    rows = _sizes(policy, stays)
    number = np.full(points, -1)
    number[rows] = np.arange(rows.size)
    size = rows.size * states
    chosen, going = policy[rows], stays[rows].ravel()
    shares = (chain[None] * produces[chosen]).reshape(size, states)[going]
    columns = (number[chosen][..., None] * states + np.arange(states)).reshape(size, states)[going]
    begins = np.concatenate([[0], np.cumsum(going * states)])
    step = csr_matrix((shares.ravel(), columns.ravel(), begins), shape=(size, size))
    step.eliminate_zeros()
    if not _all_exit(step):
        return None
    first = np.zeros(size)
    first[number[0] * states : (number[0] + 1) * states] = entry
    solved = splu(csc_matrix(identity(size, format="csr") - step.T)).solve(first)
    mass = np.zeros((points, states))
    mass[rows] = np.maximum(solved, 0.0).reshape(rows.size, states)
    return mass


def _sizes(policy: NDArray[np.int32], stays: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Indexes of the workers that firms may come to which begin without any, in order."""
    found = np.zeros(policy.shape[0], bool)
    fresh = np.array([0])
    while fresh.size:
        found[fresh] = True
        chosen = np.unique(policy[fresh][stays[fresh]])
        fresh = chosen[~found[chosen]]
    return np.flatnonzero(found)


def _all_exit(step: csr_matrix) -> bool:
    """Whether an exit can be reached from every state: where it can be at once, a row sums to less than 1."""
    size = step.shape[0]
    leaves = np.asarray(step.sum(axis=1)).ravel() < 1.0 - 1e-9
    outside = csr_matrix(leaves.astype(np.float64)[None])
    # Backwards: from outside to the states that lead there at once, and from each to those that lead to it.
    back = vstack([outside, step.T.tocsr()])
    padded = csr_matrix((back.data, back.indices + 1, back.indptr), shape=(size + 1, size + 1))
    return len(breadth_first_order(padded, 0, return_predecessors=False)) == size + 1
