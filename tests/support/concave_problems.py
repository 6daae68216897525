"""Random concave problems, for tests of any search that needs an objective with a single peak.

Every problem that :func:`random_problem` draws

- has the shapes, dtypes and conditions of :mod:`beltline.gpu_ref`: ``X`` positive and strictly increasing, no step more
  than twenty times another; ``W`` strictly increasing and concave in ``x``; ``Q`` stochastic; ``V0`` concave and
  non-decreasing in ``x``; ``beta`` in (0.5, 0.99); ``eta`` in [0.2, 10];
- has ``W[0, s] > X[0]``, so every state has a feasible choice. In about half of the problems there is an exogenous
  state whose lowest rows can afford only few candidates;
- has ``|V0| < 1e4`` and, at the best choice, ``|U| < 1e4`` (kind ``"ties"``: up to 2,000 points). There are also
  infeasible and barely feasible *candidates*, and the utility of the latter has no bound;
- has an objective with a single peak in every state of the first sweep, the one from ``V0``: strictly concave in ``x'``
  by a margin above rounding in ``float64`` (up to some hundreds of points), except for the exact ties of kind
  ``"ties"``. Later sweeps start from a computed ``V``, which on a coarse grid need not be concave.

There are two kinds. In ``"ties"``, every state that can afford two candidates or more and cannot afford the last has
two best neighbours of exactly equal objective, in ``float64`` and in any binary fixed point with a dozen fraction bits
or more, if utility is exact at powers of two. ``"general"`` are all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

import beltline as bl
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra_utility

ETAS = (0.2, 0.5, 1.0, 1.0, 1.5, 2.0, 2.0, 3.0, 5.0, 10.0)
"""Values for half of the draws of ``eta``; the rest are log-uniform on [0.2, 10]. Solvers have special code for 1 and
2.
"""


@dataclass(frozen=True)
class RandomProblem:
    """A table problem; shapes and units as in :mod:`beltline.gpu_ref`.

    ``X, W, Q, V0, beta, eta`` are in the order in which sweeps take them: ``sweep(*problem.arguments)``.
    """

    X: Array
    W: Array
    Q: Array
    V0: Array
    beta: float
    eta: float
    kind: str

    @property
    def arguments(self) -> tuple[Array, Array, Array, Array, float, float]:
        """``(X, W, Q, V0, beta, eta)``."""
        return self.X, self.W, self.Q, self.V0, self.beta, self.eta


def headline(grid: int = 65_536, states: int = 4) -> RandomProblem:
    """Return the RBC problem of Aldrich et al. (2011) as tables."""
    p = bl.rbc(grid=grid, states=states)
    return RandomProblem(p.grid, p.wealth, p.transition, p.start, p.beta, p.eta, "headline")


def _transition(rng: np.random.Generator, states: int) -> Array:
    """Draw a transition matrix: identity, sticky, dense or sparse."""
    kind = rng.choice(["identity", "sticky", "dense", "sparse"], p=[0.1, 0.3, 0.4, 0.2])
    identity = np.eye(states)
    if kind == "identity" or states == 1:
        return identity
    dense = rng.dirichlet(np.ones(states), size=states)
    if kind == "dense":
        return dense
    if kind == "sticky":
        stay = rng.uniform(0.8, 0.999)
        return stay * identity + (1.0 - stay) * dense
    dense[rng.random(dense.shape) < 0.5] = 0.0
    dense += 0.1 * np.roll(identity, 1, axis=1)
    sparse: Array = dense / dense.sum(axis=1, keepdims=True)
    return sparse


def _grid(rng: np.random.Generator, grid: int) -> Array:
    """Draw a grid: uniform, polynomial, or with random steps."""
    low = rng.uniform(0.1, 2.0)
    length = rng.uniform(1.0, 3.0)
    kind = rng.choice(["uniform", "polynomial", "random"], p=[0.4, 0.3, 0.3])
    steps = np.ones(grid - 1)
    if kind == "polynomial":
        steps = np.diff(np.linspace(0.0, 1.0, grid) ** rng.uniform(1.2, 3.0))
    elif kind == "random":
        steps = rng.uniform(0.1, 1.0, grid - 1)
    # The margin of concavity falls with the square of the step.
    steps = np.clip(steps / steps.mean(), 0.1, 2.0)
    return low + length * np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()


def _general(rng: np.random.Generator, grid: int, states: int) -> RandomProblem:
    """Draw a problem of kind ``"general"``."""
    eta = float(rng.choice(ETAS)) if rng.random() < 0.5 else float(np.exp(rng.uniform(np.log(0.2), np.log(10.0))))
    if abs(eta - 1.0) < 0.01:
        # So near to 1, utility is nearly a constant, which is larger than the bound below.
        eta = 1.0
    beta = float(rng.uniform(0.5, 0.99))
    X = _grid(rng, grid)
    length = X[-1] - X[0]
    t = (X - X[0]) / length

    # A floor on consumption bounds |U| at the smallest consumption and, through it, the curvature at the largest.
    floor = 0.02 if eta <= 1.0 else max(0.02, (500.0 * (eta - 1.0)) ** (-1.0 / (eta - 1.0)))
    start = rng.uniform(floor, max(1.0, 2.0 * floor), states)
    if rng.random() < 0.5:
        start[rng.integers(states)] = floor * rng.uniform(1.0, 1.2)
    W = np.empty((grid, states))
    for s in range(states):
        power = rng.uniform(0.3, 0.9)
        shift = rng.uniform(0.01, 0.5)
        curved = ((t + shift) ** power - shift**power) / ((1.0 + shift) ** power - shift**power)
        share = rng.uniform(0.0, 0.9)
        gain = length * rng.uniform(0.6, 1.2)
        W[:, s] = X[0] + start[s] + gain * (share * curved + (1.0 - share) * t)

    V0 = np.empty((grid, states))
    kind = rng.choice(["flat", "smooth", "kinked"], p=[0.2, 0.5, 0.3])
    for s in range(states):
        if kind == "flat":
            V0[:, s] = rng.uniform(-10.0, 10.0)
        elif kind == "smooth":
            consumption = max(0.5, floor) + rng.uniform(0.0, 1.0) + rng.uniform(0.1, 1.0) * (X - X[0])
            V0[:, s] = rng.uniform(1.0, min(10.0, 1.0 / (1.0 - beta))) * crra_utility(consumption, eta)
        else:
            slopes = np.sort(rng.uniform(0.0, 2.0 * rng.uniform(0.5, 1.0) ** -eta, grid - 1))[::-1]
            V0[:, s] = rng.uniform(-10.0, 10.0) + np.concatenate([[0.0], np.cumsum(slopes * np.diff(X))])
    return RandomProblem(X, W, _transition(rng, states), V0, beta, eta, "general")


def _ties(rng: np.random.Generator, grid: int, states: int) -> RandomProblem:
    # With eta = 3, U(2u) - U(u) = 3/8 u^-2, which is beta times a value step of u^-2 / 2 at beta = 3/4: the candidates
    # that leave u and 2u tie. All numbers are multiples of powers of two, so nothing rounds.
    """Draw a problem of kind ``"ties"``."""
    unit = 2.0 ** rng.integers(-1, 2)
    X = unit * (rng.integers(1, 9) + np.arange(grid))
    W = X[:, None] + unit * rng.integers(1, 4, states)
    V0 = (np.arange(grid)[:, None] + rng.integers(-8, 9, states)) / (2.0 * unit**2)
    Q = np.eye(states)
    if states > 1 and rng.random() < 0.7:
        Q = 0.5 * Q + 0.25 * np.roll(np.eye(states), 1, axis=1) + 0.25 * np.roll(np.eye(states), 1, axis=0)
    return RandomProblem(X, W, Q, V0, 0.75, 3.0, "ties")


def random_problem(
    rng: np.random.Generator,
    grid: int | None = None,
    states: int | None = None,
    kind: Literal["general", "ties"] | None = None,
) -> RandomProblem:
    """Draw a concave problem with the properties listed in the module's docstring.

    By default ``grid`` is from 3 to 200, mostly no power of two, ``states`` from 1 to 8, and one of eight draws is of
    kind ``"ties"``. The same state of ``rng`` and the same NumPy version give the same problem.
    """
    grid = int(rng.integers(3, 201)) if grid is None else grid
    states = int(rng.integers(1, 9)) if states is None else states
    if kind is None:
        kind = "ties" if rng.random() < 0.125 else "general"
    return (_general if kind == "general" else _ties)(rng, grid, states)
