"""Discrete programs of QuantEcon's lectures as arrays, and their solution by brute force."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def by_brute_force(R: Array, Q: Array, beta: float) -> tuple[Array, NDArray[np.int64]]:
    """Return value and policy by policy iteration on tables ``(n, m)`` and ``(n, m, n)``, with dense algebra."""
    rows = np.arange(R.shape[0])
    policy = R.argmax(axis=1)
    for _ in range(1000):
        value = np.linalg.solve(np.eye(rows.size) - beta * Q[rows, policy], R[rows, policy])
        objectives = R + beta * (Q @ value)
        best = objectives.argmax(axis=1)
        # At ties the old action stays, so that rounding cannot make policies cycle.
        better = objectives[rows, best] > objectives[rows, policy] + 1e-12 * (1.0 + np.abs(value).max())
        if not better.any():
            return value, policy
        policy = np.where(better, best, policy)
    raise AssertionError("policy iteration did not end")


def storage(largest: int = 5, shock: int = 10, alpha: float = 0.5) -> tuple[Array, Array, float]:
    """Return the first example of the lecture on discrete dynamic programming: consume or store a crop.

    The state is the stock, and an action is the amount stored, at most ``largest``. The next stock is this amount
    plus a shock that is uniform on ``0 .. shock``.
    """
    n, m = largest + shock + 1, largest + 1
    R, Q = np.full((n, m), -np.inf), np.zeros((n, m, n))
    for s in range(n):
        for a in range(m):
            Q[s, a, a : a + shock + 1] = 1.0 / (shock + 1)
            if a <= s:
                R[s, a] = (s - a) ** alpha
    return R, Q, 0.9


def growth(points: int = 500) -> tuple[Array, Array, float, NDArray[np.int64], NDArray[np.int64], Array]:
    """Return the lecture's exercise, growth with log utility on a grid, by pairs, and its value without a grid."""
    alpha, beta = 0.65, 0.95
    grid = np.linspace(2e-6, 2.0, points)
    consumption = grid[:, None] ** alpha - grid[None, :]
    s, a = np.nonzero(consumption > 0)
    Q = np.zeros((s.size, points))
    Q[np.arange(s.size), a] = 1.0
    ab = alpha * beta
    level = (np.log(1 - ab) + np.log(ab) * ab / (1 - ab)) / (1 - beta)
    return np.log(consumption[s, a]), Q, beta, s, a, level + alpha / (1 - ab) * np.log(grid)


def savings(points: int = 60) -> tuple[Array, Array, float, Array, Array]:
    """Return the household of the lecture on Aiyagari's model: ``R``, ``Q``, ``beta``, assets and the chain of its
    income.
    """
    income, chain = np.array([0.1, 1.0]), np.array([[0.9, 0.1], [0.1, 0.9]])
    assets = np.linspace(1e-10, 18.0, points)
    consumption = 1.01 * assets[:, None, None] + income[:, None] - assets
    with np.errstate(invalid="ignore", divide="ignore"):
        R = np.where(consumption > 0, np.log(consumption), -np.inf)
    Q = np.zeros((points, 2, points, points, 2))
    for z in range(2):
        for a in range(points):
            Q[:, z, a, a, :] = chain[z]
    return R.reshape(2 * points, points), Q.reshape(2 * points, points, 2 * points), 0.96, assets, chain


def random_dp(rng: np.random.Generator, states: int, actions: int, *, shared: bool) -> tuple[Array, Array, float]:
    """Draw rewards, some impossible, and transitions, of which many are the same if ``shared``."""
    R = rng.normal(size=(states, actions)) * 10.0 ** rng.integers(-3, 4)
    R[rng.random(R.shape) < 0.3] = -np.inf
    R[np.arange(states), rng.integers(0, actions, states)] = rng.normal(size=states)
    count = int(rng.integers(1, states + 1)) if shared else states * actions
    rows = rng.random((count, states)) * (rng.random((count, states)) < 0.5)
    rows[np.arange(count), rng.integers(0, states, count)] += 0.1
    rows /= rows.sum(axis=1, keepdims=True)
    which = rng.integers(0, count, (states, actions)) if shared else np.arange(count).reshape(states, actions)
    return R, rows[which], float(rng.choice([0.0, 0.5, 0.95, 0.999]))
