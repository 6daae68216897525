"""Clock model of the sweep engine: the exact number of clocks of a sweep, from a log of its work.

Check and local search are simulated by :mod:`beltline.hw.sweep.lane_clocks`; here follow patches, rounds of a proof,
shifts, and the registers around the lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.hw.control.sequencer import DRAIN, check_clocks
from beltline.hw.sweep.datapath import ROUND_BEGINS
from beltline.hw.sweep.extremes import shift_clocks
from beltline.hw.sweep.follow_clocks import followed
from beltline.hw.sweep.lane.parameters import SHIFT_CLOCKS, LaneParameters
from beltline.hw.sweep.lane_clocks import Dealt, LaneClocks, SweepLog, lane_clocks
from beltline.hw.sweep.parameters import HALF_SHIFT, SweepParameters
from beltline.hw.sweep.patch import PatchParameters
from beltline.hw.sweep.patch_clocks import patches
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.scan_clocks import shared_clocks, shared_visits
from beltline.hw.sweep.search.handed import ALIGN_CLOCKS
from beltline.hw.sweep.shift import EARLY_CLOCKS, ShiftParameters
from beltline.hw.sweep.trees import join_clocks, largest_norm_clocks


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


_GO = -1
"""Clock of a pass in which the lanes begin. Clock 0, the next one, is the first of a round of turns."""


def judged(build: SweepParameters) -> int:
    """Return the clocks from the last result of a lane's check to ``start`` of its local search.

    If the check hands states on, they are the clocks until the ring is aligned at the earliest.
    """
    return ALIGN_CLOCKS if build.hands else 2


_DECIDE = 1
"""Clocks from the end of a pass to ``begin`` of the next."""

_KNOWN = SHIFT_CLOCKS + 3 + EARLY_CLOCKS + 1
"""Clocks, besides those of the shifts, from the last result at the reference point until the shifts let a pass end.

They are spent until the lane sends the change of its value, in the unit, and for a register of the datapath.
"""

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
        Whether shifts are computed after the sweep, or in a build that computes them early, during it.
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
        lanes = lane_clocks(log, np.full(build.lanes, _GO), judged(build), shifts and build.early)
        ends = lanes.ends
        # One register for the decision on the last state; then the pipelines run empty.
        if not build.multipliers:
            done = int(lanes.checked.max()) + 1 + settle + 2
            notes = np.asarray(log.searched.any(axis=1), np.bool_)
    if rounds or meets:
        # In each round, all lanes wait for the slowest. A lane with a repair reads all of its states once more.
        met = np.maximum(lanes.checked + judged(build), ends) + 1
        finish = int(met.max()) + _meeting(build)
        for one in rounds:
            lanes = round_clocks(dealt, one)
            finish += int(np.maximum(lanes.checked + 2, lanes.ends + 1).max()) + _meeting(build) - _GO
            repaired = np.logical_or.reduceat(one.moved.any(axis=1), np.arange(0, dealt.grid, 1 << dealt.lane_shift))
            notes |= np.repeat(repaired, 1 << dealt.lane_shift)[: dealt.grid]
        ends = np.full(build.lanes, finish)
        done = max(done, finish + 2)
    if build.overlap and log is not None:
        points = dealt.lane_shift, dealt.part_shift
        done = max(done, followed(dealt.search, points, lanes.passed, notes, lanes.starts, lanes.firsts, ends))
        notes[:] = False
    busy, last = np.zeros(build.lanes, np.int64), np.zeros(build.lanes, np.int64)
    patches(notes, dealt.lane_shift, dealt.states, turns, busy, last)
    for lane in range(build.lanes):
        if last[lane]:
            first = int(ends[lane]) + PatchParameters(build).begin
            done = max(done, first + int(last[lane]) - 1 + waits + settle + 2, first + int(busy[lane]) + 2)
    of_shift = 0
    if shifts and build.early and log is not None:
        middle = dealt.grid >> 1
        results = np.where(log.searched[middle], lanes.found[middle], lanes.reference + 1)
        done = max(done, int(results.max()) + ShiftParameters(build).clocks(dealt.states) + _KNOWN)
    elif shifts:
        of_shift = shift_clocks(build, dealt.states, largest_norm_clocks(build))
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
    lanes = lane_clocks(log, np.full(build.lanes, _GO), judged(build))
    return _around(build, int(lanes.ends.max()) + 2)


def _around(build: SweepParameters, done: int) -> int:
    """Return the clocks of a pass whose last lane is done in clock ``done``, until that is known."""
    # Registers from `begin` to the lanes, and back through the tree that joins them.
    return 3 + done + join_clocks(build)
