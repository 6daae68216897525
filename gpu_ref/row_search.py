"""Search of one exogenous state's row, or a piece of it: a guess for every state, then the proof of all of them.

The guess is the choice of the last sweep, moved as far as the choice of the neighbouring state has moved, and a local
search from there. A poor guess costs time and changes no result. The proof is that of
:mod:`beltline.gpu_ref.brackets`: every choice must be the best between those of its neighbours. Where one is not, it is
replaced by the best, and its neighbours are tried again, until no choice moves.

The utilities of a choice and of the candidates on either side of it are cached. While the choice stays, a state takes
three additions and two comparisons. Where both neighbours' choices lie within one point of it, that is the proof.

``EV`` has a spare word at either end, here and below, so that the first and the last choice have neighbours, too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit_inlined, njit_uncounted
from beltline.gpu_ref.tables import Array, feasible
from beltline.gpu_ref.utility import crra

Indexes = NDArray[np.int32]

WORTH = 12
"""Average number of candidates per row after which the proof gives up, because divide and conquer is faster."""

CLOSE, FAR, FALLING = 0, 1, 2
"""Shape of a guessed policy: each choice equals that of the state below or is the next one, which proves all states
between two others; some choice is farther above; some choice is lower."""

FAILED = -1
"""Outcome of a proof that was given up."""


class Cached(NamedTuple):
    """What sweeps cache of ``n`` neighbouring states of one exogenous state.

    Attributes
    ----------
    policy
        ``(n,)``, ``int32``: index of each state's choice; -1 if it can afford nothing.
    below, here, above
        ``(n,)``: utilities of the candidate below the choice, of the choice, and of the candidate above it; ``-inf``
        where that candidate does not exist or is not affordable.
    """

    policy: Indexes
    below: Array
    here: Array
    above: Array


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


@njit_uncounted
def guessed_row(
    X: Array, W: Array, eta: float, ev: Array, cached: Cached, before: Array, value: Array
) -> tuple[int, float, float]:
    """Guess the choice of every state of a piece, and write the objectives of the choices into ``value``.

    Returns how many choices moved, and the least and the largest change from ``before``, as :func:`changes` returns
    them.
    """
    policy, below, here, above = cached
    drift = moved = 0
    neighbour, last = policy[0], X.size - 1
    least, most = np.inf, -np.inf
    for i in range(value.size):
        p = policy[i]
        best = here[i] + ev[p + 1]
        if not (best >= above[i] + ev[p + 2] and best > below[i] + ev[p]):
            start = bisect(X, W[i], eta, ev) if i == 0 else max(neighbour, min(p + drift, last), 0)
            q, below[i], here[i], above[i], best = local_search(X, W[i], eta, ev, start)
            if best == -np.inf:
                q = -1
                here[i] = -np.inf
            drift = q - p
            moved += q != p
            policy[i] = p = q
        else:
            drift = 0
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


@njit_inlined
def beside(X: Array, wealth: float, eta: float, p: int) -> tuple[float, float, float]:
    """Return the utilities of the candidate below choice ``p``, of the choice, and of the candidate above it."""
    below = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
    above = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    return below, utility(wealth, X[p], eta), above


@njit_uncounted
def cache_row(X: Array, W: Array, eta: float, cached: Cached) -> None:
    """Cache the utilities of choices that another search has found, and of the candidates on either side."""
    policy, below, here, above = cached
    for i in range(policy.size):
        below[i] = here[i] = above[i] = -np.inf
        if policy[i] >= 0:
            below[i], here[i], above[i] = beside(X, W[i], eta, policy[i])


@njit_inlined
def proven(p: int, low: int, high: int, under: float, best: float, over: float) -> bool:
    """Return whether choice ``p`` is the best candidate from ``low`` to ``high``, which are at most one away from it.

    ``under``, ``best`` and ``over`` are the objectives of the candidate below, of the choice, and of the one above.
    """
    return p - 1 <= low <= p <= high <= p + 1 and (high == p or over <= best) and (low == p or under < best)


@njit_uncounted
def best_choice(
    X: Array, wealth: float, eta: float, ev: Array, p: int, below: float, here: float, above: float, low: int, high: int
) -> int:
    """Return the best candidate from ``low`` to ``high``, the lowest of equals, for a state whose choice is ``p``.

    ``below``, ``here`` and ``above`` are its cached utilities. If ``low > high``, which happens while neighbours are
    being corrected, the state takes the choice of the state below.
    """
    if low >= high:
        return low
    if not low <= p <= high:
        p = low if p < low else high
        below, here, above = beside(X, wealth, eta, p)
    q, best = p, here + ev[p + 1]
    if high > p and above + ev[p + 2] > best:
        q, best = p + 1, above + ev[p + 2]
    for k in range(p + 2, high + 1):
        u = utility(wealth, X[k], eta)
        if u == -np.inf:
            break
        if u + ev[k + 1] > best:
            q, best = k, u + ev[k + 1]
    if low < p and below + ev[p] >= best:
        q, best = p - 1, below + ev[p]
    for k in range(p - 2, low - 1, -1):
        objective = utility(wealth, X[k], eta) + ev[k + 1]
        if objective >= best:
            q, best = k, objective
    return q


@njit_uncounted
def _made_rising(X: Array, W: Array, eta: float, ev: Array, cached: Cached, value: Array) -> int:
    """Raise choices so that the policy does not fall; return how many.

    Returns :data:`FAILED` if a state above one that has a choice has none.
    """
    policy, below, here, above = cached
    before, raised = -1, 0
    for i in range(policy.size):
        if policy[i] < before:
            if policy[i] < 0:
                return FAILED
            policy[i] = before
            below[i], here[i], above[i] = beside(X, W[i], eta, before)
            value[i] = here[i] + ev[before + 1]
            raised += 1
        before = policy[i]
    return raised


@njit_uncounted
def proven_row(
    X: Array, W: Array, eta: float, ev: Array, cached: Cached, guess: int, value: Array, listed: NDArray[np.bool_]
) -> int:
    """Prove, or correct, the choices of all states of a piece except the first and the last.

    ``guess`` is what :func:`shape` returned. States are visited downwards, so that a choice that rises makes room for
    those below it, then upwards, and so on: first all, then those whose bracket has grown since. ``listed``, ``(n,)``,
    all true, marks them.

    Returns how many choices moved, or :data:`FAILED` if the work exceeds :data:`WORTH` candidates a row. ``EV`` must be
    finite, since an infinite ``EV`` bounds no bracket.
    """
    moved = _made_rising(X, W, eta, ev, cached, value) if guess == FALLING else 0
    if moved < 0:
        return FAILED
    # Numba counts references whenever an array is taken out of a tuple, so this is done once.
    policy, below, here, above = cached
    size = value.size
    count, left, upwards = max(size - 2, 0), WORTH * size, False
    while count:
        for k in range(1, size - 1):
            i = k if upwards else size - 1 - k
            if not listed[i]:
                continue
            listed[i] = False
            count -= 1
            p, low, high = policy[i], max(policy[i - 1], 0), policy[i + 1]
            if p < 0 or proven(p, low, high, below[i] + ev[p], value[i], above[i] + ev[p + 2]):
                continue
            left -= max(high - low, 1)
            if left < 0:
                return FAILED
            q = best_choice(X, W[i], eta, ev, p, below[i], here[i], above[i], low, high)
            if q == p:
                continue
            policy[i] = q
            moved += 1
            below[i], here[i], above[i] = beside(X, W[i], eta, q)
            value[i] = here[i] + ev[q + 1]
            if value[i] == -np.inf:
                return FAILED
            # The bracket of the other neighbour has become smaller.
            grown = i - 1 if q > p else i + 1
            if 0 < grown < size - 1 and policy[grown] >= 0 and not listed[grown]:
                listed[grown] = True
                count += 1
        left -= size // 8
        upwards = not upwards
    return moved


@njit_uncounted
def changes(before: Array, value: Array) -> tuple[float, float]:
    """Return the least and the largest change; differences of equal infinities, which are not numbers, are ignored."""
    least, most = np.inf, -np.inf
    for i in range(value.size):
        change = value[i] - before[i]
        least = change if change < least else least
        most = change if change > most else most
    return least, most
