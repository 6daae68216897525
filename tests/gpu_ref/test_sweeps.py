"""Compare the sweeps of the reference solvers with a few obvious lines of NumPy, and with each other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.gpu_ref import check_tables, crra_utility, exact_sweep
from beltline.gpu_ref.published import grid_search, staged_search
from beltline.gpu_ref.tables import ROW_SUM_TOLERANCE, ends_of
from support.concave_problems import random_problem

from .rows import any_problem

Array = NDArray[np.float64]
SWEEPS = [grid_search.sweep, exact_sweep]
CURVATURES = [0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0]


def obvious_sweep(
    X: Array, W: Array, Q: Array, V: Array, beta: float, eta: float
) -> tuple[Array, NDArray[np.intp], Array]:
    """Return value, policy, and the gap between the best and the second-best candidate."""
    c = W[:, :, None] - X
    positive = np.where(c > 0, c, 1.0)
    utility = np.log(positive) if eta == 1 else positive ** (1 - eta) / (1 - eta)
    EV = beta * np.array(
        [[sum(Q[s, t] * V[i, t] for t in range(len(Q)) if Q[s, t]) for i in range(len(X))] for s in range(len(Q))]
    )
    objective = np.where(c > 0, utility + EV, -np.inf)
    value = objective.max(axis=2)
    policy = np.where(value > -np.inf, objective.argmax(axis=2), -1)
    ranked = np.sort(np.concatenate([objective, np.full((*W.shape, 1), -np.inf)], axis=2), axis=2)
    with np.errstate(invalid="ignore"):
        gap = ranked[:, :, -1] - ranked[:, :, -2]
    return value, policy, gap


def assert_same(
    arguments: tuple[Array, Array, Array, Array, float, float], value: Array, policy: NDArray[np.int32]
) -> None:
    true_value, true_policy, gap = obvious_sweep(*arguments)
    assert value.dtype == np.float64
    assert policy.dtype == np.int32
    # Utility by pow or by division, and sums in another order, differ by a few units in the last place of their terms.
    X, W = arguments[:2]
    with np.errstate(invalid="ignore"):
        difference = np.abs(value - true_value)
        chosen = crra_utility(W - X[np.maximum(policy, 0)], arguments[5])
        scale = np.abs(np.nan_to_num(chosen, neginf=0.0)) + np.abs(np.nan_to_num(true_value, neginf=0.0)) + 1.0
    error = 16 * np.finfo(float).eps * scale
    assert ((value == true_value) | (difference <= error)).all()
    assert (policy == true_policy)[~(gap <= error)].all()


@pytest.mark.parametrize("eta", CURVATURES)
@pytest.mark.parametrize("sweep", SWEEPS)
def test_any_value_function(sweep, eta):
    stuck = 0
    for seed in range(60):
        arguments = any_problem(np.random.default_rng(seed), eta)
        value, policy = sweep(*arguments)
        assert_same(arguments, value, policy)
        stuck += np.count_nonzero(policy < 0)
    assert stuck > 50


@pytest.mark.parametrize("eta", CURVATURES)
def test_exact_has_the_bits_of_brute_force(eta):
    for seed in range(1000, 1100):
        arguments = any_problem(np.random.default_rng(seed), eta)
        value, policy = grid_search.sweep(*arguments)
        other_value, other_policy = exact_sweep(*arguments)
        np.testing.assert_array_equal(other_value, value)
        np.testing.assert_array_equal(other_policy, policy)


@pytest.mark.parametrize("sweep", [*SWEEPS, staged_search.sweep])
def test_ties_go_to_the_lowest_index(sweep):
    tied = 0
    for seed in range(50):
        problem = random_problem(np.random.default_rng(seed), grid=32, kind="ties")
        X, W = problem.X, problem.W
        true_value, true_policy, gap = obvious_sweep(*problem.arguments)
        value, policy = sweep(*problem.arguments)
        np.testing.assert_array_equal(value, true_value)
        np.testing.assert_array_equal(policy, true_policy)
        two = ((X < W[:, :, None]).sum(axis=2) > 1) & (W <= X[-1])
        assert (gap[two] == 0).all()
        tied += np.count_nonzero(two)
    assert tied > 1000


@pytest.mark.parametrize("sweep", SWEEPS)
def test_flat_objective_takes_the_lowest(sweep):
    """All candidates tie if utility is lost by rounding when it is added to the value."""
    X = np.arange(1.0, 9.0)
    W = np.full((8, 1), 1e9)
    V = np.full((8, 1), 1e9)
    value, policy = sweep(X, W, [[1.0]], V, 0.5, 5.0)
    assert (value == 5e8).all()
    assert (policy == 0).all()


@pytest.mark.parametrize("sweep", [*SWEEPS, staged_search.sweep])
def test_no_feasible_choice(sweep):
    X = np.array([1.0, 2.0, 3.0, 4.0])
    W = np.array([[0.5], [1.0], [1.5], [9.0]])
    value, policy = sweep(X, W, [[1.0]], np.zeros((4, 1)), 0.9, 2.0)
    np.testing.assert_array_equal(policy.ravel(), [-1, -1, 0, 0])
    np.testing.assert_array_equal(value.ravel(), [-np.inf, -np.inf, -2.0, -0.125])


@pytest.mark.parametrize("points", range(2, 11))
def test_corrected_rule_on_concave_problems(points):
    published = 0
    for seed in range(40):
        problem = random_problem(np.random.default_rng([points, seed]), grid=2**points)
        value, policy = grid_search.sweep(*problem.arguments)
        ours, found = staged_search.sweep(*problem.arguments)
        np.testing.assert_array_equal(found, policy)
        np.testing.assert_array_equal(ours, value)
        wrong = staged_search.sweep(*problem.arguments, "published")[1]
        lost = problem.W <= problem.X[2**points // 4] if points > 2 else np.zeros(policy.shape, dtype=bool)
        np.testing.assert_array_equal(wrong, np.where(lost, -1, policy))
        published += (wrong != policy).any()
    assert points == 2 or published > 10


def test_chosen_states():
    problem = random_problem(np.random.default_rng(7), grid=50, states=3)
    value, policy = grid_search.sweep(*problem.arguments)
    states = np.array([149, 0, 77, 77, 3])
    some_value, some_policy = grid_search.search_states(*problem.arguments, states)
    np.testing.assert_array_equal(some_value, value.ravel()[states])
    np.testing.assert_array_equal(some_policy, policy.ravel()[states])
    with pytest.raises(IndexError, match=r"^states must lie in 0 \.\. 149, not in 5 \.\. 150$"):
        grid_search.search_states(*problem.arguments, [150, 5])


def test_brute_force_across_blocks():
    """The best candidate is found in a later block, and a tie across the border of two blocks goes to the first."""
    X = np.arange(1.0, 2 * grid_search.BLOCK + 4)
    W = np.full((X.size, 1), 1e9)
    V = np.zeros((X.size, 1))
    V[[grid_search.BLOCK - 1, grid_search.BLOCK, X.size - 1], 0] = 2e9
    assert (grid_search.sweep(X, W, [[1.0]], V, 0.5, 5.0)[1] == grid_search.BLOCK - 1).all()
    V[-1] = 3e9
    assert (grid_search.sweep(X, W, [[1.0]], V, 0.5, 5.0)[1] == X.size - 1).all()


def test_utility():
    c = np.array([-1.0, 0.0, 0.5, 1.0, 3.0])
    np.testing.assert_array_equal(crra_utility(c, 2.0), [-np.inf, -np.inf, -2.0, -1.0, -1.0 / 3.0])
    np.testing.assert_array_equal(crra_utility(c, 1.0)[:2], -np.inf)
    np.testing.assert_allclose(crra_utility(c, 1.0)[2:], np.log(c[2:]), rtol=4e-16)
    for eta in CURVATURES:
        if eta != 1.0:
            np.testing.assert_allclose(crra_utility(c[2:], eta), c[2:] ** (1 - eta) / (1 - eta), rtol=4e-16)
    with pytest.raises(ValueError, match=r"^eta must be positive and finite, not 0.0$"):
        crra_utility(c, 0.0)


@pytest.mark.parametrize(("share", "accepted"), [(0.4, True), (0.9, True), (1.1, False)])
def test_rows_of_the_chain_may_be_off_by_the_tolerance(share: float, accepted: bool) -> None:
    X, W, V = np.array([1.0, 2.0]), np.array([[4.0, 4.0], [5.0, 5.0]]), np.zeros((2, 2))
    Q = np.array([[0.5, 0.5], [0.25, 0.75 + share * ROW_SUM_TOLERANCE]])
    if accepted:
        np.testing.assert_array_equal(check_tables(X, W, Q, V, 0.9, 2.0)[2], Q)
        return
    with pytest.raises(ValueError, match=r"^row 1 of Q sums to 1\.0000000\d+, not 1$"):
        check_tables(X, W, Q, V, 0.9, 2.0)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 8, 1001])
def test_ends_are_the_lowest_and_the_highest_entry(size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        entries = rng.normal(size=size)
        assert ends_of(entries) == (entries.min(initial=np.inf), entries.max(initial=-np.inf), True)
        if size:
            entries[rng.integers(size)] = rng.choice([np.nan, -np.inf, np.inf])
            known = entries[~np.isnan(entries)]
            assert ends_of(entries) == (known.min(initial=np.inf), known.max(initial=-np.inf), False)
