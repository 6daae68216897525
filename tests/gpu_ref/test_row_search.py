"""The search of a row: ties end on the lower choice, and what is proven is what full search finds."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.row_search import (
    CLOSE,
    FAILED,
    MOVED,
    STAYED,
    Kept,
    bisect,
    changes,
    climb,
    guessed_row,
    keep_row,
    proven_row,
    settled,
)

CONSUMPTION = 2.0 ** np.arange(5.0, -1.0, -1.0)
"""Of the choices in turn: ``-1/c`` is exact, and so are sums with it."""

WEALTH = 40.0
X = WEALTH - CONSUMPTION
UTILITY = -1.0 / CONSUMPTION


def expected(objectives: list[float]) -> np.ndarray:
    """The ``EV``, with its spare ends, with which the choices have these objectives."""
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
        found, below, here, above = climb(X, WEALTH, 2.0, ev, start)
        assert found == lowest, start
        assert here == UTILITY[lowest]
        assert lowest == 0 or below == UTILITY[lowest - 1]
        assert lowest == X.size - 1 or above == UTILITY[lowest + 1]


def kept_of(policy: np.ndarray) -> Kept:
    """What is kept of rows that choose ``policy``, of which no sweep has kept anything."""
    count = policy.size
    return Kept(policy.astype(np.int32), *(np.full(count, -np.inf) for _ in range(4)), *np.zeros((2, count), np.int32))


@pytest.mark.parametrize("kept", [2, 3])
def test_a_kept_choice_stays_where_it_is_the_lower_of_two_that_tie(kept: int) -> None:
    ev = expected([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    row = kept_of(np.array([kept]))
    for utilities, step in ((row.below, -1), (row.here, 0), (row.above, 1)):
        utilities[0] = UTILITY[kept + step]
    value = np.zeros(1)
    guess, least, most = guessed_row(X, np.array([WEALTH]), 2.0, ev, 0.0, row, np.zeros(1), value)
    assert (guess, row.policy[0], value[0], least, most) == (CLOSE, 2, 3.0, 3.0, 3.0)
    assert (row.below[0], row.here[0], row.above[0]) == tuple(UTILITY[1:4])


def random_row(number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Grid, wealth, ``eta`` and an ``EV`` that need not be concave."""
    points = int(rng.integers(3, 60))
    grid = np.append(0.0, rng.exponential(size=points - 1).cumsum())
    wealth = np.sort(rng.uniform(0.1, 1.3 * grid[-1] + 0.2, points)) + (0.01 if number % 2 else 0.0)
    ev = rng.normal(size=points).cumsum() * rng.choice([0.0, 0.1, 3.0])
    return grid, wealth, float(rng.choice([0.5, 1.0, 2.0, 5.0])), ev


def test_a_proven_row_is_that_of_full_search_from_any_policy() -> None:
    """And stays it while ``EV`` moves and the clock with it, whatever bracket was looked at before."""
    rng = np.random.default_rng(4)
    proofs = wide = spared = 0
    for number in range(400):
        grid, wealth, eta, ev = random_row(number, rng)
        points = grid.size
        row = kept_of(rng.integers(0, points, points) if number % 3 else np.zeros(points))
        found, before, clock = np.empty(points), np.zeros(points), 0.0
        for sweep in range(6):
            value, policy = np.empty((points, 1)), np.empty((points, 1), np.int32)
            divide_and_conquer(grid, wealth[:, None], ev[None], eta, value, policy)
            # The ends of a piece are for others to prove.
            row.policy[[0, -1]] = policy[[0, -1], 0]
            keep_ends(grid, wealth, eta, row)
            guarded = row.until > clock
            padded = np.array([-np.inf, *ev, -np.inf])
            guess, least, most = guessed_row(grid, wealth, eta, padded, clock, row, before, found)
            proof = STAYED if guess == CLOSE else proven_row(grid, wealth, eta, padded, clock, row, guess, found)
            if proof == FAILED or (row.policy[[0, -1]] != policy[[0, -1], 0]).any():
                break
            proofs += 1
            np.testing.assert_array_equal(found, value[:, 0])
            np.testing.assert_array_equal(row.policy, policy[:, 0])
            expected_changes = (found.min(), found.max())
            assert proof == MOVED or (least, most) == expected_changes
            assert changes(before, found) == expected_changes
            wide += int((np.diff(row.policy) > 1).any())
            spared += int((guarded & (row.until > clock))[1:-1].sum())
            move = rng.uniform(-1.0, 1.0, points) * 10.0 ** -float(sweep)
            ev = ev + move
            clock += float(np.ptp(move))
    assert proofs > 1000
    assert wide > 300
    assert spared > 1000


def keep_ends(grid: np.ndarray, wealth: np.ndarray, eta: float, row: Kept) -> None:
    for x in (0, -1):
        one = Kept(*(array[x:][:1] for array in row))
        keep_row(grid, wealth[x:][:1], eta, one)


def test_a_choice_beyond_the_bracket_that_was_looked_at_is_found() -> None:
    """Of five candidates the highest is best, and only the others were known to lose."""
    consumption = WEALTH - X
    ev = expected([5.0, 3.0, 1.0, 1.0, 0.0, 9.0])
    for clock, best in ((0.0, 5), (10.0, 5)):
        row = kept_of(np.array([0]))
        keep_row(X, np.array([WEALTH]), 2.0, row)
        row.until[0], row.low[0], row.high[0] = 5.0, 0, 4
        assert not settled(X, WEALTH, 2.0, ev, clock, row, 0, 0, consumption.size - 1)
        assert row.policy[0] == best


def test_what_is_known_of_rivals_lasts_as_long_as_their_margin() -> None:
    row = kept_of(np.array([0]))
    keep_row(X, np.array([WEALTH]), 2.0, row)
    assert settled(X, WEALTH, 2.0, expected([5.0, 3.0, 1.0, 4.0, 0.0, -1.0]), 2.0, row, 0, 0, 5)
    assert row.until[0] == pytest.approx(3.0, abs=1e-9)
    assert row.until[0] < 3.0
    # A rival gains less than that, unseen; what is missed here could not have happened.
    gained = expected([5.0, 3.0, 1.0, 5.5, 0.0, -1.0])
    assert settled(X, WEALTH, 2.0, gained, 2.5, row, 0, 0, 5)
    assert not settled(X, WEALTH, 2.0, gained, 3.0, row, 0, 0, 5)
    assert row.policy[0] == 3


def test_a_candidate_that_a_choice_leaves_behind_is_watched() -> None:
    row = kept_of(np.array([2]))
    keep_row(X, np.array([WEALTH]), 2.0, row)
    row.until[0], row.low[0], row.high[0] = 100.0, 0, 5
    assert not settled(X, WEALTH, 2.0, expected([0.0, 3.0, 4.0, 5.0, 1.0, 0.0]), 1.0, row, 0, 0, 5)
    assert row.policy[0] == 3
    # Candidate 1 is 2 behind.
    assert row.until[0] == pytest.approx(3.0, abs=1e-9)
