"""Clock model of the gather unit, :class:`beltline.hw.sweep.gather.Gather`."""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit
from beltline.hw.sweep.parameters import ROW_SHIFT
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS

WINDOW_ROWS = 8
"""Rows in the window of each exogenous state."""

AHEAD_STATES = 32
"""Most states that wait for their rows."""

AHEAD_ROWS = 8
"""Most requests that wait for a turn on the bus."""

RING = 128
"""Entries of the model's ring buffers: more than there are rows or states in progress at any time."""

TABLE_BITS = 9
"""Bits below the row number in a logged request.

A request of the check has the exogenous state there. One of a local search or a scan has, from the lowest bit on, the
number of the half-row, the exogenous state, and a flag in the highest bit; the order differs from the gateware's.
"""

_HALF_FLAG = 1 << (TABLE_BITS - 1)

# Indexes of a lane's registers: its port to the bus, which the local search uses too, then the gather unit's.
(
    PHASE,
    GRANTED,
    ASKED,
    SENT,
    ARRIVED,
    LEVEL,
    HEAD,
    BEGIN,
    END,
    ACCEPTED,
    ENTERED,
    ENTERED_S,
    ENTERED_A,
    ENTERED_B,
    COMPARED,
    S,
    A,
    B,
    BEGINS,
    INSIDE,
    NEXT_ROW,
    KNOWN,
    QUEUED,
    PLACE,
    PUT,
    DONE,
    GATHERS,
) = range(27)


@njit(cache=True)
def state_of(request):  # type: ignore[no-untyped-def]
    """Return the exogenous state of a logged request."""
    table = request & ((1 << TABLE_BITS) - 1)
    return (table & (_HALF_FLAG - 1)) >> 1 if table & _HALF_FLAG else table


@njit(cache=True)
def gather_run(r, windows, places, rows, arrivals, states, indexes, left, top, now, end, taken_at):  # type: ignore[no-untyped-def]
    """Simulate the gather unit of a lane from clock ``now`` to ``end``, or until its last state has left.

    The model updates the registers and queues of :class:`beltline.hw.sweep.gather.Gather` clock by clock. Returns the
    first clock that was not simulated.

    Parameters
    ----------
    r, windows, places, rows, arrivals
        int64: registers of the model, passed on from call to call. ``windows`` is ``(N_z, 3)``: ``newest``, ``last``
        (-1 if the window has no row) and ``base`` of each exogenous state.
    states, indexes
        int64, ``(count,)``: exogenous state and choice of each state, in order.
    left
        int64, ``(count,)``, or of size 0: receives the clock in which each state leaves.
    top
        Last index of the build.
    now, end, taken_at
        Clocks. In ``taken_at`` the lane learns that its request was taken.
    """
    count = indexes.size
    asked, arrived, sent, level, head = r[ASKED], r[ARRIVED], r[SENT], r[LEVEL], r[HEAD] != 0
    accepted, entered, compared = r[ACCEPTED], r[ENTERED] != 0, r[COMPARED] != 0
    entered_s, entered_a, entered_b = r[ENTERED_S], r[ENTERED_A], r[ENTERED_B]
    s, a, b = r[S], r[A], r[B]
    begins, inside, next_row, known = r[BEGINS] != 0, r[INSIDE] != 0, r[NEXT_ROW] != 0, r[KNOWN] != 0
    queued, place, put, done = r[QUEUED], r[PLACE] != 0, r[PUT], r[DONE]
    t = now
    while t < end and done < count:
        push = ask = follows = False
        if compared:
            follows = next_row and windows[s, 1] + 1 - windows[s, 2] < WINDOW_ROWS
            jumps = not inside and not next_row and (not known or put == done)
            complete = inside or (follows and (begins or a == b)) or (jumps and a == b)
            row_ready = level < AHEAD_ROWS
            state_ready = queued < AHEAD_STATES
            ask = (follows or jumps) and row_ready and (state_ready or not complete)
            push = complete and state_ready and (inside or row_ready)
        compare = entered and (not compared or (push and entered_s != s))
        new_begins = new_inside = new_next = new_known = False
        if compare:
            last = windows[entered_s, 1]
            new_known = last >= 0
            new_begins = new_known and entered_a >= windows[entered_s, 0] and entered_a <= last
            new_inside = new_begins and entered_b <= last
            new_next = (new_begins and not new_inside) or (new_known and entered_a == last + 1)
        pop = place and places[done % RING, 2] <= arrived
        taken = t == taken_at
        # Clock edge.
        if ask:
            if follows:
                windows[s, 1] += 1
            else:
                windows[s, 0] = windows[s, 1] = windows[s, 2] = a
            rows[asked % RING] = windows[s, 1] << TABLE_BITS | s
            asked += 1
        if push:
            windows[s, 0] = a
            places[put % RING, 0], places[put % RING, 1], places[put % RING, 2] = s, a, asked
            put += 1
        if pop:
            windows[places[done % RING, 0], 2] = places[done % RING, 1]
            if left.size:
                left[done] = t
            done += 1
        moved = level > 0 and (taken or not head)
        head = moved or (head and not taken)
        level += (1 if ask else 0) - (1 if moved else 0)
        moved = queued > 0 and (pop or not place)
        place = moved or (place and not pop)
        queued += (1 if push else 0) - (1 if moved else 0)
        if arrived < sent and arrivals[arrived % RING] == t:
            arrived += 1
        if compare:
            compared = True
            s, a, b = entered_s, entered_a, entered_b
            begins, inside, next_row, known = new_begins, new_inside, new_next, new_known
        elif push:
            compared = False
        elif ask:
            begins = next_row = True
        if not entered or compare:
            entered = accepted < count
            if entered:
                entered_s, i = states[accepted], indexes[accepted]
                entered_a, entered_b = max(i - 1, 0) >> ROW_SHIFT, min(i + 1, top) >> ROW_SHIFT
                accepted += 1
        t += 1
    r[ASKED], r[ARRIVED], r[LEVEL], r[HEAD] = asked, arrived, level, head
    r[ACCEPTED], r[ENTERED], r[COMPARED] = accepted, entered, compared
    r[ENTERED_S], r[ENTERED_A], r[ENTERED_B] = entered_s, entered_a, entered_b
    r[S], r[A], r[B] = s, a, b
    r[BEGINS], r[INSIDE], r[NEXT_ROW], r[KNOWN] = begins, inside, next_row, known
    r[QUEUED], r[PLACE], r[PUT], r[DONE] = queued, place, put, done
    return t


@njit(cache=True)
def prepare(r, windows, places, rows, arrivals, states, indexes, top, begin, opens):  # type: ignore[no-untyped-def]
    """Simulate the gather unit of a check that is held: the first state enters in clock ``begin``.

    The simulation ends before clock ``opens``, the first one without ``hold``. Arguments are those of
    :func:`gather_run`.
    """
    left = np.empty(0, np.int64)
    never = np.int64(-1) << 40
    gather_run(r, windows, places, rows, arrivals, states[:1], indexes[:1], left, top, begin, opens, never)


@njit(cache=True)
def lone_clocks(states, indexes, grid, state_count, turn, slots, fetch, begin, opens):  # type: ignore[no-untyped-def]
    """Return the clock in which each state leaves, for a lane whose requests are taken in every turn.

    The turns are in clocks ``t = turn (mod slots)``; ``fetch`` is the latency of the row buses. The other arguments are
    those of :meth:`beltline.hw.sweep.gather.GatherParameters.clocks`.
    """
    left = np.zeros(indexes.size, np.int64)
    r = np.zeros(GATHERS, np.int64)
    windows = np.zeros((state_count, 3), np.int64)
    windows[:, 1] = -1
    places = np.zeros((RING, 3), np.int64)
    rows = np.zeros(RING, np.int64)
    arrivals = np.zeros(RING, np.int64)
    if opens > begin:
        prepare(r, windows, places, rows, arrivals, states, indexes, grid - 1, begin, opens)
        begin = opens
    now = begin - (begin - turn) % slots
    while r[DONE] < indexes.size:
        taken_at = np.int64(-1)
        if r[HEAD] != 0 and now >= begin:
            taken_at = now + TAKEN_CLOCKS
            arrivals[r[SENT] % RING] = now + fetch
            r[SENT] += 1
        t = max(now, begin)
        gather_run(r, windows, places, rows, arrivals, states, indexes, left, grid - 1, t, now + slots, taken_at)
        now += slots
    return left
