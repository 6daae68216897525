"""Plain value function iteration with any sweep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import Solution, check_limits, error_bound
from beltline.gpu_ref.tables import Array, check_tables

Sweep = Callable[..., tuple[Array, NDArray[np.int32]]]
"""``sweep(X, W, Q, V, beta, eta) -> (TV, policy)``."""


def sup_norm(new: Array, old: Array) -> float:
    """Return ``max |new - old|``; a state that is ``-inf`` in both counts as unchanged."""
    with np.errstate(invalid="ignore"):
        change = np.abs(new - old)
    change[new == old] = 0.0
    return float(change.max())


def solve(
    X: ArrayLike,
    W: ArrayLike,
    Q: ArrayLike,
    V0: ArrayLike,
    beta: float,
    eta: float,
    epsilon: float,
    max_sweeps: int = 100_000,
    sweep: Sweep = exact_sweep,
) -> Solution:
    """Sweep from ``V0`` until ``max |V_n - V_(n-1)|`` is below ``epsilon`` (strictly), or ``max_sweeps`` times.

    Parameters
    ----------
    X, W, Q, V0, beta, eta
        See :mod:`beltline.gpu_ref`.
    epsilon
        Positive, in units of utility; 0 runs all ``max_sweeps`` sweeps.
    max_sweeps
        At least 1.
    sweep
        Any function ``(X, W, Q, V, beta, eta) -> (TV, policy)``.

    Returns
    -------
    Solution
        See :class:`beltline.gpu_ref.methods.Solution`.

    Raises
    ------
    ValueError
        The tables break a condition of :mod:`beltline.gpu_ref`, or ``epsilon`` or ``max_sweeps`` is out of range.
    """
    check_limits(epsilon, max_sweeps)
    X, W, Q, previous = check_tables(X, W, Q, V0, beta, eta)
    done = 0
    while True:
        value, policy = sweep(X, W, Q, previous, beta, eta)
        done += 1
        residual = sup_norm(value, previous)
        if residual < epsilon or done >= max_sweeps:
            bound = error_bound(residual, value, Q, beta, eta)
            return Solution(value, policy, done, done, residual, bound, residual < epsilon, previous=previous)
        previous = value
