"""Rows for tests of the searches of a row: an empty cache, and random problems."""

from __future__ import annotations

import numpy as np

from beltline.gpu_ref.row_search import Cached


def cached_of(policy: np.ndarray) -> Cached:
    """Return the cache of rows with the choices ``policy`` before any sweep has filled it."""
    return Cached(policy.astype(np.int32), *(np.full(policy.size, -np.inf) for _ in range(3)))


def random_row(number: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Return a grid, wealth, ``eta`` and an ``EV`` that need not be concave."""
    points = int(rng.integers(3, 60)) if number % 20 else int(rng.integers(250, 800))
    grid = np.append(0.0, rng.exponential(size=points - 1).cumsum())
    wealth = np.sort(rng.uniform(0.1, 1.3 * grid[-1] + 0.2, points)) + (0.01 if number % 2 else 0.0)
    ev = rng.normal(size=points).cumsum() * rng.choice([0.0, 0.1, 3.0])
    return grid, wealth, float(rng.choice([0.5, 1.0, 2.0, 5.0])), ev


def stepped_row(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Return a grid, wealth with a step at every few points, ``eta`` and an ``EV`` with which many candidates tie."""
    points, every = int(rng.integers(10, 200)), int(rng.integers(1, 7))
    grid = np.arange(points) / 8.0
    wealth = 1.0 + grid[np.arange(points) // every * every] + rng.choice([0.0, 0.25]) * (np.arange(points) // every)
    promise = -20.0 / (1.0 + wealth) if rng.random() < 0.5 else np.floor(wealth) / 16.0
    return grid, wealth, float(rng.choice([0.0, 1.0, 2.0, 5.0])), promise


def any_problem(
    rng: np.random.Generator, eta: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float, float]:
    """Draw values that are not concave, wealth with flat pieces, states that afford nothing, and states of value
    -inf.
    """
    grid, states = int(rng.integers(1, 90)), int(rng.integers(1, 6))
    X = rng.uniform(0.1, 1.0) + np.cumsum(rng.choice([1.0, rng.uniform(0.1, 3.0)], grid)) / grid
    rise = np.where(rng.random((grid, states)) < 0.2, 0.0, rng.uniform(0.0, 4.0 / grid, (grid, states)))
    W = X[0] + rng.uniform(-0.3, 0.5, states) + np.cumsum(rise, axis=0)
    Q = rng.dirichlet(np.ones(states), states)
    if rng.random() < 0.3:
        Q = np.eye(states)
    V = rng.normal(0.0, rng.choice([0.01, 1.0, 100.0]), (grid, states))
    if rng.random() < 0.3:
        V = np.round(V)
    if rng.random() < 0.3:
        V[rng.random(V.shape) < 0.2] = -np.inf
    return X, W, Q, V, float(rng.uniform(0.5, 0.99)), eta
