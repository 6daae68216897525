"""The order in which candidates are searched, and which need not be.

Candidate ``j`` *dominates* ``i`` where it costs no more, promises no less, and is in bounds wherever ``i`` is; then
``i`` is never the only maximiser. Of two that are equal in all this, the lower one dominates. What is left is numbered
by cost, which is what the proof of :mod:`beltline.gpu_ref.general.sweep` needs. It also needs that bounds, in those
numbers, are intervals whose ends do not fall in ``x``: the first and the last row that has a candidate in bounds must
not fall along the numbers. Where they do, the answer is :data:`UNORDERED`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.tables import Array

Indexes = NDArray[np.int32]

AS_GIVEN, BY_COST, UNORDERED = 0, 1, 2
"""Numbered by ``x'``, nothing removed; numbered by cost, less the dominated; neither will do."""


@njit(cache=True)
def windows(low: Indexes, high: Indexes) -> tuple[Indexes, Indexes]:
    """The first and the last row in whose bounds each candidate is, first above last where there is none.

    ``low`` and ``high``, ``(N_k,)``, do not fall in ``x``; nor do the answers along the candidates.
    """
    grid = low.size
    first, last = np.empty(grid, np.int32), np.empty(grid, np.int32)
    x = 0
    for i in range(grid):
        while x < grid and high[x] < i:
            x += 1
        first[i] = x
    x = grid - 1
    for i in range(grid - 1, -1, -1):
        while x >= 0 and low[x] > i:
            x -= 1
        last[i] = x
    return first, last


@njit(cache=True)
def _all_allowed(cost: Array, ev: Array, free: bool) -> tuple[Indexes, int]:
    """As :func:`numbered`, where every row is allowed every candidate."""
    every = np.arange(cost.size).astype(np.int32)
    falls = breaks = 0
    for i in range(1, cost.size):
        falls += cost[i] < cost[i - 1]
        breaks += ev[i] < ev[i - 1]
    if free or falls == 0:
        return every, AS_GIVEN
    return (_from_the_top(cost, ev, every) if breaks == 0 else _running_maxima(cost, ev, every)), BY_COST


@njit(cache=True)
def numbered(
    cost: Array, ev: Array, first: Indexes, last: Indexes, free: bool, whole: bool = False
) -> tuple[Indexes, int]:
    """The candidates to search, in order, and which order that is.

    Parameters
    ----------
    cost, ev
        ``(N_k,)``, ``float64``, of one exogenous state.
    first, last
        As of :func:`windows`.
    free
        Whether utility is linear and consumption may be negative, so that the proof needs no order.
    whole
        Whether it is known that every row is allowed every candidate.
    """
    if whole:
        return _all_allowed(cost, ev, free)
    kept = np.empty(cost.size, np.int32)
    count = 0
    rising = uniform = promising = True
    for i in range(cost.size):
        if first[i] <= last[i]:
            if count:
                before = kept[count - 1]
                rising = rising and cost[before] <= cost[i]
                promising = promising and ev[before] <= ev[i]
                uniform = uniform and first[before] == first[i] and last[before] == last[i]
            kept[count] = i
            count += 1
    kept = kept[:count]
    if free or rising:
        return kept, AS_GIVEN
    if uniform and promising:
        return _from_the_top(cost, ev, kept), BY_COST
    if uniform:
        return _running_maxima(cost, ev, kept), BY_COST
    kept = _undominated(cost, ev, first, last, kept)
    kept = kept[np.argsort(cost[kept], kind="mergesort")]
    for k in range(1, kept.size):
        if first[kept[k]] < first[kept[k - 1]] or last[kept[k]] < last[kept[k - 1]]:
            return kept, UNORDERED
    return kept, BY_COST


@njit(cache=True)
def _from_the_top(cost: Array, ev: Array, kept: Indexes) -> Indexes:
    """Where promises do not fall, a candidate stays if it costs less than all above it: no sort is needed."""
    found = np.empty(kept.size, np.int32)
    begin = kept.size
    for k in range(kept.size - 1, -1, -1):
        i = kept[k]
        if begin == kept.size or cost[i] < cost[found[begin]]:
            begin -= 1
            found[begin] = i
        elif cost[i] == cost[found[begin]] and ev[i] == ev[found[begin]]:
            found[begin] = i
    return found[begin:]


@njit(cache=True)
def _running_maxima(cost: Array, ev: Array, kept: Indexes) -> Indexes:
    """By cost, those that promise more than all that cost no more; of equals the lowest."""
    order = kept[np.argsort(cost[kept], kind="mergesort")]
    found = np.empty(order.size, np.int32)
    count = 0
    for i in order:
        if count and ev[i] <= ev[found[count - 1]]:
            continue
        if count and cost[i] == cost[found[count - 1]]:
            count -= 1
        found[count] = i
        count += 1
    return found[:count]


@njit(cache=True, inline="always")
def _most(tree: Array, marks: Indexes, mark: int, rank: int) -> float:
    """The largest promise up to ``rank`` among those entered under ``mark``: a Fenwick tree of maxima."""
    best = -np.inf
    while rank > 0:
        if marks[rank] == mark:
            best = max(best, tree[rank])
        rank -= rank & -rank
    return best


@njit(cache=True, inline="always")
def _enter(tree: Array, marks: Indexes, mark: int, rank: int, promise: float) -> None:
    while rank < tree.size:
        if marks[rank] != mark:
            marks[rank] = mark
            tree[rank] = promise
        else:
            tree[rank] = max(tree[rank], promise)
        rank += rank & -rank


@njit(cache=True)
def _undominated(cost: Array, ev: Array, first: Indexes, last: Indexes, kept: Indexes) -> Indexes:
    """Those that none dominates.

    As neither end of a window falls along the candidates, ``j`` is in bounds wherever ``i`` is if it lies above ``i``
    and has the same first row, or below and the same last row: two passes, each over runs of equal rows.
    """
    count = kept.size
    ranks = np.empty(count, np.int64)
    order = np.argsort(cost[kept], kind="mergesort")
    rank = 0
    for k in range(count):
        if k == 0 or cost[kept[order[k]]] > cost[kept[order[k - 1]]]:
            rank += 1
        ranks[order[k]] = rank
    tree, marks = np.empty(rank + 1), np.zeros(rank + 1, np.int32)
    stays = np.ones(count, np.bool_)
    mark = 0
    for k in range(count - 1, -1, -1):
        i = kept[k]
        if k == count - 1 or first[i] != first[kept[k + 1]]:
            mark += 1
        if _most(tree, marks, mark, ranks[k]) > ev[i] or _most(tree, marks, mark, ranks[k] - 1) >= ev[i]:
            stays[k] = False
        _enter(tree, marks, mark, ranks[k], ev[i])
    for k in range(count):
        i = kept[k]
        if k == 0 or last[i] != last[kept[k - 1]]:
            mark += 1
        if _most(tree, marks, mark, ranks[k]) >= ev[i]:
            stays[k] = False
        _enter(tree, marks, mark, ranks[k], ev[i])
    return kept[stays]


@njit(cache=True)
def rows_in_order(
    cost: Array, wealth: Array, first: Indexes, last: Indexes, kept: Indexes, free: bool, whole: bool = False
) -> tuple[Indexes, Indexes, Indexes]:
    """The rows that have a choice, and the lowest and the highest number that each may take; neither falls.

    ``cost``, ``first`` and ``last`` are of all candidates, and ``kept`` numbers some of them as :func:`numbered` does;
    ``whole`` as there.
    """
    rows = np.empty(wealth.size, np.int32)
    least, most = np.empty_like(rows), np.empty_like(rows)
    count = low = affordable = 0
    high = kept.size if whole else 0
    for x in range(wealth.size):
        while not whole and low < kept.size and last[kept[low]] < x:
            low += 1
        while high < kept.size and first[kept[high]] <= x:
            high += 1
        while affordable < kept.size and (free or cost[kept[affordable]] < wealth[x]):
            affordable += 1
        top = min(high, affordable) - 1
        if low <= top:
            rows[count], least[count], most[count] = x, low, top
            count += 1
    return rows[:count], least[:count], most[:count]
