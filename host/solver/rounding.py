"""The rounding of the accelerator's sweeps, and what follows from its own numbers without an exact sweep."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import marginal_utility, slope_noise, utility
from beltline.host.results.result import Tables
from beltline.host.solver.certificate import TIMES, Certificate, check_time, claimed
from beltline.host.solver.fixed_point import UTILITY_ERROR, Image
from beltline.hw.arithmetic.log_sum_constants import log_sum_error

DOUBLE = 2.0**-53
"""Largest relative error of one rounding of double precision."""


def fixed_rounding(
    problem: Problem,
    image: Image,
    consumption: NDArray[np.float64],
    size: NDArray[np.float64],
    largest: float,
) -> NDArray[np.float64]:
    """Return a bound on the error of one fixed-point sweep against the exact one, in units of utility.

    Utility, of ``size`` at the ``consumption`` of the choices, has an error of one unit in the last place or ``2**-50``
    of itself. The expectation has one of half a unit, and of the rounding of ``beta Q``, ``2**-65`` for each state,
    times the ``largest`` ``|V|``. ``V0`` has one of half a unit; ``W`` and ``x'`` have one of half a unit of amounts
    each, times marginal utility.
    """
    unit = image.amount_unit
    return (
        2 * image.value_unit
        + UTILITY_ERROR * size
        + unit * marginal_utility(consumption - unit, problem.eta)
        + problem.states * 2.0**-65 * largest
    )


def rounding_of_choices(
    problem: Problem, image: Image, value: NDArray[np.float64], policy: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return :func:`fixed_rounding` of a sweep with one alternative, in every state of ``policy``.

    It is that at the consumption of the choice or of the next more expensive one, which an exact sweep may choose;
    infinite for a choice that is not affordable, or whose consumption is no larger than its rounding error.
    """
    largest = float(max(np.abs(value).max(), np.abs(problem.start).max()))
    own = np.clip(policy, 0, problem.points - 1)
    above = np.minimum(own + 1, problem.points - 1)
    chosen, dearer = (problem.wealth - problem.grid[index] for index in (own, above))
    consumption = np.where(dearer > image.amount_unit, dearer, chosen)
    return fixed_rounding(problem, image, consumption, np.abs(utility(consumption, problem.eta)), largest)


def rounding_of(problem: Problem, image: Image, found: Tables) -> NDArray[np.float64]:
    """Return a bound on the rounding error of a sweep in each alternative's value, of the shape of ``found.values``.

    The bound is in units of utility. With alternatives, ``kappa`` and tables of values have an error of half a unit. A
    cost that the machine computed has one of a unit. Marginal utility is that at the next more expensive candidate,
    which an exact sweep may choose, or at the choice itself if that candidate is not affordable. Linear utility has no
    error of its own. With taste shocks there is that of the log-sum, which enters the expectation.
    """
    if image.products is None:
        value, policy = found.value[..., 0, :, :], found.policy[..., 0, :, :]
        return rounding_of_choices(problem, image, value, policy)[..., None, :, :]
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
    amount_error = image.amount_unit * (1.0 if image.faces is None else 1.5)
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


def peaked(
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
    by as much. Where consumption may be negative these errors are none: differences of objectives are exact, and the
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
