"""Devices ``"cpu"`` and ``"gpu"``: the solvers in double precision, with the interface of all other devices.

Their results have no fixed-point formats, clocks or build. They are verified as those of the accelerator are, by one
exact sweep on the problem's tables.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import timed
from beltline.host.devices import ARGUMENTS
from beltline.host.devices.base import DeviceError, Progress
from beltline.host.problem.checks import ProblemError, shown, suggestion
from beltline.host.problem.concavity import with_concave_start
from beltline.host.problem.problem import Problem
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result
from beltline.host.solver.fallback import or_other
from beltline.host.solver.judgement import LIMITED, RESCALE, judged, lowers, promised
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.rules import AUTO, check_rule_options, ways
from beltline.host.solver.solve_general import METHOD as BRACKETS
from beltline.host.solver.solve_general import by_brackets
from beltline.host.solver.tolerance import usual_utility
from beltline.host.solver.verify import Verification, checked, confirms, measure

if TYPE_CHECKING:
    from beltline.gpu_ref.comparison import Confirmed
    from beltline.gpu_ref.methods import Method, Solution

AGES = {"cpu": ("grid", "binary", "monotone", "warm"), "gpu": ("monotone", "warm")}
"""Methods for problems with a finite horizon, by device."""

MEASURES = {
    "change": "The largest change of V",
    "span": "Half the spread of the changes of V",
    "spans": "Half the spread of the changes of V in each exogenous state",
    "own": "The largest change of V",
}
"""What the stopping rules of the methods measure, in words; method ``egm`` measures consumption."""

SLOW = 1000
"""A method that has not converged after this number of sweeps or more counts as slow."""

NEED_CONCAVE_START = ("binary",)
"""Methods whose search needs objectives with a single peak, and so a concave first guess."""


class _Found(NamedTuple):
    """What a solver returned.

    Parameters
    ----------
    value, policy
        ``(N_k, N_z)``, or ``(T, N_k, N_z)`` with a horizon.
    sweeps
        Number of sweeps.
    change
        What the stopping rule measured, in units of utility.
    converged
        Whether the rule was met.
    rule
        The stopping rule, a key of :data:`MEASURES`.
    bound
        The solver's own bound on ``max |V - V*|``, infinite if it has none.
    timing
        Seconds of its parts.
    compared
        Comparison with an exact sweep that the solver has made, without errors.
    complete
        Whether every state has a choice; ``None`` if that is not known.
    """

    value: NDArray[np.float64]
    policy: NDArray[np.int32]
    sweeps: int
    change: float
    converged: bool
    rule: str
    bound: float
    timing: dict[str, float]
    compared: Confirmed | None = None
    complete: bool | None = None

    @property
    def exact(self) -> bool:
        """Whether the rule guarantees an error bound."""
        return self.rule != "own"

    @property
    def infeasible(self) -> bool:
        """Whether some state has no choice."""
        return bool(self.policy.min() < 0) if self.complete is None else not self.complete


def solve_reference(
    problem: Problem, options: SolveOptions, device: str, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve a problem of the simple form in double precision.

    If a method fails, the method ``warm`` is tried with the same limit of sweeps. If ``warm`` succeeds, its result is
    returned, and the message says so. So no method fails where ``warm`` succeeds.

    Parameters
    ----------
    problem
        Of the simple form.
    options
        Options of the solve. The method is one of ``beltline.gpu_ref.methods.METHODS``; None or ``"auto"`` tries those
        of :func:`beltline.host.solver.rules.ways` in their order.
    device
        ``"cpu"`` or ``"gpu"``.
    more
        Options of the method; without a named method only ``start``.
    report
        Called with lines of progress.

    Raises
    ------
    ProblemError
        The method or an option is unknown, or the problem does not fit the device.
    DeviceError
        The device cannot be used on this computer.
    """
    if options.method in (None, AUTO):
        return _by_rule(problem, options, device, more, report)
    return _or_warm(problem, options, device, _solved(problem, options, device, more, report), report)


def _by_rule(
    problem: Problem, options: SolveOptions, device: str, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve by the first method of the rules that succeeds, or by ``warm``; if all fail, return the first result."""
    check_rule_options(more, f"device {device!r}")
    first: Result | None = None
    for way in ways(problem, device):
        if report and first is not None:
            report(f"method {first.method} failed; solving by method {way.method}")
        result = _solved(problem, replace(options, method=way.method), device, {**way.options, **more}, report)
        if result.success and first is not None:
            result = replace(result, message=f"{result.message} Method {first.method!r}, tried before, had failed.")
        if result.success or result.status == Outcome.INFEASIBLE:
            return replace(result, chosen=f"{device}, {way}: chosen because {way.why}")
        first = first or replace(result, chosen=f"{device}, {way}: chosen because {way.why}")
    assert first is not None
    return _or_warm(problem, options, device, first, report)


def _or_warm(
    problem: Problem, options: SolveOptions, device: str, result: Result, report: Progress | None = None
) -> Result:
    """Return ``result`` or, if it failed and ``warm`` succeeds, the result of ``warm`` (:func:`or_other`).

    If both are slow, the result may be that of the method of the general form, which then takes few sweeps.
    """

    def other(method: str) -> Result:
        if report:
            report(f"method {result.method} failed; solving by method {method}")
        if method == BRACKETS:
            return _by_brackets(problem, options, report)
        return _solved(problem, replace(options, method=method), device, {}, report)

    found = or_other(result, "warm", other)
    slow = found.status == Outcome.LIMIT and options.max_sweeps >= SLOW and problem.horizon is None
    # That method does not solve a problem that is too large for its memory.
    with contextlib.suppress(MemoryError):
        return or_other(found, BRACKETS, other) if slow else found
    return found


def _by_brackets(problem: Problem, options: SolveOptions, report: Progress | None) -> Result:
    solution, timing = by_brackets(problem, options, report)
    found = _Found(
        np.ascontiguousarray(solution.value[0]), np.ascontiguousarray(solution.policy[0]), solution.sweeps,
        solution.residual, solution.success, "change", solution.error_bound, timing,
    )  # fmt: skip
    return _result(problem, options, "cpu", BRACKETS, found, report, "")


def _solved(
    problem: Problem, options: SolveOptions, device: str, more: dict[str, Any], report: Progress | None
) -> Result:
    """Solve as :func:`solve_reference` does, but only by the method of ``options``."""
    method = check_method(options.method)
    check_method_options(method, more)
    if problem.horizon is not None and method not in AGES[device]:
        raise ProblemError(
            f"method of a problem with a horizon must be one of {', '.join(map(repr, AGES[device]))} on device "
            f"{device!r}, not {method!r}"
        )
    timing: dict[str, float] = {}
    begun, note = _begun(problem, method)
    tables = (problem.grid, problem.wealth, problem.transition, begun.start, problem.beta, problem.eta, options.tol)
    if report:
        report(f"solving on the {device} by method {method}")
    try:
        with timed(timing, "open"):
            module = reference_module(device)
        if problem.horizon is None:
            known: dict[str, Any] = {"checked": checked(begun)}
            if known["checked"] and more.get("start", "given") != "given":
                known["least"] = problem.least_left
            if device == "cpu":
                # Verification bounds the error itself.
                known["bounded"] = not options.verify
            else:
                # Binary search has an error bound without verification only if the last sweep is repeated from the
                # value before it, which the solver must then return.
                known["previous"] = method == "binary" and not options.verify
                known["contraction"] = (
                    problem.modulus if confirms(problem, options.verify, _methods()[method].rule) else None
                )
            solution = module.solve(*tables, options.max_sweeps, method=method, **known, **more)
            policy, rule = solution.policy, _methods()[method].rule
            if solution.choices is not None:
                policy = nearest_index(problem.grid, solution.choices)[policy]
            if rule == "own":
                policy = np.minimum(policy, highest_affordable(problem))
            found = _Found(
                solution.value, policy, solution.sweeps, solution.residual, solution.converged, rule,
                solution.error_bound if device == "cpu" else _bound(problem, solution), timing | solution.seconds,
                solution.compared, solution.complete if rule != "own" else None,
            )  # fmt: skip
        else:
            value, policy, seconds = module.solve_ages(*tables[:-1], problem.horizon, method=method, **more)
            # Verification computes a bound of its own.
            bound = math.inf if options.verify else _ages_bound(problem, value, policy, method)
            found = _Found(value, policy, problem.horizon, 0.0, True, "change", bound, timing | seconds)
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    return _result(problem, options, device, method, found, report, note)


def _begun(problem: Problem, method: str) -> tuple[Problem, str]:
    """Return ``problem`` with a first guess that suits ``method``, and a note (:func:`with_concave_start`)."""
    return with_concave_start(problem) if method in NEED_CONCAVE_START else (problem, "")


@functools.cache
def _cpu() -> Any:
    """Return the module with the solver for ``"cpu"``."""
    return importlib.import_module("beltline.gpu_ref.cpu")


@functools.cache
def _methods() -> dict[str, Method]:
    """Return all methods by name; not imported before the first solve, because that takes long."""
    from beltline.gpu_ref.methods import METHODS

    return METHODS


def check_method(method: object) -> str:
    """Return ``method`` if it is a method of the solvers in double precision.

    Raises
    ------
    ProblemError
        It is not.
    """
    if not isinstance(method, str) or method not in _methods():
        choices = ", ".join(map(repr, (*_methods(), AUTO)))
        raise ProblemError(f"method must be one of {choices}, not {shown(method)}")
    return method


def check_method_options(method: str, more: Mapping[str, Any]) -> None:
    """Check the options of a method, a name of ``beltline.gpu_ref.methods.METHODS``.

    Raises
    ------
    ProblemError
        The method does not have an option, or its value is wrong.
    """
    if not more:
        return
    from beltline.gpu_ref.methods import METHODS, check_options

    takes = METHODS[method].options
    try:
        check_options(method, more)
    except ValueError as error:
        hint = next((suggestion(name, (*ARGUMENTS, *takes)) for name in more if name not in takes), "")
        raise ProblemError(f"{error}{hint}") from None


def solve_batch(problems: Sequence[Problem], options: SolveOptions, method: str, more: dict[str, Any]) -> list[Result]:
    """Solve problems of one shape with an infinite horizon on the GPUs of this computer, one launch on each GPU.

    Parameters are those of :func:`solve_reference`; ``method`` is one of ``beltline.gpu_ref.cuda.solver.BATCHED``. As
    there, each problem that fails is solved again by ``warm``.

    Raises
    ------
    ProblemError, DeviceError
        As :func:`solve_reference`, for one of the problems or for all of them.
    """
    module = reference_module("gpu")
    if method not in module.BATCHED:
        raise ProblemError(
            f"method of a batch on a GPU must be one of {', '.join(map(repr, module.BATCHED))}, not {shown(method)}"
        )
    begun = [_begun(one, method) for one in problems]
    tables = [(one.grid, one.wealth, one.transition, one.start, one.beta, one.eta) for one, _ in begun]
    rule = _methods()[method].rule
    results: dict[int, Result] = {}

    def seen(i: int, one: Solution) -> None:
        """Make and verify a result, while other problems are solved."""
        found = _Found(
            one.value, one.policy, one.sweeps, one.residual, one.converged, rule, _bound(problems[i], one),
            dict(one.seconds), one.compared, one.complete,
        )  # fmt: skip
        results[i] = _result(problems[i], options, "gpu", method, found, None, begun[i][1])

    try:
        # As in _solved: binary search without verification needs the value before the last sweep for its bound.
        known = {
            "previous": method == "binary" and not options.verify,
            "checked": all(checked(one) for one, _ in begun),
            "contractions": [one.modulus for one in problems] if confirms(problems[0], options.verify, rule) else None,
        }
        module.solve_batch(tables, options.tol, options.max_sweeps, method, seen=seen, **known, **more)
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    return [_or_warm(problem, options, "gpu", results[i]) for i, problem in enumerate(problems)]


def _result(
    problem: Problem, options: SolveOptions, device: str, method: str, found: _Found, report: Progress | None, note: str
) -> Result:
    """Return what a solver found as a result, verified if the options ask for it; ``note`` ends the message."""
    timing, change = found.timing, found.change
    if found.infeasible:
        quality = Verification(math.inf, math.inf, False)
    elif options.verify or math.isinf(found.bound):
        if report:
            report("verifying with an exact sweep in double precision")
        with timed(timing, "verify"):
            h = change if found.exact else math.inf
            quality = measure(problem, found.value, found.policy, h, device, found.compared)
    else:
        quality = Verification(problem.modulus * change if found.exact else math.inf, found.bound, False)
    outcome, message = _outcome(problem, options, method, found, quality)
    if quality.independent and not options.verify:
        message += " Its error has no bound without verification, so the result was verified although verify is False."
    # Approximate methods keep the policy that belongs to their value.
    policy = found.policy if quality.policy is None or not found.exact else quality.policy
    return Result(
        value=found.value,
        policy=policy,
        success=outcome in (Outcome.CONVERGED, Outcome.FINISHED),
        status=outcome.value,
        message=f"{message} {note}".strip(),
        sweeps=found.sweeps,
        change=change,
        residual=quality.residual,
        error_bound=quality.error_bound,
        verified=quality.independent,
        tol=options.tol,
        clocks=0,
        clocks_source="",
        timing=timing,
        device=device,
        amount_bits=None,
        value_bits=None,
        build_hash=0,
        problem=problem,
        method=method,
    )


def reference_module(device: str) -> Any:
    """Return the module with the solver for ``"cpu"`` or ``"gpu"``.

    Raises
    ------
    DeviceError
        The device cannot be used on this computer.
    """
    if device == "cpu":
        return _cpu()
    module = importlib.import_module("beltline.gpu_ref.cuda.solver")
    why = module.available()
    if why:
        raise DeviceError(f"device 'gpu' cannot be used: {why}")
    return module


def _bound(problem: Problem, found: Solution) -> float:
    """Return the error bound of a GPU's solution; that of binary search only if its last sweep is proven."""
    if found.method != "binary" or not math.isfinite(found.error_bound):
        return found.error_bound
    if found.previous is None:
        return math.inf
    missed = _missed(problem, found.previous, found.value, found.policy)
    return found.error_bound + missed / (1.0 - problem.modulus)


def _missed(
    problem: Problem, following: NDArray[np.float64], value: NDArray[np.float64], policy: NDArray[np.int32]
) -> float:
    """Return by how much a sweep from ``following`` may have missed a maximum, in units of utility.

    Infinity where that cannot be bounded. All tables are ``(N_k, N_z)``.
    """
    from beltline.gpu_ref.brackets import missed_by_a_policy
    from beltline.gpu_ref.tables import check_tables, expectation

    X, W, Q, V = check_tables(
        problem.grid, problem.wealth, problem.transition, following, problem.beta, problem.eta, ordered=True
    )
    own = np.ascontiguousarray(policy, np.int32)
    return missed_by_a_policy(X, W, expectation(Q, V, problem.beta), problem.eta, value, own)


def _ages_bound(problem: Problem, value: NDArray[np.float64], policy: NDArray[np.int32], method: str) -> float:
    """Return a bound on the error of the values of all ages, ``(T, N_k, N_z)``, against the solution on the grid.

    The error of an age is the discounted error of the next age, plus its own rounding, plus what its search may have
    missed.
    """
    from beltline.gpu_ref.methods import largest_value, sweep_rounding

    error = bound = 0.0
    following = problem.start
    for age in range(value.shape[0] - 1, -1, -1):
        missed = 0.0 if method == "grid" else _missed(problem, following, value[age], policy[age])
        largest = max(largest_value(following), largest_value(value[age]))
        error = problem.modulus * error + sweep_rounding(largest, problem.states, problem.eta) + missed
        bound = max(bound, error)
        following = value[age]
    return bound


def highest_affordable(problem: Problem) -> NDArray[np.int32]:
    """Return the index of the highest affordable grid point of each state, ``(N_k, N_z)``."""
    return (np.searchsorted(problem.grid, problem.wealth) - 1).astype(np.int32)


def nearest_index(grid: NDArray[np.float64], choices: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the index of the grid point nearest to each choice."""
    right = np.clip(np.searchsorted(grid, choices), 1, grid.size - 1)
    return (right - (choices - grid[right - 1] <= grid[right] - choices)).astype(np.int32)


def _outcome(
    problem: Problem, options: SolveOptions, method: str, found: _Found, quality: Verification
) -> tuple[Outcome, str]:
    sweeps, tol, max_sweeps = found.sweeps, options.tol, options.max_sweeps
    after = f"after {sweeps:,} sweep{'' if sweeps == 1 else 's'}"
    if found.infeasible:
        return Outcome.INFEASIBLE, f"No affordable choice of some state had a finite utility {after}."
    if quality.missed:
        return Outcome.NOT_VERIFIED, f"The run ended {after}, but {quality.missed}."
    rule = found.rule
    bound, usual = quality.error_bound, functools.partial(usual_utility, problem)
    if problem.horizon is not None:
        text = f"All {sweeps:,} age{' was' if sweeps == 1 else 's were'} solved."
        return judged(Outcome.FINISHED, text, found.value, bound, RESCALE, 0.0, usual)
    what = "The largest change of consumption" if method == "egm" else MEASURES[rule]
    if found.converged:
        text = f"{what} fell below {tol:g} {after}."
        if rule == "own":
            text += f" Method {method!r} is an approximation: the residual shows how close it is to the exact solution."
            return judged(Outcome.CONVERGED, text, found.value, bound, "use an exact method", 0.0, usual)
        cure, accepted = lowers(quality.residual, bound, problem.modulus), promised(options, problem.modulus)
        return judged(Outcome.CONVERGED, text, found.value, bound, cure, accepted, usual)
    from beltline.gpu_ref.methods import largest_value, sweep_rounding

    largest = largest_value(found.value)
    rounding = sweep_rounding(largest, problem.states, problem.eta)
    if rule != "own" and found.change <= rounding:
        text = (
            f"{what} is {found.change:.3g} {after}, not below {tol:g}. More sweeps may not reduce it, as values of up "
            f"to {largest:.3g} are rounded by up to {rounding:.3g} in double precision; the error bound includes this."
        )
        return judged(Outcome.CONVERGED, text, found.value, bound, LIMITED, 0.0, usual)
    return Outcome.LIMIT, (
        f"{what} is still {found.change:.3g} after the limit of {max_sweeps:,} sweep{'' if max_sweeps == 1 else 's'}, "
        f"not below {tol:g}: increase max_sweeps."
    )
