"""Value iteration in chunks: chunks and threads change no result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.gpu_ref import cpu, value_iteration
from beltline.gpu_ref.chunk_sweeps import MOST_MOVED, _between_chunks
from beltline.gpu_ref.chunk_tables import piece
from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.paths import serial_follow
from beltline.gpu_ref.published import grid_search
from beltline.gpu_ref.row_search import cache_row
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.value_iteration import ValueIteration


def read(iteration: ValueIteration, rule: str = "change") -> tuple[Array, NDArray[np.int32]]:
    """Return value and policy."""
    value, policy = np.empty(iteration._source.shape), np.empty(iteration._source.shape, np.int32)
    iteration.read(rule, value, policy)
    return value, policy


def rough(points: int = 300, states: int = 3, seed: int = 0) -> tuple[Any, ...]:
    """Return ``X, W, Q, beta, eta`` of savings with jumps in wealth, and a first value that is not concave."""
    rng = np.random.default_rng(seed)
    X = np.append(0.0, rng.exponential(size=points - 1).cumsum()) * 20.0 / points
    jumps = np.cumsum(rng.random((points, states)) * (rng.random((points, 1)) < 0.05), axis=0)
    W = 1.02 * X[:, None] + np.linspace(0.5, 1.5, states) + jumps
    return X, W, rng.dirichlet(np.ones(states), states), 0.93, 2.0, rng.normal(size=(points, states)).cumsum(axis=0)


def swept(problem: tuple[Any, ...], sweeps: int, threads: int = 1) -> ValueIteration:
    *tables, V = problem
    iteration = ValueIteration(*tables, threads)
    iteration.load(V)
    iteration.sweep("change", 0.0, sweeps)
    return iteration


@pytest.mark.parametrize("seed", range(6))
def test_chunks_change_no_bit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows where chunks meet are proven, and if a choice moves there, all results that depend on it are repaired."""
    problem = rough(seed=seed)
    X, W, Q, beta, eta, V = problem
    for _ in range(40):
        V, choices = grid_search.sweep(X, W, Q, V, beta, eta)
    for fewest in (7, 64, 512):
        monkeypatch.setattr(value_iteration, "_FEWEST", fewest)
        iteration = swept(problem, 40)
        value, policy = read(iteration)
        np.testing.assert_array_equal(policy, choices, err_msg=f"chunks of {fewest}")
        np.testing.assert_array_equal(value, V, err_msg=f"chunks of {fewest}")
    assert iteration.exact_sweeps < 40


def test_a_choice_is_corrected_between_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_iteration, "_FEWEST", 16)
    iteration = swept(rough(), 60)
    t, grid = iteration._tables, iteration._tables.X.size
    first = next(x for x in range(t.chunk, grid, t.chunk) if t.policy[0, x - 1] < t.policy[0, x])
    best = t.policy[0, first]
    t.policy[0, first] = best - 1
    cache_row(t.X, t.W[0, first : first + 1], t.eta, piece(t, 0, first, first + 1))
    found = np.empty(MOST_MOVED, np.int32)
    assert _between_chunks(t, 1 - iteration._now, 0, found, np.empty(3 * MOST_MOVED + 4, np.int32)) == 1
    assert (found[0], t.policy[0, first]) == (first, best)


def test_a_piece_is_proven_again_after_its_choices_move() -> None:
    """Between two sweeps, a peak appears in ``EV`` that no local search reaches from the choices."""
    X = np.linspace(0.0, 30.0, 300)
    W, Q = (X + 1.0)[:, None], np.eye(1)
    iteration = ValueIteration(X, W, Q, 0.9, 2.0, 1)
    iteration.load(np.log(X + 1.0)[:, None])
    iteration.sweep("change", 0.0, 20)
    t = iteration._tables
    assert (np.diff(t.policy) <= 1).all()
    # A slope moves some choices, and the peak far above is worth more than all of them to states that can afford it.
    ev = t.both[iteration._now, 0, 1:-1]
    ev += 0.5 * X / X[-1]
    ev[200] += 50.0
    value, policy = np.empty((300, 1)), np.empty((300, 1), np.int32)
    divide_and_conquer(X, W, ev[None].copy(), 2.0, value, policy)
    iteration.sweep("change", 0.0, 1)
    assert (policy[250:] == 200).any()
    np.testing.assert_array_equal(t.policy.T, policy)
    np.testing.assert_array_equal(t.values[iteration._now].T, value)


@pytest.mark.parametrize("states", [1, 3])
def test_passes_along_paths_find_the_value_of_a_policy(states: int) -> None:
    """It is that of the linear system of the policy; with one exogenous state one pass finds it."""
    X, W, Q, beta, eta, V = rough(states=states)
    iteration = swept((X, W, Q, beta, eta, V), 5)
    t = iteration._tables
    done, finite = serial_follow(t, iteration._now, np.zeros(states), 1e-12, 200)
    assert finite
    assert done == 2 if states == 1 else done < 150
    grid = X.size
    system, utility = np.eye(states * grid), np.empty(states * grid)
    for s in range(states):
        for x, y in enumerate(t.policy[s]):
            utility[s * grid + x] = -1.0 / (W[x, s] - X[y])
            system[s * grid + x, y::grid] -= beta * Q[s]
    solved = np.linalg.solve(system, utility).reshape(states, grid)
    # Passes end when what is left is the same at all points.
    left = t.values[iteration._now] - solved
    assert np.ptp(left, axis=1).max() < 1e-10
    np.testing.assert_allclose(t.both[iteration._now, :, 1:-1], beta * Q @ (solved + left), rtol=1e-12)


def test_threads_change_no_bit() -> None:
    one, two = (swept(rough(2000), 30, threads) for threads in (1, 2))
    for a, b in zip(read(one, "spans"), read(two, "spans"), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (one.h, one.slack()) == (two.h, two.slack())


def test_an_exogenous_state_in_which_nothing_can_be_afforded_misses_nothing() -> None:
    """No other state leads there, so the proofs of the other states do not change."""
    X, W, _, beta, eta, V = rough(states=2)
    W[:, 0] = X[0] - 1.0
    iteration = swept((X, W, np.array([[0.0, 1.0], [0.0, 1.0]]), beta, eta, V), 60)
    assert (read(iteration)[1][:, 0] == -1).all()
    alone = swept((X, W[:, 1:], np.eye(1), beta, eta, V[:, 1:]), 60)
    assert 0.0 < iteration.slack() <= 2.0 * alone.slack()


@pytest.mark.parametrize("method", ["warm", "mpi", "shift"])
def test_arrays_of_the_problem_before_change_no_bit(method: str) -> None:
    """A small problem is solved in the arrays of the last one of its size, whatever that left in them."""

    def solved(seed: int) -> cpu.Solution:
        X, W, Q, beta, eta, V = rough(200, 3, seed)
        return cpu.solve(X, W, Q, V, beta, eta, 1e-7, method=method)

    value_iteration._stored.clear()
    first = solved(0)
    assert (200, 3) in value_iteration._stored
    for seed in (1, 2):
        solved(seed)
    again = solved(0)
    assert np.array_equal(first.value, again.value)
    assert np.array_equal(first.policy, again.policy)
    assert (first.sweeps, first.residual, first.error_bound) == (again.sweeps, again.residual, again.error_bound)
    assert not np.shares_memory(again.value, value_iteration._stored[200, 3].values)
    cpu.solve(*rough(2000, 3)[:3], rough(2000, 3)[5], 0.93, 2.0, 1e-3, method=method)
    assert (2000, 3) not in value_iteration._stored
    # The arrays of the last four sizes are stored.
    for grid in (10, 11, 12, 13):
        cpu.solve(*rough(grid, 3)[:3], rough(grid, 3)[5], 0.93, 2.0, 1e-3, method=method)
    assert list(value_iteration._stored) == [(grid, 3) for grid in (10, 11, 12, 13)]
