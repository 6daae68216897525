"""The value of a policy against linear algebra in exact fractions, with ``beta`` up to 1 - 1e-12."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from beltline.gpu_ref.discrete import Program, measured, program_of, solve
from beltline.gpu_ref.discrete.policy_value import policy_value, shifted
from oracle import bellman

RANDOM = np.random.default_rng(7)


def chain(kind: str, states: int) -> np.ndarray:
    """Transitions of one policy, ``(n, n)``: chains that forget soon, slowly, or never."""
    rows = np.zeros((states, states))
    here = np.arange(states)
    if kind == "dense":
        rows = RANDOM.dirichlet(np.ones(states), states)
    elif kind == "neighbours":
        np.add.at(rows, (here, np.maximum(here - 1, 0)), 0.5)
        np.add.at(rows, (here, np.minimum(here + 1, states - 1)), 0.5)
    elif kind == "cycle":
        rows[here, (here + 1) % states] = 1.0
    elif kind == "stay":
        rows[here, here] = 1.0
    elif kind == "two classes":
        half = states // 2
        rows[:half, :half] = RANDOM.dirichlet(np.ones(half), half)
        rows[half:, half:] = RANDOM.dirichlet(np.ones(states - half), states - half)
    return rows


def program(rewards: np.ndarray, rows: np.ndarray, beta: float) -> Program:
    """One action in every state."""
    states = np.arange(rewards.size)
    return program_of(states, np.zeros_like(states), rewards, states, sparse.csr_array(rows), beta)


def exact(rewards: np.ndarray, rows: np.ndarray, beta: float) -> np.ndarray:
    """The value in fractions: the numbers in double precision are taken to be exact."""
    return bellman.policy_value(rewards, rows, beta, np.zeros(rewards.size, bool)).astype(float)


@pytest.mark.parametrize("kind", ["dense", "neighbours", "cycle", "stay", "two classes"])
@pytest.mark.parametrize("distance", [0.05, 1e-4, 1e-8, 1e-12])
def test_values_as_in_exact_fractions(kind: str, distance: float) -> None:
    rewards, rows, beta = RANDOM.normal(size=12), chain(kind, 12), 1.0 - distance
    made = program(rewards, rows, beta)
    chosen = np.arange(12)
    step_tol = max(1e-12, 2.0 * made.rounding(rewards / distance, rewards))
    found, left = policy_value(made, chosen, rewards, step_tol)
    assert left <= step_tol
    assert np.abs(rewards + beta * (rows @ found) - found).max() <= 2.0 * step_tol
    assert np.abs(found - exact(rewards, rows, beta)).max() <= 4.0 * step_tol / distance


def test_a_constant_is_added_only_where_lotteries_sum_to_the_same() -> None:
    rewards, rows = RANDOM.normal(size=9), chain("dense", 9)
    made = program(rewards, rows, 0.999)
    change = np.linspace(1.0, 3.0, 9)
    np.testing.assert_allclose(shifted(made, rewards, change), rewards + 0.999 * 2.0 / 0.001, rtol=1e-12)
    rows[3] *= 0.5
    uneven = program(rewards, rows, 0.999)
    assert not uneven.even
    np.testing.assert_array_equal(shifted(uneven, rewards, change), rewards)
    found, _ = policy_value(uneven, np.arange(9), rewards, 1e-11)
    np.testing.assert_allclose(found, exact(rewards, rows, 0.999), atol=1e-8)


def test_the_difference_of_changes_falls_by_the_constant() -> None:
    rewards, rows = RANDOM.normal(size=9), chain("dense", 9)
    made = program(rewards, rows, 1.0 - 1e-6)
    after = rewards + made.beta * (rows @ rewards)
    moved = shifted(made, after, after - rewards)
    left = rewards + made.beta * (rows @ moved) - moved
    assert np.abs(left).max() <= 0.5 * np.ptp(after - rewards)


def test_values_beyond_double_precision_are_refused_without_a_warning() -> None:
    made = program(np.array([1e300, -1e300, 5e299]), chain("dense", 3), 1.0 - 1e-12)
    found, _ = policy_value(made, np.arange(3), made.reward, 1.0)
    assert np.isfinite(found).all()


def neighbours(states: int, actions: int, beta: float) -> Program:
    """Every action moves by one state, each upwards with its own chance."""
    up = (np.arange(actions) + 1) / (actions + 1)
    state, action = np.repeat(np.arange(states), actions), np.tile(np.arange(actions), states)
    pair = np.arange(state.size)
    columns = np.minimum(state + 1, states - 1), np.maximum(state - 1, 0)
    chances = sparse.coo_array(
        (np.concatenate([up[action], 1.0 - up[action]]), (np.tile(pair, 2), np.concatenate(columns))),
        shape=(state.size, states),
    ).tocsr()
    chances.sum_duplicates()
    return program_of(state, action, RANDOM.normal(size=state.size), pair, chances, beta)


@pytest.mark.parametrize("distance", [1e-4, 1e-8, 1e-10])
def test_chains_that_move_by_one_state_are_solved_in_few_sweeps(distance: float) -> None:
    made = neighbours(2000, 3, 1.0 - distance)
    found = solve(made, max_sweeps=300)
    assert found.status == "converged"
    proven = measured(made, found.value, found.chosen, found.change)
    assert proven.missed == 0
    # The value of the policy found, from a sparse factorization, differs by no more than the bound.
    chances = made.chances[made.lottery[found.chosen]]
    system = (sparse.eye_array(2000) - made.beta * chances).tocsc()
    value = sparse.linalg.spsolve(system, made.reward[found.chosen])
    assert np.abs(value - found.value).max() <= proven.error_bound * 1.1
    assert proven.error_bound <= 1e-4 * np.abs(value).max()


def advance_or_return(states: int, beta: float, seed: int) -> Program:
    """Two actions: to the next state on a circle, or one state down to an absorbing one."""
    here, pair = np.arange(states), np.arange(2 * states)
    to = np.concatenate([(here + 1) % states, np.maximum(here - 1, 0)])
    chances = sparse.csr_array((np.ones(pair.size), (pair, to)), shape=(pair.size, states))
    order = np.argsort(np.tile(here, 2), kind="stable")
    rewards = np.random.default_rng(seed).normal(size=pair.size)
    state, action = np.tile(here, 2)[order], np.repeat([0, 1], states)[order]
    return program_of(state, action, rewards[order], np.arange(pair.size), sparse.csr_array(chances[order]), beta)


@pytest.mark.parametrize(("states", "distance", "seed"), [(300, 1e-8, 0), (300, 1e-12, 2), (300, 1e-10, 1)])
def test_policies_that_gain_less_than_rounding_of_the_value_still_count(
    states: int, distance: float, seed: int
) -> None:
    found = solve(advance_or_return(states, 1.0 - distance, seed), max_sweeps=1000)
    assert (found.status, found.given_up) == ("converged", False)
    assert found.sweeps > 30


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e160, 1e-200, 1e-300, 1e300, 2e307])
def test_rewards_of_any_size_are_solved_alike(scale: float) -> None:
    share = 1e-9
    rows = np.array([[1 - share, share], [1 - 2 * share, 2 * share], [share, 1 - share], [2 * share, 1 - 2 * share]])
    state = np.array([0, 0, 1, 1])
    beta = 0.9 if scale > 1e200 else 1.0 - 1e-10
    rewards = np.array([1.0, 2.0, 3.0, 5.0]) / 10
    one, other = (
        solve(
            program_of(state, np.array([0, 1, 0, 1]), rewards * size, np.arange(4), sparse.csr_array(rows), beta),
            tol=size * 1e-9,
            max_sweeps=20,
        )
        for size in (1.0, scale)
    )
    assert (one.status, other.status, other.sweeps) == ("converged", "converged", one.sweeps)
    np.testing.assert_allclose(other.value / scale, one.value, rtol=1e-5)


def test_bounds_include_the_rounding_of_the_smallest_numbers() -> None:
    rng, unit = np.random.default_rng(8), 2.0**-1074
    for _ in range(20):
        rewards = rng.integers(-1000, 1000, 4) * unit
        made = program(rewards, chain("neighbours", 4), 0.99)
        found = solve(made, tol=unit)
        bound = measured(made, found.value, found.chosen, found.change).error_bound
        value = exact(rewards / unit, chain("neighbours", 4), 0.99)
        assert np.abs(found.value / unit - value).max() <= bound / unit
