"""CRRA utility in double precision, and the bounds on slopes that concavity of an objective rests on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def utility(consumption: ArrayLike, eta: float) -> NDArray[np.float64]:
    """Return CRRA utility ``c**(1 - eta) / (1 - eta)``, or ``ln c`` if ``eta == 1``; minus infinity where ``c <= 0``.

    >>> utility([0.5, 1.0, 0.0], eta=2.0).tolist()
    [-2.0, -1.0, -inf]
    """
    c = np.asarray(consumption, dtype=np.float64)
    positive = np.where(c > 0, c, 1.0)
    with np.errstate(over="ignore"):
        u = np.log(positive) if eta == 1 else positive ** (1 - eta) / (1 - eta)
    return np.where(c > 0, u, -np.inf)


def marginal_utility(consumption: ArrayLike, eta: float) -> NDArray[np.float64]:
    """Return marginal utility ``c**-eta``; infinity where ``c <= 0``.

    >>> marginal_utility([0.5, 1.0, 0.0], eta=2.0).tolist()
    [4.0, 1.0, inf]
    """
    c = np.asarray(consumption, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.where(c > 0, np.where(c > 0, c, 1.0) ** -eta, np.inf)


def slope_fall(grid: NDArray[np.float64], richest: float, eta: float) -> NDArray[np.float64]:
    """Return a lower bound on how far the slope of ``U(W - x')`` in ``x'`` falls from one grid interval to the next.

    The bound holds for every cash on hand ``W``. The second divided difference over three points is half of ``U''``
    somewhere between them, and ``|U''(c)| = eta c**(-eta - 1)`` is smallest at the largest consumption,
    ``richest - grid[j]``, because ``U''' > 0``.

    Parameters
    ----------
    grid : (N_k,) array
    richest
        The largest ``W``, in units of ``grid``.
    eta
        Relative risk aversion.

    Returns
    -------
    (N_k - 2,) array
        Entry ``j`` compares the intervals from grid point ``j`` to ``j + 1`` and from ``j + 1`` to ``j + 2``. Infinity
        where not even ``richest`` can afford all three points.
    """
    steps = np.diff(grid)
    consumption = richest - grid[:-2]
    affordable = grid[2:] < richest
    with np.errstate(over="ignore"):
        curvature = eta * np.where(affordable, consumption, 1.0) ** (-eta - 1)
        return np.where(affordable, curvature * (steps[:-1] + steps[1:]) / 2, np.inf)


def constant_in_x(values: NDArray[np.float64]) -> bool:
    """Return whether every column of ``values``, ``(N_k, N_z)``, is constant, as a first guess of zeros is.

    >>> constant_in_x(np.array([[1.0, 2.0], [1.0, 2.0]]))
    True
    """
    rows = values.reshape(-1)
    return bool((values[0] == values[-1]).all() and (rows[values.shape[1] :] == rows[: -values.shape[1]]).all())


def slope_rise(grid: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return by how much the slope of each column of ``values`` rises from one grid interval to the next.

    ``values`` is ``(N_k, N_z)``, the result ``(N_k - 2, N_z)``. A concave column has no entry above 0.
    """
    return np.diff(np.diff(values, axis=0) / np.diff(grid)[:, None], axis=0)


def slope_noise(grid: NDArray[np.float64], error: ArrayLike) -> NDArray[np.float64]:
    """Return by how much an error of at most ``error`` in each value can change each entry of :func:`slope_rise`."""
    steps = np.diff(grid)
    return 2 * np.asarray(error, dtype=np.float64) * (1 / steps[:-1] + 1 / steps[1:])
