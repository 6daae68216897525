"""The host's work after a run of the accelerator: verification, the result, and plain sweeps where others failed.

A result is verified in double precision, to which the device supplies the rounding of its sweeps, or trusted, where its
own numbers bound the error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import timed
from beltline.host.devices.base import Progress
from beltline.host.problem.general import unused
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import marginal_utility, slope_noise, utility
from beltline.host.results.outcome import Outcome
from beltline.host.results.result import Result, Tables
from beltline.host.solver.certificate import TIMES, Certificate, certified, check_time, claimed, of_one_alternative
from beltline.host.solver.fixed_point import SMALLEST_TOLERANCE, UTILITY_ERROR, Image
from beltline.host.solver.judgement import LOWER, concluded, lowers
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.prepare import Prepared
from beltline.host.solver.run import Run
from beltline.hw.arithmetic.log_sum_constants import log_sum_error
from beltline.hw.interface.registers import Status

DOUBLE = 2.0**-53
"""Largest relative error of one rounding of double precision."""


def rounding_of(problem: Problem, image: Image, found: Tables) -> NDArray[np.float64]:
    """Return a bound on the error of a fixed-point sweep against the exact one, of the shape of ``found.values``.

    In units of utility. Utility has an error of one unit in the last place or ``2**-50`` of itself; linear utility has
    none. The expectation has one of half a unit, and of the rounding of ``beta Q``, ``2**-65`` for each state, times
    the largest ``|V|``. ``V0``, ``kappa`` and tables of values have one of half a unit. ``W`` and ``x'`` or the cost
    have one of half a unit of amounts each (a cost that the machine computed of a unit), times marginal utility at the
    next more expensive candidate, which an exact sweep may choose, or at the choice itself if that candidate is not
    affordable. With taste shocks there is that of the log-sum, which enters the expectation.
    """
    if image.products is None:
        policy = np.clip(found.policy[..., 0, :, :], 0, problem.points - 1)
        above = np.minimum(policy + 1, problem.points - 1)
        chosen, dearer = (problem.wealth - problem.grid[index] for index in (policy, above))
        unit, consumption = image.amount_unit, np.where(dearer > image.amount_unit, dearer, chosen)
        rounding = 2 * image.value_unit + UTILITY_ERROR * np.abs(utility(consumption, problem.eta))
        rounding += unit * marginal_utility(consumption - unit, problem.eta)
        rounding += problem.states * 2.0**-65 * max(_largest(found), float(np.abs(problem.start).max()))
        return np.asarray(rounding[..., None, :, :])
    largest = _largest(found)
    if not image.ages:
        return _rounding(problem, image, found.policy, largest)
    ages = zip(image.ages, found.policy, strict=True)
    return np.stack([_rounding(problem, one, policy, largest) for one, policy in ages])


def _largest(found: Tables) -> float:
    """Return the largest finite ``|value|`` of any alternative."""
    finite = found.values[np.isfinite(found.values)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def _rounding(problem: Problem, image: Image, choices: NDArray[np.int32], largest: float) -> NDArray[np.float64]:
    """Return the bound of :func:`rounding_of` for choices ``(..., N_d, N_k, N_z)`` with tables of one age."""
    # Imported here because it compiles.
    from beltline.gpu_ref.general.form import Branch

    products = image.products
    assert products is not None
    linear = image.constants.linear
    units = (2.0 if linear else 3.0) * image.value_unit
    units += products.wealth.shape[1] * 2.0**-65 * largest + 2.0 * DOUBLE * largest
    units += log_sum_error(products.form.sigma, image.value_unit)
    rounding = np.full(choices.shape, units)
    amount_error = image.amount_unit
    for d, one in enumerate(products.form.alternatives):
        if not isinstance(one, Branch):
            continue
        if linear:
            rounding[..., d, :, :] += np.where(choices[..., d, :, :] >= 0, amount_error, 0.0)
            continue
        columns = products.of(d)
        wealth, cost = products.wealth[:, columns], products.cost[:, columns]
        policy = np.maximum(choices[..., d, :, :], 0)
        above = products.stands[np.minimum(policy + 1, cost.shape[0] - 1), columns]
        states = np.arange(products.states)
        chosen, dearer = (wealth - cost[index, states] for index in (policy, above))
        consumption = np.where(dearer > image.amount_unit, dearer, chosen)
        with np.errstate(invalid="ignore"):
            own = UTILITY_ERROR * np.abs(utility(consumption, problem.eta))
            own += amount_error * marginal_utility(consumption - image.amount_unit, problem.eta)
        # No error is allowed for a choice that is not affordable, or whose consumption is no larger than its rounding
        # error.
        able = (choices[..., d, :, :] >= 0) & np.isfinite(own)
        rounding[..., d, :, :] += np.where(able, own, 0.0)
    return rounding


def one_peak(
    problem: Problem, image: Image, value: NDArray[np.int64], change: int = 0, deadline: float = math.inf
) -> bool:
    """Return whether every objective of a sweep is proven to have a single peak, so that local search finds it.

    The sweep is that from ``value``, in the units of ``image``, or from any within ``change`` of it, such as the sweep
    that computed ``value``; with a horizon that of every age, in the order of the sweeps.
    """
    # Imported here because they load compiled code.
    from beltline.hw.arithmetic.expectation import ExpectationParameters
    from beltline.hw.arithmetic.single_peak import curvature_room, single_peaked

    room = curvature_room(image.grid, image.wealth, image.constants)
    if problem.horizon is None:
        room = room - slope_noise(image.grid.astype(np.float64), float(change + 1))[:, None]
    unit = ExpectationParameters(problem.states)
    befores = [value] if problem.horizon is None else [image.start, *value[:-1]]
    for age, before in enumerate(befores):
        check_time(deadline, age, len(befores))
        if not single_peaked(unit.model(before, image.transition)[0], image.grid, room):
            return False
    return True


def trust(problem: Problem, image: Image, found: Tables, change: float, proven: bool = False) -> Certificate:
    """Return the certificate that follows from the numbers of the device, if its search missed no maximum.

    The residual is at most ``beta`` times the last change of any alternative plus the rounding of a sweep and of values
    to double precision. A device that has ``proven`` its choices by search between the choices of neighbouring states
    compared utilities with an error of one unit or ``2**-50`` of themselves, which may add up from grid point to grid
    point. After rounding, values, also log-sums, may fall slightly in ``x``, and a dominated candidate may seem better
    by as much. Where consumption may be negative there is no such error: differences of objectives are exact, and the
    choices need no order of values.
    """
    products = image.products
    rounding = TIMES * float(rounding_of(problem, image, found).max())
    largest = _largest(found)
    if products is None:
        largest = max(largest, float(np.abs(problem.start).max()))
        rounding += 2 * DOUBLE * largest
    unit = image.value_unit + (0.0 if image.constants.linear else UTILITY_ERROR * 2 * largest)
    negative = products is not None and products.form.negative
    if proven and not negative:
        # The utility of a candidate close to the best is at most the sum of a value and an expectation.
        rounding += 2 * problem.points * unit
    if products is not None and not negative:
        rounding += 3 * unit + 2 * log_sum_error(products.form.sigma, image.value_unit)

    def modulus(age: int = 0) -> float:
        return problem.modulus if products is None else products.form.modulus(age)

    if problem.horizon is None:
        residual = modulus() * change + rounding
        return claimed(problem, found.value, residual, residual / (1 - modulus()))
    error = bound = 0.0
    for age in reversed(range(found.value.shape[0])):
        error = modulus(age) * error + rounding
        bound = max(bound, error)
    return claimed(problem, found.value, rounding, bound if math.isfinite(bound) else math.inf)


def plain(options: SolveOptions) -> SolveOptions:
    """Return the options for plain sweeps of the accelerator from the problem's own ``start``."""
    return replace(options, method=None, start="given")


def failed(result: Result) -> bool:
    """Return whether a run failed in a way that extrapolation, or the values of another problem, can cause."""
    return result.status in (Outcome.SATURATED, Outcome.NOT_VERIFIED)


def or_plain(result: Result, again: Callable[[], Result], what: str = "shifted ones") -> Result:
    """Return the result of the accelerator or, if it :func:`failed`, that of plain sweeps if they succeed."""
    if not failed(result):
        return result
    other = again()
    if not other.success:
        return result
    return replace(other, message=f"{other.message} Plain sweeps replaced {what}, which had failed: {result.message}")


CURE = "use more fraction bits (amount_bits, value_bits), or measure amounts in other units"
"""What may lower the error bound of a result of the accelerator."""

INVALID = Status.SATURATED | Status.INFEASIBLE
"""Status flags of a run whose values cannot be used."""


@dataclass(frozen=True, eq=False)
class Completed:
    """A run that has ended, with the seconds of its parts, and where and how the device counts clocks."""

    work: Prepared
    run: Run
    timing: dict[str, float]
    device: str
    clocks_source: str

    def result(self, report: Progress | None = None) -> Any:
        """Return the result, verified if the options ask for it. The device is not used."""
        return _result(self, report)


def _result(completed: Completed, report: Progress | None) -> Result:
    work, done = completed.work, completed.run
    problem, image, options = work.problem, work.image, work.options
    tables = _tables(image, done)
    if problem.horizon is not None:
        # Sweeps go backwards in age: the first one solves the last age.
        tables = tables._replace(**{name: np.ascontiguousarray(part[::-1]) for name, part in tables._asdict().items()})
    change = math.ldexp(done.norm, -image.value_bits)
    quality, note = _certified(completed, tables, change, report)
    outcome, message = _outcome(work, done, change, quality)
    modulus, cure = _modulus(work), CURE
    if problem.horizon is None and options.tol > SMALLEST_TOLERANCE * image.value_unit:
        cure = LOWER if lowers(quality.residual, quality.error_bound, modulus) == LOWER else CURE
    facts = concluded(quality, options, outcome, message, tables.value, modulus, cure, by_state=False)
    facts["message"] = " ".join(filter(None, (facts["message"] + note, image.note, unused(problem))))
    return Result.of(
        problem,
        quality.tables or tables,
        **facts,
        sweeps=done.sweeps,
        change=change,
        tol=options.tol,
        clocks=done.clocks,
        clocks_source=completed.clocks_source,
        timing=completed.timing,
        device=completed.device,
        amount_bits=image.amount_bits,
        value_bits=image.value_bits,
        build_hash=done.build_hash,
        proven=Status.PROVEN in done.status,
    )


def _tables(image: Image, done: Run) -> Tables:
    """Return the solution of a run in units of utility, with an axis of sweeps for a problem with a horizon."""
    if image.products is not None:
        # Here, because it compiles.
        from beltline.host.solver.product_image import found_of

        return found_of(image, done.value, done.policy)
    # Multiplication by a power of two is exact.
    value = np.multiply(done.value, image.value_unit, dtype=np.float64)
    return of_one_alternative(value, done.policy.astype(np.int32))


def _certified(completed: Completed, tables: Tables, change: float, report: Progress | None) -> tuple[Certificate, str]:
    """Return the certificate of a solution, and a sentence if it is verified although ``verify`` is False."""
    work, done = completed.work, completed.run
    problem, image, options = work.problem, work.image, work.options
    proven, horizon = Status.PROVEN in done.status, problem.horizon is not None
    products = image.products is not None
    deadline = math.inf
    if horizon and options.timeout is not None:
        deadline = time.monotonic() + options.timeout - sum(done.timing.values())
    # An age that was not reached has no value to measure.
    whole = not products or (done.sweeps and (not horizon or done.value.shape[0] == problem.horizon))
    if done.status & INVALID or not whole:
        return claimed(problem, tables.value, math.inf, math.inf), ""
    note = ""
    if not options.verify and products:
        note = " The choices of the last sweep are not proven, so the result was verified although verify is False."
    elif not options.verify and not proven:
        if one_peak(problem, image, done.value, done.norm, deadline):
            return trust(problem, image, tables, change, proven), ""
        note = (
            " The objective may have several peaks, of which the engine may have found one that is not the highest, so "
            "the result was verified although verify is False."
        )
    if not options.verify and proven:
        return trust(problem, image, tables, change, proven), ""
    if report:
        report("verifying by a second search" if products else "verifying with an exact sweep in double precision")
    with timed(completed.timing, "verify"):
        form = None if image.products is None else image.products.form
        rounding = rounding_of(problem, image, tables)
        return certified(problem, tables, change, form, rounding, deadline=deadline), note


def _modulus(work: Prepared) -> float:
    products = work.image.products
    return work.problem.modulus if products is None else products.form.modulus()


def _outcome(work: Prepared, done: Run, change: float, quality: Certificate) -> tuple[Outcome, str]:
    problem, image, tol, max_sweeps = work.problem, work.image, work.options.tol, work.options.max_sweeps
    after = f"after {done.sweeps:,} sweep{'' if done.sweeps == 1 else 's'}"
    if Status.SATURATED in done.status:
        cure = "use fewer value bits" if image.value_bits else "rescale the problem"
        return Outcome.SATURATED, f"A value left the range of the fixed-point format {after}; {cure}."
    if Status.INFEASIBLE in done.status:
        return Outcome.INFEASIBLE, f"No affordable choice of some state had a finite utility {after}."
    if quality.missed and image.products is not None:
        return Outcome.NOT_VERIFIED, f"The run ended {after}, but {quality.missed}."
    if quality.missed:
        return Outcome.NOT_VERIFIED, (
            f"The run ended {after}, but {quality.missed}: either the objective has several peaks, which device 'cpu' "
            f"can search and this engine cannot, or the device made an error."
        )
    if Status.STOPPED in done.status:
        return Outcome.STOPPED, f"The run was stopped {after}, with the last change of V at {change:.3g}."
    if problem.horizon is not None:
        if done.sweeps == problem.horizon:
            return Outcome.FINISHED, f"All {done.sweeps:,} age{' was' if done.sweeps == 1 else 's were'} solved."
        return Outcome.STOPPED, f"The run ended {after}, before the first of {problem.horizon:,} ages."
    if Status.CONVERGED in done.status and change < tol:
        return Outcome.CONVERGED, f"The largest change of V fell below {tol:g} {after}."
    factor = _modulus(work)
    more = math.ceil(math.log(tol / change) / math.log(factor)) + 1 if change >= tol and factor > 0 else 1
    limit = f"the limit of {max_sweeps:,} sweep{'' if max_sweeps == 1 else 's'}"
    if done.sweeps > max_sweeps:
        limit = f"{done.sweeps:,} sweeps, with those of the checkpoint, which is over {limit}"
    return Outcome.LIMIT, (
        f"The largest change of V is still {change:.3g} after {limit}, not below {tol:g}; about {more:,} more are "
        f"needed: increase max_sweeps."
    )
