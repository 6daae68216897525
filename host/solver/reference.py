"""The reference solvers behind the same front as the machine: double precision on the processor or on a graphics card.

They know nothing of fixed point, clocks or builds, so a result of theirs has none. What they return is measured like
any other: by one exact sweep on the problem's tables.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import DeviceError, Progress
from beltline.host.problem.checks import ProblemError, first, real, shown
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.result import Outcome, Result
from beltline.host.solver.fixed_point import modulus
from beltline.host.solver.run import timed
from beltline.host.solver.verify import Verification, float_rounding

AGES = {"cpu": ("grid", "binary", "monotone", "warm"), "gpu": ("monotone", "warm")}
"""Methods that can solve ages one by one, by device."""


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
        else:
            value, policy, seconds = module.solve_ages(
                *tables, problem.start, *numbers[:2], problem.horizon, method=method, **options
            )
            h, sweeps, converged, exact = 0.0, problem.horizon, True, True
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    timing |= seconds
    bound = found.error_bound if problem.horizon is None else 0.0
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
        solutions = module.solve_batch(tables, tol, max_sweeps, method, **options)
    except (ValueError, MemoryError) as error:
        raise ProblemError(f"{error}") from error
    exact = METHODS[method].rule != "own"
    return [
        _result(
            problem, tol, max_sweeps, "gpu", method, found.value, found.policy, found.sweeps, found.residual,
            found.converged, exact, found.error_bound, verify, dict(found.seconds), None,
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
        if wrong.any() and h < math.inf and not missed:
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
    if problem.horizon is not None:
        return Outcome.FINISHED, f"All {sweeps:,} age{' was' if sweeps == 1 else 's were'} solved."
    rule = METHODS[method].rule
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
        return Outcome.CONVERGED, text
    return Outcome.LIMIT, (
        f"{what} is still {h:.3g} after the limit of {max_sweeps:,} sweep{'' if max_sweeps == 1 else 's'}, "
        f"not below {tol:g}; more are needed."
    )
