"""The search of a row: ties go to the lower choice, and proven choices are those of full search."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.row_search import (
    CLOSE,
    FAILED,
    FALLING,
    FAR,
    Cached,
    best_choice,
    bisect,
    cache_row,
    changes,
    guessed_row,
    local_search,
    proven,
    proven_row,
    shape,
    utility,
)

from .rows import cached_of, random_row, stepped_row

CONSUMPTION = 2.0 ** np.arange(5.0, -1.0, -1.0)
"""Consumption of each choice, for which ``-1/c`` and sums with it are exact."""

WEALTH = 40.0
X = WEALTH - CONSUMPTION
UTILITY = -1.0 / CONSUMPTION


def expected(objectives: list[float]) -> np.ndarray:
    """Return the ``EV``, with its padding at both ends, for which the choices have these objectives."""
    return np.array([-np.inf, *(np.array(objectives) - UTILITY), -np.inf])


@pytest.mark.parametrize(
    ("objectives", "lowest"),
    [
        ([1.0, 2.0, 3.0, 3.0, 2.0, 1.0], 2),
        ([3.0, 3.0, 2.0, 1.0, 0.0, -1.0], 0),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 5.0], 4),
        ([1.0, 2.0, 3.0, 4.0, 3.0, 2.0], 3),
    ],
)
def test_the_lower_of_two_that_tie(objectives: list[float], lowest: int) -> None:
    ev = expected(objectives)
    assert bisect(X, WEALTH, 2.0, ev) == lowest
    for start in range(X.size):
        found, below, here, above, objective = local_search(X, WEALTH, 2.0, ev, start)
        assert found == lowest, start
        assert (here, objective) == (UTILITY[lowest], UTILITY[lowest] + ev[lowest + 1])
        assert lowest == 0 or below == UTILITY[lowest - 1]
        assert lowest == X.size - 1 or above == UTILITY[lowest + 1]


@pytest.mark.parametrize("cached", [2, 3])
def test_a_cached_choice_stays_where_it_is_the_lower_of_two_that_tie(cached: int) -> None:
    ev = expected([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    row = cached_of(np.array([cached]))
    for utilities, step in ((row.below, -1), (row.here, 0), (row.above, 1)):
        utilities[0] = UTILITY[cached + step]
    value = np.zeros(1)
    moved, least, most = guessed_row(X, np.array([WEALTH]), 2.0, ev, row, np.zeros(1), value)
    assert (moved, row.policy[0], value[0], least, most) == (cached != 2, 2, 3.0, 3.0, 3.0)
    assert (row.below[0], row.here[0], row.above[0]) == tuple(UTILITY[1:4])


def test_the_choice_of_a_state_that_can_afford_nothing_does_not_move() -> None:
    """A state that can afford nothing reports no moved choice, with which no solve would end."""
    for choice, moves in ((0, 1), (-1, 0)):
        row, value = cached_of(np.array([choice])), np.zeros(1)
        found = guessed_row(X, X[:1] - 1.0, 2.0, expected([0.0] * 6), row, np.zeros(1), value)
        assert (row.policy[0], value[0], found) == (-1, -np.inf, (moves, -np.inf, -np.inf))


@pytest.mark.parametrize("n", [1, 2, 3, 17, 64])
def test_the_shape_of_a_policy(n: int) -> None:
    rng = np.random.default_rng(n)
    for number in range(60):
        policy = (rng.integers(-1, 5) + np.cumsum(rng.integers(0, 2, n))).astype(np.int32)
        assert shape(policy) == CLOSE
        if n > 1:
            # One step anywhere, also between the last two states or the first two.
            at = (1, n - 1, int(rng.integers(1, n)))[number % 3]
            for step, expected_shape in ((2, FAR), (9, FAR), (-1, FALLING), (-4, FALLING)):
                policy[at:] += policy[at - 1] + step - policy[at]
                assert shape(policy) == expected_shape
        if n > 2:
            # A policy that falls somewhere and has a large step elsewhere falls.
            policy[-1] = policy[-2] + 5
            assert shape(policy) == (FAR if at == n - 1 else FALLING)


def brute(objectives: np.ndarray, low: int, high: int) -> int:
    """Return the lowest maximiser from ``low`` to ``high``."""
    return low + int(np.argmax(objectives[low : high + 1]))


def test_the_best_choice_of_a_bracket_is_that_of_full_search() -> None:
    """Whatever the choice before, inside or outside of the bracket, and with many ties."""
    rng = np.random.default_rng(8)
    kept = 0
    for _ in range(2000):
        objectives = rng.integers(0, 4, X.size).astype(float)
        ev = expected(objectives.tolist())
        low, p = rng.integers(0, X.size, 2)
        high = int(rng.integers(low, X.size))
        row = cached_of(np.array([p]))
        cache_row(X, np.array([WEALTH]), 2.0, row)
        cached = row.below[0], row.here[0], row.above[0]
        best = brute(objectives, low, high)
        assert best_choice(X, WEALTH, 2.0, ev, p, *cached, low, high) == best
        under, here, over = (objectives[p + k] if 0 <= p + k < X.size else -np.inf for k in (-1, 0, 1))
        known = proven(p, low, high, under, here, over)
        assert known == (p == best and p - 1 <= low and high <= p + 1)
        kept += known
    assert kept > 100


def test_a_choice_that_cannot_be_afforded_is_never_the_best_of_a_bracket() -> None:
    ev = np.array([-np.inf, 0.0, 1.0, 2.0, 3.0, 9.0, 9.0, -np.inf])
    row = cached_of(np.array([0]))
    wealth = X[4]
    cache_row(X, np.array([wealth]), 2.0, row)
    objectives = [utility(wealth, x, 2.0) + e for x, e in zip(X, ev[1:], strict=False)]
    assert (
        best_choice(X, wealth, 2.0, ev, 0, row.below[0], row.here[0], row.above[0], 0, 5) == np.argmax(objectives) < 4
    )


@pytest.mark.parametrize("kind", ["any wealth", "steps"])
def test_a_proven_row_is_that_of_full_search_from_any_policy(kind: str) -> None:
    """A row is that of full search, sweep after sweep, while ``EV`` changes."""
    rng = np.random.default_rng(4)
    proofs = wide = 0
    for number in range(400):
        grid, wealth, eta, ev = random_row(number, rng) if kind == "any wealth" else stepped_row(rng)
        points = grid.size
        row = cached_of(rng.integers(0, points, points) if number % 3 else np.zeros(points))
        found, before = np.empty(points), np.zeros(points)
        for sweep in range(6):
            value, policy = np.empty((points, 1)), np.empty((points, 1), np.int32)
            divide_and_conquer(grid, wealth[:, None], ev[None], eta, value, policy)
            # The ends of a piece are for others to prove.
            row.policy[[0, -1]] = policy[[0, -1], 0]
            cache_ends(grid, wealth, eta, row)
            padded = np.array([-np.inf, *ev, -np.inf])
            _, least, most = guessed_row(grid, wealth, eta, padded, row, before, found)
            guess, corrected = shape(row.policy), 0
            if guess != CLOSE:
                corrected = proven_row(grid, wealth, eta, padded, row, guess, found, np.ones(points, np.bool_))
            if corrected == FAILED or (row.policy[[0, -1]] != policy[[0, -1], 0]).any():
                break
            proofs += 1
            np.testing.assert_array_equal(found, value[:, 0])
            np.testing.assert_array_equal(row.policy, policy[:, 0])
            expected_changes = (found.min(), found.max())
            assert corrected or (least, most) == expected_changes
            assert changes(before, found) == expected_changes
            wide += int((np.diff(row.policy) > 1).any())
            move = rng.uniform(-1.0, 1.0, points) * 10.0 ** -float(sweep)
            # All over, or in one place.
            ev = ev + move * (number % 2 or abs(np.arange(points) - rng.integers(points)) < 4)
            # What is cached belongs to the choices, also of states whose choice the proof has moved.
            again = Cached(row.policy, *(np.empty(points) for _ in range(3)))
            cache_row(grid, wealth, eta, again)
            for kept, computed in zip(row, again, strict=True):
                np.testing.assert_array_equal(kept, computed)
    assert proofs > 700
    assert wide > 300


def cache_ends(grid: np.ndarray, wealth: np.ndarray, eta: float, row: Cached) -> None:
    for x in (0, -1):
        cache_row(grid, wealth[x:][:1], eta, Cached(*(array[x:][:1] for array in row)))
