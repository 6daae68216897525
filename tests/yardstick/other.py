"""Discrete programs, and models with tiny grids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import beltline as bl

from .simple import Array, Rng, dense, points_of, sticky


@dataclass(frozen=True, eq=False)
class Pairs:
    """A discrete program as dense arrays, beside the ``problem`` made of them.

    ``reward`` is ``(n, m)``, ``-inf`` where an action cannot be taken; ``chances`` ``(n, m, n)``.
    """

    problem: Any
    reward: Array
    chances: Array
    beta: float


def product(rng: Rng, number: int) -> Pairs:
    """Return a program of any rewards and transitions, with ties in every third and one action in some states."""
    n, m, beta = points_of(rng, 2, 60), int(rng.integers(1, 9)), float(rng.choice([0.5, 0.9, 0.95, 0.99]))
    R = rng.normal(0.0, 1.0, (n, m))
    if number % 3 == 0:
        R = np.round(R)
    R[:, 1:][rng.random((n, m - 1)) < 0.2] = -np.inf
    Q = np.stack([dense(rng, n) for _ in range(m)], axis=1)
    if number % 2 == 0:
        return Pairs(bl.from_discrete_dp(R, Q, beta), R, Q, beta)
    s, a = np.nonzero(R > -np.inf)
    return Pairs(bl.from_discrete_dp(R[s, a], Q[s, a], beta, s, a), R, Q, beta)


def factors(rng: Rng, number: int) -> Pairs:
    """Return a savings problem as a program whose action is the next asset, or the step to it."""
    n, z, beta = points_of(rng, 4, 60), int(rng.integers(1, 4)), 0.95
    X, income, P = np.linspace(0.0, 6.0, n), np.linspace(0.6, 1.4, z), sticky(z, 0.8)
    k, s, a = np.indices((n, z, n))
    following = a if number % 2 == 0 else np.minimum(k + a, n - 1)
    c = 1.02 * X[k] + income[s] - X[following]
    R = np.where(c > 0.0, -1.0 / np.where(c > 0.0, c, 1.0), -np.inf)
    Q = (np.eye(n)[following][..., None] * P[s][..., None, :]).reshape(n * z, n, n * z)
    more = {} if number % 2 == 0 else {"endog_next": following}
    return Pairs(bl.from_factors(n, P, reward=R, beta=beta, **more), R.reshape(n * z, n), Q, beta)


MODELS: tuple[Any, ...] = (
    lambda: bl.rbc(grid=64),
    lambda: bl.rbc(grid=500, states=7, eta=1.0),
    lambda: bl.life_cycle(grid=60, states=5, ages=6),
    lambda: bl.aiyagari(grid=400, states=3),
    lambda: bl.aiyagari_types(grid=80, states=3, types=2),
    lambda: bl.aiyagari_path(grid=60, states=3, periods=40),
    lambda: bl.arellano(bonds=41, incomes=9),
    lambda: bl.hopenhayn_rogerson(grid=50, states=6),
    lambda: bl.hopenhayn_rogerson(grid=40, states=5, tau=0.2),
    lambda: bl.retirement(grid=200, ages=6),
    lambda: bl.retirement(grid=120, ages=5, taste=0.1),
    lambda: bl.lumpy_investment(steps=2, states=5),
    lambda: bl.lumpy_investment(steps=2, states=3, convex=0.1),
    lambda: bl.cohort(grid=50, states=3),
)

OTHER = {
    "discrete": (14, product),
    "factors": (6, factors),
    "model": (len(MODELS), lambda rng, number: MODELS[number]()),
}
