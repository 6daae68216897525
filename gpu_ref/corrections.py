"""Correct a value function by the solution of a linear system, where steps of value iteration alone take too long.

What a value ``V`` is short of the fixed point of an operator ``E`` is about ``(I - J)^-1 (E V - V)``, where ``J`` is
the derivative of ``E``. For the operator of a policy, ``E V = R + beta P V``, this is exact, with ``J = beta P``. The
system is solved by GMRES (Saad and Schultz 1986) or, where that does not end, by dense factors or by GMRES with an
incomplete factorization as preconditioner (Saad 1994), or by :func:`by_residuals`. What rounding leaves is corrected in
the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import LinearOperator, gmres, spilu

from beltline.compiled import njit
from beltline.gpu_ref.tables import Array

Indexes = NDArray[np.int32]

RESTART, CYCLES = 20, 10
"""Iterations of GMRES between restarts, and the number of restarts."""

REDUCTION = 1e-8
"""GMRES ends where the norm of what is left is at most this share of the first."""

DENSE, SHARE_OF_ENTRIES = 2000, 0.1
"""Largest number of states, and least share of entries that are not 0, for which the system is factorized as a dense
matrix if GMRES does not converge.
"""

ENTRIES = 4_000_000
"""Largest number of entries of any other system for which GMRES is preconditioned if it does not converge."""

DROP, FILL = 1e-8, 10
"""Entries of the factors below this share of their column are dropped; factors have at most this many times the entries
of the system.
"""

Solver = Callable[[Array, float], Array]
"""Solves a system for a right side, until what is left has at most the given norm, or as far as it can."""

Method = Callable[[Any], Solver]
"""Prepares the solution of a system."""

CORRECTIONS = 4
"""Largest number of corrections by each method."""


def corrected(
    system: Any,
    step: Callable[[Array], tuple[Array, Array]],
    value: Array,
    step_tol: float,
    methods: Sequence[Method] | None = None,
) -> tuple[Array, float]:
    """Return a value near the fixed point of an operator, and the change of the last step.

    Parameters
    ----------
    system
        ``(n, n)``, sparse: ``I - J``.
    step
        Applies the operator to a value, ``(n,)``; returns the value after it and the change.
    value
        ``(n,)``, units of utility: where to begin.
    step_tol
        Change of a step at which a value is accepted, units of utility. With 0 it is corrected as far as possible.
    methods
        What solves the system, in this order; by default :func:`by_gmres` and then :func:`with_factors`.

    Returns
    -------
    value, change
        ``(n,)``, the result of a step with the smallest change found, and that change. It is finite if the first is.
    """
    after, left = step(value)
    for method in methods or (by_gmres, with_factors):
        solve = method(system)
        for _ in range(CORRECTIONS):
            size = largest(left)
            if size <= step_tol:
                return after, size
            # Norms of numbers near 1 neither overflow nor underflow.
            found = value + solve(left / size, step_tol / size) * size
            reached, rest = step(found)
            if not largest(rest) < size:
                break
            value, after, left = found, reached, rest
    return after, largest(left)


def by_gmres(system: Any, factors: Any = None) -> Solver:
    """Solve by GMRES, with the preconditioner ``factors`` if it is given."""

    def solve(right: Array, least: float) -> Array:
        found, _ = gmres(system, right, M=factors, rtol=REDUCTION, atol=least, restart=RESTART, maxiter=CYCLES)
        return np.asarray(found)

    return solve


def by_residuals(system: Any) -> Solver:
    """Solve by at most :data:`RESTART` generalised conjugate residuals (Eisenstat, Elman and Schultz 1983).

    The preconditioner is symmetric Gauss-Seidel, for states in an order along which few return.
    """
    return lambda right, least: _residuals(system.indptr, system.indices, system.data, right, least)


@njit(cache=True)
def _residuals(begin: Indexes, column: Indexes, entry: Array, right: Array, least: float) -> Array:
    """Solve a sparse system for ``right``, ``(n,)``, until the norm of what is left is at most ``least``."""
    found, rest = np.zeros_like(right), right.copy()
    moves, effects = np.empty((RESTART, right.size)), np.empty((RESTART, right.size))
    for k in range(RESTART):
        # Compiled products of vectors would start the threads of BLAS, which wait for each other on a busy computer.
        if not np.sqrt((rest * rest).sum()) > least:
            break
        moves[k] = _relaxed(begin, column, entry, rest)
        effects[k] = 0.0
        for i in range(right.size):
            for j in range(begin[i], begin[i + 1]):
                effects[k, i] += entry[j] * moves[k, column[j]]
        for j in range(k):
            share = (effects[j] * effects[k]).sum()
            effects[k] -= share * effects[j]
            moves[k] -= share * moves[j]
        norm = np.sqrt((effects[k] * effects[k]).sum())
        if not norm > 0.0:
            break
        effects[k] /= norm
        moves[k] /= norm
        length = (effects[k] * rest).sum()
        found += length * moves[k]
        rest -= length * effects[k]
    return found


@njit(cache=True)
def _relaxed(begin: Indexes, column: Indexes, entry: Array, right: Array) -> Array:
    """Return about the solution of a sparse system, ``(n,)``, after a forward and a backward pass of Gauss-Seidel.

    Its error is the product of the parts below and above the diagonal: none if no state leads to a lower one, or none
    to a higher one, and of low rank if all that leads back goes to few states.
    """
    found, diagonal = np.empty_like(right), np.zeros_like(right)
    for i in range(right.size):
        known = 0.0
        for k in range(begin[i], begin[i + 1]):
            if column[k] < i:
                known += entry[k] * found[column[k]]
            elif column[k] == i:
                diagonal[i] += entry[k]
        found[i] = (right[i] - known) / diagonal[i]
    for i in range(right.size - 1, -1, -1):
        known = 0.0
        for k in range(begin[i], begin[i + 1]):
            if column[k] > i:
                known += entry[k] * found[column[k]]
        found[i] -= known / diagonal[i]
    return found


def with_factors(system: Any) -> Solver:
    """Solve by dense factors, or by GMRES with sparse ones; what is too large for both has the solution 0."""
    states = system.shape[0]
    try:
        if states <= DENSE and system.nnz >= SHARE_OF_ENTRIES * states**2:
            dense = lu_factor(system.toarray())
            return lambda right, _: np.asarray(lu_solve(dense, right))
        if system.nnz <= ENTRIES:
            sparse_factors = spilu(system.tocsc(), drop_tol=DROP, fill_factor=FILL)
            return by_gmres(system, LinearOperator(system.shape, sparse_factors.solve))
    except (RuntimeError, MemoryError):
        pass  # SuperLU has met a pivot of zero, or has no memory.
    return lambda right, _: np.zeros_like(right)


def largest(change: Array) -> float:
    """Return the largest absolute entry."""
    return float(np.abs(change).max())
