"""Policy iteration of discrete programs against brute force, and the proof of what it finds."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import sparse

from beltline.gpu_ref.discrete import Program, distinct, measured, numbered, program_of, solve
from beltline.gpu_ref.discrete.pair_search import increasing, search
from support.discrete import by_brute_force, savings


def program(R: np.ndarray, Q: np.ndarray, beta: float) -> Program:
    state, action = np.nonzero(R > -np.inf)
    lotteries, lottery = distinct(sparse.csr_array(Q[state, action]))
    lottery, lotteries, group = numbered(state, lottery, lotteries)
    return program_of(state, action, R[state, action], lottery, lotteries, beta, group)


def test_savings_have_increasing_differences_and_are_searched_in_few_pairs() -> None:
    R, Q, beta, *_ = savings()
    made = program(R, Q, beta)
    assert (made.groups, made.chances.shape) == (2, (120, 120))
    assert increasing(made)
    found = solve(made)
    assert found.ordered
    assert found.full
    assert found.evaluations < 0.5 * found.sweeps * made.pairs
    value, policy = by_brute_force(R, Q, beta)
    np.testing.assert_allclose(found.value, value, rtol=1e-12)
    np.testing.assert_array_equal(made.action[found.chosen], policy)


def test_both_searches_choose_the_same_from_any_value() -> None:
    rng = np.random.default_rng(2)
    for points in (1, 2, 3, 17, 64):
        R, Q, beta, *_ = savings(points)
        made = program(R, Q, beta)
        for _ in range(5):
            expected = made.expected(rng.normal(size=made.states) * 10.0 ** rng.integers(-2, 3))
            value, chosen, _ = search(made, expected, ordered=False)
            np.testing.assert_array_equal(search(made, expected, ordered=True)[1], chosen)
            np.testing.assert_array_equal(search(made, expected, ordered=True)[0], value)


def test_one_decreasing_difference_or_a_gap_is_found() -> None:
    R, Q, beta, *_ = savings(20)
    assert increasing(program(R, Q, beta))
    bent = R.copy()
    bent[30, 7] += 0.5
    assert not increasing(program(bent, Q, beta))
    gap = R.copy()
    gap[30, 7] = -np.inf
    assert not increasing(program(gap, Q, beta))
    shorter = R.copy()
    shorter[30, 12:] = -np.inf
    assert (R[30, 12:] > -np.inf).any()
    assert not increasing(program(shorter, Q, beta))


def test_a_wrong_test_of_differences_costs_time_and_changes_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    from beltline.gpu_ref.discrete import policy_iteration

    R, Q, beta, *_ = savings(20)
    # Grid point 14 is searched last by divide and conquer, between the choices of its neighbours.
    bent = R.copy()
    bent[28, 7] += 5.0
    random = np.where(R > -np.inf, np.random.default_rng(3).normal(size=R.shape), R)
    for rewards in (bent, random):
        made = program(rewards, Q, beta)
        assert not increasing(made)
        with monkeypatch.context() as patch:
            patch.setattr(policy_iteration, "increasing", lambda _: True)
            found = solve(made)
        assert found.full
        np.testing.assert_allclose(found.value, by_brute_force(rewards, Q, beta)[0], atol=3e-9)


def test_policies_are_evaluated_where_beta_is_near_1(monkeypatch: pytest.MonkeyPatch) -> None:
    R, Q, _, *_ = savings(20)
    beta = 0.9999
    made = program(R, Q, beta)
    found = solve(made, max_sweeps=60)
    value, _ = by_brute_force(R, Q, beta)
    assert found.status == "converged"
    bound = measured(made, found.value, found.chosen, found.change).error_bound
    assert np.abs(found.value - value).max() <= bound + 1e-9 * np.abs(value).max()
    # Without the constant and the corrections, steps alone would take very many sweeps.
    monkeypatch.setattr("beltline.gpu_ref.discrete.policy_value.shifted", lambda program, value, change: value)
    monkeypatch.setattr("beltline.gpu_ref.corrections.gmres", lambda system, right, **_: (np.full(right.size, 1e9), 1))
    assert solve(made, max_sweeps=60).status == "sweep limit"
    slow = solve(program(R, Q, 0.96))
    assert slow.status == "converged"
    np.testing.assert_allclose(slow.value, by_brute_force(R, Q, 0.96)[0], atol=3e-9)


def test_value_iteration_ends_what_evaluations_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from beltline.gpu_ref.discrete import policy_iteration

    rng = np.random.default_rng(6)
    R, Q, beta, *_ = savings(30)
    made = program(R, Q, beta)
    monkeypatch.setattr(policy_iteration, "policy_value", lambda *_: (rng.normal(size=60), np.inf))
    found = solve(made)
    assert (found.status, found.ordered, found.full) == ("converged", True, True)
    assert found.sweeps > 2 * policy_iteration.MAX_STALLED
    np.testing.assert_allclose(found.value, by_brute_force(R, Q, beta)[0], atol=3e-9)


def test_planted_errors_are_found() -> None:
    R, Q, beta, *_ = savings(30)
    made = program(R, Q, beta)
    found = solve(made)
    good = measured(made, found.value, found.chosen, found.change)
    assert (good.missed, good.state) == (0, -1)
    assert good.error_bound < 1e-10
    chosen = found.chosen.copy()
    chosen[41] += 1
    bad = measured(made, found.value, chosen, found.change)
    assert (bad.missed, bad.state, bad.better) == (1, 41, True)
    chosen[41] = chosen[40]
    assert measured(made, found.value, chosen, found.change).amount == np.inf
    value = found.value.copy()
    value[7] += 1e-6
    wrong = measured(made, value, found.chosen, found.change)
    assert wrong.missed >= 1
    assert wrong.error_bound >= 1e-6
    assert wrong.residual == pytest.approx(1e-6, rel=0.1)


def test_bounds_hold_far_from_the_solution() -> None:
    rng = np.random.default_rng(4)
    R, Q, beta = rng.normal(size=(12, 4)), rng.dirichlet(np.ones(12), (12, 4)), 0.9
    made = program(R, Q, beta)
    value, _ = by_brute_force(R, Q, beta)
    for size in (1e-6, 1.0, 1e6):
        for shape in (rng.normal(size=value.size), np.ones(value.size)):
            V = value + size * shape
            proven = measured(made, V, np.zeros(value.size, np.int64), 0.0)
            assert np.abs(V - value).max() <= proven.error_bound + 1e-9
            assert proven.error_bound <= np.abs(V - value).max() * (1 + beta) / (1 - beta) * 1.001


def test_limits_and_infinite_values_are_reported() -> None:
    R, Q, beta, *_ = savings(30)
    made = program(R, Q, beta)
    lines: list[int] = []
    found = solve(made, max_sweeps=2, progress=lambda sweeps, _: lines.append(sweeps))
    assert (found.status, found.sweeps, lines) == ("sweep limit", 2, [1, 2])
    huge = dataclasses.replace(made, reward=np.full(made.pairs, 1.7e308))
    assert solve(huge).status == "not finite"


def test_lotteries_are_compared_entry_by_entry() -> None:
    rows = sparse.csr_array(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
    found, which = distinct(rows)
    assert found.shape == (3, 3)
    np.testing.assert_array_equal(found[which].toarray(), rows.toarray())


def test_of_actions_with_the_same_lottery_the_best_is_used() -> None:
    chances = sparse.csr_array(np.eye(2))
    state, action = np.array([0, 0, 0, 1]), np.array([2, 0, 1, 0])
    made = program_of(state, action, np.array([1.0, 3.0, 3.0, 0.0]), np.array([1, 1, 1, 0]), chances, 0.5)
    assert (made.pairs, made.action.tolist(), made.reward.tolist()) == (2, [0, 0], [3.0, 0.0])
