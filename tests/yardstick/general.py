"""Problems of the general form: alternatives, regimes, costs, bounds, taste shocks, stopping, replacement, ages."""

from __future__ import annotations

from typing import Any

import numpy as np

import beltline as bl

from .simple import Array, Rng, crra, dense, grid_of, points_of, savings, sticky


def _tables(rng: Rng, X: Array, states: int) -> tuple[Array, Array]:
    """Return wealth with a kink, a jump or ties, and a cost that rises, turns or has no order; ``(N_k, N_z)`` each."""
    span, shape = X[-1], (X.size, states)
    wealth = 1.03 * X[:, None] + rng.uniform(0.1, 0.6, states) * span
    if rng.random() < 0.5:
        wealth = np.sort(rng.uniform(0.1, 1.3, shape), axis=0) * span
    kind = rng.integers(4)
    cost = X[:, None] * rng.uniform(0.3, 1.5, states)
    if kind == 1:
        debt = np.linspace(-span, span, X.size)[:, None]
        cost = debt * np.clip(rng.uniform(0.3, 1.5, states) + rng.uniform(0.0, 2.0) * debt / span, 0.0, 1.0)
    elif kind == 2:
        cost = X[:, None] - rng.uniform(0.5, 3.0, states) * np.sqrt(X[:, None] * span)
    elif kind == 3:
        cost = rng.normal(0.3, 0.4, shape) * span
    if rng.random() < 0.3:
        wealth, cost = (np.round(table / span * 12) / 12 * span for table in (wealth, cost))
    return wealth, cost


def _bounds(rng: Rng, points: int, states: int) -> dict[str, Any]:
    low, high = np.sort(np.sort(rng.integers(0, points, (2, points, states)), axis=0), axis=1)
    return [{}, {"low": low}, {"high": high}, {"low": low, "high": high}, {"choice": low}][rng.integers(5)]


def mixed(rng: Rng, number: int) -> bl.Problem:
    """Return a problem of up to three regimes with up to three alternatives each, with any tables."""
    points, states, regimes = points_of(rng, 2, 80), int(rng.integers(1, 5)), int(rng.integers(1, 4))
    X = grid_of(rng, "random", points, 10.0 ** rng.uniform(-1, 1)) + 1e-3
    eta = float(rng.choice([0.5, 1.0, 2.0, 3.7]))
    horizon = int(rng.integers(1, 5)) if number % 3 == 0 else None
    size = abs(float(crra(np.array(0.1 * X[-1]), eta))) or 1.0
    names, found = [f"regime {r}" for r in range(regimes)], []
    for r in range(regimes):
        for d in range(int(rng.integers(1, 4))):
            name = f"{r}.{d}"
            if d and rng.random() < 0.2:
                found.append(bl.Alternative(name=name, regime=names[r], value=rng.normal(0, size, (points, states))))
                continue
            wealth, cost = _tables(rng, X, states)
            bounds = _bounds(rng, points, states)
            if d == 0:
                # Every state can afford its dearest candidate.
                wealth = wealth + max(0.0, float((cost.max(axis=0) - wealth.min(axis=0)).max())) + 0.02 * X[-1]
            more: dict[str, Any] = {"transition": dense(rng, states), "beta": rng.uniform(0.3, 0.95, states)}
            if horizon is not None and rng.random() < 0.6:
                scale = rng.uniform(1.0, 1.3, (horizon, 1, 1))
                wealth, more["beta"] = wealth * scale, rng.uniform(0.3, 1.1, (horizon, states))
            leads = dict(zip(names, rng.dirichlet(np.ones(regimes)), strict=True))
            found.append(
                bl.Alternative(
                    name=name, regime=names[r], wealth=wealth, cost=cost, kappa=rng.normal(0.0, 0.2, states) * size,
                    leads_to=leads if rng.random() < 0.5 else str(rng.choice(names)), **bounds, **more,
                )
            )  # fmt: skip
    start = np.zeros((points, states))
    return bl.Problem(
        grid=X, wealth=np.ones((points, states)), transition=sticky(states, 0.8), start=start, beta=0.9, eta=eta,
        alternatives=found, taste=0.1 * size if number % 4 == 0 else 0.0, horizon=horizon,
    )  # fmt: skip


def linear(rng: Rng, number: int) -> bl.Problem:
    """Return a problem of a firm with utility that is linear in its dividend, which may be negative in every second."""
    points, states = points_of(rng, 10, 200), int(rng.integers(1, 6))
    X = grid_of(rng, "power", points, 5.0) + 0.1
    profit = np.exp(np.linspace(-0.3, 0.3, states)) * X[:, None] ** 0.6 + (0.9 * X[:, None])
    cost = X + 0.05 * X**2 if number % 3 else None
    return bl.Problem(
        grid=X, wealth=profit, transition=sticky(states, 0.85), start=np.zeros((points, states)),
        beta=float(rng.uniform(0.85, 0.96)), eta=0.0, negative=number % 2 == 0, cost=cost,
    )  # fmt: skip


def stopping(rng: Rng, number: int, points: int = 0) -> bl.Problem:
    """Return a problem of stopping: go on, which saves, or take a value once, which cannot be taken in some states."""
    problem_of = {"beta": float(rng.uniform(0.9, 0.97)), "eta": 2.0, "horizon": 6 if number % 4 == 3 else None}
    points, states = points or points_of(rng, 5, 200), int(rng.integers(1, 6))
    reward = -rng.uniform(8.0, 20.0) / (1.0 + 0.2 * np.arange(points)[:, None] / points) + np.zeros((points, states))
    if number % 3 == 1:
        reward[: points // 4] = -np.inf
    go = bl.Alternative(name="go on", kappa=rng.uniform(-0.2, 0.0, states))
    return savings(rng, points, states, alternatives=[go, bl.Alternative(name="stop", value=reward)], **problem_of)


def taste(rng: Rng, number: int, points: int = 0) -> bl.Problem:
    """Return a problem of working or not, with taste shocks of a scale from tiny to large."""
    points, states = points or points_of(rng, 5, 150), int(rng.integers(1, 5))
    scale = (0.01, 0.05, 0.2, 1.0)[number % 4]
    X = grid_of(rng, "power", points, 8.0)
    income = np.sort(rng.uniform(0.5, 1.5, states))
    work = bl.Alternative(name="work", wealth=1.02 * X[:, None] + income, kappa=-0.4)
    rest = bl.Alternative(name="rest", wealth=1.02 * X[:, None] + 0.3 + 0.0 * income)
    more: dict[str, Any] = {"horizon": 5} if number % 3 == 2 else {}
    return bl.Problem(
        grid=X, wealth=1.02 * X[:, None] + income, transition=sticky(states, 0.9), start=np.zeros((points, states)),
        beta=float(rng.uniform(0.9, 0.97)), eta=1.0, alternatives=[work, rest], taste=scale, **more,
    )  # fmt: skip


def replacement(rng: Rng, number: int) -> bl.Problem:
    """Return a problem of replacing a machine: its mileage rises by a step in each period, or starts again from 0."""
    points, states = points_of(rng, 10, 250), int(rng.integers(1, 4))
    X = np.arange(1.0, points + 1.0)
    earned = np.full((points, states), 50.0)
    wear = np.linspace(0.0, rng.uniform(5.0, 15.0), points)[:, None] + np.zeros(states)
    after = np.minimum(np.arange(points) + 1 + number % 2, points - 1)
    free = np.zeros((points, states))
    # Utility falls with mileage, which wealth must not: the cost of the next mileage brings it.
    keep = bl.Alternative(name="keep", wealth=earned, cost=wear, choice=after)
    new = bl.Alternative(name="replace", wealth=earned - rng.uniform(3.0, 10.0), cost=free, choice=0)
    return bl.Problem(
        grid=X, wealth=earned, transition=sticky(states, 0.8), start=free, beta=0.9 + 0.01 * number, eta=0.0,
        alternatives=[keep, new], taste=1.0 if number >= 5 else 0.0,
    )  # fmt: skip


def costs(rng: Rng, number: int, points: int = 0) -> bl.Problem:
    """Return a savings problem whose cost of ``x'`` is ``x'``, a price of .8 times it, convex, or by state."""
    points, states = points or points_of(rng, 5, 300), 3
    X = grid_of(rng, "uniform", points, 8.0)
    cost = [X, 0.8 * X, X + 0.02 * X**2, X[:, None] * np.array([0.9, 0.95, 1.0])][number % 4]
    wealth = X[:, None] + np.array([0.4, 0.8, 1.2])
    return bl.Problem(
        grid=X, wealth=wealth, transition=sticky(states, 0.8), start=np.zeros((points, states)),
        beta=0.94, eta=2.0, cost=cost, horizon=4 if number == 7 else None,
    )  # fmt: skip


def bounded(rng: Rng, number: int) -> bl.Problem:
    """Return a savings problem in which ``x'`` may fall or rise by a few grid points only, or by state of beta."""
    points, states = points_of(rng, 12, 250), 3
    at = np.arange(points)
    more: dict[str, Any] = {}
    if number % 3 != 1:
        more["low"] = np.maximum(at - 3, 0)
    if number % 3 != 0:
        more["high"] = np.minimum(at + 2, points - 1)
    return savings(rng, points, states, beta=0.94, **more) if number < 4 else _patient(rng, points, more)


def _patient(rng: Rng, points: int, more: dict[str, Any]) -> bl.Problem:
    X = grid_of(rng, "uniform", points, 8.0)
    wealth, beta = 1.02 * X[:, None] + np.array([0.5, 1.0, 1.5]), np.array([0.88, 0.92, 0.96])
    start = np.zeros((points, 3))
    return bl.Problem(grid=X, wealth=wealth, transition=sticky(3, 0.8), start=start, beta=beta, eta=1.0, **more)


def default(rng: Rng, number: int) -> bl.Problem:
    """Return a problem of debt: repay at a price that falls with debt, or be excluded for some time."""
    points, states = 2 * points_of(rng, 5, 50) + 1, int(rng.integers(2, 7))
    X = np.linspace(-0.4, 0.4, points)
    income = np.exp(np.linspace(-0.1, 0.1, states))
    price = np.clip(0.98 + 1.5 * np.minimum(X, 0.0)[:, None] * (1.2 - income), 0.0, 0.98)
    zero, Q = points // 2, sticky(states, 0.85)
    poor = np.minimum(income, 0.96) + np.zeros((points, 1))
    common: dict[str, Any] = {"choice": zero, "wealth": poor, "cost": np.zeros(points)}
    back = {"excluded": 0.8, "good": 0.2}
    alternatives = [
        bl.Alternative(name="repay", regime="good", wealth=X[:, None] + income, cost=price * X[:, None]),
        bl.Alternative(name="default", regime="good", leads_to=back, **common),
        bl.Alternative(name="wait", regime="excluded", leads_to=back, **common),
    ]
    return bl.Problem(
        grid=X, wealth=poor, transition=Q, start=np.zeros((points, states)), beta=0.9, eta=2.0,
        alternatives=alternatives, taste=0.01 if number >= 6 else 0.0,
    )  # fmt: skip


def wide(rng: Rng, number: int) -> bl.Problem:
    return (costs, stopping, taste)[number % 3](rng, number, (2048, 1024)[number % 2])


GENERAL = {
    "general": (28, mixed),
    "wide": (6, wide),
    "linear": (8, linear),
    "stopping": (10, stopping),
    "taste": (12, taste),
    "replacement": (8, replacement),
    "costs": (8, costs),
    "bounds": (6, bounded),
    "default": (8, default),
}
