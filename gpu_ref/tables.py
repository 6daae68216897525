"""What all sweeps share: the check of the tables, and the expectation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange

Array = NDArray[np.float64]

ROW_SUM_TOLERANCE = 1e-8
"""Largest distance of a row sum of ``Q`` from 1. Tables that were rounded to 30 bits or more pass."""


@njit(cache=True)
def _sound(X: Array, W: Array, Q: Array, V: Array) -> tuple[bool, bool, bool]:
    """Check all tables in one pass, for the usual case that they are right.

    Returns whether ``W`` is finite and ``V`` below infinity; whether ``W`` does not fall in ``x``; and whether ``X``
    and ``Q`` meet every condition of :mod:`beltline.gpu_ref`.
    """
    states, wealth, value = W.shape[1], W.reshape(-1), V.reshape(-1)
    # Counting instead of branching lets the compiler vectorise the loops.
    bad = falls = wrong = 0
    for k in range(wealth.size):
        bad += 0 if (abs(wealth[k]) < np.inf) & (value[k] < np.inf) else 1
    before, here = wealth[: wealth.size - states], wealth[states:]
    for k in range(here.size):
        falls += 1 if here[k] < before[k] else 0
    wrong += 0 if (-np.inf < X[0]) & (X[X.size - 1] < np.inf) else 1
    for k in range(1, X.size):
        wrong += 0 if X[k - 1] < X[k] else 1
    for s in range(states):
        total = 0.0
        for t in range(states):
            wrong += 0 if Q[s, t] >= 0.0 else 1
            total += Q[s, t]
        # Near the tolerance the order of the sum matters: leave the decision to the slower check of :func:`_explain`.
        wrong += 0 if abs(total - 1.0) < 0.5 * ROW_SUM_TOLERANCE else 1
    return bad == 0, falls == 0, wrong == 0


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
    X, W, Q, V = (np.ascontiguousarray(table, dtype=np.float64) for table in (X, W, Q, V))
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
    good, rising, sound = _sound(X, W, Q, V)
    if not (good and sound):
        _explain(X, W, Q, V, good)
    if ordered and not rising:
        x, s = np.argwhere(np.diff(W, axis=0) < 0.0)[0]
        raise ValueError(f"W must not fall in x, but W[{x + 1}, {s}] = {W[x + 1, s]} follows W[{x}, {s}] = {W[x, s]}")
    return X, W, Q, V


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


@njit(parallel=True, cache=True)
def _expectation(Q: Array, V: Array, beta: float) -> Array:
    grid, states = V.shape
    ev = np.empty((states, grid))
    for x in prange(grid):
        for s in range(states):
            total = 0.0
            for t in range(states):
                if Q[s, t] != 0.0:
                    total += Q[s, t] * V[x, t]
            ev[s, x] = beta * total
    return ev


def expectation(Q: Array, V: Array, beta: float) -> Array:
    """Return the discounted expectation ``EV(x', s) = beta sum_s' Q(s, s') V(x', s')``, transposed to ``(N_z, N_k)``.

    Sums run in the order of ``s'``. States of probability zero are left out, so that a value of ``-inf`` there has no
    effect. ``Q`` is ``(N_z, N_z)`` and ``V`` is ``(N_k, N_z)``, both contiguous ``float64``; nothing is checked.
    """
    ev: Array = _expectation(Q, V, beta)
    return ev


@njit(cache=True, inline="always")
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
