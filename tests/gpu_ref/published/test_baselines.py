"""The published methods, which are baselines: their solutions, their rules, and what they refuse."""

from __future__ import annotations

import time

import numpy as np
import pytest

from beltline.gpu_ref import cpu
from beltline.gpu_ref.published import endogenous_grid, grid_search, interpolation, staged_search
from support import concave_problems
from support.fakes import interrupt_main_after


def headline(grid):
    return concave_problems.headline(grid).arguments


def test_howard_steps_evaluate_the_policy_between_full_searches():
    found, exact = grid_search.solve(*headline(128), 1e-10), cpu.solve(*headline(128), 1e-10)
    assert found.converged
    assert found.sweeps == 20 * (found.maximising_sweeps - 1) + 1
    np.testing.assert_array_equal(found.policy, exact.policy)
    assert np.abs(found.value - exact.value).max() <= found.error_bound + exact.error_bound
    for limit in (1, 2, 7, 22, 43):
        short = grid_search.solve(*headline(64), 0.0, limit)
        assert (short.sweeps, short.converged) == (limit, False)


def test_states_without_a_choice_are_not_evaluated():
    X, W = np.array([1.0, 2.0, 3.0, 4.0]), np.array([[0.5], [2.5], [4.5], [6.5]])
    found = grid_search.solve(X, W, [[1.0]], np.zeros((4, 1)), 0.9, 2.0, 1e-9)
    assert found.converged
    assert (found.value[0, 0], found.policy[0, 0]) == (-np.inf, -1)
    assert np.isfinite(found.value[2:]).all()


def test_staged_search_is_exact_with_single_peaks_only_by_the_corrected_rule():
    exact = cpu.solve(*headline(64), 1e-10)
    found = staged_search.solve(*headline(64), 1e-10)
    assert (found.sweeps, found.residual) == (exact.sweeps, exact.residual)
    np.testing.assert_array_equal(found.policy, exact.policy)
    np.testing.assert_array_equal(found.value, exact.value)
    assert np.count_nonzero(staged_search.solve(*headline(64), 1e-10, rule="published").policy < 0) == 2


def test_interpolation():
    """With the grid as choices, interpolation is full search; with other choices, its fixed point is near."""
    arguments = headline(128)
    exact = grid_search.solve(*arguments, 1e-8, interval=1)
    same_points = interpolation.solve(*arguments, 1e-8, choices=128)
    chosen = interpolation.candidates(arguments[0], 128)[same_points.policy]
    np.testing.assert_allclose(chosen, arguments[0][exact.policy], rtol=1e-15)
    np.testing.assert_allclose(same_points.value, exact.value, rtol=1e-12)
    coarse = interpolation.solve(*arguments, 1e-8, choices=100)
    assert coarse.error_bound == np.inf
    assert np.abs(coarse.value - exact.value).max() < 5e-3


def test_choices_are_rounded_to_the_nearest_grid_point_and_the_lower_of_two():
    grid, choices = np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.5, 0.51, 0.9, 1.0, 2.5, 2.51, 3.9, 4.0])
    assert interpolation.nearest(grid, choices).tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2]


def test_endogenous_grid():
    """The solution is Brock and Mirman's closed form for log utility and full depreciation."""
    alpha, beta, grid = 0.35, 0.95, 2000
    X = np.linspace(0.05, 0.5, grid)
    W = np.stack([0.95 * X**alpha, 1.05 * X**alpha], axis=1)
    slope = alpha * W / X[:, None]
    Q = np.array([[0.8, 0.2], [0.3, 0.7]])
    for marginal, error in ((slope, 2e-5), (None, 2e-4)):
        found = endogenous_grid.solve(X, W, Q, np.zeros((grid, 2)), beta, 1.0, 1e-10, marginal=marginal)
        assert found.converged
        inside = alpha * beta * W
        assert np.abs(X[found.policy] - inside)[200:-200].max() <= (X[1] - X[0]) / 2 + error
        exact = cpu.solve(X, W, Q, np.zeros((grid, 2)), beta, 1.0, 1e-10, method="shift")
        assert np.abs(found.value - exact.value).max() < 1e-4


def test_choices_off_the_grid_are_rounded_to_what_is_affordable():
    """A choice is rounded down if the grid point nearest to it would cost all cash on hand."""
    X, W = np.arange(5.0), np.array([0.8, 1.9, 2.9, 3.9, 4.9])[:, None]
    solver = endogenous_grid.Endogenous(X, W, np.ones(W.shape), np.eye(1), 0.9, 2.0)
    solver.load()
    solver._c[:] = 0.2
    _, policy = solver.evaluate(1e-6, 1000)
    assert policy[:, 0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("run", "options", "sentence"), [
    (grid_search.solve, {"interval": 0}, r"^interval must be a whole number from 1, not 0$"),
    (interpolation.solve, {"choices": 1}, r"^choices must be a whole number from 2, not 1$"),
    (staged_search.solve, {"rule": "other"}, r"^rule must be 'published' or 'corrected', not 'other'$"),
    (endogenous_grid.solve, {"marginal": [[1.0]]}, r"^marginal must have shape \(16, 4\), not \(1, 1\)$"),
    (endogenous_grid.solve, {"max_sweeps": 0}, r"^max_sweeps must be at least 1, not 0$"),
])  # fmt: skip
def test_refusals(run, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        run(*headline(16), 1e-6, **options)


def test_staged_search_needs_a_power_of_two():
    with pytest.raises(ValueError, match=r"^the staged search needs a power of two from 4 as N_k, not 100$"):
        staged_search.solve(*headline(100), 1e-6)


@pytest.mark.parametrize("module", [grid_search, staged_search])
def test_searches_return_to_python_between_batches(module, monkeypatch):
    arguments = concave_problems.random_problem(np.random.default_rng(0), 64, 4, "general").arguments
    whole = module.sweep(*arguments)
    monkeypatch.setattr(module, "BATCH", 256)
    sizes = []
    search = module._search

    def counted(points, wealth, ev, eta, which, *found):
        # A batch is a number of states, or of candidates of all of them.
        sizes.append(wealth.size if module is staged_search else which.size * points.size)
        search(points, wealth, ev, eta, which, *found)

    monkeypatch.setattr(module, "_search", counted)
    parts = module.sweep(*arguments)
    assert max(sizes) <= 256
    assert sum(sizes) == (256 if module is staged_search else 256 * 64)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_search_is_interrupted_within_a_sweep():
    # A sweep takes minutes.
    X, W, Q, V0, *_ = headline(65_536)
    grid_search.solve(X[:64], W[:64], Q, V0[:64], 0.95, 3.3, 1e-6)
    timer = interrupt_main_after(0.5)
    begin = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        grid_search.solve(X, W, Q, V0, 0.95, 3.3, 1e-6)
    timer.cancel()
    assert time.perf_counter() - begin < 10.0
