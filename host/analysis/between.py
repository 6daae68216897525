"""The Bellman operator with choices between grid points, and the value of following choices for ever.

Expectations are cubic polynomials on each interval; :mod:`beltline.host.analysis.cells` finds the best choices.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.general.form import Branch
from beltline.host.analysis.cells import search
from beltline.host.analysis.visits import DOWN, STAYS, UP, Visits, visits_of
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem

Pieces = Callable[[Array, Array], Array]
"""Returns coefficients, ``(rows, 4, N_k - 1)``, the cubic ones first, from the grid and a table ``(rows, N_k)``."""

EVALUATIONS, REST = 4, 1e-2
"""Largest number of corrections of a value after each maximisation, and the share of the first gap that may be left."""

PASSES, NEARLY = 100, 0.3
"""Largest number of passes over the grid of a correction, and the share of the gap that the last may move."""

SMALLEST_SHARE = 1e-10
"""Smallest share of a mass at the farther of two points; that of a rounding error makes long runs singular."""


def straight(grid: Array, ev: Array) -> Array:
    """Return the coefficients of linear interpolation of ``ev`` in each cell."""
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
    mix: Array, visits: Visits, enough: float, limit: int,
) -> Array:  # fmt: skip
    """Return the sum of ``gap``, ``(N_r, N_z, N_k)``, along the choices for ever, discounted, nearly.

    It solves ``d = gap + P d`` by passes, until one moves no entry by more than ``enough``, or ``limit``. A pass solves
    each regime and exogenous state along its paths: points that lead up from the top, then the others from the bottom.
    ``chain``, ``(N_d, N_z, N_z)``, is discounted; ``probability``, ``cell`` and ``share`` are ``(N_d, N_z, N_k)``: an
    alternative leads to the points ``cell`` and, with that share, ``cell + 1``.
    """
    regimes, states, points = gap.shape
    found, given, ahead = gap.copy(), np.empty(points), np.empty(points)
    blocks = regimes * states
    flow, mean = np.zeros((blocks, blocks)), np.empty(blocks)
    for d in range(regime.size):
        for s in range(states):
            for to in range(regimes):
                flow[regime[d] * states + s, to * states : (to + 1) * states] += (
                    probability[d, s].mean() * mix[d, to] * chain[d, s]
                )
    # What mean changes add for ever to the states solved before, in passes from the first state and from the last.
    ever = np.linalg.inv(np.eye(blocks) - flow)
    after_rising, after_falling = ever @ np.triu(flow, 1), ever @ np.tril(flow, -1)
    for number in range(limit):
        moved = 0.0
        for place in range(blocks):
            here = place if number % 2 == 0 else blocks - 1 - place
            r, s = here // states, here % states
            mean[here] = -found[r, s].mean()
            given[:] = gap[r, s]
            for d in range(regime.size):
                if regime[d] == r:
                    ahead[:] = 0.0
                    for to in range(regimes):
                        for t in range(states):
                            weight = mix[d, to] * chain[d, s, t]
                            if weight != 0.0 and (to != r or t != s):
                                row = found[to, t]
                                for x in range(points):
                                    ahead[x] += weight * row[x]
                    chance, below, above = probability[d, s], cell[d, s], share[d, s]
                    for x in range(points):
                        j = max(below[x], 0)
                        given[x] += chance[x] * (ahead[j] + above[x] * (ahead[j + 1] - ahead[j]))
            moved = max(moved, _along(given, r, s, regime, cell, visits, found[r, s]))
            mean[here] += found[r, s].mean()
        if moved <= enough:
            break
        left = (after_rising if number % 2 == 0 else after_falling) @ mean
        for here in range(blocks):
            found[here // states, here % states] += left[here]
    return found


@njit(cache=True)
def _along(
    given: Array, r: int, s: int, regime: NDArray[np.int64], cell: NDArray[np.int32], visits: Visits, found: Array
) -> float:
    """Solve a regime and exogenous state given what is not in it; return the largest change."""
    moved, factor, way = 0.0, visits.factor[r, s], visits.way[r, s]
    for upwards in (True, False):
        wanted = UP + STAYS if upwards else DOWN
        for place in range(given.size):
            x = given.size - 1 - place if upwards else place
            if way[x] & wanted == 0:
                continue
            new = given[x]
            for d in range(regime.size):
                if regime[d] == r:
                    j = max(cell[d, s, x], 0)
                    new += visits.low[d, s, x] * found[j] + visits.high[d, s, x] * found[j + 1]
            new *= factor[x]
            moved = max(moved, abs(new - found[x]))
            found[x] = new
    return moved


@njit(cache=True)
def _ahead(value: Array, chain: Array, kappa: Array, mix: Array) -> Array:
    """Return what follows each alternative, ``(N_d N_z, N_k)``, given a value ``(N_r, N_z, N_k)``."""
    count, states = kappa.shape
    found = np.empty((count * states, value.shape[2]))
    for d in range(count):
        for s in range(states):
            own = found[d * states + s]
            own[:] = kappa[d, s]
            for r in range(mix.shape[1]):
                for t in range(states):
                    weight = mix[d, r] * chain[d, s, t]
                    if weight != 0.0:
                        row = value[r, t]
                        for x in range(own.size):
                            own[x] += weight * row[x]
    return found


@njit(cache=True)
def _expected(
    grid: Array, value: Array, chain: Array, kappa: Array, mix: Array, regime: NDArray[np.int64], probability: Array,
    cell: NDArray[np.int32], share: Array,
) -> Array:  # fmt: skip
    """Return what follows the choices, ``(N_r, N_z, N_k)``, given the next period's ``value``."""
    count, states, points = cell.shape
    pieces = monotone_cubics(grid, _ahead(value, chain, kappa, mix))
    found = np.zeros(value.shape)
    for d in range(count):
        for s in range(states):
            piece, own = pieces[d * states + s], found[regime[d], s]
            for x in range(points):
                j, weight = cell[d, s, x], probability[d, s, x]
                if j >= 0 and weight > 0.0:
                    t = share[d, s, x] * (grid[j + 1] - grid[j])
                    own[x] += weight * (piece[3, j] + t * (piece[2, j] + t * (piece[1, j] + t * piece[0, j])))
    return found


@njit(cache=True)
def _evaluated(
    grid: Array, value: Array, gap: Array, improved: Array, chain: Array, kappa: Array, mix: Array,
    regime: NDArray[np.int64], probability: Array, cell: NDArray[np.int32], share: Array,
) -> Array:  # fmt: skip
    """Return nearly the value of following choices for ever, as :meth:`Between.evaluate` says; grids come last."""
    visits = visits_of(regime, probability, cell, share, chain, mix, 1.0)
    now = improved - _expected(grid, value, chain, kappa, mix, regime, probability, cell, share)
    first = largest = np.abs(gap).max()
    for _ in range(EVALUATIONS):
        value = value + _followed(gap, regime, probability, cell, share, chain, mix, visits, NEARLY * largest, PASSES)
        gap = now + _expected(grid, value, chain, kappa, mix, regime, probability, cell, share) - value
        before, largest = largest, np.abs(gap).max()
        if not REST * first < largest < before:
            break
    return value


def rounded(share: Array) -> Array:
    """Return shares between 0 and 1; those within :data:`SMALLEST_SHARE` of either are that."""
    return np.where(share > 1.0 - SMALLEST_SHARE, 1.0, np.where(share < SMALLEST_SHARE, 0.0, share))


@dataclass(frozen=True, eq=False)
class Choices:
    """The best choices between grid points of all states.

    Arrays are ``(N_d, N_k, N_z)`` but for the first.

    Parameters
    ----------
    value : float64 array
        Value of the choices by regime, ``(N_r, N_k, N_z)``, in units of utility.
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

    def near(self, choices: Choices) -> Between:
        """Return the operator whose choices are at most one cell away from ``choices``."""
        found = copy.copy(self)
        below = choices.below.transpose(0, 2, 1).reshape(self._low.shape)
        found._low = np.where(below >= 0, np.maximum(self._low, below - 1), self._low).astype(np.int32)
        found._high = np.where(below >= 0, np.minimum(self._high, below + 2), self._high).astype(np.int32)
        return found

    def improve(self, value: Array, guess: NDArray[np.int32] | None = None) -> Choices:
        """Return the best choices of all states, given the next period's ``value``, ``(N_r, N_k, N_z)``.

        The search starts from the cells ``guess``, ``(N_d, N_k, N_z)``, which affect its time only.
        """
        problem, grid = self.problem, self.problem.grid
        count, states = self._kappa.shape
        ev = _ahead(_grid_last(value), self.chain, self._kappa, self.mix)
        values, choice, share = np.empty((3, count, problem.points, states))
        below = np.full(values.shape, -1, np.int32) if guess is None else np.minimum(guess, problem.points - 2)
        search(
            grid, self._cost, self._wealth, self._low, self._high, problem.eta, problem.negative, ev,
            self._pieces(grid, ev), values, choice, below, share,
        )  # fmt: skip
        for d, table in self._outside.items():
            values[d], below[d] = table, -1
        best, probability = self._taken(values)
        return Choices(best, choice, below, rounded(share), values, probability)

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
        tables = (_grid_last(table) for table in (value, gap, choices.value))
        chosen = (_grid_last(table) for table in (choices.probability, choices.below, choices.share))
        found = _evaluated(self.problem.grid, *tables, self.chain, self._kappa, self.mix, self.regime, *chosen)
        return np.ascontiguousarray(found.swapaxes(1, 2))


def _grid_last(table: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(table.swapaxes(1, 2))
