"""The tables of a solve by proven sweeps: how they are filled, and how its result is copied from them.

Tables are ``(N_z, N_k)``, so that a row is contiguous. Work is divided into the chunks of
:mod:`beltline.gpu_ref.chunk_sweeps`, so that memory that is used for the first time is provided to all threads at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from beltline.compiled import njit, prange, serial_and_parallel
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
def _fill_chunk(t: Tables, W: Array, V: Array, begin: int, end: int) -> bool:
    """Fill grid points ``begin`` to ``end`` as :func:`_fill` does."""
    value = t.values[0]
    for x in range(begin, end):
        for s in range(t.W.shape[0]):
            t.W[s, x], value[s, x] = W[x, s], V[x, s]
    for s in range(t.W.shape[0]):
        forget(piece(t, s, begin, end))
    return expect_between(t.Q, t.beta, value, t.both[0], begin, end)


def _fill(t: Tables, W: Array, V: Array) -> bool:
    """Start from ``V`` with wealth ``W``, both ``(N_k, N_z)``; return whether the expectation of ``V`` is finite."""
    t.both[:, :, 0] = t.both[:, :, t.X.size + 1] = 0.0
    beyond = 0
    for c in prange((t.X.size - 1) // t.chunk + 1):
        begin = c * t.chunk
        beyond += 0 if _fill_chunk(t, W, V, begin, min(begin + t.chunk, t.X.size)) else 1
    return beyond == 0


serial_fill, parallel_fill = serial_and_parallel(_fill)


@njit(cache=True)
def _copy_chunk(t: Tables, turn: int, shift: Array, value: Array, policy: Indexes, begin: int, end: int) -> float:
    """Copy grid points ``begin`` to ``end`` as :func:`_copy` does."""
    for x in range(begin, end):
        for s in range(t.W.shape[0]):
            value[x, s], policy[x, s] = t.values[turn, s, x] + shift[s], t.policy[s, x]
    least, most, finite = ends_of(value[begin:end].reshape(-1))
    return max(-least, most) if finite else np.inf


def _copy(t: Tables, turn: int, shift: Array, value: Array, policy: Indexes) -> float:
    """Copy values plus ``shift``, ``(N_z,)``, and choices into ``value`` and ``policy``, ``(N_k, N_z)``.

    ``turn``, 0 or 1, is the index in ``t.values``. Returns the largest absolute value, infinity if one is not finite.
    """
    sizes = np.empty((t.X.size - 1) // t.chunk + 1)
    for c in prange(sizes.size):
        begin = c * t.chunk
        sizes[c] = _copy_chunk(t, turn, shift, value, policy, begin, min(begin + t.chunk, t.X.size))
    size = 0.0
    for c in range(sizes.size):
        size = max(size, sizes[c])
    return size


serial_copy, parallel_copy = serial_and_parallel(_copy)
