"""Random problems of every form that :class:`~beltline.host.problem.problem.Problem` allows, to test guarantees.

``concave_problems.py`` draws problems whose objectives have a single local maximum. Here they may have
several: grids are uneven, wealth has kinks, jumps and flat pieces, constraints bind, the poorest can afford little,
amounts are in units from a millionth to a million, and first guesses are arbitrary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility

Array = NDArray[np.float64]

GRIDS = ("uniform", "polynomial", "logarithmic", "uneven", "clusters")
WEALTHS = ("savings", "growth", "floor", "increasing returns", "jumps", "random", "flat pieces")
STARTS = ("zero", "stay", "flat", "far", "steep", "kinked")
SIZES = (16, 32, 64, 128)
"""Sizes that are powers of two, which the assembly line needs."""


@dataclass(frozen=True)
class Drawn:
    """A problem, its seed, a description of what was drawn, and a tolerance that suits its units."""

    problem: Problem
    tol: float
    seed: int
    kinds: str


def _grid(rng: np.random.Generator, kind: str, points: int) -> Array:
    """Return a grid from a number near 0 to about 1 above it."""
    share = np.linspace(0.0, 1.0, points)
    if kind == "polynomial":
        share = share ** rng.uniform(1.5, 4.0)
    elif kind == "logarithmic":
        shift = 10.0 ** rng.uniform(-3.0, 0.0)
        share = np.expm1(share * math.log1p(1.0 / shift)) * shift
    elif kind == "uneven":
        share = np.concatenate([[0.0], np.cumsum(np.exp(rng.normal(0.0, rng.uniform(0.3, 2.0), points - 1)))])
    elif kind == "clusters":
        steps = np.full(points - 1, 1.0)
        steps[rng.integers(0, points - 1, max(1, points // 20))] = rng.uniform(10.0, 50.0)
        share = np.concatenate([[0.0], np.cumsum(steps)])
    share = share / share[-1]
    low = 0.0 if rng.random() < 0.5 else rng.uniform(-0.2, 0.5)
    return np.asarray(low + share)


def _wealth(rng: np.random.Generator, kind: str, X: Array, states: int, beta: float) -> Array:
    """Return cash on hand, ``(N_k, N_z)``, increasing in ``x``."""
    incomes = np.sort(np.exp(rng.normal(math.log(0.3), rng.uniform(0.05, 0.8), states)))
    interest = rng.uniform(0.5, 1.02) * (1.0 / beta - 1.0) if rng.random() < 0.8 else rng.uniform(-0.1, 0.1)
    W = (1.0 + interest) * X[:, None] + incomes
    up = X - X[0]
    if kind == "growth":
        W = (
            incomes * (up[:, None] + 10.0 ** rng.uniform(-3, -1)) ** rng.uniform(0.25, 0.7)
            + rng.uniform(0.5, 1.0) * (X[:, None])
        )
    elif kind == "floor":
        W = np.maximum(W, X[0] + rng.uniform(0.1, 1.2))
    elif kind == "increasing returns":
        kink = rng.uniform(0.1, 0.8)
        W = W + rng.uniform(0.05, 1.0) * np.maximum(up - kink, 0.0)[:, None]
    elif kind == "jumps":
        for _ in range(rng.integers(1, 4)):
            W = W + rng.uniform(0.02, 0.6) * (up >= rng.uniform(0.05, 0.95))[:, None]
    elif kind == "random":
        W = np.cumsum(rng.exponential(1.0, (X.size, states)) ** 2, axis=0)
        W = X[0] + rng.uniform(0.05, 0.5) + W / W[-1] * rng.uniform(0.7, 1.5)
    elif kind == "flat pieces":
        W = np.floor(W / 0.1) * 0.1
    # Cash on hand of the poorest above the lowest choice.
    least = 10.0 ** rng.uniform(-2.5, 0.0) if rng.random() < 0.3 else 0.1
    short = np.maximum(X[0] + least - W[0], 0.0)
    return np.asarray(np.maximum.accumulate(W + short, axis=0))


def _transition(rng: np.random.Generator, states: int) -> Array:
    kind = rng.choice(["identity", "sticky", "dense", "cycle"], p=[0.1, 0.4, 0.4, 0.1])
    dense = rng.dirichlet(np.ones(states), size=states)
    if kind == "identity":
        return np.eye(states)
    if kind == "sticky":
        stay = rng.uniform(0.7, 0.99)
        dense = stay * np.eye(states) + (1.0 - stay) * dense
    elif kind == "cycle":
        dense = np.roll(np.eye(states), 1, axis=1)
    return np.asarray(dense / dense.sum(axis=1, keepdims=True))


def _start(rng: np.random.Generator, kind: str, X: Array, W: Array, beta: float, eta: float, size: float) -> Array:
    if kind == "zero":
        return np.zeros(W.shape)
    if kind == "stay":
        # Utility of consuming everything above the lowest choice, linear between the ends: concave.
        ends = utility(W[[0, X.size // 2, -1]] - X[0], eta) / (1.0 - beta)
        ends = np.minimum.accumulate(np.sort(ends, axis=0)[::-1], axis=0)[::-1]
        line = ends[0] + (ends[-1] - ends[0]) * ((X - X[0]) / (X[-1] - X[0]))[:, None]
        return np.asarray(line)
    if kind == "flat":
        return np.full(W.shape, rng.uniform(-100.0, 100.0) * size)
    if kind == "far":
        return np.full(W.shape, rng.choice([-1.0, 1.0]) * size * 10.0 ** rng.uniform(3.0, 20.0))
    share = (X - X[0]) / (X[-1] - X[0])
    if kind == "steep":
        return np.asarray(np.tile((size * 10.0 ** rng.uniform(1.0, 5.0) * share)[:, None], (1, W.shape[1])))
    slopes = np.sort(rng.exponential(size, (X.size - 1, W.shape[1])), axis=0)[::-1]
    return np.concatenate([np.zeros((1, W.shape[1])), np.cumsum(slopes * np.diff(share)[:, None], axis=0)])


def random_problem(seed: int, points: int | None = None, horizon: bool | None = None) -> Drawn:
    """Draw the problem of a seed; the same version of NumPy draws the same problem.

    Parameters
    ----------
    seed
        Seed of NumPy's random generator.
    points
        ``N_k``; by default 12 to 128, a power of two in half of all draws, 128 to 300 in one of 16, and 1,024 to 1,300
        in one of 25.
    horizon
        Whether the problem has a finite horizon, of 2 to 12 ages; by default one in six draws has.
    """
    rng = np.random.default_rng(seed)
    while True:
        try:
            return _drawn(rng, seed, points, horizon)
        except ProblemError:
            # Rounding merged grid points: draw again.
            continue


def _drawn(rng: np.random.Generator, seed: int, points: int | None, horizon: bool | None) -> Drawn:
    large = rng.random() < 0.04
    low, high = (128, 300) if rng.random() < 1 / 16 else (12, 128)
    size = int(rng.choice(SIZES)) if rng.random() < 0.5 else int(np.exp(rng.uniform(np.log(low), np.log(high))))
    size = points if points is not None else int(rng.integers(1024, 1300)) if large else size
    states = int(rng.integers(1, 3 if size >= 1024 else 7))
    beta = 1.0 - float(np.exp(rng.uniform(np.log(0.005), np.log(0.5))))
    if size >= 1024:
        # Full search would take long.
        beta = min(beta, 0.9)
    eta = float(rng.choice([1.0, 2.0])) if rng.random() < 0.3 else float(np.exp(rng.uniform(np.log(0.2), np.log(10.0))))
    unit = 10.0 ** rng.uniform(-6.0, 6.0) if rng.random() < 0.6 else 1.0
    kinds = [str(rng.choice(known)) for known in (GRIDS, WEALTHS, STARTS)]
    X = _grid(rng, kinds[0], size)
    W = _wealth(rng, kinds[1], X, states, beta)
    X, W = unit * X, unit * W
    Q = _transition(rng, states)
    # Utility of a period in which half of median cash on hand is consumed.
    typical = float(np.median(np.abs(utility(0.5 * (W - X[0]), eta)))) + (1.0 if eta == 1.0 else 0.0)
    start = _start(rng, kinds[2], X, W, beta, eta, typical)
    ages = int(rng.integers(2, 13)) if (horizon if horizon is not None else rng.random() < 1 / 6) else None
    problem = Problem(
        grid=X, wealth=W, transition=Q, start=start, beta=beta, eta=eta, horizon=ages, name=f"random {seed}"
    )
    tol = typical * 10.0 ** rng.uniform(-9.0, -4.0)
    about = f"{size} x {states}, {', '.join(kinds)}, beta {beta:.4f}, eta {eta:.3g}, unit {unit:.2g}"
    return Drawn(problem, tol, seed, about if ages is None else f"{about}, {ages} ages")
