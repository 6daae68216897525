"""Discrete programs of QuantEcon's lectures as arrays, and their solution by brute force."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracle.bellman import pairs_solution

Array = NDArray[np.float64]


def by_brute_force(R: Array, Q: Array, beta: float) -> tuple[Array, NDArray[np.intp]]:
    """Return the oracle's value and policy of tables ``(n, m)`` and ``(n, m, n)``."""
    value = np.asarray(pairs_solution(R, Q, beta)[0], np.float64)
    return value, (R + beta * (Q @ value)).argmax(axis=1)


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
