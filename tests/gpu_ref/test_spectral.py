"""Computed starts: polynomials against a closed form and an exact sweep, and the solution on a part of the grid."""

from __future__ import annotations

import time

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.methods import stay_start
from beltline.gpu_ref.spectral import COUNTS, FEWEST, Smooth, smooth_start
from beltline.gpu_ref.starts import FEWEST as FEWEST_NESTED
from beltline.gpu_ref.starts import _draw, computed_start, nearer, nested_start
from beltline.host.problem.utility import slope_rise

KINKED = bl.aiyagari(grid=FEWEST + 100, states=3).problem(0.03)
"""A problem in which the borrowing limit often binds."""


def tables(problem: bl.Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
    return problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta


def smooth(problem: bl.Problem, epsilon: float = 1e-10) -> Smooth | None:
    return smooth_start(*tables(problem), epsilon, problem.start)


def spread(difference: np.ndarray) -> float:
    """Return the largest spread of a difference over ``x``; a constant in each exogenous state is left to the shifts of
    a solve.
    """
    return float(np.ptp(difference, axis=0).max())


@pytest.mark.parametrize("count", COUNTS)
def test_closed_form(count: int) -> None:
    """The start is near the closed form of Brock and Mirman (1972): log utility, full depreciation, ``k' = alpha beta z
    k**alpha``.
    """
    alpha, beta, z = 0.36, 0.95, np.array([0.95, 1.0, 1.05])
    Q = 0.7 * np.eye(3) + 0.1
    # The wider the grid, the more points the polynomials need.
    steady = (alpha * beta) ** (1 / (1 - alpha))
    k = np.linspace(*((0.7, 1.4) if count == COUNTS[0] else (0.4, 1.8)), 3000) * steady
    W = z * k[:, None] ** alpha
    assert k[0] < alpha * beta * W.min()
    assert alpha * beta * W.max() < k[-1]
    found = smooth_start(k, W, Q, beta, 1.0, 1e-9, np.zeros(W.shape))
    assert found is not None
    slope = alpha / (1 - alpha * beta)
    fixed = np.log((1 - alpha * beta) * z) + beta * slope * np.log(alpha * beta * z)
    level = np.linalg.solve(np.eye(3) - beta * Q, fixed)
    np.testing.assert_allclose(found.value, level + slope * np.log(k)[:, None], atol=1e-5, rtol=0.0)


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0, 6.0])
@pytest.mark.parametrize("states", [1, 4])
def test_what_is_left_is_the_loss_from_choices_on_the_grid(eta: float, states: int) -> None:
    gaps = []
    for points in (1024, 4096):
        problem = bl.rbc(grid=points, states=states, eta=eta)
        found = smooth(problem)
        assert found is not None
        assert (slope_rise(problem.grid, found.value) <= 0).all()
        gaps.append(spread(found.value - bl.solve(problem, tol=1e-11, device="cpu", progress=False).value))
    # The loss falls with the square of the distance of grid points.
    assert gaps[1] < gaps[0] / 8


@pytest.mark.parametrize("points", [FEWEST_NESTED, 700, 4000])
@pytest.mark.parametrize("floor", [0.0, 2.0])
def test_a_part_of_the_grid_is_nearer_than_staying(points: int, floor: float) -> None:
    X = np.linspace(0.0, 30.0, points)
    W = np.maximum(1.03 * X[:, None] + np.array([0.3, 1.0, 1.9]), floor)
    W[points // 2 :] += 0.4
    problem = X, W, np.full((3, 3), 0.1) + 0.7 * np.eye(3), 0.95, 2.0
    stays = stay_start(X, W, 0.95, 2.0)
    found = nested_start(*problem, 1e-8, np.zeros(W.shape))
    assert np.isfinite(found).all()
    assert nearer(*problem, stays, found)
    assert (np.diff(found, axis=0) >= 0.0).all()


def test_values_are_drawn_through_what_is_known_and_flat_where_wealth_is() -> None:
    rows = np.array([0, 5, 10, 15, 17])
    W = np.maximum(np.linspace(0.0, 3.4, 18), 1.2)[:, None]
    value = np.log(W[rows])
    drawn = np.empty(W.shape)
    _draw(W, W[rows], rows, value, drawn)
    np.testing.assert_array_equal(drawn[rows], value)
    np.testing.assert_array_equal(drawn[:5], value[0, 0])
    np.testing.assert_allclose(drawn, np.log(W), atol=0.03)


def test_nearer_agrees_with_an_exact_sweep() -> None:
    problem = bl.rbc(grid=2048)
    right = bl.solve(problem, tol=1e-11, device="cpu", method="shift").value
    stays = stay_start(*(getattr(problem, name) for name in ("grid", "wealth", "beta", "eta")))
    for given, expected in (
        (problem.start, True),
        (stays, True),
        (stays + np.array([5.0, -3.0, 0.0, 1e6]), True),
        (right, False),
    ):
        found = smooth_start(*tables(problem), 1e-10, given)
        assert found is not None
        assert found.nearer == expected == nearer(*tables(problem), given, found.value)
    nothing = smooth_start(*tables(problem), 1e-10, np.full(right.shape, np.nan))
    assert nothing is not None
    assert nothing.nearer


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
def test_kinks_have_no_polynomials(tol: float) -> None:
    assert smooth(KINKED, tol) is None
    assert np.isfinite(computed_start(*tables(KINKED), tol, KINKED.start)).all()


def test_a_narrow_step_between_the_points_is_noticed() -> None:
    problem = bl.rbc(grid=2048)
    wealth = problem.wealth + 0.5 * (np.arange(2048) >= 1500)[:, None]
    assert smooth_start(problem.grid, wealth, problem.transition, 0.984, 2.0, 1e-10, problem.start) is None


def test_grids_that_bind_have_poorer_polynomials() -> None:
    """Where the best choice of some states is at an end of the grid, the policy has a kink."""
    problem = bl.rbc(grid=4096, states=12)
    start = computed_start(*tables(problem), 1e-10, problem.start)
    assert nearer(*tables(problem), problem.start, start)


def test_what_cannot_be_solved_has_no_start() -> None:
    problem = bl.rbc(grid=2048)
    assert smooth(bl.rbc(grid=FEWEST - 1)) is None
    poor = problem.wealth - 2.0 * problem.grid[:, None]
    for wealth in (poor, np.full(poor.shape, np.nan)):
        assert smooth_start(problem.grid, wealth, problem.transition, 0.984, 2.0, 1e-10, problem.start) is None


def test_a_start_is_the_same_from_tables_that_can_be_written() -> None:
    problem = bl.rbc(grid=FEWEST)
    X, W, Q, beta, eta = tables(problem)
    assert not X.flags.writeable
    other = smooth_start(X.copy(), np.asfortranarray(W), Q.copy(), beta, eta, 1e-10, problem.start.copy())
    found = smooth(problem)
    assert found is not None
    assert other is not None
    assert np.array_equal(found.value, other.value)
    assert X.flags.writeable is False


@pytest.mark.speed
def test_headline_start_takes_a_fraction_of_a_millisecond() -> None:
    problem = bl.rbc()
    smooth(problem)
    seconds = []
    for _ in range(50):
        begin = time.perf_counter()
        smooth(problem)
        seconds.append(time.perf_counter() - begin)
    assert min(seconds) < 0.6e-3


def test_a_value_that_is_the_same_everywhere_meets_no_tolerance_of_zero() -> None:
    """A household whose wealth exceeds its assets by 1 consumes 1 for ever."""
    x = np.linspace(1.0, 2.0, 2 * FEWEST)
    assert smooth_start(x, x[:, None] + 1.0, np.eye(1), 0.9, 2.0, 0.0, np.zeros((x.size, 1))) is None
