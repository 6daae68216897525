"""One exogenous state of one alternative, maximised in two passes that begin from a given policy and prove themselves.

Nothing here is of the solver's search (:mod:`beltline.gpu_ref.general.column`): it is what results are verified by.
Numbers of candidates, ``a(x)`` and ``b(x)`` are as there: cost does not fall along the numbers, and row ``x`` is
allowed those from ``a(x)`` to ``b(x)``, of which neither falls in ``x``. Let ``h`` be any numbers at all.

- *Upwards*: ``A(x)`` is the best from ``max(a(x), A(x-1))`` to ``h(x)``, or to the former where ``h(x)`` is below it.
- *Downwards*: ``B(x)`` is the best from ``A(x)`` to ``min(b(x), B(x+1))``.

*Theorem.* ``B(x)`` is the best from ``a(x)`` to ``b(x)``, for every row that is allowed any.

*Proof.* Nobody ``i < A(x)`` is better than ``A(x)`` at ``x``: from ``A(x-1)`` up that was looked at. An ``i < A(x-1)``
is allowed at ``x-1``, and no better than ``A(x-1)`` there by induction, hence by increasing differences
(:mod:`beltline.gpu_ref.exact`) nor at ``x``, where ``A(x-1)`` is allowed and was looked at. Nobody ``i > B(x)`` is
better than ``B(x)``, by the same argument from the last row, as ``A(x) <= A(x+1) <= B(x+1)``. What is below ``A(x)`` is
no better than ``A(x)``, which ``B(x)`` was compared with. For ``h(x) = g(x+1)`` with a policy ``g`` that does not fall
and is best of all, this looks at what lies between the neighbours' choices of each row and at nothing else; then it is
the theorem of :mod:`beltline.gpu_ref.general.column`. A wrong policy, or one that falls, costs evaluations and no more.

Rows without an affordable candidate of finite utility are left out. Where no numbers are found along which bounds stay
intervals, all candidates of the exogenous state are looked at.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.general.candidates import AS_GIVEN, BY_COST, UNORDERED, Indexes, windows
from beltline.gpu_ref.general.column import divide
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra

FEW = 4
"""Candidates that rows are allowed on average, up to which all are looked at."""

PATIENCE = 32
"""Evaluations a row after which the passes begin again, from what divide and conquer found."""


@njit(cache=True)
def _stay(cost: Array, ev: Array, first: Indexes, last: Indexes) -> NDArray[np.bool_]:
    """Who may be a maximiser, at least: each candidate is compared with one of those that are allowed wherever it is.

    Downwards that is the cheapest with the same first row, upwards the most promising with the same last row. Of equals
    the lowest stays.
    """
    stays = first <= last
    other = -1
    for i in range(cost.size - 1, -1, -1):
        if stays[i]:
            if other < 0 or first[i] != first[other]:
                other = i
            elif cost[other] <= cost[i] and ev[other] >= ev[i] and (cost[other] < cost[i] or ev[other] > ev[i]):
                stays[i] = False
            elif cost[i] <= cost[other]:
                other = i
    other = -1
    for i in range(cost.size):
        if stays[i]:
            if other < 0 or last[i] != last[other]:
                other = i
            elif cost[other] <= cost[i] and ev[other] >= ev[i]:
                stays[i] = False
            elif ev[i] >= ev[other]:
                other = i
    return stays


@njit(cache=True)
def _numbers(cost: Array, ev: Array, low: Indexes, high: Indexes, free: bool) -> tuple[Indexes, Indexes, Indexes, int]:
    """Candidates in order, the numbers from which and to which each row is allowed them, and which order that is."""
    grid = cost.size
    rises = True
    for i in range(low[0] + 1, high[grid - 1] + 1):
        rises = rises and cost[i - 1] <= cost[i]
    if free or rises:
        return np.arange(grid).astype(np.int32), low, high, AS_GIVEN
    first, last = windows(low, high)
    kept = np.flatnonzero(_stay(cost, ev, first, last)).astype(np.int32)
    ordered = True
    for k in range(1, kept.size):
        ordered = ordered and cost[kept[k - 1]] <= cost[kept[k]]
    if not ordered:
        kept = kept[np.argsort(cost[kept], kind="mergesort")]
    for k in range(1, kept.size):
        if first[kept[k]] < first[kept[k - 1]] or last[kept[k]] < last[kept[k - 1]]:
            return kept, low, high, UNORDERED
    least, most = np.empty_like(low), np.empty_like(high)
    begin = end = 0
    for x in range(grid):
        while begin < kept.size and last[kept[begin]] < x:
            begin += 1
        while end < kept.size and first[kept[end]] <= x:
            end += 1
        least[x], most[x] = begin, end - 1
    return kept, least, most, BY_COST


@njit(cache=True)
def _affordable(price: Array, wealth: Array, least: Indexes, most: Indexes) -> Indexes:
    """The highest number that each row is allowed and can afford, below ``least`` where there is none."""
    ends = np.empty_like(most)
    count = least[0]
    for x in range(wealth.size):
        while count <= most[x] and price[count] < wealth[x]:
            count += 1
        ends[x] = min(most[x], count - 1)
    return ends


@njit(cache=True)
def _scan(
    price: Array, promise: Array, wealth: float, eta: float, begin: int, end: int, best: float, index: int
) -> tuple[float, int, float, float]:
    """The better of ``best``, which ``index`` has, and of those from ``begin`` to ``end``; objectives of the ends."""
    one = other = -np.inf
    for i in range(begin, end + 1):
        other = crra(wealth - price[i], eta) + promise[i]
        if i == begin:
            one = other
        if other > best:
            best, index = other, i
    return best, index, one, other


@njit(cache=True)
def _passes(
    price: Array, promise: Array, wealth: Array, eta: float, noise: float, least: Indexes, ends: Indexes,
    guide: Indexes, limit: int, value: Array, chosen: Indexes, slack: Array,
) -> tuple[bool, int]:  # fmt: skip
    """Fill value, number and slack of each row: whether that was done within ``limit`` evaluations, and how many.

    ``guide`` has numbers, any. On rounding: with ``e`` the error of an objective, an ``i < A(x)`` that was looked at
    truly exceeds ``A(x)`` by ``2 e`` at most. One below ``A(x-1)`` exceeds ``A(x-1)`` by no more than it does at
    ``x-1``, say ``t``, and so the computed maximum by ``t`` less the margin of that maximum over ``A(x-1)``, and ``e``;
    and ``A(x)`` by ``e`` more, or by ``t`` still where both are the same. Downwards likewise.
    """
    floor, ceiling = promise.min(), promise.max()
    power = DOUBLE * (abs(1.0 - eta) + 4.0)
    top, at_top, beyond = np.empty_like(ends), np.empty_like(value), np.empty_like(value)
    evaluations = 0
    excess, before = -np.inf, -1
    for x in range(wealth.size):
        value[x], chosen[x], slack[x], beyond[x] = -np.inf, -1, 0.0, -np.inf
        begin = max(least[x], before)
        if begin > ends[x]:
            continue
        ahead = max(guide[x], guide[min(x + 1, wealth.size - 1)])
        top[x] = min(ends[x], max(begin, ahead))
        value[x], chosen[x], at_begin, at_top[x] = _scan(
            price, promise, wealth[x], eta, begin, top[x], -np.inf, -1
        )  # fmt: skip
        evaluations += top[x] - begin + 1
        if evaluations > limit:
            return False, evaluations
        if chosen[x] < 0:
            if begin > least[x]:
                return False, evaluations
            # The cheapest has no finite utility: nobody here has.
            continue
        error = noise + power * max(abs(value[x] - floor), abs(value[x] - ceiling))
        if begin > least[x]:
            beyond[x] = excess - (value[x] - at_begin)
        if begin == least[x] or chosen[x] != before:
            excess = max(2.0 * error, beyond[x] + 2.0 * error)
        before = chosen[x]
    excess, before = -np.inf, -1
    for x in range(wealth.size - 1, -1, -1):
        if chosen[x] < 0:
            continue
        end = ends[x] if before < 0 else min(ends[x], before)
        found, at_end = value[x], at_top[x]
        if end > top[x]:
            value[x], chosen[x], _, at_end = _scan(
                price, promise, wealth[x], eta, top[x] + 1, end, value[x], chosen[x]
            )  # fmt: skip
            evaluations += end - top[x]
            if evaluations > limit:
                return False, evaluations
        elif end < top[x]:
            at_end = crra(wealth[x] - price[end], eta) + promise[end]
            evaluations += 1
        error = noise + power * max(abs(value[x] - floor), abs(value[x] - ceiling))
        above = excess - (value[x] - at_end) if end < ends[x] else -np.inf
        slack[x] = error + max(0.0, above, beyond[x] - (value[x] - found))
        if end == ends[x] or chosen[x] != before:
            excess = max(2.0 * error, above + 2.0 * error)
        before = chosen[x]
    return True, evaluations


@njit(cache=True)
def _in_full(
    cost: Array, ev: Array, wealth: Array, eta: float, free: bool, noise: float, low: Indexes, high: Indexes,
    value: Array, policy: Indexes, slack: Array,
) -> int:  # fmt: skip
    """Look at every candidate in bounds of every row: evaluations."""
    floor, ceiling = ev.min(), ev.max()
    power = DOUBLE * (abs(1.0 - eta) + 4.0)
    evaluations = 0
    for x in range(wealth.size):
        value[x], policy[x], slack[x] = -np.inf, -1, 0.0
        for i in range(low[x], high[x] + 1):
            if free or cost[i] < wealth[x]:
                objective = crra(wealth[x] - cost[i], eta) + ev[i]
                evaluations += 1
                if objective > value[x]:
                    value[x], policy[x] = objective, i
        if policy[x] >= 0:
            slack[x] = noise + power * max(abs(value[x] - floor), abs(value[x] - ceiling))
    return evaluations


@njit(cache=True)
def proven_column(
    cost: Array, ev: Array, wealth: Array, eta: float, free: bool, noise: float, low: Indexes, high: Indexes,
    given: Indexes, value: Array, policy: Indexes, slack: Array,
) -> tuple[int, bool]:  # fmt: skip
    """Maximise every row over what it is allowed, and prove it.

    Parameters
    ----------
    cost, ev, wealth
        ``(N_k,)``, ``float64``: ``G[x']`` and the expectation of ``x'``, units of money and utility; wealth by ``x``.
    eta, free
        Curvature of utility; whether it is linear and consumption may be negative.
    noise
        What ``ev`` may be off by, units of utility.
    low, high
        ``(N_k,)``, ``int32``: bounds.
    given
        ``(N_k,)``, ``int32``: the policy to begin from; any numbers.
    value, policy, slack
        ``(N_k,)``: what is found; how far ``value`` may be from the maximum in real numbers, units of utility;
        ``-inf``, -1 and 0 where nothing can be taken.

    Returns
    -------
    evaluations, searched
        Objectives that were computed; whether all were because the theorem does not apply.
    """
    allowed = 0
    for x in range(low.size):
        allowed += high[x] - low[x] + 1
    if allowed <= FEW * low.size:
        return _in_full(cost, ev, wealth, eta, free, noise, low, high, value, policy, slack), False
    kept, least, most, order = _numbers(cost, ev, low, high, free)
    done, evaluations = False, 0
    if order != UNORDERED:
        price, promise = cost[kept], ev[kept]
        number_of = np.full(cost.size, -1, np.int32)
        for k in range(kept.size):
            number_of[kept[k]] = k
        guide = np.empty_like(policy)
        for x in range(given.size):
            guide[x] = number_of[given[x]] if 0 <= given[x] < cost.size else -1
            # Somebody who was left out: as the row before.
            if guide[x] < 0 and x > 0:
                guide[x] = guide[x - 1]
        ends = most if free else _affordable(price, wealth, least, most)
        limit = PATIENCE * low.size
        done, evaluations = _passes(
            price, promise, wealth, eta, noise, least, ends, guide, limit, value, policy, slack
        )  # fmt: skip
        if not done:
            evaluations += divide(price, promise, wealth, eta, least, ends, guide, value)
            done, more = _passes(
                price, promise, wealth, eta, noise, least, ends, guide, 1 << 62, value, policy, slack
            )  # fmt: skip
            evaluations += more
        for x in range(policy.size):
            if policy[x] >= 0:
                policy[x] = kept[policy[x]]
                slack[x] += 2.0 * noise if order == BY_COST else 0.0
    if not done:
        evaluations += _in_full(cost, ev, wealth, eta, free, noise, low, high, value, policy, slack)
    return evaluations, not done
