"""Savings problems whose objectives have several peaks, and full search in fixed point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import Image
from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.arithmetic.utility import UtilityParameters

KINDS = ("uneven", "floor", "increasing returns", "jumps", "fixed cost")


def savings(kind: str, seed: int = 0, points: int = 90, states: int = 3) -> Problem:
    """Return savings at 3 % interest, with a feature that gives objectives several peaks."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0.0, 20.0, points)
    if kind == "uneven":
        grid = np.append(0.0, rng.exponential(size=points - 1).cumsum())
        grid *= 20.0 / grid[-1]
    wealth = 1.03 * grid[:, None] + np.sort(rng.uniform(0.4, 1.6, states))
    if kind == "floor":
        wealth = np.maximum(wealth, rng.uniform(2.0, 4.0))
    elif kind == "increasing returns":
        wealth = wealth + 0.05 * np.maximum(grid - rng.uniform(4.0, 12.0), 0.0)[:, None] ** 1.3
    elif kind == "jumps":
        steps = rng.random((8, states)).cumsum(axis=0)
        wealth = wealth + steps[np.searchsorted(np.linspace(0.0, 20.0, 9)[1:-1], grid)]
    elif kind == "fixed cost":
        # Paying a fixed cost gives a better return: the upper envelope of two lines.
        wealth = np.maximum(wealth, 1.12 * grid[:, None] - rng.uniform(0.5, 1.0))
    chain = np.full((states, states), 0.2 / states) + 0.8 * np.eye(states)
    return Problem(grid=grid, wealth=wealth, transition=chain, start=np.zeros(wealth.shape), beta=0.95, eta=2.0)


class Found(NamedTuple):
    """The lowest best candidate of every state, its objective, and how far below that a policy's is, in units."""

    choices: NDArray[np.int64]
    best: NDArray[np.int64]
    short: NDArray[np.int64]


class FullSearch:
    """All candidates of every state, in the fixed point of an image whose objectives are int64."""

    def __init__(self, image: Image) -> None:
        points, states = image.wealth.shape
        self.image = image
        self.u = np.empty((points, states, points), np.int64)
        self.feasible = np.empty(self.u.shape, np.bool_)
        for x, s in np.ndindex(points, states):
            costs = image.grid if image.grid.ndim == 1 else image.grid[:, s]
            unit = UtilityParameters().model(image.wealth[x, s] - costs, image.constants)
            self.u[x, s], self.feasible[x, s], over = unit
            assert not over.any()
        assert self.feasible[..., 0].all()
        # An infeasible candidate gets a value low enough to lose whose sums still fit an int64.
        self.u[~self.feasible] = -(2**62)
        self.u = np.maximum(self.u, -(2**62))

    def __call__(self, value: NDArray[np.int64], policy: NDArray[np.int64]) -> Found:
        """Return the sweep from ``value``, with the objectives of ``policy`` for comparison; both are int64, ``(N_k,
        N_z)``.
        """
        ev, saturated = ExpectationParameters(value.shape[1]).model(value, self.image.transition)
        assert not saturated
        assert np.abs(ev).max() < 2**62
        objectives = self.u + ev.T
        choices = objectives.argmax(axis=2)
        best, of_policy = (np.take_along_axis(objectives, c[..., None], 2)[..., 0] for c in (choices, policy))
        return Found(choices, best, best - of_policy)
