"""Solutions of problems with alternatives from a machine: conversion from product states, and verification."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Branch
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import marginal_utility, utility
from beltline.host.results.result import Tables
from beltline.host.solver.fixed_point import UTILITY_ERROR, Image
from beltline.host.solver.product_image import words_of_tables
from beltline.host.solver.verify import DOUBLE, TIMES, Verification, measured
from beltline.hw.arithmetic.log_sum_constants import log_sum_error
from beltline.hw.arithmetic.numbers import MINIMUM


def found_of(image: Image, value: NDArray[np.int64], policy: NDArray[np.int64]) -> Tables:
    """Convert a machine's solution from product states to regimes and alternatives.

    Of several alternatives whose fixed-point values are equal and the largest, the first is taken.

    Parameters
    ----------
    image
        Image of a problem with alternatives.
    value, policy : (..., N_k, N_p) int64 arrays
        Values, in units of ``image``, and grid indexes of the choices, of all product states. The first axis of a
        problem with a horizon has the sweeps, the first of which is that of the last age.
    """
    if image.ages:
        sweeps = zip(reversed(image.ages), value, policy, strict=False)
        return Tables(*map(np.stack, zip(*(_found(*sweep) for sweep in sweeps), strict=True)))
    return _found(image, value, policy)


def _found(image: Image, value: NDArray[np.int64], policy: NDArray[np.int64]) -> Tables:
    """Convert a solution whose tables are those of one age; arguments as for :func:`found_of`."""
    products = image.products
    assert products is not None
    alternatives = products.form.alternatives
    shape = (*value.shape[:-2], len(alternatives), value.shape[-2], products.states)
    words, choices = np.empty(shape, np.int64), np.empty(shape, np.int32)
    values = np.empty(shape)
    for d, one in enumerate(alternatives):
        columns = products.of(d)
        own = value[..., columns]
        if not isinstance(one, Branch):
            own = np.broadcast_to(words_of_tables(one.at(products.age), image.value_bits), own.shape)
        words[..., d, :, :] = own
        values[..., d, :, :] = np.ldexp(own.astype(np.float64), -image.value_bits)
        if isinstance(one, Branch):
            nothing = own == MINIMUM
            values[..., d, :, :][nothing] = -np.inf
            stands = products.stands[policy[..., columns], columns]
            choices[..., d, :, :] = np.where(nothing, -1, stands)
        else:
            values[..., d, :, :], choices[..., d, :, :] = one.at(products.age), -1
    regimes = products.form.shape[0]
    best = np.empty((*shape[:-3], regimes, *shape[-2:]))
    taken = np.empty(best.shape, np.int32)
    probabilities = np.zeros(shape)
    for r in range(regimes):
        own_alternatives = np.array(products.form.of_regime(r))
        first = words[..., own_alternatives, :, :].argmax(axis=-3)
        taken[..., r, :, :] = own_alternatives[first]
        own_values = values[..., own_alternatives, :, :]
        best[..., r, :, :] = np.take_along_axis(own_values, first[..., None, :, :], axis=-3)[..., 0, :, :]
        if products.form.sigma > 0.0:
            probabilities[..., own_alternatives, :, :] = _log_sum(own_values, best[..., r, :, :], products.form.sigma)
            continue
        for d in own_alternatives:
            probabilities[..., d, :, :] = taken[..., r, :, :] == d
    return Tables(best, values, choices, taken, probabilities)


def _log_sum(values: NDArray[np.float64], best: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    """Replace the largest values of a regime by log-sums, and return the probabilities of its alternatives.

    ``values`` are those of the alternatives, ``(..., n, N_k, N_z)``, and ``best``, ``(..., N_k, N_z)``, the largest of
    them.
    """
    weights = np.exp((values - best[..., None, :, :]) / sigma)
    total = weights.sum(axis=-3)
    best += sigma * np.log(total)
    return np.asarray(weights / total[..., None, :, :])


def rounding_of(problem: Problem, image: Image, found: Tables) -> NDArray[np.float64]:
    """Return a bound on the rounding error of a sweep in each alternative's value, of the shape of ``found.values``.

    The bound is in units of utility. Utility has an error of one unit of value or ``2**-50`` of itself. The expectation
    has an error of half a unit, and one from the rounding of ``beta Q`` (``2**-65`` for each weight, times the largest
    value). ``kappa`` and tables of values have an error of half a unit. Wealth and cost have an error of half a unit of
    amounts each, and a cost that the machine computed one of a unit. It is multiplied by marginal utility at the next
    more expensive candidate, which an exact sweep may choose, or at the choice itself if that candidate is not
    affordable. Linear utility has no error of its own. With taste shocks there is that of the log-sum, which enters the
    expectation.
    """
    finite = found.values[np.isfinite(found.values)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    if not image.ages:
        return _rounding(problem, image, found.policy, largest)
    ages = zip(image.ages, found.policy, strict=True)
    return np.stack([_rounding(problem, one, policy, largest) for one, policy in ages])


def _rounding(problem: Problem, image: Image, choices: NDArray[np.int32], largest: float) -> NDArray[np.float64]:
    """Return the bound of :func:`rounding_of` for choices ``(..., N_d, N_k, N_z)`` with tables of one age."""
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


def measure_products(problem: Problem, image: Image, found: Tables, change: float) -> Verification:
    """Verify a machine's solution by a second search, in double precision and on the problem's own tables."""
    assert image.products is not None
    return measured(problem, found, change, image.products.form, rounding_of(problem, image, found))


def trust_products(problem: Problem, image: Image, found: Tables, change: float) -> Verification:
    """Return residual and error bound that follow from the device's own numbers, if it has proven its choices.

    As in :func:`beltline.host.solver.verify.trust`, the residual is at most ``beta`` times the last change of any
    alternative plus the rounding of a sweep. Added are the errors that rounding can cause in the device's proof: they
    may add up from grid point to grid point, and rounded values, also log-sums, may fall slightly in ``x``. Where
    consumption may be negative they cause none: differences of objectives are exact, and the choices need no order of
    values.
    """
    products = image.products
    assert products is not None
    form = products.form
    finite = found.values[np.isfinite(found.values)]
    largest = float(np.abs(finite).max())
    rounding = TIMES * float(rounding_of(problem, image, found).max())
    if not form.negative:
        of_utility = 0.0 if image.constants.linear else UTILITY_ERROR * 2 * largest
        rounding += (2 * form.shape[1] + 3) * (image.value_unit + of_utility)
        rounding += 2 * log_sum_error(form.sigma, image.value_unit)
    if problem.horizon is None:
        residual = form.modulus() * change + rounding
        return Verification(residual, residual / (1 - form.modulus()), False)
    error = bound = 0.0
    for age in reversed(range(found.value.shape[0])):
        error = form.modulus(age) * error + rounding
        bound = max(bound, error)
    return Verification(rounding, bound if math.isfinite(bound) else math.inf, False)
