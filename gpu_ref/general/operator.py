"""The Bellman operator of a general problem: all alternatives swept, and one value of each regime."""

from __future__ import annotations

import numpy as np

from beltline.gpu_ref.general.form import Branch, Form, Indexes
from beltline.gpu_ref.general.solution import Iterate
from beltline.gpu_ref.general.sweep import continuation, proven_branch
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra_utility


def aggregate(form: Form, values: Array) -> tuple[Array, Indexes, Array]:
    """Value, best alternative and probabilities from the values of the alternatives, ``(N_d, N_k, N_z)``.

    With taste shocks the largest value is taken out of the exponentials, so that none overflows.
    """
    value, choice = np.empty(form.shape), np.empty(form.shape, np.int32)
    probabilities = np.zeros(values.shape)
    for regime in range(form.shape[0]):
        own = form.of_regime(regime)
        best = np.full(form.shape[1:], -np.inf)
        taken = np.full(form.shape[1:], own[0], np.int32)
        for d in own:
            better = values[d] > best
            best[better] = values[d][better]
            taken[better] = d
        choice[regime] = taken
        value[regime] = best
        if form.sigma > 0.0:
            with np.errstate(invalid="ignore"):
                weights = np.exp((values[own] - best) / form.sigma)
            total = weights.sum(axis=0)
            probabilities[own] = weights / total
            value[regime] += form.sigma * np.log(total)
        else:
            for d in own:
                probabilities[d] = taken == d
    return value, choice, probabilities


def aggregation_noise(form: Form, value: Array) -> float:
    """What :func:`aggregate` rounds at most, units of utility: nothing without taste shocks.

    An exponent is off by two roundings of itself, weighted by its exponential, which is at most ``1 / e``; exponential,
    sum, logarithm, product and the last sum take a few each.
    """
    if form.sigma == 0.0:
        return 0.0
    terms = 4.0 * float(np.abs(value).max()) + form.sigma * (8.0 + 4.0 * len(form.alternatives))
    return DOUBLE * terms


def sweep(form: Form, V: Array, policy: Indexes, age: int = 0) -> Iterate:
    """Maximise once from ``V``, ``(N_r, N_k, N_z)``, beginning from ``policy``, ``(N_d, N_k, N_z)``.

    ``V`` must be finite; nothing is checked.
    """
    values, found = np.empty((len(form.alternatives), *form.shape[1:])), np.full(policy.shape, -1, np.int32)
    slack = 0.0
    evaluations = searched = 0
    for d, one in enumerate(form.alternatives):
        if isinstance(one, Branch):
            swept = proven_branch(one.at(age), V, form.eta, negative=form.negative, policy=policy[d])
            values[d], found[d] = swept.value, swept.policy
            slack = max(slack, swept.slack)
            evaluations += swept.evaluations
            searched += swept.searched
        else:
            values[d] = one.at(age)
    value, choice, probabilities = aggregate(form, values)
    slack += aggregation_noise(form, value)
    return Iterate(form, value, values, found, choice, probabilities, slack, evaluations, searched)


def evaluate(last: Iterate, steps: int) -> Array:
    """The value after ``steps`` sweeps that hold every ``x'`` of ``last``, ``(N_r, N_k, N_z)``."""
    form, value = last.form, last.value
    utilities = {}
    for d, one in enumerate(form.alternatives):
        if isinstance(one, Branch) and steps:
            own = last.policy[d]
            consumption = one.wealth - np.take_along_axis(one.cost, np.maximum(own, 0), axis=0)
            utility = consumption if form.eta == 0.0 else crra_utility(consumption, form.eta)
            utilities[d] = np.where(own < 0, -np.inf, utility)
    for _ in range(steps):
        values = last.values.copy()
        for d, utility in utilities.items():
            one = form.alternatives[d]
            assert isinstance(one, Branch)
            ahead = continuation(one.at(), value).T
            values[d] = utility + np.take_along_axis(ahead, np.maximum(last.policy[d], 0), axis=0)
        value = aggregate(form, values)[0]
    return value
