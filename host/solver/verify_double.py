"""Verification of solutions in double precision, of devices ``"cpu"`` and ``"gpu"``, by exact sweeps."""

from __future__ import annotations

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
    tables = problem.grid, problem.wealth, problem.transition, problem.start
    return not any(table.flags.writeable for table in tables)


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
    allowed, compare = Allowed(contraction * h), _comparison(problem, device, compared)
    ages = value.shape[0] if problem.horizon is not None else 1
    worst = bound = error = 0.0
    missed = ""
    following = value if problem.horizon is None else problem.start
    for age in range(ages - 1, -1, -1):
        now, choice = (value, policy) if problem.horizon is None else (value[age], policy[age])
        found = compare(following, now, choice, allowed)
        if found.missed and not missed:
            x, s = divmod(found.state, problem.states)
            missed = (
                f"an exact sweep in double precision finds an error of {found.amount:.3g} in value or choice "
                f"at grid point {x}, state {s}" + ("" if problem.horizon is None else f", age {age + 1}")
            )
        residual, noise = found.residual, found.rounding
        worst = max(worst, residual)
        if problem.horizon is None:
            bound = (residual + noise) / (1 - contraction)
        else:
            error = contraction * error + residual + noise
            bound = max(bound, error)
        following = now
    return Verification(worst, bound, True, missed)


def _comparison(problem: Problem, device: str, made: Compared | None) -> Callable[..., Compared]:
    """Return the function that compares a value and a policy with an exact sweep, unless that was ``made``.

    Solutions of a GPU are compared on the GPU, unless they have fewer than :data:`GPU_COMPARES` states. What is not
    confirmed there is compared again on the processor, which finds out in which state the maximum was missed.
    """
    if made is not None:
        return lambda *_: made
    from beltline.gpu_ref.compare import compare

    tables, numbers = (problem.grid, problem.wealth, problem.transition), (problem.beta, problem.eta)

    def on_processor(V: Array, value: Array, policy: NDArray[np.int32], allowed: Allowed) -> Compared:
        return compare(*tables, V, *numbers, value, policy, allowed, checked=checked(problem))

    if device != "gpu" or problem.points * problem.states < GPU_COMPARES:
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
