"""The tables of a solve by proven sweeps: how they are filled, and how its result is copied from them.

Tables are ``(N_z, N_k)``, so that a row is contiguous. They are filled and copied in the chunks of
:mod:`beltline.gpu_ref.chunk_sweeps`, while a chunk is in the processor's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from beltline.compiled import njit
from beltline.gpu_ref.chunk_expectation import expect_between
from beltline.gpu_ref.row_search import Cached, Indexes
from beltline.gpu_ref.tables import Array, ends_of


class Tables(NamedTuple):
    """A problem and the state of its iteration, for compiled code.

    Attributes
    ----------
    X, W, Q, beta, eta
        As in :mod:`beltline.gpu_ref`, but ``W`` is ``(N_z, N_k)``.
    values
        ``(2, N_z, N_k)``: the values before and after a sweep; the two exchange roles after each.
    both
        ``(2, N_z, N_k + 2)``: ``EV`` in the same way, with a spare word at each end of a row.
    policy, below, here, above
        ``(N_z, N_k)`` each: cached values of every state, see :class:`~beltline.gpu_ref.row_search.Cached`.
    chunk
        Number of grid points in a chunk.
    """

    X: Array
    W: Array
    Q: Array
    beta: float
    eta: float
    values: Array
    both: Array
    policy: Indexes
    below: Array
    here: Array
    above: Array
    chunk: int


@njit(cache=True)
def piece(t: Tables, s: int, begin: int, end: int) -> Cached:
    """Return views of the cached values of grid points ``begin`` to ``end`` in exogenous state ``s``."""
    return Cached(t.policy[s, begin:end], t.below[s, begin:end], t.here[s, begin:end], t.above[s, begin:end])


@njit(cache=True)
def forget(cached: Cached) -> None:
    """Clear the cached choices and utilities of a piece."""
    policy, below, here, above = cached
    for i in range(policy.size):
        policy[i] = 0
        below[i] = here[i] = above[i] = -np.inf


@njit(cache=True)
def fill(t: Tables, W: Array, V: Array) -> bool:
    """Start from ``V`` with wealth ``W``, both ``(N_k, N_z)``; return whether the expectation of ``V`` is finite."""
    t.both[:, :, 0] = t.both[:, :, t.X.size + 1] = 0.0
    finite = True
    for begin in range(0, t.X.size, t.chunk):
        end = min(begin + t.chunk, t.X.size)
        for x in range(begin, end):
            for s in range(t.W.shape[0]):
                t.W[s, x], t.values[0, s, x] = W[x, s], V[x, s]
        for s in range(t.W.shape[0]):
            forget(piece(t, s, begin, end))
        finite &= expect_between(t.Q, t.beta, t.values[0], t.both[0], begin, end)
    return finite


@njit(cache=True)
def copy(t: Tables, turn: int, shift: Array, value: Array, policy: Indexes) -> float:
    """Copy values plus ``shift``, ``(N_z,)``, and choices into ``value`` and ``policy``, ``(N_k, N_z)``.

    ``turn``, 0 or 1, is the index in ``t.values``. Returns the largest absolute value, infinity if one is not finite.
    """
    size = 0.0
    for begin in range(0, t.X.size, t.chunk):
        end = min(begin + t.chunk, t.X.size)
        for x in range(begin, end):
            for s in range(t.W.shape[0]):
                value[x, s], policy[x, s] = t.values[turn, s, x] + shift[s], t.policy[s, x]
        least, most, finite = ends_of(value[begin:end].reshape(-1))
        size = max(size, -least, most) if finite else np.inf
    return size
