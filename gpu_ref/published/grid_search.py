"""Full grid search: evaluate every feasible candidate of every state, without any assumption.

Source: Aldrich, Fernandez-Villaverde, Gallant and Rubio-Ramirez (2011), "Tapping the supercomputer under your desk:
solving dynamic equilibrium models with graphics processors", Journal of Economic Dynamics and Control 35. Its programs
maximise in every 20th sweep and evaluate the policy in between (:func:`solve`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.methods import Solution
from beltline.gpu_ref.published import iteration
from beltline.gpu_ref.tables import Array, check_tables, expectation, feasible

BLOCK = 512
"""Candidates evaluated before they are compared; few enough for the first-level cache."""

BATCH = 1 << 23
"""Candidates evaluated in one call of compiled code, a fraction of a second, so that Python can handle Ctrl-C between
calls.
"""


@njit(parallel=True, cache=True)
def _search(
    X: Array, W: Array, ev: Array, eta: float, states: NDArray[np.int64], value: Array, policy: NDArray[np.int32]
) -> None:
    # A block is first evaluated and then compared, so that the first loop has no branch, and the compiler vectorises it
    # for eta = 2. The operations on a candidate are those of `utility.crra`, so the bits are the same.
    """Search the states with flat numbers ``states``."""
    count = W.shape[1]
    for t in prange(states.size):
        x = states[t] // count
        s = states[t] % count
        wealth = W[x, s]
        n = feasible(X, wealth)
        objective = np.empty(BLOCK)
        best = -np.inf
        index = -1
        for first in range(0, n, BLOCK):
            size = min(BLOCK, n - first)
            choices = X[first : first + size]
            future = ev[s, first : first + size]
            if eta == 2.0:
                for i in range(size):
                    objective[i] = -1.0 / (wealth - choices[i]) + future[i]
            elif eta == 1.0:
                for i in range(size):
                    objective[i] = math.log(wealth - choices[i]) + future[i]
            else:
                for i in range(size):
                    objective[i] = math.pow(wealth - choices[i], 1.0 - eta) / (1.0 - eta) + future[i]
            for i in range(size):
                if objective[i] > best:
                    best = objective[i]
                    index = first + i
        value[t] = best
        policy[t] = index


def search(
    X: Array, W: Array, ev: Array, eta: float, states: NDArray[np.int64], value: Array, policy: NDArray[np.int32]
) -> None:
    """Search the given states in batches; nothing is checked.

    Parameters
    ----------
    X, W, eta
        See :mod:`beltline.gpu_ref`.
    ev
        ``EV`` as returned by :func:`beltline.gpu_ref.tables.expectation`.
    states
        Flat state numbers ``x * N_z + s``, ``(n,)`` int64.
    value, policy
        Are filled, ``(n,)`` ``float64`` and ``int32``.
    """
    size = max(1, BATCH // X.size)
    for first in range(0, states.size, size):
        part = slice(first, first + size)
        _search(X, W, ev, eta, states[part], value[part], policy[part])


def search_states(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V: ArrayLike, beta: float, eta: float, states: ArrayLike
) -> tuple[Array, NDArray[np.int32]]:
    """Search in full in some states only.

    Parameters
    ----------
    X, W, Q, V, beta, eta
        See :mod:`beltline.gpu_ref`.
    states
        Flat state numbers ``x * N_z + s``, ``(n,)`` integers, in any order.

    Returns
    -------
    value, policy
        ``(n,)`` ``float64`` and ``int32``, in the order of ``states``.

    Raises
    ------
    ValueError
        The tables break a condition, see :func:`beltline.gpu_ref.tables.check_tables`.
    IndexError
        A state number is not in ``0 .. N_k N_z - 1``.
    """
    X, W, Q, V = check_tables(X, W, Q, V, beta, eta)
    chosen = np.ascontiguousarray(states, dtype=np.int64).reshape(-1)
    if chosen.size and not (0 <= chosen.min() and chosen.max() < W.size):
        raise IndexError(f"states must lie in 0 .. {W.size - 1}, not in {chosen.min()} .. {chosen.max()}")
    value = np.empty(chosen.size)
    policy = np.empty(chosen.size, dtype=np.int32)
    search(X, W, expectation(Q, V, beta), eta, chosen, value, policy)
    return value, policy


def sweep(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V: ArrayLike, beta: float, eta: float
) -> tuple[Array, NDArray[np.int32]]:
    """Sweep once by full grid search; at most ``N_z N_k^2`` evaluations.

    Arguments, results and errors as in :mod:`beltline.gpu_ref`. The lowest index wins a tie: a later candidate must be
    strictly better.
    """
    W = np.asarray(W, dtype=np.float64)
    value, policy = search_states(X, W, Q, V, beta, eta, np.arange(W.size))
    return value.reshape(W.shape), policy.reshape(W.shape)


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    interval: int = 20,
) -> Solution:
    """Solve by full search in every ``interval``-th sweep, with policy evaluation (Howard) sweeps between them.

    Arguments and errors as for :func:`beltline.gpu_ref.published.iteration.solve`.
    """

    def searched(X: Array, W: Array, Q: Array, V: Array, beta: float, eta: float) -> tuple[Array, NDArray[np.int32]]:
        value, policy = np.empty(W.shape), np.empty(W.shape, np.int32)
        search(X, W, expectation(Q, V, beta), eta, everything, value.reshape(-1), policy.reshape(-1))
        return value, policy

    everything = np.arange(np.size(W))
    return iteration.solve(X, W, Q, V0, beta, eta, epsilon, max_sweeps, searched, interval)
