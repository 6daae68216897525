"""Choices between grid points age by age: against a closed form, finer grids, and by definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

import beltline as bl
from beltline.host.analysis.grid_error import bounds_of_ages
from support.random_problems import random_problem

Array = NDArray[np.float64]

CRUMBS = 0.05
"""Income of every age, so that consumption is above 0 when the cake is eaten."""


def cake(points: int, ages: int = 6) -> bl.Problem:
    """Return a cake-eating problem: a cake of size ``x``, some crumbs at each age, log utility, no value at the end."""
    grid = 4.0 * np.linspace(0.0, 1.0, points) ** 2
    return bl.Problem(
        grid=grid, wealth=grid[:, None] + CRUMBS, transition=np.eye(1), start=np.zeros((points, 1)), beta=0.9, eta=1.0,
        horizon=ages, marginal_wealth=np.ones((points, 1)), asset="cake x", name="cake",
    )  # fmt: skip


def eaten(problem: bl.Problem) -> tuple[Array, Array]:
    """Return consumption and value in closed form, ``(T, N_k, 1)``.

    The cake is eaten over ``k`` ages, ``c, beta c, beta**2 c`` and so on, and only the income of an age after them;
    ``k`` is the largest number of ages for which saving a small amount more would not have been better.
    """
    ages, beta = problem.horizon, problem.beta
    assert ages is not None
    consumption, value = np.empty((2, ages, problem.points, 1))
    for age in range(ages):
        left = ages - age
        for i, x in enumerate(problem.grid):
            for k in range(left, 0, -1):
                c = (x + k * CRUMBS) / sum(beta**j for j in range(k))
                if k == 1 or beta ** (k - 1) * c >= CRUMBS:
                    break
            consumption[age, i] = c
            value[age, i] = sum(beta**j * np.log(c * beta**j if j < k else CRUMBS) for j in range(left))
    return consumption, value


def solved(problem: bl.Problem) -> bl.Result:
    result = bl.solve(problem, device="cpu", method="warm", progress=False)
    assert result.success, result.message
    return result


def test_closed_form() -> None:
    off, widths = [], []
    for points in (65, 257):
        problem = cake(points)
        result = solved(problem)
        found = bl.refine(result)
        consumption, value = eaten(problem)
        assert found.success
        assert found.status == "finished"
        assert (found.steps, found.change) == (6, 0.0)
        assert found.choice.shape == found.value.shape == found.lower.shape == found.upper.shape == (6, points, 1)
        errors = np.abs(found.consumption / consumption - 1)
        off.append(errors.mean())
        stairs = np.abs((problem.wealth - result.choice) / consumption - 1)
        assert stairs.mean() > 100 * errors.mean()
        # At the last age everything is consumed.
        np.testing.assert_array_equal(found.choice[-1], 0.0)
        # The bounds hold for the value in closed form at every age, and are of the right order.
        assert found.proof == "concave"
        assert (found.lower <= value).all()
        assert (value <= found.upper).all()
        assert np.abs(found.value - value).max() <= found.value_error
        true = np.abs(result.value - value).max()
        assert true <= found.grid_error <= 3 * true
        # The error of the solver is bounded separately.
        assert found.error_bound == result.error_bound < 1e-12
        width = (found.upper - found.lower).max(axis=(1, 2))
        assert (np.diff(width) <= 0).all()
        assert width[-1] < 1e-12
        widths.append(width[0])
    assert off[0] > 8 * off[1]
    assert widths[0] > 10 * widths[1]


def finer(problem: bl.Problem, times: int, after: Array | None = None) -> bl.Problem:
    """Return the problem with ``times`` as many intervals, by linear interpolation, or with another last value."""
    at = np.linspace(0.0, problem.points - 1, times * (problem.points - 1) + 1)

    def lines(table: Array) -> Array:
        drawn = np.stack([np.interp(at, np.arange(problem.points), column) for column in table.T], axis=1)
        drawn[::times] = table
        return drawn

    grid, wealth = lines(problem.grid[:, None])[:, 0], lines(problem.wealth)
    start = lines(problem.start) if after is None else after
    return replace(problem, grid=grid, wealth=wealth, start=start, marginal_wealth=None, output=None, shock_values=None)


@pytest.mark.parametrize("seed", range(24))
def test_bounds_hold_of_finer_grids(seed: int) -> None:
    """With kinks, jumps and any values after the last age, the value on a finer grid is at most ``upper``."""
    given = random_problem(seed, points=24, horizon=False)
    rng = np.random.default_rng(seed)
    size = float(rng.choice([0.0, 1.0, 10.0]))
    shapes = np.cumsum(rng.normal(0.3, 1.0, (24, given.problem.states)), axis=0), np.sqrt(np.arange(24.0))[:, None]
    start = size * shapes[seed % 2] + np.zeros((24, given.problem.states))
    problem = replace(given.problem, start=start, horizon=3)
    result = solved(problem)
    found = bl.refine(result)
    better = solved(finer(problem, 8))
    assert (better.value[:, ::8] - better.error_bound <= found.upper).all()
    above = bounds_of_ages(better.problem, better.value, better.error_bound).upper[:, ::8]
    assert (found.lower <= above).all()
    assert (found.lower <= found.upper).all()
    assert np.abs(better.value[:, ::8] - result.value).max() <= found.grid_error + better.error_bound


@pytest.mark.parametrize("eta", [0.5, 1.0, 3.0])
def test_concave_bounds_hold_of_every_concave_value_after_the_last_age(eta: float) -> None:
    """Bounds cover a concave value after the last age that equals the table at grid points and exceeds linear
    interpolation between them.
    """
    problem = replace(cake(17, ages=3), eta=eta, start=2.0 * np.sqrt(cake(17).grid + 0.1)[:, None])
    found = bl.refine(solved(problem))
    assert found.proof == "concave"
    at = finer(problem, 16).grid
    curved = 2.0 * np.sqrt(at + 0.1)[:, None]
    better = solved(finer(problem, 16, curved))
    assert (better.value[:, ::16] <= found.upper).all()
    assert (found.lower <= better.value[:, ::16] + 1e-3).all()
    # A bound for linear interpolation alone does not cover it.
    lines = solved(finer(problem, 16))
    assert (better.value[-1] > lines.value[-1] + 1e-6).any()


def test_what_turns_after_the_last_age_has_the_coarse_bounds() -> None:
    problem = replace(cake(33), start=-np.abs(cake(33).grid - 1.0)[:, None])
    assert bl.refine(solved(problem)).proof == "monotone"
    convex = replace(cake(33), start=cake(33).grid[:, None] ** 2)
    found = bl.refine(solved(convex))
    assert found.proof == "monotone"
    assert found.grid_error < np.inf


def test_euler_errors_are_those_of_the_definition() -> None:
    problem = cake(65)
    result = solved(problem)
    found = bl.refine(result)
    error = bl.euler_errors(found)
    assert error.shape == (5, 65, 1)
    for age, x in ((0, 50), (2, 64), (3, 20)):
        consumed = np.interp(found.choice[age, x, 0], problem.grid, found.consumption[age + 1, :, 0])
        expected = 1 - (0.9 / consumed) ** -1 / found.consumption[age, x, 0]
        assert error[age, x, 0] == pytest.approx(expected, abs=1e-13)
    # A household that saves nothing is at the borrowing limit, where no Euler error is defined.
    assert np.isnan(error[:, 0]).all()
    assert np.nanmax(np.abs(error)) < np.nanmax(np.abs(bl.euler_errors(result))) / 10


def test_the_last_ages_of_a_run_that_was_stopped() -> None:
    whole = solved(cake(17))
    stopped = replace(whole, value=whole.value[2:], policy=whole.policy[2:], success=False, status="stopped")
    with pytest.warns(UserWarning, match="stopped"):
        found = bl.refine(stopped)
    full = bl.refine(whole)
    np.testing.assert_array_equal(found.value, full.value[2:])
    np.testing.assert_array_equal(found.upper, full.upper[2:])


def test_one_age_and_two_points() -> None:
    problem = bl.Problem(
        grid=[0.0, 1.0], wealth=[[0.4], [1.4]], transition=np.eye(1), start=[[0.0], [1.0]], beta=0.9, eta=2.0, horizon=1
    )  # type: ignore[arg-type]
    found = bl.refine(solved(problem))
    assert found.proof == "concave"
    assert (found.lower <= found.upper).all()
    fine = solved(finer(problem, 256))
    assert (fine.value[:, ::256] <= found.upper).all()
    assert (found.lower <= fine.value[:, ::256] + 1e-4).all()
