"""Full search, the oracle of the tests: evaluate every candidate of every state, in plain NumPy.

It shares with the solvers only the checked tables and the utility function, and computes each objective by the same
operations in the same order. So any difference from a solver is a difference of the search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from beltline.gpu_ref.general.form import Branch, Form, Indexes, Tables
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra_utility


class Searched(NamedTuple):
    """Outcome of one sweep of all alternatives by full search.

    Attributes
    ----------
    value
        ``(N_r, N_k, N_z)``, ``float64``, units of utility: value of each regime.
    values
        ``(N_d, N_k, N_z)``, ``float64``: value of each alternative; ``-inf`` where it cannot be taken.
    policy
        ``(N_d, N_k, N_z)``, ``int32``: the lowest of the best ``x'``; -1 where none can be taken.
    choice
        ``(N_r, N_k, N_z)``, ``int32``: number of the best alternative, the first of equals.
    probabilities
        ``(N_d, N_k, N_z)``: probability of each alternative within its regime; 0 or 1 without taste shocks.
    """

    value: Array
    values: Array
    policy: Indexes
    choice: Indexes
    probabilities: Array


def future(tables: Tables, V: Array) -> Array:
    """Return the value after a choice, ``kappa + beta Q sum_r mix_r V_r``, ``(N_k, N_z)``, summed by state in order."""
    mixed = np.zeros(V.shape[1:])
    for r in range(V.shape[0]):
        if tables.mix[r] != 0.0:
            mixed = mixed + tables.mix[r] * V[r]
    total = np.zeros(mixed.shape)
    for t in range(V.shape[2]):
        total = total + mixed[:, t, None] * tables.transition[None, :, t]
    return total * tables.beta + tables.kappa


def objectives(tables: Tables, V: Array, eta: float, s: int, *, negative: bool = False) -> Array:
    """Return the objective of each pair of row and candidate, ``(N_k, N_k)``, row first; ``-inf`` if not allowed."""
    consumption = tables.wealth[:, s, None] - tables.cost[None, :, s]
    candidates = np.arange(consumption.shape[1])
    allowed = (tables.low[:, s, None] <= candidates) & (candidates <= tables.high[:, s, None])
    if not negative:
        allowed &= consumption > 0.0
    with np.errstate(all="ignore"):
        utility = consumption if eta == 0.0 else crra_utility(consumption, eta)
    return np.where(allowed, utility + future(tables, V)[None, :, s], -np.inf)


def search_branch(tables: Tables, V: Array, eta: float, *, negative: bool = False) -> tuple[Array, Indexes]:
    """Return the value and the lowest best ``x'`` of one alternative, ``(N_k, N_z)`` each."""
    value, policy = np.empty(tables.wealth.shape), np.empty(tables.wealth.shape, np.int32)
    for s in range(V.shape[2]):
        found = objectives(tables, V, eta, s, negative=negative)
        value[:, s] = found.max(axis=1)
        policy[:, s] = np.where(value[:, s] > -np.inf, found.argmax(axis=1), -1)
    return value, policy


def full_sweep(form: Form, V: Array, age: int = 0) -> Searched:
    """Apply the Bellman operator once to ``V``, ``(N_r, N_k, N_z)``, by full search: ``N_d N_z N_k^2`` evaluations."""
    count = len(form.alternatives)
    values, policy = np.empty((count, *form.shape[1:])), np.full((count, *form.shape[1:]), -1, np.int32)
    for d, one in enumerate(form.alternatives):
        if isinstance(one, Branch):
            values[d], policy[d] = search_branch(one.at(age), V, form.eta, negative=form.negative)
        else:
            values[d] = one.at(age)
    best, choice = np.empty(form.shape), np.empty(form.shape, np.int32)
    probabilities = np.zeros(values.shape)
    for r in range(form.shape[0]):
        own = [d for d in range(count) if form.alternatives[d].regime == r]
        best[r] = values[own].max(axis=0)
        choice[r] = np.array(own)[values[own].argmax(axis=0)]
        if form.sigma > 0.0:
            weights = np.exp((values[own] - best[r]) / form.sigma)
            probabilities[own] = weights / weights.sum(axis=0)
            best[r] = best[r] + form.sigma * np.log(weights.sum(axis=0))
        else:
            probabilities[own] = np.array(own)[:, None, None] == choice[r]
    return Searched(best, values, policy, choice, probabilities)
