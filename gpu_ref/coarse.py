"""A start value from a coarse grid, with choices between its points.

The problem is solved on some of the grid points, where choices may be anywhere: the expectation of the value is drawn
through four points at a time by a cubic polynomial, utility is what it is, and Newton's method follows the best choice,
with policy evaluation sweeps between its steps. Values of smooth problems are so smooth that a hundred points then do
for all digits, because what bends most, utility, is not drawn but computed. The start is that solution, drawn in the
same way over all grid points. It lacks what choices on a grid lose, which the sweeps that follow find out in a fraction
of the number that they need otherwise.

Where an iteration starts is no part of what its stopping rule guarantees, so nothing here has to be exact. On problems
with kinks Newton's method and the polynomials can go far astray, though: to values of 1e15 where the solution is at
6e3. So the start is taken only where one exact sweep says that it is nearer to the solution than the start that was
given (:func:`nearer`).
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit, prange
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import modulus, stay_start
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra

MOST = 128
"""Points of a coarse grid at most."""

FEWEST = 1024
"""Grid points below which there is nothing to gain."""

SHARE = 0.2
"""Of epsilon, below which the coarse solve goes, so that what is left is what choices on the grid lose."""

LIMIT = 2000
"""Sweeps of the coarse solve at most."""

INNER = 10
"""Policy evaluation sweeps after each sweep that maximises."""


def spacing(grid: int, most: int = MOST) -> tuple[int, int]:
    """Grid points from one coarse point to the next, and how many there are: the first, every so many, and the last."""
    stride = max(1, -(-(grid - 1) // (most - 1)))
    return stride, (grid - 2) // stride + 2


@njit(cache=True)
def _expect(Q: Array, beta: float, value: Array, ahead: Array) -> None:
    grid, states = value.shape
    for i in range(grid):
        for s in range(states):
            total = 0.0
            for t in range(states):
                total += Q[s, t] * value[i, t]
            ahead[s, i] = beta * total


@njit(cache=True)
def _solve(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float) -> tuple[Array, int]:
    grid, states = W.shape
    inverse = np.ones((grid - 3, 4))
    for cell in range(grid - 3):
        for j in range(4):
            for k in range(4):
                if k != j:
                    inverse[cell, j] /= X[cell + j] - X[cell + k]
    value = np.empty((grid, states))
    choice = np.empty((grid, states))
    ahead = np.empty((states, grid))
    place = np.zeros((grid, states), np.int64)
    u = np.empty((grid, states))
    weight = np.empty((grid, states, 4))
    for i in range(grid):
        for s in range(states):
            choice[i, s] = X[i]
            u[i, s] = crra(W[i, s] - X[i], eta)
            value[i, s] = u[i, s] / (1.0 - beta)
            place[i, s] = max(0, min(i - 1, grid - 4))
    small = (X[-1] - X[0]) / (grid - 1)
    low, high = np.empty(states), np.empty(states)
    last = np.inf
    done = 0
    while done < LIMIT:
        _expect(Q, beta, value, ahead)
        low[:], high[:] = np.inf, -np.inf
        for i in range(grid):
            for s in range(states):
                y = choice[i, s]
                c = W[i, s] - y
                cell = place[i, s]
                d0, d1, d2, d3 = y - X[cell], y - X[cell + 1], y - X[cell + 2], y - X[cell + 3]
                e0, e1 = ahead[s, cell] * inverse[cell, 0], ahead[s, cell + 1] * inverse[cell, 1]
                e2, e3 = ahead[s, cell + 2] * inverse[cell, 2], ahead[s, cell + 3] * inverse[cell, 3]
                d01, d23, s01, s23 = d0 * d1, d2 * d3, d0 + d1, d2 + d3
                future = (e0 * d1 + e1 * d0) * d23 + (e2 * d3 + e3 * d2) * d01
                slope = e0 * (d23 + d1 * s23) + e1 * (d23 + d0 * s23) + e2 * (d01 + d3 * s01) + e3 * (d01 + d2 * s01)
                bend = 2.0 * (e0 * (d1 + s23) + e1 * (d0 + s23) + e2 * (d3 + s01) + e3 * (d2 + s01))
                # Newton's step to the top of the objective, and its gain; never to where next to nothing is left.
                marginal = 1.0 / c if eta == 1.0 else (1.0 - eta) * u[i, s] / c
                rise, curve = slope - marginal, bend - eta * marginal / c
                near = y - rise / curve if curve < 0.0 else y
                near = max(X[0], min(near, X[-1], y + 0.9 * c))
                step = near - y
                now = u[i, s] + future
                if abs(step) < small:
                    now += step * (rise + 0.5 * curve * step)
                change = now - value[i, s]
                low[s], high[s] = min(low[s], change), max(high[s], change)
                value[i, s] = now

                choice[i, s] = near
                u[i, s] = crra(W[i, s] - near, eta)
                while cell < grid - 4 and near > X[cell + 2]:
                    cell += 1
                while cell > 0 and near < X[cell + 1]:
                    cell -= 1
                place[i, s] = cell
                for j in range(4):
                    weight[i, s, j] = inverse[cell, j]
                    for k in range(4):
                        if k != j:
                            weight[i, s, j] *= near - X[cell + k]
        done += 1
        measured = ((high - low) / 2.0).max()
        # Rounding, too, ends it.
        if not measured >= SHARE * epsilon or (done > LIMIT // 16 and measured >= last):
            break
        last = measured
        for _ in range(INNER):
            _expect(Q, beta, value, ahead)
            for i in range(grid):
                for s in range(states):
                    e = ahead[s, place[i, s] : place[i, s] + 4]
                    w = weight[i, s]
                    value[i, s] = u[i, s] + ((w[0] * e[0] + w[1] * e[1]) + (w[2] * e[2] + w[3] * e[3]))
            done += 1
    return value, done


@njit(parallel=True, cache=True)
def _draw(X: Array, stride: int, rows: Array, value: Array, start: Array) -> None:
    coarse = rows.size
    for i in prange(X.size):
        first = max(0, min(min(i // stride, coarse - 2) - 1, coarse - 4))
        for s in range(start.shape[1]):
            start[i, s] = 0.0
        for j in range(4):
            weight = 1.0
            for k in range(4):
                if k != j:
                    weight *= (X[i] - rows[first + k]) / (rows[first + j] - rows[first + k])
            for s in range(start.shape[1]):
                start[i, s] += weight * value[first + j, s]


def coarse_start(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float) -> Array:
    """``(N_k, N_z)``, units of utility; arguments as in :mod:`beltline.gpu_ref`, at least 8 points, everyone able to
    stay.

    Not finite where the coarse solve went astray.
    """
    stride, coarse = spacing(X.size)
    rows = np.minimum(np.arange(coarse) * stride, X.size - 1)
    value, _ = _solve(X[rows], np.ascontiguousarray(W[rows]), Q, beta, eta, epsilon)
    start = np.empty(W.shape)
    _draw(X, stride, X[rows], value, start)
    return start


def _spread(difference: Array) -> float:
    """Half the spread over ``x`` in the state where it is largest: what a shift of each state's values cannot mend."""
    return float((difference.max(axis=0) - difference.min(axis=0)).max()) / 2.0


def _swept_spread(X: Array, W: Array, Q: Array, beta: float, eta: float, value: Array) -> float:
    return _spread(exact_sweep(X, W, Q, value, beta, eta)[0] - value)


def nearer(X: Array, W: Array, Q: Array, beta: float, eta: float, given: Array, other: Array) -> bool:
    """Whether an exact sweep says that ``other`` is nearer to the solution than ``given``, both ``(N_k, N_z)``.

    Distances are those that no shift of a state's values takes away. With ``h`` half the spread of the change of a
    sweep from ``other``, that of ``other`` is at most ``h / (1 - modulus)`` (:mod:`beltline.gpu_ref.methods`), so it is
    nearer for certain where the two starts are more than twice that apart. Where they are not, a sweep from ``given``
    has to move more than ``h``.
    """
    if not np.isfinite(other).all():
        return False
    if not np.isfinite(given).all():
        return True
    contraction = modulus(Q, beta)
    h = _swept_spread(X, W, Q, beta, eta, other)
    if contraction < 1.0 and _spread(given - other) > 2.0 * h / (1.0 - contraction):
        return True
    return h < _swept_spread(X, W, Q, beta, eta, given)


def checked_start(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float, given: Array) -> Array:
    """:func:`coarse_start` where it is :func:`nearer` than ``given``, else the value of staying at ``x`` for ever.

    The latter comes from utilities alone and cannot go astray.
    """
    start = coarse_start(X, W, Q, beta, eta, epsilon)
    return start if nearer(X, W, Q, beta, eta, given, start) else stay_start(X, W, beta, eta)
