"""Euler-equation iteration for a household whose prices depend on mean wealth, as in Krusell and Smith's economy.

The household has wealth ``k`` and an exogenous state ``s = 2 a + e`` (aggregate state, employment). It knows mean
wealth ``K`` and believes that it moves to ``K'(K, a)``. It chooses ``k'`` between the ends of the grid of ``k`` and
consumes ``c = W(k, K, s) - k'``, ``W = R(K, a) k + income(K, s)``. Where ``k'`` is not at an end of the grid,

    c^-gamma = beta sum_s' P(s, s') R(K', a') c'^-gamma,     c' = W(k', K', s') - g(k', K', s'),

where ``g`` is the policy. An iteration inserts the last policy on the right, as a bicubic spline over ``k`` and ``K``,
solves for ``c``, restricts ``k'`` to the grid, and moves the policy ``damping`` of the way to it (Maliar, Maliar and
Valli 2010, JEDC 34(1), whose program uses 0.7). It ends when no ``k'`` changes by ``tol`` or more.

The spline is that of FITPACK (not-a-knot, in both directions), as in SciPy. ``K'`` does not depend on ``k``, so in the
direction of ``K`` the spline is needed only at ``N_K x 2`` places, where its values are fixed weighted sums of the
``N_K`` values. Its slopes in the direction of ``k`` are a fixed matrix times the values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import CubicSpline

from beltline.compiled import njit, prange
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for

DAMPING = 0.7
"""Damping in the program of Maliar, Maliar and Valli."""

EVERY = 50
"""Iterations between two calls of ``progress``."""

LEAST = 1e-10
"""Lower limit of next period's consumption, units of the good, which matters only while policies are still far off."""


@dataclass(frozen=True)
class Household:
    """The solution of a household's problem.

    ``policy`` is ``k'``, ``(N_k, N_K, 4)``, and ``change`` its largest change in the last iteration, before damping,
    both in units of the good.
    """

    policy: Array
    iterations: int
    change: float
    converged: bool


def spline_weights(grid: Array, at: Array) -> Array:
    """Return the weights of the values at ``grid`` in their cubic spline at ``at``: one more last axis.

    With two or three points the spline is the polynomial through them.
    """
    return np.asarray(CubicSpline(grid, np.eye(grid.size))(at))


def slope_matrix(grid: Array) -> Array:
    """Return ``(n, n)``: the matrix that maps values to the slopes of their cubic spline at the grid points."""
    return np.asarray(CubicSpline(grid, np.eye(grid.size))(grid, 1))


@njit(cache=True, parallel=True)
def _iterate(
    policy: Array, slopes: Array, new: Array, grid: Array, wealth: Array, weights: Array, gross: Array, income: Array,
    chain: Array, beta: float, gamma: float,
) -> float:  # fmt: skip
    """Make one undamped iteration from ``policy`` and its ``slopes`` in ``k`` to ``new``; return the largest change."""
    n, means, states = policy.shape
    changes = np.zeros(means * 2)
    for place in prange(means * 2):
        i, a = place // 2, place % 2
        value, slope = np.zeros((states, n)), np.zeros((states, n))
        for j in range(means):
            w = weights[i, a, j]
            for s in range(states):
                for x in range(n):
                    value[s, x] += w * policy[x, j, s]
                    slope[s, x] += w * slopes[x, j, s]
        most = 0.0
        for e in range(2):
            at = 0
            for x in range(n):
                old = policy[x, i, 2 * a + e]
                while at < n - 2 and grid[at + 1] <= old:
                    at += 1
                while at > 0 and grid[at] > old:
                    at -= 1
                h = grid[at + 1] - grid[at]
                t = (old - grid[at]) / h
                v = 1 - t
                left, right, rise, fall = (1 + 2 * t) * v * v, t * t * (3 - 2 * t), h * t * v * v, -h * t * t * v
                total = 0.0
                for s in range(states):
                    ahead = (
                        left * value[s, at] + right * value[s, at + 1] + rise * slope[s, at] + fall * slope[s, at + 1]
                    )
                    ahead = min(max(ahead, grid[0]), grid[n - 1])
                    c = max(gross[i, a, s // 2] * old + income[i, a, s] - ahead, LEAST)
                    marginal = 1 / c if gamma == 1.0 else c**-gamma
                    total += chain[2 * a + e, s] * gross[i, a, s // 2] * marginal
                total *= beta
                c = 1 / total if gamma == 1.0 else total ** (-1 / gamma)
                chosen = min(max(wealth[x, i, 2 * a + e] - c, grid[0]), grid[n - 1])
                # `max` would drop a NaN.
                if not abs(chosen - old) <= most:
                    most = abs(chosen - old)
                new[x, i, 2 * a + e] = chosen
        changes[place] = most
    return changes.max()


def solve(
    grid: ArrayLike,
    means: ArrayLike,
    wealth: ArrayLike,
    ahead: ArrayLike,
    gross: ArrayLike,
    income: ArrayLike,
    chain: ArrayLike,
    beta: float,
    gamma: float,
    start: ArrayLike,
    tol: float = 1e-8,
    max_iterations: int = 20_000,
    damping: float = DAMPING,
    progress: Callable[[int, float], None] | None = None,
) -> Household:
    """Iterate to the policy of the household.

    ``wealth`` is ``W``, ``(N_k, N_K, 4)``, at the points of ``grid`` and ``means``, ``ahead`` is ``K'``, ``(N_K, 2)``,
    ``gross`` is ``R(K'(K, a), a')``, ``(N_K, 2, 2)``, ``income`` is ``income(K'(K, a), s')``, ``(N_K, 2, 4)``, and
    ``chain`` is ``P``. The iteration begins with the policy ``start`` and ends when no ``k'`` changes by ``tol`` or
    more. ``progress`` gets the number of iterations and the last change now and then. ``FloatingPointError`` is raised
    if the policy is not a number.
    """
    tables = grid, means, wealth, ahead, gross, income, chain, start
    x, m, w, k, r, y, p, policy = (np.array(table, dtype=np.float64, order="C") for table in tables)
    weights, matrix = np.ascontiguousarray(spline_weights(m, k)), slope_matrix(x)
    new = np.empty_like(policy)
    change = np.inf
    done = 0
    with threads(threads_for(policy.size)):
        for done in range(1, max_iterations + 1):
            slopes = (matrix @ policy.reshape(x.size, -1)).reshape(policy.shape)
            change = float(_iterate(policy, slopes, new, x, w, weights, r, y, p, beta, gamma))
            if not np.isfinite(change):
                raise FloatingPointError(f"the policy is not a number after {done:,} iterations")
            policy += damping * (new - policy)
            if change < tol:
                break
            if progress is not None and done % EVERY == 0:
                progress(done, change)
    return Household(policy, done, change, change < tol)
