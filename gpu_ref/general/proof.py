"""Maximise one exogenous state of one alternative, prove it, and bound by how much each choice beats all others.

Candidates are numbered such that cost does not fall along the numbers, and row ``x`` may choose those from ``a(x)`` to
``b(x)``, neither of which falls in ``x``. Write ``O(x, i)`` for the objective in exact arithmetic, and ``p`` and ``n``
for the rows before and after ``x`` that have a choice.

*Theorem.* Let ``g`` not fall in ``x``. If ``g(x)`` is the best number from ``max(a(x), g(p))`` to ``min(b(x), g(n))``
in every row that has a choice, it is the best from ``a(x)`` to ``b(x)``. :mod:`beltline.gpu_ref.general.column` has the
proof. The rows are maximised over these brackets, starting from any policy, until no choice changes. A search by divide
and conquer provides another start if that takes too long; it cannot affect the result.

*Gaps.* Let ``L(x)`` be a lower bound on ``O(x, g(x)) - O(x, i)`` for all allowed ``i < g(x)``. For ``i`` in the bracket
it follows from the computed objectives and their errors. For ``i < g(p)``, which row ``p`` is allowed, too, increasing
differences (:mod:`beltline.gpu_ref.exact`) carry the gap of row ``p`` over::

    O(x, g(x)) - O(x, i)  >=  O(x, g(x)) - O(x, g(p)) + L(p)

If ``g(x) = g(p)``, this is ``L(p)``, which may be far too low, because the gap grows with ``x``. The last row ``q``
with another choice then takes the place of ``p``, if few numbers lie between ``g(q)`` and ``g(x)``. The gap to
candidates above ``g(x)`` follows in the same way from the last row. So a gap above 0 proves that a choice is the only
best one of all candidates, although only those near it were evaluated, and a negative gap bounds what rounding may have
hidden.

*Dominated candidates* are left out: ``i`` is, if some ``j`` is allowed wherever ``i`` is, costs no more and has an
expectation that is no lower. By rounding of the expectations ``i`` may be better than ``j`` after all, by no more than
their errors, which all gaps allow for. What ``j`` itself gains over ``i`` in utility and in expectation is the gap to
``i`` of a row that chooses ``j``.

If no numbering makes bounds intervals, or rows are allowed only few candidates, all of them are evaluated.
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit
from beltline.gpu_ref.general.candidates import AS_GIVEN, BY_COST, UNORDERED, Indexes, windows
from beltline.gpu_ref.general.column import divide
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra, power_error

FEW_CANDIDATES = 4
"""If rows are allowed at most this many candidates on average, all of them are evaluated."""

MAX_EVALUATIONS = 32
"""Evaluations per row after which the search starts again, from the policy that divide and conquer finds."""

FLAT = 4
"""Largest distance to the last other choice for which the gaps of rows with equal choices are computed from it."""

BEST, ERROR, BELOW, ABOVE, AT_LOW, AT_HIGH = range(6)
"""What is known of a row's bracket: its maximum and the error of that; and the largest sums of objective and error of
the candidates below and above the choice, and at either end.
"""

VALUE, SLACK, GAP, GAP_BELOW, GAP_ABOVE, BEYOND_BELOW, BEYOND_ABOVE = range(7)
"""Numbers of each row: its maximum, a bound on its distance from the exact one, and lower bounds on the gap between the
choice and all other candidates, those below and above it, and those below and above the bracket.
"""

POLICY, NUMBER, LEAST, MOST, ROOT = range(5)
"""Whole numbers: by row the choice of ``x'`` (-1 without one), its number, and the limits of numbers; by ``x'``
the number of the candidate itself or of the one that dominates it, -1 if no row allows it.
"""


@njit(cache=True)
def _dominators(cost: Array, ev: Array, first: Indexes, last: Indexes) -> Indexes:
    """Return for each candidate the one that a cheap comparison shows to dominate it, or itself; -1 if none allows it.

    Each candidate is compared with one other that is allowed in every row in which it is: scanning down, with the
    cheapest so far that has the same first row; scanning up, with the one of highest ``ev`` so far that has the same
    last row. Of equals the lowest stays.
    """
    by = np.where(first <= last, np.arange(cost.size), -1).astype(np.int32)
    other = -1
    for i in range(cost.size - 1, -1, -1):
        if by[i] == i:
            if other < 0 or first[i] != first[other]:
                other = i
            elif cost[other] <= cost[i] and ev[other] >= ev[i] and (cost[other] < cost[i] or ev[other] > ev[i]):
                by[i] = other
            elif cost[i] <= cost[other]:
                other = i
    other = -1
    for i in range(cost.size):
        if by[i] == i:
            if other < 0 or last[i] != last[other]:
                other = i
            elif cost[other] <= cost[i] and ev[other] >= ev[i]:
                by[i] = other
            elif ev[i] >= ev[other]:
                other = i
    for i in range(cost.size):
        root = by[i]
        while root >= 0 and by[root] != root:
            root = by[root]
        by[i] = root
    return by


@njit(cache=True)
def _numbers(
    cost: Array, ev: Array, low: Indexes, high: Indexes, negative: bool, root: Indexes
) -> tuple[Indexes, Indexes, Indexes, int]:
    """Assign numbers to the candidates and return ``(remaining, least, most, order)``; fill :data:`ROOT`.

    ``remaining`` has the ``x'`` of each number; row ``x`` may choose the numbers ``least[x]`` to ``most[x]``; ``order``
    is ``AS_GIVEN``, ``BY_COST`` or ``UNORDERED``, as in :mod:`beltline.gpu_ref.general.candidates`.
    """
    grid = cost.size
    root[:] = np.arange(grid)
    rises = True
    for i in range(low[0] + 1, high[grid - 1] + 1):
        rises = rises and cost[i - 1] <= cost[i]
    if negative or rises:
        return root.copy(), low, high, AS_GIVEN
    first, last = windows(low, high)
    by = _dominators(cost, ev, first, last)
    remaining = np.flatnonzero(by == np.arange(grid)).astype(np.int32)
    ordered = True
    for k in range(1, remaining.size):
        ordered = ordered and cost[remaining[k - 1]] <= cost[remaining[k]]
    if not ordered:
        remaining = remaining[np.argsort(cost[remaining], kind="mergesort")]
    for k in range(1, remaining.size):
        if first[remaining[k]] < first[remaining[k - 1]] or last[remaining[k]] < last[remaining[k - 1]]:
            return remaining, low, high, UNORDERED
    number_of = np.full(grid + 1, -1, np.int32)
    for k in range(remaining.size):
        number_of[remaining[k]] = k
    root[:] = number_of[by]
    least, most = np.empty_like(low), np.empty_like(high)
    begin = end = 0
    for x in range(grid):
        while begin < remaining.size and last[remaining[begin]] < x:
            begin += 1
        while end < remaining.size and first[remaining[end]] <= x:
            end += 1
        least[x], most[x] = begin, end - 1
    return remaining, least, most, BY_COST


@njit(cache=True)
def _affordable(price: Array, wealth: Array, least: Indexes, most: Indexes) -> Indexes:
    """Return the highest number that each row is allowed and can afford; below ``least`` if it can afford nothing."""
    ends = np.empty_like(most)
    count = least[0]
    for x in range(wealth.size):
        while count <= most[x] and price[count] < wealth[x]:
            count += 1
        ends[x] = min(most[x], count - 1)
    return ends


@njit(cache=True)
def _maximise(
    price: Array, ev: Array, ev_error: Array, wealth: float, eta: float, power: float, negative: bool, low: int,
    high: int, row: Array,
) -> int:  # fmt: skip
    """Fill ``row``, ``(6,)``, from the candidates ``low`` to ``high``; return the lowest best, -1 without one."""
    index, best, error = -1, -np.inf, 0.0
    below = above = first = top = -np.inf
    for i in range(low, high + 1):
        c, top = wealth - price[i], -np.inf
        if c > 0.0 or negative:
            u = crra(c, eta)
            objective, own = u + ev[i], ev_error[i] + power * abs(u)
            if objective > best:
                below, above = max(below, above, best + error), -np.inf
                index, best, error = i, objective, own
                top = objective + own
            elif objective > -np.inf:
                top = objective + own
                above = max(above, top)
        if i == low:
            first = top
    row[BEST], row[ERROR], row[BELOW], row[ABOVE], row[AT_LOW], row[AT_HIGH] = best, error, below, above, first, top
    return index


@njit(cache=True)
def _settle(
    price: Array, ev: Array, ev_error: Array, wealth: Array, eta: float, negative: bool, least: Indexes, ends: Indexes,
    limit: int, chosen: Indexes, known: Array,
) -> tuple[bool, int]:  # fmt: skip
    """Maximise rows over their brackets until no choice changes, and fill ``known``, ``(rows, 6)``.

    ``chosen`` must be allowed and not fall, and remains so. Every change raises a row's objective, or lowers its number
    at an equal one, so this ends. Returns whether it did within ``limit`` evaluations, and their number.
    """
    count, power = wealth.size, power_error(eta)
    evaluations, waiting = 0, np.empty(count, np.int64)
    asked = np.ones(count, np.bool_)
    size, following = 0, 0
    while following < count or size:
        if following < count:
            k, following = following, following + 1
        else:
            size -= 1
            k = waiting[size]
        asked[k] = False
        low = max(least[k], chosen[k - 1]) if k else least[k]
        high = min(ends[k], chosen[k + 1]) if k + 1 < count else ends[k]
        index = _maximise(price, ev, ev_error, wealth[k], eta, power, negative, low, high, known[k])
        evaluations += high - low + 1
        if index < 0 or evaluations > limit:
            return False, evaluations
        if index != chosen[k]:
            chosen[k] = index
            for other in (k - 1, k + 1):
                if 0 <= other < count and not asked[other]:
                    asked[other] = True
                    waiting[size] = other
                    size += 1
    return True, evaluations


@njit(cache=True)
def _gaps(
    price: Array, ev: Array, ev_error: Array, wealth: Array, eta: float, negative: bool, rows: Indexes, least: Indexes,
    ends: Indexes, chosen: Indexes, known: Array, tight: bool, found: Array,
) -> int:  # fmt: skip
    """Fill ``found``, ``(7, N_k)``, in ``rows``, by passes from both ends; return the number of evaluations.

    Only if ``tight`` are gaps of equal choices computed from the last other one.
    """
    power, evaluations = power_error(eta), 0
    for side in range(2):
        step = 1 - 2 * side
        before = last = -1
        gap = gap_of_last = np.inf
        for t in range(rows.size):
            k = t if side == 0 else rows.size - 1 - t
            row, own, x = known[k], chosen[k], rows[k]
            certain = row[BEST] - row[ERROR]
            slack = max(row[ERROR], row[BELOW] - row[BEST], row[ABOVE] - row[BEST])
            end = least[k] if side == 0 else ends[k]
            here, beyond = certain - row[BELOW + side], np.inf
            if before >= 0 and (before - end) * step > 0:
                at = row[BEST] + row[ERROR] if before == own else row[AT_LOW + side]
                beyond = gap if before == own else certain - at + gap
                slack = max(slack, at - gap - row[BEST])
            if before != own:
                last, gap_of_last = before, gap
            gap = min(here, beyond)
            begin = end if last < 0 or (end - last) * step > 0 else last
            if tight and before == own and gap < np.inf and 0 < (own - begin) * step <= FLAT:
                tightened = np.inf
                for i in range(begin, own, step):
                    u = crra(wealth[k] - price[i], eta)
                    top = u + ev[i] + ev_error[i] + power * abs(u)
                    if wealth[k] - price[i] > 0.0 or negative:
                        tightened = min(tightened, certain - top)
                        if i == last and i != end:
                            tightened = min(tightened, certain - top + gap_of_last)
                    evaluations += 1
                gap = max(gap, tightened)
            found[GAP_BELOW + side, x], found[BEYOND_BELOW + side, x] = gap, beyond
            found[VALUE, x] = row[BEST]
            found[SLACK, x] = slack if side == 0 else max(slack, found[SLACK, x])
            before = own
    return evaluations


@njit(cache=True)
def _with_dominated(
    cost: Array, ev: Array, ev_error: Array, wealth: Array, eta: float, remaining: Indexes, found: Array, whole: Indexes
) -> None:
    """Extend gaps and slacks to dominated candidates."""
    closest, cheapest = np.full(remaining.size, np.inf), np.full(remaining.size, -1, np.int32)
    worst, power = 0.0, power_error(eta)
    for i in range(cost.size):
        k = whole[ROOT, i]
        if k >= 0 and remaining[k] != i:
            j = remaining[k]
            closest[k] = min(closest[k], ev[j] - ev[i] - ev_error[j] - ev_error[i])
            worst = min(worst, closest[k])
            if cheapest[k] < 0 or cost[i] < cost[cheapest[k]]:
                cheapest[k] = i
    for x in range(wealth.size):
        own = whole[POLICY, x]
        if own < 0:
            continue
        found[SLACK, x] -= worst
        for part in range(GAP_BELOW, BEYOND_ABOVE + 1):
            found[part, x] += worst
        found[GAP, x] = min(found[GAP_BELOW, x], found[GAP_ABOVE, x])
        other = cheapest[whole[NUMBER, x]]
        if other >= 0 and wealth[x] > cost[other]:
            u, less = crra(wealth[x] - cost[own], eta), crra(wealth[x] - cost[other], eta)
            drop = u - less - power * (abs(u) + abs(less)) if less > -np.inf else np.inf
            found[GAP, x] = min(found[GAP, x], closest[whole[NUMBER, x]] + max(drop, 0.0))


@njit(cache=True)
def _in_full(
    cost: Array, ev: Array, ev_error: Array, wealth: Array, eta: float, negative: bool, low: Indexes, high: Indexes,
    found: Array, whole: Indexes,
) -> int:  # fmt: skip
    """Fill ``found`` and ``whole`` by evaluating every candidate in bounds of every row; return evaluations."""
    power, row, evaluations = power_error(eta), np.empty(6), 0
    for x in range(wealth.size):
        index = _maximise(cost, ev, ev_error, wealth[x], eta, power, negative, low[x], high[x], row)
        evaluations += high[x] - low[x] + 1
        whole[POLICY, x] = whole[NUMBER, x] = index
        whole[LEAST, x], whole[MOST, x], whole[ROOT, x] = low[x], high[x], x
        found[VALUE, x] = row[BEST]
        found[SLACK, x] = max(row[ERROR], row[BELOW] - row[BEST], row[ABOVE] - row[BEST]) if index >= 0 else 0.0
        for side in range(2):
            found[GAP_BELOW + side, x] = row[BEST] - row[ERROR] - row[BELOW + side] if index >= 0 else np.inf
        found[GAP, x] = min(found[GAP_BELOW, x], found[GAP_ABOVE, x])
        found[BEYOND_BELOW, x] = found[BEYOND_ABOVE, x] = -np.inf
    return evaluations


@njit(cache=True)
def proven_column(
    cost: Array, ev: Array, ev_error: Array, wealth: Array, eta: float, negative: bool, low: Indexes, high: Indexes,
    given: Indexes, tight: bool, found: Array, whole: Indexes,
) -> tuple[int, bool]:  # fmt: skip
    """Maximise every row over the candidates that it is allowed, prove the result, and bound its gaps.

    A row takes about three evaluations if ``given`` is right.

    Parameters
    ----------
    cost, ev, ev_error, wealth
        ``(N_k,)``, ``float64``: cost ``G[x']`` (units of consumption), discounted expectation and a bound on its
        rounding error (units of utility) by candidate; cash on hand by row.
    eta, negative
        Curvature of utility; whether consumption may be negative (with ``eta = 0``).
    low, high
        ``(N_k,)``, ``int32``: bounds on ``x'``.
    given
        ``(N_k,)``, ``int32``: the policy to start from; any numbers.
    tight
        Whether to spend up to :data:`FLAT` evaluations more on gaps of rows with equal choices.
    found, whole
        ``(7, N_k)``, ``float64``, and ``(5, N_k)``, ``int32``: are filled, from :data:`VALUE` and :data:`POLICY` on.

    Returns
    -------
    evaluations, searched
        Number of objectives computed; whether all candidates were evaluated because the theorem does not apply.
    """
    tables = cost, ev, ev_error, wealth, eta, negative, low, high, found, whole
    allowed = 0
    for x in range(low.size):
        allowed += high[x] - low[x] + 1
    if allowed <= FEW_CANDIDATES * low.size:
        return _in_full(*tables), False
    remaining, least, most, order = _numbers(cost, ev, low, high, negative, whole[ROOT])
    if order == UNORDERED:
        return _in_full(*tables), True
    price, continuation, error = cost[remaining], ev[remaining], ev_error[remaining]
    ends = most if negative else _affordable(price, wealth, least, most)
    found[VALUE, :], found[SLACK, :], found[GAP:, :] = -np.inf, 0.0, np.inf
    whole[POLICY, :], whole[NUMBER, :], whole[LEAST, :], whole[MOST, :] = -1, -1, least, ends
    # The cheapest candidate has the highest utility: if that overflows, so do all others.
    able = np.empty(wealth.size, np.bool_)
    for x in range(wealth.size):
        able[x] = least[x] <= ends[x] and crra(wealth[x] - price[least[x]], eta) > -np.inf
    rows = np.flatnonzero(able).astype(np.int32)
    cash, least, ends, guess = wealth[rows], least[rows], ends[rows], np.empty(rows.size, np.int32)
    before = 0
    for k in range(rows.size):
        own = given[rows[k]]
        number = whole[ROOT, own] if 0 <= own < cost.size else -1
        before = min(max(before, number, least[k]), ends[k])
        guess[k] = before
    known = np.empty((rows.size, 6))
    columns = price, continuation, error, cash, eta, negative
    done, evaluations = _settle(*columns, least, ends, MAX_EVALUATIONS * rows.size, guess, known)
    if not done:
        evaluations += divide(price, continuation, cash, eta, least, ends, guess, np.empty(rows.size))
        before = 0
        for k in range(rows.size):
            before = guess[k] = min(max(before, guess[k], least[k]), ends[k])
        done, more = _settle(*columns, least, ends, 1 << 62, guess, known)
        evaluations += more
    if not done:
        return evaluations + _in_full(*tables), True
    evaluations += _gaps(*columns, rows, least, ends, guess, known, tight, found)
    for k in range(rows.size):
        x = rows[k]
        whole[NUMBER, x], whole[POLICY, x] = guess[k], remaining[guess[k]]
        found[GAP, x] = min(found[GAP_BELOW, x], found[GAP_ABOVE, x])
    if order == BY_COST:
        _with_dominated(cost, ev, ev_error, wealth, eta, remaining, found, whole)
    return evaluations, False


@njit(cache=True)
def possible(found: Array, whole: Indexes, margin: Array, low: Indexes, high: Indexes) -> None:
    """Fill ``low`` and ``high``, ``(N_k,)``: the lowest and highest number that loses at most ``margin`` to the choice.

    Arguments are those that :func:`proven_column` filled. Numbers outside are proven to lose more; those inside need
    not lose less. A bound on the loss of all numbers beyond some point is carried from row to row: by increasing
    differences it rises by at least as much as the choice gains on that of the row before.
    """
    for side in range(2):
        ends, limits = (low, whole[LEAST]) if side == 0 else (high, whole[MOST])
        before = edge = -1
        lost = gap = np.inf
        for t in range(margin.size):
            x = t if side == 0 else margin.size - 1 - t
            own = whole[NUMBER, x]
            if own < 0:
                ends[x] = 0 if side == 0 else -1
                continue
            beyond = found[BEYOND_BELOW + side, x]
            if edge >= 0:
                lost = lost + (beyond - gap) if gap < np.inf else beyond
            gap = found[GAP_BELOW + side, x]
            if gap > margin[x]:
                edge, lost = own, gap
            elif beyond > margin[x] and before >= 0:
                edge, lost = before, beyond
            elif not (edge >= 0 and lost > margin[x]):
                edge, lost = -1, np.inf
            limit = limits[x]
            ends[x] = limit if edge < 0 else (max(edge, limit) if side == 0 else min(edge, limit))
            before = own


@njit(cache=True)
def largest_between(table: Array, root: Indexes, low: Indexes, high: Indexes, found: Array) -> None:
    """Fill ``found``, ``(N_k,)``: the largest entry of ``table``, by ``x'``, among those of the numbers in an interval.

    A number stands for its candidate and those that it dominates. Entries are at least 0; 0 for an empty interval.
    """
    levels = 1
    while 1 << levels <= table.size:
        levels += 1
    most = np.zeros((levels, table.size))
    for i in range(table.size):
        if root[i] >= 0:
            most[0, root[i]] = max(most[0, root[i]], table[i])
    for level in range(1, levels):
        half = 1 << (level - 1)
        for k in range(table.size - 2 * half + 1):
            most[level, k] = max(most[level - 1, k], most[level - 1, k + half])
    for x in range(found.size):
        size = high[x] - low[x] + 1
        level = 0
        while 2 << level <= size:
            level += 1
        found[x] = max(most[level, low[x]], most[level, high[x] + 1 - (1 << level)]) if size > 0 else 0.0
