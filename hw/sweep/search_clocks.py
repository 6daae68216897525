"""Clock model of a lane's local search, :class:`beltline.hw.sweep.search.local_search.LocalSearch`.

In names, ``context`` is the number of one of the searches that take turns at an evaluator.

Arguments of :func:`search_begin` and :func:`search_run`:

r, searches, rows, pushes, arrivals
    int64: registers of the model, passed on from call to call. ``searches`` is ``(contexts, FIELDS)``.
order
    int64, ``(n,)``: numbers of the states that a check hands on, in table order; each as ``point * N_z + s`` within the
    lane. Of size 0 if it hands on none.
leaves, delay
    int64, ``(points * N_z,)``: the clock in which each state leaves the gather unit of the check, and the clocks
    from there to the request for its first row.
searched
    bool, ``(points, N_z)``: states of the lane to search.
log
    int32, ``(contexts, m)``: evaluations of each search, as in :class:`beltline.hw.sweep.lane_clocks.SweepLog`.
found
    int64, ``(points, N_z)``, or of size 0: receives the clock of each state's result.
passed
    int64, ``(points, N_z)``, or of size 0: receives the clock in which the first turn of a state's search begins after
    that search has passed it: it works on a later state, or looks for the next one from a later point on.
part_shift, state_bits
    Each search has ``2**part_shift`` points; the lowest ``state_bits`` bits of its number are its exogenous state.
ring
    Clocks from one turn of a search to the next.
decided
    Clocks from the start of a turn to the decision on its evaluation.
points, states, top
    Points of the lane and exogenous states of the problem; last grid point of the problem.
now, end, taken_at
    Clocks. In ``taken_at`` the lane learns that its request was taken.
"""

from __future__ import annotations

from beltline.compiled import njit
from beltline.hw.memory.queue import DEEP_CLOCKS
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.gather_clocks import DONE, GATHERS, RING, TABLE_BITS
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS
from beltline.hw.sweep.search.parameters import AHEAD_ROWS, MARKS

OFF_GRID = -1
"""Index of an evaluation in a log whose candidate is not on the grid."""

_HALVES = 1 << (TABLE_BITS - 1)
"""Flag in a request, above the exogenous state and the number of the half: a half-row is requested."""

# Indexes of a lane's registers, after those of its check. ``START`` is the clock of ``start``; ``ALIGNS`` the first one
# in which the ring can be aligned; ``FIRST`` the search with the first turn; ``HANDED`` counts the states that the
# check has handed on; the last five are those of the search's requests to the row buses.
(
    TURN,
    CONTEXT,
    FOUND,
    LACKS,
    LEFT,
    LAST,
    MOVED,
    START,
    ALIGNS,
    FIRST,
    HANDED,
    SEARCH_ASKED,
    SEARCH_SENT,
    SEARCH_ARRIVED,
    SEARCH_LEVEL,
    SEARCH_HEAD,
    REGISTERS,
) = range(GATHERS, GATHERS + 17)

NEVER_STARTS = 1 << 62
"""In ``START`` while the check of the lane is in progress."""

# Indexes of a search's registers. It stores one half-row with an even number and one with an odd number.
(_ACTIVE, _WAITING, _POINT, _COUNT, _HALF0, _HALF1, _NUMBER0, _NUMBER1, _STATE, _NEXT, _AHEAD, _PASSED, _KNOWN) = range(
    13
)
FIELDS = 13


@njit(cache=True)
def search_begin(r, searches, part_shift, state_bits, searched, choices, log, order):  # type: ignore[no-untyped-def]
    """Set the registers of a local search, before :func:`search_start`.

    With a check that hands states on, this is done when the check begins, and ``order`` receives the states: each
    search begins with its first marked state, and a search without one is over. ``choices``, int64 ``(points, N_z)``,
    are those before the search: a search whose first evaluation is not its state's choice began with what the check
    knew. Returns how many states are in ``order``.
    """
    points, states = searched.shape
    r[SEARCH_ASKED] = r[SEARCH_SENT] = r[SEARCH_ARRIVED] = r[SEARCH_LEVEL] = r[SEARCH_HEAD] = r[HANDED] = 0
    r[MOVED] = -DEEP_CLOCKS
    r[START] = r[ALIGNS] = NEVER_STARTS
    r[CONTEXT] = -1
    left = 0
    for k in range(searches.shape[0]):
        w = searches[k]
        w[:] = 0
        w[_HALF0] = w[_HALF1] = w[_AHEAD] = OFF_GRID
        w[_POINT] = w[_PASSED] = (k >> state_bits) << part_shift
        if k & ((1 << state_bits) - 1) >= states or w[_POINT] >= points:
            w[_POINT] = points
        elif order.size == 0:
            left += 1
        else:
            at, s = w[_POINT], k & ((1 << state_bits) - 1)
            limit = min(points, at + (1 << part_shift))
            while at < limit and not searched[at, s]:
                at += 1
            w[_POINT] = points
            if at < limit:
                order[left] = at * states + s
                left += 1
                w[_ACTIVE], w[_STATE], w[_POINT] = 1, at, at + 1
                w[_KNOWN] = log[k, 0] >> 1 != choices[at, s]
    r[LEFT] = left
    if order.size == 0:
        return 0
    order[:left].sort()
    return left


@njit(cache=True)
def search_start(r, start, ring, decided):  # type: ignore[no-untyped-def]
    """Set the registers as ``start`` does in clock ``start``.

    The turns are those of a ring that began with search 0 in clock 0, and the pass takes at least a round of the ring.
    """
    r[START] = start
    r[TURN], r[FIRST] = start % ring, (start + 1) % ring
    r[LAST] = start + ring + decided


@njit(cache=True)
def search_aligns(r, aligns, first, ring):  # type: ignore[no-untyped-def]
    """Set the registers after a check that handed states on; the first turn is that of search ``first``.

    The ring is aligned as soon as all rows that were requested have arrived, in clock ``aligns`` at the earliest.
    """
    r[ALIGNS] = aligns
    r[TURN], r[FIRST] = (first - 1) % ring, first


@njit(cache=True)
def _request(w, rows, pushes, half, state, asked, t):  # type: ignore[no-untyped-def]
    """Request a half-row for the search with registers ``w`` in clock ``t``, as request number ``asked``."""
    w[_HALF0 + (half & 1)] = half
    w[_NUMBER0 + (half & 1)] = asked
    rows[asked % RING] = half >> 1 << TABLE_BITS | _HALVES | state << 1 | half & 1
    pushes[asked % RING] = t


@njit(cache=True)
def _look(w, searched, state, limit):  # type: ignore[no-untyped-def]
    """Look in one word of marks for the next state of the search with registers ``w``, which has points to ``limit``.

    A state that is found waits.
    """
    points = searched.shape[0]
    at = w[_POINT]
    word_end = min((at // MARKS + 1) * MARKS, points)
    while at < word_end and not searched[at, state]:
        at += 1
    if at == word_end:
        w[_POINT] = (w[_POINT] // MARKS + 1) * MARKS
        return
    w[_POINT] = at + 1
    if at < limit:
        w[_WAITING], w[_NEXT] = 1, at


@njit(cache=True)
def _beside(w, index, top):  # type: ignore[no-untyped-def]
    """Return the half-row that the search with registers ``w`` lacks beside guess ``index``, or ``OFF_GRID``.

    After the first evaluation of a guess both neighbours will be needed.
    """
    half = near = index >> HALF_SHIFT
    if index % HALF_WORDS == 0 and index > 0:
        near = half - 1
    elif index % HALF_WORDS == HALF_WORDS - 1 and index < top:
        near = half + 1
    return near if near != half and w[_HALF0 + (near & 1)] != near else OFF_GRID


@njit(cache=True)
def search_run(  # type: ignore[no-untyped-def]
    r,
    searches,
    rows,
    pushes,
    arrivals,
    order,
    leaves,
    delay,
    searched,
    log,
    found,
    passed,
    part_shift,
    state_bits,
    ring,
    decided,
    top,
    now,
    end,
    taken_at,
):
    """Simulate a local search from clock ``now`` to ``end`` or its end; returns the first clock not simulated.

    While the check of the lane is in progress, the requests for the states that it hands on are simulated.
    """
    points, states = searched.shape
    asked, arrived, sent = r[SEARCH_ASKED], r[SEARCH_ARRIVED], r[SEARCH_SENT]
    level, head = r[SEARCH_LEVEL], r[SEARCH_HEAD] != 0
    turn, context, is_found, lacks, left = r[TURN], r[CONTEXT], r[FOUND] != 0, r[LACKS] != 0, r[LEFT]
    t = now
    while t < end and (left > 0 or arrived < asked):
        if t >= r[ALIGNS] and arrived == asked:
            r[START], r[ALIGNS] = t + READ_LATENCY, NEVER_STARTS
        push = False
        if r[HANDED] < order.size:
            at = order[r[HANDED]]
            if at < r[DONE] and t == leaves[at] + delay:
                r[HANDED] += 1
                handed = at // states >> part_shift << state_bits | at % states
                push = log[handed, 0] >> 1 != OFF_GRID
                if push:
                    half = (log[handed, 0] >> 1) >> HALF_SHIFT
                    _request(searches[handed], rows, pushes, half, at % states, asked, t)
                    asked += 1
        # The search whose turn began two clocks ago makes its request. Nothing below depends on later clocks.
        if context >= 0:
            w = searches[context]
            s = context & ((1 << state_bits) - 1)
            half = (log[context, w[_COUNT]] >> 1) >> HALF_SHIFT if lacks else w[_AHEAD]
            if (lacks or half != OFF_GRID) and level < AHEAD_ROWS:
                push = True
                _request(w, rows, pushes, half, s, asked, t)
                asked += 1
            limit = min(points, ((context >> state_bits) + 1) << part_shift)
            if w[_WAITING] == 0 and w[_POINT] < limit:
                _look(w, searched, s, limit)
            done = False
            if is_found:
                done = log[context, w[_COUNT]] & 1 != 0
                w[_COUNT] += 1
            if done:
                w[_ACTIVE] = w[_KNOWN] = 0
                if found.size:
                    found[w[_STATE], s] = t - 2 + decided + 1
            if w[_ACTIVE] == 0:
                if w[_WAITING] != 0:
                    w[_ACTIVE] = 1
                    w[_WAITING] = 0
                    w[_STATE] = w[_NEXT]
                elif w[_POINT] >= limit:
                    left -= 1
                    r[LAST] = max(r[LAST], t - 2 + decided)
                    w[_POINT] = points
                    w[_ACTIVE] = -1
            if passed.size:
                low = w[_STATE] if w[_ACTIVE] == 1 else min(w[_POINT], limit)
                passed[w[_PASSED] : low, s] = t - 2 + ring
                w[_PASSED] = max(w[_PASSED], low)
        # For the search whose turn began one clock ago: is its half-row stored?
        context = -1
        if t > r[START] + 1:
            turn = 0 if turn == ring - 1 else turn + 1
            if turn < searches.shape[0] and searches[turn, _ACTIVE] >= 0:
                w = searches[turn]
                if w[_ACTIVE] != 0 or w[_POINT] < points:
                    context = turn
                    is_found = lacks = False
                    if w[_ACTIVE] != 0:
                        w[_AHEAD] = OFF_GRID
                        index = log[turn, w[_COUNT]] >> 1
                        half = index >> HALF_SHIFT
                        if index == OFF_GRID:
                            is_found = True
                        elif w[_HALF0 + (half & 1)] == half:
                            is_found = arrived > w[_NUMBER0 + (half & 1)]
                            begins = w[_COUNT] == 0 or log[turn, w[_COUNT] - 1] & 1 != 0
                            if is_found and begins and w[_KNOWN] == 0:
                                w[_AHEAD] = _beside(w, index, top)
                        else:
                            lacks = True
        # Clock edge.
        taken = t == taken_at
        first = asked - level - (1 if push else 0)
        moved = level > 0 and (taken or not head)
        moved = moved and t >= pushes[first % RING] + DEEP_CLOCKS and t >= r[MOVED] + DEEP_CLOCKS
        if moved:
            r[MOVED] = t
        head = moved or (head and not taken)
        level += (1 if push else 0) - (1 if moved else 0)
        if arrived < sent and arrivals[arrived % RING] == t:
            arrived += 1
        t += 1
    r[SEARCH_ASKED], r[SEARCH_ARRIVED], r[SEARCH_LEVEL], r[SEARCH_HEAD] = asked, arrived, level, head
    r[TURN], r[CONTEXT], r[FOUND], r[LACKS], r[LEFT] = turn, context, is_found, lacks, left
    return t
