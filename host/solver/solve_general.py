"""Solution of problems of the general form on the processor or a GPU, by exact sweeps that are proven."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from beltline.gpu_ref.timing import timed
from beltline.host.devices.base import DeviceError, Progress
from beltline.host.problem.checks import ProblemError, shown, suggestion
from beltline.host.problem.general import start_of, unused
from beltline.host.problem.model_parameters import count
from beltline.host.problem.moved import with_form
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result, Tables
from beltline.host.solver.certificate import certified, claimed
from beltline.host.solver.judgement import ROUNDED, concluded
from beltline.host.solver.options import UNNAMED, SolveOptions

if TYPE_CHECKING:
    from beltline.gpu_ref.general.prices import BondPrices
    from beltline.gpu_ref.general.solution import Solution

DEVICES = ("cpu", "gpu")
"""Devices that solve such problems."""

check_steps = count(0, 10**6)
"""Check of the number of policy evaluation steps, which few problems need more than 100 of."""

METHOD = "brackets"
"""The only method: sweeps that search between the choices of neighbouring states, with policy evaluation steps."""

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


def solve_general(
    problem: Problem, options: SolveOptions, device: str, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve a problem of the general form."""
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
            quality = certified(problem, tables, found.residual, found.form)
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


def by_brackets(problem: Problem, options: SolveOptions, report: Progress | None) -> tuple[Solution, dict[str, float]]:
    """Solve a problem of the simple form as one of the general form, which takes few sweeps where others are slow."""
    timing: dict[str, float] = {}
    solve = _solver("cpu", timing)
    with timed(timing, "solve"):
        found = solve(
            problem.form, problem.start[None], tol=options.tol, max_sweeps=options.max_sweeps, steps=STEPS,
            progress=sweep_reporter(report),
        )  # fmt: skip
    return found, timing


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
    """Check the arguments of :func:`solve_general` as far as possible without a device; return ``update``, ``steps``."""
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
