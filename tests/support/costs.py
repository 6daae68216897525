"""Problems with a cost of every choice, some of which are dominated."""

from __future__ import annotations

import numpy as np

from beltline.host.problem.problem import Problem

SHAPES = ("laffer", "kink", "jumps", "random", "rising")


def with_cost(shape: str, seed: int = 0, points: int = 90, states: int = 3, horizon: int | None = None) -> Problem:
    """Return a problem of saving or borrowing with a cost of the given shape.

    ``"laffer"``: bonds whose price falls with debt, so that selling more can raise less. ``"kink"``: a tax on saving, a
    subsidy of borrowing. ``"jumps"``: fees and discounts of some choices. ``"random"``: random costs that mostly
    rise. ``"rising"``: no candidate is dominated.
    """
    rng = np.random.default_rng(seed)
    grid = np.linspace(-2.0, 6.0, points)
    if shape == "laffer":
        grid = np.linspace(-3.0, 0.0, points)
    wealth = 3.2 + grid[:, None] + np.sort(rng.uniform(0.2, 1.2, states))
    if seed % 2:
        # In addition, wealth has convex kinks and jumps.
        wealth = np.maximum(wealth, rng.uniform(1.0, 2.5)) + 0.3 * (grid > rng.uniform(0.0, 2.0))[:, None]
    if shape == "laffer":
        price = 0.97 / (1.0 + np.exp(-rng.uniform(3.0, 9.0) * (grid[:, None] + np.linspace(1.0, 2.0, states))))
        cost = price * grid[:, None]
    elif shape == "kink":
        cost = grid * np.where(grid > rng.uniform(0.5, 3.0), rng.uniform(1.0, 1.6), rng.uniform(0.7, 1.0))
    elif shape == "jumps":
        cost = grid[:, None] + rng.uniform(-0.6, 0.6, (8, states))[np.arange(points) * 8 // points]
    elif shape == "random":
        cost = np.sort(rng.uniform(-2.0, 6.0, (points, states)), axis=0) + rng.normal(0.0, 0.4, (points, states))
    else:
        cost = np.sort(rng.uniform(-2.0, 4.0, (points, states)), axis=0)
    chain = np.full((states, states), 0.2 / states) + 0.8 * np.eye(states)
    return Problem(
        grid=grid, wealth=wealth, transition=chain, start=np.zeros((points, states)), beta=0.93,
        eta=(2.0, 1.0, 0.5, 3.5)[seed % 4], cost=cost, horizon=horizon, name=f"{shape} {seed}",
    )  # fmt: skip
