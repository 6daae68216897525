"""Kinds of problems that are harder than those of the yardstick: units, penalties, patience, holes, exits."""

from __future__ import annotations

from typing import Any

import numpy as np
from yardstick.other import Pairs, product
from yardstick.simple import Rng, dense, grid_of, points_of, sticky

import beltline as bl
from support.random_problems import random_problem


def units(rng: Rng, number: int) -> bl.Problem:
    """Return a problem in any unit, from any start, with several peaks."""
    return random_problem(int(rng.integers(2**31))).problem


def stops(rng: Rng, number: int) -> bl.Problem:
    """Return a problem of linear utility with regimes that lead to each other, exits of any size, and much patience."""
    points, states, regimes = int(rng.integers(2, 12)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    X = grid_of(rng, "random", points, 4.0)
    beta = 1.0 - 10.0 ** rng.uniform(-6.0, -0.5)
    size = 10.0 ** rng.uniform(0.0, 6.0)
    names, found = [f"regime {r}" for r in range(regimes)], []
    for r in range(regimes):
        for d in range(int(rng.integers(1, 4))):
            name = f"{r}.{d}"
            if d and rng.random() < 0.4:
                value = rng.normal(0.0, size, (points, states))
                value[rng.random(value.shape) < 0.2] = -np.inf
                found.append(bl.Alternative(name=name, regime=names[r], value=value))
                continue
            leads = dict(zip(names, rng.dirichlet(np.ones(regimes)), strict=True))
            wealth = rng.uniform(1.0, 6.0, (points, states))
            chain = dense(rng, states) if rng.random() < 0.5 else sticky(states, 0.97)
            found.append(
                bl.Alternative(name=name, regime=names[r], wealth=wealth, cost=X, leads_to=leads, transition=chain)
            )
    return bl.Problem(
        grid=X, wealth=np.ones((points, states)), transition=sticky(states, 0.8), beta=beta, eta=0.0,
        negative=True, alternatives=found,
    )  # fmt: skip


def penalties(rng: Rng, number: int) -> bl.Problem:
    """Return a savings problem in which some points have an alternative or an income that is almost prohibitive."""
    points, states = points_of(rng, 4, 60), int(rng.integers(1, 4))
    X = grid_of(rng, ("uniform", "power", "random")[number % 3], points, 8.0)
    wealth = 1.03 * X[:, None] + np.sort(rng.uniform(0.3, 1.5, states))
    eta = float(rng.choice([0.5, 1.0, 2.0, 5.0]))
    if rng.random() < 0.5:
        # The poorest can hardly consume.
        wealth[0, 0] = X[0] + 10.0 ** rng.uniform(-6.0, -1.0)
    value = np.full((points, states), -(10.0 ** rng.uniform(2.0, 15.0)))
    value[rng.random(value.shape) < 0.5] = -rng.uniform(1.0, 30.0)
    more: dict[str, Any] = {}
    if rng.random() < 0.7:
        more["alternatives"] = [bl.Alternative(name="go on"), bl.Alternative(name="leave", value=value)]
    if rng.random() < 0.3:
        more["horizon"] = int(rng.integers(1, 6))
    return bl.Problem(
        grid=X, wealth=np.maximum.accumulate(wealth), transition=dense(rng, states), eta=eta,
        beta=1.0 - 10.0 ** rng.uniform(-4.0, -0.5), **more,
    )  # fmt: skip


def hard_pairs(rng: Rng, number: int) -> Pairs:
    """Return a discrete program with penalties of any size, states that are never left, and much patience."""
    given = product(rng, number)
    R, Q, beta = given.reward.copy(), given.chances.copy(), 1.0 - 10.0 ** rng.uniform(-7.0, -0.3)
    hit = (rng.random(R.shape) < 0.15) & (R > -np.inf)
    R[hit] *= 10.0 ** rng.uniform(0.0, 12.0, hit.sum())
    n = len(R)
    for hole in rng.permutation(n)[: int(rng.integers(0, max(2, n // 4)))]:
        Q[hole] = np.eye(n)[hole]
    for state in range(n):
        if rng.random() < 0.3:
            Q[state] = np.eye(n)[rng.integers(0, n, R.shape[1])]
    return Pairs(bl.from_discrete_dp(R, Q, beta), R, Q, beta)


DRAWN: dict[str, tuple[int, Any]] = {
    "units": (1_000_000, units),
    "stops": (1_000_000, stops),
    "penalties": (1_000_000, penalties),
    "hard pairs": (1_000_000, hard_pairs),
}
