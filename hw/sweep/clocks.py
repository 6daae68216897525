"""Clocks of the sweep engine: the length of a sweep, from a log of its work. Within 2% of the counter of the gateware.

What a pass has to do is counted: the states that are read, and the rows that they request. :mod:`.lane_clocks` has
checks, scans and local searches; here follow patches, rounds of a proof, shifts, and the registers around the lanes.
Differences from the gateware are a few clocks where the queue of a unit is full, and where lanes request rows of one
lane in the same clock; with up to ``SLOTS`` lanes there is no such conflict.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from beltline.hw.control.sequencer import DRAIN, check_clocks
from beltline.hw.sweep.check import CheckParameters
from beltline.hw.sweep.datapath import ROUND_BEGINS
from beltline.hw.sweep.dealt import Dealt, Round, SweepLog
from beltline.hw.sweep.gather import GatherParameters
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.lane_clocks import NEVER, check_ends, scan_ends, search_ends
from beltline.hw.sweep.parameters import HALF_SHIFT, SweepParameters
from beltline.hw.sweep.patch import PatchParameters
from beltline.hw.sweep.row_buses import RowBusesParameters
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.search.halves import UNLOAD_CLOCKS
from beltline.hw.sweep.shift import ShiftParameters
from beltline.hw.sweep.trees import join_clocks

_GO = -1
"""Clock of a pass in which the lanes begin. Clock 0, the next one, is the first of a round of turns."""

_JUDGED = 2
"""Clocks from the last result of a lane's check to the beginning of its local search."""

_DECIDE = 1
"""Clocks from the end of a pass to ``begin`` of the next."""

END_CLOCKS = DRAIN
"""Clocks that a run takes in addition to its passes: it then waits for the largest norm."""


def begin_clocks(dealt: Dealt) -> int:
    """Return the clocks of a run before its first sweep: the check of its configuration, and the prologue."""
    return check_clocks(dealt.search.build.multiplier) + pass_clocks(dealt)


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
        Whether all lanes wait for each other, also without rounds: in every sweep that maximises.
    """
    build = dealt.search.build
    notes = np.ones(dealt.grid, np.bool_)
    begin, done = _GO, _GO
    if log is not None:
        checked, ends = _lanes(log)
        if not build.general:
            notes = np.asarray(log.searched.any(axis=1), np.bool_)
            # One register for the decision on the last state; then the pipelines run empty.
            done = int(checked.max()) + 1 + LaneParameters(build).settle + 2
        begin = int(np.maximum(checked + _JUDGED, ends).max())
        if meets:
            begin += 1 + _meeting(build)
            for one in rounds:
                begin += _round(dealt, one)
                repaired = np.logical_or.reduceat(one.moved.any(axis=1), dealt.firsts)
                notes |= np.repeat(repaired, 1 << dealt.lane_shift)[: dealt.grid]
            done = max(done, begin + 2)
    done = max(done, begin + _patch(dealt, notes))
    of_shift = ShiftParameters(build).clocks(dealt.states) + 1 if shifts else 0
    # Registers from `begin` to the lanes, and back through the tree that joins them.
    return 3 + done + join_clocks(build) + of_shift + _DECIDE


def _lanes(log: SweepLog) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the clocks of the last result of each lane's check, and of the end of its local search.

    Both are ``NEVER`` for a lane without the pass.
    """
    dealt = log.dealt
    build = dealt.search.build
    check = CheckParameters(build)
    checked, ends = (np.full(build.lanes, NEVER, np.int64) for _ in range(2))
    begins = np.where(log.unchecked, NEVER, _GO + check.begin)
    fetch = RowBusesParameters(build, build.inner_bits).latency
    check_ends(log.choices, dealt.lane_shift, begins, build.grid - 1, fetch, checked)
    checked[checked != NEVER] += GatherParameters(build).latency + check.result_latency
    _searches(log, np.where(log.unchecked, _GO, checked + _JUDGED), ends)
    return checked, ends


def _searches(log: SweepLog, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    """Compute the end of the local search of each lane that has one, after clock ``begins``."""
    dealt = log.dealt
    build = dealt.search.build
    lanes = np.zeros(build.lanes, np.bool_)
    lanes[: dealt.used] = np.logical_or.reduceat(log.searched.any(axis=1), dealt.firsts)
    sizes = dealt.lane_shift, dealt.part_shift, build.state_bits
    clocks = dealt.search.clocks, dealt.search.decided
    fetch = RowBusesParameters(build, build.inner_bits).latency + UNLOAD_CLOCKS
    search_ends(log.searched, log.counts, log.probes, sizes, clocks, np.where(lanes, begins, NEVER), fetch, ends)


def _meeting(build: SweepParameters) -> int:
    """Return the clocks from the one in which the last lane is done to the beginning of the next round in the lanes."""
    return join_clocks(build) + ROUND_BEGINS


def _round(dealt: Dealt, one: Round) -> int:
    """Return the clocks of a round of a proof: scans of all lanes, and local searches from better candidates."""
    build = dealt.search.build
    scan = ScanParameters(build)
    visits, passes = _shared_visits(dealt, one) if one.shared else _visits(dealt, one)
    scanned, ends = (np.full(build.lanes, NEVER, np.int64) for _ in range(2))
    begins = np.full(build.lanes, _GO)
    scan_ends(visits, passes, begins, scan.bracket_clocks, scan.result_latency, scanned)
    every = np.ones(build.lanes, np.bool_)
    log = SweepLog(dealt, one.lowest, one.moved, one.counts, one.probes, every)
    _searches(log, scanned + 1, ends)
    last = int(np.maximum(scanned + 2, ends + 1).max())
    if one.shared:
        last = max(last, _GO + 3 + 2 * one.states.size + scan.shared_clocks)
    return last - _GO + _meeting(build)


def _visits(dealt: Dealt, one: Round) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``visits`` and ``passes`` of :func:`scan_ends` for a round."""
    levels: Sequence[int] = (0,)
    if one.divide:
        levels = (dealt.lane_shift,) if one.odd else range(dealt.lane_shift - 1, -1, -1)
    places: list[NDArray[np.int64]] = []
    passes = np.zeros((dealt.search.build.lanes, len(levels) + 1), np.int64)
    count = 0
    for lane in range(passes.shape[0]):
        points, first = dealt.points(lane), lane << dealt.lane_shift
        passes[lane, 0] = count
        for number, level in enumerate(levels):
            begin = 0 if (level == dealt.lane_shift if one.divide else not one.odd) else 1 << level
            looked = np.arange(begin, points, 2 << level)
            if one.ends[lane]:
                looked = looked[(looked == 0) | (looked == points - 1)]
            places.append(first + looked)
            count += looked.size * one.states.size
            passes[lane, number + 1] = count
    rows = np.concatenate(places)
    halves = [table[np.ix_(rows, one.states)].ravel() >> HALF_SHIFT for table in (one.lowest, one.highest)]
    return np.stack([*halves, np.full(count, NEVER)], axis=1), passes


def _shared_visits(dealt: Dealt, one: Round) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``visits`` and ``passes`` of :func:`scan_ends` for shared brackets, which the lanes take in turn."""
    build = dealt.search.build
    low, high = (table[[-1, 0]][:, one.states].ravel() for table in (one.lowest, one.highest))
    (numbers,) = np.nonzero(low >= 0)
    given = _GO + 3 + numbers + ScanParameters(build).shared_clocks
    visits = np.stack([low[numbers] >> HALF_SHIFT, high[numbers] >> HALF_SHIFT, given], axis=1)
    lanes = np.arange(numbers.size) % dealt.used
    passes = np.searchsorted(np.sort(lanes), np.arange(build.lanes + 1))
    return visits[np.argsort(lanes, kind="stable")], np.stack([passes[:-1], passes[1:]], axis=1)


def _patch(dealt: Dealt, notes: NDArray[np.bool_]) -> int:
    """Return the clocks of the patch of the points with ``notes``, until the last lane is done; 0 without a note."""
    build = dealt.search.build
    of_lane, patch = LaneParameters(build), PatchParameters(build)
    if build.general:
        turns = build.turns(dealt.states)
        last = (dealt.points(0) * dealt.states - 1) * turns
        return patch.begin + last + of_lane.to_turns + dealt.states * turns + of_lane.settle + 2
    clocks = patch.clocks(notes, dealt.states, dealt.lane_shift)
    return patch.begin + clocks - 2 + of_lane.settle + 2 if notes.any() else 0
