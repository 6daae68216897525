"""A policy confirmed in one pass, where it is exactly what an exact sweep would find.

The theorem of :mod:`beltline.gpu_ref.brackets` needs no sweep where the policy at hand does not fall and is the lowest
maximiser between its neighbours' choices in every state: about three evaluations a state, and the comparison with a
value on the way. A policy comes from the sweep before, so a few of its choices may not be the best any more: those are
mended first. Where there are more than a few, nothing is said, and :func:`beltline.gpu_ref.brackets.proven` is asked.

Rounding is that of the same module: what is below (above) a row's choice may truly exceed it by an excess that comes
from the row before (behind). A row makes ``max(2 e, E + 2 e - margin)`` of an excess ``E``, or leaves it where both
choose the same, and its maximum is off by ``e + max(0, E - margin)`` at most. Rows together do the same with other
numbers, so each piece of the rows finds its four, for either direction, and pieces are put together in the end. All
rows of an exogenous state take the same ``e``, of values between the least and the largest that are confirmed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.brackets import Indexes, best_between
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array, feasible
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra

_CHUNK = 512

FAR = 2.0**-10
"""How far the exact sweep may be from the value at most, as a share of its largest size."""

MENDED = 32
"""Most choices that are mended."""

GAP, SIZE, LARGEST, STATE = range(4)
"""What a chunk finds: largest ``|best - value|``, ``|U|`` and ``|best|``; :data:`CONFIRMED`, the first state that has a
better choice between its neighbours', or :data:`WRONG`."""

CONFIRMED, WRONG = -1.0, -2.0

AHEAD, STEP, WORST, SHIFT = range(4)
"""What the rows of a chunk make of an excess ``E``, ``max(AHEAD, E + STEP)``, and how far beyond ``e`` a maximum is off
at most, ``max(0, WORST, E + SHIFT)``."""


class Confirmed(NamedTuple):
    """A policy that is confirmed.

    Attributes
    ----------
    residual
        Largest distance of the value from the exact sweep, units of utility.
    rounding
        How far either may be from real numbers, units of utility.
    """

    residual: float
    rounding: float


@njit(cache=True)
def _rows(
    X: Array, W: Array, ev: Array, eta: float, errors: Array, begin: int, end: int, value: Array, policy: Indexes,
    exact: Indexes, allowed: Array, noise: float, facts: Array, pieces: Array,
) -> None:  # fmt: skip
    """Confirm ``exact`` in the rows from ``begin`` to ``end`` and compare, up to the first state that is not so."""
    grid, states = W.shape
    change, constant, share, c_rounding, times = allowed
    power = DOUBLE * (abs(1.0 - eta) + 4.0)
    gap = size = largest = 0.0
    facts[STATE] = WRONG
    for s in range(states):
        for side in range(2):
            pieces[s, side, AHEAD] = pieces[s, side, WORST] = pieces[s, side, SHIFT] = -np.inf
            pieces[s, side, STEP] = 0.0
    for x in range(begin, end):
        for s in range(states):
            own, wealth, future = exact[x, s], W[x, s], ev[s]
            low = exact[x - 1, s] if x > 0 else 0
            high = exact[x + 1, s] if x + 1 < grid else grid - 1
            if not (0 <= low <= own <= high < grid and X[own] < wealth):
                return
            top = high if X[high] < wealth else min(high, feasible(X, wealth) - 1)
            u = crra(wealth - X[own], eta)
            best = u + future[own]
            below = above = best
            for i in range(own - 1, low - 1, -1):
                below = crra(wealth - X[i], eta) + future[i]
                if below >= best:
                    facts[STATE] = x * states + s
                    return
            for i in range(own + 1, top + 1):
                above = crra(wealth - X[i], eta) + future[i]
                if above > best:
                    facts[STATE] = x * states + s
                    return
            # Of the two choices, the one that leaves less.
            c, loss, given = wealth - X[own], 0.0, policy[x, s]
            if given != own:
                left = wealth - X[given]
                if not left > 0.0:
                    return
                other = crra(left, eta)
                loss = best - (other + future[given])
                if left < c:
                    c, u = left, other
            own_gap, u = abs(best - value[x, s]), abs(u)
            doubt = constant + share * u + power * u + noise
            if c_rounding > 0.0:
                if not c > c_rounding:
                    return
                doubt += c_rounding * math.pow(c - c_rounding, -eta)
            if not (own_gap <= change + times * doubt and loss <= 2.0 * (change + times * doubt)):
                return
            gap, size, largest = max(gap, own_gap), max(size, u), max(largest, abs(best))
            twice = 2.0 * errors[s]
            # A row at the end: what the rows before it leave reaches it.
            piece, margin = pieces[s, 0], best - below
            ahead, step = piece[AHEAD] - margin, piece[STEP] - margin
            piece[WORST], piece[SHIFT] = max(piece[WORST], ahead), max(piece[SHIFT], step)
            if own > low or x == 0:
                piece[AHEAD], piece[STEP] = max(0.0, ahead) + twice, step + twice
            # A row in front: what it leaves reaches all that are there. Nothing is beyond what can be afforded.
            piece, margin = pieces[s, 1], best - above if top == high else np.inf
            if own < high or x + 1 == grid:
                piece[WORST] = max(piece[WORST], twice + piece[SHIFT])
                piece[SHIFT] = max(piece[SHIFT] + twice, 0.0) - margin
                piece[AHEAD], piece[STEP] = max(piece[AHEAD], twice + piece[STEP]), piece[STEP] + twice - margin
            else:
                piece[SHIFT] = max(piece[SHIFT], -margin)
    facts[GAP], facts[SIZE], facts[LARGEST], facts[STATE] = gap, size, largest, CONFIRMED


@njit(cache=True)
def _smooth_rows(
    X: Array, W: Array, ev: Array, eta: float, errors: Array, begin: int, end: int, value: Array, policy: Indexes,
    exact: Indexes, allowed: Array, noise: float, facts: Array, pieces: Array,
) -> bool:  # fmt: skip
    """:func:`_rows` where choices rise by a point a row or less, and beat those beside them by more than roundings.

    Then no excess exceeds ``2 e``, or the one that comes in, and nothing needs to be followed from row to row. False
    says nothing.
    """
    states = W.shape[1]
    if begin == 0 or end == W.shape[0]:
        return False
    change, constant, share, c_rounding, times = allowed
    share += DOUBLE * (abs(1.0 - eta) + 4.0)
    constant += noise
    gap = size = largest = 0.0
    for x in range(begin, end):
        for s in range(states):
            own, wealth = exact[x, s], W[x, s]
            low, high = exact[x - 1, s], exact[x + 1, s]
            c = wealth - X[own]
            if policy[x, s] != own or not (
                0 <= own - 1 <= low <= own <= high <= own + 1 < W.shape[0] and c > c_rounding
            ):
                return False
            u = crra(c, eta)
            best, twice = u + ev[s, own], 2.0 * errors[s]
            if low < own and not best - (crra(wealth - X[low], eta) + ev[s, low]) >= twice:
                return False
            if high > own:
                left = wealth - X[high]
                if not (left > 0.0 and best - (crra(left, eta) + ev[s, high]) >= twice):
                    return False
            own_gap, u = abs(best - value[x, s]), abs(u)
            doubt = constant + share * u
            if not own_gap <= change + times * doubt:
                if c_rounding > 0.0:
                    doubt += c_rounding * math.pow(c - c_rounding, -eta)
                if not own_gap <= change + times * doubt:
                    return False
            gap, size, largest = max(gap, own_gap), max(size, u), max(largest, abs(best))
    for s in range(states):
        for side in range(2):
            piece = pieces[s, side]
            piece[AHEAD] = piece[WORST] = 2.0 * errors[s]
            piece[STEP] = piece[SHIFT] = 0.0
    facts[GAP], facts[SIZE], facts[LARGEST], facts[STATE] = gap, size, largest, CONFIRMED
    return True


@njit(cache=True)
def _mend(X: Array, W: Array, ev: Array, eta: float, exact: Indexes, x: int, s: int) -> tuple[int, int]:
    """Let row ``x`` choose the best between its neighbours' choices, and whoever that moves: the rows that moved.

    A move raises an objective, or lowers the choice of an equal one, so it ends. After :data:`MENDED` moves it gives up
    and says -1.
    """
    grid = X.size
    waiting = np.empty(2 * MENDED + 1, np.int64)
    waiting[0] = x
    count, moves = 1, 0
    lowest, highest = x, x
    while count:
        count -= 1
        row = waiting[count]
        low = exact[row - 1, s] if row > 0 else 0
        high = exact[row + 1, s] if row + 1 < grid else grid - 1
        high = min(high, feasible(X, W[row, s]) - 1)
        _, index, _, _ = best_between(X, W[row, s], ev[s], eta, low, high)
        if index < 0 or moves == MENDED:
            return -1, -1
        if index != exact[row, s]:
            moves += 1
            exact[row, s] = index
            lowest, highest = min(lowest, row), max(highest, row)
            for neighbour in (row - 1, row + 1):
                if 0 <= neighbour < grid:
                    waiting[count] = neighbour
                    count += 1
    return lowest, highest


@njit(parallel=True, cache=True)
def _all_rows(
    X: Array, W: Array, ev: Array, eta: float, errors: Array, value: Array, policy: Indexes, exact: Indexes,
    allowed: Array, noise: float, todo: NDArray[np.int64], facts: Array, pieces: Array,
) -> None:  # fmt: skip
    for k in prange(todo.size):
        chunk = todo[k]
        begin = chunk * _CHUNK
        end = min(begin + _CHUNK, W.shape[0])
        here, piece = facts[chunk], pieces[chunk]
        if not _smooth_rows(X, W, ev, eta, errors, begin, end, value, policy, exact, allowed, noise, here, piece):
            _rows(X, W, ev, eta, errors, begin, end, value, policy, exact, allowed, noise, here, piece)


@njit(cache=True)
def _slack(pieces: Array, errors: Array) -> float:
    """By how much a maximum is off at most: pieces one after the other, in either direction."""
    found = 0.0
    for s in range(pieces.shape[1]):
        worst = 0.0
        for side in range(2):
            excess = -np.inf
            for k in range(pieces.shape[0]):
                piece = pieces[k if side == 0 else pieces.shape[0] - 1 - k, s, side]
                worst = max(worst, piece[WORST], excess + piece[SHIFT])
                excess = max(piece[AHEAD], excess + piece[STEP])
        found = max(found, errors[s] + worst)
    return found


def confirmed(
    X: Array, W: Array, ev: Array, eta: float, value: Array, policy: Indexes, largest: float, ends: tuple[float, float],
    change: float, constant: float, share: float, c_rounding: float, times: float,
) -> Confirmed | None:  # fmt: skip
    """Confirm a value and a policy, or say nothing.

    Parameters
    ----------
    X, W, eta
        As in :mod:`beltline.gpu_ref`, checked, with ``W`` non-decreasing in ``x``.
    ev
        ``(N_z, N_k)``, the expectation of each ``x'``.
    value, policy
        ``(N_k, N_z)``, ``float64`` and ``int32``.
    largest
        The largest size of the value of which ``ev`` is the expectation, units of utility.
    ends
        The least and the largest of ``value``, units of utility.
    change, constant, share, c_rounding, times
        As of :class:`beltline.gpu_ref.compare.Allowed`.

    Returns
    -------
    Confirmed or None
        ``None`` where the value is not right everywhere, or too many choices are not the best, if only by a tie.
    """
    grid, states = W.shape
    one = 1.0 if eta == 1.0 else 0.0
    least, most = ev.min(axis=1), ev.max(axis=1)
    if not (np.isfinite(least).all() and np.isfinite(most).all() and math.isfinite(ends[0]) and math.isfinite(ends[1])):
        return None
    far = FAR * max(-ends[0], ends[1])
    power = DOUBLE * (abs(1.0 - eta) + 4.0)
    errors = power * (np.maximum(ends[1] - least, most - ends[0]) + far)
    errors += DOUBLE * (one + (states + 4) * np.maximum(most, -least))
    chunks = (grid - 1) // _CHUNK + 1
    facts, pieces = np.empty((chunks, 4)), np.empty((chunks, states, 2, 4))
    allowed = np.array([change, constant, share, c_rounding, times])
    noise = DOUBLE * (one + (states + 4) * largest)
    exact = policy.copy()
    todo = np.arange(chunks)
    mended = 0
    while todo.size:
        with threads(threads_for(todo.size * _CHUNK * states)):
            _all_rows(X, W, ev, eta, errors, value, policy, exact, allowed, noise, todo, facts, pieces)
        again: set[int] = set()
        for state in facts[facts[:, STATE] != CONFIRMED, STATE]:
            mended += 1
            if state == WRONG or mended > MENDED:
                return None
            lowest, highest = _mend(X, W, ev, eta, exact, int(state) // states, int(state) % states)
            if lowest < 0:
                return None
            again |= {*range(max(lowest - 1, 0) // _CHUNK, min(highest + 1, grid - 1) // _CHUNK + 1)}
        todo = np.array(sorted(again), np.int64)
    gap = float(facts[:, GAP].max())
    if gap > far:
        return None
    noise = DOUBLE * (one + (states + 4) * max(largest, float(facts[:, LARGEST].max())))
    slack = _slack(pieces, errors)
    return Confirmed(gap, max(power * float(facts[:, SIZE].max()) + noise, slack))
