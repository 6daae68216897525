"""A starting value from polynomials: the solution of a smooth problem with choices between grid points, in 0.1 ms.

For each exogenous state the value is the polynomial through its values at 12 grid points, or at 24 if 12 are not
enough, which lie like the extremes of a Chebyshev polynomial: close together at both ends. That is 48 unknowns for four
states. Policy iteration finds them: Newton's method moves the choices, which lie anywhere between the lowest and the
highest grid point, and the value of these choices follows from a linear system, solved by GMRES. Each round squares the
error, so six are enough on the headline problem. The solution is then drawn over the whole grid by cubic polynomials
that share values and slopes at the ends of their cells.

The polynomials of a smooth problem converge geometrically. On problems with kinks they do not. So the Bellman equation
is tested at grid points halfway between those of the polynomials: if it does not nearly hold there, there is no start,
and :mod:`beltline.gpu_ref.starts` makes one in another way. These tests also show, in place of a sweep over the
whole grid, that the start is nearer to the solution than another one.

Sources: Trefethen 2013, "Approximation Theory and Approximation Practice", for points, weights and derivatives
(chapters 4, 5 and 11); Saad and Schultz 1986, "GMRES: a generalized minimal residual algorithm for solving nonsymmetric
linear systems", SIAM Journal on Scientific and Statistical Computing 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.tables import Array, as_writable
from beltline.gpu_ref.utility import crra

COUNTS = (12, 24)
"""Numbers of points of the polynomials, tried in this order. The grid must have :data:`FEWEST` points."""

FEWEST = 128
"""Least number of grid points, so that the points of 24 differ at the ends of the grid, and smaller grids are solved
at once.
"""

ROUNDS = 16
"""Most rounds of policy iteration; smooth problems take five to nine."""

PATIENCE = 4
"""After this number of rounds each must at least halve what is gained."""

INEXACT = 1e-3
"""The value of a policy is computed to this share of what the last round gained."""

KRYLOV = 60
"""Most vectors of one GMRES solve."""

SHARE = 0.2
"""Policy iteration ends when a round would change no value by this share of epsilon."""

ROUNDING = 2.0**-48
"""Residuals below this share of the largest value are rounding."""

ENOUGH = 1e-5
"""The Bellman equation must hold between the points to this share of the spread of values. Policies that are evaluated
along their paths soon find the rest."""

CELLS = 63
"""Most cells of the grid, each of which has its own cubic polynomials."""

_FREE = {"reassoc", "contract"}
"""Sums may be taken in any order here: no result of a solve depends on the last bits of its start."""


@njit(cache=True, error_model="numpy")
def _extremes(points: int, count: int) -> NDArray[np.int64]:
    """Return the ``count`` grid indexes nearest to the extremes of a Chebyshev polynomial over ``points`` points."""
    found = np.empty(count, np.int64)
    for k in range(count):
        found[k] = round((points - 1) * 0.5 * (1.0 - math.cos(math.pi * k / (count - 1))))
    return found


@njit(cache=True, error_model="numpy")
def _weights(x: Array) -> Array:
    """Return the barycentric weights of the points ``x``, up to a common factor."""
    scale = 4.0 / (x[-1] - x[0])
    weights = np.ones(x.size)
    for k in range(x.size):
        for j in range(x.size):
            if j != k:
                weights[k] *= (x[k] - x[j]) * scale
        weights[k] = 1.0 / weights[k]
    return weights


@njit(cache=True, error_model="numpy")
def _interpolate(x: Array, weights: Array, y: float, row: Array) -> None:
    """Fill ``row`` so that a polynomial's value at ``y`` is the scalar product of ``row`` and its values at ``x``."""
    total = 0.0
    for k in range(x.size):
        if y == x[k]:
            row[:] = 0.0
            row[k] = 1.0
            return
        row[k] = weights[k] / (y - x[k])
        total += row[k]
    for k in range(x.size):
        row[k] /= total


@njit(cache=True, error_model="numpy")
def _differentiation(x: Array, weights: Array) -> Array:
    """Return the matrix that turns a polynomial's values at ``x`` into those of its derivative."""
    matrix = np.zeros((x.size, x.size))
    for i in range(x.size):
        for j in range(x.size):
            if i != j:
                matrix[i, j] = weights[j] / weights[i] / (x[i] - x[j])
                matrix[i, i] -= matrix[i, j]
    return matrix


@njit(cache=True, fastmath=_FREE)
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@njit(cache=True, fastmath=_FREE)
def _expect(Q: Array, beta: float, value: Array, ev: Array) -> None:
    """Fill ``ev`` with the discounted expectation of ``value``; both ``(N_z, n)``."""
    states, count = value.shape
    for s in range(states):
        for k in range(count):
            ev[s, k] = 0.0
        for t in range(states):
            weight = beta * Q[s, t]
            for k in range(count):
                ev[s, k] += weight * value[t, k]


@njit(cache=True, fastmath=_FREE)
def _differentiate(matrix: Array, values: Array, slopes: Array) -> None:
    """Fill ``slopes`` with the derivatives of ``values``; both ``(N_z, n)``."""
    count = values.shape[1]
    for s in range(values.shape[0]):
        for k in range(count):
            total = 0.0
            for j in range(count):
                total += matrix[k, j] * values[s, j]
            slopes[s, k] = total


@njit(cache=True, fastmath=_FREE)
def _left(Q: Array, beta: float, rows: Array, value: Array, ev: Array, out: Array) -> None:
    """Fill ``out`` with ``value`` minus its expectation after the choices, at which ``rows`` interpolate."""
    _expect(Q, beta, value, ev)
    states, count = value.shape
    for s in range(states):
        for k in range(count):
            total = 0.0
            for j in range(count):
                total += rows[s, k, j] * ev[s, j]
            out[s, k] = value[s, k] - total


@njit(cache=True, error_model="numpy", fastmath=_FREE)
def _evaluate(Q: Array, beta: float, rows: Array, utility: Array, value: Array, ev: Array, below: float) -> None:
    """Move ``value``, ``(N_z, n)``, to the value of a policy, to a residual of norm ``below``, by GMRES.

    ``utility`` is that of the choices, ``(N_z, n)``, and ``rows``, ``(N_z, n, n)``, interpolate there; ``ev`` is
    overwritten.
    """
    states, count = value.shape
    size = states * count
    most = min(KRYLOV, size)
    # Vector 0 is the residual at first.
    basis = np.empty((most + 1, states, count))
    flat = basis.reshape((most + 1, size))
    _left(Q, beta, rows, value, ev, basis[0])
    norm = 0.0
    for s in range(states):
        for k in range(count):
            basis[0, s, k] = utility[s, k] - basis[0, s, k]
            norm += basis[0, s, k] ** 2
    norm = math.sqrt(norm)
    if not norm > below:
        return
    R, cosines, sines, right = np.empty((most + 1, most)), np.empty(most), np.empty(most), np.empty(most + 1)
    right[0] = norm
    used = 0
    for j in range(most):
        for k in range(size):
            flat[j, k] /= norm
        _left(Q, beta, rows, basis[j], ev, basis[j + 1])
        for i in range(j + 1):
            product = 0.0
            for k in range(size):
                product += flat[j + 1, k] * flat[i, k]
            for k in range(size):
                flat[j + 1, k] -= product * flat[i, k]
            R[i, j] = product
        norm = 0.0
        for k in range(size):
            norm += flat[j + 1, k] ** 2
        norm = math.sqrt(norm)
        for i in range(j):
            upper, lower = R[i, j], R[i + 1, j]
            R[i, j] = cosines[i] * upper + sines[i] * lower
            R[i + 1, j] = cosines[i] * lower - sines[i] * upper
        length = math.hypot(R[j, j], norm)
        if not length > 0.0:
            break
        cosines[j], sines[j] = R[j, j] / length, norm / length
        R[j, j] = length
        right[j + 1] = -sines[j] * right[j]
        right[j] *= cosines[j]
        used = j + 1
        if not (abs(right[j + 1]) > below and norm > 0.0):
            break
    for i in range(used - 1, -1, -1):
        for j in range(i + 1, used):
            right[i] -= R[i, j] * right[j]
        right[i] /= R[i, i]
        for s in range(states):
            for k in range(count):
                value[s, k] += right[i] * basis[i, s, k]


@njit(cache=True, error_model="numpy")
def _newton(
    y: float, wealth: float, u: float, eta: float, slope: float, curvature: float, low: float, high: float
) -> tuple[float, float]:
    """Return the choice after a step of Newton's method, and the gain of the step to second order.

    ``u`` is the utility of consuming ``wealth - y``; ``slope`` and ``curvature`` are derivatives of the expectation at
    ``y``. The step leaves at least a tenth of consumption and does not leave the grid.
    """
    c = wealth - y
    marginal = 1.0 / c if eta == 1.0 else (1.0 - eta) * u / c
    rise, curve = slope - marginal, curvature - eta * marginal / c
    near = y - rise / curve if curve < 0.0 else y
    near = max(low, min(near, high, y + 0.9 * c))
    return near, (near - y) * (rise + 0.5 * curve * (near - y))


@njit(cache=True, error_model="numpy")
def _iterate(
    x: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float, matrix: Array, value: Array, choice: Array
) -> bool:
    """Solve the problem at the points ``x`` by policy iteration; return whether it converged.

    ``W``, ``value`` and ``choice`` are ``(N_z, n)``; the last two are filled.
    """
    states, count = W.shape
    weights = _weights(x)
    rows = np.zeros((states, count, count))
    utility, ev = np.empty(W.shape), np.empty(W.shape)
    slopes, curvatures = np.empty(W.shape), np.empty(W.shape)
    for s in range(states):
        for k in range(count):
            if not W[s, k] > x[k]:
                return False
            choice[s, k] = x[k]
            rows[s, k, k] = 1.0
            utility[s, k] = crra(W[s, k] - x[k], eta)
            value[s, k] = utility[s, k] / (1.0 - beta)
    most = (1.0 - beta) * np.abs(value).max()
    for number in range(ROUNDS):
        last = most
        below = max(SHARE * epsilon, ROUNDING * np.abs(value).max())
        # As the next choices differ from these, their value need not be more exact than that of the next ones will be.
        enough = max(below, INEXACT * most)
        _evaluate(Q, beta, rows, utility, value, ev, enough)
        _expect(Q, beta, value, ev)
        _differentiate(matrix, ev, slopes)
        _differentiate(matrix, slopes, curvatures)
        most = 0.0
        for s in range(states):
            for k in range(count):
                row = rows[s, k]
                slope, curvature = _dot(row, slopes[s]), _dot(row, curvatures[s])
                near, gain = _newton(choice[s, k], W[s, k], utility[s, k], eta, slope, curvature, x[0], x[-1])
                choice[s, k] = near
                utility[s, k] = crra(W[s, k] - near, eta)
                _interpolate(x, weights, near, row)
                if not math.isfinite(gain):
                    return False
                most = max(most, abs(gain))
        if most < below and enough == below:
            return True
        # Newton's method squares the error of a smooth problem.
        if number >= PATIENCE and most > 0.5 * last:
            return False
    return False


@njit(cache=True, error_model="numpy")
def _test(
    X: Array,
    W: Array,
    Q: Array,
    beta: float,
    eta: float,
    nodes: NDArray[np.int64],
    matrix: Array,
    value: Array,
    choice: Array,
    given: Array,
) -> tuple[float, float, float]:
    """Measure the Bellman equation at grid points halfway between ``nodes``.

    Returns
    -------
    between, on, apart
        Half the largest spread of the change in a sweep with choices between grid points, and with choices on the grid
        if ``value`` is concave; half the largest spread of ``given - value``.
    """
    states, count = value.shape
    x = X[nodes]
    weights = _weights(x)
    row, there = np.empty(count), np.empty(count)
    ev, slopes, curvatures = np.empty(value.shape), np.empty(value.shape), np.empty(value.shape)
    _expect(Q, beta, value, ev)
    _differentiate(matrix, ev, slopes)
    _differentiate(matrix, slopes, curvatures)
    low, high = np.full((3, states), np.inf), np.full((3, states), -np.inf)
    halves = _extremes(X.size, 2 * count - 1)
    for half in range(1, 2 * count - 2, 2):
        i = halves[half]
        _interpolate(x, weights, X[i], row)
        for s in range(states):
            now = _dot(row, value[s])
            y = max(X[0], min(_dot(row, choice[s]), X[-1], W[i, s] - 0.1 * (W[i, s] - X[i])))
            _interpolate(x, weights, y, there)
            slope, curvature = _dot(there, slopes[s]), _dot(there, curvatures[s])
            y, _ = _newton(y, W[i, s], crra(W[i, s] - y, eta), eta, slope, curvature, X[0], X[-1])
            _interpolate(x, weights, y, there)
            best = crra(W[i, s] - y, eta) + _dot(there, ev[s])
            # The best choice on the grid is one of the two neighbours of the best choice between grid points.
            on = -np.inf
            above = np.searchsorted(X, y)
            for j in range(max(above - 1, 0), min(above, X.size - 1) + 1):
                if X[j] < W[i, s]:
                    _interpolate(x, weights, X[j], there)
                    on = max(on, crra(W[i, s] - X[j], eta) + _dot(there, ev[s]))
            measured = (best - now, on - now, given[i, s] - now)
            for k in range(3):
                if math.isfinite(measured[k]):
                    low[k, s], high[k, s] = min(low[k, s], measured[k]), max(high[k, s], measured[k])
                else:
                    low[k, s], high[k, s] = -np.inf, np.inf
    spread = (high - low) / 2.0
    return spread[0].max(), spread[1].max(), spread[2].max()


@njit(cache=True, fastmath=_FREE | {"nnan", "nsz"})
def _least_step(X: Array, begin: int, end: int) -> float:
    """Return the least distance of neighbouring points from ``begin`` to ``end``."""
    least = X[begin + 1] - X[begin]
    for k in range(begin + 1, end):
        least = min(least, X[k + 1] - X[k])
    return least


@njit(cache=True, error_model="numpy")
def _cubics(X: Array, stride: int, nodes: NDArray[np.int64], value: Array, slopes: Array, cubics: Array) -> bool:
    """Fill ``cubics``, ``(cells, 4, N_z)``: coefficients of the powers of the distance from a cell's first point.

    Returns whether each is so concave that its values on the grid are, after rounding.
    """
    states, count = value.shape
    x = X[nodes]
    weights = _weights(x)
    row = np.empty(count)
    ends, tangents = np.empty((2, states)), np.empty((2, states))
    cells = cubics.shape[0]
    largest = np.abs(value).max()
    concave = True
    for knot in range(cells + 1):
        i = min(knot * stride, X.size - 1)
        _interpolate(x, weights, X[i], row)
        for s in range(states):
            ends[1, s], tangents[1, s] = _dot(row, value[s]), _dot(row, slopes[s])
        if knot > 0:
            begin = (knot - 1) * stride
            width = X[i] - X[begin]
            least = _least_step(X, begin, i)
            for s in range(states):
                rise = (ends[1, s] - ends[0, s]) / width
                second = (3.0 * rise - 2.0 * tangents[0, s] - tangents[1, s]) / width
                third = (tangents[0, s] + tangents[1, s] - 2.0 * rise) / (width * width)
                cubics[knot - 1, 0, s], cubics[knot - 1, 1, s] = ends[0, s], tangents[0, s]
                cubics[knot - 1, 2, s], cubics[knot - 1, 3, s] = second, third
                bend = max(2.0 * second, 2.0 * second + 6.0 * third * width)
                concave &= bend * least * least < -16.0 * 2.0**-53 * largest
        for s in range(states):
            ends[0, s], tangents[0, s] = ends[1, s], tangents[1, s]
    return concave


@njit(cache=True, error_model="numpy")
def _draw(X: Array, stride: int, cubics: Array, drawn: Array) -> None:
    """Fill ``drawn``, ``(N_k, N_z)``, with the cubic polynomials of its cells."""
    states = drawn.shape[1]
    for cell in range(cubics.shape[0]):
        begin = cell * stride
        end = X.size if cell == cubics.shape[0] - 1 else begin + stride
        # Copies, which cannot overlap with `drawn`: several states are then computed at once.
        first, second = cubics[cell, 0].copy(), cubics[cell, 1].copy()
        third, fourth = cubics[cell, 2].copy(), cubics[cell, 3].copy()
        for i in range(begin, end):
            d = X[i] - X[begin]
            for s in range(states):
                drawn[i, s] = ((fourth[s] * d + third[s]) * d + second[s]) * d + first[s]


def _start(
    X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float, given: Array, count: int, drawn: Array
) -> tuple[float, bool]:
    """Fill ``drawn`` from polynomials of ``count`` points, unless a test fails.

    Returns
    -------
    residual, nearer
        Half the spread of the change at the tested points relative to that of the value, 0 if it is small enough; and
        as in :class:`Smooth`. ``drawn`` is filled only if the first is 0.
    """
    states = W.shape[1]
    nodes = _extremes(X.size, count)
    x = X[nodes]
    wealth = np.ascontiguousarray(W[nodes].T)
    matrix = _differentiation(x, _weights(x))
    value, choice, slopes = np.empty((states, count)), np.empty((states, count)), np.empty((states, count))
    if not _iterate(x, wealth, Q, beta, eta, epsilon, matrix, value, choice):
        return np.inf, False
    between, on, apart = _test(X, W, Q, beta, eta, nodes, matrix, value, choice, given)
    spread = float(np.ptp(value))
    if not between < max(epsilon, ENOUGH * spread):
        return between / spread if spread > 0.0 else math.inf, False
    _differentiate(matrix, value, slopes)
    stride = -(-(X.size - 1) // CELLS)
    cubics = np.empty((-(-(X.size - 1) // stride), 4, states))
    concave = _cubics(X, stride, nodes, value, slopes, cubics)
    _draw(X, stride, cubics, drawn)
    largest = beta * float(Q.sum(axis=1).max())
    return 0.0, concave and on < np.inf and largest < 1.0 and apart > 2.0 * on / (1.0 - largest)


@dataclass(frozen=True, eq=False)
class Smooth:
    """A start that passed its tests.

    Parameters
    ----------
    value
        ``(N_k, N_z)``, ``float64``, units of utility.
    nearer
        Whether each column is concave in ``x``, rounding included, and the tested states show that the start is nearer
        to the solution than the given one. Distance is measured up to a shift of each exogenous state's values, as in
        :func:`beltline.gpu_ref.starts.nearer`.
    """

    value: Array
    nearer: bool


def smooth_start(X: Array, W: Array, Q: Array, beta: float, eta: float, epsilon: float, given: Array) -> Smooth | None:
    """Return the solution of a smooth problem with choices between grid points, or None if the problem is not smooth.

    Arguments as in :mod:`beltline.gpu_ref`; ``given`` is another start, ``(N_k, N_z)``. It takes one core, and 0.3 ms
    on 65,536 x 4 states. There is no start either for fewer than :data:`FEWEST` points, or where a state of the
    polynomials cannot afford to stay at its ``x``.
    """
    if X.size < FEWEST:
        return None
    X, W, Q, given = (as_writable(np.ascontiguousarray(table)) for table in (X, W, Q, given))
    drawn = np.empty(W.shape)
    for count in COUNTS:
        residual, nearer = _start(X, W, Q, beta, eta, epsilon, given, count, drawn)
        if residual == 0.0:
            return Smooth(drawn, nearer)
        # Twice the points about square the residual.
        if not residual * residual < epsilon:
            break
    return None
