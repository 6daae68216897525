"""Starting values: from a coarse grid, on which choices may lie between grid points, and the nearest of several.

The problem is solved on at most 128 of the grid points. Choices are continuous: the expectation is interpolated by
cubic polynomials through four points, utility is computed exactly, and Newton's method follows the best choice, with
policy evaluation between its steps. The expectations of smooth problems vary so slowly that a hundred points are enough
for full precision, because utility, which bends most, is not interpolated. The solution is then interpolated in the
same way over all grid points. It lacks only the loss from restricting choices to the grid, which the sweeps that follow
find in far fewer steps than they would need otherwise.

That takes about a millisecond, and interpolation another. Smooth problems have a quicker start, from a dozen points for
each exogenous state (:mod:`beltline.gpu_ref.spectral`), which is tried first (:func:`checked_start`).

The guarantee of a stopping rule does not depend on where the iteration starts, so nothing here has to be exact. But on
problems with kinks, Newton's method and the polynomials can diverge: to values of 1e15 where the solution is about 6e3.
So the start is used only if one exact sweep shows that it is nearer to the solution than the given start
(:func:`nearer`). The quicker start has shown that already, at the grid points where it is tested. A start that says
something about the solution (:func:`is_guess`) is compared with what follows from this (:func:`nearest`).
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit, prange
from beltline.gpu_ref.chunk_expectation import expect_piece
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import modulus, stay_start
from beltline.gpu_ref.spectral import smooth_start
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra

MOST = 128
"""Largest number of points of the coarse grid."""

FEWEST = 1024
"""Number of grid points from which a coarse start saves time."""

SHARE = 0.2
"""The coarse solve ends below this share of epsilon, so that the remaining error comes from restricting choices to the
grid.
"""

LIMIT = 2000
"""Largest number of sweeps of the coarse solve."""

INNER = 10
"""Policy evaluation sweeps after each maximising sweep."""


def spacing(grid: int, most: int = MOST) -> tuple[int, int]:
    """Return the stride of the coarse points, and their number: the first grid point, every ``stride``-th, and the
    last.
    """
    stride = max(1, -(-(grid - 1) // (most - 1)))
    return stride, (grid - 2) // stride + 2


@njit(cache=True)
def _solve(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float) -> tuple[Array, int]:
    """Solve the problem on a coarse grid with continuous choices; return value, ``(n, N_z)``, and sweeps.

    At a choice ``y`` between points, the expectation and its first two derivatives are those of the cubic through the
    four points around ``y`` (Lagrange form, ``inverse`` holds the reciprocals of its denominators).
    """
    grid, states = W.shape
    inverse = np.ones((grid - 3, 4))
    for cell in range(grid - 3):
        for j in range(4):
            for k in range(4):
                if k != j:
                    inverse[cell, j] /= X[cell + j] - X[cell + k]
    value = np.empty((states, grid))
    choice = np.empty((grid, states))
    ev = np.empty((states, grid))
    place = np.zeros((grid, states), np.int64)
    u = np.empty((grid, states))
    weight = np.empty((grid, states, 4))
    for i in range(grid):
        for s in range(states):
            choice[i, s] = X[i]
            u[i, s] = crra(W[i, s] - X[i], eta)
            value[s, i] = u[i, s] / (1.0 - beta)
            place[i, s] = max(0, min(i - 1, grid - 4))
    small = (X[-1] - X[0]) / (grid - 1)
    low, high = np.empty(states), np.empty(states)
    last = np.inf
    done = 0
    while done < LIMIT:
        expect_piece(Q, beta, value, ev, 0, grid, 0)
        low[:], high[:] = np.inf, -np.inf
        for i in range(grid):
            for s in range(states):
                y = choice[i, s]
                c = W[i, s] - y
                cell = place[i, s]
                d0, d1, d2, d3 = y - X[cell], y - X[cell + 1], y - X[cell + 2], y - X[cell + 3]
                e0, e1 = ev[s, cell] * inverse[cell, 0], ev[s, cell + 1] * inverse[cell, 1]
                e2, e3 = ev[s, cell + 2] * inverse[cell, 2], ev[s, cell + 3] * inverse[cell, 3]
                d01, d23, s01, s23 = d0 * d1, d2 * d3, d0 + d1, d2 + d3
                future = (e0 * d1 + e1 * d0) * d23 + (e2 * d3 + e3 * d2) * d01
                slope = e0 * (d23 + d1 * s23) + e1 * (d23 + d0 * s23) + e2 * (d01 + d3 * s01) + e3 * (d01 + d2 * s01)
                curvature = 2.0 * (e0 * (d1 + s23) + e1 * (d0 + s23) + e2 * (d3 + s01) + e3 * (d2 + s01))
                # A Newton step towards the maximum of the objective that leaves at least a tenth of consumption, and
                # its gain to second order.
                marginal = 1.0 / c if eta == 1.0 else (1.0 - eta) * u[i, s] / c
                rise, curve = slope - marginal, curvature - eta * marginal / c
                near = y - rise / curve if curve < 0.0 else y
                near = max(X[0], min(near, X[-1], y + 0.9 * c))
                step = near - y
                now = u[i, s] + future
                if abs(step) < small:
                    now += step * (rise + 0.5 * curve * step)
                change = now - value[s, i]
                low[s], high[s] = min(low[s], change), max(high[s], change)
                value[s, i] = now

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
        # Stop also if rounding keeps the change from shrinking.
        if not measured >= SHARE * epsilon or (done > LIMIT // 16 and measured >= last):
            break
        last = measured
        for _ in range(INNER):
            expect_piece(Q, beta, value, ev, 0, grid, 0)
            for i in range(grid):
                for s in range(states):
                    e = ev[s, place[i, s] : place[i, s] + 4]
                    w = weight[i, s]
                    value[s, i] = u[i, s] + ((w[0] * e[0] + w[1] * e[1]) + (w[2] * e[2] + w[3] * e[3]))
            done += 1
    return value.T.copy(), done


@njit(parallel=True, cache=True)
def _interpolate(X: Array, stride: int, rows: Array, value: Array, start: Array) -> None:
    """Fill ``start``, ``(N_k, N_z)``, by cubic interpolation of the coarse ``value``."""
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
    """Return a starting value, ``(N_k, N_z)``, units of utility, by the method of this module.

    Arguments as in :mod:`beltline.gpu_ref`, with at least 8 points, where every state must be able to stay at its
    ``x``. The result is not finite if the coarse solve diverged.
    """
    stride, coarse = spacing(X.size)
    rows = np.minimum(np.arange(coarse) * stride, X.size - 1)
    value, _ = _solve(X[rows], np.ascontiguousarray(W[rows]), Q, beta, eta, epsilon)
    start = np.empty(W.shape)
    _interpolate(X, stride, X[rows], value, start)
    return start


def _spread(difference: Array) -> float:
    """Return half the largest spread over ``x`` of any exogenous state, which no shift of that state's values can
    remove.
    """
    return float((difference.max(axis=0) - difference.min(axis=0)).max()) / 2.0


def _swept_spread(X: Array, W: Array, Q: Array, beta: float, eta: float, value: Array) -> float:
    """Return the :func:`_spread` of the change in one exact sweep from ``value``."""
    return _spread(exact_sweep(X, W, Q, value, beta, eta)[0] - value)


def nearer(X: Array, W: Array, Q: Array, beta: float, eta: float, given: Array, other: Array) -> bool:
    """Return whether ``other`` is nearer to the solution than ``given``, both ``(N_k, N_z)``, as an exact sweep shows.

    Distance is measured up to a shift of each exogenous state's values. Let ``h`` be half the spread of the change in a
    sweep from ``other``. Then the distance of ``other`` is at most ``h / (1 - modulus)``
    (:mod:`beltline.gpu_ref.methods`). So it is certainly nearer if the two starts are more than twice that apart.
    Otherwise a sweep from ``given`` must change it by more than ``h``.
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
    """Return a start that is :func:`nearer` than ``given``, or the value of staying.

    The first is that of :mod:`beltline.gpu_ref.spectral` if the problem is smooth, otherwise :func:`coarse_start`. The
    value of staying follows from utilities alone, so it is always of the right magnitude.
    """
    smooth = smooth_start(X, W, Q, beta, eta, epsilon, given)
    if smooth is not None and smooth.nearer:
        return smooth.value
    start = coarse_start(X, W, Q, beta, eta, epsilon) if smooth is None else smooth.value
    return start if nearer(X, W, Q, beta, eta, given, start) else stay_start(X, W, beta, eta)


def is_guess(start: Array) -> bool:
    """Return whether a start, ``(N_k, N_z)``, says something about the solution: whether it varies in ``x``.

    A start that is constant in ``x``, as default ones are, is as good as any other constant. Rows are compared at
    :data:`MOST` places only, since no result depends on the answer.
    """
    rows = start[:: max(1, start.shape[0] // MOST)]
    return bool((rows != rows[0]).any() or (start[-1] != start[0]).any())


def nearest(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float, given: Array) -> Array:
    """Return the start that is nearest to the solution: ``given``, that of a coarse grid, or the value of staying.

    Every state must be able to stay. ``given`` takes an exact sweep if it :func:`is_guess`, and if this changes it by
    less than ``epsilon``, nothing else is computed.
    """
    moved = _swept_spread(X, W, Q, beta, eta, given) if is_guess(given) else np.inf
    if moved < epsilon:
        return given
    many = X.size >= FEWEST
    start = checked_start(X, W, Q, beta, eta, epsilon, given) if many else stay_start(X, W, beta, eta)
    return given if moved < np.inf and moved < _swept_spread(X, W, Q, beta, eta, start) else start
