"""Values that differ by orders of magnitude: those of ordinary size are right, and bounded by state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.host.solver.certificate import claimed
from oracle import bellman


def moves(*targets: tuple[int, ...]) -> np.ndarray:
    """Return the certain transitions of a discrete program: ``targets[state][action]`` is the next state."""
    return np.eye(len(targets))[np.array(targets)]


@pytest.mark.parametrize("penalty", [-1e20, 1e20, -1e10, -1e100])
def test_an_absorbing_state_that_none_enters_leaves_others_right(penalty: float) -> None:
    found = bl.solve(bl.from_discrete_dp([[1.0], [penalty]], moves((0,), (1,)), 0.9), progress=False)
    assert found.success
    np.testing.assert_allclose(found.value, [10.0, 10.0 * penalty], rtol=1e-13)
    assert bl.certify(found.problem, found.value).error_bound_by_state[0] < 1e-12


def test_a_penalty_hides_no_better_action() -> None:
    penalty = -1e100
    reward = [[1.0, 1.001, 5.0], [1.0, 1.0, 5.0], [penalty, penalty, penalty]]
    found = bl.solve(bl.from_discrete_dp(reward, moves((0, 1, 2), (1, 0, 2), (2, 2, 2)), 0.9), progress=False)
    assert found.success
    assert found.policy.tolist()[:2] == [1, 1]
    assert found.value[0] == pytest.approx((1.001 + 0.9 * 1.0) / (1.0 - 0.81), rel=1e-13)


def test_a_ladder_with_a_penalty_below_it() -> None:
    """On 19 rungs one can rise for a cost, stay, or fall; below the lowest is a penalty for ever."""
    rungs, beta = 19, 0.95
    wage = np.linspace(0.5, 3.0, rungs)
    reward = np.stack([np.full(rungs, 4.0), wage, wage - 1.0], axis=1)
    reward = np.concatenate([[[-1e20] * 3], reward])
    to = [(0, 0, 0), *((i - 1, i, min(i + 1, rungs)) for i in range(1, rungs + 1))]
    found = bl.solve(bl.from_discrete_dp(reward, moves(*to), beta), progress=False)
    assert found.success
    value = np.zeros(rungs)
    for _ in range(3000):
        down = np.append(-np.inf, reward[2:, 0] + beta * value[:-1])
        up = reward[1:, 2] + beta * np.append(value[1:], value[-1])
        value = np.maximum(np.maximum(down, wage + beta * value), up)
    np.testing.assert_allclose(found.value[1:], value, rtol=1e-12)
    assert (found.policy[1] != 0).all()


def test_a_state_that_can_hardly_consume() -> None:
    grid = np.append(1e-6, np.linspace(0.02, 8.0, 199))
    wealth = 1.03 * grid[:, None] + np.array([0.0, 1.0])
    chain = [[0.05, 0.95], [0.05, 0.95]]
    found = bl.solve(bl.Problem(grid=grid, wealth=wealth, transition=chain, beta=0.95, eta=5.0), progress=False)
    assert found.success, found.message
    assert "is of large values" in found.message
    shown = bl.certify(found.problem, found.value)
    assert np.median(shown.error_bound_by_state) < 1e-6 * np.median(np.abs(found.value))


def test_a_penalty_after_the_last_age() -> None:
    given = bl.rbc(grid=32, states=2)
    after = np.zeros((32, 2))
    after[5, 0] = -1e20
    found = bl.solve(replace(given, start=after, horizon=3), progress=False)
    plain = bl.solve(replace(given, start=np.zeros((32, 2)), horizon=2), progress=False)
    assert found.success, found.message
    assert (np.abs(found.value) < 10.0).all()
    assert found.value.shape == (3, 32, 2)
    assert plain.success


def test_an_alternative_that_is_a_penalty_where_nothing_else_can_be_taken() -> None:
    given = bl.rbc(grid=32, states=2, beta=0.99)
    wealth, stop = given.wealth.copy(), np.full((32, 2), -50.0)
    wealth[0], stop[0] = given.grid[0] - 1.0, -1e14
    work = bl.Alternative(name="work", wealth=wealth, cost=given.grid)
    problem = bl.Problem(
        grid=given.grid, wealth=given.wealth, transition=given.transition, beta=0.99, eta=2.0,
        alternatives=[work, bl.Alternative(name="stop", value=stop)],
    )  # fmt: skip
    found = bl.solve(problem, progress=False)
    assert found.success, found.message
    # What a stop at the lowest point is worth matters to none who avoids it.
    other = bl.solve(
        replace(problem, alternatives=[work, bl.Alternative(name="stop", value=np.maximum(stop, -1e6))]), progress=False
    )
    np.testing.assert_allclose(found.value[1:], other.value[1:], rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("left", [1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("plain", [True, False])
def test_near_beta_1_differences_of_values_are_bounded(seed: int, left: float, plain: bool) -> None:
    """All values are wrong by much the same; their differences are what choices follow from."""
    rng = np.random.default_rng([seed, 1])
    grid, income = np.cumsum(rng.exponential(0.15, 60)) + 0.1, np.sort(rng.uniform(0.4, 2.0, 3))
    chain = rng.dirichlet(np.ones(3), 3)
    chain /= chain.sum(axis=1, keepdims=True)
    wealth = rng.uniform(0.95, 1.0) * grid[:, None] + income
    problem = bl.Problem(grid=grid, wealth=wealth, transition=chain, beta=1.0 - left, eta=2.0)
    if not plain:
        problem = replace(problem, high=59)
        assert problem.general
    found = bl.solve(problem, progress=False)
    assert found.success, found.message
    if found.error_bound > 0.1 * (found.value.max() - found.value.min()):
        assert "their differences by" in found.message
    bound = claimed(problem, found.value, found.residual, found.error_bound).differences(found.error_bound)
    root = np.unravel_index(int(bound.argmin()), bound.shape)
    off = found.value - bellman.solution(problem.form, np.zeros(problem.form.shape))[0]
    assert bound[root] == 0.0
    assert (np.abs(off - off[root]) <= bound + 1e-9).all()
    assert bound.max() < 0.1 * (found.value.max() - found.value.min())
