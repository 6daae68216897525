"""Whole solves of the reference solvers, on small versions of the headline problem."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref import exact_sweep
from beltline.gpu_ref.published import grid_search, staged_search
from beltline.gpu_ref.published.iteration import solve
from support.concave_problems import headline, random_problem

SWEEPS_TO_CONVERGE = 1353
"""Number of sweeps at epsilon = 1e-10, the same for every grid that was tried."""


def tables(grid):
    return headline(grid).arguments


def wrong_states(arguments, rule):
    """Return the states in which a sweep of the staged search finds another policy than the exact sweep."""
    return np.flatnonzero(staged_search.sweep(*arguments, rule)[1] != exact_sweep(*arguments)[1])


@pytest.mark.parametrize("grid", [16, 256, 1000])
def test_sweeps_of_the_headline_problem(grid):
    solution = solve(*tables(grid), epsilon=1e-10)
    assert solution.converged
    assert abs(solution.sweeps - SWEEPS_TO_CONVERGE) <= 1
    assert solution.residual < 1e-10
    X, W, Q, _, beta, eta = tables(grid)
    value, policy = grid_search.sweep(X, W, Q, solution.previous, beta, eta)
    np.testing.assert_array_equal(value, solution.value)
    np.testing.assert_array_equal(policy, solution.policy)
    assert np.abs(solution.value - solution.previous).max() == solution.residual


@pytest.mark.parametrize(("grid", "wrong"), [(64, 2), (256, 4), (1024, 13), (4096, 44)])
def test_published_rule(grid, wrong):
    """The published rule is wrong in the same number of states in every sweep; the corrected one in none."""
    X, W, Q, V, beta, eta = tables(grid)
    for _ in range(60):
        found = wrong_states((X, W, Q, V, beta, eta), "published")
        assert found.size == wrong
        assert (staged_search.sweep(X, W, Q, V, beta, eta, "published")[1].ravel()[found] == -1).all()
        np.testing.assert_array_equal(found, np.flatnonzero(W <= X[grid // 4]))
        assert wrong_states((X, W, Q, V, beta, eta), "corrected").size == 0
        V = exact_sweep(X, W, Q, V, beta, eta)[0]


def test_published_rule_at_the_headline_size():
    """The published rule is wrong in 686 states of 262,144, by full search of these states and of a sample of all."""
    arguments = tables(65_536)
    found = wrong_states(arguments, "published")
    assert found.size == 686
    np.testing.assert_array_equal(found, np.flatnonzero(arguments[1] <= arguments[0][16_384]))
    assert wrong_states(arguments, "corrected").size == 0
    states = np.concatenate([found, np.arange(0, 262_144, 997)])
    value, policy = grid_search.search_states(*arguments, states)
    true_value, true_policy = exact_sweep(*arguments)
    np.testing.assert_array_equal(value, true_value.ravel()[states])
    np.testing.assert_array_equal(policy, true_policy.ravel()[states])


def test_limits_of_solve():
    arguments = tables(16)
    short = solve(*arguments, epsilon=0.0, max_sweeps=3)
    assert (short.sweeps, short.converged) == (3, False)
    # The rule is strict: with a residual equal to epsilon the iteration continues.
    assert solve(*arguments, epsilon=short.residual, max_sweeps=9).sweeps == 4
    with pytest.raises(ValueError, match=r"^epsilon must not be negative, not -1$"):
        solve(*arguments, epsilon=-1)
    with pytest.raises(ValueError, match=r"^max_sweeps must be at least 1, not 0$"):
        solve(*arguments, epsilon=1e-6, max_sweeps=0)


def test_the_change_must_be_below_epsilon() -> None:
    arguments = random_problem(np.random.default_rng(1), 20).arguments
    first = solve(*arguments, 1e-3)
    assert first.converged
    equal = solve(*arguments, first.residual)
    assert equal.sweeps == first.sweeps + 1
    assert solve(*arguments, np.nextafter(first.residual, 1.0)).sweeps == first.sweeps
