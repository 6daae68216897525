"""Maximise one alternative in one exogenous state exactly, starting from any policy, without concavity.

Candidates are numbered such that cost does not fall along the numbers (:mod:`beltline.gpu_ref.general.candidates`). Row
``x`` may choose the numbers from ``a(x)`` to ``b(x)``, which combine the bounds with what is affordable; neither end
falls in ``x``. Write ``O(x, i)`` for the objective of number ``i`` in row ``x``.

*Theorem.* Let a policy ``g`` be allowed and not fall in ``x``. If ``g(x)`` is the lowest maximiser of ``O(x, .)``
between ``max(a(x), g(x-1))`` and ``min(b(x), g(x+1))`` for every row that has a choice, then ``g(x)`` is the lowest
maximiser between ``a(x)`` and ``b(x)``, for every ``x``.

*Proof.* By induction along the rows that have a choice, as in :mod:`beltline.gpu_ref.brackets`. In the first row, and
for ``i >= g(x-1)``, no ``i < g(x)`` is as good as ``g(x)`` by assumption. Let ``i`` be allowed at ``x`` with ``i <
g(x-1)``.

1. ``i`` is allowed at ``x-1``, since ``a(x-1) <= a(x) <= i < g(x-1) <= b(x-1)``. There it is worse than ``g(x-1)``, by
   induction.
2. ``g(x-1)`` is allowed at ``x``, since ``a(x) <= i < g(x-1) <= g(x) <= b(x)``. By increasing differences
   (:mod:`beltline.gpu_ref.exact`), ``i`` is worse than ``g(x-1)`` at ``x``, too.
3. ``g(x-1)`` is in the bracket of ``x``, so it is no better than ``g(x)``.

Hence ``i`` is worse than ``g(x)``. For ``i > g(x)`` the same argument runs from the last row to the first. If a utility
overflows to minus infinity, so do those of all candidates that cost more, so overflow acts like an upper bound on what
is affordable.

With ``eta = 0`` and negative consumption allowed, the difference of two objectives does not depend on ``x``. The
theorem then holds for any order of the candidates, also for that by ``x'``, in which the bounds are intervals.

*Rounding.* :func:`beltline.gpu_ref.brackets.row_slack` bounds the effect of rounded objectives. Where dominated
candidates were removed, two expectations were compared, and the rounding of both is added.

Exogenous states run in parallel, the rows of one of them one after the other in a fixed order, so every bit of the
result is the same on any number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.brackets import best_between, row_slack
from beltline.gpu_ref.general.candidates import BY_COST, UNORDERED, Indexes, numbered, rows_in_order
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra, power_error

FAR = 1.0
"""If choices change by more than this number of points on average, the next sweep starts with divide and conquer."""

ROUNDS = 24
"""Number of half-rounds (odd rows, then even rows) before divide and conquer takes over."""


@njit(cache=True)
def _best_cached(
    cost: Array, ev: Array, wealth: float, eta: float, low: int, high: int,
    remaining: Indexes, tags: Indexes, cached: Array,
) -> tuple[float, int, float, float, int]:  # fmt: skip
    """Find the best of at most four candidates with cached utilities; as :func:`best_between`.

    The last result is the number of utilities that had to be computed.

    ``cached``, ``(4,)``, holds utilities that earlier sweeps computed in this row, and ``tags``, ``(4,)``, the ``x'``
    to which they belong.
    """
    best = first = last = -np.inf
    index = -1
    computed = 0
    for i in range(low, high + 1):
        place = remaining[i] & 3
        if tags[place] != remaining[i]:
            tags[place] = remaining[i]
            cached[place] = crra(wealth - cost[i], eta)
            computed += 1
        last = cached[place] + ev[i]
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
    """Search all rows by divide and conquer on the monotone policy; return the number of evaluations.

    Level by level as in :mod:`beltline.gpu_ref.exact`: a row is searched between the choices of the nearest rows that
    earlier levels have solved.
    """
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
                # The choices on both sides cross because of rounding, at near ties: search all that is allowed.
                low, high = least[row], most[row]
            value[row], policy[row], _, _ = best_between(cost, wealth[row], ev, eta, low, high)
            evaluations += high - low + 1
        step //= 2
    return evaluations


@njit(cache=True)
def _repair(
    cost: Array, ev: Array, wealth: Array, eta: float, least: Indexes, most: Indexes, limit: int,
    rows: Indexes, remaining: Indexes, tags: Indexes, cached: Array, policy: Indexes, value: Array, margins: Array,
) -> tuple[bool, int]:  # fmt: skip
    """Maximise rows over their brackets until no choice changes.

    Rounds alternate between odd and even rows. From the third round on, a row is maximised only if the choice of a
    neighbour changed in the round before.

    Parameters
    ----------
    cost, ev
        ``(n,)``, ``float64``: cost and expectation by number.
    wealth, least, most
        ``(rows,)``: cash on hand, and the lowest and highest allowed number, of the rows that have a choice.
    limit
        Largest number of rounds.
    rows, remaining, tags, cached
        Indexes of these rows; the ``x'`` of each number; cached utilities by row, ``(N_k, 4)`` or empty.
    policy
        ``(rows,)``: numbers to start from, which must not fall and must be allowed; the result is written here.
    value, margins
        ``(rows,)`` and ``(2, rows)``: receive the maximum, and by how much it exceeds the objectives of the lower and
        the upper neighbour's choice.

    Returns
    -------
    proven, evaluations
        Whether a round without changes was reached within ``limit``, so that the theorem applies; the number of
        utilities computed. Nothing is proven if a bracket has no finite objective.
    """
    count = wealth.size
    moved = np.zeros(count, np.int32)
    evaluations = 0
    use_cache, slow = tags.shape[0] > 0, eta != 0.0 and eta != 2.0
    for number in range(1, limit + 1):
        changes = 0
        for p in range(number % 2, count, 2):
            if number > 2 and not (
                (p > 0 and moved[p - 1] == number - 1) or (p + 1 < count and moved[p + 1] == number - 1)
            ):
                continue
            low = max(least[p], policy[p - 1]) if p > 0 else least[p]
            high = min(most[p], policy[p + 1]) if p + 1 < count else most[p]
            if use_cache and high - low < 4:
                x = rows[p]
                best, index, at_low, at_high, computed = _best_cached(
                    cost, ev, wealth[p], eta, low, high, remaining, tags[x], cached[x]
                )
                evaluations += computed
            elif high - low > 2 or slow:
                best, index, at_low, at_high = best_between(cost, wealth[p], ev, eta, low, high)
                evaluations += high - low + 1
            else:
                # Without a branch, since the next one depends on the data: three divisions take less than a branch
                # that the processor guesses wrong.
                middle = min(low + 1, high)
                at_low = crra(wealth[p] - cost[low], eta) + ev[low]
                inside = crra(wealth[p] - cost[middle], eta) + ev[middle]
                at_high = crra(wealth[p] - cost[high], eta) + ev[high]
                better = inside > at_low
                best, index = inside if better else at_low, middle if better else low
                better = at_high > best
                best, index = at_high if better else best, high if better else index
                index = index if best > -np.inf else -1
                evaluations += high - low + 1
            if index < 0:
                return False, evaluations
            if index != policy[p]:
                policy[p] = index
                moved[p] = number
                changes += 1
            value[p] = best
            # If the bracket ends at a bound, no candidate is allowed beyond it.
            margins[0, p] = best - at_low if low > least[p] else np.inf
            margins[1, p] = best - at_high if high < most[p] else np.inf
        if number >= 2 and changes == 0:
            return True, evaluations
    return False, evaluations


@njit(cache=True)
def _feasible_policy(number_of: Indexes, guess: Indexes, rows: NDArray[Any], least: Indexes, most: Indexes) -> Indexes:
    """Turn ``guess``, indexes of ``x'`` by row, into a policy of numbers that is allowed and does not fall."""
    policy = np.empty(rows.size, np.int32)
    before = 0
    for p in range(rows.size):
        old = guess[rows[p]]
        number = number_of[old] if 0 <= old < number_of.size else -1
        before = min(max(before, number, least[p]), most[p])
        policy[p] = before
    return policy


@njit(cache=True)
def _in_order(
    cost: Array, ev: Array, wealth: Array, eta: float, negative: bool, ev_error: float, first: Indexes, last: Indexes,
    all_allowed: bool, remaining: Indexes, tags: Indexes, cached: Array, guess: Indexes, many_moved: bool,
    with_slack: bool, value: Array, policy: Indexes, slack: Array,
) -> tuple[int, bool, bool, bool]:  # fmt: skip
    """Fill ``value``, ``policy`` and ``slack``, ``(N_k,)``, by a search of numbered candidates.

    First come a few rounds of :func:`_repair` from the guess, unless ``many_moved``. If they do not finish,
    :func:`divide` finds another policy to start from.

    Returns
    -------
    evaluations, divided, many_moved, proven
        Number of utilities computed; whether divide and conquer was used; whether choices moved :data:`FAR`; whether
        the outcome is proven. It is not if rounding and overflow leave no policy that is allowed and does not fall.
    """
    rows, least, most = rows_in_order(cost, wealth, first, last, remaining, negative, all_allowed)
    if rows.size < wealth.size:
        value[:] = -np.inf
        policy[:] = -1
        slack[:] = 0.0
    if rows.size == 0:
        return 0, False, many_moved, True
    price, continuation, cash = cost[remaining], ev[remaining], wealth[rows]
    number_of = np.full(cost.size, -1, np.int32)
    for k in range(remaining.size):
        number_of[remaining[k]] = k
    chosen = _feasible_policy(number_of, guess, rows, least, most)
    best, margins = np.empty(rows.size), np.empty((2, rows.size))
    proof, evaluations = False, 0
    if not many_moved:
        proof, evaluations = _repair(
            price, continuation, cash, eta, least, most, ROUNDS, rows, remaining, tags, cached, chosen, best, margins
        )
    divided = not proof
    if divided:
        evaluations += divide(price, continuation, cash, eta, least, most, chosen, best)
        # Rows in which every utility overflows have no choice either.
        some = chosen >= 0
        rows, least, most, cash, best = rows[some], least[some], most[some], cash[some], best[some]
        value[:] = -np.inf
        policy[:] = -1
        slack[:] = 0.0
        # The policy that `divide` found does not fall, except for rounding next to such rows.
        same_numbers = np.arange(remaining.size).astype(np.int32)
        chosen = _feasible_policy(same_numbers, chosen[some], np.arange(rows.size), least, most)
        margins = np.empty((2, rows.size))
        # The rounds end: each change raises a row's objective, or lowers its number at an equal one. If rounding ever
        # made them exceed the limit, nothing would be proven.
        limit = 4 * rows.size + 16
        proof, more = _repair(
            price, continuation, cash, eta, least, most, limit, rows, remaining, tags, cached, chosen, best, margins
        )
        evaluations += more
    moved = 0
    for p in range(rows.size):
        value[rows[p]] = best[p]
        policy[rows[p]] = remaining[chosen[p]]
        moved += abs(policy[rows[p]] - guess[rows[p]]) if guess[rows[p]] >= 0 else 0
    if with_slack:
        found = np.empty(rows.size)
        row_slack(continuation, eta, ev_error, best, chosen, margins, found)
        slack[rows] = found
    return evaluations, divided, moved > FAR * rows.size, proof


@njit(cache=True)
def _in_full(
    cost: Array, ev: Array, wealth: Array, eta: float, negative: bool, ev_error: float, low: Indexes, high: Indexes,
    value: Array, policy: Indexes, slack: Array,
) -> int:  # fmt: skip
    """Fill ``value``, ``policy`` and ``slack`` by evaluating every candidate in bounds of every row; return
    evaluations.
    """
    evaluations = 0
    power = power_error(eta)
    least, most = ev.min(), ev.max()
    for x in range(wealth.size):
        best = -np.inf
        index = -1
        for i in range(low[x], high[x] + 1):
            if negative or cost[i] < wealth[x]:
                objective = crra(wealth[x] - cost[i], eta) + ev[i]
                evaluations += 1
                if objective > best:
                    best = objective
                    index = i
        value[x] = best
        policy[x] = index
        slack[x] = ev_error + power * max(abs(best - least), abs(best - most)) if index >= 0 else 0.0
    return evaluations


@njit(cache=True)
def forced_utility(cost: Array, wealth: Array, eta: float, negative: bool, only: Indexes, utility: Array) -> int:
    """Fill the utility of the only ``x'`` allowed in each row, ``-inf`` if it is not affordable; return evaluations."""
    evaluations = 0
    for x in range(wealth.size):
        utility[x] = -np.inf
        if negative or cost[only[x]] < wealth[x]:
            utility[x] = crra(wealth[x] - cost[only[x]], eta)
            evaluations += 1
    return evaluations


@njit(cache=True)
def forced(
    utility: Array, ev: Array, eta: float, ev_error: float, only: Indexes, least: float, most: float, with_slack: bool,
    value: Array, policy: Indexes, slack: Array,
) -> None:  # fmt: skip
    """Fill ``value``, ``policy`` and ``slack`` of rows in which only one ``x'`` is allowed.

    ``least`` and ``most`` bound ``ev`` from below and above; other arguments as for :func:`searched`.
    """
    for x in range(utility.size):
        value[x] = utility[x] + ev[only[x]]
        policy[x] = only[x] if value[x] > -np.inf else -1
    if with_slack:
        power = power_error(eta)
        for x in range(utility.size):
            slack[x] = 0.0
            if policy[x] >= 0:
                slack[x] = ev_error + power * max(abs(value[x] - least), abs(value[x] - most))


@njit(cache=True)
def searched(
    cost: Array, ev: Array, wealth: Array, eta: float, negative: bool, ev_error: float, low: Indexes, high: Indexes,
    first: Indexes, last: Indexes, all_allowed: bool, tags: Indexes, cached: Array,
    guess: Indexes, many_moved: bool, with_slack: bool, value: Array, policy: Indexes, slack: Array,
) -> tuple[int, int, int, bool]:  # fmt: skip
    """Maximise every row over the candidates that it is allowed, and prove the result.

    Parameters
    ----------
    cost, ev, wealth
        ``(N_k,)``, ``float64``: cost ``G[x']`` and discounted expectation by candidate; cash on hand by row.
    eta, negative
        Curvature of utility; whether consumption may be negative (with ``eta = 0``).
    ev_error
        Bound on the rounding error of ``ev``, units of utility.
    low, high, first, last
        ``(N_k,)``, ``int32``: bounds, and their :func:`~beltline.gpu_ref.general.candidates.windows`.
    all_allowed
        Whether every row may choose every candidate.
    tags, cached
        ``(N_k, 4)``: utilities that earlier sweeps computed for the same ``cost`` and ``wealth``, and the ``x'`` to
        which they belong. Empty arrays switch the cache off.
    guess
        ``(N_k,)``, ``int32``: policy to start from.
    many_moved
        Whether the result is likely to be far from ``guess``, so that the search starts with divide and conquer.
    with_slack
        Whether to fill ``slack``.
    value, policy, slack
        ``(N_k,)``: receive the result, as described for :class:`~beltline.gpu_ref.general.sweep.Swept`.

    Returns
    -------
    evaluations, divided, in_full, many_moved
        Number of utilities computed; 1 if divide and conquer was used; 1 if searched in full; whether more choices
        moved than :data:`FAR` on average.
    """
    remaining, order = numbered(cost, ev, first, last, negative, all_allowed)
    evaluations = 0
    divided = proof = False
    if order != UNORDERED:
        evaluations, divided, many_moved, proof = _in_order(
            cost,
            ev,
            wealth,
            eta,
            negative,
            ev_error,
            first,
            last,
            all_allowed,
            remaining,
            tags,
            cached,
            guess,
            many_moved,
            with_slack,
            value,
            policy,
            slack,
        )
        if order == BY_COST:
            slack += 2.0 * ev_error
    if not proof:
        evaluations += _in_full(cost, ev, wealth, eta, negative, ev_error, low, high, value, policy, slack)
    return evaluations, int(divided), int(not proof), many_moved
