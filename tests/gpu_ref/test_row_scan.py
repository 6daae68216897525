"""Search of a row by scanning brackets: every choice is the best between those of its neighbours."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.row_scan import scanned_row
from beltline.gpu_ref.row_search import Cached
from beltline.gpu_ref.utility import crra_utility

from .rows import cached_of, random_row, stepped_row


def check(grid: np.ndarray, wealth: np.ndarray, eta: float, ev: np.ndarray, row: Cached, value: np.ndarray) -> None:
    """Check choices, objectives and cached utilities by full search of every bracket."""
    policy = row.policy
    assert (np.diff(policy) >= 0).all()
    for i, p in enumerate(policy):
        consumption = wealth[i] - grid
        u = crra_utility(consumption, eta) if eta else np.where(consumption > 0.0, consumption, -np.inf)
        u = np.array([-np.inf, *u, -np.inf])
        if p < 0:
            assert u.max() == value[i] == -np.inf
            continue
        assert (row.below[i], row.here[i], row.above[i]) == tuple(u[p : p + 3])
        objectives = u[1:-1] + ev
        assert value[i] == objectives[p]
        if 0 < i < policy.size - 1:
            low = max(policy[i - 1], 0)
            assert p == low + np.argmax(objectives[low : policy[i + 1] + 1])


@pytest.mark.parametrize("kind", ["any wealth", "steps"])
def test_a_scanned_row_is_that_of_full_search(kind: str) -> None:
    """If the first and the last choice are those of full search, all are; ``EV`` changes from sweep to sweep."""
    rng = np.random.default_rng(7)
    whole = given_up = 0
    for number in range(1, 80):
        grid, wealth, eta, ev = random_row(number, rng) if kind == "any wealth" else stepped_row(rng)
        points = grid.size
        row, found = cached_of(rng.integers(0, points, points)), np.empty(points)
        for sweep in range(4):
            value, policy = np.empty((points, 1)), np.empty((points, 1), np.int32)
            divide_and_conquer(grid, wealth[:, None], ev[None], eta, value, policy)
            if number % 3 or sweep:
                row.policy[:] = np.maximum(policy[:, 0] + rng.integers(-2, 3, points), 0)
            before = row.policy.copy()
            moved = scanned_row(grid, wealth, eta, np.array([-np.inf, *ev, -np.inf]), row, found)
            if moved < 0:
                given_up += 1
                continue
            assert moved >= (row.policy != before).sum() - points // 2
            assert (row.until == -np.inf).all()
            check(grid, wealth, eta, ev, row, found)
            if (row.policy[[0, -1]] == policy[[0, -1], 0]).all():
                np.testing.assert_array_equal(row.policy, policy[:, 0])
                np.testing.assert_array_equal(found, value[:, 0])
                whole += 1
            ev = ev + rng.uniform(-1.0, 1.0, points) * 10.0**-sweep
    assert whole > 120
    assert given_up < 60


def test_choices_that_rise_in_the_second_pass_take_those_below_along() -> None:
    """If all guesses are too low, choices that rise in the second pass raise those below them, too."""
    grid, wealth = np.linspace(0.0, 10.0, 41), np.full(6, 100.0)
    ev = np.zeros(41)
    ev[7] = 1.0
    row, value = cached_of(np.zeros(6)), np.empty(6)
    assert scanned_row(grid, wealth, 2.0, np.array([-np.inf, *ev, -np.inf]), row, value) >= 0
    assert row.policy.tolist() == [7] * 6
    check(grid, wealth, 2.0, ev, row, value)


def test_a_state_with_the_wealth_of_the_first_is_searched() -> None:
    """The first state, which others prove, stops at a local maximum; the second does not copy its choice."""
    grid, wealth = np.linspace(0.0, 10.0, 60), np.full(6, 100.0)
    ev = np.zeros(60)
    ev[30] = 1.0
    row, value = cached_of(np.r_[0, np.full(5, 32)]), np.empty(6)
    assert scanned_row(grid, wealth, 2.0, np.array([-np.inf, *ev, -np.inf]), row, value) >= 0
    assert row.policy.tolist() == [0, *[30] * 5]
    check(grid, wealth, 2.0, ev, row, value)


def test_distant_guesses_are_given_up() -> None:
    """A scan ends early if every state would evaluate the whole grid, for which divide and conquer is faster."""
    grid, wealth = np.linspace(0.0, 10.0, 400), np.full(30, 100.0)
    row = cached_of(np.r_[0, np.full(29, 399)])
    assert scanned_row(grid, wealth, 2.0, np.zeros(402), row, np.empty(30)) == -1
