"""Clock model of a lane's scan in a round of a proof, :class:`beltline.hw.sweep.scan.scan.Scan`.

A *visit* is the examination of one state. A round by divide and conquer scans in several passes, one for each level.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.hw.sweep.gather_clocks import ASKED, BEGIN, HEAD, LEVEL, RING, TABLE_BITS
from beltline.hw.sweep.parameters import HALF_SHIFT, SweepParameters
from beltline.hw.sweep.scan.parameters import AHEAD_HALVES, AHEAD_STATES, ScanParameters
from beltline.hw.sweep.search_clocks import REGISTERS as OF_SEARCH

# Indexes of a lane's registers, after those of its local search.
(READY, PASS, STEPPED, FILTERED, WAITING, JOBS, JOB_HEAD, JOB, HALF, FLYING, POPPED, RESULTS, RESULT, REGISTERS) = (
    range(OF_SEARCH, OF_SEARCH + 14)
)

_SETS = 3
"""Clocks from ``start``, or from the end of the pass before, to the first state."""

_HALVES = 1 << (TABLE_BITS - 1)
"""Flag in a request, above the exogenous state and the number of the half: a half-row is requested."""


def shared_clocks(build: SweepParameters, number: Any) -> Any:
    """Return the clocks from the beginning of a round of shared brackets until a bracket enters a lane's queue.

    ``number`` counts the states that are read before its own. For the number of all these states, the result is the
    first clock in which the round may end.
    """
    return _SETS + number + ScanParameters(build).shared_clocks


def shared_visits(
    build: SweepParameters,
    used: int,
    lowest: NDArray[np.int64],
    highest: NDArray[np.int64],
    states: NDArray[np.int64],
    begin: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``visits`` and ``passes`` of :func:`scan_run` for shared brackets, in a round that begins in ``begin``.

    The brackets from ``lowest`` to ``highest``, int64 ``(2, n)``, are those of exogenous ``states`` of the last and
    of the first point; ``lowest`` is -1 where the bracket is not evaluated. The first ``used`` lanes take them in turn.
    """
    (numbers,) = np.nonzero(lowest.ravel() >= 0)
    halves = (table.ravel()[numbers] >> HALF_SHIFT for table in (lowest, highest))
    visits = np.stack([*halves, states[numbers % states.size], begin + shared_clocks(build, numbers)], axis=1)
    lanes = np.arange(numbers.size) % used
    passes = np.searchsorted(np.sort(lanes), np.arange(build.lanes + 1))
    return visits[np.argsort(lanes, kind="stable")], np.stack([passes[:-1], passes[1:]], axis=1)


def scanned(limits: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the exogenous states that scans read; ``limits`` are lowest and highest candidates.

    They are int64, ``(2, 1, N_z)`` or ``(2, N_k, N_z)``. A state with a single candidate at all points is skipped,
    unless the one before it was.
    """
    forced = limits[0].min(axis=0) == limits[1].max(axis=0)
    states = []
    state = int(forced[0] and forced.size > 1)
    while state < forced.size:
        states.append(state)
        state += 1 + int(state + 1 < forced.size and forced[state + 1])
    return np.array(states, np.int64)


@njit(cache=True)
def scan_begin(r, begin, first, end):  # type: ignore[no-untyped-def]
    """Set the registers ``r`` as ``start`` does in clock ``begin``; ``first`` is the number of the first visit.

    All registers must be 0 before, but for those of the local search. For brackets that lanes share, ``end`` is the
    number of the visit after the last; otherwise it is -1.
    """
    r[BEGIN], r[READY] = begin, begin + _SETS
    r[STEPPED], r[FILTERED], r[JOB] = first, first, first - 1
    if end >= 0:
        r[READY], r[STEPPED], r[WAITING] = begin, end, end - first


@njit(cache=True)
def scan_run(r, steps, rows, lasts, results, visits, passes, bracket_clocks, result_latency, least, now, end, taken_at):  # type: ignore[no-untyped-def]
    """Simulate a lane's scan from clock ``now`` to ``end``, or until it ends.

    Returns the first clock that was not simulated, and whether the scan has ended.

    Parameters
    ----------
    r, steps, rows, lasts, results
        int64: registers of the model, passed on from call to call.
    visits
        int64, ``(n, 3)``: for each state that is examined, the first and the last half-row of its bracket, and its
        exogenous state. The first half-row is -1 if all of the bracket has already been compared. For brackets that
        lanes share ``(n, 4)``, with the clock in which each enters the queue.
    passes
        int64, ``(passes + 1,)``: number of the first visit of each pass, and of the visit after the last.
    bracket_clocks, result_latency
        Clocks from the addresses of a state to its bracket, and from ``taken`` of the last half-row of a bracket to its
        result.
    least
        For brackets that lanes share, the first clock in which the scan may end; otherwise 0.
    now, end, taken_at
        Clocks. In ``taken_at`` the lane learns that its request was taken.
    """
    asked, level, head = r[ASKED], r[LEVEL], r[HEAD] != 0
    n, f, waiting = r[STEPPED], r[FILTERED], r[WAITING]
    jobs, job_head, job, half = r[JOBS], r[JOB_HEAD] != 0, r[JOB], r[HALF]
    flying, popped, pushed_results, read_results = r[FLYING], r[POPPED], r[RESULTS], r[RESULT]
    count = passes[r[PASS] + 1]
    t = now
    over = False
    while t < end and not over:
        if t < r[READY]:
            t += 1
            continue
        if n == count and waiting == 0 and flying == 0 and t >= least:
            # All results of this pass are written.
            r[PASS] += 1
            over = r[PASS] == passes.size - 1
            if not over:
                r[READY] = t + _SETS
                count = passes[r[PASS] + 1]
            t += 1
            continue
        leaves = f < n and (visits[f, 3] if least else steps[f % RING] + bracket_clocks) == t
        push = leaves and visits[f, 0] >= 0
        emit = job_head and level < AHEAD_HALVES
        pop = emit and visits[job, 0] + half == visits[job, 1]
        step = n < count and waiting < AHEAD_STATES
        taken = t == taken_at
        result = read_results < pushed_results and results[read_results % RING] == t
        # Clock edge.
        if emit:
            number = visits[job, 0] + half
            rows[asked % RING] = number >> 1 << TABLE_BITS | _HALVES | visits[job, 2] << 1 | number & 1
            lasts[asked % RING] = 1 if pop else 0
            asked += 1
            half = 0 if pop else half + 1
        if taken:
            if lasts[popped % RING] != 0:
                results[pushed_results % RING] = t + result_latency
                pushed_results += 1
            popped += 1
        moved = level > 0 and (taken or not head)
        head = moved or (head and not taken)
        level += (1 if emit else 0) - (1 if moved else 0)
        moved = jobs > 0 and (pop or not job_head)
        if moved:
            job += 1
            while visits[job, 0] < 0:
                job += 1
        job_head = moved or (job_head and not pop)
        jobs += (1 if push else 0) - (1 if moved else 0)
        waiting += (1 if step else 0) - (1 if leaves and not push else 0) - (1 if pop else 0)
        flying += (1 if push else 0) - (1 if result else 0)
        if result:
            read_results += 1
        if leaves:
            f += 1
        if step:
            steps[n % RING] = t
            n += 1
        t += 1
    r[ASKED], r[LEVEL], r[HEAD] = asked, level, head
    r[STEPPED], r[FILTERED], r[WAITING] = n, f, waiting
    r[JOBS], r[JOB_HEAD], r[JOB], r[HALF] = jobs, job_head, job, half
    r[FLYING], r[POPPED], r[RESULTS], r[RESULT] = flying, popped, pushed_results, read_results
    return t, over
