"""Maximise one exogenous state of one alternative in two passes over its rows that prove their own result.

Solutions are verified with this search, so it shares nothing with the solver's (:mod:`beltline.gpu_ref.general.column`)
except divide and conquer as a source of guesses, which cannot affect the result. Numbers of candidates and their limits
``a(x)`` and ``b(x)`` mean the same as there: cost does not fall along the numbers, and row ``x`` may choose those from
``a(x)`` to ``b(x)``, neither of which falls in ``x``. Let ``h(x)`` be arbitrary numbers, and write ``O(x, i)`` for the
objective.

- *Upwards*: ``A(x)`` is the best number from ``max(a(x), A(x-1))`` to ``h(x)``, or that lower end alone if ``h(x)`` is
  below it.
- *Downwards*: ``B(x)`` is the best number from ``A(x)`` to ``min(b(x), B(x+1))``.

*Theorem.* ``B(x)`` maximises ``O(x, .)`` from ``a(x)`` to ``b(x)``, for every row that is allowed anything.

*Proof.* No ``i < A(x)`` beats ``A(x)`` at ``x``: the first pass compared those from ``A(x-1)`` up. An allowed ``i <
A(x-1)`` is also allowed at ``x-1`` and does not beat ``A(x-1)`` there, by induction. By increasing differences
(:mod:`beltline.gpu_ref.exact`) it does not beat ``A(x-1)`` at ``x`` either, where ``A(x-1)`` is allowed and was
compared. No ``i > B(x)`` beats ``B(x)``, by the same argument from the last row to the first, since ``A(x) <= A(x+1) <=
B(x+1)``. A candidate below ``A(x)`` does not beat ``A(x)``, with which ``B(x)`` was compared.

Given a policy ``g``, take ``h(x) = max(g(x), g(x+1))``. If ``g`` is optimal and does not fall, the passes evaluate
exactly the candidates between the choices of the two neighbours, and the theorem is that of
:mod:`beltline.gpu_ref.general.column`. If ``g`` is wrong or falls somewhere, the passes take more evaluations and still
end with the maximum.

Rows without an affordable candidate of finite utility are left out. If no numbering makes bounds intervals, all
candidates of the exogenous state are evaluated.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.general.candidates import AS_GIVEN, BY_COST, UNORDERED, Indexes, windows
from beltline.gpu_ref.general.column import divide
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra, power_error

FEW_CANDIDATES = 4
"""If rows are allowed at most this many candidates on average, all of them are evaluated."""

MAX_EVALUATIONS = 32
"""Evaluations per row after which the passes start again, from the policy that divide and conquer finds."""


@njit(cache=True)
def _not_dominated(cost: Array, ev: Array, first: Indexes, last: Indexes) -> NDArray[np.bool_]:
    """Mark candidates that a cheap comparison does not show to be dominated.

    Each candidate is compared with one other that is allowed in every row in which it is: scanning down, with the
    cheapest so far that has the same first row; scanning up, with the one of highest ``ev`` so far that has the same
    last row. Of equals the lowest stays.
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
def _numbers(
    cost: Array, ev: Array, low: Indexes, high: Indexes, negative: bool
) -> tuple[Indexes, Indexes, Indexes, int]:
    """Assign numbers to the candidates and return ``(remaining, least, most, order)``.

    ``remaining`` has the ``x'`` of each number; row ``x`` may choose the numbers ``least[x]`` to ``most[x]``; ``order``
    is ``AS_GIVEN``, ``BY_COST`` or ``UNORDERED``, as in :mod:`beltline.gpu_ref.general.candidates`.
    """
    grid = cost.size
    rises = True
    for i in range(low[0] + 1, high[grid - 1] + 1):
        rises = rises and cost[i - 1] <= cost[i]
    if negative or rises:
        return np.arange(grid).astype(np.int32), low, high, AS_GIVEN
    first, last = windows(low, high)
    remaining = np.flatnonzero(_not_dominated(cost, ev, first, last)).astype(np.int32)
    ordered = True
    for k in range(1, remaining.size):
        ordered = ordered and cost[remaining[k - 1]] <= cost[remaining[k]]
    if not ordered:
        remaining = remaining[np.argsort(cost[remaining], kind="mergesort")]
    for k in range(1, remaining.size):
        if first[remaining[k]] < first[remaining[k - 1]] or last[remaining[k]] < last[remaining[k - 1]]:
            return remaining, low, high, UNORDERED
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
def _scan(
    price: Array, continuation: Array, wealth: float, eta: float, begin: int, end: int, best: float, index: int
) -> tuple[float, int, float, float]:
    """Compare the numbers ``begin`` to ``end`` with ``best``, the objective of ``index``.

    Returns the best objective, its number, and the objectives of ``begin`` and of ``end``.
    """
    one = other = -np.inf
    for i in range(begin, end + 1):
        other = crra(wealth - price[i], eta) + continuation[i]
        if i == begin:
            one = other
        if other > best:
            best, index = other, i
    return best, index, one, other


@njit(cache=True)
def _passes(
    price: Array, continuation: Array, wealth: Array, eta: float, ev_error: float, least: Indexes, ends: Indexes,
    guess: Indexes, limit: int, value: Array, chosen: Indexes, slack: Array,
) -> tuple[bool, int]:  # fmt: skip
    """Run the two passes; return whether they finished within ``limit`` evaluations, and the number of evaluations.

    Fills maximum, number and slack of each row. ``guess`` may hold any numbers; other arguments as for
    :func:`proven_column`.

    *Rounding.* Let ``e`` be the error of an objective. An ``i < A(x)`` that was compared exceeds ``A(x)`` by at most
    ``2 e`` in exact arithmetic. Let ``t`` be the most by which a candidate below ``A(x-1)`` exceeds ``A(x-1)`` at
    ``x-1``. By increasing differences it exceeds ``A(x-1)`` by no more at ``x``. So it exceeds the computed maximum of
    ``x`` by at most ``t + e`` less the margin by which that maximum beats ``A(x-1)``, and ``A(x)`` itself by ``e``
    more; if ``A(x) = A(x-1)``, by ``t``. The second pass adds up errors in the same way from the last row.
    """
    floor, ceiling = continuation.min(), continuation.max()
    power = power_error(eta)
    top, at_top, beyond = np.empty_like(ends), np.empty_like(value), np.empty_like(value)
    evaluations = 0
    excess, before = -np.inf, -1
    for x in range(wealth.size):
        value[x], chosen[x], slack[x], beyond[x] = -np.inf, -1, 0.0, -np.inf
        begin = max(least[x], before)
        if begin > ends[x]:
            continue
        ahead = max(guess[x], guess[min(x + 1, wealth.size - 1)])
        top[x] = min(ends[x], max(begin, ahead))
        value[x], chosen[x], at_begin, at_top[x] = _scan(
            price, continuation, wealth[x], eta, begin, top[x], -np.inf, -1
        )  # fmt: skip
        evaluations += top[x] - begin + 1
        if evaluations > limit:
            return False, evaluations
        if chosen[x] < 0:
            if begin > least[x]:
                return False, evaluations
            # The cheapest candidate has no finite utility, so no other has.
            continue
        error = ev_error + power * max(abs(value[x] - floor), abs(value[x] - ceiling))
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
                price, continuation, wealth[x], eta, top[x] + 1, end, value[x], chosen[x]
            )  # fmt: skip
            evaluations += end - top[x]
            if evaluations > limit:
                return False, evaluations
        elif end < top[x]:
            at_end = crra(wealth[x] - price[end], eta) + continuation[end]
            evaluations += 1
        error = ev_error + power * max(abs(value[x] - floor), abs(value[x] - ceiling))
        above = excess - (value[x] - at_end) if end < ends[x] else -np.inf
        slack[x] = error + max(0.0, above, beyond[x] - (value[x] - found))
        if end == ends[x] or chosen[x] != before:
            excess = max(2.0 * error, above + 2.0 * error)
        before = chosen[x]
    return True, evaluations


@njit(cache=True)
def _in_full(
    cost: Array, ev: Array, wealth: Array, eta: float, negative: bool, ev_error: float, low: Indexes, high: Indexes,
    value: Array, policy: Indexes, slack: Array,
) -> int:  # fmt: skip
    """Fill ``value``, ``policy`` and ``slack`` by evaluating every candidate in bounds of every row; return
    evaluations.
    """
    floor, ceiling = ev.min(), ev.max()
    power = power_error(eta)
    evaluations = 0
    for x in range(wealth.size):
        value[x], policy[x], slack[x] = -np.inf, -1, 0.0
        for i in range(low[x], high[x] + 1):
            if negative or cost[i] < wealth[x]:
                objective = crra(wealth[x] - cost[i], eta) + ev[i]
                evaluations += 1
                if objective > value[x]:
                    value[x], policy[x] = objective, i
        if policy[x] >= 0:
            slack[x] = ev_error + power * max(abs(value[x] - floor), abs(value[x] - ceiling))
    return evaluations


@njit(cache=True)
def proven_column(
    cost: Array, ev: Array, wealth: Array, eta: float, negative: bool, ev_error: float, low: Indexes, high: Indexes,
    given: Indexes, value: Array, policy: Indexes, slack: Array,
) -> tuple[int, bool]:  # fmt: skip
    """Maximise every row over the candidates that it is allowed, and prove the result.

    A row takes about three evaluations if ``given`` is right.

    Parameters
    ----------
    cost, ev, wealth
        ``(N_k,)``, ``float64``: cost ``G[x']`` (units of consumption) and discounted expectation (units of utility) by
        candidate; cash on hand by row.
    eta, negative
        Curvature of utility; whether consumption may be negative (with ``eta = 0``).
    ev_error
        Bound on the rounding error of ``ev``, units of utility.
    low, high
        ``(N_k,)``, ``int32``: bounds on ``x'``.
    given
        ``(N_k,)``, ``int32``: the policy to start from; any numbers.
    value, policy, slack
        ``(N_k,)``: receive the maximum, its ``x'``, and a bound on the distance of ``value`` from the maximum in exact
        arithmetic (units of utility); ``-inf``, -1 and 0 where nothing can be taken.

    Returns
    -------
    evaluations, searched
        Number of objectives computed; whether all candidates were evaluated because the theorem does not apply.
    """
    allowed = 0
    for x in range(low.size):
        allowed += high[x] - low[x] + 1
    if allowed <= FEW_CANDIDATES * low.size:
        return _in_full(cost, ev, wealth, eta, negative, ev_error, low, high, value, policy, slack), False
    remaining, least, most, order = _numbers(cost, ev, low, high, negative)
    done, evaluations = False, 0
    if order != UNORDERED:
        price, continuation = cost[remaining], ev[remaining]
        number_of = np.full(cost.size, -1, np.int32)
        for k in range(remaining.size):
            number_of[remaining[k]] = k
        guess = np.empty_like(policy)
        for x in range(given.size):
            guess[x] = number_of[given[x]] if 0 <= given[x] < cost.size else -1
            # The given choice was removed as dominated: guess the choice of the row before.
            if guess[x] < 0 and x > 0:
                guess[x] = guess[x - 1]
        ends = most if negative else _affordable(price, wealth, least, most)
        limit = MAX_EVALUATIONS * low.size
        done, evaluations = _passes(
            price, continuation, wealth, eta, ev_error, least, ends, guess, limit, value, policy, slack
        )  # fmt: skip
        if not done:
            evaluations += divide(price, continuation, wealth, eta, least, ends, guess, value)
            done, more = _passes(
                price, continuation, wealth, eta, ev_error, least, ends, guess, 1 << 62, value, policy, slack
            )  # fmt: skip
            evaluations += more
        for x in range(policy.size):
            if policy[x] >= 0:
                policy[x] = remaining[policy[x]]
                slack[x] += 2.0 * ev_error if order == BY_COST else 0.0
    if not done:
        evaluations += _in_full(cost, ev, wealth, eta, negative, ev_error, low, high, value, policy, slack)
    return evaluations, not done
