"""The best choice between grid points, given a continuation value that is a cubic polynomial on each interval.

The objective of a state is ``O(y) = U(W(x, s) - G(y, s)) + EV(y, s)`` for ``X_low <= y <= X_high``, where consumption
is above 0 and the cost ``G`` is linear between grid points. Within a cell, from one grid point to the next, ``O''`` is
concave in ``y``: the second derivative of ``U`` is, as ``U'''' < 0``, and that of a cubic is linear. So ``O''`` is
positive on at most one interval, ``O`` has at most two local maxima in a cell, and where ``O'''`` and ``O''`` change
sign is known or found by bisection, so that Newton's method finds both. Nothing is assumed about the objective across
cells: a cell is skipped only if the best objective found so far is not exceeded in it, because the objective is concave
in it and largest at an end, or by the utility of its cheaper end and the larger expectation of both, which together
bound the objective because each piece is monotone.

Where ``G`` rises the objective has increasing differences in ``x`` and ``y``, because ``U`` is concave and ``W`` is
non-decreasing; where it falls and ``EV`` rises, the higher of two choices is better in every row. So if ``G`` or ``EV``
rises, the lowest maximiser is non-decreasing in ``x``, and each row is searched between the cells of its
neighbours: from the last choices, again wherever a neighbour's cell changes, and by divide and conquer if that takes
long (:mod:`beltline.gpu_ref.exact` has the argument, which also holds for choices between grid points). Other rows are
searched alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.utility import DOUBLE, crra
from beltline.host.problem.arrays import Array

HALVINGS = 60
"""Largest number of steps of a search in an interval, after which bisection leaves one rounding error."""

CLOSE = 2.0**-27
"""Newton step, as a share of the end of the interval, after which a peak is found: the error is of its square."""

MOST = 64
"""Grid points looked at for each state, on average, after which divide and conquer takes over."""


@njit(cache=True, error_model="numpy")
def _marginal(c: float, eta: float) -> float:
    """Return marginal utility; a division where ``eta`` is 1 or 2, which is much faster than a power."""
    if eta == 2.0:
        return 1.0 / (c * c)
    if eta == 1.0:
        return 1.0 / c
    if eta == 0.0:
        return 1.0
    return c**-eta


@njit(cache=True, error_model="numpy")
def _slope(t: float, room: float, price: float, eta: float, c1: float, c2: float, c3: float) -> float:
    """Return ``O'`` at a distance ``t`` above the cell's lower point, where ``room`` is consumption at that point."""
    return c1 + t * (2.0 * c2 + t * 3.0 * c3) - price * _marginal(room - price * t, eta)


@njit(cache=True, error_model="numpy")
def _second(t: float, room: float, price: float, eta: float, c2: float, c3: float) -> float:
    """Return ``O''``; arguments as of :func:`_slope`."""
    if eta == 0.0:
        return 2.0 * c2 + 6.0 * c3 * t
    c = room - price * t
    return 2.0 * c2 + 6.0 * c3 * t - eta * price * price * _marginal(c, eta) / c


@njit(cache=True, error_model="numpy")
def _highest(low: float, high: float, room: float, price: float, eta: float, c1: float, c2: float, c3: float) -> float:
    """Return where ``O`` is largest between ``low`` and ``high``, between which ``O'`` is decreasing."""
    if _slope(low, room, price, eta, c1, c2, c3) <= 0.0:
        return low
    if (eta == 0.0 or room - price * high > 0.0) and _slope(high, room, price, eta, c1, c2, c3) >= 0.0:
        return high
    return _peak(low, high, 0.5 * (low + high), room, price, eta, c1, c2, c3)


@njit(cache=True, error_model="numpy")
def _peak(
    low: float, high: float, t: float, room: float, price: float, eta: float, c1: float, c2: float, c3: float
) -> float:
    """Return where ``O'``, above 0 at ``low`` and below at ``high``, is 0, by Newton's method from ``t``."""
    linear = eta == 0.0
    close = CLOSE * high
    for _ in range(HALVINGS):
        before, c = t, room - price * t
        if linear or c > 0.0:
            cost = price * _marginal(c, eta)
            slope = c1 + t * (2.0 * c2 + t * 3.0 * c3) - cost
            second = 2.0 * c2 + 6.0 * c3 * t - (0.0 if linear else eta * price * cost / c)
            low, high = (t, high) if slope > 0.0 else (low, t)
            t -= slope / second if second < 0.0 else np.inf
        else:
            high = t
        # An end may be the peak itself.
        if not low <= t <= high:
            t = 0.5 * (low + high)
        if abs(t - before) <= close:
            break
    return t if linear or room - price * t > 0.0 else low


@njit(cache=True, error_model="numpy")
def _inflection(negative: float, positive: float, room: float, price: float, eta: float, c2: float, c3: float) -> float:
    """Return where ``O''``, not above 0 at the first end and above 0 at the second, changes its sign."""
    for _ in range(HALVINGS):
        middle = 0.5 * (negative + positive)
        if (eta == 0.0 or room - price * middle > 0.0) and _second(middle, room, price, eta, c2, c3) > 0.0:
            positive = middle
        else:
            negative = middle
    return negative


@njit(cache=True, error_model="numpy")
def best_in_cell(
    room: float, width: float, price: float, eta: float, c0: float, c1: float, c2: float, c3: float
) -> tuple[float, float]:
    """Return the largest objective in a cell, and at which distance from the cell's lower point.

    If two local maxima are equal, the lower one is returned. ``room`` is consumption at the lower point, above 0 unless
    ``eta`` is 0; ``price`` is the slope of the cost; ``EV = c0 + c1 t + c2 t**2 + c3 t**3`` at a distance ``t``.
    """
    end, short = width, False
    if eta > 0.0 and price * width >= room:
        end, short = room / price, True
    # Where O'' is largest.
    top = 0.0
    if c3 * price > 0.0 and eta > 0.0:
        if 6.0 * c3 > eta * (eta + 1.0) * price**3 * _marginal(room, eta) / (room * room) or price < 0.0:
            least = (eta * (eta + 1.0) * price**3 / (6.0 * c3)) ** (1.0 / (eta + 2.0))
            top = min(max((room - least) / price, 0.0), end)
    elif c3 > 0.0 or (price < 0.0 and eta > 0.0):
        top = end
    at = -1.0
    if (short and top >= end) or _second(top, room, price, eta, c2, c3) <= 0.0:
        at = _highest(0.0, end, room, price, eta, c1, c2, c3)
    if at >= 0.0:
        return crra(room - price * at, eta) + c0 + at * (c1 + at * (c2 + at * c3)), at
    first = 0.0
    if _second(0.0, room, price, eta, c2, c3) <= 0.0:
        inflection = _inflection(0.0, top, room, price, eta, c2, c3)
        first = _highest(0.0, inflection, room, price, eta, c1, c2, c3)
    second = end
    if short or _second(end, room, price, eta, c2, c3) <= 0.0:
        inflection = _inflection(end, top, room, price, eta, c2, c3)
        second = _highest(inflection, end, room, price, eta, c1, c2, c3)
    best = crra(room - price * first, eta) + c0 + first * (c1 + first * (c2 + first * c3))
    other = -np.inf
    if eta == 0.0 or room - price * second > 0.0:
        other = crra(room - price * second, eta) + c0 + second * (c1 + second * (c2 + second * c3))
    return (other, second) if other > best else (best, first)


@njit(cache=True, error_model="numpy")
def _row(
    X: Array, G: Array, wealth: float, eta: float, negative: bool, ev: Array, pieces: Array, low: int, high: int
) -> tuple[float, int, float]:
    """Return the largest objective from grid point ``low`` to ``high``, its cell, -1 without one, and its distance from
    the lower point.

    ``pieces``, ``(4, N_k - 1)``, has the coefficients of ``EV`` in each cell, the cubic one first.
    """
    best, cell, at = -np.inf, -1, 0.0
    for j in range(low, high + 1):
        c = wealth - G[j]
        if c > 0.0 or negative:
            objective = crra(c, eta) + ev[j]
            if objective > best:
                best, cell = objective, j
    # The best grid point is the lower end of its cell, or the upper end of the last one.
    if cell == X.size - 1:
        cell, at = cell - 1, X[cell] - X[cell - 1]
    for j in range(low, high):
        room, end, width = wealth - G[j], wealth - G[j + 1], X[j + 1] - X[j]
        # Consumption must be positive at the lower end, unless the cost falls: then at both.
        if not (room > 0.0 or negative) or ev[j] == -np.inf or ev[j + 1] == -np.inf:
            continue
        price, c1, c2, c3 = (G[j + 1] - G[j]) / width, pieces[2, j], pieces[1, j], pieces[0, j]
        if end > 0.0 or eta == 0.0:
            here, there = price * _marginal(room, eta), price * _marginal(end, eta)
            left, right = c1 - here, c1 + width * (2.0 * c2 + width * 3.0 * c3) - there
            bend = 2.0 * c2 + max(6.0 * c3 * width, 0.0)
            if bend <= (0.0 if eta == 0.0 else eta * price * min(here / room, there / end)):
                # The objective is concave in this cell, and largest at an end, or where a chord of its slope says.
                if left <= 0.0 or right >= 0.0:
                    continue
                where = _peak(0.0, width, width * left / (left - right), room, price, eta, c1, c2, c3)
                found = crra(room - price * where, eta) + ev[j] + where * (c1 + where * (c2 + where * c3))
                if found > best and (negative or room - price * where > 0.0):
                    best, cell, at = found, j, where
                continue
        elif price < 0.0:
            continue
        utility = crra(room, eta)
        if end > 0.0 or negative:
            utility = max(utility, crra(end, eta))
        if not utility + max(ev[j], ev[j + 1]) > best:
            continue
        found, where = best_in_cell(room, width, price, eta, ev[j], c1, c2, c3)
        if found > best and (negative or room - price * where > 0.0):
            best, cell, at = found, j, where
    return best, cell, at


@njit(cache=True)
def _rises(table: Array) -> bool:
    return bool((table[1:] >= table[:-1]).all())


@njit(cache=True, error_model="numpy")
def _bracketed(
    X: Array, G: Array, W: Array, low: NDArray[np.int32], high: NDArray[np.int32], eta: float, negative: bool,
    ev: Array, pieces: Array, value: Array, cell: NDArray[np.int32], at: Array,
) -> bool:  # fmt: skip
    """Find the best choices of a state's rows between those of their neighbours, starting from ``cell``.

    A row is searched again whenever a neighbour's cell has changed, so that in the end every choice is the best from
    the cell of the row before to that of the row after. As it rises along the rows, it is then the best of all
    (:mod:`beltline.gpu_ref.general.column` has the theorem). Returns whether that came to an end.
    """
    count, left, before = W.size, MOST * W.size, 0
    for x in range(count):
        if cell[x] < 0 or low[x] > high[x]:
            return False
        before = cell[x] = min(max(before, cell[x], low[x]), high[x])
    asked, waiting, size, following = np.ones(count, np.bool_), np.empty(count, np.int64), 0, 0
    while following < count or size:
        if following < count:
            x, following = following, following + 1
        else:
            size -= 1
            x = waiting[size]
        asked[x] = False
        least = max(low[x], cell[x - 1]) if x else low[x]
        most = min(high[x], cell[x + 1] + 1) if x + 1 < count else high[x]
        left -= max(most - least, 0) + 1
        if least > most or left < 0:
            return False
        old = cell[x]
        value[x], cell[x], at[x] = _row(X, G, W[x], eta, negative, ev, pieces, least, most)
        if cell[x] < 0:
            return False
        if cell[x] != old:
            for other in (x - 1, x + 1):
                if 0 <= other < following and not asked[other]:
                    asked[other] = True
                    waiting[size] = other
                    size += 1
    return True


@njit(cache=True, error_model="numpy")
def _divided(
    X: Array, G: Array, W: Array, low: NDArray[np.int32], high: NDArray[np.int32], eta: float, negative: bool,
    ev: Array, pieces: Array, value: Array, cell: NDArray[np.int32], at: Array, rises: bool,
) -> None:  # fmt: skip
    """Find the best choices of a state's rows by divide and conquer, or where they need not rise, of each row alone."""
    end, stride = W.size - 1, 1
    while stride < end:
        stride *= 2
    for x, other in ((end, -1), (0, end)):
        least, most = low[x], high[x]
        if rises and other >= 0 and cell[other] >= 0:
            most = min(most, cell[other] + 1)
        value[x], cell[x], at[x] = _row(X, G, W[x], eta, negative, ev, pieces, least, most)
    while stride > 1:
        stride //= 2
        for x in range(stride, end, 2 * stride):
            least, most = low[x], high[x]
            above = cell[min(x + stride, end)]
            if rises:
                least = max(least, cell[x - stride])
                most = min(most, above + 1) if above >= 0 else most
            value[x], cell[x], at[x] = _row(X, G, W[x], eta, negative, ev, pieces, least, most)


@njit(parallel=True, cache=True, error_model="numpy")
def search(
    X: Array, G: Array, W: Array, low: NDArray[np.int32], high: NDArray[np.int32], eta: float, negative: bool,
    ev: Array, pieces: Array, value: Array, choice: Array, below: NDArray[np.int32], share: Array,
) -> None:  # fmt: skip
    """Fill ``value``, ``choice``, ``below`` and ``share``, ``(N_d, N_k, N_z)``, for which ``below`` has a first guess.

    Other arrays are ``(N_d N_z, N_k)``, one row for each alternative and exogenous state.
    """
    count, points, states = value.shape
    for row in prange(count * states):
        d, s = row // states, row % states
        found, at, cell = np.empty(points), np.empty(points), below[d, :, s].copy()
        rises = negative or _rises(G[row]) or _rises(ev[row])
        tables = X, G[row], W[row], low[row], high[row], eta, negative, ev[row], pieces[row], found, cell, at
        if not (rises and _bracketed(*tables)):
            _divided(*tables, rises)
        for x in range(points):
            j = below[d, x, s] = cell[x]
            value[d, x, s], share[d, x, s], choice[d, x, s] = found[x], 0.0, np.nan
            if j >= 0:
                # Rounding of a grid point and a distance to their sum must leave some consumption.
                price = (G[row, j + 1] - G[row, j]) / (X[j + 1] - X[j])
                if not negative and G[row, j] + price * at[x] >= W[row, x]:
                    at[x] = max(at[x] - 4.0 * DOUBLE * W[row, x] / price, 0.0)
                share[d, x, s] = min(max(at[x] / (X[j + 1] - X[j]), 0.0), 1.0)
                choice[d, x, s] = X[j] + at[x]
