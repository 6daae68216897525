"""Whole solves of the reference solvers, on small versions of the headline problem."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from beltline.gpu_ref import exact_sweep, random_problem
from beltline.gpu_ref.published import grid_search
from beltline.gpu_ref.published import search_rule as published_rule
from beltline.gpu_ref.published.iteration import solve
from beltline.gpu_ref.published.staged_search import wrong_states

SWEEPS_TO_CONVERGE = 1353
"""Number of sweeps at epsilon = 1e-10, the same for every grid that was tried."""


def tables(grid):
    p = published_rule.headline(grid)
    return p.X, p.W, p.Q, p.V0, p.beta, p.eta


def test_headline_tables():
    """The tables of the headline problem agree with numbers computed by hand."""
    p = published_rule.headline(101)
    z_max = np.exp(3 * 0.005 / np.sqrt(1 - 0.95**2))
    marginal = 0.35 * z_max * (p.X[-1] / 1.05) ** (0.35 - 1) + 1 - 0.01
    assert marginal * 0.984 == pytest.approx(1, abs=1e-14)
    marginal = 0.35 / z_max * (p.X[0] / 0.95) ** (0.35 - 1) + 1 - 0.01
    assert marginal * 0.984 == pytest.approx(1, abs=1e-14)
    np.testing.assert_allclose(np.diff(p.X), (p.X[-1] - p.X[0]) / 100, rtol=1e-12)
    np.testing.assert_allclose(p.Q.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_allclose(p.Q, p.Q[::-1, ::-1], atol=1e-15)
    # The top state stays when e is above the edge below it; neighbours are two unconditional deviations apart.
    step = 2 / np.sqrt(1 - 0.95**2)
    assert p.Q[3, 3] == pytest.approx(1 - NormalDist().cdf(1.0 * step - 0.95 * 1.5 * step), abs=1e-14)
    c = z_max * (p.X[-1] / 1.05) ** 0.35 - 0.01 * p.X[-1] / 1.05
    np.testing.assert_allclose(p.V0[:, 3], -1 / c, rtol=1e-14)
    np.testing.assert_allclose(p.W[50, 3], z_max * p.X[50] ** 0.35 + 0.99 * p.X[50], rtol=1e-15)
    with pytest.raises(ValueError, match=r"^grid and states must be at least 2, not 1 and 4$"):
        published_rule.headline(1)


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
        found = wrong_states(X, W, Q, V, beta, eta, "published", oracle=exact_sweep)
        assert found.count == found.lost == wrong
        assert found.largest_loss == 0.0
        np.testing.assert_array_equal(found.states, np.flatnonzero(W <= X[grid // 4]))
        assert wrong_states(X, W, Q, V, beta, eta, "corrected", oracle=exact_sweep).count == 0
        V = exact_sweep(X, W, Q, V, beta, eta)[0]
    assert wrong_states(X, W, Q, V, beta, eta, "corrected").count == 0


def test_published_rule_at_the_headline_size():
    """The published rule is wrong in 686 states of 262,144, by full search of these states and of a sample of all."""
    arguments = tables(65_536)
    found = wrong_states(*arguments, rule="published", oracle=exact_sweep)
    assert found.count == found.lost == 686
    np.testing.assert_array_equal(found.states, np.flatnonzero(arguments[1] <= arguments[0][16_384]))
    assert wrong_states(*arguments, rule="corrected", oracle=exact_sweep).count == 0
    states = np.concatenate([found.states, np.arange(0, 262_144, 997)])
    value, policy = grid_search.search_states(*arguments, states)
    true_value, true_policy = exact_sweep(*arguments)
    np.testing.assert_array_equal(value, true_value.ravel()[states])
    np.testing.assert_array_equal(policy, true_policy.ravel()[states])


def test_command(capsys):
    published_rule.main(["--grid", "256", "--sweeps", "5"])
    printed = capsys.readouterr().out
    assert "256 x 4 = 1024 states" in printed
    assert "differs from full grid search in 0 states of 2 sweep(s) checked" in printed
    assert "4 wrong states in each sweep, of which 4 end without" in printed
    assert "corrected rule  0 wrong states in each sweep" in printed


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
