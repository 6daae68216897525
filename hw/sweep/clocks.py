"""The clocks of a sweep of the sweep engine, exactly, from what its lanes do: :class:`SweepLog`.

Registers, queues and turns of all lanes, clock by clock. Lanes meet only on the buses, and there only those that have
their turns in the same clock: they go on together, from turn to turn, and the others apart from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.control.sequencer import DRAIN, check_clocks
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.sweep.check import CheckParameters
from beltline.hw.sweep.datapath import DECIDED, ROUND_BEGINS, join_clocks, largest_norm_clocks
from beltline.hw.sweep.gather import GatherParameters
from beltline.hw.sweep.gather_clocks import (
    ARRIVED,
    ASKED,
    BEGIN,
    DONE,
    GRANTED,
    HEAD,
    PHASE,
    RING,
    SENT,
    TABLE_BITS,
    gather_run,
)
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.parameters import HALF_SHIFT, ROW_SHIFT, SweepParameters
from beltline.hw.sweep.patch import NOTES, PatchParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.scan_clocks import REGISTERS, scan_begin, scan_run
from beltline.hw.sweep.shift import ShiftParameters
from beltline.hw.sweep.walk.halves import UNLOAD_CLOCKS
from beltline.hw.sweep.walk.parameters import WalkParameters
from beltline.hw.sweep.walk_clocks import FIELDS, LAST, LEFT, walk_begin, walk_run

NEVER = -1
"""In the clocks of results: a state that was not walked."""

_FAR = 1 << 62
"""A clock that never comes."""

_NOTHING, _LOST = -1, -2
"""What buses want of a lane: nothing yet; several rows, of which the first is served."""

# What a lane does.
_CHECKS, _WALKS, _RESTS, _SCANS = range(4)


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


@dataclass(frozen=True, eq=False)
class Round:
    """What a round of a proof did: see :class:`beltline.hw.sweep.proof.Proof`.

    Parameters
    ----------
    divide, odd
        Whether it was by divide and conquer; whether over the states of odd points.
    ends
        bool, ``(lanes,)``: lanes that looked at their first and their last point only.
    lowest, highest
        int64, ``(N_k, N_z)``: the bracket of each state that it looked at, ``lowest`` -1 where check and walk had
        compared all of it.
    moved
        bool, ``(N_k, N_z)``: states whose bracket had a better candidate, which were walked from there.
    counts, probes
        Of these walks, as in :class:`SweepLog`.
    """

    divide: bool
    odd: int
    ends: NDArray[np.bool_]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    moved: NDArray[np.bool_]
    counts: NDArray[np.int64]
    probes: NDArray[np.int32]


@njit(cache=True)
def _grant(r, rows, arrivals, wanted, width, now, fetch, fetch_walk):  # type: ignore[no-untyped-def]
    """The lowest that wants a row of a lane gets it, with those that want the same up to the first that does not."""
    wanted[:] = _NOTHING
    for k in range(r.shape[0]):
        r[k, GRANTED] = 0
        if r[k, HEAD] != 0:
            row = rows[k, r[k, SENT] % RING]
            source = (row >> (TABLE_BITS + width)) & (wanted.size - 1)
            if wanted[source] != _NOTHING and wanted[source] != row:
                wanted[source] = _LOST
            else:
                wanted[source] = row
                r[k, GRANTED] = 1
                arrivals[k, r[k, SENT] % RING] = now + (fetch if r[k, PHASE] == _CHECKS else fetch_walk)
                r[k, SENT] += 1


@njit(cache=True)
def _group(phase, slots, begins, of_build, tables, results, scans):  # type: ignore[no-untyped-def]
    """All lanes that have their turns in the clocks ``phase (mod slots)``; the last ones as in :func:`lane_clocks`."""
    lane_bits, bits, top, lane_shift, part_shift, fetch, fetch_walk, check_behind, after, ring, decided = of_build
    choices, walked, counts, log, unchecked = tables
    checked, ends, found = results
    lanes, contexts = counts.shape
    points, states = choices.shape
    width = lane_shift - ROW_SHIFT
    members = (lanes - phase + slots - 1) // slots
    r = np.zeros((members, REGISTERS), np.int64)
    windows = np.zeros((members, states, 3), np.int64)
    places = np.zeros((members, RING, 3), np.int64)
    rows = np.zeros((members, RING), np.int64)
    pushes = np.zeros((members, RING), np.int64)
    arrivals = np.zeros((members, RING), np.int64)
    walkers = np.zeros((members, contexts, FIELDS), np.int64)
    visits, passes, behind = scans
    steps, lasts, ready = np.zeros_like(rows), np.zeros_like(rows), np.zeros_like(rows)
    now = np.int64(_FAR)
    resting = 0
    for k in range(members):
        lane = phase + k * slots
        now = min(now, begins[lane])
        r[k, BEGIN] = begins[lane]
        windows[k, :, 1] = -1
        own = min(max(points - (lane << lane_shift), 0), 1 << lane_shift)
        if own == 0:
            r[k, PHASE] = _RESTS
            resting += 1
        elif passes.size:
            scan_begin(r[k], begins[lane], passes[lane, 0])
            r[k, PHASE] = _SCANS
        elif not unchecked[lane]:
            r[k, PHASE] = _CHECKS
        else:
            r[k, PHASE] = _WALKS
            walk_begin(r[k], walkers[k], own, part_shift, bits, states, ring)
            r[k, LAST] = begins[lane] + ring + decided
    now -= (now - phase) % slots
    wanted = np.empty(1 << lane_bits, np.int64)
    exogenous = np.arange(min(points, 1 << lane_shift) * states) % states
    unasked = np.empty(0, np.int64)
    while resting < members:
        # In the first of these clocks they all have their turn.
        _grant(r, rows, arrivals, wanted, width, now, fetch, fetch_walk)
        end = now + slots
        for k in range(members):
            taken_at = now + TAKEN_CLOCKS if r[k, GRANTED] != 0 else np.int64(_FAR)
            lane = phase + k * slots
            first = lane << lane_shift
            last = min(first + (1 << lane_shift), points)
            t = max(now, r[k, BEGIN])
            if r[k, PHASE] == _CHECKS and t < end:
                own_choices = choices[first:last].ravel()
                t = gather_run(
                    r[k],
                    windows[k],
                    places[k],
                    rows[k],
                    arrivals[k],
                    exogenous[: own_choices.size],
                    own_choices,
                    unasked,
                    top,
                    t,
                    end,
                    taken_at,
                )
                if r[k, DONE] == own_choices.size:
                    checked[lane] = t - 1 + check_behind
                    if walked[first:last].any():
                        r[k, PHASE] = _WALKS
                        r[k, BEGIN] = checked[lane] + after
                        walk_begin(r[k], walkers[k], last - first, part_shift, bits, states, ring)
                        r[k, LAST] = r[k, BEGIN] + ring + decided
                        t = max(t, r[k, BEGIN])
                    else:
                        r[k, PHASE] = _RESTS
                        resting += 1
            if r[k, PHASE] == _SCANS and t < end:
                t, over = scan_run(
                    r[k], steps[k], rows[k], lasts[k], ready[k], visits, passes[lane], behind, t, end, taken_at
                )
                if over:
                    checked[lane] = t - 1
                    if walked[first:last].any():
                        r[k, PHASE] = _WALKS
                        r[k, BEGIN] = t
                        walk_begin(r[k], walkers[k], last - first, part_shift, bits, states, ring)
                        r[k, LAST] = r[k, BEGIN] + ring + decided
                    else:
                        r[k, PHASE] = _RESTS
                        resting += 1
            if r[k, PHASE] == _WALKS and t < end:
                t = walk_run(
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
                if r[k, LEFT] == 0 and r[k, ARRIVED] == r[k, ASKED]:
                    r[k, PHASE] = _RESTS
                    ends[lane] = max(r[k, LAST] + 3, t + 1)
                    resting += 1
        now = end


@njit(cache=True, parallel=True)
def _groups(slots, begins, of_build, tables, results, scans):  # type: ignore[no-untyped-def]
    for phase in prange(min(slots, begins.size)):
        _group(phase, slots, begins, of_build, tables, results, scans)


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


_NO_SCANS = np.zeros((0, 3), np.int64), np.zeros((0, 0), np.int64), 0


def lane_clocks(
    log: SweepLog,
    begins: NDArray[np.int64],
    after: int = 0,
    results: bool = False,
    scans: tuple[NDArray[np.int64], NDArray[np.int64], int] = _NO_SCANS,
) -> LaneClocks:
    """The clocks of check and walk of all lanes, or of scan and walk.

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
    scans
        In place of checks: the arguments of :func:`beltline.hw.sweep.scan_clocks.scan_run` that tell what is scanned,
        ``passes`` of each lane. ``checked`` is then the clock in which a lane's scan ends, and its walk begins behind.
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
        scans,
    )
    return LaneClocks(checked, ends, found)


_GO = -1
"""The clock of a pass in which the lanes begin; their turns begin behind it."""

_JUDGED = 2
"""Clocks from the last result of a lane's check to ``start`` of its walk."""

_DECIDE = DRAIN + 2
"""Clocks from the end of a pass to ``begin`` of the next."""


def pass_clocks(dealt: Dealt, log: SweepLog | None = None, shifts: bool = False, rounds: Sequence[Round] = ()) -> int:
    """Clocks of a sweep, or without a log of the prologue, from its ``begin`` to that of the next pass.

    Parameters
    ----------
    dealt
        Of the problem.
    log
        Of the sweep.
    shifts
        Whether shifts are made behind it.
    rounds
        Of its proof, if it has one.
    """
    build = dealt.walk.build
    settle = LaneParameters(build).settle
    ends = np.full(build.lanes, _GO)
    done = 0
    notes = np.ones(dealt.grid, np.bool_)
    if log is not None:
        lanes = lane_clocks(log, np.full(build.lanes, _GO), _JUDGED)
        ends = lanes.ends
        # A register, in which the last state is judged; then everything settles.
        done = int(lanes.checked.max()) + 1 + settle + 2
        notes = np.asarray(log.walked.any(axis=1), np.bool_)
    if rounds:
        # All lanes wait for each other; a lane in which a choice was repaired reads all of its states once more.
        met = np.maximum(lanes.checked + _JUDGED, ends) + 1
        finish = int(met.max()) + _meeting(build)
        for one in rounds:
            lanes = round_clocks(dealt, one)
            finish += int(np.maximum(lanes.checked + 2, lanes.ends + 1).max()) + _meeting(build) - _GO
            repaired = np.logical_or.reduceat(one.moved.any(axis=1), np.arange(0, dealt.grid, 1 << dealt.lane_shift))
            notes |= np.repeat(repaired, 1 << dealt.lane_shift)[: dealt.grid]
        ends = np.full(build.lanes, finish)
        done = max(done, finish + 2)
    busy, last = np.zeros(build.lanes, np.int64), np.zeros(build.lanes, np.int64)
    _patches(notes, dealt.lane_shift, dealt.states, busy, last)
    for lane in range(build.lanes):
        if last[lane]:
            first = int(ends[lane]) + PatchParameters(build).begin
            done = max(done, first + int(last[lane]) - 1 + settle + 2, first + int(busy[lane]) + 2)
    of_shift = ShiftParameters(build).clocks(dealt.states) + 1 if shifts else 0
    return _around(build, done) + 1 + of_shift + _DECIDE


def _meeting(build: SweepParameters) -> int:
    """Clocks from the one in which the last lane waits to the begin of the next round in the lanes."""
    return join_clocks(build) + ROUND_BEGINS


def round_clocks(dealt: Dealt, one: Round) -> LaneClocks:
    """The clocks of scan and walk of all lanes, of a round that begins in clock ``_GO``.

    ``checked`` is the clock in which a lane's scan ends.
    """
    build = dealt.walk.build
    levels = range(dealt.lane_shift, -1, -1) if one.divide else (0,)
    places: list[NDArray[np.int64]] = []
    passes = np.zeros((build.lanes, len(levels) + 1), np.int64)
    count = 0
    for lane in range(build.lanes):
        points, first = dealt.points(lane), lane << dealt.lane_shift
        passes[lane, 0] = count
        for number, level in enumerate(levels):
            begin = 0 if (level == dealt.lane_shift if one.divide else not one.odd) else 1 << level
            looked = np.arange(begin, points, 2 << level)
            if one.ends[lane]:
                looked = looked[(looked == 0) | (looked == points - 1)]
            places.append(first + looked)
            count += looked.size * dealt.states
            passes[lane, number + 1] = count
    rows = np.concatenate(places)
    lowest, highest = (table[rows].ravel() >> HALF_SHIFT for table in (one.lowest, one.highest))
    visits = np.stack([lowest, highest, np.tile(np.arange(dealt.states), rows.size)], axis=1)
    scan = ScanParameters(build)
    log = SweepLog(dealt, one.lowest, one.moved, one.counts, one.probes, np.ones(build.lanes, np.bool_))
    return lane_clocks(log, np.full(build.lanes, _GO), scans=(visits, passes, scan.behind))


def begin_clocks(dealt: Dealt) -> int:
    """Clocks of a run before its first sweep: the check of its configuration and the prologue."""
    return check_clocks(dealt.walk.build.multiplier) + pass_clocks(dealt)


def seek_clocks(dealt: Dealt, log: SweepLog) -> int:
    """Clocks of a pass that seeks other peaks behind the last sweep; ``log`` of that pass."""
    build = dealt.walk.build
    lanes = lane_clocks(log, np.full(build.lanes, _GO), _JUDGED)
    return _around(build, int(lanes.ends.max()) + 2)


def _around(build: SweepParameters, done: int) -> int:
    """Clocks of a pass whose last lane is done in clock ``done``, until what comes of it is known."""
    # Registers from `begin` to the lanes, and back; then what the machine knows of them comes together.
    return 3 + done + join_clocks(build) + largest_norm_clocks(build) + DECIDED
