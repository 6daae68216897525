"""The best choice between grid points, given a continuation value that is a cubic polynomial on each interval.

The objective of a state is ``O(y) = U(W(x, s) - G(y, s)) + EV(y, s)`` for ``X_low <= y <= X_high``, where consumption
is above 0 and the cost ``G`` is linear between grid points. Within a cell, from one grid point to the next, ``O''`` is
concave in ``y``: the second derivative of ``U`` is, as ``U'''' < 0``, and that of a cubic is linear. So ``O''`` is
positive on at most one interval, ``O`` has at most two local maxima in a cell, and where ``O'''`` and ``O''`` change
sign is known or found by bisection, so that Newton's method finds both. Nothing is assumed about the objective across
cells: a cell is skipped only if the utility of its cheaper end and the larger expectation of both, which together bound
the objective in it because each piece is monotone, do not exceed the best objective found so far.

The objective has increasing differences in ``x`` and ``y`` for every ``EV`` and ``G``, because ``U`` is concave and
``W`` is non-decreasing. So the lowest maximiser is non-decreasing in ``x``, and rows are searched by divide and
conquer, each between the cells of neighbours that are solved already (:mod:`beltline.gpu_ref.exact` has the argument,
which also holds for choices between grid points).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.general.form import Branch
from beltline.gpu_ref.utility import crra
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem

Pieces = Callable[[Array, Array], Array]
"""Returns coefficients, ``(rows, 4, N_k - 1)``, the cubic ones first, from the grid and a table ``(rows, N_k)``."""

HALVINGS = 60
"""Largest number of steps of a search in an interval, after which bisection leaves one rounding error."""

CLOSE = 2.0**-27
"""Newton step, as a share of the end of the interval, after which a peak is found: the error is of its square."""


EVALUATIONS, REST = 4, 1e-3
"""Largest number of corrections of a value after each maximisation, and the share of the first gap that may be left."""

PASSES, NEARLY = 100, 0.3
"""Largest number of passes over the grid of a correction, and the share of the gap that the last may move."""


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
def _peak(low: float, high: float, room: float, price: float, eta: float, c1: float, c2: float, c3: float) -> float:
    """Return where ``O`` is largest between ``low`` and ``high``, between which ``O'`` is decreasing."""
    linear = eta == 0.0
    if _slope(low, room, price, eta, c1, c2, c3) <= 0.0:
        return low
    if (linear or room - price * high > 0.0) and _slope(high, room, price, eta, c1, c2, c3) >= 0.0:
        return high
    close = CLOSE * high
    t = 0.5 * (low + high)
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
        at = _peak(0.0, end, room, price, eta, c1, c2, c3)
    if at >= 0.0:
        return crra(room - price * at, eta) + c0 + at * (c1 + at * (c2 + at * c3)), at
    first = 0.0
    if _second(0.0, room, price, eta, c2, c3) <= 0.0:
        inflection = _inflection(0.0, top, room, price, eta, c2, c3)
        first = _peak(0.0, inflection, room, price, eta, c1, c2, c3)
    second = end
    if short or _second(end, room, price, eta, c2, c3) <= 0.0:
        inflection = _inflection(end, top, room, price, eta, c2, c3)
        second = _peak(inflection, end, room, price, eta, c1, c2, c3)
    best = crra(room - price * first, eta) + c0 + first * (c1 + first * (c2 + first * c3))
    other = -np.inf
    if eta == 0.0 or room - price * second > 0.0:
        other = crra(room - price * second, eta) + c0 + second * (c1 + second * (c2 + second * c3))
    return (other, second) if other > best else (best, first)


@njit(cache=True, error_model="numpy")
def _row(
    X: Array, G: Array, wealth: float, eta: float, negative: bool, ev: Array, pieces: Array, low: int, high: int,
    u: Array,
) -> tuple[float, int, float]:  # fmt: skip
    """Return the largest objective from grid point ``low`` to ``high``, its cell, -1 without one, and its distance from
    the lower point.

    ``pieces``, ``(4, N_k - 1)``, has the coefficients of ``EV`` in each cell, the cubic one first; ``u`` is a work
    array.
    """
    best, cell, at = -np.inf, -1, 0.0
    for j in range(low, high + 1):
        c = wealth - G[j]
        u[j] = crra(c, eta) if c > 0.0 or negative else -np.inf
        if u[j] + ev[j] > best:
            best, cell = u[j] + ev[j], j
    # The best grid point is the lower end of its cell, or the upper end of the last one.
    if cell == X.size - 1:
        cell, at = cell - 1, X[cell] - X[cell - 1]
    for j in range(low, high):
        # Consumption must be positive at the lower end, unless the cost falls: then at both.
        if u[j] == -np.inf or (G[j + 1] < G[j] and u[j + 1] == -np.inf):
            continue
        if not max(u[j], u[j + 1]) + max(ev[j], ev[j + 1]) > best or ev[j] == -np.inf or ev[j + 1] == -np.inf:
            continue
        width = X[j + 1] - X[j]
        price = (G[j + 1] - G[j]) / width
        found, where = best_in_cell(
            wealth - G[j], width, price, eta, pieces[3, j], pieces[2, j], pieces[1, j], pieces[0, j]
        )
        if found > best and (negative or wealth - (G[j] + price * where) > 0.0):
            best, cell, at = found, j, where
    return best, cell, at


@njit(parallel=True, cache=True, error_model="numpy")
def _search(
    X: Array, G: Array, W: Array, low: NDArray[np.int32], high: NDArray[np.int32], eta: float, negative: bool,
    ev: Array, pieces: Array, value: Array, cell: NDArray[np.int32], at: Array,
) -> None:  # fmt: skip
    """Find the best choices of all states; arrays are ``(rows, N_k)``, and ``value``, ``cell``, ``at`` are filled."""
    rows, grid = W.shape
    for s in prange(rows):
        u = np.empty(grid)
        end, stride = grid - 1, 1
        while stride < end:
            stride *= 2
        for x, other in ((end, -1), (0, end)):
            least, most = low[s, x], high[s, x]
            if other >= 0 and cell[s, other] >= 0:
                most = min(most, cell[s, other] + 1)
            value[s, x], cell[s, x], at[s, x] = _row(X, G[s], W[s, x], eta, negative, ev[s], pieces[s], least, most, u)
        while stride > 1:
            stride //= 2
            for x in range(stride, end, 2 * stride):
                least, most = low[s, x], high[s, x]
                above = cell[s, min(x + stride, end)]
                least = max(least, cell[s, x - stride])
                if above >= 0:
                    most = min(most, above + 1)
                value[s, x], cell[s, x], at[s, x] = _row(
                    X, G[s], W[s, x], eta, negative, ev[s], pieces[s], least, most, u
                )


def straight(grid: Array, ev: Array) -> Array:
    """Return the coefficients of linear interpolation of ``ev`` in each cell, in the form that :func:`maximise`
    takes.
    """
    pieces = np.zeros((ev.shape[0], 4, grid.size - 1))
    pieces[:, 3] = ev[:, :-1]
    pieces[:, 2] = np.diff(ev) / np.diff(grid)
    return pieces


@njit(cache=True)
def monotone_cubics(grid: Array, ev: Array) -> Array:
    """Return the coefficients of monotone cubic interpolation, with continuous slopes (Fritsch and Butland 1984).

    Beside a value of minus infinity slopes are 0.
    """
    rows, points = ev.shape
    pieces = np.empty((rows, 4, points - 1))
    slopes = np.empty(points)
    for s in range(rows):
        for j in range(points - 1):
            chord = (ev[s, j + 1] - ev[s, j]) / (grid[j + 1] - grid[j])
            pieces[s, 3, j], pieces[s, 2, j] = ev[s, j], chord if abs(chord) < np.inf else 0.0
        chords = pieces[s, 2]
        slopes[:] = chords[0]
        if points > 2:
            slopes[0] = _end(grid[1] - grid[0], grid[2] - grid[1], chords[0], chords[1])
            last = points - 1
            slopes[last] = _end(
                grid[last] - grid[last - 1], grid[last - 1] - grid[last - 2], chords[last - 1], chords[last - 2]
            )
        for j in range(1, points - 1):
            slopes[j] = 0.0
            if chords[j - 1] * chords[j] > 0.0:
                left, right = grid[j] - grid[j - 1], grid[j + 1] - grid[j]
                slopes[j] = (
                    3.0 * (left + right) / ((2.0 * right + left) / chords[j - 1] + (right + 2.0 * left) / chords[j])
                )
        for j in range(points - 1):
            width, chord = grid[j + 1] - grid[j], chords[j]
            bend = (slopes[j] + slopes[j + 1] - 2.0 * chord) / width
            pieces[s, 2, j] = slopes[j]
            pieces[s, 1, j] = (chord - slopes[j]) / width - bend
            pieces[s, 0, j] = bend / width
    return pieces


@njit(cache=True)
def _end(width: float, next_width: float, chord: float, next_chord: float) -> float:
    """Return the slope at an end of the grid: of the parabola through three points, limited so as to be monotone."""
    slope = ((2.0 * width + next_width) * chord - width * next_chord) / (width + next_width)
    if slope * chord <= 0.0:
        return 0.0
    if chord * next_chord <= 0.0 and abs(slope) > 3.0 * abs(chord):
        return 3.0 * chord
    return slope


@njit(cache=True)
def _followed(
    gap: Array, regime: NDArray[np.int64], probability: Array, cell: NDArray[np.int32], share: Array, chain: Array,
    mix: Array, enough: float, limit: int,
) -> Array:  # fmt: skip
    """Return the sum of ``gap``, ``(N_r, N_k, N_z)``, along the choices for ever, discounted, nearly.

    It solves ``d = gap + P d`` by passes up and down the grid, each with the newest values, until one moves no entry by
    more than ``enough``, or ``limit``. ``chain``, ``(N_d, N_z, N_z)``, is discounted; ``probability``, ``cell`` and
    ``share`` are ``(N_d, N_k, N_z)``: an alternative leads to the points ``cell`` and, with that share, ``cell + 1``.
    """
    regimes, points, states = gap.shape
    found = gap.copy()
    for number in range(limit):
        moved = 0.0
        for place in range(points):
            x = place if number % 2 == 0 else points - 1 - place
            for s in range(states):
                for r in range(regimes):
                    total, own = gap[r, x, s], 0.0
                    for d in range(regime.size):
                        j = cell[d, x, s]
                        if regime[d] != r or j < 0 or probability[d, x, s] == 0.0:
                            continue
                        above = share[d, x, s]
                        for to in range(regimes):
                            weight = probability[d, x, s] * mix[d, to]
                            if weight == 0.0:
                                continue
                            ahead = 0.0
                            for t in range(states):
                                ahead += chain[d, s, t] * (
                                    (1.0 - above) * found[to, j, t] + above * found[to, j + 1, t]
                                )
                            total += weight * ahead
                            if to == r and (j == x or j + 1 == x):
                                own += weight * chain[d, s, s] * ((1.0 - above) if j == x else above)
                    # The state's own share of what follows is solved for.
                    new = found[r, x, s]
                    if own < 1.0:
                        new = (total - own * new) / (1.0 - own)
                    moved = max(moved, abs(new - found[r, x, s]))
                    found[r, x, s] = new
        if moved <= enough:
            break
    return found


@njit(cache=True)
def _expected(
    pieces: Array,
    steps: Array,
    cell: NDArray[np.int32],
    share: Array,
    probability: Array,
    regime: NDArray[np.int64],
    found: Array,
) -> None:
    """Add to ``found``, ``(N_r, N_k, N_z)``, what follows the choices; ``pieces`` is ``(N_d N_z, 4, N_k - 1)``."""
    count, points, states = cell.shape
    for d in range(count):
        for x in range(points):
            for s in range(states):
                j, weight, row = cell[d, x, s], probability[d, x, s], d * states + s
                if j >= 0 and weight > 0.0:
                    t = share[d, x, s] * steps[j]
                    slope = pieces[row, 2, j] + t * (pieces[row, 1, j] + t * pieces[row, 0, j])
                    found[regime[d], x, s] += weight * (pieces[row, 3, j] + t * slope)


@dataclass(frozen=True, eq=False)
class Choices:
    """The best choices between grid points of all states.

    With all axes arrays are ``(N_d, N_k, N_z)`` and ``value`` has an axis of regimes, ``(N_r, N_k, N_z)``; those of
    :func:`maximise` have neither axis.

    Parameters
    ----------
    value : float64 array
        Value of the choices, in units of utility.
    choice : float64 array
        The choices in units of the grid; nan without one.
    below : int32 array
        Index of the grid point at or below each choice, at most ``N_k - 2``; -1 without one.
    share : float64 array
        How far each choice is from that point, as a share of the cell: the share of a lottery over both points, with
        the choice as its mean, that goes to the one above (Young 2010).
    values, probability : float64 array
        Value of each alternative, and its probability in its regime.
    """

    value: Array
    choice: Array
    below: NDArray[np.int32]
    share: Array
    values: Array
    probability: Array

    def alone(self) -> Choices:
        """Return the choices of a single alternative without its axis."""
        return Choices(*(getattr(self, field.name)[0] for field in fields(self)))


class Between:
    """The Bellman operator with choices between grid points, of a problem at an age, given how to interpolate."""

    def __init__(self, problem: Problem, age: int = 0, pieces: Pieces = monotone_cubics) -> None:
        self.problem, self._pieces, grid = problem, pieces, problem.grid
        points, states = problem.points, problem.states
        self._outside: dict[int, Array] = {}
        if not problem.general:
            self.regime, self.mix = np.zeros(1, np.int64), np.ones((1, 1))
            self._wealth = np.ascontiguousarray(problem.wealth.T)
            self._cost = np.broadcast_to(grid, (states, points))
            self._low = np.zeros((states, points), np.int32)
            self._high = np.full((states, points), points - 1, np.int32)
            self.chain, self._kappa = (problem.beta * problem.transition)[None], np.zeros((1, states))
            return
        alternatives = problem.form.alternatives
        size = (len(alternatives), states)
        self.regime = np.array([one.regime for one in alternatives], np.int64)
        self.chain, self._kappa = np.zeros((*size, states)), np.zeros(size)
        self.mix = np.zeros((size[0], len(problem.regimes)))
        self._wealth, self._cost = np.zeros((2, *size, points))
        # Without a choice no point is allowed.
        self._low, self._high = np.ones((*size, points), np.int32), np.zeros((*size, points), np.int32)
        for d, one in enumerate(alternatives):
            if not isinstance(one, Branch):
                self._outside[d] = one.at(age)
                continue
            tables = one.at(age)
            self._wealth[d], self._cost[d] = tables.wealth.T, tables.cost.T
            self._low[d], self._high[d] = tables.low.T, tables.high.T
            self.chain[d], self._kappa[d], self.mix[d] = (
                tables.beta[:, None] * tables.transition,
                tables.kappa,
                tables.mix,
            )
        for name in ("_wealth", "_cost", "_low", "_high"):
            setattr(self, name, getattr(self, name).reshape(-1, points))

    def _ahead(self, value: Array) -> Array:
        """Return what follows each alternative, ``(N_d N_z, N_k)``, given a value ``(N_r, N_k, N_z)``."""
        following = np.tensordot(self.mix, value.transpose(0, 2, 1), 1)
        ahead = np.matmul(self.chain, following) + self._kappa[..., None]
        return np.ascontiguousarray(ahead.reshape(-1, value.shape[1]))

    def improve(self, value: Array) -> Choices:
        """Return the best choices of all states, given the next period's ``value``, ``(N_r, N_k, N_z)``."""
        problem, grid = self.problem, self.problem.grid
        count, states = self._kappa.shape
        ev = self._ahead(value)
        found, cell, at = np.empty(ev.shape), np.empty(ev.shape, np.int32), np.empty(ev.shape)
        _search(
            grid, self._cost, self._wealth, self._low, self._high, problem.eta, problem.negative, ev,
            self._pieces(grid, ev), found, cell, at,
        )  # fmt: skip
        size = (count, states, -1)
        values, below, off = (part.reshape(size).transpose(0, 2, 1).copy() for part in (found, cell, at))
        for d, table in self._outside.items():
            values[d], below[d] = table, -1
        share = np.where(below >= 0, np.clip(off / np.diff(grid)[below], 0.0, 1.0), 0.0)
        choice = np.where(below >= 0, grid[below] + off, np.nan)
        best, probability = self._taken(values)
        return Choices(best, choice, below, share, values, probability)

    def _taken(self, values: Array) -> tuple[Array, Array]:
        """Return the value of each regime, and the probability of each alternative in it, the first of equal ones."""
        if len(values) == 1:
            return values, np.ones(values.shape)
        taste, probability = self.problem.taste, np.zeros(values.shape)
        best = np.empty((self.mix.shape[1], *values.shape[1:]))
        for r in range(len(best)):
            which = np.flatnonzero(self.regime == r)
            top = values[which].max(axis=0)
            best[r] = top
            if taste > 0:
                with np.errstate(invalid="ignore"):
                    weight = np.where(np.isfinite(top), np.exp((values[which] - top) / taste), 0.0)
                total = np.maximum(weight.sum(axis=0), 1.0)
                best[r], probability[which] = top + taste * np.log(total), weight / total
            else:
                np.put_along_axis(probability, which[values[which].argmax(axis=0)][None], 1.0, axis=0)
        return best, probability

    def evaluate(self, choices: Choices, value: Array, gap: Array) -> Array:
        """Return nearly the value of following ``choices`` for ever, given ``gap``, by how much they raise ``value``.

        What a gap adds up to along choices is found with lotteries in place of interpolation, which leaves a smaller
        gap; this is repeated until a gap is :data:`REST` times the first.
        """
        now = choices.value - self._applied(choices, value, np.zeros(value.shape))
        first = largest = float(np.abs(gap).max())
        for _ in range(EVALUATIONS):
            value = value + _followed(
                gap, self.regime, choices.probability, choices.below, choices.share, self.chain, self.mix,
                NEARLY * largest, PASSES,
            )  # fmt: skip
            gap = self._applied(choices, value, now) - value
            before, largest = largest, float(np.abs(gap).max())
            if not REST * first < largest < before:
                break
        return value

    def _applied(self, choices: Choices, value: Array, now: Array) -> Array:
        """Return ``now`` and what follows the choices, given the next period's ``value``."""
        found, grid = now.copy(), self.problem.grid
        pieces = self._pieces(grid, self._ahead(value))
        _expected(pieces, np.diff(grid), choices.below, choices.share, choices.probability, self.regime, found)
        return found


def maximise(problem: Problem, value: Array, pieces: Pieces) -> Choices:
    """Find the best choices between grid points of all states, given the next period's ``value``, ``(N_k, N_z)``.

    ``pieces`` interpolates expectations between grid points: :func:`straight` or :func:`monotone_cubics`. The problem
    has the simple form.
    """
    return Between(problem, pieces=pieces).improve(value[None]).alone()
