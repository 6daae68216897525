"""Devices ``"cpu"`` and ``"gpu"``: the solvers in double precision, with the interface of all other devices.

Their results have no fixed-point formats, clocks or build. They are verified as those of the accelerator are, by one
exact sweep on the problem's tables.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from beltline.gpu_ref.timing import added, timed
from beltline.host.devices import ARGUMENTS
from beltline.host.devices.base import DeviceError, Progress
from beltline.host.problem.checks import ProblemError, shown, suggestion, word
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.certificate import (
    Certificate,
    certified,
    checked,
    claimed,
    confirms,
    of_one_alternative,
)
from beltline.host.solver.judgement import LIMITED, concluded
from beltline.host.solver.options import UNNAMED, SolveOptions, Way, check_names, ways
from beltline.host.solver.solve_general import METHOD as BRACKETS
from beltline.host.solver.solve_general import SLOW, in_place_of, solve_general

if TYPE_CHECKING:
    from beltline.gpu_ref.methods import Solution

BASELINES = {
    "grid": "grid_search",
    "grid+howard": "grid_search",
    "binary": "staged_search",
    "interp": "interpolation",
    "egm": "endogenous_grid",
}
"""Former methods, and the modules of ``beltline.gpu_ref.published`` in which they are baselines now."""

MEASURES = {
    "change": "The largest change of V",
    "spans": "Half the spread of the changes of V in each exogenous state",
}
"""What the stopping rules of the methods measure, in words."""

FALLBACK = Way("warm", why="the methods before it failed")
"""The method that is tried after any failure of others: these may have begun from a bad first guess, needed more
sweeps, or missed a maximum."""

GENERAL = Way(BRACKETS, why="the methods before it were slow")
"""The method of the general form, which takes few sweeps where both others and :data:`FALLBACK` are slow."""


def solve_reference(
    problem: Problem, options: SolveOptions, device: str, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve a problem of the simple form in double precision."""
    named = options.method not in (None, UNNAMED)
    if not named:
        check_names(more, f"device {device!r}")
    first, *others = [Way(check_method(options.method), more)] if named else ways(problem, device, more)
    result = _solved(problem, options, device, first, report)
    return _or_others(result, problem, options, device, others, report)


def _or_others(
    first: Result, problem: Problem, options: SolveOptions, device: str, others: Sequence[Way] = (),
    report: Progress | None = None,
) -> Result:  # fmt: skip
    """Return ``first`` or, if it failed, the first success of ``others``, ``warm`` and that of the general form."""
    if first.success or first.status == Outcome.INFEASIBLE:
        return first
    slow = first.status == Outcome.LIMIT and options.max_sweeps >= SLOW and problem.horizon is None
    timing = first.timing
    for way in [*others, FALLBACK, *([GENERAL] if slow else [])]:
        if way.method == first.method:
            continue
        if report:
            report(f"method {first.method} failed; solving by method {way.method}")
        try:
            if way is GENERAL:
                found = solve_general(problem, replace(options, method=None), "cpu", {}, report)
                other = replace(found, chosen=_chosen("cpu", way, options))
            else:
                other = _solved(problem, options, device, way, report)
        except ProblemError:
            break
        timing = added(timing, other.timing)
        if other.success:
            return in_place_of(first, other, f"Method {way.method!r} replaced {first.method!r}", timing)
    return first


def _solved(problem: Problem, options: SolveOptions, device: str, way: Way, report: Progress | None) -> Result:
    """Solve by one method in double precision."""
    from beltline.gpu_ref.methods import Solution

    method, more = way.method, way.options
    check_method_options(method, more)
    if problem.horizon is not None and method != "warm":
        raise ProblemError(f"method of a problem with a horizon must be 'warm', not {method!r}")
    timing: dict[str, float] = {}
    tables = (problem.grid, problem.wealth, problem.transition, problem.start, problem.beta, problem.eta)
    if report:
        report(f"solving on the {device} by method {method}")
    try:
        with timed(timing, "open"):
            module = reference_module(device)
        if problem.horizon is None:
            known: dict[str, Any] = {"checked": checked(problem)}
            if known["checked"] and more.get("start", "given") != "given":
                known["least"] = problem.least_left
            if device == "cpu":
                # Verification bounds the error itself.
                known["bounded"] = not options.verify
            else:
                known["previous"] = False
                known["contraction"] = problem.modulus if confirms(problem, options.verify) else None
            found = module.solve(*tables, options.tol, options.max_sweeps, method=method, **known, **more)
        else:
            value, policy, seconds = module.solve_ages(*tables, problem.horizon)
            found = Solution(value, policy, problem.horizon, problem.horizon, 0.0, math.inf, True, seconds)
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    return _result(problem, options, device, way, found, timing | found.seconds, report)


def check_method(method: object) -> str:
    """Return ``method`` if it is a method of the solvers in double precision."""
    # Not imported before the first solve, because that takes long.
    from beltline.gpu_ref.methods import METHODS

    if isinstance(method, str) and method in BASELINES:
        raise ProblemError(
            f"method {method!r} is a published baseline, no longer a method of bl.solve: leave method out, or call "
            f"beltline.gpu_ref.published.{BASELINES[method]}.solve"
        )
    if not isinstance(method, str) or method not in METHODS:
        choices = ", ".join(map(repr, (*METHODS, UNNAMED)))
        raise ProblemError(f"method must be one of {choices}, not {shown(method)}")
    return method


def check_method_options(method: str, more: Mapping[str, Any]) -> None:
    """Check the options of a method, a name of ``beltline.gpu_ref.methods.METHODS``."""
    if not more:
        return
    from beltline.gpu_ref.methods import METHODS, STARTS, check_options

    takes = METHODS[method].options
    if "start" in takes and "start" in more:
        word("start", more["start"], STARTS)
    try:
        check_options(method, more)
    except ValueError as error:
        hint = next((suggestion(name, (*ARGUMENTS, *takes)) for name in more if name not in takes), "")
        raise ProblemError(f"{error}{hint}") from None


def solve_batch(problems: Sequence[Problem], options: SolveOptions, method: str, more: dict[str, Any]) -> list[Result]:
    """Solve problems of one shape with an infinite horizon on the GPUs of this computer, one launch on each GPU."""
    module = reference_module("gpu")
    word("method of a batch on a GPU", method, module.BATCHED)
    tables = [(one.grid, one.wealth, one.transition, one.start, one.beta, one.eta) for one in problems]
    results: dict[int, Result] = {}

    def seen(i: int, one: Solution) -> None:
        """Make and verify a result, while other problems are solved."""
        results[i] = _result(problems[i], options, "gpu", Way(method), one, dict(one.seconds), None)

    try:
        known = {
            "checked": all(checked(one) for one in problems),
            "contractions": [one.modulus for one in problems] if confirms(problems[0], options.verify) else None,
        }
        module.solve_batch(tables, options.tol, options.max_sweeps, method, seen=seen, **known, **more)
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    return [_or_others(results[i], problem, options, "gpu") for i, problem in enumerate(problems)]


def _result(
    problem: Problem, options: SolveOptions, device: str, way: Way, found: Solution, timing: dict[str, float],
    report: Progress | None,
) -> Result:  # fmt: skip
    """Return what a solver found as a result, verified if the options ask for it; ``timing`` is that of its parts."""
    from beltline.gpu_ref.methods import METHODS

    change = found.residual
    infeasible = bool(found.policy.min() < 0) if found.complete is None else not found.complete
    if infeasible:
        quality = claimed(problem, found.value, math.inf, math.inf)
    elif options.verify or math.isinf(found.error_bound):
        if report:
            report("verifying with an exact sweep in double precision")
        with timed(timing, "verify"):
            tables = of_one_alternative(found.value, found.policy)
            quality = certified(problem, tables, change, device=device, compared=found.compared)
    else:
        quality = claimed(problem, found.value, problem.modulus * change, found.error_bound)
    facts = _concluded(problem, options, found, infeasible, MEASURES[METHODS[way.method].rule], quality)
    if quality.verified and not options.verify:
        facts["message"] += (
            " Its error has no bound without verification, so the result was verified although verify is False."
        )
    return Result(
        value=found.value,
        policy=found.policy if quality.tables is None else quality.tables.policy[..., 0, :, :],
        **facts,
        sweeps=found.sweeps,
        change=change,
        tol=options.tol,
        timing=timing,
        device=device,
        problem=problem,
        method=way.method,
        chosen=_chosen(device, way, options),
    )


def _chosen(device: str, way: Way, options: SolveOptions) -> str:
    return f"{device}, {way}: chosen because {way.why}" if way.why and options.method in (None, UNNAMED) else ""


def reference_module(device: str) -> Any:
    """Return the module with the solver for ``"cpu"`` or ``"gpu"``."""
    if device == "cpu":
        return importlib.import_module("beltline.gpu_ref.cpu")
    module = importlib.import_module("beltline.gpu_ref.cuda.solver")
    why = module.available()
    if why:
        raise DeviceError(f"device 'gpu' cannot be used: {why}")
    return module


def _concluded(
    problem: Problem, options: SolveOptions, found: Solution, infeasible: bool, what: str, quality: Certificate
) -> dict[str, Any]:
    """Return the fields of a result that say how good it is."""
    change, sweeps, tol, max_sweeps = found.residual, found.sweeps, options.tol, options.max_sweeps
    after = f"after {sweeps:,} sweep{'' if sweeps == 1 else 's'}"
    outcome, limits = Outcome.CONVERGED, dict[str, Any]()
    if infeasible:
        outcome, text = Outcome.INFEASIBLE, f"No affordable choice of some state had a finite utility {after}."
    elif quality.missed:
        outcome, text = Outcome.NOT_VERIFIED, f"The run ended {after}, but {quality.missed}."
    elif problem.horizon is not None:
        outcome, text = Outcome.FINISHED, f"All {sweeps:,} age{' was' if sweeps == 1 else 's were'} solved."
    elif found.converged:
        text = f"{what} fell below {tol:g} {after}."
    else:
        from beltline.gpu_ref.methods import largest_value, sweep_rounding

        largest = largest_value(found.value)
        rounding = sweep_rounding(largest, problem.states, problem.eta)
        if change <= rounding:
            limits = {"cure": LIMITED, "accepted": 0.0}
            text = (
                f"{what} is {change:.3g} {after}, not below {tol:g}. More sweeps may not reduce it, as values of up to "
                f"{largest:.3g} are rounded by up to {rounding:.3g} in double precision; the error bound includes this."
            )
        else:
            outcome, limit = Outcome.LIMIT, f"{max_sweeps:,} sweep{'' if max_sweeps == 1 else 's'}"
            text = f"{what} is still {change:.3g} after the limit of {limit}, not below {tol:g}: increase max_sweeps."
    return concluded(quality, options, outcome, text, found.value, problem.modulus, **limits)
