"""Search of one exogenous state's row, or a piece of it: a guess for every state, then the proof of all of them.

The guess is the choice of the last sweep, moved as far as the choice of the neighbouring state has moved, and a local
search from there. A poor guess costs time and changes no result. The proof is that of
:mod:`beltline.gpu_ref.brackets`: every choice must be the best between those of its neighbours. Where one is not, it is
replaced by the best, and its neighbours are tried again, until no choice moves.

Two things save utilities:

- The utilities of a choice and of the candidates on either side of it are cached. While the choice stays, a state takes
  three additions and two comparisons. Where both neighbours' choices lie within one point of it, that is the proof.
- For a wider bracket, the margin is cached by which the choice has beaten the candidates farther off. From one sweep to
  the next, an objective gains on another at most the spread of the changes of ``EV`` in the bracket. A *clock* adds
  these spreads up (:mod:`beltline.gpu_ref.window_clocks`). Until it reaches the margin (:func:`_until`), none of those
  candidates can win, and none is evaluated.

``EV`` has a spare word at either end, here and below, so that the first and the last choice have neighbours, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.tables import Array, feasible
from beltline.gpu_ref.utility import crra
from beltline.gpu_ref.window_clocks import window

Indexes = NDArray[np.int32]

WORTH = 12
"""Candidates looked at for each row of a piece, on average, after which divide and conquer is quicker."""

ROUNDING = 2.0**-40
"""Share of what a margin is computed from, and of the clock, that may be lost by rounding, generously."""


CLOSE, FAR, FALLING = 0, 1, 2
"""Each choice is that of the state before, or the next above, so that every state between two others is proven; some
choice is farther above; some choice is below."""

KNOWN, STAYED, MOVED, FAILED = 0, 1, 2, 3
"""What a proof has done: no row had to be looked at, no choice moved, some did, or it is none."""


class Cached(NamedTuple):
    """What sweeps cache of a piece of a row; see the module.

    Attributes
    ----------
    policy
        ``(n,)``, ``int32``: the choices; -1 where there is none.
    below, here, above
        ``(n,)``: utilities of the candidate below each choice, of the choice, and of the candidate above it; ``-inf``
        where there is none, or it cannot be afforded.
    until
        ``(n,)``: what the clock of the window from ``low`` to ``high`` shows when a candidate of these that is none of
        the three may win, but for what the objectives are then rounded by.
    low, high
        ``(n,)``, ``int32``.
    """

    policy: Indexes
    below: Array
    here: Array
    above: Array
    until: Array
    low: Indexes
    high: Indexes


@njit(cache=True, inline="always")
def utility(wealth: float, choice: float, eta: float) -> float:
    """CRRA utility of what a choice leaves, minus infinity where that is nothing."""
    if choice < wealth:
        return crra(wealth - choice, eta)
    return -np.inf


@njit(cache=True)
def local_search(X: Array, wealth: float, eta: float, ev: Array, p: int) -> tuple[int, float, float, float]:
    """From choice ``p`` uphill to the lowest of equals: its index, and the utilities below, of and above it."""
    here = utility(wealth, X[p], eta)
    above = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    below = -np.inf
    known = False
    while above + ev[p + 2] > here + ev[p + 1]:
        below, here, known = here, above, True
        p += 1
        above = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    if not known:
        below = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
        while p > 0 and not here + ev[p + 1] > below + ev[p]:
            above, here = here, below
            p -= 1
            below = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
    return p, below, here, above


@njit(cache=True)
def bisect(X: Array, wealth: float, eta: float, ev: Array) -> int:
    """A peak by bisection on whether the next choice is better; the lowest of equals where there is one peak."""
    low = 0
    high = max(feasible(X, wealth) - 1, 0)
    while low < high:
        middle = (low + high) // 2
        if utility(wealth, X[middle + 1], eta) + ev[middle + 2] > utility(wealth, X[middle], eta) + ev[middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, inline="always")
def _until(clock: float, best: float, rival: float) -> float:
    """The clock before which ``rival`` cannot become as good as ``best``; ``rival`` is infinite where nobody knows."""
    if rival == -np.inf:
        return np.inf
    if not rival < best:
        return -np.inf
    return clock + (best - rival) - ROUNDING * (abs(best) + abs(rival) + clock)


@njit(cache=True, inline="always")
def _lose(clock: float, until: float, best: float) -> bool:
    """Whether no rival can even tie, by rounding, with a choice of objective ``best`` whose margin ends at ``until``.

    Objectives may have become far larger than those that the margin was computed from; their present rounding counts.
    """
    return clock + ROUNDING * abs(best) < until


@njit(cache=True)
def guessed_row(
    X: Array, W: Array, eta: float, ev: Array, clocks: Array, cached: Cached, before: Array, value: Array
) -> tuple[int, float, float]:
    """A guess for every state of a piece, whose objectives ``value`` receives.

    Returns :data:`CLOSE`, :data:`FAR` or :data:`FALLING`, and the least and the largest change from ``before``, as of
    :func:`changes`.
    """
    policy, below, here, above, until, lowest, highest = cached
    drift = 0
    neighbour = policy[0]
    far = falling = 0
    least, most = np.inf, -np.inf
    for i in range(value.size):
        p = policy[i]
        best = here[i] + ev[p + 1]
        if best >= above[i] + ev[p + 2] and best > below[i] + ev[p]:
            drift = 0
        else:
            wealth = W[i]
            start = bisect(X, wealth, eta, ev) if i == 0 else max(neighbour, min(p + drift, X.size - 1), 0)
            q, under, at, over = local_search(X, wealth, eta, ev, start)
            lost = np.inf
            if q == p + 1 and p >= 0:
                lost = below[i] + ev[p]
            elif q == p - 1:
                lost = above[i] + ev[p + 2]
            below[i], here[i], above[i] = under, at, over
            best = at + ev[q + 1]
            if q != p and until[i] > -np.inf:
                # Candidates beyond these, where the choice may have gone, are in another window.
                within = lowest[i] <= q <= highest[i]
                clock = clocks[0] + clocks[window(X.size, lowest[i], highest[i])]
                until[i] = min(until[i], _until(clock, best, lost)) if within else -np.inf
            drift = q - p
            p = q
            if best == -np.inf:
                p = -1
                here[i] = -np.inf
            policy[i] = p
        if i > 0:
            far |= p > neighbour + 1
            falling |= p < neighbour
        neighbour = p
        change = best - before[i]
        least = change if change < least else least
        most = change if change > most else most
        value[i] = best
    return FALLING if falling else FAR if far else CLOSE, least, most


@njit(cache=True)
def cache_row(X: Array, W: Array, eta: float, cached: Cached) -> None:
    """Keep the utilities of choices that another search has found, and of the candidates beside them."""
    policy, below, here, above, until, _, _ = cached
    for i in range(policy.size):
        p = policy[i]
        here[i] = utility(W[i], X[p], eta) if p >= 0 else -np.inf
        below[i] = utility(W[i], X[p - 1], eta) if p > 0 else -np.inf
        above[i] = utility(W[i], X[p + 1], eta) if 0 <= p < X.size - 1 else -np.inf
        until[i] = -np.inf


@njit(cache=True, inline="always")
def beside(X: Array, wealth: float, eta: float, p: int) -> tuple[float, float, float]:
    """Utilities of the candidate below choice ``p``, of the choice, and of the candidate above it."""
    below = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
    above = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    return below, utility(wealth, X[p], eta), above


@njit(cache=True)
def choose(X: Array, wealth: float, eta: float, cached: Cached, i: int, p: int) -> None:
    """Let row ``i`` choose ``p``, of whose rivals nothing is known."""
    cached.policy[i], cached.until[i] = p, -np.inf
    cached.below[i], cached.here[i], cached.above[i] = beside(X, wealth, eta, p)


@njit(cache=True)
def _search(
    X: Array, wealth: float, eta: float, ev: Array, p: int, below: float, here: float, above: float,
    low: int, high: int,
) -> tuple[int, float, float]:  # fmt: skip
    """The lowest best choice from ``low`` to ``high``, its objective, and the best of those that lie farther off.

    ``below``, ``here`` and ``above`` are the utilities of ``p`` and the candidates beside it.
    """
    best, at = -np.inf, p
    # The best up to two below, and the one below: what becomes a rival where a better choice is found.
    farther = nearer = rival = -np.inf
    for q in range(low, high + 1):
        if not X[q] < wealth:
            break
        if q == p:
            objective = here + ev[q + 1]
        elif q == p - 1:
            objective = below + ev[q + 1]
        elif q == p + 1:
            objective = above + ev[q + 1]
        else:
            objective = crra(wealth - X[q], eta) + ev[q + 1]
        if objective > best:
            best, at, rival = objective, q, farther
        elif q > at + 1 and objective > rival:
            rival = objective
        farther = max(farther, nearer)
        nearer = objective
    return at, best, rival


@njit(cache=True, inline="always")
def _none_wins(low: int, high: int, best: float, clock: float, until: float, lowest: int, highest: int) -> bool:
    """Whether none from ``low`` to ``high``, but for the two beside the choice, can even tie with it."""
    return lowest <= low and high <= highest and _lose(clock, until, best)


@njit(cache=True, inline="always")
def stays(
    p: int, low: int, high: int, under: float, best: float, over: float, clock: float, until: float,
    lowest: int, highest: int,
) -> bool:  # fmt: skip
    """Whether choice ``p`` is known to be the best from ``low`` to ``high`` by what is cached.

    ``under``, ``best`` and ``over`` are objectives of the candidate below, of the choice, and of the candidate above,
    ``clock`` that of the window from ``lowest`` to ``highest``.
    """
    if not low <= p <= high:
        return False
    if (low < p - 1 or high > p + 1) and not _none_wins(low, high, best, clock, until, lowest, highest):
        return False
    return not ((high > p and over > best) or (low < p and under >= best))


@njit(cache=True)
def _beyond(
    X: Array, wealth: float, eta: float, ev: Array, p: int, best: float, lowest: int, highest: int, low: int, high: int
) -> float:
    """The best candidate from ``low`` to ``high`` beyond those from ``lowest`` to ``highest`` and beside ``p``.

    Infinite where it beats the choice, ``p``, whose objective is ``best``.
    """
    rival = -np.inf
    for q in range(low, min(lowest, p - 1)):
        rival = max(rival, utility(wealth, X[q], eta) + ev[q + 1])
    if rival >= best:
        return np.inf
    for q in range(max(highest + 1, p + 2), high + 1):
        if not X[q] < wealth:
            break
        rival = max(rival, crra(wealth - X[q], eta) + ev[q + 1])
    return np.inf if rival > best else rival


@njit(cache=True)
def settle(
    X: Array, wealth: float, eta: float, ev: Array, clocks: Array, p: int, below: float, here: float, above: float,
    until: float, lowest: int, highest: int, low: int, high: int,
) -> tuple[int, float, int, int]:  # fmt: skip
    """The best from ``low`` to ``high`` for a row that has chosen ``p``; then ``until``, ``lowest`` and ``highest``.

    Where other rows have left nothing between its neighbours, the row takes the choice of the row before. What is
    cached of it is passed one by one: Numba counts references to arrays whenever they are taken out of a tuple.
    """
    if low > p or low > high:
        return low, -np.inf, lowest, highest
    best = here + ev[p + 1]
    clock = clocks[0] + clocks[window(X.size, lowest, highest)]
    if low < p - 1 or high > p + 1:
        rival = np.inf
        if lowest <= p <= highest and _lose(clock, until, best):
            rival = _beyond(X, wealth, eta, ev, p, best, lowest, highest, low, high)
        if rival == np.inf:
            q, best, rival = _search(X, wealth, eta, ev, p, below, here, above, low, high)
            return q, _until(clocks[0] + clocks[window(X.size, low, high)], best, rival), low, high
        # What was left of the margin is left of it in the window of all these.
        left, lowest, highest = until - clock, min(low, lowest), max(high, highest)
        clock = clocks[0] + clocks[window(X.size, lowest, highest)]
        until = min(_until(clock, best, rival), (clock + left) * (1.0 - ROUNDING))
    under, over = below + ev[p], above + ev[p + 2]
    if high > p and over > best and not (low < p and under >= over):
        best, lost, q = over, under, p + 1
    elif low < p and under >= best:
        best, lost, q = under, over, p - 1
    else:
        return p, until, lowest, highest
    if not lowest <= q <= highest:
        return q, -np.inf, lowest, highest
    return q, min(until, _until(clock, best, lost)), lowest, highest


@njit(cache=True)
def _made_rising(X: Array, W: Array, eta: float, ev: Array, cached: Cached, value: Array) -> bool:
    """Make a policy one that does not fall; false where a row above one with a choice has none."""
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


@njit(cache=True)
def proven_row(
    X: Array, W: Array, eta: float, ev: Array, clocks: Array, cached: Cached, guess: int, value: Array
) -> int:
    """Prove every state of a piece that lies between two others, whose guess was ``guess``.

    :data:`KNOWN`, :data:`STAYED` or :data:`MOVED`, or :data:`FAILED` where that takes more than :data:`WORTH`. ``EV``
    must be finite: a candidate that nobody can be at bounds no bracket.
    """
    if guess == FALLING and not _made_rising(X, W, eta, ev, cached, value):
        return FAILED
    # Arrays of a tuple are counted whenever they are taken out of it.
    policy, below, here, above, until, lowest, highest = cached
    # A row is looked at where candidates lie between its neighbours' choices that its guess was not compared with, and
    # again when a neighbour has moved. The list is read from its end.
    waiting, listed, count = np.empty(value.size, np.int32), np.zeros(value.size, np.bool_), 0
    for i in range(value.size - 2, 0, -1):
        p = policy[i]
        low, high = policy[i - 1], policy[i + 1]
        if (high > p + 1 or low < p - 1 or guess == FALLING) and p >= 0:
            # The guess beats the candidates beside it.
            clock = clocks[0] + clocks[window(X.size, lowest[i], highest[i])]
            if guess != FALLING and _none_wins(max(low, 0), high, value[i], clock, until[i], lowest[i], highest[i]):
                continue
            waiting[count], listed[i] = i, True
            count += 1
    proof, left = MOVED if guess == FALLING else STAYED if count else KNOWN, WORTH * value.size
    while count:
        count -= 1
        i = waiting[count]
        listed[i] = False
        p = policy[i]
        low, high = max(policy[i - 1], 0), policy[i + 1]
        if p < 0:
            continue
        left -= max(high - low, 1)
        if left < 0:
            return FAILED
        q, until[i], lowest[i], highest[i] = settle(
            X, W[i], eta, ev, clocks, p, below[i], here[i], above[i], until[i], lowest[i], highest[i], low, high
        )
        if q == p:
            continue
        proof, policy[i] = MOVED, q
        below[i], here[i], above[i] = beside(X, W[i], eta, q)
        value[i] = here[i] + ev[q + 1]
        if value[i] == -np.inf:
            return FAILED
        # Upwards first: a choice that falls makes room for the row above it, and one that rises for the row below.
        for neighbour in range(i - 1, i + 2, 2):
            if 0 < neighbour < value.size - 1 and not listed[neighbour]:
                waiting[count], listed[neighbour] = neighbour, True
                count += 1
    return proof


@njit(cache=True)
def evaluated_row(ev: Array, cached: Cached, value: Array) -> None:
    """The objectives of the choices, which stay."""
    here, policy = cached.here, cached.policy
    for i in range(value.size):
        value[i] = here[i] + ev[policy[i] + 1]


@njit(cache=True)
def changes(before: Array, value: Array) -> tuple[float, float]:
    """The least and the largest change; infinities that are equal differ by no number, and are counted by nobody."""
    least, most = np.inf, -np.inf
    for i in range(value.size):
        change = value[i] - before[i]
        least = change if change < least else least
        most = change if change > most else most
    return least, most
