"""Clock model of the sweep engine: the exact number of clocks of a sweep, from a log of its work (:class:`SweepLog`).

The model follows registers, queues and bus turns of all lanes clock by clock. Only lanes with turns in the same clock
influence each other, on the buses. So each group of such lanes is simulated apart from the others, from turn to turn.
In names, ``context`` is the number of a search in its lane, and ``probe`` stands for one evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.control.sequencer import DRAIN, check_clocks
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.sweep.bus_clocks import CHECKS, RESTS, SCANS, SEARCHES, grant
from beltline.hw.sweep.check import PREPARE_CLOCKS, CheckParameters
from beltline.hw.sweep.datapath import ROUND_BEGINS
from beltline.hw.sweep.extremes import shift_clocks
from beltline.hw.sweep.follow_clocks import followed
from beltline.hw.sweep.gather import GatherParameters
from beltline.hw.sweep.gather_clocks import (
    ARRIVED,
    ASKED,
    BEGIN,
    DONE,
    GRANTED,
    PHASE,
    RING,
    gather_run,
    prepare,
)
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.parameters import HALF_SHIFT, ROW_SHIFT, SHARED_STATES, SweepParameters
from beltline.hw.sweep.patch import PatchParameters
from beltline.hw.sweep.patch_clocks import patches
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.scan_clocks import REGISTERS, scan_begin, scan_run, shared_clocks, shared_visits
from beltline.hw.sweep.search.halves import UNLOAD_CLOCKS
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.search_clocks import FIELDS, LAST, LEFT, search_begin, search_run
from beltline.hw.sweep.trees import join_clocks, largest_norm_clocks

NEVER = -1
"""In place of a clock: there is no such event."""

_FAR = 1 << 62
"""A clock later than any in a sweep."""


@dataclass(frozen=True)
class Dealt:
    """Assignment of the states of a problem to lanes, and within a lane to the searches that share its evaluator.

    Parameters
    ----------
    search
        Parameters of the build's local search.
    grid, states
        ``N_k`` and ``N_z`` of the problem.
    """

    search: SearchParameters
    grid: int
    states: int

    @property
    def lane_shift(self) -> int:
        """``c``: lane ``l`` has the points ``l 2**c`` to ``(l + 1) 2**c - 1``."""
        return (ROW_WORDS * self.search.build.local_rows(self.grid)).bit_length() - 1

    @property
    def part_shift(self) -> int:
        """Each search has ``2**part_shift`` points of its lane, in one exogenous state."""
        return max(0, self.lane_shift - self.search.part_bits)

    @property
    def used(self) -> int:
        """Number of lanes that have points."""
        return ((self.grid - 1) >> self.lane_shift) + 1

    @property
    def shares(self) -> bool:
        """Whether the lanes share the brackets of the first and the last point before the rounds of a proof."""
        return self.search.build.shares and self.used > 1 and self.states <= SHARED_STATES * self.used

    def points(self, lane: int) -> int:
        """Return the number of points of lane number ``lane``, 0 if the problem ends before it."""
        return min(max(self.grid - (lane << self.lane_shift), 0), 1 << self.lane_shift)


@dataclass(frozen=True, eq=False)
class SweepLog:
    """Log of a sweep, from which its clocks follow.

    Parameters
    ----------
    dealt
        Assignment of states to lanes and searches.
    choices
        int64, ``(N_k, N_z)``: choices before the sweep, which the check reads; 0 in the first sweep of a run.
    searched
        bool, ``(N_k, N_z)``: states that were searched.
    counts
        int64, ``(lanes, contexts)``: number of evaluations of each search.
    probes
        int32, ``(lanes * contexts, m)`` with ``m`` at least the largest count: the evaluations of each search, in
        order. Each is ``2 * index + last``: ``index`` is the candidate, or ``OFF_GRID``, and ``last`` is 1 in the last
        evaluation of a state.
    unchecked
        bool, ``(lanes,)``: lanes that search all their states without a check.
    """

    dealt: Dealt
    choices: NDArray[np.int64]
    searched: NDArray[np.bool_]
    counts: NDArray[np.int64]
    probes: NDArray[np.int32]
    unchecked: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Round:
    """Log of a round of a proof (:class:`beltline.hw.sweep.proof.Proof`), from which its clocks follow.

    Parameters
    ----------
    divide, odd
        Whether the round was by divide and conquer; 1 if it examined the states of odd points (or, by divide and
        conquer, of the first points of lanes), 0 if of even points (or of all other points).
    ends
        bool, ``(lanes,)``: lanes that examined only their first and last point.
    lowest, highest
        int64, ``(N_k, N_z)``: brackets that were evaluated. ``lowest`` is -1 for states whose bracket was not, because
        check or local search had already compared all its candidates, or it was the choice alone in a round that
        divides, or the round did not examine the state.
    moved
        bool, ``(N_k, N_z)``: states with a better candidate in the bracket, which were repaired from there.
    counts, probes
        Evaluations of these repairs, as in :class:`SweepLog`.
    shared
        All lanes evaluated the brackets of the first and the last point, before the rounds.
    states
        int64: exogenous states that scans read, in order; by default all.
    """

    divide: bool
    odd: int
    ends: NDArray[np.bool_]
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    moved: NDArray[np.bool_]
    counts: NDArray[np.int64]
    probes: NDArray[np.int32]
    shared: bool = False
    states: NDArray[np.int64] | None = None


@njit(cache=True)
def _group(phase, slots, begins, of_build, tables, results, scans):  # type: ignore[no-untyped-def]
    """Simulate all lanes with turns in clocks ``phase (mod slots)``; :func:`lane_clocks` gives the arguments."""
    lane_bits, bits, top, lane_shift, part_shift, fetch = of_build[:6]
    fetch_search, check_behind, prepared, after, ring, decided, by_state = of_build[6:]
    choices, searched, counts, log, unchecked = tables
    checked, ends, found, passed = results
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
    searches = np.zeros((members, contexts, FIELDS), np.int64)
    visits, passes, bracket_clocks, result_latency, least = scans
    steps, lasts, ready = np.zeros_like(rows), np.zeros_like(rows), np.zeros_like(rows)
    now, resting = np.int64(_FAR), 0
    exogenous = np.arange(min(points, 1 << lane_shift) * states) % states
    unasked = np.empty(0, np.int64)
    for k in range(members):
        lane = phase + k * slots
        now = min(now, begins[lane])
        r[k, BEGIN] = begins[lane]
        windows[k, :, 1] = -1
        own = min(max(points - (lane << lane_shift), 0), 1 << lane_shift)
        if own == 0:
            r[k, PHASE] = RESTS
            resting += 1
        elif passes.size:
            scan_begin(r[k], begins[lane], passes[lane, 0], passes[lane, 1] if least else np.int64(-1))
            r[k, PHASE] = SCANS
        elif not unchecked[lane]:
            r[k, PHASE] = CHECKS
            own_choices, at = choices[lane << lane_shift], begins[lane]
            queues = windows[k], places[k], rows[k], arrivals[k]
            prepare(r[k], *queues, exogenous, own_choices, top, at - prepared, at)
        else:
            r[k, PHASE] = SEARCHES
            search_begin(r[k], searches[k], own, part_shift, bits, states, ring)
            r[k, LAST] = begins[lane] + ring + decided
    now -= (now - phase) % slots
    wanted, order = np.empty(1 << lane_bits, np.int64), np.empty(members, np.int64)
    while resting < members:
        # Of the clocks from `now` to `end`, all lanes of the group have their turn in the first.
        grant(r, rows, arrivals, order, wanted, width, by_state, now, fetch, fetch_search)
        end = now + slots
        for k in range(members):
            taken_at = now + TAKEN_CLOCKS if r[k, GRANTED] != 0 else np.int64(_FAR)
            lane = phase + k * slots
            first = lane << lane_shift
            last = min(first + (1 << lane_shift), points)
            t = max(now, r[k, BEGIN])
            if r[k, PHASE] == CHECKS and t < end:
                own_choices = choices[first:last].ravel()
                queues = windows[k], places[k], rows[k], arrivals[k]
                of_states = exogenous[: own_choices.size], own_choices, unasked
                t = gather_run(r[k], *queues, *of_states, top, t, end, taken_at)
                if r[k, DONE] == own_choices.size:
                    checked[lane] = t - 1 + check_behind
                    if searched[first:last].any():
                        r[k, PHASE] = SEARCHES
                        r[k, BEGIN] = checked[lane] + after
                        search_begin(r[k], searches[k], last - first, part_shift, bits, states, ring)
                        r[k, LAST] = r[k, BEGIN] + ring + decided
                        t = max(t, r[k, BEGIN])
                    else:
                        r[k, PHASE] = RESTS
                        resting += 1
            if r[k, PHASE] == SCANS and t < end:
                of_scan = steps[k], rows[k], lasts[k], ready[k], visits, passes[lane]
                t, over = scan_run(r[k], *of_scan, bracket_clocks, result_latency, least, t, end, taken_at)
                if over:
                    checked[lane] = t - 1
                    if searched[first:last].any():
                        r[k, PHASE] = SEARCHES
                        r[k, BEGIN] = t
                        search_begin(r[k], searches[k], last - first, part_shift, bits, states, ring)
                        r[k, LAST] = r[k, BEGIN] + ring + decided
                    else:
                        r[k, PHASE] = RESTS
                        resting += 1
            if r[k, PHASE] == SEARCHES and t < end:
                t = search_run(
                    r[k],
                    searches[k],
                    rows[k],
                    pushes[k],
                    arrivals[k],
                    searched[first:last],
                    log[lane * contexts : (lane + 1) * contexts],
                    found[first:last],
                    passed[first:last],
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
                    r[k, PHASE] = RESTS
                    ends[lane] = max(r[k, LAST] + 3, t + 1)
                    resting += 1
        now = end


@njit(cache=True, parallel=True)
def _groups(slots, begins, of_build, tables, results, scans):  # type: ignore[no-untyped-def]
    for phase in prange(min(slots, begins.size)):
        _group(phase, slots, begins, of_build, tables, results, scans)


@dataclass(frozen=True, eq=False)
class LaneClocks:
    """Clocks of events in a sweep; ``NEVER`` for an event that does not occur.

    Parameters
    ----------
    checked
        int64, ``(lanes,)``: the last result of each lane's check; ``NEVER`` for a lane without points or check.
    ends
        int64, ``(lanes,)``: first clock in which ``busy`` of each lane's local search is low again.
    found
        int64, ``(N_k, N_z)``: the result of each state that was searched. Of size 0 if results were not requested.
    passed
        int64, ``(N_k, N_z)``: as ``passed`` of :mod:`beltline.hw.sweep.search_clocks`. Of size 0 without ``overlap``.
    """

    checked: NDArray[np.int64]
    ends: NDArray[np.int64]
    found: NDArray[np.int64]
    passed: NDArray[np.int64]


_Scans = tuple[NDArray[np.int64], NDArray[np.int64], int, int, int]
_NO_SCANS: _Scans = np.zeros((0, 3), np.int64), np.zeros((0, 0), np.int64), 0, 0, 0


def lane_clocks(
    log: SweepLog,
    begins: NDArray[np.int64],
    after: int = 0,
    results: bool = False,
    scans: _Scans = _NO_SCANS,
) -> LaneClocks:
    """Return the clocks of check and local search of all lanes, or of scan and local search.

    Parameters
    ----------
    log
        Log of the sweep.
    begins
        int64, ``(lanes,)``: clock of ``go``, which starts each lane's check, or ends the wait of a check that was
        prepared; or of ``start`` of its local search if it is unchecked. Clock 0
        is the first one of a round of turns, both on the buses and in the rings of the searches. A lane that is checked
        has no local search if all its choices remain.
    after
        Clocks from the last result of a lane's check to ``start`` of its local search.
    results
        Whether ``found`` of the result is requested.
    scans
        For a round of a proof, which has scans in place of checks: ``(visits, passes, bracket_clocks, result_latency,
        least)`` of :func:`beltline.hw.sweep.scan_clocks.scan_run`, with one row of ``passes`` for each lane.
        ``checked`` is then the clock in which a lane's scan ends; its local search begins in the next clock.
    """
    dealt = log.dealt
    search, build = dealt.search, dealt.search.build
    of_check = CheckParameters(build)
    fetch = RowBusesParameters(build, build.inner_bits).latency
    checked = np.full(build.lanes, NEVER, np.int64)
    ends = np.full(build.lanes, NEVER, np.int64)
    found = np.full(log.choices.shape if results else (0, 0), NEVER, np.int64)
    passed = np.full(log.choices.shape if build.overlap else (0, 0), NEVER, np.int64)
    _groups(
        build.slots,
        np.asarray(begins, np.int64) + np.where(log.unchecked, 0, 1 if build.prepares else of_check.begin),
        (
            build.lane_bits,
            build.state_bits,
            build.grid - 1,
            dealt.lane_shift,
            dealt.part_shift,
            fetch,
            fetch + UNLOAD_CLOCKS,
            GatherParameters(build).latency + of_check.result_latency,
            PREPARE_CLOCKS if build.prepares else 0,
            after,
            search.clocks,
            search.decided,
            build.alternatives,
        ),
        (log.choices, log.searched, log.counts, log.probes, log.unchecked),
        (checked, ends, found, passed),
        scans,
    )
    return LaneClocks(checked, ends, found, passed)


_GO = -1
"""Clock of a pass in which the lanes begin. Clock 0, the next one, is the first of a round of turns."""

JUDGED = 2
"""Clocks from the last result of a lane's check to ``start`` of its local search."""

_DECIDE = 1
"""Clocks from the end of a pass to ``begin`` of the next."""

END_CLOCKS = DRAIN
"""Clocks that a run takes in addition to its passes: it then waits for the largest norm."""


def pass_clocks(
    dealt: Dealt,
    log: SweepLog | None = None,
    shifts: bool = False,
    rounds: Sequence[Round] = (),
    meets: bool = False,
) -> int:
    """Return the clocks of a sweep, from its ``begin`` to that of the next pass.

    Parameters
    ----------
    dealt
        Assignment of the problem's states to lanes and searches.
    log
        Log of the sweep; ``None`` for the prologue.
    shifts
        Whether shifts are computed after the sweep.
    rounds
        Rounds of its proof, empty for a sweep without a proof.
    meets
        Whether all lanes wait for each other although there are no rounds.
    """
    build = dealt.search.build
    settle = LaneParameters(build).settle
    turns = build.turns(dealt.states)
    # From a state that the patch reads to the last turn of its point's last expectation.
    waits = LaneParameters(build).to_turns + dealt.states * turns if build.multipliers else 0
    ends = np.full(build.lanes, _GO)
    done = 0
    notes = np.ones(dealt.grid, np.bool_)
    if log is not None:
        lanes = lane_clocks(log, np.full(build.lanes, _GO), JUDGED)
        ends = lanes.ends
        # One register for the decision on the last state; then the pipelines run empty.
        if not build.multipliers:
            done = int(lanes.checked.max()) + 1 + settle + 2
            notes = np.asarray(log.searched.any(axis=1), np.bool_)
    if rounds or meets:
        # In each round, all lanes wait for the slowest. A lane with a repair reads all of its states once more.
        met = np.maximum(lanes.checked + JUDGED, ends) + 1
        finish = int(met.max()) + _meeting(build)
        for one in rounds:
            lanes = round_clocks(dealt, one)
            finish += int(np.maximum(lanes.checked + 2, lanes.ends + 1).max()) + _meeting(build) - _GO
            repaired = np.logical_or.reduceat(one.moved.any(axis=1), np.arange(0, dealt.grid, 1 << dealt.lane_shift))
            notes |= np.repeat(repaired, 1 << dealt.lane_shift)[: dealt.grid]
        ends = np.full(build.lanes, finish)
        done = max(done, finish + 2)
    if build.overlap and log is not None:
        starts = np.where(log.unchecked, _GO, lanes.checked + JUDGED)
        points = dealt.lane_shift, dealt.part_shift
        done = max(done, followed(dealt.search, points, lanes.passed, notes, starts, ends))
        notes[:] = False
    busy, last = np.zeros(build.lanes, np.int64), np.zeros(build.lanes, np.int64)
    patches(notes, dealt.lane_shift, dealt.states, turns, busy, last)
    for lane in range(build.lanes):
        if last[lane]:
            first = int(ends[lane]) + PatchParameters(build).begin
            done = max(done, first + int(last[lane]) - 1 + waits + settle + 2, first + int(busy[lane]) + 2)
    of_shift = shift_clocks(build, dealt.states, largest_norm_clocks(build)) if shifts else 0
    return _around(build, done) + of_shift + _DECIDE


def _meeting(build: SweepParameters) -> int:
    """Return the clocks from the one in which the last lane is done to the beginning of the next round in the lanes."""
    return join_clocks(build) + ROUND_BEGINS


def round_clocks(dealt: Dealt, one: Round) -> LaneClocks:
    """Return the clocks of scan and local search of all lanes, in a round of a proof that begins in clock ``_GO``.

    ``checked`` of the result is the clock in which a lane's scan ends.
    """
    build = dealt.search.build
    log = SweepLog(dealt, one.lowest, one.moved, one.counts, one.probes, np.ones(build.lanes, np.bool_))
    latencies = ScanParameters(build).bracket_clocks, ScanParameters(build).result_latency
    states = np.arange(dealt.states) if one.states is None else one.states
    if one.shared:
        low, high = (table[[-1, 0]][:, states] for table in (one.lowest, one.highest))
        visits, passes = shared_visits(build, dealt.used, low, high, states, _GO)
        least = _GO + shared_clocks(build, 2 * states.size)
        return lane_clocks(log, np.full(build.lanes, _GO), scans=(visits, passes, *latencies, least))
    levels: Sequence[int] = (0,)
    if one.divide:
        levels = (dealt.lane_shift,) if one.odd else range(dealt.lane_shift - 1, -1, -1)
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
            count += looked.size * states.size
            passes[lane, number + 1] = count
    rows = np.concatenate(places)
    lowest, highest = (table[np.ix_(rows, states)].ravel() >> HALF_SHIFT for table in (one.lowest, one.highest))
    visits = np.stack([lowest, highest, np.tile(states, rows.size)], axis=1)
    return lane_clocks(log, np.full(build.lanes, _GO), scans=(visits, passes, *latencies, 0))


def begin_clocks(dealt: Dealt) -> int:
    """Return the clocks of a run before its first sweep: the check of its configuration, and the prologue."""
    return check_clocks(dealt.search.build.multiplier) + pass_clocks(dealt)


def seek_clocks(dealt: Dealt, log: SweepLog) -> int:
    """Return the clocks of a pass that looks for other peaks after the last sweep; ``log`` is that of the pass."""
    build = dealt.search.build
    lanes = lane_clocks(log, np.full(build.lanes, _GO), JUDGED)
    return _around(build, int(lanes.ends.max()) + 2)


def _around(build: SweepParameters, done: int) -> int:
    """Return the clocks of a pass whose last lane is done in clock ``done``, until that is known."""
    # Registers from `begin` to the lanes, and back through the tree that joins them.
    return 3 + done + join_clocks(build)
