"""Local search of one exogenous state's row: from a good guess uphill to a peak.

The guess is the policy of the neighbouring state, which bounds that of the next from below, or the state's own of the
last sweep moved as far as its neighbour's has moved. The utilities of the choice and of its two neighbours are kept:
while the choice stays, a sweep of a state is three additions and two comparisons. ``EV`` has a spare word at either
end, so that neighbours of the first and last choice can be looked at. Exact where objectives have a single peak
(:mod:`beltline.gpu_ref.peaks`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.tables import Array, feasible
from beltline.gpu_ref.utility import crra

Indexes = NDArray[np.int32]

ROUNDS = 8
"""Passes of :func:`proven_row`; after them divide and conquer takes over."""


@njit(cache=True, inline="always")
def utility(wealth: float, choice: float, eta: float) -> float:
    """CRRA utility of what a choice leaves, minus infinity where that is nothing."""
    if choice < wealth:
        return crra(wealth - choice, eta)
    return -np.inf


@njit(cache=True)
def climb(X: Array, wealth: float, eta: float, ev: Array, p: int) -> tuple[int, float, float, float]:
    """From choice ``p`` to the lowest peak: its index, and the utilities below, of and above it.

    ``ev`` has spare ends, here and below.
    """
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
    """The lowest peak by bisection on whether the next choice is better."""
    low = 0
    high = max(feasible(X, wealth) - 1, 0)
    while low < high:
        middle = (low + high) // 2
        if utility(wealth, X[middle + 1], eta) + ev[middle + 2] > utility(wealth, X[middle], eta) + ev[middle + 1]:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def warm_row(
    X: Array,
    W: Array,
    eta: float,
    ev: Array,
    value: Array,
    policy: Indexes,
    below: Array,
    here: Array,
    above: Array,
) -> tuple[float, float]:
    """Sweep one state's piece of a chunk in place; returns the least and the largest change."""
    least = np.inf
    most = -np.inf
    drift = 0
    neighbour = 0
    for i in range(value.size):
        p = policy[i]
        best = here[i] + ev[p + 1]
        if best >= above[i] + ev[p + 2] and best > below[i] + ev[p]:
            drift = 0
        else:
            wealth = W[i]
            if i == 0:
                start = bisect(X, wealth, eta, ev)
            else:
                start = max(neighbour, min(p + drift, X.size - 1), 0)
            q, under, at, over = climb(X, wealth, eta, ev, start)
            drift = q - p
            p = q
            below[i], here[i], above[i] = under, at, over
            best = at + ev[q + 1]
            policy[i] = q
            if best == -np.inf:
                policy[i] = -1
                here[i] = -np.inf
        neighbour = p
        change = best - value[i]
        least = change if change < least else least
        most = change if change > most else most
        value[i] = best
    return least, most


@njit(cache=True)
def _choose(X: Array, wealth: float, eta: float, p: int, i: int, below: Array, here: Array, above: Array) -> None:
    """Keep the utilities of choice ``p`` of row ``i``, and of its neighbours."""
    here[i] = utility(wealth, X[p], eta)
    below[i] = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
    above[i] = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf


@njit(cache=True)
def _rises(
    X: Array, W: Array, eta: float, policy: Indexes, below: Array, here: Array, above: Array
) -> bool:  # fmt: skip
    """Make a policy one that does not fall; false where a row above one with a choice has none."""
    before = -1
    for i in range(policy.size):
        if policy[i] < before:
            if policy[i] < 0:
                return False
            policy[i] = before
            _choose(X, W[i], eta, before, i, below, here, above)
        before = policy[i]
    return True


@njit(cache=True)
def _between(
    X: Array, wealth: float, eta: float, ev: Array, p: int, low: int, high: int, below: float, here: float, above: float
) -> int:
    """The lowest best choice from ``low`` to ``high``; utilities of ``p`` and its neighbours are known."""
    best, at = -np.inf, p
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
            best, at = objective, q
    return at


@njit(cache=True)
def proven_row(
    X: Array, W: Array, eta: float, ev: Array, before: Array, value: Array, policy: Indexes,
    below: Array, here: Array, above: Array,
) -> tuple[bool, float, float]:  # fmt: skip
    """Sweep one state's whole row in place, proven by brackets (:mod:`beltline.gpu_ref.brackets`), from any policy.

    First as :func:`warm_row`. Then every choice must be the best between those of its neighbours, and is made so, until
    none moves. Where each is within a point of the next, that is what was compared already.

    Returns whether it is proven within :data:`ROUNDS` passes, and the least and the largest change from ``before``.
    """
    worth = 0.0
    for i in range(1, ev.size - 1):
        worth += ev[i] * 0.0
    if worth != 0.0:
        # A choice that nobody can be at bounds no bracket.
        return False, 0.0, 0.0
    warm_row(X, W, eta, ev, value, policy, below, here, above)
    if not _rises(X, W, eta, policy, below, here, above):
        return False, 0.0, 0.0
    last = value.size - 1
    for _ in range(ROUNDS):
        moved = 0
        for i in range(value.size):
            p = policy[i]
            if p < 0:
                continue
            low = max(policy[i - 1], 0) if i > 0 else 0
            high = policy[i + 1] if i < last else X.size - 1
            q = p
            if low >= p - 1 and high <= p + 1:
                best = here[i] + ev[p + 1]
                if high > p and above[i] + ev[p + 2] > best:
                    q, best = p + 1, above[i] + ev[p + 2]
                if low < p and below[i] + ev[p] >= best:
                    q = p - 1
            else:
                q = _between(X, W[i], eta, ev, p, low, high, below[i], here[i], above[i])
            if q != p:
                policy[i] = q
                _choose(X, W[i], eta, q, i, below, here, above)
                moved += 1
            value[i] = here[i] + ev[q + 1]
            if value[i] == -np.inf:
                return False, 0.0, 0.0
        if moved == 0:
            least, most = np.inf, -np.inf
            for i in range(value.size):
                # Two infinities that are equal differ by no number, and are counted by nobody.
                change = value[i] - before[i]
                least = change if change < least else least
                most = change if change > most else most
            return True, least, most
    return False, 0.0, 0.0


@njit(cache=True)
def monotone_row(X: Array, W: Array, eta: float, ev: Array, value: Array, policy: Indexes) -> tuple[float, float]:
    """As :func:`warm_row`, from nothing but the neighbour's policy."""
    least = np.inf
    most = -np.inf
    p = 0
    for i in range(value.size):
        if i == 0:
            p = bisect(X, W[i], eta, ev)
        p, _, at, _ = climb(X, W[i], eta, ev, p)
        best = at + ev[p + 1]
        policy[i] = p if best > -np.inf else -1
        change = best - value[i]
        least = change if change < least else least
        most = change if change > most else most
        value[i] = best
    return least, most


@njit(cache=True)
def _turns(X: Array, ev: Array, low: int, high: int) -> Array:
    """Wealth above which, at ``eta = 2``, choice ``j + 1`` is better than ``j``, up to rounding, ``low <= j < high``.

    ``-1/(W - b) + EV_b > -1/(W - a) + EV_a`` is ``(W - a)(W - b) > h/(EV_b - EV_a)``, ``h = b - a``.
    """
    turns = np.empty(high - low)
    for j in range(low, high):
        step = X[j + 1] - X[j]
        gain = max(ev[j + 2] - ev[j + 1], 1e-300)
        turns[j - low] = (X[j] + X[j + 1]) / 2.0 + math.sqrt(step * step / 4.0 + step / gain)
    return turns


@njit(cache=True)
def alone_row(X: Array, W: Array, eta: float, ev: Array, value: Array, policy: Indexes) -> None:
    """As :func:`monotone_row`, for a sweep that none like it follows; the change is not measured.

    At ``eta = 2`` the choices come from :func:`_turns`, which needs no comparison of objectives; where rounding has
    put one beside the peak, :func:`climb` mends it.
    """
    if eta != 2.0 or W.size < 16:
        monotone_row(X, W, eta, ev, value, policy)
        return
    last = X.size - 1
    p = bisect(X, W[0], eta, ev)
    low = p
    turns = _turns(X, ev, low, max(low, bisect(X, W[W.size - 1], eta, ev)))
    high = low + turns.size
    for i in range(W.size):
        while p < high and W[i] > turns[p - low]:
            p += 1
        policy[i] = p
    for i in range(W.size):
        p = policy[i]
        wealth = W[i]
        c = wealth - X[p]
        best = -1.0 / c + ev[p + 1]
        right = wealth - X[min(p + 1, last)]
        left = wealth - X[max(p - 1, 0)]
        up = p < last and right > 0.0 and -1.0 / right + ev[p + 2] > best
        down = p > 0 and not best > -1.0 / left + ev[p]
        if up or down or not c > 0.0 or best == -np.inf:
            q, _, at, _ = climb(X, wealth, eta, ev, p)
            best = at + ev[q + 1]
            policy[i] = q if best > -np.inf else -1
        value[i] = best


@njit(cache=True)
def fixed_row(ev: Array, value: Array, policy: Indexes, here: Array) -> None:
    """A sweep with the policy held fixed; ``here`` are its utilities."""
    for i in range(value.size):
        value[i] = here[i] + ev[policy[i] + 1]
