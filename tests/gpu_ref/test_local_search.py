"""Local searches where two choices tie: they end on the lower one, wherever they begin."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.local_search import bisect, climb, warm_row

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
