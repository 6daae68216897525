"""Value iteration in chunks: chunks and threads change no result, and clocks bound all changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.gpu_ref import cpu, value_iteration
from beltline.gpu_ref.chunk_sweeps import MOST_MOVED, _between_chunks, _update_moved
from beltline.gpu_ref.chunk_tables import piece
from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.proven_groups import GROUP
from beltline.gpu_ref.published import grid_search
from beltline.gpu_ref.row_search import choose
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.value_iteration import ValueIteration
from beltline.gpu_ref.window_clocks import BLOCK, WIDE, window


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


def test_a_choice_that_moves_between_chunks_has_its_chunk_proven_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_iteration, "_FEWEST", 16)
    iteration = swept(rough(), 60)
    t, grid = iteration._tables, iteration._tables.X.size
    first = next(x for x in range(t.chunk, grid, t.chunk) if t.policy[0, x - 1] < t.policy[0, x])
    best = t.policy[0, first]
    choose(t.X, t.W[0, first], t.eta, piece(t, 0, 0, grid), first, best - 1)
    t.quiet[:] = np.inf
    found = np.empty(MOST_MOVED, np.int32)
    assert _between_chunks(t, 1 - iteration._now, 0, found, np.empty(3 * MOST_MOVED + 4, np.int32)) == 1
    assert (found[0], t.policy[0, first]) == (first, best)
    # Its group and that of the state below it.
    assert np.flatnonzero(t.quiet[0] < np.inf).tolist() == [first // GROUP - 1, first // GROUP]


def test_after_a_scan_nothing_is_known_of_a_piece_but_its_choices() -> None:
    """Sweeps of a jagged value are exact whether choices are found by guesses, by scans or from neighbours."""
    problem = rough(seed=3)
    iteration, other = swept(problem, 20), swept(problem, 20)
    iteration._tables.scans[:] = True
    iteration._tables.quiet[:] = np.inf
    other._tables.scans[:] = False
    for sweep in range(3):
        iteration.sweep("change", 0.0, 1)
        other.sweep("change", 0.0, 1)
        if sweep == 0:
            assert (iteration._tables.quiet == -np.inf).all()
            assert (iteration._tables.until[:, 1:-1] == -np.inf).all()
        for a, b in zip(read(iteration), read(other), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_piece_is_proven_again_after_its_choices_move() -> None:
    """Between two sweeps, a peak appears in ``EV`` that no local search reaches from the choices."""
    X = np.linspace(0.0, 30.0, 300)
    W, Q = (X + 1.0)[:, None], np.eye(1)
    iteration = ValueIteration(X, W, Q, 0.9, 2.0, 1)
    iteration.load(np.log(X + 1.0)[:, None])
    iteration.sweep("change", 0.0, 20)
    t = iteration._tables
    assert (t.quiet == np.inf).all()
    assert (np.diff(t.policy) <= 1).all()
    assert not t.scans.any()
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


def test_a_piece_is_scanned_while_many_of_its_choices_move() -> None:
    problem = rough(2000, seed=1)
    few, many = swept(problem, 300), swept(problem, 300)
    many.load(problem[-1])
    many._divide("change", 0.0)
    assert not few._tables.scans.any()
    assert many._tables.scans.all()
    many.sweep("change", 0.0, 1)
    assert many._tables.scans.any()
    many.sweep("change", 0.0, 299)
    assert not many._tables.scans.any()


def test_a_choice_repaired_between_chunks_counts_in_the_change_of_its_block() -> None:
    """Its change, larger than all others of the block, becomes a bound of them in every exogenous state."""
    iteration = swept(rough(), 20)
    t, x, turn = iteration._tables, 37, 1 - iteration._now
    t.changes[:] = 0.0
    t.both[turn, :, x + 1] -= np.array([5.0, 0.0, -5.0])
    ends = np.zeros((t.scans.shape[0], 3)), np.zeros((t.scans.shape[0], 3))
    assert _update_moved(t, turn, 0, np.array([x], np.int32), *ends, np.empty((0, 0)), np.empty((0, 0), np.int32))
    change = t.both[1 - turn, :, x + 1] - t.both[turn, :, x + 1]
    assert (np.abs(change[[0, 2]]) > 1.0).all()
    np.testing.assert_array_equal(t.changes[0, :, x // BLOCK], np.minimum(change, 0.0))
    np.testing.assert_array_equal(t.changes[1, :, x // BLOCK], np.maximum(change, 0.0))


def test_threads_change_no_bit() -> None:
    one, two = (swept(rough(2000), 30, threads) for threads in (1, 2))
    for a, b in zip(read(one, "spans"), read(two, "spans"), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (one.h, one.slack()) == (two.h, two.slack())


def clocks_of(iteration: ValueIteration) -> np.ndarray:
    """Return the readings of the clocks of all windows, ``(N_z, windows)``."""
    clocks = iteration._tables.clocks
    return clocks[:, :1] + clocks[:, 1:]


def spreads_of(change: np.ndarray) -> np.ndarray:
    """Return the spread of a change of ``EV``, ``(N_z, N_k)``, over each of the windows of the clocks."""
    grid = change.shape[1]
    parts = [change]
    for size in (BLOCK, WIDE):
        parts += [change[:, begin : begin + 2 * size] for begin in range(0, grid, size)]
    return np.stack([np.ptp(part, axis=1) for part in parts], axis=1)


@pytest.mark.parametrize(("seed", "fewest"), [(0, 512), (1, 512), (0, 16), (1, 16), (2, 16)])
def test_clocks_cover_what_a_sweep_changes(seed: int, fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clocks bound measured changes, changes that are not measured, and repairs between chunks."""
    monkeypatch.setattr(value_iteration, "_FEWEST", fewest)
    X, W, Q, beta, eta, V = rough(seed=seed)
    iteration = swept((X, W, Q, beta, eta, V), 3)
    proven = measured = 0
    for _ in range(30):
        before, clocks = expectation(Q, read(iteration)[0], beta), clocks_of(iteration)
        divided, common = iteration.exact_sweeps, iteration._tables.clocks[:, 0].copy()
        iteration.sweep("change", 0.0, 1)
        if iteration.exact_sweeps > divided:
            continue
        proven += 1
        measured += int((iteration._tables.clocks[:, 0] == common).all())
        change = expectation(Q, read(iteration)[0], beta) - before
        passed = clocks_of(iteration) - clocks
        assert (passed >= spreads_of(change) - 1e-12).all()
        assert (passed <= 50.0 * np.ptp(change, axis=1)[:, None] + 1e-12).all()
        if (iteration._tables.clocks[:, 0] == common).all() and fewest == 512:
            # All but where the first or the last row was repaired.
            assert (passed <= spreads_of(change) + 1e-12).mean() > 0.8
    assert proven >= 3
    assert measured >= 1


def test_after_a_full_search_nothing_is_known_of_rivals() -> None:
    iteration = swept(rough(), 200)
    assert (iteration._tables.until > -np.inf).any()
    assert (iteration._tables.clocks > 0.0).any()
    iteration._divide("change", 0.0)
    assert (iteration._tables.until == -np.inf).all()
    assert (iteration._tables.clocks == 0.0).all()


def test_clocks_include_policy_evaluation_steps() -> None:
    X, W, Q, beta, eta, V = rough()
    iteration = swept((X, W, Q, beta, eta, V), 3)
    iteration.sweep("change", 0.0, 4)
    for _ in range(3):
        before, clocks = expectation(Q, read(iteration)[0], beta), clocks_of(iteration)
        iteration.evaluate(iteration.sweeps + 8)
        spreads = spreads_of(expectation(Q, read(iteration)[0], beta) - before)
        assert (spreads[:, 0] > 0.0).all()
        assert (clocks_of(iteration) - clocks >= spreads - 1e-12).all()
        iteration.sweep("change", 0.0, 1)


def test_a_sweep_looks_at_few_candidates_where_little_moves() -> None:
    """The candidates of wide brackets are known to lose, so their rows are not searched again."""
    iteration = swept(rough(), 400)
    tables = iteration._tables
    steps = np.diff(tables.policy, axis=1)
    wide = (steps[:, 1:] > 1) | (steps[:, :-1] > 1)
    clocks = np.array([
        [clock[0] + clock[window(steps.shape[1] + 1, low, high)] for low, high in zip(lows, highs, strict=True)]
        for clock, lows, highs in zip(tables.clocks, *tables.watched[:2], strict=True)
    ])  # fmt: skip
    guarded = (tables.until > clocks)[:, 1:-1]
    assert wide.sum() > 100
    assert (wide & ~guarded).sum() <= 0.02 * wide.sum()


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
