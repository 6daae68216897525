"""Solution of discrete problems on the processor by policy iteration, proven by one more search of every pair."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import timed
from beltline.host.devices.base import Progress
from beltline.host.problem.checks import ProblemError, shown, suggestion
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.certify import bounds_by_state
from beltline.host.solver.judgement import ROUNDED, UNBOUNDED, judged, lowers, promised
from beltline.host.solver.options import UNNAMED, SolveOptions
from beltline.host.solver.solve_general import sweep_reporter
from beltline.host.solver.tolerance import usual_utility

if TYPE_CHECKING:
    from beltline.gpu_ref.discrete.exact_step import Measured
    from beltline.gpu_ref.discrete.policy_iteration import Iterated

DEVICE = "cpu"
"""The only device that solves such problems."""

METHOD = "policy_iteration"
"""The only method."""

OUTCOMES = {"converged": Outcome.CONVERGED, "sweep limit": Outcome.LIMIT, "not finite": Outcome.NOT_FINITE}
"""The outcome for each status of the solver."""


def solve_discrete(
    problem: DiscreteProblem, options: SolveOptions, device: Any, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve a discrete problem.

    Parameters
    ----------
    problem
    options
        ``tol``, ``max_sweeps`` and ``verify`` are used.
    device
        ``"cpu"`` or ``"auto"``.
    more
        Further options, of which this method has none: each raises an error.
    report
        Called with lines of progress.

    Raises
    ------
    ProblemError
        The device, the method or an option does not apply to such problems, or the problem does not fit in memory.
    """
    check_discrete(options, device, more)
    timing: dict[str, float] = {}
    with timed(timing, "open"):
        if report:
            report(f"solving on the {device}")
        from beltline.gpu_ref.discrete import measured, solve

    program = problem.program
    with timed(timing, "solve"):
        try:
            found = solve(program, tol=options.tol, max_sweeps=options.max_sweeps, progress=sweep_reporter(report))
        except MemoryError as error:
            raise ProblemError(f"{error}") from error
    outcome, message = OUTCOMES[found.status], _message(found, options.tol)
    residual, bound, verified = _unverified(problem, found)
    chosen = found.chosen
    if options.verify and outcome is not Outcome.NOT_FINITE:
        if report:
            report("verifying by a second search")
        with timed(timing, "verify"):
            second = measured(program, found.value, found.chosen, found.change)
        residual, bound, verified = second.residual, second.error_bound, True
        chosen = found.chosen if second.missed else second.chosen
        if second.missed:
            outcome, message = Outcome.NOT_VERIFIED, f"{message} But {_missed(problem, second)}."
    unbounded = UNBOUNDED if program.modulus < 1.0 else _no_modulus(problem)
    modulus = program.modulus
    cure, accepted = lowers(residual, bound, modulus), promised(options, modulus)
    usual = partial(usual_utility, problem)
    value = found.value.reshape(problem.shape)
    by_state = partial(bounds_by_state, problem, value)
    outcome, message = judged(outcome, message, value, bound, cure, accepted, usual, unbounded, by_state)
    return Result(
        value=value,
        policy=_actions(problem, chosen).reshape(problem.shape),
        success=outcome is Outcome.CONVERGED,
        status=outcome.value,
        message=message,
        sweeps=found.sweeps,
        change=found.change,
        residual=residual,
        error_bound=bound,
        verified=verified,
        tol=options.tol,
        evaluations=found.evaluations,
        ordered=found.ordered,
        timing=timing,
        device=DEVICE,
        method=METHOD,
        problem=problem,
    )


def check_discrete(options: SolveOptions, device: Any, more: dict[str, Any]) -> None:
    """Check the arguments of :func:`solve_discrete`.

    Raises
    ------
    ProblemError
        The device, the method or an option does not apply to such problems.
    """
    if device not in (DEVICE, UNNAMED):
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
    if found.status == "not finite":
        state = int(np.argmax(~np.isfinite(found.value)))
        return f"The value of state {state} is {found.value[state]}: rewards are too large for double precision."
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


def _no_modulus(problem: DiscreteProblem) -> str:
    return (
        f" The error cannot be bounded: beta = {problem.beta!r} times the largest sum of a row of Q is not below 1 by "
        "more than rounding."
    )


def _missed(problem: DiscreteProblem, found: Measured) -> str:
    what = "an action that is better" if found.better else "the value wrong"
    more = "" if found.missed == 1 else f", the largest of {found.missed:,} errors"
    return f"a second, full search finds {what} by {found.amount:.3g} in {problem.state_name(found.state)}{more}"


def _unverified(problem: DiscreteProblem, found: Iterated) -> tuple[float, float, bool]:
    """Return residual, error bound and False (not verified), from a last sweep that searched every pair."""
    modulus = problem.program.modulus
    if found.status != "converged" or not modulus < 1.0:
        return found.change, math.inf, False
    residual = modulus * found.change + found.rounding
    return found.change, (residual + found.rounding) / (1.0 - modulus), False


def _actions(problem: DiscreteProblem, chosen: NDArray[np.int64]) -> Any:
    """Return the action of every state, numbered as in the caller's arrays; -1 where none was found."""
    action = problem.program.action[np.maximum(chosen, 0)].astype(np.int64)
    return np.where(chosen >= 0, action, -1)
