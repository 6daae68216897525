"""Compare proven sweeps with full search, from any policy and for any value, and their slack with exact values."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.published import grid_search
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.utility import crra_utility
from oracle import bellman
from support.concave_problems import random_problem as random_concave
from support.proven_sweep import Swept, proven_sweep
from support.random_problems import random_problem

from .rows import any_problem

Tables = tuple[Array, Array, Array, Array, float, float]


def random_tables(rng: np.random.Generator) -> Tables:
    """Draw wealth with flat pieces and rows without a choice, and finite values of any shape."""
    X, W, Q, V, beta, eta = any_problem(rng, float(rng.choice([0.2, 0.5, 1.0, 2.0, 3.7, 10.0])))
    return X, W, Q, np.where(V > -np.inf, V, -30.0), beta, eta


def check(tables: Tables, swept: Swept) -> None:
    X, W, Q, V, beta, eta = tables
    value, policy = grid_search.sweep(*tables)
    feasible = policy >= 0
    np.testing.assert_array_equal(swept.policy >= 0, feasible)
    assert (swept.value[~feasible] == -np.inf).all()
    loss = value[feasible] - swept.value[feasible]
    assert (np.abs(loss) <= swept.slack).all()
    size = max(1.0, float(np.abs(value[feasible]).max(initial=0.0)), float(np.abs(V).max()))
    assert (loss <= 1e-13 * size).all()
    ev = expectation(Q, V, beta)
    for x, s in np.argwhere(policy != swept.policy):
        here = crra_utility(W[x, s] - X[swept.policy[x, s]], eta) + ev[s, swept.policy[x, s]]
        assert value[x, s] - here <= 1e-13 * size


def test_any_table_from_any_policy() -> None:
    rng = np.random.default_rng(11)
    divided = 0
    for number in range(400):
        tables = random_tables(rng)
        X, W = tables[:2]
        first = rng.integers(-5, X.size + 5, W.shape).clip(0, X.size - 1).astype(np.int32)
        swept = proven_sweep(*tables, first, threads=1 + number % 2)
        check(tables, swept)
        divided += swept.divided
        again = proven_sweep(*tables, np.maximum(swept.policy, 0))
        np.testing.assert_array_equal(again.policy, swept.policy)
        np.testing.assert_array_equal(again.value, swept.value)
    assert 20 < divided < 380


def test_candidates_without_a_feasible_plan() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        X, W, _, V, beta, eta = random_tables(rng)
        V = V.copy()
        V[: int(rng.integers(0, X.size)), 0] = -np.inf
        tables = X, W, np.eye(W.shape[1]), V, beta, eta
        swept = proven_sweep(*tables)
        value, policy = grid_search.sweep(*tables)
        np.testing.assert_array_equal(swept.policy < 0, policy < 0)
        finite = policy >= 0
        np.testing.assert_allclose(swept.value[finite], value[finite], rtol=1e-13)


def test_consumption_so_small_that_utility_overflows() -> None:
    X = np.array([0.0, 1.0, 2.0, 3.0])
    W = np.array([[1e-60], [1.0 + 1e-60], [2.5], [3.5]])
    V = np.zeros((4, 1))
    tables = X, W, np.eye(1), V, 0.9, 10.0
    swept = proven_sweep(*tables, np.full((4, 1), 3, np.int32))
    value, policy = grid_search.sweep(*tables)
    np.testing.assert_array_equal(swept.policy, policy)
    np.testing.assert_array_equal(swept.value, value)


def test_the_bound_is_of_the_size_of_a_rounding() -> None:
    problem = random_problem(5, 200, horizon=False).problem
    swept = Swept(problem.start, None, 0.0, False)
    for _ in range(30):
        swept = proven_sweep(problem.grid, problem.wealth, problem.transition, swept.value, problem.beta, problem.eta)
    assert swept.slack <= 1e-11 * float(np.abs(swept.value).max())


@pytest.mark.skipif(bellman.EPS > 1e-18, reason="numpy.longdouble is a double here")
def test_the_bound_covers_what_the_sweep_rounds() -> None:
    for seed in range(4):
        X, W, Q, V, beta, eta = random_concave(np.random.default_rng(seed), 60).arguments
        swept = proven_sweep(X, W, Q, V, beta, eta)
        assert 0.0 < bellman.distance(bellman.simple(X, W, Q, beta, eta, 1), swept.value, V) <= swept.slack


def test_a_long_row_of_equal_choices_does_not_widen_the_bound() -> None:
    """The bound does not grow along a row of poor households that all choose the least, because no comparison could
    round to another choice.
    """
    grid = np.linspace(0.0, 10.0, 4_000)
    wealth = 1.0 + 1e-7 * grid[:, None]
    swept = proven_sweep(grid, wealth, np.eye(1), np.zeros((4_000, 1)), 0.9, 2.0)
    assert (swept.policy == 0).all()
    assert 0.0 < swept.slack < 100 * np.finfo(float).eps
