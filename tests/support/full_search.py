"""Full search of general problems: evaluate every candidate of every state in plain NumPy, and compare sweeps with it.

It shares with the solvers only the checked tables and the utility function, and computes each objective by the same
operations in the same order. So any difference from a solver is a difference of the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from beltline.gpu_ref.general.form import Branch, Form, Indexes, Tables
from beltline.gpu_ref.general.operator import Operator, states_first
from beltline.gpu_ref.general.packed import pack
from beltline.gpu_ref.general.solution import Iterate
from beltline.gpu_ref.general.sweep import swept
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra_utility
from support.random_forms import RandomForm


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


TIE = 1e-13
"""Differences up to this share of a value, and of the expectations among which it is chosen, count as ties."""


@dataclass
class Compared:
    """What was compared, and what was found.

    Attributes
    ----------
    states
        Number of states of alternatives compared, counted once per sweep.
    searched
        Number of columns (exogenous states of alternatives) that the sweeps searched in full.
    columns
        Number of columns compared.
    evaluations
        Number of objectives that the sweeps computed.
    other
        Number of choices of ``x'`` that differ from those of full search within ties.
    largest
        Largest difference of a value, as a share.
    differences
        One line for each alternative or regime that differs by more than ties.
    """

    states: int = 0
    searched: int = 0
    columns: int = 0
    evaluations: int = 0
    other: int = 0
    largest: float = 0.0
    differences: list[str] = field(default_factory=list)


def _record(found: Compared, where: str, what: str, share: Array) -> None:
    """Record the largest of the differences ``share`` (relative), and a line if some exceed ties."""
    share = np.where(np.isnan(share), np.inf, share)
    found.largest = max(found.largest, float(share.max(initial=0.0)))
    if (share > TIE).any():
        first = [int(i) for i in np.argwhere(share > TIE)[0]]
        found.differences.append(
            f"{where}: {what} differs in {int((share > TIE).sum())} states, first {first}, by {share.max():.3g}"
        )


def _gap(one: Array, other: Array) -> Array:
    """Return ``|one - other|``, and 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        gap: Array = np.where(one == other, 0.0, np.abs(one - other))
    return gap


def compare_sweep(found: Compared, where: str, form: Form, V: Array, swept: Iterate, age: int = 0) -> None:
    """Compare a sweep from ``V`` with full search from ``V``, and add the outcome to ``found``."""
    oracle = full_sweep(form, V, age)
    sizes = []
    for d, one in enumerate(form.alternatives):
        size = np.abs(np.where(np.isfinite(oracle.values[d]), oracle.values[d], 0.0))
        if isinstance(one, Branch):
            tables = one.at(age)
            size = np.maximum(size, np.abs(future(tables, V)).max(axis=0)) + np.finfo(float).tiny
            _record(found, f"{where}, {one.name}", "value", _gap(swept.values[d], oracle.values[d]) / size)
            regret = np.zeros(size.shape)
            for x, s in np.argwhere(swept.policy[d] != oracle.policy[d]):
                chosen = swept.policy[d][x, s]
                own = objectives(tables, V, form.eta, s, negative=form.negative)[x, chosen] if chosen >= 0 else -np.inf
                regret[x, s] = oracle.values[d][x, s] - own
                found.other += 1
            _record(found, f"{where}, {one.name}", "choice", regret / size)
            found.states += size.size
            found.columns += size.shape[1]
        sizes.append(size + np.finfo(float).tiny)
    for regime in range(form.shape[0]):
        own = form.of_regime(regime)
        size = np.max([sizes[d] for d in own], axis=0) + form.sigma
        _record(found, f"{where}, regime {regime}", "value", _gap(swept.value[regime], oracle.value[regime]) / size)
        taken = np.take_along_axis(oracle.values, swept.choice[regime][None], axis=0)[0]
        best = oracle.values[own].max(axis=0)
        _record(found, f"{where}, regime {regime}", "alternative", _gap(taken, best) / size)
        if form.sigma > 0.0:
            for d in own:
                gap = _gap(swept.probabilities[d], oracle.probabilities[d]) * form.sigma / size
                _record(found, f"{where}, {form.alternatives[d].name}", "probability", gap)
    found.evaluations += swept.evaluations
    found.searched += swept.searched


def _sweeps(drawn: RandomForm) -> Iterator[tuple[str, Array, Indexes, int]]:
    """Yield the sweeps to compare: a label, the value and the policy from which to start, and the age."""
    form, V, policy = drawn.form, drawn.value, drawn.policy
    ages = range(form.horizon - 1, -1, -1) if form.horizon else (0, 0, 0)
    for number, age in enumerate(ages):
        yield (f"age {age + 1}" if form.horizon else f"sweep {number}"), V, policy, age
        last = full_sweep(form, V, age)
        V, policy = last.value, last.policy


def compare_form(found: Compared, name: str, drawn: RandomForm, operator: Any = Operator) -> None:
    """Compare sweeps of a problem with full search. Each starts from the value of full search, so differences do not
    accumulate.
    """
    for where, V, policy, age in _sweeps(drawn):
        found_here = sweep(drawn.form, V, policy, age, operator)
        compare_sweep(found, f"{name} ({drawn.kind}), {where}", drawn.form, V, found_here, age)


class Swept(NamedTuple):
    """One alternative, maximised by the solver: arrays ``(N_k, N_z)`` and counts of work."""

    value: Array
    policy: Indexes
    slack: Array
    evaluations: int
    divided: int
    searched: int


def proven_branch(tables: Tables, V: Array, eta: float, *, negative: bool = False, policy: Any = -1) -> Swept:
    """Maximise one alternative from ``V``, ``(N_r, N_k, N_z)``, and a guess of the policy."""
    first = np.broadcast_to(np.asarray(policy, np.int32), tables.wealth.shape).T[None]
    V = np.ascontiguousarray(V.transpose(0, 2, 1))
    packed = pack([(0, tables)], V.shape[0])
    found = swept(packed, V, float(eta), 0.0, negative, np.ascontiguousarray(first))
    return Swept(*(each[0].T for each in (found.values, found.policy, found.slack)), *found.counts[0].sum(axis=0))


def sweep(form: Form, V: Array, policy: Indexes, age: int = 0, operator: Any = Operator) -> Iterate:
    """Maximise once from ``V``, ``(N_r, N_k, N_z)``, and ``policy``, ``(N_d, N_k, N_z)``."""
    return operator(form, age).sweep(states_first(V), np.ascontiguousarray(np.swapaxes(policy, -1, -2), np.int32))
