"""Which errors of a general solution its certification finds, and which it tolerates."""

from __future__ import annotations

from collections import Counter
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.general import Branch, Form, Outside, Solution, measured, solve
from beltline.gpu_ref.general.applied import continuation
from beltline.gpu_ref.general.candidates import AS_GIVEN, BY_COST, UNORDERED
from beltline.gpu_ref.general.certificate import Measured
from beltline.gpu_ref.general.form import Tables
from beltline.gpu_ref.general.proof import (
    FEW_CANDIDATES,
    GAP,
    ROOT,
    SLACK,
    VALUE,
    _numbers,
    possible,
    proven_column,
)
from beltline.gpu_ref.general.proof import (
    POLICY as CHOSEN,
)
from beltline.gpu_ref.tables import Array
from oracle import bellman
from support.random_forms import RandomForm, random_form

NAMES = ("value", "values", "policy", "choice", "probabilities")


@cache
def solved(seed: int, grid: int = 24) -> tuple[RandomForm, Solution]:
    drawn = random_form(seed, grid)
    size = float(np.abs(drawn.value).max())
    more = {} if drawn.form.horizon else {"tol": 1e-9 * size, "steps": 20, "max_sweeps": 300}
    return drawn, solve(drawn.form, drawn.value, **more)


def changed(solution: Solution, **new: Any) -> Any:
    """Return the solution with copies of some arrays, in which entries may be set."""
    return SimpleNamespace(**{name: new.get(name, getattr(solution, name)) for name in NAMES})


def certified(drawn: RandomForm, solution: Solution, answer: Any = None) -> Measured:
    return measured(drawn.form, answer or solution, solution.residual, drawn.value)


def future(tables: Tables, V: Array, eta: float = 1.0) -> Array:
    """Return the value after a choice, ``(N_k, N_z)``."""
    return np.asarray(continuation(tables, V, eta)[0].T)


def column(
    tables: Tables, V: Array, form: Form, s: int, given: Array, tight: bool = True
) -> tuple[Array, Array, int, bool]:
    """Search one exogenous state of an alternative by :func:`proven_column`, from a value and a policy."""
    grid = tables.low.shape[0]
    found, whole = np.empty((7, grid)), np.empty((5, grid), np.int32)
    at = [np.ascontiguousarray(t[:, s]) for t in (tables.cost, future(tables, V), np.zeros(tables.cost.shape))]
    at.append(np.ascontiguousarray(tables.wealth[:, s]))
    bounds = [np.ascontiguousarray(t[:, s]) for t in (tables.low, tables.high)]
    begin = np.ascontiguousarray(given[:, s], np.int32)
    return found, whole, *proven_column(*at, form.eta, form.negative, *bounds, begin, tight, found, whole)


def order_of(tables: Tables, V: Array, s: int, negative: bool) -> int:
    """Return how :func:`_numbers` orders the candidates of an exogenous state."""
    low, high = (np.ascontiguousarray(t[:, s]) for t in (tables.low, tables.high))
    cost, ev = np.ascontiguousarray(tables.cost[:, s]), np.ascontiguousarray(future(tables, V)[:, s])
    return int(_numbers(cost, ev, low, high, negative, np.empty(cost.size, np.int32))[3])


def test_the_proof_finds_what_full_search_does_from_any_policy() -> None:
    orders: Counter[int] = Counter()
    full = 0
    for seed in range(50):
        drawn = random_form(seed, 60)
        form, V = drawn.form, drawn.value
        last = bellman.swept(form, V)
        for d, one in enumerate(form.alternatives):
            if not isinstance(one, Branch):
                continue
            tables = one.at()
            for s, given in ((s, g) for s in range(form.shape[2]) for g in (drawn.policy[d], last.policy[d])):
                found, whole, evaluations, searched = column(tables, V, form, s, given, tight=False)
                value, policy, slack = found[VALUE], whole[CHOSEN], found[SLACK]
                every = bellman.objectives(form, d, V)[:, s]
                size = np.abs(future(tables, V)).max() + np.abs(np.where(np.isfinite(value), value, 0.0))
                np.testing.assert_array_equal(np.isfinite(value), np.isfinite(every.max(axis=1)))
                there = np.isfinite(value)
                assert (np.abs(value[there] - every.max(axis=1)[there]) <= 1e-13 * size[there]).all()
                assert (np.abs(value[there] - every[np.arange(size.size), policy][there]) <= 1e-13 * size[there]).all()
                assert (policy[~there] == -1).all()
                assert (slack[there] >= 0.0).all()
                allowed = tables.high[:, s] - tables.low[:, s] + 1
                order = order_of(tables, V, s, form.negative)
                assert searched == (order == UNORDERED and allowed.sum() > FEW_CANDIDATES * allowed.size)
                orders[order] += 1
                full += searched
                if given is last.policy[d] and not searched and allowed.sum() > FEW_CANDIDATES * allowed.size:
                    assert evaluations <= 3 * allowed.size + 2 * allowed.size + 2
    assert min(orders[AS_GIVEN], orders[BY_COST], orders[UNORDERED], full) > 25


def test_no_gap_is_larger_than_that_of_full_search() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(80):
        drawn = random_form(seed, 40)
        form, V = drawn.form, drawn.value
        for d, one in enumerate(form.alternatives):
            if not isinstance(one, Branch):
                continue
            tables = one.at()
            for s in range(form.shape[2]):
                found, whole, _, _ = column(tables, V, form, s, drawn.policy[d])
                every = bellman.objectives(form, d, V)[:, s]
                value, policy = found[VALUE], whole[CHOSEN]
                size = 1e-13 * (np.abs(future(tables, V)).max() + np.abs(np.where(np.isfinite(value), value, 0.0)))
                scale = float(np.ptp(future(tables, V))) + 1e-300
                margin = np.full(value.size, scale * 10.0 ** np.random.default_rng(seed).uniform(-4, 0))
                low, high = np.empty(value.size, np.int32), np.empty(value.size, np.int32)
                possible(found, whole, margin, low, high)
                for x in np.flatnonzero(policy >= 0):
                    loss = value[x] - every[x]
                    others = np.delete(loss, policy[x])
                    assert found[GAP, x] <= others.min(initial=np.inf) + size[x]
                    near = whole[ROOT, np.flatnonzero(loss <= margin[x] - size[x])]
                    assert ((low[x] <= near) & (near <= high[x])).all()
                    kinds["proven"] += found[GAP, x] > size[x]
                    kinds["provable"] += others.min(initial=np.inf) > size[x]
                    kinds["inside"] += high[x] - low[x] + 1
                    kinds["allowed"] += int(np.isfinite(loss).sum())
    # Most gaps are proven, and most candidates that lose more than the margin are excluded.
    assert kinds["proven"] > 0.9 * kinds["provable"], kinds
    assert kinds["inside"] < 0.7 * kinds["allowed"], kinds


def test_right_solutions_are_certified_and_their_residual_is_that_of_full_search() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(50):
        drawn, solution = solved(seed)
        found = certified(drawn, solution)
        assert (found.missed, found.miss) == (0, None), (seed, found)
        following = solution.value if drawn.form.horizon is None else drawn.value
        residual = 0.0
        for age in range((drawn.form.horizon or 1) - 1, -1, -1):
            now = solution.value if drawn.form.horizon is None else solution.value[age]
            residual = max(residual, float(np.abs(bellman.applied(drawn.form, following, age) - now).max()))
            following = now
        size = float(max(np.abs(solution.value).max(), np.abs(drawn.value).max()))
        assert abs(found.residual - residual) <= 1e-12 * size
        if drawn.form.horizon is None:
            # Both count roundings, of searches that are not the same.
            assert found.error_bound <= 1.1 * solution.error_bound
        else:
            assert found.error_bound <= 4.0 * solution.error_bound
            assert found.residual <= 1e-12 * size
        kinds["ages"] += drawn.form.horizon is not None
        kinds["shocks"] += drawn.form.sigma > 0.0
        kinds["linear"] += drawn.form.eta == 0.0
        kinds["outside"] += any(isinstance(one, Outside) for one in drawn.form.alternatives)
    assert min(kinds.values()) > 3, kinds


def where(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(rng.integers(n)) for n in shape)


def kind_of(drawn: RandomForm, at: tuple[int, ...], V: Array) -> str:
    """Classify an entry of ``values``: how its candidates are ordered, or that it has none."""
    age = at[0] if drawn.form.horizon is not None else 0
    d, _, s = at[-3:]
    one = drawn.form.alternatives[d]
    if not isinstance(one, Branch):
        return "outside"
    tables = one.at(age)
    if (tables.low == tables.high).all():
        return "forced"
    order = order_of(tables, V, s, drawn.form.negative)
    return {AS_GIVEN: "in order", BY_COST: "by cost", UNORDERED: "without order"}[int(order)]


def after(drawn: RandomForm, solution: Solution, at: tuple[int, ...]) -> Array:
    """Return the value function from which an entry was computed: that of the next age, or the solution itself."""
    if drawn.form.horizon is None:
        return solution.value
    return drawn.value if at[0] == drawn.form.horizon - 1 else solution.value[at[0] + 1]


def test_a_wrong_value_of_an_alternative_is_found() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(150):
        drawn, solution = solved(seed)
        rng = np.random.default_rng(seed)
        size = float(np.abs(drawn.value).max())
        values = solution.values.copy()
        at = where(rng, values.shape)
        if not np.isfinite(values[at]):
            values[at] = size
        else:
            values[at] += 1e-3 * size * rng.choice([-1.0, 1.0])
        found = certified(drawn, solution, changed(solution, values=values))
        assert found.missed == 1
        assert found.miss is not None
        assert (found.miss.kind, found.miss.alternative, found.miss.x, found.miss.s) == ("value", *at[-3:])
        assert found.miss.age == (at[0] if drawn.form.horizon else 0)
        if np.isfinite(solution.values[at]):
            np.testing.assert_allclose(found.miss.amount, 1e-3 * size, rtol=1e-4)
        assert found.residual == certified(drawn, solution).residual
        kinds[kind_of(drawn, at, after(drawn, solution, at))] += 1
    assert min(kinds[k] for k in ("outside", "forced", "in order", "by cost", "without order")) >= 5, kinds


@pytest.mark.parametrize("far", [False, True])
def test_a_wrong_choice_is_found_where_it_costs_something(far: bool) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(150):
        drawn, solution = solved(seed)
        rng = np.random.default_rng(seed)
        policy = solution.policy.copy()
        at = where(rng, policy.shape)
        age, (d, x, s) = (at[0] if drawn.form.horizon else 0), at[-3:]
        one = drawn.form.alternatives[d]
        points = policy.shape[-2]
        old = int(policy[at])
        policy[at] = rng.integers(points) if far or not 0 < old < points - 1 else old + rng.choice([-1, 1])
        if policy[at] == old:
            continue
        V = after(drawn, solution, at)
        loss, best = np.inf, 0.0
        if isinstance(one, Branch):
            own = np.asarray(bellman.objectives(drawn.form, d, V, age)[x, s], float)
            if np.isfinite(own.max()):
                loss, best = own.max() - own[policy[at]], own.max()
        found = certified(drawn, solution, changed(solution, policy=policy))
        size = float(max(np.abs(V).max(), np.abs(drawn.value).max(), np.abs(best)))
        if loss > 1e-7 * size:
            assert found.missed == 1, (seed, loss)
            assert found.miss is not None
            assert (found.miss.kind, found.miss.alternative, found.miss.x, found.miss.s, found.miss.age) == (
                "choice", d, x, s, age,
            )  # fmt: skip
            assert found.miss.amount == loss or abs(found.miss.amount - loss) <= 1e-10 * size
            kinds[kind_of(drawn, at, V)] += 1
        elif loss < 1e-12 * size:
            assert found.missed == 0, (seed, loss)
            kinds["tie"] += 1
    assert min(kinds[k] for k in ("outside", "forced", "in order", "by cost", "without order")) >= 5, kinds


def test_a_wrong_value_of_a_regime_is_found() -> None:
    for seed in range(60):
        drawn, solution = solved(seed)
        rng = np.random.default_rng(seed)
        size = float(np.abs(drawn.value).max())
        value = solution.value.copy()
        at = where(rng, value.shape)
        value[at] -= 1e-3 * size
        found = certified(drawn, solution, changed(solution, value=value))
        assert found.miss is not None
        if drawn.form.horizon is None:
            # The returned value is both measured and the continuation from which it is measured.
            right = float(np.abs(bellman.applied(drawn.form, value) - value).max())
            np.testing.assert_allclose(found.residual, right, rtol=1e-6)
        elif at[0] == 0:
            assert (found.missed, found.miss.kind, found.miss.x, found.miss.s) == (1, "regime", *at[-2:])
            np.testing.assert_allclose(found.residual, 1e-3 * size, rtol=1e-6)
        assert found.error_bound >= 0.99 * found.residual


def test_wrong_alternatives_and_probabilities_are_found() -> None:
    kinds: Counter[str] = Counter()
    for seed in range(150):
        drawn, solution = solved(seed)
        form = drawn.form
        rng = np.random.default_rng(seed)
        choice, probabilities = solution.choice.copy(), solution.probabilities.copy()
        at = where(rng, choice.shape)
        ages, (r, x, s) = at[:-3], at[-3:]
        old, other = int(choice[at]), int(rng.integers(-1, len(form.alternatives) + 1))
        choice[at] = other
        loss = np.inf
        if other in form.of_regime(r):
            loss = solution.values[(*ages, old, x, s)] - solution.values[(*ages, other, x, s)]
        if form.sigma == 0.0 and other in form.of_regime(r):
            probabilities[(*ages, old, x, s)], probabilities[(*ages, other, x, s)] = 0.0, 1.0
        found = certified(drawn, solution, changed(solution, choice=choice, probabilities=probabilities))
        if other != old and loss > 1e-7 * np.abs(solution.value).max():
            assert found.miss is not None, seed
            assert (found.miss.kind, found.miss.x, found.miss.s) == ("alternative", x, s)
            kinds["taken"] += 1
        elif other == old:
            assert found.missed == 0
        at = where(rng, probabilities.shape)
        probabilities = solution.probabilities.copy()
        probabilities[at] += 1e-6
        found = certified(drawn, solution, changed(solution, probabilities=probabilities))
        assert found.miss is not None, seed
        assert (found.missed, found.miss.kind, found.miss.alternative, found.miss.x, found.miss.s) == (
            1, "probability", *at[-3:],
        )  # fmt: skip
        kinds["shocks"] += form.sigma > 0.0
    assert min(kinds.values()) > 40


def test_a_policy_that_falls_costs_evaluations_and_no_more() -> None:
    grid = np.linspace(0.0, 10.0, 500)[:, None]
    save = Branch("save", 0, wealth=0.5 + 1.02 * grid, cost=grid, transition=np.eye(1), beta=0.95)
    form = Form((save,), 2.0)
    solution = solve(form, tol=1e-9, steps=20)
    right = measured(form, solution, solution.residual)
    assert right.evaluations <= 3 * 500 + 2
    for x, chosen in ((100, 499), (400, 0)):
        policy = solution.policy.copy()
        policy[0, x, 0] = chosen
        found = measured(form, changed(solution, policy=policy), solution.residual)
        assert found.miss is not None
        assert (found.missed, found.miss.kind, found.miss.x) == (1, "choice", x)
        # Choice 499 is not affordable.
        assert np.isinf(found.miss.amount) == (x == 100)
        assert found.evaluations <= right.evaluations + 2 * 500
    # From a value of zero, whose policy is far away.
    policy = np.zeros_like(solution.policy)
    found = measured(form, changed(solution, policy=policy), solution.residual)
    assert found.residual == right.residual
    assert found.missed == int((solution.policy > 0).sum())
    assert found.evaluations <= 50 * 500
