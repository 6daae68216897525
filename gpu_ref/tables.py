"""What all sweeps share: the check of the tables, and the expectation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, njit_inlined, prange, serial_and_parallel
from beltline.gpu_ref.chunk_expectation import expect_piece
from beltline.gpu_ref.threads import threads_for

Array = NDArray[np.float64]

_LEAST_LENT = 8192
"""Number of entries below which a table is copied faster than its memory is wrapped."""

ROW_SUM_TOLERANCE = 1e-8
"""Largest distance of a row sum of ``Q`` from 1. Tables that were rounded to 30 bits or more pass."""


class _Memory:
    """The memory of a read-only table, offered as writable. Only for code that does not write to it."""

    def __init__(self, table: Array) -> None:
        interface = table.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}
        self._owner = table


def as_writable(table: Array) -> Array:
    """Return a table, if it is read-only with the type of a writable one; only small tables are copied.

    Only for code that does not write to it.
    """
    if table.flags.writeable:
        return table
    owner = table.base
    if owner is not None and type(owner) is np.ndarray and owner.flags.writeable and owner.dtype == table.dtype:
        whole: Array = owner
        if whole.shape == table.shape and whole.strides == table.strides:
            return whole
    return table.copy() if table.size < _LEAST_LENT else np.asarray(_Memory(table))


@njit(cache=True)
def ends_of(entries: Array) -> tuple[float, float, bool]:
    """Return the lowest and the highest of ``entries``, ``(n,)``, and whether all are finite; nan is ignored."""
    beyond = 0
    for k in range(entries.size):
        beyond += 0 if abs(entries[k]) < np.inf else 1
    # Four series of comparisons, which need not wait for each other.
    a = b = c = d = np.inf
    e = f = g = h = -np.inf
    fours = 0 if beyond else entries.size // 4 * 4
    for k in range(0, fours, 4):
        i, j, m, n = entries[k], entries[k + 1], entries[k + 2], entries[k + 3]
        a, b, c, d = i if i < a else a, j if j < b else b, m if m < c else c, n if n < d else d
        e, f, g, h = i if i > e else e, j if j > f else f, m if m > g else g, n if n > h else h
    least, most = min(min(a, b), min(c, d)), max(max(e, f), max(g, h))
    for k in range(fours, entries.size):
        least, most = min(least, entries[k]), max(most, entries[k])
    return least, most, beyond == 0


_CHUNK = 2048
"""Rows of a table that a thread checks at a time."""


@njit(cache=True)
def _sound_rows(X: Array, W: Array, V: Array, begin: int, end: int) -> tuple[int, int, int, float]:
    """Check the rows from ``begin`` to ``end``, and the steps from the row before each.

    Returns the numbers of entries of ``W`` and ``V``, of steps of ``W`` and of steps of ``X`` that break a condition,
    and the lowest ``W(x, s) - x``.
    """
    states = W.shape[1]
    wealth, value = W[begin:end].reshape(-1), V[begin:end].reshape(-1)
    # Counting instead of branching lets the compiler vectorise the loops.
    bad = falls = wrong = 0
    for k in range(wealth.size):
        bad += 0 if (abs(wealth[k]) < np.inf) & (value[k] < np.inf) else 1
    first = max(begin, 1)
    before, here = W[first - 1 : end - 1].reshape(-1), W[first:end].reshape(-1)
    for k in range(here.size):
        falls += 1 if here[k] < before[k] else 0
    for x in range(first, end):
        wrong += 0 if X[x - 1] < X[x] else 1
    least = np.inf
    for x in range(begin, end):
        # The lowest of a row first: rows need not wait for each other.
        low = W[x, 0]
        for s in range(1, states):
            low = W[x, s] if W[x, s] < low else low
        least = min(least, low - X[x])
    return bad, falls, wrong, least


def _sound(X: Array, W: Array, Q: Array, V: Array) -> tuple[bool, bool, bool, float]:
    """Check all tables in one pass, for the usual case that they are right.

    Returns whether ``W`` is finite and ``V`` below infinity; whether ``W`` does not fall in ``x``; whether ``X`` and
    ``Q`` meet every condition of :mod:`beltline.gpu_ref`; and the lowest ``W(x, s) - x``.
    """
    grid, states = W.shape
    bad = falls = wrong = 0
    lowest = np.empty((grid - 1) // _CHUNK + 1)
    for c in prange(lowest.size):
        counts = _sound_rows(X, W, V, c * _CHUNK, min((c + 1) * _CHUNK, grid))
        bad += counts[0]
        falls += counts[1]
        wrong += counts[2]
        lowest[c] = counts[3]
    least = np.inf
    for c in range(lowest.size):
        least = min(least, lowest[c])
    wrong += 0 if (-np.inf < X[0]) & (X[grid - 1] < np.inf) else 1
    for s in range(states):
        total = 0.0
        for t in range(states):
            wrong += 0 if Q[s, t] >= 0.0 else 1
            total += Q[s, t]
        # Near the tolerance the order of the sum matters: leave the decision to the slower check of :func:`_explain`.
        wrong += 0 if abs(total - 1.0) < 0.5 * ROW_SUM_TOLERANCE else 1
    return bad == 0, falls == 0, wrong == 0, least


_sound_on_one_thread, _sound_on_all = serial_and_parallel(_sound)


def check_tables(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V: ArrayLike, beta: float, eta: float, *, ordered: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Check a table problem and return ``X, W, Q, V`` as contiguous ``float64`` arrays.

    Parameters
    ----------
    X, W, Q, V, beta, eta
        See :mod:`beltline.gpu_ref`.
    ordered
        Also require ``W`` to be non-decreasing in ``x``.

    Raises
    ------
    ValueError
        A shape does not fit, or a table breaks a condition of :mod:`beltline.gpu_ref`; the message names the first
        entry that does.
    """
    return measured_tables(X, W, Q, V, beta, eta, ordered=ordered)[0]


def measured_tables(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V: ArrayLike, beta: float, eta: float, *, ordered: bool = False
) -> tuple[tuple[Array, Array, Array, Array], float]:
    """Check a table problem as :func:`check_tables` does; return the tables and the lowest ``W(x, s) - x``."""
    X, W, Q, V = (as_writable(np.ascontiguousarray(table, dtype=np.float64)) for table in (X, W, Q, V))
    if X.ndim != 1 or X.size == 0:
        raise ValueError(f"X must have shape (N_k,) with N_k >= 1, not {X.shape}")
    if W.ndim != 2 or W.shape[0] != X.size or W.shape[1] == 0:
        raise ValueError(f"W must have shape ({X.size}, N_z) with N_z >= 1, not {W.shape}")
    states = W.shape[1]
    if Q.shape != (states, states):
        raise ValueError(f"Q must have shape {(states, states)}, not {Q.shape}")
    if V.shape != W.shape:
        raise ValueError(f"V must have shape {W.shape}, not {V.shape}")
    if not 0.0 < beta < math.inf:
        raise ValueError(f"beta must be positive and finite, not {beta}")
    if not 0.0 < eta < math.inf:
        raise ValueError(f"eta must be positive and finite, not {eta}")
    # Waking threads takes longer than the check of a small problem.
    check = _sound_on_one_thread if threads_for(W.size) == 1 else _sound_on_all
    good, rising, sound, least = check(X, W, Q, V)
    if not (good and sound):
        _explain(X, W, Q, V, good)
    if ordered and not rising:
        x, s = np.argwhere(np.diff(W, axis=0) < 0.0)[0]
        raise ValueError(f"W must not fall in x, but W[{x + 1}, {s}] = {W[x + 1, s]} follows W[{x}, {s}] = {W[x, s]}")
    return (X, W, Q, V), float(least)


def _explain(X: Array, W: Array, Q: Array, V: Array, good: bool) -> None:
    """Raise ``ValueError`` for the first entry that breaks a condition, if there is one.

    ``good`` says that ``W`` and ``V`` need no check.
    """
    for name, table in (("X", X), ("Q", Q)) if good else (("X", X), ("W", W), ("Q", Q)):
        if not np.isfinite(table).all():
            where = tuple(int(i) for i in np.argwhere(~np.isfinite(table))[0])
            raise ValueError(f"{name}{list(where)} is {table[where]}, not finite")
    if not good:
        x, s = np.argwhere(~(V < np.inf))[0]
        raise ValueError(f"V[{x}, {s}] is {V[x, s]}, neither finite nor -inf")
    if (np.diff(X) <= 0.0).any():
        x = int(np.argmax(np.diff(X) <= 0.0))
        raise ValueError(f"X must be strictly increasing, but X[{x + 1}] = {X[x + 1]} follows X[{x}] = {X[x]}")
    if (Q < 0.0).any():
        i, j = np.argwhere(Q < 0.0)[0]
        raise ValueError(f"Q[{i}, {j}] = {Q[i, j]} is negative")
    gaps = np.abs(Q.sum(axis=1) - 1.0)
    if (gaps > ROW_SUM_TOLERANCE).any():
        i = int(np.argmax(gaps > ROW_SUM_TOLERANCE))
        raise ValueError(f"row {i} of Q sums to {Q[i].sum()}, not 1")


def _expectation(Q: Array, V: Array, beta: float) -> Array:
    grid, states = V.shape
    ev = np.empty((states, grid))
    rows = max(32, 4096 // states)
    for c in prange((grid - 1) // rows + 1):
        begin = c * rows
        count = min(rows, grid - begin)
        # Rows by exogenous state, from which several sums are computed at once.
        value = np.empty((states, count))
        for x in range(count):
            for s in range(states):
                value[s, x] = V[begin + x, s]
        expect_piece(Q, beta, value, ev, 0, count, begin)
    return ev


expectation_on_one_thread, _expectation_on_all = serial_and_parallel(_expectation)


def expectation(Q: Array, V: Array, beta: float) -> Array:
    """Return the discounted expectation ``EV(x', s) = beta sum_s' Q(s, s') V(x', s')``, transposed to ``(N_z, N_k)``.

    Sums run in the order of ``s'``. States of probability zero are left out, so that a value of ``-inf`` there has no
    effect. ``Q`` is ``(N_z, N_z)`` and ``V`` is ``(N_k, N_z)``, both contiguous ``float64``; nothing is checked.
    """
    compute = expectation_on_one_thread if threads_for(V.size) == 1 else _expectation_on_all
    ev: Array = compute(Q, V, beta)
    return ev


@njit_inlined
def feasible(X: Array, wealth: float) -> int:
    """Return the number of candidates that ``wealth`` affords: those with ``X[i] < wealth``, always the first ones."""
    low = 0
    high = X.size
    while low < high:
        middle = (low + high) // 2
        if X[middle] < wealth:
            low = middle + 1
        else:
            high = middle
    return low
