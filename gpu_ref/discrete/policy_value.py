"""The value of a policy of a discrete program, also where ``beta`` is so near 1 that steps alone take too long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lu_factor, lu_solve
from scipy.sparse.linalg import LinearOperator, gmres, spilu

from beltline.gpu_ref.discrete.program import Program
from beltline.gpu_ref.tables import Array

STEPS = 500
"""Largest number of policy evaluation steps. Policy iteration converges with any number of them."""

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

CORRECTIONS = 4
"""Largest number of constants tried, and of corrections by each method."""


def shifted(program: Program, value: Array, change: Array) -> Array:
    """Return a value moved by one constant in all states, the one for which the next sweep changes it least.

    With lotteries that sum to 1, a constant ``c`` added to ``V`` lowers ``TV - V`` by ``(1 - beta) c`` in every state.
    With ``c = m / (1 - beta)``, where ``m`` is the mean of the smallest and the largest change, half the difference of
    these is left (MacQueen 1966). This difference falls in every sweep by at least the factor ``beta``, as the change
    does, and far faster where the state after some sweeps depends little on the current one.

    Parameters
    ----------
    program
        The discrete program. If its lotteries do not sum to the same, as :attr:`Program.even` defines it, the value is
        returned as it is.
    value
        ``(n,)``, units of utility: the result of a sweep, or of a step of policy evaluation.
    change
        ``(n,)``: by how much the sweep or step changed it.
    """
    if not program.even:
        return value
    # Added to `value`, which is T of the value before, whose change is about beta times as large.
    return np.asarray(value + program.beta * 0.5 * (change.min() + change.max()) / program.rate)


def policy_value(program: Program, chosen: NDArray[np.int64], start: Array, step_tol: float) -> tuple[Array, float]:
    """Return the value of a policy, ``(n,)``, and the change of its last step: ``step_tol`` or less if possible.

    Solves ``(I - beta P) V = R`` by policy evaluation steps (Puterman and Shin 1978), the last of which is moved by a
    constant (:func:`shifted`). Where :data:`STEPS` of them do not suffice, what is missing, ``D``, is the solution of
    ``(I - beta P) D = R + beta P V - V``. It is found by GMRES (Saad and Schultz 1986) or, where that does not end,
    by dense factors or by GMRES with an incomplete factorization as preconditioner (Saad 1994). What rounding leaves
    is corrected in the same way. If nothing reaches ``step_tol``, the value with the smallest change is returned.

    Parameters
    ----------
    program
        The discrete program.
    chosen
        ``(n,)``, the pair that the policy chooses in every state.
    start
        ``(n,)``, units of utility: the value that the sweep which found the policy returned.
    step_tol
        Change of a step at which a value is accepted, units of utility. With 0 it is corrected as far as possible.
    """
    reward = program.reward[chosen]
    chances = program.beta * program.chances[program.lottery[chosen]]

    def step(V: Array) -> tuple[Array, Array]:
        after = np.asarray(reward + chances @ V)
        return after, after - V

    value, tries = start, 0
    # A constant or a correction that is not finite is not taken.
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(STEPS):
            value, change = step(value)
            least, largest = float(change.min()), float(change.max())
            size = max(-least, largest)
            if size <= step_tol:
                return value, size
            if 0.5 * (largest - least) <= step_tol and tries < CORRECTIONS:
                tries += 1
                moved, left = step(shifted(program, value, change))
                if _size(left) < size:
                    value = moved
                    if _size(left) <= step_tol:
                        return value, _size(left)
        return _corrected(sparse.eye_array(program.states, format="csr") - chances, step, value, step_tol)


def _corrected(
    system: Any, step: Callable[[Array], tuple[Array, Array]], value: Array, step_tol: float
) -> tuple[Array, float]:
    """Return what :func:`policy_value` does, from a value that steps have not brought there."""
    after, left = step(value)
    for method in (_by_gmres, _with_factors):
        solve = method(system)
        for _ in range(CORRECTIONS):
            size = _size(left)
            if size <= step_tol:
                return after, size
            # Norms of numbers near 1 neither overflow nor underflow.
            found = value + solve(left / size, step_tol / size) * size
            reached, rest = step(found)
            if not _size(rest) < size:
                break
            value, after, left = found, reached, rest
    return after, _size(left)


def _by_gmres(system: Any, factors: Any = None) -> Callable[[Array, float], Array]:
    def solve(right: Array, least: float) -> Array:
        found, _ = gmres(system, right, M=factors, rtol=REDUCTION, atol=least, restart=RESTART, maxiter=CYCLES)
        return np.asarray(found)

    return solve


def _with_factors(system: Any) -> Callable[[Array, float], Array]:
    states = system.shape[0]
    try:
        if states <= DENSE and system.nnz >= SHARE_OF_ENTRIES * states**2:
            dense = lu_factor(system.toarray())
            return lambda right, _: np.asarray(lu_solve(dense, right))
        if system.nnz <= ENTRIES:
            sparse_factors = spilu(system.tocsc(), drop_tol=DROP, fill_factor=FILL)
            return _by_gmres(system, LinearOperator(system.shape, sparse_factors.solve))
    except (RuntimeError, MemoryError):
        pass  # SuperLU has met a pivot of zero, or has no memory.
    return lambda right, _: np.zeros_like(right)


def _size(change: Array) -> float:
    return float(np.abs(change).max())
