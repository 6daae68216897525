"""Verification of solutions in double precision, of devices ``"cpu"`` and ``"gpu"``, by exact sweeps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.comparison import Allowed, Compared
from beltline.host.problem.problem import Problem
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.verify import Verification

if TYPE_CHECKING:
    from beltline.gpu_ref.tables import Array

GPU_COMPARES = 2**12
"""Number of states from which a GPU compares a solution. Smaller ones take it longer than a processor, because of its
launches and copies.
"""


def checked(problem: Problem) -> bool:
    """Return whether the tables are those that the problem has checked: only pickled copies of it can be changed."""
    grid, wealth, transition, start = problem.grid, problem.wealth, problem.transition, problem.start
    written = grid.flags.writeable or wealth.flags.writeable or transition.flags.writeable or start.flags.writeable
    return not written


def confirms(problem: Problem, options: SolveOptions, method: str) -> bool:
    """Return whether a GPU compares a solution with an exact sweep before it is copied to the host."""
    from beltline.gpu_ref.methods import METHODS

    return options.verify and METHODS[method].rule != "own" and problem.points * problem.states >= GPU_COMPARES


def measure(
    problem: Problem,
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    h: float,
    device: str,
    compared: Compared | None = None,
) -> Verification:
    """Verify a solution by one exact sweep, or one for each age.

    ``h`` is what the stopping rule measured, infinity for a rule without a guarantee. The rule guarantees ``|TV - V| <=
    modulus h``, and then the policy, which is that of the sweep before, loses at most twice that. ``compared`` is the
    comparison with an exact sweep if the solver has made it.
    """
    contraction = problem.modulus
    allowed = Allowed(contraction * h)
    if problem.horizon is None:
        found = compared or _comparison(problem, device)(value, value, policy, allowed)
        bound = (found.residual + found.rounding) / (1 - contraction)
        missed = _missed(found, problem.states)
        return Verification(found.residual, bound, True, missed, None if missed else found.policy)
    compare = _comparison(problem, device)
    worst = bound = error = 0.0
    missed, best = "", policy.copy()
    following = problem.start
    for age in range(value.shape[0] - 1, -1, -1):
        found = compare(following, value[age], policy[age], allowed)
        missed = missed or _missed(found, problem.states, f", age {age + 1}")
        if found.policy is not None:
            best[age] = found.policy
        worst = max(worst, found.residual)
        error = contraction * error + found.residual + found.rounding
        bound = max(bound, error)
        following = value[age]
    return Verification(worst, bound, True, missed, None if missed else best)


def _missed(found: Compared, states: int, age: str = "") -> str:
    """Return a clause about the first state whose value or choice is wrong; empty if all are right."""
    if not found.missed:
        return ""
    x, s = divmod(found.state, states)
    return (
        f"an exact sweep in double precision finds an error of {found.amount:.3g} in value or choice "
        f"at grid point {x}, state {s}{age}"
    )


@functools.cache
def _compare() -> Callable[..., Compared]:
    """Return the comparison on the processor; not imported before the first solve, because that takes long."""
    from beltline.gpu_ref.compare import compare

    return compare


def _comparison(problem: Problem, device: str) -> Callable[..., Compared]:
    """Return the function that compares a value and a policy with an exact sweep.

    Solutions of a GPU are compared on the GPU, unless they have fewer than :data:`GPU_COMPARES` states. What is not
    confirmed there is compared again on the processor, which finds out in which state the maximum was missed.
    """
    compare = _compare()
    tables, numbers = (problem.grid, problem.wealth, problem.transition), (problem.beta, problem.eta)

    def on_processor(V: Array, value: Array, policy: NDArray[np.int32], allowed: Allowed) -> Compared:
        return compare(*tables, V, *numbers, value, policy, allowed, checked=checked(problem))

    if device == "cpu" or problem.points * problem.states < GPU_COMPARES:
        return on_processor
    from beltline.gpu_ref.cuda.device import available

    if available():
        return on_processor
    from beltline.gpu_ref.cuda.device_confirmation import Confirmation

    try:
        card = Confirmation(*tables, *numbers)
    except MemoryError:
        return on_processor

    def on_card(V: Array, value: Array, policy: NDArray[np.int32], allowed: Allowed) -> Compared:
        return card.compare(V, value, policy, allowed) or on_processor(V, value, policy, allowed)

    return on_card
