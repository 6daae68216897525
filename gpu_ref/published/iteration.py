"""Plain value function iteration with any sweep, and with policy evaluation (Howard) steps between sweeps."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import Solution, check_limits, error_bound
from beltline.gpu_ref.tables import Array, check_tables, expectation
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra_utility

Sweep = Callable[..., tuple[Array, NDArray[np.int32]]]
"""``sweep(X, W, Q, V, beta, eta) -> (TV, policy)``."""


def sup_norm(new: Array, old: Array) -> float:
    """Return ``max |new - old|``; a state that is ``-inf`` in both counts as unchanged."""
    with np.errstate(invalid="ignore"):
        change = np.abs(new - old)
    change[new == old] = 0.0
    return float(change.max())


@njit(parallel=True, cache=True)
def _follow(utility: Array, ev: Array, policy: NDArray[np.int32], value: Array) -> None:
    """Make one sweep with a fixed policy."""
    for x in prange(value.shape[0]):
        for s in range(value.shape[1]):
            value[x, s] = utility[x, s] + ev[s, policy[x, s]]


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
    interval: int = 1,
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
    interval
        The sweep maximises once in this number of sweeps, from 1; the others evaluate its policy.

    Returns
    -------
    Solution
        See :class:`beltline.gpu_ref.methods.Solution`; its bound holds if the sweep finds every maximum.

    Raises
    ------
    ValueError
        The tables break a condition of :mod:`beltline.gpu_ref`, or a number is out of range.
    """
    check_limits(epsilon, max_sweeps)
    if interval < 1:
        raise ValueError(f"interval must be a whole number from 1, not {interval}")
    X, W, Q, value = check_tables(X, W, Q, V0, beta, eta)
    begin = time.perf_counter()
    done = maximising = 0
    with threads(threads_for(W.size)):
        while True:
            previous = value
            value, policy = sweep(X, W, Q, previous, beta, eta)
            done, maximising = done + 1, maximising + 1
            residual = sup_norm(value, previous)
            if residual < epsilon or done >= max_sweeps:
                break
            # The last sweep of all maximises. A policy may lead to a state without a choice, because the value there
            # was still finite when it was found: evaluating it would make other values -inf, permanently.
            between = min(interval - 1, max_sweeps - done - 1) if (policy >= 0).all() else 0
            utility = crra_utility(W - X[policy], eta) if between else value
            for _ in range(between):
                ev, value = expectation(Q, value, beta), np.empty_like(value)
                _follow(utility, ev, policy, value)
            done += between
    seconds = {"solve": time.perf_counter() - begin}
    bound = error_bound(residual, value, Q, beta, eta)
    return Solution(value, policy, done, maximising, residual, bound, residual < epsilon, seconds, previous=previous)
