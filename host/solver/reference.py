"""The reference solvers behind the same front as the machine: double precision on the processor or on a graphics card.

They know nothing of fixed point, clocks or builds, so a result of theirs has none. What they return is measured like
any other: by one exact sweep on the problem's tables.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import DeviceError, Progress
from beltline.host.problem.checks import ProblemError, first, real, shown
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.result import Outcome, Result
from beltline.host.solver.driver import timed
from beltline.host.solver.fixed_point import modulus, value_bounds
from beltline.host.solver.verify import UNBOUNDED, Verification, float_rounding

if TYPE_CHECKING:
    from beltline.gpu_ref.methods import Solution

AGES = {"cpu": ("grid", "binary", "monotone", "warm"), "gpu": ("monotone", "warm")}
"""Methods that can solve ages one by one, by device."""

EXACT = ("grid", "monotone", "warm")
"""Methods that rest on nothing but plain sweeps, each of them exact."""


def solve_reference(
    problem: Problem,
    tol: float,
    max_sweeps: int,
    device: str,
    method: str,
    options: dict[str, Any],
    report: Progress | None,
    verify: bool,
) -> Result:
    """Solve ``problem`` in double precision; arguments as of :func:`beltline.host.solver.solve.solve`, already checked.

    Where another method fails though ``warm`` needs no more than ``max_sweeps``, ``warm`` takes its place, and the
    message says so.

    Parameters
    ----------
    device
        One of ``beltline.host.devices.REFERENCES``.
    method
        One of ``beltline.gpu_ref.methods.METHODS``.
    options
        Of the method.

    Raises
    ------
    ProblemError
        The method or an option is unknown, or the problem does not fit.
    DeviceError
        There is no such device here.
    """
    result = _solved(problem, tol, max_sweeps, device, method, options, report, verify)
    if not _falls_back(result, max_sweeps):
        return result
    if report:
        report(f"method {method} failed; solving by method warm")
    again = _solved(problem, tol, max_sweeps, device, "warm", {}, report, verify)
    if not again.success:
        return result
    timing = {part: result.timing.get(part, 0.0) + spent for part, spent in again.timing.items()}
    why = result.message[:1].lower() + result.message[1:]
    message = f"{again.message} Method 'warm' took the place of {method!r}, which had failed: {why}"
    return replace(again, message=message, timing=timing)


def _falls_back(result: Result, max_sweeps: int) -> bool:
    """Whether a method failed that rests on more than ``warm`` does, and ``warm`` can do better.

    What ended at the sweep limit is repeated only where the limit leaves ``warm`` as many sweeps as the contraction
    makes it take at most.
    """
    if result.success or result.method in EXACT:
        return False
    if result.status == Outcome.NOT_VERIFIED:
        return True
    if result.status != Outcome.LIMIT:
        return False
    low, high = value_bounds(result.problem)
    needed = 1.0 + math.log(min(result.tol / (2.0 * (high - low)), 1.0)) / math.log(modulus(result.problem))
    return max_sweeps >= needed


def _solved(
    problem: Problem,
    tol: float,
    max_sweeps: int,
    device: str,
    method: str,
    options: dict[str, Any],
    report: Progress | None,
    verify: bool,
) -> Result:
    """As :func:`solve_reference`, by ``method`` and no other."""
    from beltline.gpu_ref.methods import METHODS

    tol = real("tol", tol, "a number above 0", lambda v: 0 < v < math.inf)
    if not isinstance(method, str) or method not in METHODS:
        raise ProblemError(f"method must be one of {', '.join(map(repr, METHODS))}, not {shown(method)}")
    if problem.horizon is not None and method not in AGES[device]:
        raise ProblemError(
            f"a finite horizon can be solved by the methods {', '.join(map(repr, AGES[device]))} on device {device!r}, "
            f"not by {method!r} on {device!r}"
        )
    timing: dict[str, float] = {}
    tables = (problem.grid, problem.wealth, problem.transition)
    numbers = (problem.beta, problem.eta, tol)
    if report:
        report(f"solving on the {device} by method {method}")
    try:
        with timed(timing, "open"):
            module = reference_module(device)
        if problem.horizon is None:
            found = module.solve(*tables, problem.start, *numbers, max_sweeps, method=method, **options)
            value, policy, h, sweeps = found.value, found.policy, found.residual, found.sweeps
            converged, seconds, exact = found.converged, found.seconds, METHODS[method].rule != "own"
            if found.choices is not None:
                policy = nearest(problem.grid, found.choices)[policy]
            if not exact:
                policy = np.minimum(policy, dearest(problem))
            bound = found.error_bound if device == "cpu" else _bound(problem, found)
        else:
            value, policy, seconds = module.solve_ages(
                *tables, problem.start, *numbers[:2], problem.horizon, method=method, **options
            )
            h, sweeps, converged, exact = 0.0, problem.horizon, True, True
            bound = _ages_bound(problem, value, method)
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    timing |= seconds
    return _result(
        problem,
        tol,
        max_sweeps,
        device,
        method,
        value,
        policy,
        sweeps,
        h,
        converged,
        exact,
        bound,
        verify,
        timing,
        report,
    )


def solve_batch(
    problems: Sequence[Problem], tol: float, max_sweeps: int, method: str, options: dict[str, Any], verify: bool
) -> list[Result]:
    """Solve problems of one shape, of an infinite horizon, on the graphics cards of this computer, in one launch each.

    Arguments as of :func:`solve_reference`; ``method`` is one of ``beltline.gpu_ref.cuda.solver.BATCHED``.

    Raises
    ------
    ProblemError, DeviceError
        As :func:`solve_reference`, of any of the problems, or of all together.
    """
    from beltline.gpu_ref.methods import METHODS

    tol = real("tol", tol, "a number above 0", lambda v: 0 < v < math.inf)
    module = reference_module("gpu")
    if method not in module.BATCHED:
        raise ProblemError(
            f"method must be one of {', '.join(map(repr, module.BATCHED))} for a batch, not {shown(method)}"
        )
    tables = [(one.grid, one.wealth, one.transition, one.start, one.beta, one.eta) for one in problems]
    try:
        # What is not measured has a bound from the value before the last sweep.
        more = {} if verify else {"previous": True}
        solutions = module.solve_batch(tables, tol, max_sweeps, method, **more, **options)
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    exact = METHODS[method].rule != "own"
    return [
        _result(
            problem, tol, max_sweeps, "gpu", method, found.value, found.policy, found.sweeps, found.residual,
            found.converged, exact, _bound(problem, found), verify, dict(found.seconds), None,
        )
        for problem, found in zip(problems, solutions, strict=True)
    ]  # fmt: skip


def _result(
    problem: Problem,
    tol: float,
    max_sweeps: int,
    device: str,
    method: str,
    value: NDArray[np.float64],
    policy: NDArray[np.int32],
    sweeps: int,
    h: float,
    converged: bool,
    exact: bool,
    bound: float,
    verify: bool,
    timing: dict[str, float],
    report: Progress | None,
) -> Result:
    """What a solver found, measured: ``h`` by its stopping rule, which promises something where it is ``exact``."""
    if (policy < 0).any():
        quality = Verification(math.inf, math.inf, False)
    elif verify:
        if report:
            report("verifying with an exact sweep in double precision")
        with timed(timing, "verify"):
            quality = _measure(problem, value, policy, h if exact else math.inf)
    else:
        quality = Verification(modulus(problem) * h if exact else math.inf, bound, False)
    outcome, message = _outcome(problem, tol, max_sweeps, sweeps, h, converged, method, quality, policy)
    return Result(
        value=value,
        policy=policy,
        success=outcome in (Outcome.CONVERGED, Outcome.FINISHED),
        status=outcome.value,
        message=message,
        sweeps=sweeps,
        change=h,
        residual=quality.residual,
        error_bound=quality.error_bound,
        verified=quality.independent,
        tol=tol,
        clocks=0,
        clocks_source="",
        timing=timing,
        device=device,
        money_bits=None,
        value_bits=None,
        build_hash=0,
        problem=problem,
        method=method,
    )


def reference_module(device: str) -> Any:
    """The module whose ``solve`` is that of ``device``.

    Raises
    ------
    DeviceError
        It cannot be used here.
    """
    if device == "cpu":
        return importlib.import_module("beltline.gpu_ref.cpu")
    module = importlib.import_module("beltline.gpu_ref.cuda.solver")
    why = module.available()
    if why:
        raise DeviceError(f"device 'gpu' cannot be used: {why}")
    return module


def _bound(problem: Problem, found: Solution) -> float:
    """The error bound of what a graphics card found, from the value before its last sweep.

    That value may be far larger than the result, and what it rounds counts; and a staged search has a bound only where
    single peaks are proven.
    """
    from beltline.gpu_ref.methods import METHODS, error_bound, largest_value, reach
    from beltline.gpu_ref.peaks import single_peaks

    shifted = METHODS[found.method].rule != "change"
    if not math.isfinite(found.error_bound) or not (shifted or found.method == "binary"):
        return found.error_bound
    tables = problem.grid, problem.wealth, problem.transition
    if found.previous is None:
        return math.inf
    if not shifted:
        return found.error_bound if single_peaks(*tables, found.previous, problem.beta, problem.eta) else math.inf
    # A shift moves each state's values alike, by the change of all sweeps to come and that of the last.
    change = 2.0 * largest_value(found.value - found.previous) + found.residual
    largest = reach(found.value, change, problem.transition, problem.beta)
    return error_bound(found.residual, found.value, problem.transition, problem.beta, problem.eta, largest)


def _ages_bound(problem: Problem, value: NDArray[np.float64], method: str) -> float:
    """Bound on the distance of the values of all ages, ``(T, N_k, N_z)``, from the solution on the grid.

    Each age adds its rounding to what the age after it lost; a staged search must be proven to have lost nothing else.
    """
    from beltline.gpu_ref.methods import largest_value, sweep_rounding
    from beltline.gpu_ref.peaks import single_peaks

    tables = problem.grid, problem.wealth, problem.transition
    error = bound = 0.0
    following = problem.start
    for age in range(value.shape[0] - 1, -1, -1):
        if method == "binary" and not single_peaks(*tables, following, problem.beta, problem.eta):
            return math.inf
        largest = max(largest_value(following), largest_value(value[age]))
        error = modulus(problem) * error + sweep_rounding(largest, problem.states, problem.eta)
        bound = max(bound, error)
        following = value[age]
    return bound


def dearest(problem: Problem) -> NDArray[np.int32]:
    """The highest grid point that each state can afford, ``(N_k, N_z)``; every state can afford the lowest."""
    return (np.searchsorted(problem.grid, problem.wealth) - 1).astype(np.int32)


def nearest(grid: NDArray[np.float64], choices: NDArray[np.float64]) -> NDArray[np.int32]:
    """The grid point nearest to each choice."""
    right = np.clip(np.searchsorted(grid, choices), 1, grid.size - 1)
    return (right - (choices - grid[right - 1] <= grid[right] - choices)).astype(np.int32)


def _measure(problem: Problem, value: NDArray[np.float64], policy: NDArray[np.int32], h: float) -> Verification:
    """One exact sweep, or one an age; ``h`` is what the stopping rule measured, infinite where it promises nothing.

    ``|TV - V| <= modulus h``, and the policy, found one sweep before, loses at most twice that.
    """
    from beltline.gpu_ref.exact import exact_sweep

    contraction = modulus(problem)
    ages = value.shape[0] if problem.horizon is not None else 1
    worst = bound = error = 0.0
    missed = ""
    following = value if problem.horizon is None else problem.start
    for age in range(ages - 1, -1, -1):
        now, choice = (value, policy) if problem.horizon is None else (value[age], policy[age])
        best, exact_policy = exact_sweep(
            problem.grid, problem.wealth, problem.transition, following, problem.beta, problem.eta
        )
        chosen = problem.wealth - problem.grid[choice]
        ahead = problem.beta * (following @ problem.transition.T)
        loss = best - (utility(chosen, problem.eta) + np.take_along_axis(ahead, choice.astype(np.intp), axis=0))
        consumption = np.minimum(chosen, problem.wealth - problem.grid[exact_policy])
        largest = float(max(np.abs(following).max(), np.abs(best).max()))
        doubt = float_rounding(problem, np.where(consumption > 0, consumption, np.inf), largest)
        gap = np.abs(best - now)
        rounding = 4 * doubt
        wrong = ~((gap <= contraction * h + rounding) & (loss <= 2 * (contraction * h + rounding)))
        if h == math.inf:
            # Nothing is promised but a choice.
            wrong = ~(chosen > 0.0)
        if wrong.any() and not missed:
            x, s = first(wrong)
            missed = (
                f"an exact double-precision sweep finds the maximum missed by {max(gap[x, s], loss[x, s]):.3g} "
                f"at grid point {x}, state {s}" + ("" if problem.horizon is None else f", age {age + 1}")
            )
        residual = float(gap.max())
        noise = float(doubt[np.isfinite(doubt)].max(initial=0.0))
        worst = max(worst, residual)
        if problem.horizon is None:
            bound = (residual + noise) / (1 - contraction)
        else:
            error = contraction * error + residual + noise
            bound = max(bound, error)
        following = now
    return Verification(worst, bound, True, missed)


def _outcome(
    problem: Problem,
    tol: float,
    max_sweeps: int,
    sweeps: int,
    h: float,
    converged: bool,
    method: str,
    quality: Verification,
    policy: NDArray[np.int32],
) -> tuple[Outcome, str]:
    from beltline.gpu_ref.methods import METHODS

    after = f"after {sweeps:,} sweep{'' if sweeps == 1 else 's'}"
    if (policy < 0).any():
        return Outcome.INFEASIBLE, f"A state could afford no choice of finite utility {after}."
    if quality.missed:
        return Outcome.NOT_VERIFIED, f"The run ended {after}, but {quality.missed}."
    rule = METHODS[method].rule
    unbounded = UNBOUNDED if rule != "own" and not quality.independent and math.isinf(quality.error_bound) else ""
    if problem.horizon is not None:
        return Outcome.FINISHED, f"All {sweeps:,} age{' was' if sweeps == 1 else 's were'} solved.{unbounded}"
    what = {
        "change": "The largest change of V",
        "span": "Half the spread of the changes of V",
        "spans": "Half the spread of the changes of V in each exogenous state",
        "own": "The largest change of consumption" if method == "egm" else "The largest change of V",
    }[rule]
    if converged:
        text = f"{what} fell below {tol:g} {after}."
        if rule == "own":
            text += f" Method {method!r} approximates: the residual says how near the solution on the grid is."
            text += "" if quality.independent else " It was not measured, so the error has no bound."
        return Outcome.CONVERGED, text + unbounded
    return Outcome.LIMIT, (
        f"{what} is still {h:.3g} after the limit of {max_sweeps:,} sweep{'' if max_sweeps == 1 else 's'}, "
        f"not below {tol:g}; more are needed."
    )
