"""Coarse interpolation: full search over a few equidistant choices, with ``V`` interpolated linearly.

Source: Aldrich, Fernandez-Villaverde, Gallant and Rubio-Ramirez (2011), whose tables have 100 and 1,000 choices.
Choices may lie between grid points, so the fixed point is not that of the table problem.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.gpu_ref.methods import Solution
from beltline.gpu_ref.published import iteration
from beltline.gpu_ref.published.grid_search import search
from beltline.gpu_ref.tables import Array, expectation


def candidates(X: ArrayLike, count: int) -> Array:
    """Return ``count`` equidistant choices from the lowest to the highest point of the grid ``X``, ``(count,)``."""
    grid = np.asarray(X, dtype=np.float64)
    return np.linspace(grid[0], grid[-1], count)


def nearest(grid: Array, choices: Array) -> NDArray[np.int32]:
    """Return the index of the grid point nearest to each choice, the lower one of two."""
    right = np.clip(np.searchsorted(grid, choices), 1, grid.size - 1)
    return (right - (choices - grid[right - 1] <= grid[right] - choices)).astype(np.int32)


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    choices: int = 1000,
) -> Solution:
    """Solve by full search over ``choices``, from 2, equidistant choices in every sweep.

    Arguments and errors as for :func:`beltline.gpu_ref.published.iteration.solve`. The policy refers to
    :func:`candidates`; the error, against the solution on the grid, has no bound.
    """
    if choices < 2:
        raise ValueError(f"choices must be a whole number from 2, not {choices}")
    among, states = candidates(X, choices), np.arange(np.size(W))

    def searched(X: Array, W: Array, Q: Array, V: Array, beta: float, eta: float) -> tuple[Array, NDArray[np.int32]]:
        ev = np.stack([np.interp(among, X, one) for one in expectation(Q, V, beta)])
        value, policy = np.empty(W.shape), np.empty(W.shape, np.int32)
        search(among, W, ev, eta, states, value.reshape(-1), policy.reshape(-1))
        return value, policy

    found = iteration.solve(X, W, Q, V0, beta, eta, epsilon, max_sweeps, searched)
    return replace(found, error_bound=math.inf)
