"""Compiled sweeps in which every choice is proven, computed in chunks of neighbouring grid points.

A chunk computes its values, their changes and the next sweep's ``EV`` while its data is in the processor's cache, so a
sweep is one parallel region. It proves its states except the first and the last (:mod:`beltline.gpu_ref.row_search`).
Those have neighbours in another chunk and are proven after all chunks are done. The division of a grid depends on its
size alone, so the number of threads changes no bit.
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit, prange, serial_and_parallel
from beltline.gpu_ref.brackets import state_slack
from beltline.gpu_ref.chunk_expectation import expect_between
from beltline.gpu_ref.chunk_tables import Tables, piece
from beltline.gpu_ref.row_search import (
    CLOSE,
    Indexes,
    beside,
    best_choice,
    cache_row,
    changes,
    guessed_row,
    proven,
    proven_row,
    shape,
    utility,
)
from beltline.gpu_ref.tables import Array

RULES = {"change": 0, "spans": 1}
"""Numbers of the stopping rules in compiled code."""

LIMIT, DONE, NOT_FINITE, UNPROVEN = 0, 1, 2, 3
"""Why a batch of sweeps ended: it was complete; the iteration converged; an ``EV`` is not finite; a sweep could not be
proven and was not made."""

MOST_MOVED = 256
"""Largest number of choices that the proof between chunks may move in a sweep."""


@njit(cache=True)
def _chunk(t: Tables, turn: int, c: int, low: Array, high: Array, age: Array, choices: Indexes) -> tuple[int, int]:
    """Sweep chunk ``c`` and compute its ``EV``.

    Returns :data:`LIMIT`, or :data:`NOT_FINITE` or :data:`UNPROVEN`, and how many choices moved. ``low`` and ``high``
    receive the least and the largest change by exogenous state, and ``age`` and ``choices``, ``(N_k, N_z)`` unless
    empty, the chunk's values and choices.
    """
    before, value = t.values[turn % 2], t.values[(turn + 1) % 2]
    ev, ahead = t.both[turn % 2], t.both[(turn + 1) % 2]
    begin = c * t.chunk
    end = min(begin + t.chunk, t.X.size)
    moves = 0
    for s in range(t.W.shape[0]):
        own, wealth, cached = value[s, begin:end], t.W[s, begin:end], piece(t, s, begin, end)
        moved, low[s], high[s] = guessed_row(t.X, wealth, t.eta, ev[s], cached, before[s, begin:end], own)
        moves += moved
        guess = shape(cached.policy)
        if guess != CLOSE:
            listed = np.ones(end - begin, np.bool_)
            corrected = proven_row(t.X, wealth, t.eta, ev[s], cached, guess, own, listed)
            if corrected < 0:
                return UNPROVEN, 0
            moves += corrected
            if corrected:
                low[s], high[s] = changes(before[s, begin:end], own)
        for i in range(begin, end if age.size else begin):
            age[i, s], choices[i, s] = value[s, i], t.policy[s, i]
    return (LIMIT if expect_between(t.Q, t.beta, value, ahead, begin, end) else NOT_FINITE), moves


@njit(cache=True)
def _between_chunks(t: Tables, turn: int, s: int, moved: Indexes, waiting: Indexes) -> int:
    """Prove the first and the last grid point of every chunk in exogenous state ``s``, and every point that this moves.

    Writes the points whose choices moved into ``moved`` and returns their number, or -1 if there are more than
    :data:`MOST_MOVED`. ``waiting`` is scratch space for ``3 * MOST_MOVED + 4`` points.
    """
    grid = t.X.size
    policy, below, here, above = piece(t, s, 0, grid)
    wealth, ev = t.W[s], t.both[turn % 2, s]
    # A point is examined if it is at an end of a chunk, or if the choice of a neighbour has moved.
    found = 0
    for seam in range(0, grid + t.chunk, t.chunk):
        count = 0
        for x in range(min(seam, grid) - 1, min(seam, grid) + 1):
            if 0 <= x < grid:
                waiting[count] = x
                count += 1
        while count:
            count -= 1
            x = waiting[count]
            p = policy[x]
            if p < 0:
                if x > 0 and policy[x - 1] >= 0:
                    return -1
                continue
            low = max(policy[x - 1], 0) if x > 0 else 0
            high = policy[x + 1] if x + 1 < grid else grid - 1
            if proven(p, low, high, below[x] + ev[p], here[x] + ev[p + 1], above[x] + ev[p + 2]):
                continue
            q = best_choice(t.X, wealth[x], t.eta, ev, p, below[x], here[x], above[x], low, high)
            if q == p:
                continue
            policy[x] = q
            below[x], here[x], above[x] = beside(t.X, wealth[x], t.eta, q)
            if found == MOST_MOVED or here[x] + ev[q + 1] == -np.inf:
                return -1
            moved[found] = x
            found += 1
            for neighbour in range(x - 1, x + 2):
                if 0 <= neighbour < grid:
                    waiting[count] = neighbour
                    count += 1
    return found


@njit(cache=True)
def _update_moved(
    t: Tables, turn: int, s: int, rows: Indexes, lows: Array, highs: Array, age: Array, choices: Indexes
) -> bool:
    """Update value, change and ``EV`` of the points ``rows`` of exogenous state ``s``, whose choices have moved.

    Returns whether ``EV`` is finite.
    """
    before, value = t.values[turn % 2], t.values[(turn + 1) % 2]
    ev, ahead = t.both[turn % 2], t.both[(turn + 1) % 2]
    finite = True
    for x in rows:
        p = t.policy[s, x]
        value[s, x] = t.here[s, x] + ev[s, p + 1]
        if age.size:
            age[x, s], choices[x, s] = value[s, x], p
        finite &= expect_between(t.Q, t.beta, value, ahead, x, x + 1)
        begin = x // t.chunk * t.chunk
        end = min(begin + t.chunk, t.X.size)
        lows[x // t.chunk, s], highs[x // t.chunk, s] = changes(before[s, begin:end], value[s, begin:end])
    return finite


@njit(cache=True)
def measure(rule: int, low: Array, high: Array, lows: Array, highs: Array) -> float:
    """Return the measure of change that the stopping rule compares with epsilon.

    Also combines the least and largest changes of the chunks, ``lows`` and ``highs``, ``(C, N_z)``, into ``low`` and
    ``high``, ``(N_z,)``.
    """
    least, most, widest = np.inf, -np.inf, 0.0
    for s in range(low.size):
        low[s], high[s] = lows[0, s], highs[0, s]
        for c in range(1, lows.shape[0]):
            low[s], high[s] = min(low[s], lows[c, s]), max(high[s], highs[c, s])
        if high[s] < low[s]:
            # No state of this row is feasible, nor was one in the last sweep.
            low[s] = high[s] = 0.0
        least, most, widest = min(least, low[s]), max(most, high[s]), max(widest, high[s] - low[s])
    if rule == 0:
        return max(abs(least), abs(most))
    return widest / 2.0


@njit(cache=True)
def _verdict(
    rule: int, epsilon: float, t: Tables, turn: int, codes: Array, lows: Array, highs: Array,
    low: Array, high: Array, age: Array, choices: Indexes,
) -> tuple[int, float, int]:  # fmt: skip
    """Complete a sweep after all chunks: prove the points between them, and measure the change.

    Returns why the batch ends, :data:`LIMIT` if it continues, what the stopping rule measured, and how many choices of
    these points moved.
    """
    finite = proof = True
    for code in codes:
        finite &= code != NOT_FINITE
        proof &= code != UNPROVEN
    if not proof:
        return UNPROVEN, np.inf, 0
    moved, waiting = np.empty(MOST_MOVED, np.int32), np.empty(3 * MOST_MOVED + 4, np.int32)
    moves = 0
    for s in range(low.size):
        count = _between_chunks(t, turn, s, moved, waiting)
        if count < 0:
            return UNPROVEN, np.inf, 0
        moves += count
        if count:
            finite &= _update_moved(t, turn, s, moved[:count], lows, highs, age, choices)
    h = measure(rule, low, high, lows, highs)
    if h < epsilon:
        return DONE, h, moves
    return (LIMIT if finite else NOT_FINITE), h, moves


def _sweeps(
    rule: int, epsilon: float, limit: int, t: Tables, now: int, low: Array, high: Array,
    values: Array, policies: Indexes,
) -> tuple[int, int, float, int]:  # fmt: skip
    """Make at most ``limit`` sweeps.

    Returns their number, why they ended, what ``rule`` measured in the last, and how many choices moved in it.

    ``now``, 0 or 1, is the index in ``t.values`` and ``t.both`` that the first sweep reads. With a horizon, ``values``
    and ``policies``, ``(limit, N_k, N_z)`` and else empty, receive each sweep as an age, the last age first.
    """
    chunks = (t.X.size - 1) // t.chunk + 1
    lows, highs = np.zeros((chunks, low.size)), np.zeros((chunks, low.size))
    codes, moves = np.zeros(chunks, np.int64), np.zeros(chunks, np.int64)
    h, moved = np.inf, 0
    for done in range(limit):
        number = limit - 1 - done if values.shape[1] else 0
        age, choices = values[number], policies[number]
        for c in prange(chunks):
            # The index of a parallel loop has no sign: another type, for which all would be compiled again.
            codes[c], moves[c] = _chunk(t, now + done, np.int64(c), lows[c], highs[c], age, choices)
        code, measured, between = _verdict(rule, epsilon, t, now + done, codes, lows, highs, low, high, age, choices)
        if code == UNPROVEN:
            return done, code, h, moved
        h, moved = measured, moves.sum() + between
        if code != LIMIT or done + 1 == limit:
            return done + 1, code, h, moved
    return 0, LIMIT, h, moved


serial_sweeps, parallel_sweeps = serial_and_parallel(_sweeps)
"""The sweeps on one thread, which is faster for small problems, and on all threads."""


@njit(cache=True)
def _take_state(t: Tables, turn: int, s: int, value: Array, policy: Indexes, low: Array, high: Array) -> None:
    """Continue exogenous state ``s``, as :func:`take` does for all."""
    new, cached = t.values[turn, s], piece(t, s, 0, t.X.size)
    chosen = cached.policy
    for x in range(new.size):
        new[x] = value[x, s]
        chosen[x] = policy[x, s]
    cache_row(t.X, t.W[s], t.eta, cached)
    low[s], high[s] = changes(t.values[1 - turn, s], new)
    if high[s] < low[s]:
        # No state of this row is feasible, nor was one in the last sweep.
        low[s] = high[s] = 0.0


@njit(parallel=True, cache=True)
def take(t: Tables, turn: int, value: Array, policy: Indexes, low: Array, high: Array) -> bool:
    """Continue from a sweep that another search has made; return whether its ``EV`` is finite.

    ``turn``, 0 or 1, is the index in ``t.values`` and ``t.both`` that the sweep would have written. ``value`` and
    ``policy`` are ``(N_k, N_z)``. Caches the utilities of the choices and of the candidates next to them; ``low`` and
    ``high``, ``(N_z,)``, receive the least and the largest change.
    """
    for s in prange(low.size):
        _take_state(t, turn, s, value, policy, low, high)
    return expect_between(t.Q, t.beta, t.values[turn], t.both[turn], 0, t.X.size)


@njit(cache=True)
def _row_slack(t: Tables, turn: int, s: int, margins: Array) -> float:
    """Compute :func:`_slack` for exogenous state ``s``."""
    X, eta, grid = t.X, t.eta, t.X.size
    policy, below, here, above = piece(t, s, 0, grid)
    wealth, ev, value = t.W[s], t.both[turn % 2, s], t.values[(turn + 1) % 2, s]
    for side in range(2):
        for x in range(grid):
            p = policy[x]
            # The choice of the grid point below, or above.
            other = x - 1 if side == 0 else x + 1
            q = policy[other] if 0 <= other < grid else -1
            if p < 0 or q < 0:
                margins[side, x] = np.inf
                continue
            if q == p:
                known = here[x]
            elif q == p - 1:
                known = below[x]
            elif q == p + 1:
                known = above[x]
            else:
                known = utility(wealth[x], X[q], eta)
            margins[side, x] = value[x] - (known + ev[q + 1])
    return state_slack(ev[1 : grid + 1], eta, value, policy, margins, t.Q.shape[0])


def _slack(t: Tables, turn: int) -> float:
    """Bound how much of a maximum the last sweep may have missed by rounding, units of utility.

    ``turn`` is the index that the sweep read. The bound is that of :func:`beltline.gpu_ref.brackets.row_slack`,
    computed from the cached utilities.
    """
    states, grid = t.Q.shape[0], t.X.size
    worst, margins = np.zeros(states), np.empty((states, 2, grid))
    for s in prange(states):
        worst[s] = _row_slack(t, turn, s, margins[s])
    return float(worst.max())


serial_slack, parallel_slack = serial_and_parallel(_slack)
