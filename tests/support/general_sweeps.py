"""Sweeps of general problems by the solver, and their comparison with those of the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from beltline.gpu_ref.general.form import Branch, Form, Indexes
from beltline.gpu_ref.general.operator import Operator, states_first
from beltline.gpu_ref.general.packed import pack
from beltline.gpu_ref.general.solution import Iterate
from beltline.gpu_ref.general.sweep import swept
from beltline.gpu_ref.tables import Array
from oracle import bellman
from support.random_forms import RandomForm

TIE = 1e-13
"""Differences up to this share of a value, and of the values among which it is chosen, count as rounding."""


def sweep(form: Form, V: Array, policy: Indexes, age: int = 0, operator: Any = Operator) -> Iterate:
    """Maximise once from ``V``, ``(N_r, N_k, N_z)``, and ``policy``, ``(N_d, N_k, N_z)``."""
    return operator(form, age).sweep(states_first(V), np.ascontiguousarray(np.swapaxes(policy, -1, -2), np.int32))


def check_values(form: Form, d: int, V: Array, value: Array, policy: Indexes, age: int = 0) -> Any:
    """Compare one alternative's values and choices, ``(N_k, N_z)``, with the oracle's; return its best objectives."""
    own = bellman.objectives(form, d, V, age)
    best = own.max(axis=2)
    able = np.isfinite(best)
    np.testing.assert_array_equal(np.isfinite(value), able)
    one = form.alternatives[d]
    if isinstance(one, Branch):
        tie = TIE * (np.abs(best[able]) + 1.2 * np.abs(V).max() + np.abs(one.at(age).kappa).max())
        chosen = np.take_along_axis(own, np.maximum(policy, 0)[:, :, None], axis=2)[:, :, 0]
        np.testing.assert_array_equal(policy < 0, ~able)
        assert (np.abs(value[able] - best[able]) <= tie).all()
        assert (best[able] - chosen[able] <= tie).all()
    return best


def check_sweep(form: Form, V: Array, found: Iterate, age: int = 0) -> None:
    """Compare a sweep from ``V`` with the oracle's: values, what the choices lose, and probabilities."""
    best = [check_values(form, d, V, found.values[d], found.policy[d], age) for d in range(len(form.alternatives))]
    right = bellman.swept(form, V, age)
    largest = np.abs(np.nan_to_num(best, neginf=0.0)).max()
    size = 10.0 * TIE * (np.abs(right.value) + np.abs(V).max() + form.sigma + largest)
    assert (np.abs(found.value - right.value) <= size).all()
    taken = np.take_along_axis(right.values, found.choice, axis=0)
    top = np.stack([right.values[form.of_regime(r)].max(axis=0) for r in range(form.shape[0])])
    assert (top - taken <= size).all()
    if form.sigma > 0.0:
        assert np.abs(found.probabilities - right.probabilities).max() <= size.max() / form.sigma


def random_sweeps(drawn: RandomForm, operator: Any = Operator) -> Iterator[Iterate]:
    """Compare three sweeps, or those of all ages, with the oracle's, each from the oracle's value and policy."""
    form, V, policy = drawn.form, drawn.value, drawn.policy
    for age in range(form.horizon - 1, -1, -1) if form.horizon else (0, 0, 0):
        found = sweep(form, V, policy, age, operator)
        check_sweep(form, V, found, age)
        yield found
        last = bellman.swept(form, V, age)
        V, policy = np.asarray(last.value, float), last.policy


class Swept(NamedTuple):
    """One alternative, maximised by the solver: arrays ``(N_k, N_z)`` and counts of work."""

    value: Array
    policy: Indexes
    slack: Array
    evaluations: int
    divided: int
    searched: int


def maximised(form: Form, V: Array, policy: Any = -1) -> Swept:
    """Maximise the first alternative from ``V``, ``(N_r, N_k, N_z)``, and a policy."""
    one = form.alternatives[0]
    assert isinstance(one, Branch)
    first = np.ascontiguousarray(np.broadcast_to(np.asarray(policy, np.int32), form.shape[1:]).T[None])
    after = np.ascontiguousarray(V.transpose(0, 2, 1))
    found = swept(pack([(0, one.at())], V.shape[0]), after, float(form.eta), 0.0, form.negative, first)
    return Swept(*(each[0].T for each in (found.values, found.policy, found.slack)), *found.counts[0].sum(axis=0))


def checked(form: Form, V: Array, policy: Any = -1) -> Swept:
    """Maximise, as :func:`maximised`, and compare with the oracle."""
    found = maximised(form, V, policy)
    check_values(form, 0, V, found.value, found.policy)
    return found
