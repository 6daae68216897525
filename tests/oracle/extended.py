"""Solutions in extended precision with a proven error, against which every bound that a solver reports is tested.

This module is slow and simple, and imports nothing of the project; arguments are as in :mod:`beltline.gpu_ref`.
Utilities, values and residuals are ``numpy.longdouble`` (64 bits of mantissa on x86), and every maximisation evaluates
every candidate. With an infinite horizon it is policy iteration (Howard 1960): each policy is evaluated by a sparse LU
factorisation in double precision, refined with residuals in extended precision. The error that is reported does not
rest on any of this, but on one more exact sweep ``T`` of the final value, by contraction:

    max |V - V*|  <=  (max |TV - V| + rounding of T) / (1 - beta)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, identity
from scipy.sparse.linalg import splu

Long = np.longdouble
LongArray = NDArray[np.longdouble]

ROUNDING = float(np.finfo(np.longdouble).eps) / 2
"""Largest relative error of one rounding."""

POLICIES = 500
"""Largest number of policies that are evaluated. Policy iteration usually takes a few dozen."""

REFINEMENTS = 8
"""Largest number of refinements of a policy's value; each gains some ten digits."""


@dataclass(frozen=True)
class Extended:
    """A solution, with a bound on its error.

    Attributes
    ----------
    value
        ``(N_k, N_z)``, or ``(T, N_k, N_z)`` with the first age first; ``numpy.longdouble``.
    error
        Bound on the largest distance of ``value`` from the solution on the grid.
    """

    value: LongArray
    error: float

    def distance(self, value: ArrayLike) -> float:
        """Return a lower bound on the distance of ``value`` from the solution: the measured distance less ``error``."""
        gap = np.abs(np.asarray(value, dtype=Long) - self.value)
        if np.isnan(gap).any():
            return float("inf")
        return max(float(gap.max()) - self.error, 0.0)


def available() -> bool:
    """Return whether ``numpy.longdouble`` is more precise than a double on this computer."""
    return ROUNDING < 2.0**-60


def utilities(X: NDArray[np.float64], W: NDArray[np.float64], eta: float) -> LongArray:
    """Return ``U(W(x, s) - X_i)``, ``(N_z, N_k, N_k)``, the choice last; minus infinity where it is not affordable."""
    c = W.T.astype(Long)[:, :, None] - X.astype(Long)[None, None, :]
    affordable = c > 0
    c[~affordable] = 1
    if eta == 1.0:
        u = np.log(c)
    elif eta == 2.0:
        u = -1 / c
    else:
        power = 1 - Long(eta)
        u = c**power / power
    u[~affordable] = -np.inf
    return u


def _maximised(u: LongArray, Q: LongArray, beta: Long, value: LongArray) -> tuple[LongArray, NDArray[np.intp]]:
    """Return ``TV`` and its policy, ``(N_k, N_z)``."""
    ev = beta * (Q @ value.T)
    best = np.empty(value.shape, dtype=Long)
    policy = np.empty(value.shape, dtype=np.intp)
    for s in range(value.shape[1]):
        objective = u[s] + ev[s]
        policy[:, s] = objective.argmax(axis=1)
        best[:, s] = np.take_along_axis(objective, policy[:, s, None], axis=1)[:, 0]
    return best, policy


def _evaluated(u: LongArray, Q: LongArray, beta: Long, policy: NDArray[np.intp], value: LongArray) -> LongArray:
    """Return the value of following ``policy`` for ever, by refining ``value``."""
    grid, states = policy.shape
    utility = np.take_along_axis(u, policy.T[:, :, None], axis=2)[:, :, 0].T
    rows = np.repeat(np.arange(grid * states), states)
    columns = (policy[:, :, None] * states + np.arange(states)).ravel()
    weights = np.tile(np.asarray(beta * Q, dtype=np.float64), (grid, 1, 1)).ravel()
    moves = csc_array((weights, (rows, columns)), shape=(grid * states, grid * states))
    factors = splu((identity(grid * states, format="csc") - moves).tocsc())
    state = np.arange(states)
    last = np.inf
    for _ in range(REFINEMENTS):
        ev = value @ Q.T
        residual = utility + beta * ev[policy, state] - value
        size = float(np.abs(residual).max())
        if not size < 0.5 * last:
            break
        last = size
        # Scaled, so that the residual neither overflows nor underflows as a double.
        scale = Long(size) if size > 0 else Long(1)
        correction = factors.solve(np.asarray(residual / scale, dtype=np.float64).ravel())
        value = value + correction.reshape(grid, states).astype(Long) * scale
    return value


def sweep_error(largest: float, states: int, eta: float) -> float:
    """Bound the distance of a sweep of this module from the exact one.

    ``largest`` is the largest ``|V|`` before and after the sweep.

    The chosen utility is ``TV - EV``, at most twice ``largest``. Consumption is rounded once, which the power of the
    utility magnifies; the power (or logarithm), its division and the sum round, and the expectation rounds once per
    state and twice more.
    """
    return 2 * ROUNDING * ((abs(1.0 - eta) + 8.0) * 2.0 * largest + (eta == 1.0) + (states + 6) * largest)


def _largest(*values: LongArray) -> float:
    """Return the largest absolute entry of all arrays."""
    return max(float(np.abs(value).max()) for value in values)


def _modulus(Q: LongArray, beta: Long) -> float:
    """Return the contraction modulus."""
    return float(beta * Q.sum(axis=1).max())


def solve(X: ArrayLike, W: ArrayLike, Q: ArrayLike, beta: float, eta: float) -> Extended:
    """Solve a problem with an infinite horizon, in which every state has a choice; ``16 N_z N_k^2`` bytes of memory."""
    u = utilities(np.asarray(X, np.float64), np.asarray(W, np.float64), eta)
    chain, discount = np.asarray(Q, Long), Long(beta)
    modulus = _modulus(chain, discount)
    states = chain.shape[0]
    value, policy = _maximised(u, chain, discount, np.zeros(np.shape(W), dtype=Long))
    value = value / (1 - Long(modulus))
    best = (np.inf, value)
    for _ in range(POLICIES):
        value = _evaluated(u, chain, discount, policy, value)
        swept, improved = _maximised(u, chain, discount, value)
        residual = float(np.abs(swept - value).max())
        error = (residual + sweep_error(_largest(value, swept), states, eta)) / (1 - modulus)
        if error < best[0]:
            best = (error, value)
        # A residual within rounding cannot be improved by another policy.
        if (improved == policy).all() or residual <= sweep_error(_largest(value, swept), states, eta):
            break
        policy = improved
    return Extended(best[1], best[0])


def solve_ages(X: ArrayLike, W: ArrayLike, Q: ArrayLike, V0: ArrayLike, beta: float, eta: float, ages: int) -> Extended:
    """Solve a finite horizon of ``ages`` sweeps; ``V0`` is the value after the last age. Otherwise as :func:`solve`."""
    u = utilities(np.asarray(X, np.float64), np.asarray(W, np.float64), eta)
    chain, discount = np.asarray(Q, Long), Long(beta)
    modulus = _modulus(chain, discount)
    following = np.asarray(V0, Long)
    values = np.empty((ages, *following.shape), dtype=Long)
    error = worst = 0.0
    for age in range(ages - 1, -1, -1):
        values[age], _ = _maximised(u, chain, discount, following)
        error = modulus * error + sweep_error(_largest(following, values[age]), chain.shape[0], eta)
        worst = max(worst, error)
        following = values[age]
    return Extended(values, worst)
