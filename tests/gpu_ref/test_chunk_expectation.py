"""The expectation of a piece of the grid, and of the whole: the bits of a sum in order, for any number of states."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.chunk_expectation import expect_between
from beltline.gpu_ref.tables import expectation


def chain(states: int) -> np.ndarray:
    """Draw a chain in which some transitions are impossible."""
    rng = np.random.default_rng(states)
    Q = rng.random((states, states)) * (rng.random((states, states)) < 0.7) + np.eye(states) * 0.1
    return np.asarray(Q / Q.sum(axis=1, keepdims=True))


def in_order(Q: np.ndarray, V: np.ndarray, beta: float) -> np.ndarray:
    """Return the expectation, ``(N_z, N_k)``, as a sum over the states in order."""
    ev = np.zeros((Q.shape[0], V.shape[0]))
    for s, row in enumerate(Q):
        for z in np.flatnonzero(row):
            ev[s] += row[z] * V[:, z]
    return beta * ev


@pytest.mark.parametrize("states", range(1, 14))
def test_bits_are_those_of_a_sum_in_order(states: int) -> None:
    Q, rng = chain(states), np.random.default_rng(states)
    V = rng.normal(size=(50, states)) * 10.0 ** rng.integers(-5, 6, (50, states))
    ahead = np.full((states, 52), 7.0)
    for begin, end in ((0, 1), (1, 20), (20, 20), (20, 50)):
        assert expect_between(Q, 0.97, np.ascontiguousarray(V.T), ahead, begin, end)
    assert np.array_equal(ahead[:, 1:-1], in_order(Q, V, 0.97))
    assert (ahead[:, [0, -1]] == 7.0).all()


@pytest.mark.parametrize(("states", "points"), [(1, 9000), (3, 3000), (4, 1024), (7, 1), (200, 70)])
def test_all_pieces_of_the_whole_grid_are_computed(states: int, points: int) -> None:
    Q, V = chain(states), np.random.default_rng(0).normal(size=(points, states))
    V[0, 0] = V[-1, -1] = -np.inf
    assert np.array_equal(expectation(Q, V, 0.9), in_order(Q, V, 0.9))


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
