"""The distribution of firms that enter, follow a policy and exit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix, identity, vstack
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import splu

from beltline.host.problem.arrays import Array


def survival(policy: NDArray[np.int32], stays: NDArray[np.bool_], produces: NDArray[np.bool_], chain: Array) -> Array:
    """Return the probability that a firm of each state also produces in the next period, ``(N_n, N_z)``.

    Parameters
    ----------
    policy : (N_n, N_z) array of int32
        Index of the workers of the period, by workers of the last period and productivity.
    stays : (N_n, N_z) array of bool
        Where a firm does not exit at the end of the period.
    produces : (N_n, N_z) array of bool
        Where a firm that has seen its productivity does not exit.
    chain : (N_z, N_z) array
        Markov matrix of productivity.
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
    """Return the mass of firms of each state in the next period, with a mass 1 of entrants without workers."""
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
    """Return the stationary mass of firms that produce, for a mass 1 of entrants per period.

    It is by workers of the last period and productivity, ``(N_n, N_z)``; None if some firms never exit.

    With a firing cost firms choose few sizes: the ends of the band in which they do not change employment. The
    equations ``mass = ahead(mass)`` are therefore solved by sparse elimination on the sizes that entrants can reach,
    and the time does not depend much on the grid.

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
    """Return the indices of the numbers of workers that a firm can reach from 0, in increasing order."""
    found = np.zeros(policy.shape[0], bool)
    fresh = np.array([0])
    while fresh.size:
        found[fresh] = True
        chosen = np.unique(policy[fresh][stays[fresh]])
        fresh = chosen[~found[chosen]]
    return np.flatnonzero(found)


def _all_exit(step: csr_matrix) -> bool:
    """Return whether an exit can be reached from every state; where exit is possible, a row sums to less than 1."""
    size = step.shape[0]
    leaves = np.asarray(step.sum(axis=1)).ravel() < 1.0 - 1e-9
    outside = csr_matrix(leaves.astype(np.float64)[None])
    # Search backwards from the outside: to states from which a firm can exit, then to states that lead to those.
    back = vstack([outside, step.T.tocsr()])
    padded = csr_matrix((back.data, back.indices + 1, back.indptr), shape=(size + 1, size + 1))
    return len(breadth_first_order(padded, 0, return_predecessors=False)) == size + 1
