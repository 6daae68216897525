"""Solution of problems of the general form by sweeps that are proven, and of discrete ones by policy iteration."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from beltline.gpu_ref.timing import added, timed
from beltline.host.devices.base import DeviceError, Progress
from beltline.host.problem.checks import ProblemError, shown, suggestion
from beltline.host.problem.discrete import DiscreteProblem
from beltline.host.problem.general import start_of, unused
from beltline.host.problem.model_parameters import count
from beltline.host.problem.moved import with_form
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result, Tables
from beltline.host.solver.certificate import certified, certified_program, claimed, claimed_program
from beltline.host.solver.judgement import ROUNDED, UNBOUNDED, concluded
from beltline.host.solver.options import UNNAMED, SolveOptions

if TYPE_CHECKING:
    from beltline.gpu_ref.discrete.policy_iteration import Iterated
    from beltline.gpu_ref.general.prices import BondPrices

DEVICES = ("cpu", "gpu")
"""Devices that solve problems of the general form; the first of them solves discrete ones, too."""

check_steps = count(0, 10**6)
"""Check of the number of policy evaluation steps, which few problems need more than 100 of."""

METHOD = "brackets"
"""Their only method: sweeps that search between the choices of neighbouring states, with policy evaluation steps."""

DISCRETE_METHOD = "policy_iteration"
"""The only method of discrete problems."""

STEPS = 20
"""Default number of policy evaluation steps after each sweep that maximises."""

OUTCOMES = {
    "converged": Outcome.CONVERGED,
    "ages done": Outcome.FINISHED,
    "sweep limit": Outcome.LIMIT,
    "not finite": Outcome.NOT_FINITE,
    "prices refused": Outcome.PRICES,
}
"""The outcome for each status of the solver."""


SLOW = 1000
"""A method that has not converged after this number of sweeps or more counts as slow."""


def solve_general(
    problem: Problem, options: SolveOptions, device: str, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve a problem of the general form, on the processor if a GPU is slow: it solves no linear systems."""
    first = _solved(problem, options, device, more, report)
    slow = first.status == Outcome.LIMIT and options.max_sweeps >= SLOW
    if device == DEVICES[0] or not slow or more.get("update") is not None:
        return first
    if report:
        report(f"device {device} did not converge; solving on the {DEVICES[0]}")
    other = _solved(problem, options, DEVICES[0], more, report)
    if not other.success:
        return first
    timing = added(first.timing, other.timing)
    return in_place_of(first, other, f"Device {DEVICES[0]!r} replaced {device!r}", timing)


def in_place_of(first: Result, other: Result, what: str, timing: dict[str, float]) -> Result:
    """Return ``other`` with ``timing``, and a message that says ``what`` was replaced, and why ``first`` failed."""
    why = first.message[:1].lower() + first.message[1:]
    return replace(other, message=f"{other.message} {what}, which had failed: {why}", timing=timing)


def _solved(
    problem: Problem, options: SolveOptions, device: str, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve a problem of the general form on one device."""
    update, steps = check_general(problem, options, device, more)
    timing: dict[str, float] = {}
    with timed(timing, "open"):
        if report:
            report(f"solving on the {device}")
        parts: dict[str, float] = {}
        solve = _solver(device, parts)

    whole: dict[str, float] = {}
    with timed(whole, "solve"):
        try:
            found = solve(
                problem.form,
                start_of(problem),
                tol=options.tol,
                max_sweeps=options.max_sweeps,
                steps=steps,
                update=update,
                progress=sweep_reporter(report, problem.horizon),
            )
        except (ValueError, MemoryError) as error:
            raise ProblemError(f"{error}") from error
    # The solver of a GPU returns the time of each part, that of the processor does not.
    timing |= parts or whole
    tables = Tables(*(getattr(found, name) for name in Tables._fields))
    quality = claimed(problem, found.value, found.residual, found.error_bound, found.form)
    if options.verify and np.isfinite(found.value).all():
        if report:
            report("verifying by a second search")
        with timed(timing, "verify"):
            quality = certified(problem, tables, found.residual, None if update is None else found.form)
    outcome, message = OUTCOMES[found.status], found.message
    if quality.missed:
        outcome, message = Outcome.NOT_VERIFIED, f"{message} But {quality.missed}."
    modulus = found.form.modulus()
    facts = concluded(quality, options, outcome, message, found.value, modulus, by_state=update is None)
    plain = facts["message"] == found.message and facts["status"] == Outcome.CONVERGED
    if plain and (found.residual >= options.tol or quality.error_bound > 2 * options.tol / (1 - modulus)):
        facts["message"] += ROUNDED
    facts["message"] = f"{facts['message']} {unused(problem)}".strip()
    return Result.of(
        problem if update is None else with_form(problem, found.form),
        quality.tables or tables,
        **facts,
        sweeps=found.sweeps,
        change=found.residual,
        tol=options.tol,
        evaluations=int(found.evaluations.sum()),
        searched=found.searched,
        timing=timing,
        device=device,
        method=METHOD,
        prices=found.prices,
        price_change=found.price_change,
    )


def sweep_reporter(report: Progress | None, ages: int | None = None) -> Callable[[int, float], None]:
    """Return a function of the number of sweeps and the change that reports them; of ages, if there are any."""

    def reported(sweeps: int, change: float) -> None:
        if report:
            report(
                f"sweep {sweeps:,}, largest change of V {change:.2e}" if ages is None else f"age {sweeps:,} of {ages:,}"
            )

    return reported


def check_device(what: str, device: Any) -> str:
    """Return the name of the device: one of :data:`DEVICES`, the first of them for ``"auto"``."""
    if isinstance(device, str) and device == UNNAMED:
        return DEVICES[0]
    if not isinstance(device, str) or device not in DEVICES:
        raise ProblemError(f"{what} is solved on device {' or '.join(map(repr, DEVICES))}, not on {shown(device)}")
    return device


def _solver(device: str, parts: dict[str, float]) -> Any:
    """Return the function that solves on a device; that of a GPU stores the seconds of its parts in ``parts``."""
    if device == "cpu":
        return importlib.import_module("beltline.gpu_ref.general.solve").solve
    module = importlib.import_module("beltline.gpu_ref.cuda.general")
    if why := module.available():
        raise DeviceError(f"device 'gpu' cannot be used: {why}")
    return partial(module.solve, seconds=parts)


def check_update(problem: Problem, update: Any, device: str = "") -> None:
    """Check the function that returns new prices for a problem."""
    if not callable(update):
        raise ProblemError(f"update must be a function that is called after each sweep, not {shown(update)}")
    from beltline.gpu_ref.general.prices import BondPrices

    if isinstance(update, BondPrices):
        _check_bonds(problem, update)
    elif device == "gpu":
        raise ProblemError(f"update must be a BondPrices on device 'gpu', not {shown(update)}")
    if problem.horizon is not None:
        raise ProblemError(f"update needs an infinite horizon, and this problem has {problem.horizon} ages")


def _check_bonds(problem: Problem, update: BondPrices) -> None:
    from beltline.gpu_ref.general.form import Branch

    if update.face.size != problem.points:
        raise ProblemError(
            f"face of update must have one entry per grid point, {problem.points}, not {update.face.size}"
        )
    alternatives = problem.form.alternatives
    try:
        repay, default = update.numbers([one.name for one in alternatives])
    except ValueError as fault:
        raise ProblemError(f"update: {fault}") from None
    if repay == default:
        raise ProblemError(f"update: repay and default must be two alternatives, not {update.repay!r} both")
    if not isinstance(alternatives[repay], Branch):
        raise ProblemError(
            f"update: repay must be an alternative with a choice of x', whose cost can be set, not {update.repay!r}, "
            "which has a value"
        )
    regimes = [problem.regimes[alternatives[d].regime] for d in (repay, default)]
    if regimes[0] != regimes[1]:
        raise ProblemError(
            f"update: repay and default must be alternatives of one regime, not {update.repay!r} of {regimes[0]!r} and "
            f"{update.default!r} of {regimes[1]!r}"
        )


def check_general(problem: Problem, options: SolveOptions, device: str, more: Mapping[str, Any]) -> tuple[Any, int]:
    """Return ``update`` and ``steps`` of :func:`solve_general`, after checks of its arguments that need no device."""
    check_device("a problem of the general form", device)
    if options.method not in (None, UNNAMED, METHOD):
        raise ProblemError(
            f"a problem of the general form is solved by method {METHOD!r}, not by {shown(options.method)}"
        )
    takes = ("steps", "update")
    for name in more:
        if name not in takes:
            raise ProblemError(
                f"a problem of the general form has no option {name!r}: it takes {', '.join(takes)}"
                f"{suggestion(name, takes)}"
            )
    update = more.get("update")
    if update is not None:
        check_update(problem, update, device)
    if problem.horizon is not None:
        for name in takes:
            if more.get(name):
                raise ProblemError(f"{name} needs an infinite horizon, and this problem has {problem.horizon} ages")
    steps = more.get("steps", STEPS if problem.horizon is None else 0)
    return update, check_steps("steps", steps)


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
        device=DEVICES[0],
        method=DISCRETE_METHOD,
        problem=problem,
    )


def check_discrete(options: SolveOptions, device: Any, more: dict[str, Any]) -> None:
    """Check the arguments of :func:`solve_discrete`."""
    if not isinstance(device, str) or device not in (DEVICES[0], UNNAMED):
        raise ProblemError(f"a discrete problem is solved on device {DEVICES[0]!r}, not on {shown(device)}")
    if options.method not in (None, UNNAMED, DISCRETE_METHOD):
        raise ProblemError(
            f"a discrete problem is solved by method {DISCRETE_METHOD!r}, not by {shown(options.method)}"
        )
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
