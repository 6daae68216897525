"""Search of a piece of a row by scanning brackets, which is faster than guesses while most choices of a piece move.

Upwards, each state scans the candidates from the choice of the state below to a guess of the choice of the state above.
Downwards, it scans those that the guess left out. Its choice is then the best between those of its neighbours, which is
the proof of :mod:`beltline.gpu_ref.brackets`: when the choice of the state above rises in the second pass, the state
looks at the new candidates, and when that of the state below rises, there are fewer candidates to beat.

``EV`` has a spare word at either end, as in :mod:`beltline.gpu_ref.row_search`.
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit_inlined, njit_uncounted
from beltline.gpu_ref.row_search import WORTH, Cached, beside, utility
from beltline.gpu_ref.tables import Array, feasible

AHEAD = 2
"""Number of candidates scanned above where the choice of the state above is expected."""

USUAL = 6
"""Number of candidates that are compared where there are no more; a fixed number is compared faster than fewer are."""

STRIDE = 8
"""Number of candidates on either side that the choice of the first and of the last state of a piece must beat."""


@njit_inlined
def _scan(
    X: Array, wealth: float, eta: float, ev: Array, low: int, high: int, p: int, best: float, below: float, here: float,
    above: float,
) -> tuple[int, float, float, float, float]:  # fmt: skip
    """Return the best of choice ``p``, of objective ``best``, and the candidates from ``low`` to ``high``.

    ``p`` is less than ``low``, and -1 if there is none. The result is followed by its objective and the utilities of
    the candidate below it, of itself and of the candidate above it; ``below``, ``here`` and ``above`` are those of
    ``p``.
    """
    last = -np.inf
    for q in range(low, high + 1):
        u = utility(wealth, X[q], eta)
        objective = u + ev[q + 1]
        above = u if q == p + 1 else above
        better = objective > best
        p = q if better else p
        best = objective if better else best
        below = last if better else below
        here = u if better else here
        last = u
    if p == low:
        below = utility(wealth, X[p - 1], eta) if p > 0 else -np.inf
    if p == high:
        above = utility(wealth, X[p + 1], eta) if p + 1 < X.size else -np.inf
    return p, best, below, here, above


@njit_inlined
def _best_from(X: Array, wealth: float, eta: float, ev: Array, low: int) -> tuple[int, float]:
    """Return the best of the :data:`USUAL` candidates from ``low`` and its objective, without branching on them."""
    p, best = low, -np.inf
    for k in range(USUAL):
        objective = utility(wealth, X[low + k], eta) + ev[low + k + 1]
        p = low + k if objective > best else p
        best = max(best, objective)
    return p, best


@njit_uncounted
def _search_from(X: Array, wealth: float, eta: float, ev: Array, low: int, p: int) -> tuple[int, float, float, float]:
    """Search from candidate ``p``, down to ``low`` at most, until :data:`STRIDE` candidates on either side lose.

    Returns the best and the utilities of the candidate below it, of itself and of the candidate above it.
    """
    top = max(feasible(X, wealth) - 1, low)
    begin, end = max(min(p, top) - STRIDE, low), min(p + STRIDE, top)
    nothing = -np.inf
    while True:
        p, _, below, here, above = _scan(X, wealth, eta, ev, begin, end, -1, nothing, nothing, nothing, nothing)
        first, last = begin, end
        begin, end = max(min(p - STRIDE, begin), low), min(max(p + STRIDE, end), top)
        if p < 0 or (begin == first and end == last):
            return p, below, here, above


@njit_uncounted
def scanned_row(X: Array, W: Array, eta: float, ev: Array, cached: Cached, value: Array) -> int:
    """Find the choices of all states of a piece, proven but for the first and the last, and their objectives ``value``.

    The guesses are the choices in ``cached``, which is updated; margins over rivals are forgotten. ``EV`` must be
    finite. Returns the number of states whose choice moved, or -1 if the work exceeds
    :data:`~beltline.gpu_ref.row_search.WORTH` candidates a row.
    """
    policy, below, here, above, until, _, highest = cached
    size, left = value.size, WORTH * value.size
    drift = moved = neighbour = 0
    # Only then is it faster to compare a few candidates too many, and to compute three utilities again.
    cheap = eta in (0.0, 2.0)
    for i in range(size):
        wealth, old = W[i], policy[i]
        if i == 0 or i == size - 1:
            p, below[i], here[i], above[i] = _search_from(X, wealth, eta, ev, neighbour, max(old + drift, neighbour))
            best, high = here[i] + ev[p + 1], p
        elif wealth == W[i - 1] and i > 1:
            # It has the objectives of the state below.
            below[i], here[i], above[i] = below[i - 1], here[i - 1], above[i - 1]
            p, best, high = policy[i - 1], value[i - 1], highest[i - 1]
        else:
            after = i + 1
            while after < size - 1 and W[after] == wealth:
                after += 1
            high = min(max(policy[after] + drift + AHEAD, neighbour), X.size - 1)
            left -= high - neighbour
            if left < 0:
                return -1
            if cheap and high < neighbour + USUAL <= X.size:
                high = neighbour + USUAL - 1
                p, best = _best_from(X, wealth, eta, ev, neighbour)
                below[i], here[i], above[i] = beside(X, wealth, eta, p)
            else:
                p, best, below[i], here[i], above[i] = _scan(
                    X, wealth, eta, ev, neighbour, high, -1, -np.inf, -np.inf, -np.inf, -np.inf
                )
        if best == -np.inf:
            p = -1
        drift = p - old
        moved += p != old
        policy[i], value[i], until[i], highest[i] = p, best, -np.inf, high
        neighbour = max(p, 0)
    for i in range(size - 2, 0, -1):
        high = policy[i + 1]
        if high > highest[i] and policy[i] >= 0:
            left -= high - highest[i]
            if left < 0:
                return -1
            policy[i], value[i], below[i], here[i], above[i] = _scan(
                X, W[i], eta, ev, highest[i] + 1, high, policy[i], value[i], below[i], here[i], above[i]
            )
    return moved
