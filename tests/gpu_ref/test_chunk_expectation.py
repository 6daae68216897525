"""The expectation of a piece of the grid: the bits of the expectation of the whole grid, for any number of states."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.chunk_expectation import expect_between
from beltline.gpu_ref.tables import expectation


@pytest.mark.parametrize("states", range(1, 14))
def test_bits_are_those_of_the_whole_grid(states: int) -> None:
    rng = np.random.default_rng(states)
    Q = rng.random((states, states)) * (rng.random((states, states)) < 0.7) + np.eye(states) * 0.1
    Q /= Q.sum(axis=1, keepdims=True)
    V = rng.normal(size=(50, states)) * 10.0 ** rng.integers(-5, 6, (50, states))
    ahead = np.full((states, 52), 7.0)
    for begin, end in ((0, 1), (1, 20), (20, 20), (20, 50)):
        assert expect_between(Q, 0.97, np.ascontiguousarray(V.T), ahead, begin, end)
    assert np.array_equal(ahead[:, 1:-1], expectation(Q, V, 0.97))
    assert (ahead[:, [0, -1]] == 7.0).all()


@pytest.mark.parametrize("states", [1, 3, 4, 5, 9])
def test_a_value_that_is_not_finite_is_reported_where_it_has_a_probability(states: int) -> None:
    for z in range(states):
        value = np.zeros((states, 10))
        value[z, 6] = -np.inf
        ahead = np.empty((states, 12))
        Q = np.full((states, states), 1.0 / states)
        assert not expect_between(Q, 0.9, value, ahead, 0, 10)
        assert expect_between(Q, 0.9, value, ahead, 0, 6)
        if states > 1:
            Q[:, z] = 0.0
            assert expect_between(Q, 0.9, value, ahead, 0, 10)
