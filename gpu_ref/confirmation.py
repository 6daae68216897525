"""Confirm in one pass over the states that a policy is exactly what an exact sweep would find.

By the theorem of :mod:`beltline.gpu_ref.brackets`, no sweep is needed if the policy does not fall and is the lowest
maximiser between its neighbours' choices in every state. Checking this takes about three evaluations per state, and the
value is compared at the same time. The policy of a result comes from its last sweep, so some of its choices may no
longer be the best: those are repaired, by each thread in its own rows. If there are too many, the pass ends without an
answer, and :mod:`beltline.gpu_ref.general.certificate` is needed.

*Rounding* is bounded as in that module. A candidate below (above) a row's choice can exceed it, in exact arithmetic, by
an excess that comes from the row before (after). A row turns an incoming excess ``E`` into ``max(2 e, E + 2 e -
margin)``, or leaves it unchanged if both rows choose the same, and its maximum is off by at most ``e + max(0, E -
margin)``. A chunk of rows composes these functions, and the composition has the same form with other numbers. So each
chunk computes its four numbers for either direction (:data:`EXCESS` to :data:`ERROR_STEP`), and the chunks are composed
at the end. All rows of an exogenous state use the same ``e``, that of the lowest and highest value to be confirmed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange, serial_and_parallel
from beltline.gpu_ref.brackets import Indexes, best_between
from beltline.gpu_ref.comparison import TIMES, Confirmed
from beltline.gpu_ref.tables import Array, ends_of, expectation, expectation_on_one_thread, feasible
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import DOUBLE, crra, power_error

_CHUNK = 512
"""Rows that a thread takes at a time."""

MAX_GAP = 2.0**-10
"""Largest distance of the value from the exact sweep, as a share of the largest ``|value|``, up to which the errors
``e`` hold.
"""

MAX_REPAIRS = 32
"""Largest number of choices that are repaired at ends of chunks."""

CHUNK_REPAIRS = 8
"""Largest number of times that choices are repaired within a chunk, each of which takes two more passes over it."""

GAP, SIZE, LARGEST, STATE = range(4)
"""What a chunk finds: the largest ``|best - value|``, ``|U|`` and ``|best|``; and as its state :data:`CONFIRMED`,
:data:`WRONG`, or the first state with a better choice between those of its neighbours.
"""

CONFIRMED, WRONG = -1.0, -2.0

EXCESS, EXCESS_STEP, ERROR, ERROR_STEP = range(4)
"""Numbers of a chunk. It turns an incoming excess ``E`` into ``max(EXCESS, E + EXCESS_STEP)``, and its maxima are off
by at most ``e + max(0, ERROR, E + ERROR_STEP)``.
"""


@njit(cache=True)
def _rows(
    X: Array, W: Array, ev: Array, eta: float, errors: Array, begin: int, end: int, value: Array, policy: Indexes,
    exact: Indexes, change: float, ev_error: float, facts: Array, pieces: Array,
) -> None:  # fmt: skip
    """Confirm ``exact`` in the rows from ``begin`` to ``end``, and compare ``value`` and ``policy``.

    Stops at the first state that is wrong. Fills ``facts``, ``(4,)``, and ``pieces``, ``(N_z, 2, 4)``, the numbers of
    this chunk by exogenous state and direction. ``ev_error`` is the error of an expectation in the tolerances,
    ``errors``, ``(N_z,)``, the error ``e`` by exogenous state.
    """
    grid, states = W.shape
    power = power_error(eta)
    gap = size = largest = 0.0
    facts[STATE] = WRONG
    for s in range(states):
        for side in range(2):
            pieces[s, side, EXCESS] = pieces[s, side, ERROR] = pieces[s, side, ERROR_STEP] = -np.inf
            pieces[s, side, EXCESS_STEP] = 0.0
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
            # Rounding is largest at the lower consumption of the two choices.
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
            most = change + TIMES * (power * u + ev_error)
            if not (own_gap <= most and loss <= 2.0 * most):
                return
            gap, size, largest = max(gap, own_gap), max(size, u), max(largest, abs(best))
            twice = 2.0 * errors[s]
            # Upwards, this row is appended to the chunk: it receives the excess that the rows before it pass on.
            piece, margin = pieces[s, 0], best - below
            excess_here, step = piece[EXCESS] - margin, piece[EXCESS_STEP] - margin
            piece[ERROR], piece[ERROR_STEP] = max(piece[ERROR], excess_here), max(piece[ERROR_STEP], step)
            if own > low or x == 0:
                piece[EXCESS], piece[EXCESS_STEP] = max(0.0, excess_here) + twice, step + twice
            # Downwards, this row is put before the chunk: the excess that it passes on reaches all rows there.
            # Nothing is allowed above the highest affordable candidate, so the margin is infinite there.
            piece, margin = pieces[s, 1], best - above if top == high else np.inf
            if own < high or x + 1 == grid:
                piece[ERROR] = max(piece[ERROR], twice + piece[ERROR_STEP])
                piece[ERROR_STEP] = max(piece[ERROR_STEP] + twice, 0.0) - margin
                piece[EXCESS] = max(piece[EXCESS], twice + piece[EXCESS_STEP])
                piece[EXCESS_STEP] = piece[EXCESS_STEP] + twice - margin
            else:
                piece[ERROR_STEP] = max(piece[ERROR_STEP], -margin)
    facts[GAP], facts[SIZE], facts[LARGEST], facts[STATE] = gap, size, largest, CONFIRMED


@njit(cache=True)
def _repair(
    X: Array, W: Array, ev: Array, eta: float, exact: Indexes, x: int, s: int, begin: int, end: int
) -> tuple[int, int]:
    """Maximise row ``x`` between its neighbours' choices, and then every row whose neighbour changed.

    Returns the lowest and the highest row that changed. A change raises an objective, or lowers the choice of an equal
    one, so this ends. It gives up and returns -1 after :data:`MAX_REPAIRS` changes, and before it would change a row
    that is not one of those from ``begin`` to ``end``.
    """
    grid = X.size
    waiting = np.empty(2 * MAX_REPAIRS + 1, np.int64)
    waiting[0] = x
    count, changes = 1, 0
    lowest, highest = x, x
    while count:
        count -= 1
        row = waiting[count]
        low = exact[row - 1, s] if row > 0 else 0
        high = exact[row + 1, s] if row + 1 < grid else grid - 1
        high = min(high, feasible(X, W[row, s]) - 1)
        _, index, _, _ = best_between(X, W[row, s], ev[s], eta, low, high)
        if index < 0 or changes == MAX_REPAIRS:
            return -1, -1
        if index != exact[row, s]:
            if not begin <= row < end:
                return -1, -1
            changes += 1
            exact[row, s] = index
            lowest, highest = min(lowest, row), max(highest, row)
            for neighbour in (row - 1, row + 1):
                if 0 <= neighbour < grid:
                    waiting[count] = neighbour
                    count += 1
    return lowest, highest


@njit(cache=True)
def _chunk(
    X: Array, W: Array, ev: Array, eta: float, errors: Array, value: Array, policy: Indexes, exact: Indexes,
    change: float, ev_error: float, chunk: int, facts: Array, pieces: Array,
) -> None:  # fmt: skip
    """Confirm one chunk, after repairs that leave its first and last row as they are."""
    states, begin = W.shape[1], chunk * _CHUNK
    end = min(begin + _CHUNK, W.shape[0])
    here, piece = facts[chunk], pieces[chunk]
    for _ in range(CHUNK_REPAIRS + 1):
        _rows(X, W, ev, eta, errors, begin, end, value, policy, exact, change, ev_error, here, piece)
        state = int(here[STATE])
        if state < 0 or _repair(X, W, ev, eta, exact, state // states, state % states, begin + 1, end - 1)[0] < 0:
            return
        # Where one choice is not the best, others will not be.
        for row in range(max(state // states, begin + 1), end - 1):
            for s in range(states):
                if _repair(X, W, ev, eta, exact, row, s, begin + 1, end - 1)[0] < 0:
                    return


def _all_rows(
    X: Array, W: Array, ev: Array, eta: float, errors: Array, value: Array, policy: Indexes, exact: Indexes,
    change: float, ev_error: float, todo: NDArray[np.int64], facts: Array, pieces: Array,
) -> None:  # fmt: skip
    """Confirm the chunks ``todo``, in parallel."""
    for k in prange(todo.size):
        _chunk(X, W, ev, eta, errors, value, policy, exact, change, ev_error, todo[k], facts, pieces)


_rows_on_one_thread, _rows_on_all = serial_and_parallel(_all_rows)


@njit(cache=True)
def _errors(ev: Array, low: float, high: float, eta: float) -> tuple[Array, float, bool]:
    """Return the error ``e`` of each exogenous state, :data:`MAX_GAP` in units of utility, and whether all is finite.

    ``low`` and ``high`` are the ends of the value to be confirmed.
    """
    states, one = ev.shape[0], 1.0 if eta == 1.0 else 0.0
    max_gap = MAX_GAP * max(-low, high)
    power = power_error(eta)
    errors = np.empty(states)
    finite = abs(low) < np.inf and abs(high) < np.inf
    for s in range(states):
        least, most, known = ends_of(ev[s])
        finite &= known
        errors[s] = power * (max(high - least, most - low) + max_gap)
        errors[s] += DOUBLE * (one + (states + 4) * max(most, -least))
    return errors, max_gap, finite


@njit(cache=True)
def _conclude(facts: Array, pieces: Array, errors: Array) -> tuple[float, float, float, float]:
    """Return the largest gap, ``|U|`` and ``|best|`` of all chunks, and a bound on the error of all maxima.

    The bound follows by composing the chunks in either direction.
    """
    gap = size = largest = found = 0.0
    for k in range(facts.shape[0]):
        gap, size = max(gap, facts[k, GAP]), max(size, facts[k, SIZE])
        largest = max(largest, facts[k, LARGEST])
    for s in range(pieces.shape[1]):
        worst = 0.0
        for side in range(2):
            excess = -np.inf
            for k in range(pieces.shape[0]):
                piece = pieces[k if side == 0 else pieces.shape[0] - 1 - k, s, side]
                worst = max(worst, piece[ERROR], excess + piece[ERROR_STEP])
                excess = max(piece[EXCESS], excess + piece[EXCESS_STEP])
        found = max(found, errors[s] + worst)
    return gap, size, largest, found


@njit(cache=True)
def _ev_error(largest: float, states: int, eta: float) -> float:
    """Bound the part of an objective's rounding error that is the same in all states, units of utility.

    ``largest`` is the largest absolute value from which the expectation was computed.
    """
    return DOUBLE * ((1.0 if eta == 1.0 else 0.0) + (states + 4) * largest)


@njit(cache=True)
def _rounding(size: float, largest: float, slack: float, states: int, eta: float) -> float:
    """Bound the distance of a sweep from the one in exact arithmetic, units of utility; arguments as in `_conclude`."""
    return max(power_error(eta) * size + _ev_error(largest, states, eta), slack)


@njit(cache=True)
def _at_once(
    X: Array, W: Array, Q: Array, V: Array, beta: float, eta: float, value: Array, policy: Indexes, exact: Indexes,
    change: float,
) -> tuple[bool, float, float]:  # fmt: skip
    """Confirm a value and a policy of a single chunk; returns whether they are, residual, and rounding error."""
    states = W.shape[1]
    ev = expectation_on_one_thread(Q, V, beta)
    least, most, finite = ends_of(value.reshape(-1))
    low, high, known = ends_of(V.reshape(-1))
    errors, max_gap, right = _errors(ev, least, most, eta)
    if not (finite and known and right):
        return False, np.inf, np.inf
    largest = max(-low, high)
    facts, pieces = np.empty((1, 4)), np.empty((1, states, 2, 4))
    ev_error = _ev_error(largest, states, eta)
    _chunk(X, W, ev, eta, errors, value, policy, exact, change, ev_error, 0, facts, pieces)
    gap, size, most_best, slack = _conclude(facts, pieces, errors)
    holds = facts[0, STATE] == CONFIRMED and gap <= max_gap
    return holds, gap, _rounding(size, max(largest, most_best), slack, states, eta)


@njit(parallel=True, cache=True)
def _ends_by_chunk(table: Array, found: Array) -> None:
    """Fill ``found``, ``(2, chunks)``, with the lowest and the highest entry of each chunk of rows."""
    for chunk in prange(found.shape[1]):
        begin, end = chunk * _CHUNK, min((chunk + 1) * _CHUNK, table.shape[0])
        found[0, chunk], found[1, chunk], _ = ends_of(table[begin:end].reshape(-1))


def _ends(table: Array) -> tuple[float, float]:
    """Return the lowest and the highest entry."""
    # Waking threads takes longer than the work of a small problem.
    if threads_for(table.size) == 1:
        return float(table.min()), float(table.max())
    found = np.empty((2, (table.shape[0] - 1) // _CHUNK + 1))
    _ends_by_chunk(table, found)
    return float(found[0].min()), float(found[1].max())


def confirmed(
    X: Array, W: Array, Q: Array, V: Array, beta: float, eta: float, value: Array, policy: Indexes, change: float
) -> Confirmed | None:
    """Confirm a value and a policy in one pass, or return ``None``.

    Parameters
    ----------
    X, W, Q, V, beta, eta
        As in :mod:`beltline.gpu_ref`, contiguous and checked, with ``W`` non-decreasing in ``x``; ``V`` is the value
        from which the sweep begins.
    value, policy
        ``(N_k, N_z)``, ``float64`` and ``int32``.
    change
        How far the value may be off for reasons other than rounding, units of utility. A choice may lose twice that.

    Returns
    -------
    Confirmed or None
        ``None`` if something is not finite, if the value is wrong somewhere, or if too many choices are not the best
        ones, be it only by a tie.
    """
    if W.shape[0] <= _CHUNK and threads_for(W.size) == 1:
        # One call takes less time than its parts. Choices at ends are repaired below.
        exact = policy.copy()
        holds, residual, rounding = _at_once(X, W, Q, V, beta, eta, value, policy, exact, change)
        if holds:
            return Confirmed(residual, rounding, exact)
    ev = expectation(Q, V, beta)
    ends = _ends(value)
    low, high = ends if V is value else _ends(V)
    largest = max(-low, high)
    grid, states = W.shape
    errors, max_gap, finite = _errors(ev, *ends, eta)
    if not finite:
        return None
    chunks = (grid - 1) // _CHUNK + 1
    facts, pieces = np.empty((chunks, 4)), np.empty((chunks, states, 2, 4))
    ev_error = _ev_error(largest, states, eta)
    exact = policy.copy()
    tables = X, W, ev, eta, errors, value, policy, exact, change, ev_error
    todo = np.arange(chunks)
    repairs = 0
    while todo.size:
        count = threads_for(todo.size * _CHUNK * states)
        with threads(count):
            (_rows_on_one_thread if count == 1 else _rows_on_all)(*tables, todo, facts, pieces)
        again: set[int] = set()
        for state in facts[:, STATE].tolist():
            if state == CONFIRMED:
                continue
            repairs += 1
            if state == WRONG or repairs > MAX_REPAIRS:
                return None
            lowest, highest = _repair(X, W, ev, eta, exact, int(state) // states, int(state) % states, 0, grid)
            if lowest < 0:
                return None
            again |= {*range(max(lowest - 1, 0) // _CHUNK, min(highest + 1, grid - 1) // _CHUNK + 1)}
        todo = np.array(sorted(again), np.int64)
    gap, size, most_best, slack = _conclude(facts, pieces, errors)
    if gap > max_gap:
        return None
    return Confirmed(gap, _rounding(size, max(largest, most_best), slack, states, eta), exact)
