"""Remove dominated candidates ``x'`` and put the others in the order that the exact search needs.

The search of :mod:`beltline.gpu_ref.general.column` needs candidates numbered such that their cost ``G`` does not fall
and every row ``x`` may choose an interval of numbers whose two ends do not fall in ``x``.

Candidate ``j`` *dominates* candidate ``i`` if it costs no more, has an expectation ``EV`` that is no lower, and is
within bounds in every row in which ``i`` is. Then ``i`` is never the only maximiser, so it can be left out. (Of two
candidates that are equal in all this, the lower one stays.) The remaining candidates are numbered by cost.

The rows in whose bounds a candidate lies form an interval, because the bounds do not fall (:func:`windows`). Allowed
numbers form intervals with ends that do not fall if the first and the last row of these windows do not fall along the
numbers. If they do fall somewhere, the order is :data:`UNORDERED`, and the exogenous state must be searched in full.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, njit_inlined
from beltline.gpu_ref.tables import Array

Indexes = NDArray[np.int32]

AS_GIVEN, BY_COST, UNORDERED = 0, 1, 2
"""The order of candidates: by ``x'`` with nothing removed; by cost with dominated candidates removed; no order that the
search can use.
"""


@njit(cache=True)
def windows(low: Indexes, high: Indexes) -> tuple[Indexes, Indexes]:
    """Return for each candidate the first and the last row in whose bounds it lies; first > last if no row allows it.

    Takes time linear in ``N_k``.

    Parameters
    ----------
    low, high
        ``(N_k,)``, ``int32``: bounds on ``x'`` by row; they do not fall in ``x``.

    Returns
    -------
    first, last
        ``(N_k,)``, ``int32``, by candidate; they do not fall along the candidates.
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
def _all_allowed(cost: Array, ev: Array, negative: bool) -> tuple[Indexes, int]:
    """Return what :func:`numbered` does where every row may choose every candidate."""
    every = np.arange(cost.size).astype(np.int32)
    cost_falls = ev_falls = 0
    for i in range(1, cost.size):
        cost_falls += cost[i] < cost[i - 1]
        ev_falls += ev[i] < ev[i - 1]
    if negative or cost_falls == 0:
        return every, AS_GIVEN
    return (_cheaper_than_all_above(cost, ev, every) if ev_falls == 0 else _running_maxima(cost, ev, every)), BY_COST


@njit(cache=True)
def numbered(
    cost: Array, ev: Array, first: Indexes, last: Indexes, negative: bool, all_allowed: bool = False
) -> tuple[Indexes, int]:
    """Return the candidates to search, in order, and the kind of that order.

    Linear in ``N_k`` if cost rises in ``x'``, or if ``ev`` rises and all candidates have the same window; otherwise
    ``O(N_k log N_k)``.

    Parameters
    ----------
    cost, ev
        ``(N_k,)``, ``float64``, of one exogenous state: the cost of each candidate, and its discounted expectation.
    first, last
        ``(N_k,)``, ``int32``: :func:`windows` of the bounds.
    negative
        Whether consumption may be negative (with linear utility only). The search then needs no order.
    all_allowed
        Whether every row may choose every candidate, which saves looking at ``first`` and ``last``.

    Returns
    -------
    remaining
        ``(n,)``, ``int32``: the ``x'`` of each number.
    order
        :data:`AS_GIVEN`, :data:`BY_COST` or :data:`UNORDERED`.
    """
    if all_allowed:
        return _all_allowed(cost, ev, negative)
    remaining = np.empty(cost.size, np.int32)
    count = 0
    cost_rises = uniform = ev_rises = True
    for i in range(cost.size):
        if first[i] <= last[i]:
            if count:
                before = remaining[count - 1]
                cost_rises = cost_rises and cost[before] <= cost[i]
                ev_rises = ev_rises and ev[before] <= ev[i]
                uniform = uniform and first[before] == first[i] and last[before] == last[i]
            remaining[count] = i
            count += 1
    remaining = remaining[:count]
    if negative or cost_rises:
        return remaining, AS_GIVEN
    if uniform and ev_rises:
        return _cheaper_than_all_above(cost, ev, remaining), BY_COST
    if uniform:
        return _running_maxima(cost, ev, remaining), BY_COST
    remaining = _undominated(cost, ev, first, last, remaining)
    remaining = remaining[np.argsort(cost[remaining], kind="mergesort")]
    for k in range(1, remaining.size):
        if first[remaining[k]] < first[remaining[k - 1]] or last[remaining[k]] < last[remaining[k - 1]]:
            return remaining, UNORDERED
    return remaining, BY_COST


@njit(cache=True)
def _cheaper_than_all_above(cost: Array, ev: Array, remaining: Indexes) -> Indexes:
    """Remove dominated candidates where ``ev`` does not fall: a candidate stays if it costs less than all above it.

    A scan from the highest candidate down; no sort is needed.
    """
    found = np.empty(remaining.size, np.int32)
    begin = remaining.size
    for k in range(remaining.size - 1, -1, -1):
        i = remaining[k]
        if begin == remaining.size or cost[i] < cost[found[begin]]:
            begin -= 1
            found[begin] = i
        elif cost[i] == cost[found[begin]] and ev[i] == ev[found[begin]]:
            found[begin] = i
    return found[begin:]


@njit(cache=True)
def _running_maxima(cost: Array, ev: Array, remaining: Indexes) -> Indexes:
    """Sort by cost, and keep candidates whose ``ev`` exceeds that of all that cost no more; of equals the lowest."""
    order = remaining[np.argsort(cost[remaining], kind="mergesort")]
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


@njit_inlined
def _prefix_max(tree: Array, marks: Indexes, mark: int, rank: int) -> float:
    """Return the largest ``ev`` among entries with rank up to ``rank``: a query of a Fenwick tree of maxima.

    Nodes whose ``marks`` differ from ``mark`` count as empty, so that the tree need not be cleared.
    """
    best = -np.inf
    while rank > 0:
        if marks[rank] == mark:
            best = max(best, tree[rank])
        rank -= rank & -rank
    return best


@njit_inlined
def _insert(tree: Array, marks: Indexes, mark: int, rank: int, continuation: float) -> None:
    """Enter an ``ev`` at ``rank`` into the Fenwick tree of :func:`_prefix_max`."""
    while rank < tree.size:
        if marks[rank] != mark:
            marks[rank] = mark
            tree[rank] = continuation
        else:
            tree[rank] = max(tree[rank], continuation)
        rank += rank & -rank


@njit(cache=True)
def _undominated(cost: Array, ev: Array, first: Indexes, last: Indexes, remaining: Indexes) -> Indexes:
    """Return the candidates of ``remaining`` that no other one dominates, in ``O(n log n)``.

    Windows do not fall along the candidates. Hence ``j`` is allowed in every row of ``i`` if it lies above ``i`` and
    has the same first row, or below and the same last row. One pass from the top compares each candidate with those
    above it that have the same first row, one pass from the bottom with those below it that have the same last row.
    Ranks order candidates by cost, and a Fenwick tree returns the largest ``ev`` among those that cost no more.
    """
    count = remaining.size
    ranks = np.empty(count, np.int64)
    order = np.argsort(cost[remaining], kind="mergesort")
    rank = 0
    for k in range(count):
        if k == 0 or cost[remaining[order[k]]] > cost[remaining[order[k - 1]]]:
            rank += 1
        ranks[order[k]] = rank
    tree, marks = np.empty(rank + 1), np.zeros(rank + 1, np.int32)
    stays = np.ones(count, np.bool_)
    mark = 0
    for k in range(count - 1, -1, -1):
        i = remaining[k]
        if k == count - 1 or first[i] != first[remaining[k + 1]]:
            mark += 1
        if _prefix_max(tree, marks, mark, ranks[k]) > ev[i] or _prefix_max(tree, marks, mark, ranks[k] - 1) >= ev[i]:
            stays[k] = False
        _insert(tree, marks, mark, ranks[k], ev[i])
    for k in range(count):
        i = remaining[k]
        if k == 0 or last[i] != last[remaining[k - 1]]:
            mark += 1
        if _prefix_max(tree, marks, mark, ranks[k]) >= ev[i]:
            stays[k] = False
        _insert(tree, marks, mark, ranks[k], ev[i])
    return remaining[stays]


@njit(cache=True)
def rows_in_order(
    cost: Array, wealth: Array, first: Indexes, last: Indexes, remaining: Indexes, negative: bool,
    all_allowed: bool = False,
) -> tuple[Indexes, Indexes, Indexes]:  # fmt: skip
    """Return the rows that have a choice, and the lowest and the highest number that each of them may take.

    Parameters
    ----------
    cost, wealth
        ``(N_k,)``, ``float64``: cost by candidate, cash on hand by row.
    first, last
        ``(N_k,)``, ``int32``: :func:`windows` of all candidates.
    remaining
        ``(n,)``, ``int32``: the ``x'`` of each number, as :func:`numbered` returns them.
    negative, all_allowed
        As for :func:`numbered`.

    Returns
    -------
    rows, least, most
        ``(rows,)``, ``int32``: indexes of rows, and an interval of numbers for each; neither end falls.
    """
    rows = np.empty(wealth.size, np.int32)
    least, most = np.empty_like(rows), np.empty_like(rows)
    count = low = affordable = 0
    high = remaining.size if all_allowed else 0
    for x in range(wealth.size):
        while not all_allowed and low < remaining.size and last[remaining[low]] < x:
            low += 1
        while high < remaining.size and first[remaining[high]] <= x:
            high += 1
        while affordable < remaining.size and (negative or cost[remaining[affordable]] < wealth[x]):
            affordable += 1
        top = min(high, affordable) - 1
        if low <= top:
            rows[count], least[count], most[count] = x, low, top
            count += 1
    return rows[:count], least[:count], most[:count]
