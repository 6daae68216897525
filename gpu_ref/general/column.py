"""One exact sweep of one alternative, begun from any policy, proven by brackets; no concavity is needed.

Let candidates be numbered so that cost does not fall along the numbers (:mod:`beltline.gpu_ref.general.candidates`),
and let row ``x`` be allowed the numbers from ``a(x)`` to ``b(x)``, of which neither falls in ``x``: bounds, and what is
affordable. *If a policy ``g`` does not fall in ``x``, and ``g(x)`` is the lowest maximiser between ``max(a(x),
g(x-1))`` and ``min(b(x), g(x+1))`` for every row that has a choice, then ``g(x)`` is the lowest maximiser between
``a(x)`` and ``b(x)``, for every ``x``.*

Proof. As in :mod:`beltline.gpu_ref.brackets`, along the rows that have a choice. Take ``i`` allowed at ``x`` and ``i <
g(x-1)``. It is allowed at the row before: ``a(x-1) <= a(x) <= i < g(x-1) <= b(x-1)``. There it is worse than
``g(x-1)``, by induction, which is allowed at ``x``, as ``a(x) <= i < g(x-1) <= g(x) <= b(x)``; so by increasing
differences it is worse than ``g(x-1)`` at ``x``, and ``g(x-1)`` is no better than ``g(x)`` there. Upwards the same. A
utility that overflows to minus infinity does so for all that cost more: an upper bound like what is affordable.

With ``eta = 0`` and negative consumption allowed, the difference of two objectives does not depend on ``x`` at all, so
any order of candidates will do, and ``x'``, in which bounds are intervals, is one.

Rounding: :func:`beltline.gpu_ref.brackets.row_slack`; where dominated candidates were removed, what two expectations
round is added. Exogenous states run in parallel, rows of one of them do not: the order of the rounds, and so every bit,
is the same on any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.brackets import ROUNDS, best_between, row_slack
from beltline.gpu_ref.general.candidates import BY_COST, UNORDERED, Indexes, numbered, rows_in_order
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra

FAR = 4
"""Where more than one choice in so many moves, the next sweep begins by divide and conquer."""


@njit(cache=True)
def _best_known(
    cost: Array, ev: Array, wealth: float, eta: float, low: int, high: int,
    kept: Indexes, tags: Indexes, known: Array,
) -> tuple[float, int, float, float, int]:  # fmt: skip
    """As :func:`best_between`, of at most four candidates, with utilities that a sweep before has left; computed ones.

    ``tags``, ``(4,)``, names the ``x'`` whose utilities ``known`` holds.
    """
    best = first = last = -np.inf
    index = -1
    computed = 0
    for i in range(low, high + 1):
        place = kept[i] & 3
        if tags[place] != kept[i]:
            tags[place] = kept[i]
            known[place] = crra(wealth - cost[i], eta)
            computed += 1
        last = known[place] + ev[i]
        if i == low:
            first = last
        if last > best:
            best = last
            index = i
    return best, index, first, last, computed


@njit(cache=True)
def divide(
    cost: Array, ev: Array, wealth: Array, eta: float, least: Indexes, most: Indexes, policy: Indexes, value: Array
) -> int:
    """Divide and conquer, level by level as in :mod:`beltline.gpu_ref.exact`; returns evaluations."""
    evaluations = 0
    step = 1
    while 2 * step <= wealth.size:
        step *= 2
    while step:
        for row in range(step - 1, wealth.size, 2 * step):
            low, high = least[row], most[row]
            if row - step >= 0 and policy[row - step] >= 0:
                low = max(low, policy[row - step])
            if row + step < wealth.size and policy[row + step] >= 0:
                high = min(high, policy[row + step])
            if low > high:
                # Two near ties on either side of a row that has no choice.
                low, high = least[row], most[row]
            value[row], policy[row], _, _ = best_between(cost, wealth[row], ev, eta, low, high)
            evaluations += high - low + 1
        step //= 2
    return evaluations


@njit(cache=True)
def _repair(
    cost: Array, ev: Array, wealth: Array, eta: float, least: Indexes, most: Indexes, limit: int,
    rows: Indexes, kept: Indexes, tags: Indexes, known: Array, policy: Indexes, value: Array, margins: Array,
) -> tuple[bool, int]:  # fmt: skip
    """Rounds of odd rows and of even ones until no choice moves: whether that was so, and evaluations.

    A row is maximised again when a neighbour moved in the half-round before. Where a bracket has no finite objective
    nothing is proven. ``tags`` and ``known``, ``(N_k, 4)`` or empty, are of the rows ``rows``.
    """
    count = wealth.size
    moved = np.zeros(count, np.int32)
    evaluations = 0
    keep = tags.shape[0] > 0
    for number in range(1, limit + 1):
        changes = 0
        for p in range(number % 2, count, 2):
            if number > 2 and not (
                (p > 0 and moved[p - 1] == number - 1) or (p + 1 < count and moved[p + 1] == number - 1)
            ):
                continue
            low = max(least[p], policy[p - 1]) if p > 0 else least[p]
            high = min(most[p], policy[p + 1]) if p + 1 < count else most[p]
            if keep and high - low < 4:
                x = rows[p]
                best, index, at_low, at_high, computed = _best_known(
                    cost, ev, wealth[p], eta, low, high, kept, tags[x], known[x]
                )
                evaluations += computed
            else:
                best, index, at_low, at_high = best_between(cost, wealth[p], ev, eta, low, high)
                evaluations += high - low + 1
            if index < 0:
                return False, evaluations
            if index != policy[p]:
                policy[p] = index
                moved[p] = number
                changes += 1
            value[p] = best
            # Nothing is allowed beyond an end that is a bound.
            margins[0, p] = best - at_low if low > least[p] else np.inf
            margins[1, p] = best - at_high if high < most[p] else np.inf
        if number >= 2 and changes == 0:
            return True, evaluations
    return False, evaluations


@njit(cache=True)
def _begin(number_of: Indexes, wanted: Indexes, rows: NDArray[Any], least: Indexes, most: Indexes) -> Indexes:
    """``wanted`` as a policy that does not fall and is allowed."""
    policy = np.empty(rows.size, np.int32)
    before = 0
    for p in range(rows.size):
        old = wanted[rows[p]]
        number = number_of[old] if 0 <= old < number_of.size else -1
        before = min(max(before, number, least[p]), most[p])
        policy[p] = before
    return policy


@njit(cache=True)
def _in_order(
    cost: Array, ev: Array, wealth: Array, eta: float, free: bool, noise: float, first: Indexes, last: Indexes,
    whole: bool, kept: Indexes, tags: Indexes, known: Array, wanted: Indexes, far: bool, doubts: bool,
    value: Array, policy: Indexes, slack: Array,
) -> tuple[int, bool, bool, bool]:  # fmt: skip
    """Fill ``value``, ``policy`` and ``slack``, ``(N_k,)``, of numbered candidates.

    Returns evaluations, whether it divided, whether most choices moved, and whether the outcome is proven: not so where
    roundings and overflows leave no policy that is allowed and does not fall.
    """
    rows, least, most = rows_in_order(cost, wealth, first, last, kept, free, whole)
    if rows.size < wealth.size:
        value[:] = -np.inf
        policy[:] = -1
        slack[:] = 0.0
    if rows.size == 0:
        return 0, False, far, True
    price, promise, cash = cost[kept], ev[kept], wealth[rows]
    number_of = np.full(cost.size, -1, np.int32)
    for k in range(kept.size):
        number_of[kept[k]] = k
    chosen = _begin(number_of, wanted, rows, least, most)
    best, margins = np.empty(rows.size), np.empty((2, rows.size))
    proof, evaluations = False, 0
    if not far:
        proof, evaluations = _repair(
            price, promise, cash, eta, least, most, ROUNDS, rows, kept, tags, known, chosen, best, margins
        )
    divided = not proof
    if divided:
        evaluations += divide(price, promise, cash, eta, least, most, chosen, best)
        # Rows whose every utility overflows have no choice either.
        some = chosen >= 0
        rows, least, most, cash, best = rows[some], least[some], most[some], cash[some], best[some]
        value[:] = -np.inf
        policy[:] = -1
        slack[:] = 0.0
        # What `divide` found does not fall but for roundings next to such rows.
        chosen = _begin(np.arange(kept.size).astype(np.int32), chosen[some], np.arange(rows.size), least, most)
        margins = np.empty((2, rows.size))
        # It ends: a move raises an objective, or lowers the number of an equal one. Should that ever take longer than
        # it may by roundings, nothing is proven.
        limit = 4 * rows.size + 16
        proof, more = _repair(
            price, promise, cash, eta, least, most, limit, rows, kept, tags, known, chosen, best, margins
        )
        evaluations += more
    moved = 0
    for p in range(rows.size):
        value[rows[p]] = best[p]
        policy[rows[p]] = kept[chosen[p]]
        moved += policy[rows[p]] != wanted[rows[p]]
    if doubts:
        found = np.empty(rows.size)
        row_slack(promise, eta, noise, best, chosen, margins, found)
        slack[rows] = found
    return evaluations, divided, FAR * moved > rows.size, proof


@njit(cache=True)
def _in_full(
    cost: Array, ev: Array, wealth: Array, eta: float, free: bool, noise: float, low: Indexes, high: Indexes,
    value: Array, policy: Indexes, slack: Array,
) -> int:  # fmt: skip
    """Search every candidate in bounds of every row: evaluations."""
    evaluations = 0
    power = DOUBLE * (abs(1.0 - eta) + 4.0)
    least, most = ev.min(), ev.max()
    for x in range(wealth.size):
        best = -np.inf
        index = -1
        for i in range(low[x], high[x] + 1):
            if free or cost[i] < wealth[x]:
                objective = crra(wealth[x] - cost[i], eta) + ev[i]
                evaluations += 1
                if objective > best:
                    best = objective
                    index = i
        value[x] = best
        policy[x] = index
        slack[x] = noise + power * max(abs(best - least), abs(best - most)) if index >= 0 else 0.0
    return evaluations


@njit(cache=True)
def forced_utility(cost: Array, wealth: Array, eta: float, free: bool, only: Indexes, utility: Array) -> int:
    """Utilities of the only ``x'`` that each row is allowed, ``-inf`` where it cannot be afforded: evaluations."""
    evaluations = 0
    for x in range(wealth.size):
        utility[x] = -np.inf
        if free or cost[only[x]] < wealth[x]:
            utility[x] = crra(wealth[x] - cost[only[x]], eta)
            evaluations += 1
    return evaluations


@njit(cache=True)
def forced(
    utility: Array, ev: Array, eta: float, noise: float, only: Indexes, least: float, most: float, doubts: bool,
    value: Array, policy: Indexes, slack: Array,
) -> None:  # fmt: skip
    """The only ``x'`` that each row is allowed; ``least`` and ``most`` bound ``ev``, other arguments as elsewhere."""
    for x in range(utility.size):
        value[x] = utility[x] + ev[only[x]]
        policy[x] = only[x] if value[x] > -np.inf else -1
    if doubts:
        power = DOUBLE * (abs(1.0 - eta) + 4.0)
        for x in range(utility.size):
            slack[x] = 0.0
            if policy[x] >= 0:
                slack[x] = noise + power * max(abs(value[x] - least), abs(value[x] - most))


@njit(cache=True)
def searched(
    cost: Array, ev: Array, wealth: Array, eta: float, free: bool, noise: float, low: Indexes, high: Indexes,
    first: Indexes, last: Indexes, whole: bool, tags: Indexes, known: Array,
    wanted: Indexes, far: bool, doubts: bool, value: Array, policy: Indexes, slack: Array,
) -> tuple[int, int, int, bool]:  # fmt: skip
    """Maximise every row over what it is allowed, and prove it.

    Parameters
    ----------
    cost, ev, wealth
        ``(N_k,)``, ``float64``: ``G[x']`` and the expectation of ``x'``; wealth by ``x``.
    noise
        What ``ev`` may be off by.
    low, high, first, last
        ``(N_k,)``, ``int32``: bounds, and their :func:`~beltline.gpu_ref.general.candidates.windows`.
    whole
        Whether every row is allowed every candidate.
    tags, known
        ``(N_k, 4)``: utilities of the same ``cost`` and ``wealth`` that a sweep before has left, and the ``x'`` that
        they are of. Empty: none are kept.
    wanted
        ``(N_k,)``, ``int32``: choices to begin from.
    far
        Whether ``wanted`` is likely to be far from what is found, so that divide and conquer begins.
    doubts
        Whether ``slack`` is asked for.
    value, policy, slack
        ``(N_k,)``: what is found, as of :class:`~beltline.gpu_ref.general.sweep.Swept`.

    Returns
    -------
    evaluations, divided, in_full, far
        Utilities that were computed; whether it divided; whether it searched in full; whether so many choices moved
        that the next sweep may find as many.
    """
    kept, order = numbered(cost, ev, first, last, free, whole)
    evaluations = 0
    divided = proof = False
    if order != UNORDERED:
        evaluations, divided, far, proof = _in_order(
            cost,
            ev,
            wealth,
            eta,
            free,
            noise,
            first,
            last,
            whole,
            kept,
            tags,
            known,
            wanted,
            far,
            doubts,
            value,
            policy,
            slack,
        )
        if order == BY_COST:
            slack += 2.0 * noise
    if not proof:
        evaluations += _in_full(cost, ev, wealth, eta, free, noise, low, high, value, policy, slack)
    return evaluations, int(divided), int(not proof), far
