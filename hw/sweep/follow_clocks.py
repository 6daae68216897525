"""Clock model of the list of points that follows a local search, :class:`beltline.hw.sweep.search.follow.Follow`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.patch import NOTES
from beltline.hw.sweep.search.follow import DECISION_CLOCKS
from beltline.hw.sweep.search.parameters import SearchParameters


@njit(cache=True)
def follows(passed, notes, starts, firsts, searches, sizes, last, ends):  # type: ignore[no-untyped-def]
    """Compute the clocks of the list of every lane with a local search.

    Parameters
    ----------
    passed
        int64, ``(N_k, N_z)``: the turn of its search in which each state counts as passed, as ``passed`` in
        :mod:`beltline.hw.sweep.search_clocks`.
    notes
        bool, ``(N_k,)``: points that are listed.
    starts, firsts, searches
        int64, int64 and bool, ``(lanes,)``: clock of ``start`` of each lane's local search, the number of the search
        that has the first turn, and whether the lane has a local search.
    sizes
        ``(lane_shift, part_shift, state_bits, parts, ring)``: points of a lane and of a part, ``log2`` each; bits of an
        exogenous state; number of parts; clocks from one turn of a search to the next.
    last, ends
        int64, ``(lanes,)``: receive, for these lanes, the clock of the last state that is listed, and the first clock
        in which ``busy`` is low again.
    """
    lane_shift, part_shift, state_bits, parts, ring = sizes
    states = passed.shape[1]
    for lane in range(starts.size):
        if not searches[lane]:
            continue
        first = lane << lane_shift
        points = min(notes.size - first, 1 << lane_shift)
        for part in range(parts):
            # The first turns of the part's searches put it at its first point.
            turn = starts[lane] + 1
            turn += ((part << state_bits) - firsts[lane]) % ring
            place = part << part_shift
            limit = min(points, place + (1 << part_shift))
            over = False
            while not over:
                turn += ring
                word = (place // NOTES + 1) * NOTES
                at, end = place, min(word, limit)
                while at < end and not notes[first + at]:
                    at += 1
                if at < end:
                    for s in range(states):
                        while passed[first + at, s] > turn + s:
                            turn += ring
                decided = turn + (1 << state_bits) - 1 + DECISION_CLOCKS
                if at < end:
                    last[lane] = max(last[lane], decided + states)
                    ends[lane] = max(ends[lane], decided + 2)
                place = at + 1 if at < end else word
                over = place >= limit
        ends[lane] = max(ends[lane], last[lane] + 1)


def followed(
    search: SearchParameters,
    points: tuple[int, int],
    passed: NDArray[np.int64],
    notes: NDArray[np.bool_],
    starts: NDArray[np.int64],
    firsts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> int:
    """Return the clock in which the last lane with a local search is done; 0 if no lane has one.

    Parameters
    ----------
    search
        Parameters of the build's local search.
    points
        ``log2`` of the points of a lane and of a part.
    passed, notes, starts, firsts
        See :func:`follows`.
    ends
        int64, ``(lanes,)``: first clock in which each lane's local search is not busy; negative without one.
    """
    build = search.build
    searches = ends >= 0
    last, over = np.zeros(build.lanes, np.int64), np.zeros(build.lanes, np.int64)
    sizes = *points, build.state_bits, search.contexts >> build.state_bits, search.clocks
    follows(passed, notes, starts, firsts, searches, sizes, last, over)
    # The lane settles after the last state that is listed, and after the end of the search.
    done = np.maximum(np.maximum(last, ends) + LaneParameters(build).settle, over) + 2
    return int(done[searches].max(initial=0))
