"""The value of a policy of a discrete program, also where ``beta`` is so near 1 that steps alone take too long."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from beltline.gpu_ref.corrections import corrected, largest
from beltline.gpu_ref.discrete.program import Program
from beltline.gpu_ref.tables import Array

STEPS = 500
"""Largest number of policy evaluation steps. Policy iteration converges with any number of them."""

SMALL, SPARSE, LARGEST_SYSTEM = 1000, 8, 50_000
"""Number of states up to which a policy's linear system is solved; with at most :data:`SPARSE` next states of a
lottery, up to :data:`LARGEST_SYSTEM`.
"""

CONSTANTS = 4
"""Largest number of constants tried."""


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


def evaluable(program: Program) -> bool:
    """Return whether the value of a policy can be found by a linear system in less than about a second."""
    dense = program.states <= SMALL
    return dense or (program.width <= SPARSE and program.states <= LARGEST_SYSTEM)


def solved_value(program: Program, chosen: NDArray[np.int64]) -> Array:
    """Return the value of a policy, ``(n,)``, by elimination without pivots, or by :func:`policy_value` if it is large.

    ``I - beta P`` has rows whose diagonal outweighs the rest, so no pivots are needed, and no state's row is mixed with
    that of a state that it does not lead to.
    """
    reward = program.reward[chosen]
    if not evaluable(program):
        return policy_value(program, chosen, reward, 0.0)[0]
    chances = program.beta * program.chances[program.lottery[chosen]]
    system = sparse.csc_array(sparse.eye_array(program.states) - chances)
    solve = splu(system, permc_spec="COLAMD" if program.states > 1 else "NATURAL", diag_pivot_thresh=0.0).solve
    value = solve(reward)
    return np.asarray(value + solve(reward + chances @ value - value))


def policy_value(program: Program, chosen: NDArray[np.int64], start: Array, step_tol: float) -> tuple[Array, float]:
    """Return the value of a policy, ``(n,)``, and the change of its last step: ``step_tol`` or less if possible.

    Solves ``(I - beta P) V = R`` by policy evaluation steps (Puterman and Shin 1978), the last of which is moved by a
    constant (:func:`shifted`). Where :data:`STEPS` of them do not suffice, what is missing, ``D``, is the solution of
    ``(I - beta P) D = R + beta P V - V`` (:mod:`beltline.gpu_ref.corrections`). If nothing reaches ``step_tol``, the
    value with the smallest change is returned.

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
            low, high = float(change.min()), float(change.max())
            size = max(-low, high)
            if size <= step_tol:
                return value, size
            if 0.5 * (high - low) <= step_tol and tries < CONSTANTS:
                tries += 1
                moved, left = step(shifted(program, value, change))
                if largest(left) < size:
                    value = moved
                    if largest(left) <= step_tol:
                        return value, largest(left)
        return corrected(sparse.eye_array(program.states, format="csr") - chances, step, value, step_tol)
