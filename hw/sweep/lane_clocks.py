"""Clocks of check and local search in the lanes of the sweep engine, from a log of a sweep (:class:`SweepLog`).

The model follows registers, queues and bus turns of all lanes clock by clock. Only lanes with turns in the same clock
influence each other, on the buses. So each group of such lanes is simulated apart from the others, from turn to turn.
In names, ``context`` is the number of a search in its lane, and ``probe`` stands for one evaluation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.sweep.bus_clocks import CHECKS, ITS_CHECK, ITS_SEARCH, RESTS, SCANS, SEARCHES, grant
from beltline.hw.sweep.check import PREPARE_CLOCKS, CheckParameters
from beltline.hw.sweep.gather import GatherParameters
from beltline.hw.sweep.gather_clocks import (
    BEGIN,
    DONE,
    GRANTED,
    PHASE,
    RING,
    gather_run,
    prepare,
)
from beltline.hw.sweep.parameters import ROW_SHIFT, SHARED_STATES
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters
from beltline.hw.sweep.scan_clocks import REGISTERS, scan_begin, scan_run
from beltline.hw.sweep.search.halves import UNLOAD_CLOCKS
from beltline.hw.sweep.search.handed import REQUEST_CLOCKS
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.search_clocks import (
    FIELDS,
    FIRST,
    LAST,
    LEFT,
    SEARCH_ARRIVED,
    SEARCH_ASKED,
    START,
    search_aligns,
    search_begin,
    search_run,
    search_start,
)

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


@njit(cache=True)
def _group(phase, slots, begins, of_build, tables, results, scans):  # type: ignore[no-untyped-def]
    """Simulate all lanes with turns in clocks ``phase (mod slots)``; :func:`lane_clocks` gives the arguments."""
    lane_bits, bits, top, lane_shift, part_shift, fetch = of_build[:6]
    fetch_search, check_behind, prepared, after, ring, decided, by_state, hands = of_build[6:]
    choices, searched, counts, log, unchecked = tables
    checked, starts, firsts, ends, found, passed, reference = results
    lanes, contexts = counts.shape
    points, states = choices.shape
    middle = points >> 1
    width = lane_shift - ROW_SHIFT
    members = (lanes - phase + slots - 1) // slots
    r = np.zeros((members, REGISTERS), np.int64)
    windows = np.zeros((members, states, 3), np.int64)
    places = np.zeros((members, RING, 3), np.int64)
    rows = np.zeros((members, RING), np.int64)
    arrivals = np.zeros((members, RING), np.int64)
    searches = np.zeros((members, contexts, FIELDS), np.int64)
    rows_of_searches, pushes, arrivals_of_searches = np.zeros_like(rows), np.zeros_like(rows), np.zeros_like(rows)
    of_searches = rows_of_searches, arrivals_of_searches
    orders, handed = np.zeros((members, contexts), np.int64), np.zeros(members, np.int64)
    visits, passes, bracket_clocks, result_latency, least = scans
    steps, lasts, ready = np.zeros_like(rows), np.zeros_like(rows), np.zeros_like(rows)
    now, resting = np.int64(_FAR), 0
    exogenous = np.arange(min(points, 1 << lane_shift) * states) % states
    leaves = np.zeros((members, exogenous.size if hands or reference.size else 0), np.int64)
    none = np.empty(0, np.int64)
    for k in range(members):
        lane = phase + k * slots
        now = min(now, begins[lane])
        r[k, BEGIN] = begins[lane]
        windows[k, :, 1] = -1
        first = lane << lane_shift
        own = min(max(points - first, 0), 1 << lane_shift)
        order_of_lane = orders[k] if hands and not unchecked[lane] else none
        of_lane = searched[first : first + own], choices[first : first + own], log[lane * contexts :], order_of_lane
        handed[k] = search_begin(r[k], searches[k], part_shift, bits, *of_lane)
        if own == 0:
            r[k, PHASE] = RESTS
            resting += 1
        elif passes.size:
            scan_begin(r[k], begins[lane], passes[lane, 0], passes[lane, 1] if least else np.int64(-1))
            r[k, PHASE] = SCANS
        elif not unchecked[lane]:
            r[k, PHASE] = CHECKS
            own_choices, at = choices[first], begins[lane]
            queues = windows[k], places[k], rows[k], arrivals[k]
            prepare(r[k], *queues, exogenous, own_choices, top, at - prepared, at)
        else:
            r[k, PHASE] = SEARCHES
            search_start(r[k], begins[lane], ring, decided)
    now -= (now - phase) % slots
    handed_delay = check_behind + REQUEST_CLOCKS
    wanted, order = np.empty(1 << lane_bits, np.int64), np.empty(members, np.int64)
    while resting < members:
        # Of the clocks from `now` to `end`, all lanes of the group have their turn in the first.
        grant(r, rows, arrivals, of_searches, order, wanted, width, by_state, now, fetch, fetch_search)
        end = now + slots
        for k in range(members):
            taken_at = now + TAKEN_CLOCKS if r[k, GRANTED] == ITS_CHECK else np.int64(_FAR)
            search_taken_at = now + TAKEN_CLOCKS if r[k, GRANTED] == ITS_SEARCH else np.int64(_FAR)
            lane = phase + k * slots
            first = lane << lane_shift
            last = min(first + (1 << lane_shift), points)
            t = search_at = max(now, r[k, BEGIN])
            requests = r[k, PHASE] == SEARCHES or (r[k, PHASE] == CHECKS and handed[k] != 0)
            if r[k, PHASE] == CHECKS and t < end:
                own_choices = choices[first:last].ravel()
                queues = windows[k], places[k], rows[k], arrivals[k]
                of_states = exogenous[: own_choices.size], own_choices, leaves[k]
                t = gather_run(r[k], *queues, *of_states, top, t, end, taken_at)
                if r[k, DONE] == own_choices.size:
                    checked[lane] = t - 1 + check_behind
                    if reference.size and first <= middle < last:
                        at = (middle - first) * states
                        reference[:] = leaves[k, at : at + states] + check_behind
                    if searched[first:last].any():
                        r[k, PHASE] = SEARCHES
                        requests = True
                        if hands:
                            turn = orders[k, 0] // states >> part_shift << bits
                            search_aligns(r[k], checked[lane] + after, turn, ring)
                        else:
                            search_start(r[k], checked[lane] + after, ring, decided)
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
                        requests, search_at = True, t
                        search_start(r[k], t, ring, decided)
                    else:
                        r[k, PHASE] = RESTS
                        resting += 1
            if requests and search_at < end:
                requested = rows_of_searches[k], pushes[k], arrivals_of_searches[k]
                of_hands = orders[k, : handed[k]], leaves[k], handed_delay
                own_log = log[lane * contexts : (lane + 1) * contexts]
                of_lane = searched[first:last], own_log, found[first:last], passed[first:last]
                sizes = part_shift, bits, ring, decided, points - 1
                clocks = search_at, end, search_taken_at
                t = search_run(r[k], searches[k], *requested, *of_hands, *of_lane, *sizes, *clocks)
                if r[k, LEFT] == 0 and r[k, SEARCH_ARRIVED] == r[k, SEARCH_ASKED]:
                    r[k, PHASE] = RESTS
                    starts[lane], firsts[lane] = r[k, START], r[k, FIRST]
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
    starts, firsts
        int64, ``(lanes,)``: ``start`` of each lane's local search, and the number of the search that has the first
        turn; ``NEVER`` without a local search.
    ends
        int64, ``(lanes,)``: first clock in which ``busy`` of each lane's local search is low again.
    found
        int64, ``(N_k, N_z)``: the result of each state that was searched. Of size 0 if results were not requested.
    passed
        int64, ``(N_k, N_z)``: as ``passed`` of :mod:`beltline.hw.sweep.search_clocks`. Of size 0 without ``overlap``.
    reference
        int64, ``(N_z,)``: the check's result of each state of the middle point, ``NEVER`` without check. Of size 0 if
        results were not requested.
    """

    checked: NDArray[np.int64]
    starts: NDArray[np.int64]
    firsts: NDArray[np.int64]
    ends: NDArray[np.int64]
    found: NDArray[np.int64]
    passed: NDArray[np.int64]
    reference: NDArray[np.int64]


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
        Clocks from the last result of a lane's check to ``start`` of its local search; if the check hands states on, to
        the first clock in which the ring can be aligned.
    results
        Whether ``found`` and ``reference`` of the result are requested.
    scans
        For a round of a proof, which has scans in place of checks: ``(visits, passes, bracket_clocks, result_latency,
        least)`` of :func:`beltline.hw.sweep.scan_clocks.scan_run`, with one row of ``passes`` for each lane.
        ``checked`` is then the clock in which a lane's scan ends; its local search begins in the next clock.
    """
    dealt = log.dealt
    search, build = dealt.search, dealt.search.build
    of_check = CheckParameters(build)
    fetch = RowBusesParameters(build, build.inner_bits).latency
    checked, starts, firsts, ends = (np.full(build.lanes, NEVER, np.int64) for _ in range(4))
    found = np.full(log.choices.shape if results else (0, 0), NEVER, np.int64)
    passed = np.full(log.choices.shape if build.overlap else (0, 0), NEVER, np.int64)
    reference = np.full(dealt.states if results else 0, NEVER, np.int64)
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
            build.hands,
        ),
        (log.choices, log.searched, log.counts, log.probes, log.unchecked),
        (checked, starts, firsts, ends, found, passed, reference),
        scans,
    )
    return LaneClocks(checked, starts, firsts, ends, found, passed, reference)
