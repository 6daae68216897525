"""Local searches where two choices tie: they end on the lower one, wherever they begin."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.local_search import bisect, climb, proven_row, warm_row
from beltline.gpu_ref.local_sweeps import keep

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


@pytest.mark.parametrize("kept", [2, 3])
def test_a_kept_choice_stays_where_it_is_the_lower_of_two_that_tie(kept: int) -> None:
    ev = expected([1.0, 2.0, 3.0, 3.0, 2.0, 1.0])
    value, policy = np.zeros(1), np.array([kept], np.int32)
    below, here, above = (UTILITY[kept + step : kept + step + 1].copy() for step in (-1, 0, 1))
    least, most = warm_row(X, np.array([WEALTH]), 2.0, ev, value, policy, below, here, above)
    assert (policy[0], value[0], least, most) == (2, 3.0, 3.0, 3.0)
    assert (below[0], here[0], above[0]) == tuple(UTILITY[1:4])


def test_a_proven_row_is_that_of_full_search_from_any_policy() -> None:
    rng = np.random.default_rng(4)
    proofs, wide = 0, 0
    for number in range(400):
        points = int(rng.integers(2, 60))
        grid = np.append(0.0, rng.exponential(size=points - 1).cumsum())
        wealth = np.sort(rng.uniform(0.1, 1.3 * grid[-1] + 0.2, points)) + (0.01 if number % 2 else 0.0)
        eta = float(rng.choice([0.5, 1.0, 2.0, 5.0]))
        ev = rng.normal(size=points).cumsum() * rng.choice([0.0, 0.1, 3.0])
        value, policy = np.empty((points, 1)), np.empty((points, 1), np.int32)
        divide_and_conquer(grid, wealth[:, None], ev[None], eta, value, policy)
        near = np.clip(policy[:, 0] + rng.integers(-2, 3, points), -1, points - 1).astype(np.int32)
        begin = [near, np.zeros(points, np.int32), rng.integers(0, points, points).astype(np.int32)][number % 3]
        kept = np.full((3, 1, points), -np.inf)
        keep(grid, wealth[None], eta, begin[None], kept)
        found, before = np.empty(points), np.zeros(points)
        proof, least, most = proven_row(
            grid, wealth, eta, np.array([-np.inf, *ev, -np.inf]), before, found, begin, *(kept[k, 0] for k in range(3))
        )
        if proof:
            proofs += 1
            np.testing.assert_array_equal(found, value[:, 0])
            np.testing.assert_array_equal(begin, policy[:, 0])
            assert (least, most) == (found.min(), found.max())
            wide += int((np.diff(begin) > 1).any())
    assert proofs > 300
    assert wide > 100


def test_a_row_with_a_candidate_that_nobody_can_be_at_is_not_proven() -> None:
    grid = np.arange(4.0)
    ev = np.array([-np.inf, 0.0, -np.inf, 0.0, 0.0, -np.inf])
    rows = [np.zeros(4) for _ in range(5)]
    assert not proven_row(grid, grid + 1.0, 2.0, ev, rows[0], rows[1], np.zeros(4, np.int32), *rows[2:])[0]
