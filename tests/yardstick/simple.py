"""Problems of the simple form: growth, savings, uneven grids, kinks, chains, patience, starts, horizons."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import beltline as bl

Array = NDArray[np.float64]
Rng = np.random.Generator


def points_of(rng: Rng, low: int = 2, high: int = 300) -> int:
    return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))


def sticky(states: int, stay: float) -> Array:
    """Return a chain that keeps its state with probability ``stay``, and else moves to any other."""
    if states == 1:
        return np.eye(1)
    return np.full((states, states), (1.0 - stay) / (states - 1)) + np.eye(states) * (
        stay - (1.0 - stay) / (states - 1)
    )


def dense(rng: Rng, states: int) -> Array:
    found: Array = rng.dirichlet(np.ones(states), states)
    return found / found.sum(axis=1, keepdims=True)


def crra(c: Array, eta: float) -> Array:
    with np.errstate(all="ignore"):
        found = np.log(c) if eta == 1.0 else c ** (1.0 - eta) / (1.0 - eta)
    return np.asarray(np.where(c > 0.0, found, -np.inf))


def grid_of(rng: Rng, kind: str, points: int, span: float) -> Array:
    share = np.linspace(0.0, 1.0, points)
    if kind == "power":
        share = share ** rng.uniform(1.5, 4.0)
    elif kind == "log":
        shift = 10.0 ** rng.uniform(-2.5, 0.0)
        share = shift * np.expm1(share * np.log1p(1.0 / shift))
    elif kind in ("random", "clusters"):
        steps = np.exp(rng.normal(0.0, 1.2, points - 1))
        if kind == "clusters":
            steps = np.where(rng.random(points - 1) < 0.1, 30.0, 1.0)
        share = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(span * share / share[-1])


def bent(rng: Rng, kind: str, wealth: Array, X: Array) -> Array:
    """Return ``wealth`` with a kink, jumps, flat pieces, a floor, or in place of it random steps."""
    span = X[-1] - X[0]
    if kind == "kink":
        wealth = wealth + rng.uniform(0.1, 1.0) * np.maximum(X - X[0] - rng.uniform(0.1, 0.8) * span, 0.0)[:, None]
    elif kind == "jumps":
        for _ in range(3):
            wealth = wealth + rng.uniform(0.02, 0.3) * span * (X - X[0] > rng.uniform(0.05, 0.95) * span)[:, None]
    elif kind == "flat":
        wealth = np.floor(wealth / (0.05 * span)) * 0.05 * span
    elif kind == "floor":
        wealth = np.maximum(wealth, X[0] + rng.uniform(0.1, 0.6) * span)
    elif kind == "random":
        wealth = X[0] + 0.05 * span + np.sort(rng.uniform(0.0, 1.2, wealth.shape), axis=0) * span
    return np.asarray(wealth + np.maximum(X[0] + 0.02 * span - wealth[0], 0.0))


def growth(rng: Rng, points: int, states: int, **more: Any) -> bl.Problem:
    """Return a growth model around its steady state."""
    alpha, delta, beta = rng.uniform(0.3, 0.4), rng.uniform(0.01, 0.1), rng.uniform(0.95, 0.99)
    z = np.exp(np.linspace(-0.05, 0.05, states)) if states > 1 else np.ones(1)
    k = (alpha / (1.0 / beta - 1.0 + delta)) ** (1.0 / (1.0 - alpha))
    X = np.linspace(0.7 * k, 1.3 * k, points)
    wealth = z * X[:, None] ** alpha + (1.0 - delta) * X[:, None]
    Q, start, eta = sticky(states, rng.uniform(0.5, 0.97)), np.zeros((points, states)), float(rng.choice([1.0, 2.0]))
    return bl.Problem(**{"grid": X, "wealth": wealth, "transition": Q, "start": start, "beta": beta, "eta": eta} | more)


def savings(
    rng: Rng,
    points: int,
    states: int,
    grid: str = "uniform",
    bend: str = "none",
    start: str = "zero",
    **more: Any,
) -> bl.Problem:
    """Return a savings problem with an income that follows a chain; ``more`` are arguments of ``bl.Problem``."""
    beta = more.setdefault("beta", float(rng.uniform(0.9, 0.97)))
    eta = more.setdefault("eta", float(rng.choice([1.0, 2.0, 3.0])))
    X = grid_of(rng, grid, points, rng.uniform(2.0, 15.0))
    income = np.sort(rng.uniform(0.3, 1.5, states))
    wealth = bent(rng, bend, (1.0 + rng.uniform(0.3, 1.0) * (1.0 / beta - 1.0) * 0.8) * X[:, None] + income, X)
    share = (X / X[-1])[:, None]
    first = {
        "zero": np.zeros((points, states)),
        "stay": crra(np.maximum(wealth - X[:, None], 0.05), eta) / (1.0 - min(beta, 0.999)),
        "far": np.full((points, states), -1e6),
        "steep": 1e3 * share + np.zeros(states),
        "kinked": np.minimum(share, 0.4) + 0.1 * np.arange(states),
        "waves": np.sin(9.0 * share) + np.zeros(states),
    }[start]
    more.setdefault("transition", sticky(states, 0.8))
    return bl.Problem(grid=X, wealth=wealth, start=first, **more)


def life(rng: Rng, points: int, states: int) -> bl.Problem:
    """Return a life cycle whose income and chain depend on age."""
    ages = int(rng.integers(3, 9))
    X = grid_of(rng, "power", points, 10.0)
    income = np.sort(rng.uniform(0.4, 1.2, states)) * (1.0 + np.sin(np.linspace(0.0, 3.0, ages)))[:, None]
    wealth = 1.03 * X[:, None] + income[:, None, :]
    Q = np.stack([sticky(states, p) for p in rng.uniform(0.5, 0.95, ages)])
    beta = rng.uniform(0.85, 1.02, (ages, states))
    start = np.zeros((points, states))
    return bl.Problem(grid=X, wealth=wealth, transition=Q, start=start, beta=beta, eta=2.0, horizon=ages)


ETAS = (0.2, 0.5, 1.0, 1.5, 2.0, 3.7, 6.0, 10.0)
BENDS = ("kink", "jumps", "flat", "floor", "random")
STARTS = ("stay", "far", "steep", "kinked", "waves")
GRIDS = ("power", "log", "random", "clusters")


def tight(rng: Rng, number: int) -> bl.Problem:
    """Return a problem in which most candidates cannot be afforded: staying cannot, or barely can."""
    points, states = points_of(rng, 5, 150), 2
    X = np.linspace(1.0, 4.0, points)
    wealth = 1.0 + np.array([1e-3, 0.3]) + (0.2 + 0.1 * number) * (X[:, None] - 1.0)
    Q, start = sticky(states, 0.9), np.zeros((points, states))
    return bl.Problem(grid=X, wealth=wealth, transition=Q, start=start, beta=0.9, eta=ETAS[number % 6])


def large(rng: Rng, number: int) -> bl.Problem:
    if number < 2:
        return growth(rng, (4096, 1024)[number], (4, 9)[number])
    points, states, bend = ((4096, 4, "none"), (2048, 2, "jumps"), (2048, 3, "kink"), (1025, 16, "none"))[number - 2]
    return savings(rng, points, states, bend=bend)


SIMPLE = {
    "rbc": (14, lambda rng, i: growth(rng, points_of(rng, 8, 500), int(rng.integers(1, 8)))),
    "savings": (22, lambda rng, i: savings(rng, points_of(rng, 2, 400), int(rng.integers(1, 8)))),
    "uneven": (16, lambda rng, i: savings(rng, points_of(rng, 5), 3, grid=GRIDS[i % 4])),
    "eta": (16, lambda rng, i: savings(rng, points_of(rng, 10, 200), 3, eta=ETAS[i % 8])),
    "kinks": (24, lambda rng, i: savings(rng, points_of(rng, 10), 2, bend=BENDS[i % 5])),
    "chain": (16, lambda rng, i: _chain(rng, i)),
    "patience": (12, lambda rng, i: _patience(rng, i)),
    "start": (12, lambda rng, i: savings(rng, points_of(rng, 10), 3, start=STARTS[i % 5], grid=GRIDS[i % 4])),
    "tight": (8, tight),
    "large": (6, large),
    "horizon": (16, lambda rng, i: _horizon(rng, i)),
    "life": (10, lambda rng, i: life(rng, points_of(rng, 5, 150), int(rng.integers(1, 5)))),
}
"""Kinds of problems: how many there are, and how to draw number ``i``."""


def _chain(rng: Rng, number: int) -> bl.Problem:
    if number >= 8:
        return savings(rng, points_of(rng, 10, 120), 16, transition=dense(rng, 16))
    states = int(rng.integers(2, 6))
    stay = (1.0 / states, 0.3, 0.6, 0.9, 0.95, 0.98, 0.99, 0.999)[number]
    return savings(rng, points_of(rng, 10), states, transition=sticky(states, stay))


def _patience(rng: Rng, number: int) -> bl.Problem:
    beta = (0.5, 0.6, 0.7, 0.8, 0.98, 0.985, 0.99, 0.993, 0.995, 0.997, 0.998, 0.999)[number]
    return savings(rng, points_of(rng, 10, 200), 3, beta=beta, grid=("uniform", "power")[number % 2])


def _horizon(rng: Rng, number: int) -> bl.Problem:
    ages = int(rng.integers(1, 12))
    bend, start = ("none", *BENDS)[number % 6], ("zero", *STARTS)[number % 4]
    return savings(rng, points_of(rng, 5, 150), int(rng.integers(1, 5)), bend=bend, start=start, horizon=ages)
