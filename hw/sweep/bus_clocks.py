"""Clock model of the row buses, :class:`beltline.hw.sweep.row_buses.RowBuses`."""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit
from beltline.hw.sweep.gather_clocks import BEGIN, GRANTED, HEAD, PHASE, RING, SENT, TABLE_BITS, state_of
from beltline.hw.sweep.search_clocks import SEARCH_HEAD, SEARCH_SENT

_NOTHING, _LOST = -1, -2
"""Requests to a lane's memory in a clock: none so far; for different rows, of which the first is served."""

_MEMBER_BITS = 8
"""Bits of the number of a lane in its group."""

CHECKS, SEARCHES, RESTS, SCANS = range(4)
"""What a lane is doing: check, local search, nothing any more, scan of a proof."""

NOT_GRANTED, ITS_CHECK, ITS_SEARCH = range(3)
"""Whose request is granted to a lane, in ``GRANTED``: none; that of its check or scan; that of its local search."""


@njit(cache=True)
def _requested(r, k, rows, rows_of_searches):  # type: ignore[no-untyped-def]
    """Return the request of lane ``k``: that of its local search, if ``GRANTED`` says so, or of its check or scan."""
    if r[k, GRANTED] == ITS_SEARCH:
        return rows_of_searches[k, r[k, SEARCH_SENT] % RING]
    return rows[k, r[k, SENT] % RING]


@njit(cache=True)
def grant(r, rows, arrivals, of_searches, order, wanted, width, by_state, now, fetch, fetch_search):  # type: ignore[no-untyped-def]
    """Grant the requests of a group in its turn, clock ``now``, as ``RowBuses``: ``r[:, GRANTED]`` and ``arrivals``.

    Of lanes that request rows of one lane the first is served, and those that request the same row, up to another. The
    order is that of the lanes, or ``by_state`` of the exogenous states whose rows they request. ``order`` has a word
    for each lane of the group, and is overwritten. ``of_searches`` has the rows and arrivals of local searches; a lane
    makes their requests if its check makes none.
    """
    rows_of_searches, arrivals_of_searches = of_searches
    wanted[:] = _NOTHING
    count = 0
    for k in range(r.shape[0]):
        r[k, GRANTED] = NOT_GRANTED
        if r[k, HEAD] != 0 and now >= r[k, BEGIN]:
            r[k, GRANTED] = ITS_CHECK
        elif r[k, SEARCH_HEAD] != 0:
            r[k, GRANTED] = ITS_SEARCH
        if r[k, GRANTED] != NOT_GRANTED:
            key = np.int64(k)
            if by_state:
                key |= state_of(_requested(r, k, rows, rows_of_searches)) << _MEMBER_BITS
            # Insert it among those before.
            at = count
            while at > 0 and order[at - 1] > key:
                order[at] = order[at - 1]
                at -= 1
            order[at] = key
            count += 1
    for key in order[:count]:
        k = key & ((1 << _MEMBER_BITS) - 1)
        row = _requested(r, k, rows, rows_of_searches)
        source = (row >> (TABLE_BITS + width)) & (wanted.size - 1)
        if wanted[source] != _NOTHING and wanted[source] != row:
            wanted[source] = _LOST
            r[k, GRANTED] = NOT_GRANTED
            continue
        wanted[source] = row
        if r[k, GRANTED] == ITS_SEARCH:
            arrivals_of_searches[k, r[k, SEARCH_SENT] % RING] = now + fetch_search
            r[k, SEARCH_SENT] += 1
        else:
            arrivals[k, r[k, SENT] % RING] = now + (fetch if r[k, PHASE] == CHECKS else fetch_search)
            r[k, SENT] += 1
