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


def doubt(form: Form, values: Array, slack: Array, value: Array, probabilities: Array) -> float:
    """How far an aggregated value may be from the one in real numbers, units of utility.

    ``slack``, ``(N_d, N_k, N_z)``, is that of each alternative. Of a maximum counts who might truly be the best: an
    alternative far below may be as uncertain as it likes. The log-sum moves by at most twice the expected slack where
    no slack exceeds ``sigma``, as ``exp(u) - 1 < 2 u`` up to 1. It is rounded: an exponent is off by two roundings of
    itself, weighted by its exponential, which is at most ``1 / e``; exponential, sum, logarithm, product and the last
    sum take a few each.
    """
    worst = 0.0
    for regime in range(form.shape[0]):
        own = form.of_regime(regime)
        if form.sigma == 0.0:
            above = (values[own] + slack[own]).max(axis=0) - value[regime]
            below = value[regime] - (values[own] - slack[own]).max(axis=0)
            # These sums round, too.
            worst = max(
                worst, float(np.maximum(above, below).max()) + DOUBLE * 4.0 * float(np.abs(value[regime]).max())
            )
        else:
            if (slack[own] > form.sigma).any():
                worst = max(worst, float(slack[own].max()))
            else:
                worst = max(worst, 2.0 * float((probabilities[own] * slack[own]).sum(axis=0).max()))
    if form.sigma > 0.0:
        terms = 4.0 * float(np.abs(value).max()) + form.sigma * (8.0 + 4.0 * len(form.alternatives))
        worst += DOUBLE * terms
    return worst


def sweep(form: Form, V: Array, policy: Indexes, age: int = 0) -> Iterate:
    """Maximise once from ``V``, ``(N_r, N_k, N_z)``, beginning from ``policy``, ``(N_d, N_k, N_z)``.

    ``V`` must be finite; nothing is checked.
    """
    values, found = np.empty((len(form.alternatives), *form.shape[1:])), np.full(policy.shape, -1, np.int32)
    slack = np.zeros(values.shape)
    evaluations = searched = 0
    for d, one in enumerate(form.alternatives):
        if isinstance(one, Branch):
            swept = proven_branch(one.at(age), V, form.eta, negative=form.negative, policy=policy[d])
            values[d], found[d], slack[d] = swept.value, swept.policy, swept.slack
            evaluations += swept.evaluations
            searched += swept.searched
        else:
            values[d] = one.at(age)
    value, choice, probabilities = aggregate(form, values)
    uncertain = doubt(form, values, slack, value, probabilities) if np.isfinite(value).all() else np.inf
    return Iterate(form, value, values, found, choice, probabilities, uncertain, evaluations, searched)


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
