"""The best choice between grid points, given a continuation value that is a cubic polynomial on each interval.

The objective of a state is ``O(y) = U(W(x, s) - y) + EV(y, s)`` for ``X_0 <= y <= X_n``, ``y < W(x, s)``. Within a
cell, from one grid point to the next, ``O''`` is concave in ``y``: ``U''`` is, as ``U'''' < 0``, and the second
derivative of a cubic is linear. So ``O''`` is positive on at most one interval, ``O`` has at most two local maxima in a
cell, and bisection of ``O''`` and ``O'`` finds both. Nothing is assumed about the objective across cells: a cell is
skipped only if ``U(W - X_j) + max(EV_j, EV_(j+1))``, which bounds the objective in it because each piece is monotone,
does not exceed the best objective found so far.

The objective has increasing differences in ``x`` and ``y`` for every ``EV``, because ``U`` is concave and ``W`` is
non-decreasing. So the lowest maximiser is non-decreasing in ``x``, and rows are searched by divide and conquer, each
between the cells of neighbours that are solved already (:mod:`beltline.gpu_ref.exact` has the argument, which also
holds for choices between grid points).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, njit_inlined, prange
from beltline.gpu_ref.utility import crra
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility

Pieces = Callable[[Array, Array], Array]
"""Returns coefficients, ``(N_z, 4, N_k - 1)``, the cubic ones first, from the grid and a table ``(N_z, N_k)``."""

HALVINGS = 60
"""Number of bisections, after which the ends of an interval differ by one rounding error."""


@njit_inlined
def _slope(t: float, room: float, eta: float, c1: float, c2: float, c3: float) -> float:
    """Return ``O'`` at a distance ``t`` above the cell's lower point, where ``room`` is ``W`` less that point."""
    return c1 + t * (2.0 * c2 + t * 3.0 * c3) - (room - t) ** -eta


@njit_inlined
def _second(t: float, room: float, eta: float, c2: float, c3: float) -> float:
    """Return ``O''``; arguments as of :func:`_slope`."""
    return 2.0 * c2 + 6.0 * c3 * t - eta * (room - t) ** (-eta - 1.0)


@njit(cache=True)
def _peak(low: float, high: float, room: float, eta: float, c1: float, c2: float, c3: float) -> float:
    """Return where ``O`` is largest between ``low`` and ``high``, between which ``O'`` is decreasing."""
    if _slope(low, room, eta, c1, c2, c3) <= 0.0:
        return low
    if high < room and _slope(high, room, eta, c1, c2, c3) >= 0.0:
        return high
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if middle < room and _slope(middle, room, eta, c1, c2, c3) > 0.0:
            low = middle
        else:
            high = middle
    return low


@njit(cache=True)
def _inflection(negative: float, positive: float, room: float, eta: float, c2: float, c3: float) -> float:
    """Return where ``O''``, not above 0 at the first end and above 0 at the second, changes its sign."""
    for _ in range(HALVINGS):
        middle = 0.5 * (negative + positive)
        if middle < room and _second(middle, room, eta, c2, c3) > 0.0:
            positive = middle
        else:
            negative = middle
    return negative


@njit(cache=True)
def best_in_cell(
    room: float, width: float, eta: float, c0: float, c1: float, c2: float, c3: float
) -> tuple[float, float]:
    """Return the largest objective in a cell, and at which distance from the cell's lower point.

    If two local maxima are equal, the lower one is returned.

    Parameters
    ----------
    room
        Cash on hand ``W`` less the cell's lower point, above 0.
    width
        Length of the cell.
    eta
        Relative risk aversion.
    c0, c1, c2, c3
        Coefficients of ``EV = c0 + c1 t + c2 t**2 + c3 t**3`` at a distance ``t`` from the lower point.
    """
    end = min(width, room)
    top = 0.0
    if c3 > 0.0:
        top = min(max(room - (eta * (eta + 1.0) / (6.0 * c3)) ** (1.0 / (eta + 2.0)), 0.0), end)
    at = _peak(0.0, end, room, eta, c1, c2, c3) if top >= room or _second(top, room, eta, c2, c3) <= 0.0 else -1.0
    if at >= 0.0:
        return crra(room - at, eta) + c0 + at * (c1 + at * (c2 + at * c3)), at
    first = 0.0
    if _second(0.0, room, eta, c2, c3) <= 0.0:
        first = _peak(0.0, _inflection(0.0, top, room, eta, c2, c3), room, eta, c1, c2, c3)
    second = end
    if end >= room or _second(end, room, eta, c2, c3) <= 0.0:
        second = _peak(_inflection(end, top, room, eta, c2, c3), end, room, eta, c1, c2, c3)
    best = crra(room - first, eta) + c0 + first * (c1 + first * (c2 + first * c3))
    other = crra(room - second, eta) + c0 + second * (c1 + second * (c2 + second * c3)) if second < room else -np.inf
    return (other, second) if other > best else (best, first)


@njit(cache=True)
def _row(
    X: Array, wealth: float, eta: float, ev: Array, pieces: Array, low: int, high: int, u: Array
) -> tuple[float, int, float]:
    """Return the largest objective in the cells ``low`` to ``high``, its cell, and its distance from the lower point.

    ``pieces``, ``(4, N_k - 1)``, has the coefficients of ``EV`` in each cell, the cubic one first; ``u`` is a work
    array.
    """
    best, cell, at = -np.inf, -1, 0.0
    last = low
    for j in range(low, high + 2):
        if not X[j] < wealth:
            break
        last = j
        u[j] = crra(wealth - X[j], eta)
        if u[j] + ev[j] > best:
            best = u[j] + ev[j]
            cell = j
    # The best grid point is the lower end of its cell, or the upper end of the last one.
    if cell > high:
        cell, at = high, X[high + 1] - X[high]
    for j in range(low, min(last, high) + 1):
        if u[j] + max(ev[j], ev[j + 1]) <= best:
            continue
        found, where = best_in_cell(
            wealth - X[j], X[j + 1] - X[j], eta, pieces[3, j], pieces[2, j], pieces[1, j], pieces[0, j]
        )
        if found > best and wealth - (X[j] + where) > 0.0:
            best, cell, at = found, j, where
    return best, cell, at


@njit(parallel=True, cache=True)
def _search(
    X: Array, W: Array, eta: float, ev: Array, pieces: Array, value: Array, cell: NDArray[np.int32], at: Array
) -> None:
    """Find the best choices of all states; arrays are ``(N_z, N_k)``, and ``value``, ``cell`` and ``at`` are filled."""
    states, grid = W.shape
    for s in prange(states):
        u = np.empty(grid)
        end = grid - 1
        value[s, end], cell[s, end], at[s, end] = _row(X, W[s, end], eta, ev[s], pieces[s], 0, grid - 2, u)
        value[s, 0], cell[s, 0], at[s, 0] = _row(X, W[s, 0], eta, ev[s], pieces[s], 0, cell[s, end], u)
        stride = 1
        while stride < end:
            stride *= 2
        while stride > 1:
            stride //= 2
            for x in range(stride, end, 2 * stride):
                low, high = cell[s, x - stride], cell[s, min(x + stride, end)]
                value[s, x], cell[s, x], at[s, x] = _row(X, W[s, x], eta, ev[s], pieces[s], low, high, u)


def straight(grid: Array, ev: Array) -> Array:
    """Return the coefficients of linear interpolation of ``ev`` in each cell, in the form that :func:`maximise`
    takes.
    """
    pieces = np.zeros((ev.shape[0], 4, grid.size - 1))
    pieces[:, 3] = ev[:, :-1]
    pieces[:, 2] = np.diff(ev) / np.diff(grid)
    return pieces


def monotone_cubics(grid: Array, ev: Array) -> Array:
    """Return the coefficients of monotone cubic interpolation, with continuous slopes (Fritsch and Butland 1984)."""
    # Imported here because it takes a fifth of a second to load.
    from scipy.interpolate import PchipInterpolator

    return np.ascontiguousarray(PchipInterpolator(grid, ev.T, axis=0).c.transpose(2, 0, 1))


@dataclass(frozen=True, eq=False)
class Choices:
    """The best choices between grid points of all states.

    Parameters
    ----------
    value : (N_k, N_z) float64 array
        Value of the choices, in units of utility.
    choice : (N_k, N_z) float64 array
        The choices in units of the grid; below ``W``.
    cell : (N_z, N_k) int32 array
        Index of the grid point at or below each choice, at most ``N_k - 2``.
    at : (N_z, N_k) float64 array
        Distance of each choice from that point.
    """

    value: Array
    choice: Array
    cell: NDArray[np.int32]
    at: Array


def _ahead(problem: Problem, value: Array) -> Array:
    return np.ascontiguousarray(problem.beta * (problem.transition @ value.T))


def maximise(problem: Problem, value: Array, pieces: Pieces) -> Choices:
    """Find the best choices between grid points of all states, given the next period's ``value``, ``(N_k, N_z)``.

    ``pieces`` interpolates expectations between grid points: :func:`straight` or :func:`monotone_cubics`.
    """
    ev = _ahead(problem, value)
    W = np.ascontiguousarray(problem.wealth.T)
    best, cell, at = np.empty(W.shape), np.empty(W.shape, np.int32), np.empty(W.shape)
    _search(problem.grid, W, problem.eta, ev, pieces(problem.grid, ev), best, cell, at)
    choice = np.ascontiguousarray((problem.grid[cell] + at).T)
    return Choices(np.ascontiguousarray(best.T), choice, cell, at)


def evaluate(problem: Problem, value: Array, choices: Choices, pieces: Pieces, sweeps: int) -> Array:
    """Return the value, ``(N_k, N_z)``, after ``sweeps`` policy evaluation sweeps from ``value``.

    ``pieces`` is as for :func:`maximise`.
    """
    now = utility(problem.wealth - choices.choice, problem.eta).T
    cell, at = choices.cell, choices.at
    for _ in range(sweeps):
        table = pieces(problem.grid, _ahead(problem, value))
        cubic, square, slope, level = (np.take_along_axis(table[:, power], cell, axis=1) for power in range(4))
        value = (now + level + at * (slope + at * (square + at * cubic))).T
    return value
