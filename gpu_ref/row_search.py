"""Search of one exogenous state's row, or a piece of it: a guess for every state, then the proof of all of them.

The guess is the choice of the last sweep, moved as far as the choice of the neighbouring state has moved, and a local
search from there. A poor guess costs time and changes no result. The proof is that of
:mod:`beltline.gpu_ref.brackets`: every choice must be the best between those of its neighbours. Where one is not, it is
replaced by the best, and its neighbours are tried again, until no choice moves.

Three things save time:

- The utilities of a choice and of the candidates on either side of it are cached. While the choice stays, a state takes
  three additions and two comparisons. Where both neighbours' choices lie within one point of it, that is the proof.
- For a wider bracket, the best of the candidates farther off, the *rival*, is cached with its utility, and compared in
  every sweep. Of the others, the margin is cached by which the choice has beaten them. From one sweep to the next, an
  objective gains on another at most the spread of the changes of ``EV`` in the bracket. A *clock* adds these spreads up
  (:mod:`beltline.gpu_ref.window_clocks`). Until it reaches the margin (:func:`_until`), none of the others can win, and
  none is evaluated.
- Rows are proven in groups (:mod:`beltline.gpu_ref.proven_groups`). While no choice of a group or next to it moves, no
  row of it is looked at until the clock of the smallest window that contains all its brackets has passed the smallest
  of these margins, that over the rival included.

``EV`` has a spare word at either end, here and below, so that the first and the last choice have neighbours, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit_inlined, njit_uncounted
from beltline.gpu_ref.proven_groups import GROUP, disturb
from beltline.gpu_ref.tables import Array, feasible
from beltline.gpu_ref.utility import crra
from beltline.gpu_ref.window_clocks import window

Indexes = NDArray[np.int32]

WORTH = 12
"""Average number of candidates per row after which the proof gives up, because divide and conquer is faster."""

ROUNDING = 2.0**-40
"""Generous bound on the relative rounding error of a margin and of a clock."""


CLOSE, FAR, FALLING = 0, 1, 2
"""Shape of a guessed policy: each choice equals that of the state below or is the next one, which proves all states
between two others; some choice is farther above; some choice is lower."""

KNOWN, STAYED, MOVED, FAILED = 0, 1, 2, 3
"""Outcome of a proof: cached margins sufficed for every row; brackets were searched and no choice moved; a choice
moved; the proof was given up."""


class Cached(NamedTuple):
    """What sweeps cache of ``n`` neighbouring states of one exogenous state; the module explains the terms.

    Attributes
    ----------
    policy
        ``(n,)``, ``int32``: index of each state's choice; -1 if it can afford nothing.
    below, here, above
        ``(n,)``: utilities of the candidate below the choice, of the choice, and of the candidate above it; ``-inf``
        where that candidate does not exist or is not affordable.
    until
        ``(n,)``: the value of the clock of the window from ``low`` to ``high`` up to which no candidate in it can win,
        apart from the choice, its two neighbours and the rival. Present rounding errors come on top.
    low, high
        ``(n,)``, ``int32``: first and last candidate that ``until`` covers.
    """

    policy: Indexes
    below: Array
    here: Array
    above: Array
    until: Array
    low: Indexes
    high: Indexes


@njit_inlined
def utility(wealth: float, choice: float, eta: float) -> float:
    """Return CRRA utility of consumption ``wealth - choice``, or minus infinity if that is not positive."""
    if choice < wealth:
        return crra(wealth - choice, eta)
    return -np.inf


@njit_inlined
def local_search(X: Array, wealth: float, eta: float, ev: Array, p: int) -> tuple[int, float, float, float, float]:
    """Search locally from candidate ``p`` for a local maximum, of equal neighbours the lowest.

    Returns its index, the utilities of the candidate below it, of itself and of the candidate above it, and its
    objective.
    """
    here = utility(wealth, X[p], eta)
    best = here + ev[p + 1]
    above = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    below = -np.inf
    known = False
    while above + ev[p + 2] > best:
        below, here, known = here, above, True
        p += 1
        best = here + ev[p + 1]
        above = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    if not known:
        below = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
        while p > 0 and not best > below + ev[p]:
            above, here = here, below
            p -= 1
            best = here + ev[p + 1]
            below = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
    return p, below, here, above, best


@njit_uncounted
def bisect(X: Array, wealth: float, eta: float, ev: Array) -> int:
    """Return a local maximum by bisection on whether the next candidate is better.

    If the objective has one peak, it is the lowest maximiser.
    """
    low = 0
    high = max(feasible(X, wealth) - 1, 0)
    while low < high:
        middle = (low + high) // 2
        if utility(wealth, X[middle + 1], eta) + ev[middle + 2] > utility(wealth, X[middle], eta) + ev[middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low


@njit_inlined
def _until(clock: float, best: float, rival: float) -> float:
    """Return the value of the clock before which objective ``rival`` cannot reach objective ``best``.

    Pass an infinite ``rival`` if its objective is unknown.
    """
    if rival == -np.inf:
        return np.inf
    if not rival < best:
        return -np.inf
    return clock + (best - rival) - ROUNDING * (abs(best) + abs(rival) + clock)


@njit_inlined
def _lose(clock: float, until: float, best: float) -> bool:
    """Return whether no rival can reach a choice of objective ``best`` whose margin ends at ``until``.

    Objectives may have grown since the margin was computed, so their present rounding is taken into account.
    """
    return clock + ROUNDING * abs(best) < until


@njit_uncounted
def guessed_row(
    X: Array, W: Array, eta: float, ev: Array, clocks: Array, cached: Cached, before: Array, value: Array, quiet: Array
) -> tuple[int, float, float]:
    """Guess the choice of every state of a piece, and write the objectives of the choices into ``value``.

    Where a choice moves, ``quiet`` is reset (:func:`~beltline.gpu_ref.proven_groups.disturb`). Returns how many choices
    moved, and the least and the largest change from ``before``, as :func:`changes` returns them.
    """
    policy, below, here, above, until, lowest, highest = cached
    drift = moved = 0
    neighbour, last = policy[0], X.size - 1
    least, most = np.inf, -np.inf
    for i in range(value.size):
        p = policy[i]
        best = here[i] + ev[p + 1]
        under, over = below[i] + ev[p], above[i] + ev[p + 2]
        if best >= over and best > under:
            drift = 0
        else:
            wealth = W[i]
            start = bisect(X, wealth, eta, ev) if i == 0 else max(neighbour, min(p + drift, last), 0)
            q, below[i], here[i], above[i], best = local_search(X, wealth, eta, ev, start)
            if q != p and until[i] > -np.inf:
                # Candidates beyond these, where the choice may have gone, are in another window.
                within = lowest[i] <= q <= highest[i]
                clock = clocks[0] + clocks[window(X.size, lowest[i], highest[i])]
                lost = under if q == p + 1 and p >= 0 else over if q == p - 1 else np.inf
                until[i] = min(until[i], _until(clock, best, lost)) if within else -np.inf
            drift = q - p
            if best == -np.inf:
                q = -1
                here[i] = -np.inf
            if q != p:
                moved += 1
                disturb(quiet, value.size, i)
            policy[i] = p = q
        neighbour = p
        change = best - before[i]
        least = change if change < least else least
        most = change if change > most else most
        value[i] = best
    return moved, least, most


@njit_uncounted
def shape(policy: Indexes) -> int:
    """Return the shape of a guessed policy, ``(n,)``: :data:`CLOSE`, :data:`FAR` or :data:`FALLING`."""
    least = most = 0
    for i in range(1, policy.size):
        step = policy[i] - policy[i - 1]
        least, most = min(least, step), max(most, step)
    return FALLING if least < 0 else FAR if most > 1 else CLOSE


@njit_uncounted
def cache_row(X: Array, W: Array, eta: float, cached: Cached) -> None:
    """Cache the utilities of choices that another search has found, and of the candidates on either side."""
    policy, below, here, above, until, _, _ = cached
    for i in range(policy.size):
        p = policy[i]
        here[i] = utility(W[i], X[p], eta) if p >= 0 else -np.inf
        below[i] = utility(W[i], X[p - 1], eta) if p > 0 else -np.inf
        above[i] = utility(W[i], X[p + 1], eta) if 0 <= p < X.size - 1 else -np.inf
        until[i] = -np.inf


@njit_inlined
def beside(X: Array, wealth: float, eta: float, p: int) -> tuple[float, float, float]:
    """Return the utilities of the candidate below choice ``p``, of the choice, and of the candidate above it."""
    below = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
    above = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    return below, utility(wealth, X[p], eta), above


@njit_uncounted
def choose(X: Array, wealth: float, eta: float, cached: Cached, i: int, p: int) -> None:
    """Set the choice of state ``i`` to ``p`` and cache its utilities, without any margin over its rivals."""
    cached.policy[i], cached.until[i] = p, -np.inf
    cached.below[i], cached.here[i], cached.above[i] = beside(X, wealth, eta, p)


@njit_inlined
def _loses(rival: int, objective: float, p: int, best: float) -> bool:
    """Return whether candidate ``rival`` loses to choice ``p``; of two that tie, the lower index wins."""
    return objective < best or (objective == best and rival > p)


@njit_inlined
def stays(
    p: int, low: int, high: int, under: float, best: float, over: float, clock: float, until: float,
    lowest: int, highest: int, rival: int, its: float,
) -> bool:  # fmt: skip
    """Return whether cached values prove choice ``p`` to be the best candidate from ``low`` to ``high``.

    ``under``, ``best``, ``over`` and ``its`` are the objectives of the candidate below, of the choice, of the candidate
    above, and of ``rival``; ``clock`` is that of the window from ``lowest`` to ``highest``.
    """
    if not low <= p <= high or (high > p and over > best) or (low < p and under >= best):
        return False
    compared = lowest <= low and high <= highest and _lose(clock, until, best) and _loses(rival, its, p, best)
    return compared or (low >= p - 1 and high <= p + 1)


@njit_inlined
def _compare(
    X: Array, wealth: float, eta: float, ev: Array, clocks: Array, p: int, best: float, until: float, lowest: int,
    highest: int, rival: int, known: float, low: int, high: int,
) -> tuple[bool, float, int, int, int, float]:  # fmt: skip
    """Compare choice ``p`` with the candidates from ``low`` to ``high``, except the two next to it.

    Evaluates only candidates that the cached margin does not exclude. Returns whether all of them lose, followed by the
    new ``until``, ``lowest``, ``highest``, ``rival`` and the rival's utility.
    """
    clock = clocks[0] + clocks[window(X.size, lowest, highest)]
    first, at, its = known + ev[rival + 1], rival, known
    left = until - clock
    carried = lowest <= p <= highest and _lose(clock, until, best) and first < best
    if carried:
        begin, end = min(lowest, p - 1), max(highest, p + 1)
        lowest, highest = min(low, lowest), max(high, highest)
    else:
        begin, end, first, at, its = p - 1, p + 1, -np.inf, 0, -np.inf
        lowest, highest = low, high
    second = -np.inf
    lose = True
    for q in range(low, begin):
        u = utility(wealth, X[q], eta)
        objective = u + ev[q + 1]
        lose &= objective < best
        lesser = objective if objective < first else first
        second = lesser if lesser > second else second
        if objective > first:
            first, at, its = objective, q, u
    for q in range(end + 1, high + 1):
        u = utility(wealth, X[q], eta)
        if u == -np.inf:
            break
        objective = u + ev[q + 1]
        lose &= objective <= best
        lesser = objective if objective < first else first
        second = lesser if lesser > second else second
        if objective > first:
            first, at, its = objective, q, u
    clock = clocks[0] + clocks[window(X.size, lowest, highest)]
    until = _until(clock, best, second)
    if carried:
        # The rest of the old margin also holds in the larger window.
        until = min(until, (clock + left) * (1.0 - ROUNDING))
    return lose, until, lowest, highest, at, its


@njit_uncounted
def settle(
    X: Array, wealth: float, eta: float, ev: Array, clocks: Array, p: int, below: float, here: float, above: float,
    until: float, lowest: int, highest: int, rival: int, known: float, low: int, high: int,
) -> tuple[int, float, int, int, int, float]:  # fmt: skip
    """Return the best candidate from ``low`` to ``high`` for a state whose choice is ``p``, and what to cache then.

    The cached values are ``until``, ``lowest``, ``highest``, ``rival`` and the rival's utility. If ``low > high``,
    which happens while neighbours are being corrected, the state takes the choice of the state below. Cached values
    are passed one by one because Numba counts references whenever an array is taken out of a tuple.
    """
    if low > p or low > high:
        return low, -np.inf, lowest, highest, 0, -np.inf
    under, best, over = below + ev[p], here + ev[p + 1], above + ev[p + 2]
    beside_lose = not ((high > p and over > best) or (low < p and under >= best))
    if low < p - 1 or high > p + 1:
        clock, top = clocks[0] + clocks[window(X.size, lowest, highest)], known + ev[rival + 1]
        compared = lowest <= low and high <= highest and _lose(clock, until, best)
        lose = compared and _loses(rival, top, p, best)
        if compared and not lose and beside_lose and low <= rival <= high and rival != p:
            # All others lose to the previous choice, which becomes the rival.
            return rival, min(until, _until(clock, top, max(under, over))), lowest, highest, p, here
        if not lose:
            lose, until, lowest, highest, rival, known = _compare(
                X, wealth, eta, ev, clocks, p, best, until, lowest, highest, rival, known, low, high
            )
        if not lose:
            q, top = rival, known + ev[rival + 1]
            if low < p and _loses(q, top, p - 1, under):
                q, top = p - 1, under
            if high > p and _loses(q, top, p + 1, over):
                q = p + 1
            return q, -np.inf, low, high, 0, -np.inf
    if beside_lose:
        return p, until, lowest, highest, rival, known
    if high > p and over > best and not (low < p and under >= over):
        best, lost, q = over, under, p + 1
    else:
        best, lost, q = under, over, p - 1
    if not lowest <= q <= highest:
        return q, -np.inf, lowest, highest, 0, -np.inf
    clock = clocks[0] + clocks[window(X.size, lowest, highest)]
    return q, min(until, _until(clock, best, lost)), lowest, highest, rival, known


@njit_uncounted
def _made_rising(X: Array, W: Array, eta: float, ev: Array, cached: Cached, value: Array) -> bool:
    """Raise choices so that the policy does not fall.

    Returns false if a state above one that has a choice has none.
    """
    policy, here = cached.policy, cached.here
    before = -1
    for i in range(policy.size):
        if policy[i] < before:
            if policy[i] < 0:
                return False
            choose(X, W[i], eta, cached, i, before)
            value[i] = here[i] + ev[before + 1]
        before = policy[i]
    return True


@njit_uncounted
def proven_row(
    X: Array, W: Array, eta: float, ev: Array, clocks: Array, cached: Cached, guess: int, value: Array,
    rival: Indexes, rivals: Array, quiet: Array, gates: Indexes, listed: NDArray[np.bool_],
) -> tuple[int, int, int]:  # fmt: skip
    """Prove, or correct, the choices of all states of a piece except the first and the last.

    ``guess`` is what :func:`shape` returned. ``rival`` and ``rivals``, ``(n,)``, are each state's rival
    and its utility, 0 and ``-inf`` if it has none. States are visited downwards, then upwards, in turn: first all whose
    bracket contains more than the choice and the candidates next to it, then those whose bracket has grown since.
    ``quiet`` and ``gates``, ``(ceil(n / GROUP),)``, are of each group of states: the proof stays valid until the clock
    of window ``gates`` reaches ``quiet``, as long as none of its choices and of those beside it moves and no objective
    grows. Groups whose proof is valid are not visited, and both arrays are updated for the others. ``listed``,
    ``(n,)``, all false, marks states whose bracket has grown since they were visited.

    Returns the outcome, :data:`KNOWN`, :data:`STAYED` or :data:`MOVED`, or :data:`FAILED` if the work exceeds
    :data:`WORTH` candidates a row; and of the first visits, how many brackets were searched and how many choices moved.
    ``EV`` must be finite, since an infinite ``EV`` bounds no bracket.
    """
    if guess == FALLING:
        quiet[:] = -np.inf
        if not _made_rising(X, W, eta, ev, cached, value):
            return FAILED, 0, 0
    # Numba counts references whenever an array is taken out of a tuple, so this is done once.
    policy, below, here, above, until, lowest, highest = cached
    size, count, left, searched, moved, grid = value.size, 0, WORTH * value.size, 0, 0, X.size
    proof = MOVED if guess == FALLING else KNOWN
    # Downwards, so that a choice that rises makes room for those below it.
    for g in range(quiet.size - 1, -1, -1):
        if clocks[0] + clocks[gates[g]] < quiet[g]:
            continue
        begin, end = max(g * GROUP, 1), min(g * GROUP + GROUP, size - 1)
        following, best, spare, first, last = policy[end], 0.0, np.inf, grid, -1
        for i in range(end - 1, begin - 1, -1):
            p, low, high = policy[i], max(policy[i - 1], 0), following
            following = p
            if p < 0:
                continue
            if guess != FALLING:
                # The guess beats the candidates next to it.
                if high <= p + 1 and low >= p - 1:
                    continue
                best = value[i]
                clock = clocks[0] + clocks[window(grid, lowest[i], highest[i])]
                margin = until[i] - clock - ROUNDING * abs(best)
                objective = rivals[i] + ev[rival[i] + 1]
                if lowest[i] <= low and high <= highest[i] and margin > 0.0 and _loses(rival[i], objective, p, best):
                    spare = min(spare, margin, best - objective - ROUNDING * abs(best))
                    first, last = min(first, lowest[i]), max(last, highest[i])
                    continue
            proof, searched = max(proof, STAYED), searched + 1
            left -= max(high - low, 1)
            lose = False
            if guess != FALLING and low <= p <= high:
                lose, until[i], lowest[i], highest[i], rival[i], rivals[i] = _compare(
                    X, W[i], eta, ev, clocks, p, best, until[i], lowest[i], highest[i], rival[i], rivals[i], low, high
                )
            q = p
            if not lose:
                q, until[i], lowest[i], highest[i], rival[i], rivals[i] = settle(
                    X, W[i], eta, ev, clocks, p, below[i], here[i], above[i], until[i], lowest[i], highest[i],
                    rival[i], rivals[i], low, high,
                )  # fmt: skip
            if q == p:
                clock = clocks[0] + clocks[window(grid, lowest[i], highest[i])]
                margin = min(until[i] - clock, value[i] - (rivals[i] + ev[rival[i] + 1]))
                spare = min(spare, margin - ROUNDING * abs(value[i]))
                first, last = min(first, lowest[i]), max(last, highest[i])
                continue
            proof, policy[i], following, moved, spare = MOVED, q, q, moved + 1, -np.inf
            disturb(quiet, size, i)
            below[i], here[i], above[i] = beside(X, W[i], eta, q)
            value[i] = here[i] + ev[q + 1]
            if value[i] == -np.inf or left < 0:
                return FAILED, 0, 0
            if q < p and i < size - 2:
                listed[i + 1] = True
                count += 1
        gates[g] = window(grid, first, last) if last >= 0 else 0
        quiet[g] = (clocks[0] + clocks[gates[g]] + spare) * (1.0 - ROUNDING)
    upwards = True
    while count:
        left -= size // 8
        for k in range(1, size - 1):
            i = k if upwards else size - 1 - k
            if not listed[i]:
                continue
            listed[i] = False
            count -= 1
            p, low, high = policy[i], max(policy[i - 1], 0), policy[i + 1]
            left -= max(high - low, 1)
            if left < 0:
                return FAILED, 0, 0
            q, until[i], lowest[i], highest[i], rival[i], rivals[i] = settle(
                X, W[i], eta, ev, clocks, p, below[i], here[i], above[i], until[i], lowest[i], highest[i], rival[i],
                rivals[i], low, high,
            )  # fmt: skip
            if q == p:
                continue
            policy[i] = q
            disturb(quiet, size, i)
            below[i], here[i], above[i] = beside(X, W[i], eta, q)
            value[i] = here[i] + ev[q + 1]
            if value[i] == -np.inf:
                return FAILED, 0, 0
            # The bracket of the other neighbour has become smaller.
            grown = i - 1 if q > p else i + 1
            if 0 < grown < size - 1 and policy[grown] >= 0 and not listed[grown]:
                listed[grown] = True
                count += 1
        upwards = not upwards
    return proof, searched, moved


@njit_uncounted
def changes(before: Array, value: Array) -> tuple[float, float]:
    """Return the least and the largest change; differences of equal infinities, which are not numbers, are ignored."""
    least, most = np.inf, -np.inf
    for i in range(value.size):
        change = value[i] - before[i]
        least = change if change < least else least
        most = change if change > most else most
    return least, most
