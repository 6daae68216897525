"""Solution of discrete problems on the processor by policy iteration, proven by one more search of every pair."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from beltline.gpu_ref.timing import timed
from beltline.host.devices.base import Progress
from beltline.host.problem.checks import ProblemError, shown, suggestion
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.certificate import certified_program, claimed_program
from beltline.host.solver.judgement import ROUNDED, UNBOUNDED, concluded
from beltline.host.solver.options import UNNAMED, SolveOptions
from beltline.host.solver.solve_general import sweep_reporter

if TYPE_CHECKING:
    from beltline.gpu_ref.discrete.policy_iteration import Iterated

DEVICE = "cpu"
"""The only device that solves such problems."""

METHOD = "policy_iteration"
"""The only method."""

OUTCOMES = {
    "ages done": Outcome.FINISHED,
    "converged": Outcome.CONVERGED,
    "sweep limit": Outcome.LIMIT,
    "not finite": Outcome.NOT_FINITE,
}
"""The outcome for each status of the solver."""


def solve_discrete(
    problem: DiscreteProblem, options: SolveOptions, device: Any, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve a discrete problem."""
    check_discrete(options, device, more)
    timing: dict[str, float] = {}
    with timed(timing, "open"):
        if report:
            report(f"solving on the {device}")
        from beltline.gpu_ref.discrete import solve, solve_ages

    program, horizon = problem.program, problem.horizon
    progress, start = sweep_reporter(report, horizon), None if problem.start is None else problem.start.reshape(-1)
    with timed(timing, "solve"):
        try:
            if horizon is not None and start is not None:
                found = solve_ages(program, start, horizon, progress)
            else:
                found = solve(program, tol=options.tol, max_sweeps=options.max_sweeps, progress=progress)
        except MemoryError as error:
            raise ProblemError(f"{error}") from error
    if found.status == "not finite" and _undiscounted(problem):
        state = problem.state_name(int(np.argmax(found.value)))
        raise ProblemError(
            f"with beta = 1 the value of {state} is infinite, or its sum of rewards has no limit: actions that never "
            "reach an end have rewards whose mean is not below 0"
        )
    outcome, message = OUTCOMES[found.status], _message(found, options.tol)
    shape, chosen = problem.answer_shape, found.chosen
    none = program.lost if horizon is None else chosen < 0
    value = np.where(none, -np.inf, found.value).reshape(shape)
    quality = claimed_program(problem, value, found.change, _claimed_bound(problem, found))
    # Without discounting, and with a horizon, the bound follows from the second search only.
    if (options.verify or horizon is not None or _undiscounted(problem)) and outcome is not Outcome.NOT_FINITE:
        if report:
            report("verifying by a second search")
        with timed(timing, "verify"):
            quality, chosen = certified_program(problem, value, found)
        if quality.missed:
            outcome, message = Outcome.NOT_VERIFIED, f"{message} But {quality.missed}."
    actions = program.action[np.maximum(chosen, 0)].astype(np.int64)
    unbounded = UNBOUNDED if horizon is not None or program.modulus < 1.0 else _no_modulus(problem)
    return Result(
        value=value,
        policy=np.where(none | (chosen < 0), -1, actions).reshape(shape),
        **concluded(quality, options, outcome, message, value, program.modulus, unbounded=unbounded),
        sweeps=found.sweeps,
        change=found.change,
        tol=options.tol,
        evaluations=found.evaluations,
        ordered=found.ordered,
        timing=timing,
        device=DEVICE,
        method=METHOD,
        problem=problem,
    )


def check_discrete(options: SolveOptions, device: Any, more: dict[str, Any]) -> None:
    """Check the arguments of :func:`solve_discrete`."""
    if not isinstance(device, str) or device not in (DEVICE, UNNAMED):
        raise ProblemError(f"a discrete problem is solved on device {DEVICE!r}, not on {shown(device)}")
    if options.method not in (None, UNNAMED, METHOD):
        raise ProblemError(f"a discrete problem is solved by method {METHOD!r}, not by {shown(options.method)}")
    takes = ("tol", "max_sweeps", "progress", "verify")
    for name in more:
        raise ProblemError(
            f"a discrete problem has no option {name!r}: it takes tol, max_sweeps, progress and verify"
            f"{suggestion(name, takes)}"
        )


def _message(found: Iterated, tol: float) -> str:
    if found.status == "ages done":
        return f"All {found.sweeps} ages were solved."
    if found.status == "not finite":
        index = np.unravel_index(int(np.argmax(~(np.abs(found.value) < np.inf))), found.value.shape)
        return f"The value of state {index[-1]} is {found.value[index]}: rewards are too large for double precision."
    if found.status == "sweep limit" and found.given_up:
        return (
            f"The value still changed by {found.change:.3g} after {found.sweeps:,} sweeps, not by less than tol, "
            f"{tol:g}: policy iteration found no better policies, since rounding errors hide what they gain at this "
            "beta, and value iteration converges slowly."
        )
    if found.status == "sweep limit":
        return (
            f"The value still changed by {found.change:.3g} after {found.sweeps:,} sweeps, not by less than tol, "
            f"{tol:g}: increase max_sweeps."
        )
    last = "The only sweep" if found.sweeps == 1 else f"The last of {found.sweeps:,} sweeps"
    return f"{last} changed the value by {found.change:.3g}.{ROUNDED if found.change >= tol else ''}"


def _undiscounted(problem: DiscreteProblem) -> bool:
    return problem.horizon is None and problem.beta == 1.0


def _no_modulus(problem: DiscreteProblem) -> str:
    if _undiscounted(problem):
        return (
            " The error has no bound: with beta = 1 actions that are the best within rounding may never reach an end."
        )
    return (
        f" The error cannot be bounded: beta = {problem.beta!r} times the largest sum of a row of Q is not below 1 by "
        "more than rounding."
    )


def _claimed_bound(problem: DiscreteProblem, found: Iterated) -> float:
    """Return the error bound that follows from a last sweep that searched every pair."""
    modulus = problem.program.modulus
    if found.status != "converged" or not modulus < 1.0:
        return math.inf
    return (modulus * found.change + 2.0 * found.rounding) / (1.0 - modulus)
