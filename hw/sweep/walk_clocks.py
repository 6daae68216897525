"""The clocks of a lane's walk: the model of :class:`beltline.hw.sweep.walk.walk.Walk`."""

from __future__ import annotations

from beltline.compiled import njit
from beltline.hw.memory.queue import DEEP_CLOCKS
from beltline.hw.sweep.gather_clocks import ARRIVED, ASKED, BEGIN, GATHERS, HEAD, LEVEL, RING, SENT, TABLE_BITS
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS
from beltline.hw.sweep.walk.parameters import AHEAD_ROWS, MARKS

OFF_GRID = -1
"""In a log: the index of a probe that is not on the grid."""

_HALVES = 1 << (TABLE_BITS - 1)
"""Above an exogenous state and the bit of a half: a half is asked for."""

# Registers of a lane behind those of its check.
(TURN, WALKER, FOUND, LACKS, LEFT, LAST, MOVED, REGISTERS) = range(GATHERS, GATHERS + 8)

# Registers of a walker; halves of rows, numbered through, by the parity of their number.
(_ACTIVE, _WAITING, _POINT, _COUNT, _HALF0, _HALF1, _NUMBER0, _NUMBER1, _STATE, _NEXT, _AHEAD, FIELDS) = range(12)


@njit(cache=True)
def walk_begin(r, walkers, points, part_shift, state_bits, states, ring):  # type: ignore[no-untyped-def]
    """Registers as ``start`` leaves them, for a walk that begins in clock ``r[BEGIN]``."""
    r[ASKED] = r[SENT] = r[ARRIVED] = r[LEVEL] = r[HEAD] = 0
    r[MOVED] = r[BEGIN] - DEEP_CLOCKS
    r[WALKER] = -1
    r[TURN] = r[BEGIN] % ring
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
    r[LEFT] = left


@njit(cache=True)
def walk_run(  # type: ignore[no-untyped-def]
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
    asked, arrived, sent, level, head = r[ASKED], r[ARRIVED], r[SENT], r[LEVEL], r[HEAD] != 0
    turn, walker, is_found, lacks, left = r[TURN], r[WALKER], r[FOUND] != 0, r[LACKS] != 0, r[LEFT]
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
                rows[asked % RING] = half >> 1 << TABLE_BITS | what
                pushes[asked % RING] = t
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
                    r[LAST] = max(r[LAST], t - 2 + decided)
                    w[_POINT] = points
                    w[_ACTIVE] = -1
        # The one whose turn began in the last clock: is its row here?
        walker = -1
        if t > r[BEGIN] + 1:
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
        moved = moved and t >= pushes[first % RING] + DEEP_CLOCKS and t >= r[MOVED] + DEEP_CLOCKS
        if moved:
            r[MOVED] = t
        head = moved or (head and not taken)
        level += (1 if push else 0) - (1 if moved else 0)
        if arrived < sent and arrivals[arrived % RING] == t:
            arrived += 1
        t += 1
    r[ASKED], r[ARRIVED], r[LEVEL], r[HEAD] = asked, arrived, level, head
    r[TURN], r[WALKER], r[FOUND], r[LACKS], r[LEFT] = turn, walker, is_found, lacks, left
    return t
