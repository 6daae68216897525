"""Plain value function iteration with a given sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpu_ref.exact import exact_sweep
from gpu_ref.tables import Array, check_tables

Sweep = Callable[..., tuple[Array, NDArray[np.int32]]]
"""``sweep(X, W, Q, V, beta, eta) -> (TV, policy)``."""


@dataclass(frozen=True)
class Solution:
    """Result of :func:`solve`.

    Attributes
    ----------
    value
        ``V_n``, ``(N_k, N_z)``, ``float64``, in units of utility.
    policy
        Index of the choice, ``(N_k, N_z)``, ``int32``, found in the last sweep, so from ``previous``.
    previous
        ``V_(n-1)``: a sweep from it gives ``value`` and ``policy``.
    sweeps
        Number ``n`` of sweeps done.
    residual
        ``max |V_n - V_(n-1)|``. The distance of ``V_n`` from the fixed point is at most ``beta / (1 - beta)`` times it.
    converged
        Whether ``residual < epsilon``.
    """

    value: Array
    policy: NDArray[np.int32]
    previous: Array
    sweeps: int
    residual: float
    converged: bool


def sup_norm(new: Array, old: Array) -> float:
    """``max |new - old|``; a state that is ``-inf`` in both has not changed."""
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
        See :mod:`gpu_ref`.
    epsilon
        Positive, in units of utility; 0 runs all ``max_sweeps`` sweeps.
    max_sweeps
        At least 1.
    sweep
        Any function ``(X, W, Q, V, beta, eta) -> (TV, policy)``.

    Raises
    ------
    ValueError
        The tables break a condition of :mod:`gpu_ref`, or ``epsilon`` or ``max_sweeps`` is out of range.
    """
    if not epsilon >= 0.0:
        raise ValueError(f"epsilon must not be negative, not {epsilon}")
    if max_sweeps < 1:
        raise ValueError(f"max_sweeps must be at least 1, not {max_sweeps}")
    X, W, Q, previous = check_tables(X, W, Q, V0, beta, eta)
    done = 0
    while True:
        value, policy = sweep(X, W, Q, previous, beta, eta)
        done += 1
        residual = sup_norm(value, previous)
        if residual < epsilon or done >= max_sweeps:
            return Solution(value, policy, previous, done, residual, residual < epsilon)
        previous = value
