"""Discrete problems of QuantEcon's lectures, solved as `bl.solve` does, against brute force and `DiscreteDP`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import beltline as bl
from beltline.gpu_ref.discrete import exact_step
from support.discrete import by_brute_force, growth, savings, storage
from support.quantecon_import import markov as markov

PRINTED_POLICY = [0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 5, 5, 5]
"""Policy of the storage problem, as the lecture prints it."""


def test_storage_as_the_lecture_prints_it() -> None:
    R, Q, beta = storage()
    result = bl.solve(bl.from_discrete_dp(R, Q, beta, name="storage"))
    assert (result.success, result.verified, result.status) == (True, True, "converged")
    assert result.policy.tolist() == PRINTED_POLICY
    assert result.value[[0, 15]] == pytest.approx([19.01740222, 23.27761762], abs=5e-9)
    np.testing.assert_allclose(result.value, by_brute_force(R, Q, beta)[0], atol=result.error_bound + 1e-12)
    # The next stock depends on the amount stored, not on the present stock.
    assert result.problem.program.chances.shape == (6, 16)
    rows = np.arange(16)
    np.testing.assert_array_equal(result.transitions().toarray(), Q[rows, result.policy])
    assert result.ordered
    assert "few pairs a sweep" in str(result)
    assert "storage, 16 states, on device cpu" in str(result)


def test_growth_by_pairs_is_near_the_value_without_a_grid() -> None:
    R, Q, beta, s, a, exact = growth(200)
    result = bl.solve(bl.from_discrete_dp(R, sparse.csr_matrix(Q), beta, s, a))
    assert result.success
    assert result.error_bound < 1e-9
    # The value on a grid is at most that with continuous choices.
    assert (result.value <= exact + result.error_bound).all()
    assert np.abs(result.value - exact)[20:].max() < 0.2
    dense = bl.solve(bl.from_discrete_dp(R, Q, beta, s, a))
    np.testing.assert_array_equal(dense.value, result.value)


def test_savings_in_every_form_and_by_factors() -> None:
    R, Q, beta, assets, chain = savings(40)
    value, policy = by_brute_force(R, Q, beta)
    s, a = np.nonzero(R > -np.inf)
    order = np.random.default_rng(0).permutation(s.size)
    pairs = R[s, a][order], Q[s, a][order], beta, s[order], a[order]

    def consumption(k: Any, z: Any, a: Any) -> Any:
        return 1.01 * assets[k] + np.array([0.1, 1.0])[z] - assets[a]

    def utility(k: Any, z: Any, a: Any) -> Any:
        return np.log(consumption(k, z, a))

    def feasible(k: Any, z: Any, a: Any) -> Any:
        return consumption(k, z, a) > 0

    class Chain:
        P = chain

    shaped = R.reshape(40, 2, 40)

    def invest(k: Any, z: Any, a: Any) -> Any:
        return np.where((a + k < 39) | (a + k > 78), -np.inf, shaped[k, z, (a + k - 39) % 40])

    problems = {
        "product": bl.from_discrete_dp(R, Q, beta),
        "pairs": bl.from_discrete_dp(*pairs),
        "sparse pairs": bl.from_discrete_dp(pairs[0], sparse.coo_matrix(pairs[1]), *pairs[2:]),
        "endogenous states": bl.from_discrete_dp(R, Q, beta, endog_size=40),
        "factors": bl.from_factors(40, chain, reward=shaped, beta=beta),
        "functions": bl.from_factors(40, Chain, 40, utility, beta=beta, feasible=feasible),
        "investment": bl.from_factors(
            40, chain, 79, invest, lambda k, z, a: np.clip(a + k - 39, 0, 39), beta=beta
        ),
    }  # fmt: skip
    for name, problem in problems.items():
        result = bl.solve(problem)
        assert result.success, name
        assert result.ordered, name
        np.testing.assert_allclose(result.value.reshape(-1), value, atol=result.error_bound + 1e-11, err_msg=name)
        chosen = result.policy.reshape(-1)
        if name == "investment":
            chosen = chosen + np.arange(80) // 2 - 39
        np.testing.assert_array_equal(chosen, policy, err_msg=name)
        assert result.value.shape == ((80,) if name in ("product", "pairs", "sparse pairs") else (40, 2)), name


def test_discrete_dp_itself_agrees(markov: ModuleType) -> None:
    R, Q, beta, *_ = savings(30)
    for ddp in (markov.DiscreteDP(R, Q, beta), markov.DiscreteDP(*storage())):
        theirs = ddp.solve(method="policy_iteration")
        for form in (ddp, ddp.to_sa_pair_form(), ddp.to_sa_pair_form(sparse=False)):
            ours = bl.solve(bl.from_discrete_dp(form))
            assert ours.success
            np.testing.assert_allclose(ours.value, theirs.v, atol=ours.error_bound + 1e-10)
            np.testing.assert_array_equal(ours.policy, theirs.sigma)
    for problem in (bl.rbc(grid=24), bl.from_discrete_dp(R, Q, beta)):
        ours = bl.solve(problem)
        theirs = markov.DiscreteDP(*bl.to_discrete_dp(problem)).solve(method="policy_iteration")
        np.testing.assert_allclose(ours.value.reshape(-1), theirs.v, atol=ours.error_bound + 1e-10)


def test_without_verification_the_bound_is_that_of_the_last_full_sweep() -> None:
    R, Q, beta = storage()
    result = bl.solve(bl.from_discrete_dp(R, Q, beta), verify=False)
    assert (result.success, result.verified) == (True, False)
    assert np.abs(result.value - by_brute_force(R, Q, beta)[0]).max() <= result.error_bound < 1e-8


def test_no_success_without_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    R, Q, beta = storage()
    problem = bl.from_discrete_dp(R, Q, beta)
    limited = bl.solve(problem, max_sweeps=1)
    assert (limited.success, limited.status) == (False, "sweep limit reached")
    assert limited.message.startswith("The value still changed by ")
    true = exact_step.measured

    def planted(program: Any, value: Any, chosen: Any, *more: Any) -> Any:
        chosen = chosen.copy()
        chosen[4] -= 1
        return true(program, value, chosen, *more)

    monkeypatch.setattr("beltline.gpu_ref.discrete.measured", planted)
    wrong = bl.solve(problem)
    assert (wrong.success, wrong.status) == (False, "not verified")
    assert "But a second, full search finds an action that is better by 0.0" in wrong.message
    assert wrong.message.endswith(" in state 4.")


def test_a_beta_too_near_1_for_any_bound_is_no_success() -> None:
    beta = float(np.nextafter(1.0, 0.0))
    result = bl.solve(bl.from_discrete_dp([[1.0, 0.5], [0.0, 2.0]], np.full((2, 2, 2), 0.5), beta), progress=False)
    assert (result.success, result.status, result.error_bound) == (False, "not verified", np.inf)
    assert f"The error cannot be bounded: beta = {beta!r} times the largest sum of a row of Q" in result.message
    near = bl.solve(bl.from_discrete_dp([[1.0, 0.5], [0.0, 2.0]], np.full((2, 2, 2), 0.5), 1.0 - 1e-12), progress=False)
    assert near.success
    assert "cannot be bounded" not in near.message
    np.testing.assert_allclose(near.value, [1.5e12 - 0.5, 1.5e12 + 0.5], atol=near.error_bound)


def test_values_too_large_for_tol_and_for_double_precision_say_so() -> None:
    R, Q, beta = storage()
    large = bl.solve(bl.from_discrete_dp(1e9 * R, Q, beta))
    assert large.success
    assert large.error_bound > 1e-10
    assert large.message.endswith("for values of this size; the error bound includes them.")
    huge = bl.solve(bl.from_discrete_dp(np.where(R > -np.inf, 1.7e308, R), Q, beta))
    assert (huge.success, huge.status) == (False, "not finite")
    assert huge.message == "The value of state 0 is inf: rewards are too large for double precision."


def test_sessions_solve_them_among_others() -> None:
    with bl.open("cpu") as session:
        before = session.solve(bl.rbc(grid=32))
        result = session.solve(bl.from_discrete_dp(*storage()), start="last")
        assert result.policy.tolist() == PRINTED_POLICY
        assert session.solve(bl.rbc(grid=32), start="last").sweeps < before.sweeps


def test_near_beta_1_differences_of_values_are_bounded() -> None:
    """The level of the values is uncertain by far more than their spread, and choices are proven all the same."""
    rng = np.random.default_rng(1)
    R, Q = rng.integers(-8, 9, (30, 3)) / 8.0, rng.multinomial(64, rng.dirichlet(np.full(30, 0.3)), (30, 3)) / 64.0
    for far in (1e-7, 1e-9, 1e-11):
        problem = bl.from_discrete_dp(R, Q, 1 - far)
        result = bl.solve(problem)
        assert result.success
        assert (result.error_bound > np.ptp(result.value)) == (far < 1e-8)
        assert "all values may be off by the same" in result.message or far > 1e-8
        assert bl.certify(problem, result.value, result.policy).only_best == 30
    # Differences from one state solve linear equations that are well conditioned.
    own = np.arange(30), result.policy
    system = np.column_stack([np.ones(30), (np.eye(30) - (1 - far) * Q[own])[:, 1:]])
    differences = np.linalg.solve(system, R[own])[1:]
    np.testing.assert_allclose(result.value[1:] - result.value[0], differences, atol=1e-3)
    # Rewards whose differences are below the rounding of values say nothing of choices.
    level = bl.solve(bl.from_discrete_dp(R * 1e-4, Q, 1 - 1e-13))
    assert (level.success, level.status) == (False, "too inexact")


def lake() -> tuple[Any, Any, list[int]]:
    """Return the frozen lake of Gymnasium, 4 x 4: rewards, transitions, and the numbers of its holes and its goal.

    One slips to either side as often as one moves ahead, and gets 1 at the goal.
    """
    ends, moves = [5, 7, 11, 12, 15], [(0, -1), (1, 0), (0, 1), (-1, 0)]
    R, Q = np.zeros((16, 4)), np.zeros((16, 4, 16))
    for s in range(16):
        for a in range(4):
            for side in (-1, 0, 1):
                down, right = moves[(a + side) % 4]
                to = 4 * np.clip(s // 4 + down, 0, 3) + np.clip(s % 4 + right, 0, 3)
                to = s if s in ends else int(to)
                Q[s, a, to] += 1 / 3
                R[s, a] += (to == 15 and s != 15) / 3
    return R, Q / Q.sum(axis=2, keepdims=True), ends


def test_without_discounting_the_value_is_the_chance_of_the_goal() -> None:
    """In the lake one can wander for ever without falling in, so choices that never arrive tie with the best."""
    R, Q, ends = lake()
    result = bl.solve(bl.from_discrete_dp(R, Q, 1))
    assert result.success
    assert result.error_bound < 1e-12
    # 14/17, the limit of value iteration.
    assert result.value[[0, 15]] == pytest.approx([14 / 17, 0.0], abs=1e-12)
    value = np.zeros(16)
    for _ in range(20_000):
        value = (R + Q @ value).max(axis=1)
    np.testing.assert_allclose(result.value, value, atol=1e-10)
    assert np.linalg.matrix_power(result.transitions().toarray(), 5000)[:, ends].sum(axis=1) == pytest.approx(1.0)
    near = bl.solve(bl.from_discrete_dp(R, Q, 1 - 1e-7))
    assert near.success
    np.testing.assert_allclose(near.value, value, atol=1e-4)


def test_without_discounting_what_has_no_value_is_refused() -> None:
    R, Q, _ = lake()
    with pytest.raises(
        bl.ProblemError, match="every state must be able to reach, with probability 1, .*, and state 0 is"
    ):
        bl.from_discrete_dp(R - 1.0, Q, 1)
    R[0, 3] = 1.0
    with pytest.raises(
        bl.ProblemError, match="with beta = 1 the value of state 0 is infinite, or its sum of rewards has"
    ):
        bl.solve(bl.from_discrete_dp(R, Q, 1))


def test_states_from_which_there_is_no_way_out_are_never_entered() -> None:
    """A ladder of 19 states of wealth with risky steps: below the lowest there is nothing, as a penalty has it."""
    n, rows = 20, np.arange(20)
    R, Q = np.tile(np.sqrt(np.arange(3.0) + 0.1), (n, 1)), np.zeros((n, 3, n))
    for a in range(3):
        for shock, chance in ((-1, 0.3), (0, 0.4), (2, 0.3)):
            Q[rows, a, np.clip(rows + 1 - a + shock, 0, n - 1)] += chance
    R[0], Q[0] = -np.inf, np.eye(n)[0]
    result = bl.solve(bl.from_discrete_dp(R, Q, 0.95))
    assert result.success
    assert (np.flatnonzero(result.value == -np.inf) == [0]).all()
    assert (result.policy[:4] == [-1, 0, 1, 1]).all()
    for penalty in (1e5, 1e10, 1e20):
        again = bl.solve(bl.from_discrete_dp(np.maximum(R, -penalty), Q, 0.95))
        assert again.success
        np.testing.assert_array_equal(again.policy[1:], result.policy[1:])
        np.testing.assert_allclose(again.value[1:], result.value[1:], rtol=1e-12)
