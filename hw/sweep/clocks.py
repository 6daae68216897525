"""The clocks of a sweep of the sweep engine, exactly, from what its lanes do: :class:`SweepLog`.

Registers, queues and turns of all lanes, clock by clock. Lanes meet only on the buses, and there only those that have
their turns in the same clock: they go on together, from turn to turn, and the others apart from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from beltline.hw.control.sequencer import DRAIN
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.memory.queue import DEEP_CLOCKS
from beltline.hw.sweep import gather
from beltline.hw.sweep.check import CheckParameters
from beltline.hw.sweep.datapath import DECIDED, join_clocks, largest_norm_clocks
from beltline.hw.sweep.gather import AHEAD_STATES, WINDOW_ROWS, GatherParameters
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS, ROW_SHIFT, SweepParameters
from beltline.hw.sweep.patch import NOTES, PatchParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters
from beltline.hw.sweep.shift import ShiftParameters
from beltline.hw.sweep.walk.halves import UNLOAD_CLOCKS
from beltline.hw.sweep.walk.parameters import AHEAD_ROWS, MARKS, WalkParameters

OFF_GRID = -1
"""In a log: the index of a probe that is not on the grid."""

NEVER = -1
"""In the clocks of results: a state that was not walked."""

_CHECK_ROWS = gather.AHEAD_ROWS

_RING = 128
"""Rows and states that are remembered, in rings: more than are under way at any time."""

_FAR = 1 << 62
"""A clock that never comes."""

_TABLE_BITS = 6
"""Of what is asked of a row: its expected values, by exogenous state, or a half of it with that of the grid."""

_HALVES = 1 << (_TABLE_BITS - 1)
"""Above an exogenous state and the bit of a half: a half is asked for."""

_NOTHING, _LOST = -1, -2
"""What buses want of a lane: nothing yet; several rows, of which the first is served."""

# What a lane does.
_CHECKS, _WALKS, _RESTS = range(3)

# Registers of a lane: of both passes, of the check, of the walk.
(
    _PHASE,
    _GRANTED,
    _ASKED,
    _SENT,
    _ARRIVED,
    _LEVEL,
    _HEAD,
    _BEGIN,
    _END,
    _ACCEPTED,
    _ENTERED,
    _ENTERED_S,
    _ENTERED_A,
    _ENTERED_B,
    _COMPARED,
    _S,
    _A,
    _B,
    _BEGINS,
    _INSIDE,
    _NEXT_ROW,
    _KNOWN,
    _QUEUED,
    _PLACE,
    _PUT,
    _DONE,
    _TURN,
    _WALKER,
    _FOUND,
    _LACKS,
    _LEFT,
    _LAST,
    _MOVED,
    _REGISTERS,
) = range(34)

# Registers of a walker; halves of rows, numbered through, by the parity of their number.
(_ACTIVE, _WAITING, _POINT, _COUNT, _HALF0, _HALF1, _NUMBER0, _NUMBER1, _STATE, _NEXT, _AHEAD, _FIELDS) = range(12)


@dataclass(frozen=True)
class Dealt:
    """How the states of a problem are dealt to lanes and walkers.

    Parameters
    ----------
    walk
        Of the build.
    grid, states
        ``N_k`` and ``N_z`` of the problem.
    """

    walk: WalkParameters
    grid: int
    states: int

    @property
    def lane_shift(self) -> int:
        """``c``: lane ``l`` has the points from ``l 2**c`` on."""
        return (ROW_WORDS * self.walk.build.local_rows(self.grid)).bit_length() - 1

    @property
    def part_shift(self) -> int:
        """A walker has ``2**part_shift`` points of its lane."""
        return max(0, self.lane_shift - self.walk.part_bits)

    def points(self, lane: int) -> int:
        """Points of a lane, 0 where the problem ends before it."""
        return min(max(self.grid - (lane << self.lane_shift), 0), 1 << self.lane_shift)


@dataclass(frozen=True, eq=False)
class SweepLog:
    """What the clocks of a sweep follow from.

    Parameters
    ----------
    dealt
        States to lanes and walkers.
    choices
        int64, ``(N_k, N_z)``: those before the sweep, which the check reads; 0 in the first sweep of a run.
    walked
        bool, ``(N_k, N_z)``: the states that were walked.
    counts
        int64, ``(lanes, contexts)``: the probes of each walker.
    probes
        int32, ``(lanes * contexts, at least the largest count)``: of each probe ``2 index + last``, ``index`` that of
        its point or ``OFF_GRID``, ``last`` 1 in the last probe of a state.
    unchecked
        bool, ``(lanes,)``: lanes that walk all their states without a check.
    """

    dealt: Dealt
    choices: NDArray[np.int64]
    walked: NDArray[np.bool_]
    counts: NDArray[np.int64]
    probes: NDArray[np.int32]
    unchecked: NDArray[np.bool_]


@njit(cache=True)
def _check_run(r, windows, places, rows, arrivals, choices, top, now, end, taken_at):  # type: ignore[no-untyped-def]
    """A lane's check from clock ``now`` up to ``end``, or to the clock behind the one in which its last state leaves.

    ``windows``: of each exogenous state ``newest``, ``last`` (-1 where no row is known) and ``base``.
    """
    states = choices.shape[1]
    count = choices.size
    asked, arrived, sent, level, head = r[_ASKED], r[_ARRIVED], r[_SENT], r[_LEVEL], r[_HEAD] != 0
    accepted, entered, compared = r[_ACCEPTED], r[_ENTERED] != 0, r[_COMPARED] != 0
    entered_s, entered_a, entered_b = r[_ENTERED_S], r[_ENTERED_A], r[_ENTERED_B]
    s, a, b = r[_S], r[_A], r[_B]
    begins, inside, next_row, known = r[_BEGINS] != 0, r[_INSIDE] != 0, r[_NEXT_ROW] != 0, r[_KNOWN] != 0
    queued, place, put, done = r[_QUEUED], r[_PLACE] != 0, r[_PUT], r[_DONE]
    t = now
    while t < end and done < count:
        push = ask = follows = False
        if compared:
            follows = next_row and windows[s, 1] + 1 - windows[s, 2] < WINDOW_ROWS
            jumps = not inside and not next_row and (not known or put == done)
            complete = inside or (follows and (begins or a == b)) or (jumps and a == b)
            row_ready = level < _CHECK_ROWS
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
        pop = place and places[done % _RING, 2] <= arrived
        taken = t == taken_at
        # Clock edge.
        if ask:
            if follows:
                windows[s, 1] += 1
            else:
                windows[s, 0] = windows[s, 1] = windows[s, 2] = a
            rows[asked % _RING] = windows[s, 1] << _TABLE_BITS | s
            asked += 1
        if push:
            windows[s, 0] = a
            places[put % _RING, 0], places[put % _RING, 1], places[put % _RING, 2] = s, a, asked
            put += 1
        if pop:
            windows[places[done % _RING, 0], 2] = places[done % _RING, 1]
            done += 1
        moved = level > 0 and (taken or not head)
        head = moved or (head and not taken)
        level += (1 if ask else 0) - (1 if moved else 0)
        moved = queued > 0 and (pop or not place)
        place = moved or (place and not pop)
        queued += (1 if push else 0) - (1 if moved else 0)
        if arrived < sent and arrivals[arrived % _RING] == t:
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
                entered_s = 0 if accepted == 0 or entered_s == states - 1 else entered_s + 1
                i = choices[accepted // states, entered_s]
                entered_a, entered_b = max(i - 1, 0) >> ROW_SHIFT, min(i + 1, top) >> ROW_SHIFT
                accepted += 1
        t += 1
    r[_ASKED], r[_ARRIVED], r[_LEVEL], r[_HEAD] = asked, arrived, level, head
    r[_ACCEPTED], r[_ENTERED], r[_COMPARED] = accepted, entered, compared
    r[_ENTERED_S], r[_ENTERED_A], r[_ENTERED_B] = entered_s, entered_a, entered_b
    r[_S], r[_A], r[_B] = s, a, b
    r[_BEGINS], r[_INSIDE], r[_NEXT_ROW], r[_KNOWN] = begins, inside, next_row, known
    r[_QUEUED], r[_PLACE], r[_PUT], r[_DONE] = queued, place, put, done
    return t


@njit(cache=True)
def _walk_begin(r, walkers, points, part_shift, state_bits, states, ring):  # type: ignore[no-untyped-def]
    """Registers as ``start`` leaves them, for a walk that begins in clock ``r[_BEGIN]``."""
    r[_ASKED] = r[_SENT] = r[_ARRIVED] = r[_LEVEL] = r[_HEAD] = 0
    r[_MOVED] = r[_BEGIN] - DEEP_CLOCKS
    r[_WALKER] = -1
    r[_TURN] = r[_BEGIN] % ring
    left = 0
    for k in range(walkers.shape[0]):
        w = walkers[k]
        w[:] = 0
        w[_HALF0] = w[_HALF1] = w[_AHEAD] = OFF_GRID
        w[_POINT] = (k >> state_bits) << part_shift
        if k & ((1 << state_bits) - 1) >= states or w[_POINT] >= points:
            w[_POINT] = points
        else:
            left += 1
    r[_LEFT] = left


@njit(cache=True)
def _walk_run(  # type: ignore[no-untyped-def]
    r,
    walkers,
    rows,
    pushes,
    arrivals,
    walked,
    log,
    found,
    part_shift,
    state_bits,
    ring,
    decided,
    top,
    now,
    end,
    taken_at,
):
    """A lane's walk from clock ``now`` up to ``end``, or until no walker has anything to do."""
    points = walked.shape[0]
    asked, arrived, sent, level, head = r[_ASKED], r[_ARRIVED], r[_SENT], r[_LEVEL], r[_HEAD] != 0
    turn, walker, is_found, lacks, left = r[_TURN], r[_WALKER], r[_FOUND] != 0, r[_LACKS] != 0, r[_LEFT]
    t = now
    while t < end and (left > 0 or arrived < asked):
        # The walker whose turn began two clocks ago: it asks, and all that follows depends on nothing later.
        push = False
        if walker >= 0:
            w = walkers[walker]
            half = (log[walker, w[_COUNT]] >> 1) >> HALF_SHIFT if lacks else w[_AHEAD]
            if (lacks or half != OFF_GRID) and level < AHEAD_ROWS:
                push = True
                w[_HALF0 + (half & 1)] = half
                w[_NUMBER0 + (half & 1)] = asked
                what = _HALVES | (walker & ((1 << state_bits) - 1)) << 1 | half & 1
                rows[asked % _RING] = half >> 1 << _TABLE_BITS | what
                pushes[asked % _RING] = t
                asked += 1
            limit = min(points, ((walker >> state_bits) + 1) << part_shift)
            s = walker & ((1 << state_bits) - 1)
            hit = False
            if w[_WAITING] == 0 and w[_POINT] < limit:
                at = w[_POINT]
                word_end = min((at // MARKS + 1) * MARKS, points)
                while at < word_end and not walked[at, s]:
                    at += 1
                if at == word_end:
                    w[_POINT] = (w[_POINT] // MARKS + 1) * MARKS
                else:
                    w[_POINT] = at + 1
                    hit = at < limit
            done = False
            if is_found:
                done = log[walker, w[_COUNT]] & 1 != 0
                w[_COUNT] += 1
            if hit:
                w[_WAITING] = 1
                w[_NEXT] = at
            if done:
                w[_ACTIVE] = 0
                if found.size:
                    found[w[_STATE], s] = t - 2 + decided + 1
            if w[_ACTIVE] == 0:
                if w[_WAITING] != 0:
                    w[_ACTIVE] = 1
                    w[_WAITING] = 0
                    w[_STATE] = w[_NEXT]
                elif w[_POINT] >= limit:
                    left -= 1
                    r[_LAST] = max(r[_LAST], t - 2 + decided)
                    w[_POINT] = points
                    w[_ACTIVE] = -1
        # The one whose turn began in the last clock: is its row here?
        walker = -1
        if t > r[_BEGIN] + 1:
            turn = 0 if turn == ring - 1 else turn + 1
            if turn < walkers.shape[0] and walkers[turn, _ACTIVE] >= 0:
                w = walkers[turn]
                if w[_ACTIVE] != 0 or w[_POINT] < points:
                    walker = turn
                    is_found = lacks = False
                    if w[_ACTIVE] != 0:
                        w[_AHEAD] = OFF_GRID
                        index = log[turn, w[_COUNT]] >> 1
                        half = index >> HALF_SHIFT
                        if index == OFF_GRID:
                            is_found = True
                        elif w[_HALF0 + (half & 1)] == half:
                            is_found = arrived > w[_NUMBER0 + (half & 1)]
                            if is_found and (w[_COUNT] == 0 or log[turn, w[_COUNT] - 1] & 1 != 0):
                                # The first probe of a state: both its neighbours will be wanted.
                                near = half
                                if index % HALF_WORDS == 0 and index > 0:
                                    near = half - 1
                                elif index % HALF_WORDS == HALF_WORDS - 1 and index < top:
                                    near = half + 1
                                if near != half and w[_HALF0 + (near & 1)] != near:
                                    w[_AHEAD] = near
                        else:
                            lacks = True
        # Clock edge.
        taken = t == taken_at
        first = asked - level - (1 if push else 0)
        moved = level > 0 and (taken or not head)
        moved = moved and t >= pushes[first % _RING] + DEEP_CLOCKS and t >= r[_MOVED] + DEEP_CLOCKS
        if moved:
            r[_MOVED] = t
        head = moved or (head and not taken)
        level += (1 if push else 0) - (1 if moved else 0)
        if arrived < sent and arrivals[arrived % _RING] == t:
            arrived += 1
        t += 1
    r[_ASKED], r[_ARRIVED], r[_LEVEL], r[_HEAD] = asked, arrived, level, head
    r[_TURN], r[_WALKER], r[_FOUND], r[_LACKS], r[_LEFT] = turn, walker, is_found, lacks, left
    return t


@njit(cache=True)
def _group(phase, slots, begins, of_build, tables, results):  # type: ignore[no-untyped-def]
    """All lanes that have their turns in the clocks ``phase (mod slots)``; the last three as in :func:`lane_clocks`."""
    lane_bits, bits, top, lane_shift, part_shift, fetch, fetch_walk, check_behind, after, ring, decided = of_build
    choices, walked, counts, log, unchecked = tables
    checked, ends, found = results
    lanes, contexts = counts.shape
    points, states = choices.shape
    width = lane_shift - ROW_SHIFT
    members = (lanes - phase + slots - 1) // slots
    r = np.zeros((members, _REGISTERS), np.int64)
    windows = np.zeros((members, states, 3), np.int64)
    places = np.zeros((members, _RING, 3), np.int64)
    rows = np.zeros((members, _RING), np.int64)
    pushes = np.zeros((members, _RING), np.int64)
    arrivals = np.zeros((members, _RING), np.int64)
    walkers = np.zeros((members, contexts, _FIELDS), np.int64)
    now = np.int64(_FAR)
    resting = 0
    for k in range(members):
        lane = phase + k * slots
        now = min(now, begins[lane])
        r[k, _BEGIN] = begins[lane]
        windows[k, :, 1] = -1
        own = min(max(points - (lane << lane_shift), 0), 1 << lane_shift)
        if own == 0:
            r[k, _PHASE] = _RESTS
            resting += 1
        elif not unchecked[lane]:
            r[k, _PHASE] = _CHECKS
        else:
            r[k, _PHASE] = _WALKS
            _walk_begin(r[k], walkers[k], own, part_shift, bits, states, ring)
            r[k, _LAST] = begins[lane] + ring + decided
    now -= (now - phase) % slots
    wanted = np.empty(1 << lane_bits, np.int64)
    while resting < members:
        # In the first of these clocks they all have their turn; the lowest that wants a row of a lane gets it, with
        # those that want the same up to the first that wants another.
        wanted[:] = _NOTHING
        for k in range(members):
            r[k, _GRANTED] = 0
            if r[k, _HEAD] != 0:
                row = rows[k, r[k, _SENT] % _RING]
                source = (row >> (_TABLE_BITS + width)) & ((1 << lane_bits) - 1)
                if wanted[source] != _NOTHING and wanted[source] != row:
                    wanted[source] = _LOST
                else:
                    wanted[source] = row
                    r[k, _GRANTED] = 1
                    arrivals[k, r[k, _SENT] % _RING] = now + (fetch if r[k, _PHASE] == _CHECKS else fetch_walk)
                    r[k, _SENT] += 1
        end = now + slots
        for k in range(members):
            taken_at = now + TAKEN_CLOCKS if r[k, _GRANTED] != 0 else np.int64(_FAR)
            lane = phase + k * slots
            first = lane << lane_shift
            last = min(first + (1 << lane_shift), points)
            t = max(now, r[k, _BEGIN])
            if r[k, _PHASE] == _CHECKS and t < end:
                own_choices = choices[first:last]
                t = _check_run(r[k], windows[k], places[k], rows[k], arrivals[k], own_choices, top, t, end, taken_at)
                if r[k, _DONE] == own_choices.size:
                    checked[lane] = t - 1 + check_behind
                    if walked[first:last].any():
                        r[k, _PHASE] = _WALKS
                        r[k, _BEGIN] = checked[lane] + after
                        _walk_begin(r[k], walkers[k], last - first, part_shift, bits, states, ring)
                        r[k, _LAST] = r[k, _BEGIN] + ring + decided
                        t = max(t, r[k, _BEGIN])
                    else:
                        r[k, _PHASE] = _RESTS
                        resting += 1
            if r[k, _PHASE] == _WALKS and t < end:
                t = _walk_run(
                    r[k],
                    walkers[k],
                    rows[k],
                    pushes[k],
                    arrivals[k],
                    walked[first:last],
                    log[lane * contexts : (lane + 1) * contexts],
                    found[first:last],
                    part_shift,
                    bits,
                    ring,
                    decided,
                    points - 1,
                    t,
                    end,
                    taken_at,
                )
                if r[k, _LEFT] == 0 and r[k, _ARRIVED] == r[k, _ASKED]:
                    r[k, _PHASE] = _RESTS
                    ends[lane] = max(r[k, _LAST] + 3, t + 1)
                    resting += 1
        now = end


@njit(cache=True, parallel=True)
def _groups(slots, begins, of_build, tables, results):  # type: ignore[no-untyped-def]
    for phase in prange(min(slots, begins.size)):
        _group(phase, slots, begins, of_build, tables, results)


@njit(cache=True)
def _patches(notes, lane_shift, states, busy, last):  # type: ignore[no-untyped-def]
    """Clocks of the words of each lane's patch, and of them those up to the last state that is read."""
    for lane in range(busy.size):
        first = lane << lane_shift
        end = min(first + (1 << lane_shift), notes.size)
        clocks = 0
        while first < end:
            word_end = min(first + NOTES, end)
            behind = word_end
            while behind > first and not notes[behind - 1]:
                behind -= 1
            for point in range(first, behind):
                clocks += states if notes[point] else 1
            if behind > first:
                last[lane] = clocks
            clocks += 1
            first = word_end
        busy[lane] = clocks


@dataclass(frozen=True, eq=False)
class LaneClocks:
    """Clocks of a sweep.

    Parameters
    ----------
    checked
        int64, ``(lanes,)``: the last result of each lane's check, ``NEVER`` where it has no point or no check.
    ends
        int64, ``(lanes,)``: where ``busy`` of each lane's walk is low again, ``NEVER`` where it does not walk.
    found
        int64, ``(N_k, N_z)``: the result of each state that was walked, ``NEVER`` of the others; of size 0 where it
        was not asked for.
    """

    checked: NDArray[np.int64]
    ends: NDArray[np.int64]
    found: NDArray[np.int64]


def lane_clocks(log: SweepLog, begins: NDArray[np.int64], after: int = 0, results: bool = False) -> LaneClocks:
    """The clocks of check and walk of all lanes.

    Parameters
    ----------
    log
        Of the sweep.
    begins
        int64, ``(lanes,)``: the clock of ``start`` of each lane's check, or of its walk where it is unchecked. A lane
        that is checked does not walk where it has no state to walk. Clocks count from the first one of a round of
        turns, both on the buses and in the walkers' rings.
    after
        Clocks from the last result of a lane's check to ``start`` of its walk.
    results
        Whether the clock of each result of the walks is wanted.
    """
    dealt = log.dealt
    walk, build = dealt.walk, dealt.walk.build
    of_check = CheckParameters(build)
    fetch = RowBusesParameters(build, build.inner_bits).latency
    checked = np.full(build.lanes, NEVER, np.int64)
    ends = np.full(build.lanes, NEVER, np.int64)
    found = np.full(log.choices.shape if results else (0, 0), NEVER, np.int64)
    _groups(
        build.slots,
        np.asarray(begins, np.int64) + np.where(log.unchecked, 0, of_check.begin),
        (
            build.lane_bits,
            build.state_bits,
            build.grid - 1,
            dealt.lane_shift,
            dealt.part_shift,
            fetch,
            fetch + UNLOAD_CLOCKS,
            GatherParameters(build).latency + of_check.behind,
            after,
            walk.clocks,
            walk.decided,
        ),
        (log.choices, log.walked, log.counts, log.probes, log.unchecked),
        (checked, ends, found),
    )
    return LaneClocks(checked, ends, found)


_GO = -1
"""The clock of a pass in which the lanes begin; their turns begin behind it."""

_JUDGED = 2
"""Clocks from the last result of a lane's check to ``start`` of its walk."""

_DECIDE = DRAIN + 2
"""Clocks from the end of a pass to ``begin`` of the next."""


def pass_clocks(dealt: Dealt, log: SweepLog | None = None, shifts: bool = False) -> int:
    """Clocks of a sweep, or without a log of the prologue, from its ``begin`` to that of the next pass.

    Parameters
    ----------
    dealt
        Of the problem.
    log
        Of the sweep.
    shifts
        Whether shifts are made behind it.
    """
    build = dealt.walk.build
    settle = LaneParameters(build).settle
    ends = np.full(build.lanes, _GO)
    done = 0
    if log is not None:
        lanes = lane_clocks(log, np.full(build.lanes, _GO), _JUDGED)
        ends = lanes.ends
        # A register, in which the last state is judged; then everything settles.
        done = int(lanes.checked.max()) + 1 + settle + 2
    notes = np.ones(dealt.grid, np.bool_) if log is None else log.walked.any(axis=1)
    busy, last = np.zeros(build.lanes, np.int64), np.zeros(build.lanes, np.int64)
    _patches(notes, dealt.lane_shift, dealt.states, busy, last)
    for lane in range(build.lanes):
        if last[lane]:
            first = int(ends[lane]) + PatchParameters(build).begin
            done = max(done, first + int(last[lane]) - 1 + settle + 2, first + int(busy[lane]) + 2)
    of_shift = ShiftParameters(build).clocks(dealt.states) + 1 if shifts else 0
    return _around(build, done) + 1 + of_shift + _DECIDE


def seek_clocks(dealt: Dealt, log: SweepLog) -> int:
    """Clocks of a pass that seeks other peaks behind the last sweep; ``log`` of that pass."""
    build = dealt.walk.build
    lanes = lane_clocks(log, np.full(build.lanes, _GO), _JUDGED)
    return _around(build, int(lanes.ends.max()) + 2)


def _around(build: SweepParameters, done: int) -> int:
    """Clocks of a pass whose last lane is done in clock ``done``, until what comes of it is known."""
    # Registers from `begin` to the lanes, and back; then what the machine knows of them comes together.
    return 3 + done + join_clocks(build) + largest_norm_clocks(build) + DECIDED
