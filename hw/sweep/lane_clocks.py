"""Clocks of check, scan and local search of the lanes, from what they read: one pass over the rows that are requested.

A request is served in the lane's next turn on its bus, and its row arrives a fixed number of clocks later. So the
clocks follow from the order of the requests: those of a lane are one or more turns apart, and everything else waits for
rows. Of the conflicts between lanes only those of local searches are counted, in the order in which requests are made.

Arguments of all functions: ``lane_shift`` of :class:`beltline.hw.sweep.dealt.Dealt`; ``begins``, int64 ``(lanes,)``,
the clock before the first one of each lane, ``NEVER`` for a lane that does nothing; ``fetch``, clocks from a lane's
turn to its row; ``ends``, int64 ``(lanes,)``, which receives clocks, and remains as it is for a lane that does nothing.
Clock 0 is the first of a round of turns, on the buses and in the rings of the searches.
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit
from beltline.hw.interface.parameters import SLOTS
from beltline.hw.memory.queue import DEEP_CLOCKS
from beltline.hw.sweep.gather import AHEAD_ROWS, AHEAD_STATES
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS, ROW_SHIFT
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS
from beltline.hw.sweep.scan import parameters as of_scan
from beltline.hw.sweep.search.parameters import MARKS

NEVER = -1 << 40
"""In place of a clock: there is no such event."""

_SETS = 3
"""Clocks from the beginning of a scan, or from the end of its pass before, to its first state."""


@njit(cache=True)
def _turn(lane, clock):  # type: ignore[no-untyped-def]
    """Return the first clock from ``clock`` on in which a lane has its turn."""
    return clock + (lane - clock) % SLOTS


@njit(cache=True)
def check_ends(choices, lane_shift, begins, top, fetch, ends):  # type: ignore[no-untyped-def]
    """Compute the clock in which the last state of each lane's check has its rows.

    ``choices`` are int64, ``(N_k, N_z)``, and ``top`` the last index of the build. A state enters a clock after the one
    before it, two with a single exogenous state; a clock later for each row that it requests beyond the first. It
    leaves when its rows have arrived, after the state before it.
    """
    points, states = choices.shape
    left, turns = np.zeros(AHEAD_STATES, np.int64), np.zeros(AHEAD_ROWS, np.int64)
    newest, last = np.zeros(states, np.int64), np.zeros(states, np.int64)
    for lane in range(ends.size):
        first = lane << lane_shift
        if begins[lane] == NEVER or first >= points:
            continue
        last[:] = -1
        entered, turn, asked, count, arrival = begins[lane] + 1, NEVER, 0, 0, NEVER
        out = entered
        for x in range(first, min(first + (1 << lane_shift), points)):
            for s in range(states):
                low, high = max(choices[x, s] - 1, 0) >> ROW_SHIFT, min(choices[x, s] + 1, top) >> ROW_SHIFT
                entered += 2 if states == 1 and count else 1
                if last[s] < 0 or low < newest[s] or low > last[s] + 1:
                    if last[s] >= 0:
                        # The window begins again, after all states before have left.
                        entered = max(entered, out + 1)
                    last[s] = low - 1
                newest[s] = low
                for number in range(high - last[s]):
                    entered += number > 0
                    if asked >= AHEAD_ROWS:
                        entered = max(entered, turns[asked % AHEAD_ROWS] + TAKEN_CLOCKS)
                    turn = _turn(lane, max(entered + 2, turn + SLOTS))
                    turns[asked % AHEAD_ROWS], arrival = turn, turn + fetch
                    asked += 1
                last[s] = max(last[s], high)
                if count >= AHEAD_STATES:
                    entered = max(entered, left[count % AHEAD_STATES] + 1)
                out = max(out + 1, entered + 2, arrival + 1)
                left[count % AHEAD_STATES] = out
                count += 1
        ends[lane] = out


@njit(cache=True)
def scan_ends(visits, passes, begins, bracket_clocks, result_latency, ends):  # type: ignore[no-untyped-def]
    """Compute the clock in which the last bracket of each lane's scan is finished.

    Parameters
    ----------
    visits
        int64, ``(n, 3)``: for each state that is read, the first and the last half-row of its bracket, -1 if it is not
        evaluated; and for brackets that lanes share the clock in which it is given, otherwise ``NEVER``.
    passes
        int64, ``(lanes, passes + 1)``: number of the first visit of each pass, and of the visit after the last.
    bracket_clocks, result_latency
        Of :class:`beltline.hw.sweep.scan.parameters.ScanParameters`.
    """
    free, turns = np.zeros(of_scan.AHEAD_STATES, np.int64), np.zeros(of_scan.AHEAD_HALVES, np.int64)
    for lane in range(ends.size):
        if begins[lane] == NEVER:
            continue
        end, turn, asked = begins[lane], NEVER, 0
        for number in range(passes.shape[1] - 1):
            read = queued = end + _SETS - 1
            end = read + 1
            free[:] = NEVER
            for k in range(passes[lane, number], passes[lane, number + 1]):
                read = max(read + 1, free[k % free.size])
                known = read + bracket_clocks if visits[k, 2] == NEVER else visits[k, 2]
                free[k % free.size] = known + 1
                end = max(end, known + 1)
                if visits[k, 0] < 0:
                    continue
                queued = max(queued, known + 1)
                for _ in range(visits[k, 0], visits[k, 1] + 1):
                    queued += 1
                    if asked >= turns.size:
                        queued = max(queued, turns[asked % turns.size] + TAKEN_CLOCKS + 1)
                    turn = _turn(lane, max(queued + 2, turn + SLOTS))
                    turns[asked % turns.size] = turn
                    asked += 1
                free[k % free.size] = queued + 1
                end = max(end, turn + TAKEN_CLOCKS + result_latency + 1)
        ends[lane] = end


@njit(cache=True)
def search_ends(searched, counts, probes, sizes, clocks, begins, fetch, ends):  # type: ignore[no-untyped-def]
    """Compute the first clock after each lane's local search, which begins after clock ``begins``.

    A search has a turn once in a round of the ring. It evaluates a candidate in a turn if the half-row has arrived, and
    looks for its next state in one word of marks. Lanes with turns in the same clock are followed together: a request
    to the lane that has just served another row is served a turn later.

    Parameters
    ----------
    searched, counts, probes
        Of :class:`beltline.hw.sweep.dealt.SweepLog`.
    sizes
        ``(lane_shift, part_shift, state_bits)`` of :class:`beltline.hw.sweep.dealt.Dealt` and of the build.
    clocks
        ``(ring, decided)``: clocks from one turn of a search to its next, and to the decision of a turn.
    """
    lane_shift, part_shift, state_bits = sizes
    ring, decided = clocks
    lanes, contexts = counts.shape
    rows, states = searched.shape
    shape = lanes, contexts
    taken, point, limit = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    half, came = np.full((lanes, contexts, 2), -1, np.int64), np.zeros((lanes, contexts, 2), np.int64)
    active, waits, first = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    over = np.ones(shape, np.bool_)
    turns = np.full(lanes, NEVER, np.int64)
    for phase in range(min(SLOTS, lanes)):
        # Of the memory of each lane: the clock of its last turn, and what it served.
        busy, served = np.full(lanes, NEVER, np.int64), np.full(lanes, -1, np.int64)
        left, t = 0, np.int64(1) << 60
        for lane in range(phase, lanes, SLOTS):
            if begins[lane] == NEVER:
                continue
            t = min(t, begins[lane])
            ends[lane] = begins[lane] + ring + decided + 3
            begin = lane << lane_shift
            for context in range(contexts):
                at = begin + (context >> state_bits << part_shift)
                point[lane, context] = at
                limit[lane, context] = min(at + (1 << part_shift), begin + (1 << lane_shift), rows)
                over[lane, context] = context & (1 << state_bits) - 1 >= states or at >= limit[lane, context]
                left += not over[lane, context]
        while left > 0:
            t += 1
            context = t % ring
            if context >= contexts:
                continue
            s = context & (1 << state_bits) - 1
            for lane in range(phase, lanes, SLOTS):
                if over[lane, context] or begins[lane] == NEVER or t <= begins[lane]:
                    continue
                log = probes[lane * contexts + context]
                done, wanted = False, -1
                if active[lane, context]:
                    index = log[taken[lane, context]] >> 1
                    here = index >> HALF_SHIFT
                    found = index < 0
                    if not found and half[lane, context, here & 1] != here:
                        wanted = here
                    elif not found:
                        found = came[lane, context, here & 1] <= t
                        if found and first[lane, context]:
                            # After the first evaluation of a guess both neighbours will be needed.
                            near = min(max(index + (1 if index % HALF_WORDS else -1), 0), rows - 1) >> HALF_SHIFT
                            if half[lane, context, near & 1] != near:
                                wanted = near
                    if found:
                        first[lane, context] = False
                        done = log[taken[lane, context]] & 1 != 0
                        taken[lane, context] += 1
                if wanted >= 0:
                    turn = _turn(lane, max(t + 3 + DEEP_CLOCKS, turns[lane] + SLOTS))
                    source, what = wanted << HALF_SHIFT >> lane_shift, wanted * states + s
                    if busy[source] >= turn:
                        turn = busy[source] + (0 if served[source] == what else SLOTS)
                    busy[source], served[source], turns[lane] = turn, what, turn
                    half[lane, context, wanted & 1], came[lane, context, wanted & 1] = wanted, turn + fetch
                at, end = point[lane, context], limit[lane, context]
                if not waits[lane, context] and at < end:
                    word_end = min((at | MARKS - 1) + 1, end)
                    while at < word_end and not searched[at, s]:
                        at += 1
                    waits[lane, context] = at < word_end
                    point[lane, context] = at + (at < word_end)
                if done or not active[lane, context]:
                    active[lane, context] = first[lane, context] = waits[lane, context]
                    if not waits[lane, context] and point[lane, context] >= end:
                        over[lane, context] = True
                        left -= 1
                        ends[lane] = max(ends[lane], t + decided + 3)
                    waits[lane, context] = False
