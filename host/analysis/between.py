"""The best choice between grid points, where the value ahead is a cubic polynomial from point to point.

The objective of a state is ``O(y) = U(W(x, s) - y) + EV(y, s)`` for ``X_0 <= y <= X_n``, ``y < W(x, s)``. Within a
cell, from one grid point to the next, ``O''`` is concave in ``y``: ``U''`` is, as ``U'''' < 0``, and the second
derivative of a cubic is a line. So ``O''`` is positive on one interval at most, ``O`` has at most two peaks in a cell,
and bisection of ``O''`` and ``O'`` finds both. Between cells nothing is assumed: a cell is left out only where
``U(W - X_j) + max(EV_j, EV_(j+1))``, which no choice of a monotone piece exceeds, does not beat the best found so far.

Of ``x`` and ``y`` the objective has increasing differences, whatever ``EV`` is: ``U`` is concave and ``W`` does not
fall. So the lowest maximiser does not fall in ``x``, and rows are searched by divide and conquer, each between the
cells of its solved neighbours (:mod:`beltline.gpu_ref.exact` has the argument, which holds of real choices as well).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.utility import crra
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility

Pieces = Callable[[Array, Array], Array]
"""Makes ``(N_z, 4, N_k - 1)`` coefficients, from the cube down, of the grid and a table ``(N_z, N_k)``."""

HALVINGS = 60
"""Of an interval, after which its ends are one rounding apart."""


@njit(cache=True, inline="always")
def _slope(t: float, room: float, eta: float, c1: float, c2: float, c3: float) -> float:
    """``O'`` at ``t`` beyond the cell's lower point, where ``room`` is what is left there."""
    return c1 + t * (2.0 * c2 + t * 3.0 * c3) - (room - t) ** -eta


@njit(cache=True, inline="always")
def _bend(t: float, room: float, eta: float, c2: float, c3: float) -> float:
    """``O''``."""
    return 2.0 * c2 + 6.0 * c3 * t - eta * (room - t) ** (-eta - 1.0)


@njit(cache=True)
def _peak(low: float, high: float, room: float, eta: float, c1: float, c2: float, c3: float) -> float:
    """Where ``O`` is largest between ``low`` and ``high``, between which ``O'`` falls."""
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
def _turn(negative: float, positive: float, room: float, eta: float, c2: float, c3: float) -> float:
    """Where ``O''``, not above zero at one end and above it at the other, changes its sign."""
    for _ in range(HALVINGS):
        middle = 0.5 * (negative + positive)
        if middle < room and _bend(middle, room, eta, c2, c3) > 0.0:
            positive = middle
        else:
            negative = middle
    return negative


@njit(cache=True)
def best_in_cell(
    room: float, width: float, eta: float, c0: float, c1: float, c2: float, c3: float
) -> tuple[float, float]:
    """The largest objective of a cell and where it is, from 0 to ``width`` beyond the cell's lower point.

    ``room`` is ``W`` less that point, above 0; ``c0 + c1 t + c2 t**2 + c3 t**3`` is ``EV``. The lower of two peaks
    where they are equal.
    """
    end = min(width, room)
    top = 0.0
    if c3 > 0.0:
        top = min(max(room - (eta * (eta + 1.0) / (6.0 * c3)) ** (1.0 / (eta + 2.0)), 0.0), end)
    at = _peak(0.0, end, room, eta, c1, c2, c3) if top >= room or _bend(top, room, eta, c2, c3) <= 0.0 else -1.0
    if at >= 0.0:
        return crra(room - at, eta) + c0 + at * (c1 + at * (c2 + at * c3)), at
    first = 0.0
    if _bend(0.0, room, eta, c2, c3) <= 0.0:
        first = _peak(0.0, _turn(0.0, top, room, eta, c2, c3), room, eta, c1, c2, c3)
    second = end
    if end >= room or _bend(end, room, eta, c2, c3) <= 0.0:
        second = _peak(_turn(end, top, room, eta, c2, c3), end, room, eta, c1, c2, c3)
    best = crra(room - first, eta) + c0 + first * (c1 + first * (c2 + first * c3))
    other = crra(room - second, eta) + c0 + second * (c1 + second * (c2 + second * c3)) if second < room else -np.inf
    return (other, second) if other > best else (best, first)


@njit(cache=True)
def _row(
    X: Array, wealth: float, eta: float, ev: Array, pieces: Array, low: int, high: int, u: Array
) -> tuple[float, int, float]:
    """The best of the cells from ``low`` to ``high``: the objective, the cell and how far beyond its lower point.

    ``pieces`` is ``(4, N_k - 1)``, the coefficients of ``EV`` in each cell from the cube down; ``u`` is scratch.
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
    """Fill ``value``, ``cell`` and ``at``; these and ``W`` and ``ev`` are ``(N_z, N_k)``."""
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
    """Lines from point to point."""
    pieces = np.zeros((ev.shape[0], 4, grid.size - 1))
    pieces[:, 3] = ev[:, :-1]
    pieces[:, 2] = np.diff(ev) / np.diff(grid)
    return pieces


def monotone_cubics(grid: Array, ev: Array) -> Array:
    """Cubics with continuous slopes that rise and fall where the table does (Fritsch and Butland 1984)."""
    # Here, because it takes a fifth of a second to load.
    from scipy.interpolate import PchipInterpolator

    return np.ascontiguousarray(PchipInterpolator(grid, ev.T, axis=0).c.transpose(2, 0, 1))


@dataclass(frozen=True, eq=False)
class Choices:
    """The best choices of all states between grid points.

    Parameters
    ----------
    value : (N_k, N_z) float64 array
        What they are worth, units of utility.
    choice : (N_k, N_z) float64 array
        Units of the grid; below ``W``.
    cell : (N_z, N_k) int32 array
        The grid point at or below each, at most ``N_k - 2``.
    at : (N_z, N_k) float64 array
        How far beyond that point.
    """

    value: Array
    choice: Array
    cell: NDArray[np.int32]
    at: Array


def _ahead(problem: Problem, value: Array) -> Array:
    return np.ascontiguousarray(problem.beta * (problem.transition @ value.T))


def maximise(problem: Problem, value: Array, pieces: Pieces) -> Choices:
    """Find the best choices between grid points of all states, where ``value`` ahead, ``(N_k, N_z)``, is finite."""
    ev = _ahead(problem, value)
    W = np.ascontiguousarray(problem.wealth.T)
    best, cell, at = np.empty(W.shape), np.empty(W.shape, np.int32), np.empty(W.shape)
    _search(problem.grid, W, problem.eta, ev, pieces(problem.grid, ev), best, cell, at)
    choice = np.ascontiguousarray((problem.grid[cell] + at).T)
    return Choices(np.ascontiguousarray(best.T), choice, cell, at)


def evaluate(problem: Problem, value: Array, choices: Choices, pieces: Pieces, sweeps: int) -> Array:
    """Return the value after ``sweeps`` more policy evaluation sweeps, ``(N_k, N_z)``."""
    now = utility(problem.wealth - choices.choice, problem.eta).T
    cell, at = choices.cell, choices.at
    for _ in range(sweeps):
        table = pieces(problem.grid, _ahead(problem, value))
        cubic, square, slope, level = (np.take_along_axis(table[:, power], cell, axis=1) for power in range(4))
        value = (now + level + at * (slope + at * (square + at * cubic))).T
    return value
