"""CRRA utility in double precision, and what it says about the shape of the objective."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def utility(consumption: ArrayLike, eta: float) -> NDArray[np.float64]:
    """Return ``c**(1 - eta) / (1 - eta)``, or ``ln c`` at ``eta = 1``; minus infinity where ``c <= 0``."""
    c = np.asarray(consumption, dtype=np.float64)
    positive = np.where(c > 0, c, 1.0)
    with np.errstate(over="ignore"):
        u = np.log(positive) if eta == 1 else positive ** (1 - eta) / (1 - eta)
    return np.where(c > 0, u, -np.inf)


def marginal_utility(consumption: ArrayLike, eta: float) -> NDArray[np.float64]:
    """Return ``c**-eta``; infinity where ``c <= 0``."""
    c = np.asarray(consumption, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.where(c > 0, np.where(c > 0, c, 1.0) ** -eta, np.inf)


def slope_fall(grid: NDArray[np.float64], richest: float, eta: float) -> NDArray[np.float64]:
    """Return how far the slope of ``U(W - x')`` falls at least from one grid interval to the next, for every ``W``.

    Parameters
    ----------
    grid : (N_k,) array
    richest
        The largest ``W``.
    eta

    Returns
    -------
    (N_k - 2,) array
        Entry ``j`` is about grid points ``j``, ``j + 1`` and ``j + 2``: the second divided difference is half of
        ``U''`` somewhere between them, and ``|U''(c)| = eta c**(-eta - 1)`` is smallest at the largest consumption,
        ``richest - grid[j]``, because ``U''' > 0``. Infinity where nobody can afford all three.
    """
    steps = np.diff(grid)
    consumption = richest - grid[:-2]
    affordable = grid[2:] < richest
    with np.errstate(over="ignore"):
        bend = eta * np.where(affordable, consumption, 1.0) ** (-eta - 1)
        return np.where(affordable, bend * (steps[:-1] + steps[1:]) / 2, np.inf)


def slope_rise(grid: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much the slope of each column of ``values`` (N_k, N_z) rises, ``(N_k - 2, N_z)``; concave: <= 0."""
    return np.diff(np.diff(values, axis=0) / np.diff(grid)[:, None], axis=0)


def slope_noise(grid: NDArray[np.float64], error: ArrayLike) -> NDArray[np.float64]:
    """Return how far ``error`` in every value can move each entry of :func:`slope_rise`."""
    steps = np.diff(grid)
    return 2 * np.asarray(error, dtype=np.float64) * (1 / steps[:-1] + 1 / steps[1:])
