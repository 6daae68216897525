"""Compare sweeps of one alternative with full search, and count what they evaluate."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.general import Branch, Form
from beltline.gpu_ref.general.applied import continuation
from beltline.gpu_ref.general.candidates import AS_GIVEN, BY_COST, UNORDERED, numbered, windows
from beltline.gpu_ref.general.operator import Operator
from beltline.gpu_ref.general.proof import SLACK, VALUE, proven_column
from beltline.gpu_ref.tables import Array
from oracle import bellman
from support.concave_problems import random_problem
from support.general_sweeps import checked, maximised, random_sweeps
from support.random_forms import random_form


def savings(points: int, *, jump: float = 0.0) -> Branch:
    grid = np.linspace(0.0, 20.0, points)[:, None] + np.zeros((1, 2))
    wealth = 1.02 * grid + np.array([0.5, 1.5]) + jump * (grid > 8.0)
    chain = np.array([[0.8, 0.2], [0.3, 0.7]])
    return Branch("save", 0, wealth=wealth, cost=grid, transition=chain, beta=np.array([0.95, 0.9]))


def test_random_problems_of_every_kind() -> None:
    states, searched, columns, kinds = 0, 0, 0, set()
    for seed in range(120):
        drawn = random_form(seed)
        kinds |= set(drawn.kind.split(", "))
        for found in random_sweeps(drawn):
            states += found.policy.size
            searched += found.searched
            columns += found.policy.shape[0] * found.policy.shape[2]
    assert states > 50_000
    assert 0.05 * columns < searched < 0.5 * columns
    assert {"eta 0", "eta 1", "eta 10", "negative", "shocks", "3 ages"} <= kinds


def test_a_table_problem_is_swept_as_by_the_exact_sweep() -> None:
    for seed in range(20):
        X, W, Q, V, beta, eta = random_problem(np.random.default_rng(seed), 80).arguments
        swept = checked(Form((Branch("one", 0, W, np.repeat(X[:, None], W.shape[1], axis=1), Q, beta),), eta), V[None])
        value, policy = exact_sweep(X, W, Q, V, beta, eta)
        np.testing.assert_array_equal(swept.value, value)
        np.testing.assert_array_equal(swept.policy, policy)


def test_three_evaluations_a_state_from_a_good_policy() -> None:
    form = Form((savings(400, jump=1.0),), 2.0)
    V, policy = np.zeros((1, 400, 2)), np.full((400, 2), -1)
    for _ in range(40):
        swept = checked(form, V, policy)
        V, policy = swept.value[None], swept.policy
    again = checked(form, V, policy)
    assert not again.divided
    assert again.evaluations < 3.6 * again.value.size


def test_cached_utilities_are_used_only_while_tables_are_unchanged() -> None:
    branch = dataclasses.replace(savings(300), mix=0)
    present = Branch("stay", 0, 0.5 + 0.0 * branch.wealth, 0.0 * branch.cost, branch.transition, 0.9, low=7, high=7)
    form = Form((branch, present), 3.0)
    operator = Operator(form)
    V, wanted = np.zeros((1, 2, 300)), np.full((2, 2, 300), -1, np.int32)
    taken = []
    for number in range(60):
        if number in (30, 31, 45):
            form = form.with_tables({"save": {"cost": branch.cost * (1.0 + number / 1000.0)}})
            operator.replace(form)
        if number == 50:
            form = form.with_tables({"stay": {"wealth": present.wealth + 0.1}})
            operator.replace(form)
        found = operator.sweep(V, wanted)
        oracle = bellman.swept(form, V.swapaxes(1, 2))
        np.testing.assert_allclose(found.values, np.asarray(oracle.values, float), rtol=1e-14)
        np.testing.assert_array_equal(found.policy, oracle.policy)
        V, wanted = found.found.value, found.found.policy
        taken.append(found.evaluations / 600)
    # The second sweep with the same tables fills the cache; later ones compute only utilities of new choices.
    assert min(taken[30], taken[31], taken[45]) > 2.5
    assert max(taken[29], taken[44], taken[59]) < 0.5
    assert 1.0 <= taken[50] < 1.5


def test_a_distant_policy_takes_divide_and_conquer_and_ends_the_same() -> None:
    form = Form((savings(200),), 2.0)
    V = -5.0 * np.abs(np.linspace(0.0, 20.0, 200) - 15.0)[None, :, None] + np.zeros((1, 1, 2))
    far, near = checked(form, V), checked(form, V, bellman.swept(form, V).policy[0])
    assert (far.divided, near.divided) == (2, 0)


def test_a_revenue_that_turns_is_searched_by_brackets() -> None:
    debt = np.linspace(-1.0, 1.0, 81)[:, None]
    cost = debt * np.clip(1.0 + 1.6 * debt, 0.0, 1.0)
    assert (np.diff(cost[:, 0]) < 0.0).any()
    form = Form((Branch("repay", 0, wealth=1.0 + debt, cost=cost, transition=np.eye(1), beta=0.9),), 2.0)
    rng = np.random.default_rng(3)
    for V in (np.sort(rng.normal(size=81)), rng.normal(size=81), np.zeros(81)):
        assert checked(form, V[None, :, None]).searched == 0


def firm(points: int = 60) -> tuple[Array, Array, Array]:
    """Return a firm's employment, its static profit at two productivities, and the bounds on hiring."""
    n = np.exp(np.linspace(0.0, 5.0, points))
    profit = np.array([1.5, 3.0]) * n[:, None] ** 0.64 - 0.5 * n[:, None] - 2.0
    return n, profit, np.arange(points)[:, None].repeat(2, axis=1)


def test_firing_costs_are_two_alternatives_of_which_neither_is_searched_in_full() -> None:
    n, profit, same = firm()
    chain, tau = np.array([[0.9, 0.1], [0.2, 0.8]]), 0.3
    zero = np.zeros((n.size, 2))
    hire = Branch("hire", 0, wealth=zero, cost=-profit, transition=chain, beta=0.8, low=same)
    fire = Branch(
        "fire", 0, wealth=-tau * n[:, None] + zero, cost=-profit - tau * n[:, None], transition=chain, beta=0.8,
        high=same,
    )  # fmt: skip
    V = np.random.default_rng(5).normal(size=(1, n.size, 2)) * 10.0
    up, off = (checked(Form((one,), 0.0, negative=True), V) for one in (hire, fire))
    assert up.searched == off.searched == 0
    firing = tau * np.maximum(n[:, None, None] - n[None, :, None], 0.0)
    direct = profit[None] - firing + 0.8 * (V[0] @ chain.T)[None]
    np.testing.assert_allclose(np.maximum(up.value, off.value), direct.max(axis=1), rtol=1e-12)


def test_bounds_that_no_order_by_cost_suits_are_searched_in_full_and_reported() -> None:
    n, profit, same = firm()
    wealth = n[:, None] + profit.max() + np.zeros((1, 2))
    branch = Branch("hire", 0, wealth=wealth, cost=-profit, transition=np.eye(2), beta=0.8, low=same)
    form = Form((branch,), 1.0)
    rising = np.sort(np.random.default_rng(1).normal(size=(1, 60, 2)), axis=1)
    # If expectations rise, only candidates of rising cost remain: all below the most profitable one are dominated.
    for V, searched in ((rising, 0), (-rising, 2)):
        assert checked(form, V).searched == searched


def test_order_of_candidates() -> None:
    def order(cost: list[float], ev: list[float], low: list[int], high: list[int]) -> tuple[list[int], int]:
        first, last = windows(np.array(low, np.int32), np.array(high, np.int32))
        stored, kind = numbered(np.array(cost), np.array(ev), first, last, False)
        return stored.tolist(), kind

    free = [0] * 4, [3] * 4
    assert order([0, 1, 1, 2], [9, 1, 1, 0], *free) == ([0, 1, 2, 3], AS_GIVEN)
    # Expectations rise: the running minimum of cost from the top; of two equal candidates the lower one.
    assert order([0, 2, 2, 1], [0, 1, 1, 2], *free) == ([0, 3], BY_COST)
    assert order([3, 2, 2, 5], [0, 1, 1, 2], *free) == ([1, 3], BY_COST)
    # Expectations fall somewhere: sorted by cost, the running maxima.
    assert order([3, 2, 2, 1], [5, 4, 4, 0], *free) == ([3, 1, 0], BY_COST)
    assert order([3, 2, 2, 1], [5, 3, 4, 0], *free) == ([3, 2, 0], BY_COST)
    # 1 dominates 0 but is not allowed in the first row; 3 dominates 2 and is allowed wherever 2 is.
    assert order([1, 0, 3, 2], [0, 1, 2, 3], [0, 0, 0, 0], [0, 3, 3, 3]) == ([1, 0, 3], UNORDERED)
    assert order([1, 0, 3, 2], [0, 1, 2, 3], [0, 0, 0, 3], [3, 3, 3, 3]) == ([1, 3], BY_COST)
    # No row is allowed candidates 0 and 1.
    assert order([0, 9, 2, 3], [9, 9, 1, 2], [2] * 4, [3] * 4) == ([2, 3], AS_GIVEN)


def test_a_utility_that_overflows_is_no_choice() -> None:
    grid = np.arange(4.0)[:, None]
    wealth = np.array([[1e-60], [1.0 + 1e-60], [2.5], [3.5]])
    form = Form((Branch("a", 0, wealth=wealth, cost=grid, transition=np.eye(1), beta=0.9),), 10.0)
    V = np.zeros((1, 4, 1))
    swept = maximised(form, V, 3)
    # In extended precision it does not overflow.
    assert swept.policy[:, 0].tolist() == [-1, *bellman.swept(form, V).policy[0, 1:, 0]]
    assert swept.value[0, 0] == -np.inf


def test_rows_without_a_choice_between_rows_with_one() -> None:
    grid = np.arange(6.0)[:, None]
    low = np.array([0, 0, 4, 4, 4, 4])[:, None]
    wealth = np.array([2.0, 2.5, 2.5, 3.0, 5.5, 6.0])[:, None]
    branch = Branch("a", 0, wealth=wealth, cost=grid, transition=np.eye(1), beta=0.9, low=low)
    other = Branch("b", 0, wealth=6.0 + 0.0 * grid, cost=grid, transition=np.eye(1), beta=0.9)
    V = np.array([0.0, 5.0, 1.0, 0.0, 0.0, 9.0])[None, :, None]
    swept = checked(Form((branch, other), 1.0), V)
    assert swept.policy[:, 0].tolist() == [1, 1, -1, -1, 5, 5]


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="numpy.longdouble is a double here")
@pytest.mark.parametrize("eta", [0.0, 1.0, 2.0, 3.7])
def test_the_slack_covers_what_a_sweep_rounds(eta: float) -> None:
    form = Form((savings(70),), eta)
    one = form.alternatives[0]
    assert isinstance(one, Branch)
    tables = one.at()
    V = np.random.default_rng(8).normal(size=(1, 70, 2)).cumsum(axis=1)
    swept = checked(form, V)
    right = bellman.swept(form, V).values[0]
    promise, noise = continuation(tables, V, eta)
    worst = np.longdouble(0.0)
    for s in range(2):
        true = right[:, s]
        gap = np.abs(true - swept.value[:, s])
        assert (gap <= swept.slack[:, s]).all()
        worst = max(worst, gap.max())
        found, whole = np.empty((7, 70)), np.empty((5, 70), np.int32)
        at = (np.ascontiguousarray(t[:, s]) for t in (tables.low, tables.high, swept.policy))
        cost, wealth = (np.ascontiguousarray(t[:, s]) for t in (tables.cost, tables.wealth))
        proven_column(cost, promise[s], noise[s], wealth, eta, False, *at, False, found, whole)
        assert (np.abs(true - found[VALUE]) <= found[SLACK]).all()
        assert found[SLACK].max() < 1e-11
    assert 0.0 < worst <= swept.slack.max() < 1e-11
