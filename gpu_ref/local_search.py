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
