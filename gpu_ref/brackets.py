"""Why the best choice between its neighbours' choices is the best of all, and what rounding can add to this proof.

Let ``O(x, i) = U(W(x) - X_i) + EV_i``, minus infinity where ``i`` is not affordable, with ``W`` non-decreasing in
``x``.

*Theorem.* Let a policy ``g`` not fall in ``x``. If ``g(x)`` maximises ``O(x, .)`` between ``g(x - 1)`` and ``g(x + 1)``
for every ``x`` (from the lowest candidate for the first row, to the highest for the last), then ``g(x)`` maximises
``O(x, .)`` over all candidates, for every ``x``. If it is the lowest maximiser there, it is the lowest of all.

*Proof.* Claim: no ``i < g(x)`` is as good as ``g(x)`` at ``x``. In the first row, and for ``i >= g(x - 1)``, this is
the assumption. An ``i < g(x - 1)`` is worse than ``g(x - 1)`` at ``x - 1``, by induction, and hence at ``x``, by
increasing differences (:mod:`beltline.gpu_ref.exact`); and ``g(x - 1)``, which is in the bracket of ``x``, is no better
than ``g(x)``. No ``i > g(x)`` is better, by the same argument from the last row to the first. Rows that can afford
nothing are the lowest and do not limit any bracket.

So a policy is proven by evaluating the candidates between the choices of its neighbours: about three per state where
the policy rises by about one point per point, and twice its length for a jump. :mod:`beltline.gpu_ref.row_search` does
this, and divide and conquer (:mod:`beltline.gpu_ref.exact`) ends with such a policy, too.

*Rounding.* Let ``e`` be the error of an objective, and ``margin(x)`` the computed amount by which ``g(x)`` beats ``g(x
- 1)`` at ``x``. In exact arithmetic a candidate of the bracket can exceed the computed maximum by ``e``, and the choice
by ``2 e``. Let ``t`` be the most by which a candidate below the bracket exceeds the choice of the row before, in that
row. By increasing differences it exceeds that choice by no more at ``x``, and so the computed maximum by at most ``t +
e - margin(x)``. A candidate below ``g(x)`` then exceeds ``g(x)`` by at most ``t`` if both rows choose the same,
otherwise by ``max(2 e, t + 2 e - margin(x))``. Candidates above are treated in the same way from the other end.
:func:`state_slack` is the largest of these errors: a few ``e``, unless margins are as small as rounding errors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import DOUBLE, crra, power_error

Indexes = NDArray[np.int32]


@njit(cache=True)
def best_between(
    X: Array,
    wealth: float,
    ev: Array,
    eta: float,
    low: int,
    high: int,
) -> tuple[float, int, float, float]:
    """Return the best candidate from ``low`` to ``high``.

    Returns its objective, its index (the lowest of equals; -1 if no objective is finite), and the objectives of ``low``
    and of ``high``.
    """
    best = first = last = -np.inf
    index = -1
    for i in range(low, high + 1):
        last = crra(wealth - X[i], eta) + ev[i]
        if i == low:
            first = last
        if last > best:
            best = last
            index = i
    return best, index, first, last


@njit(cache=True)
def _ev_error(ev: Array, states: int, eta: float) -> float:
    """Bound the rounding error of one state's expectation, plus that of the logarithm if it is the utility."""
    largest = 0.0
    for expected in ev:
        if abs(expected) < np.inf:
            largest = max(largest, abs(expected))
    return DOUBLE * ((1.0 if eta == 1.0 else 0.0) + (states + 4) * largest)


@njit(cache=True)
def row_slack(
    ev: Array, eta: float, ev_error: float, value: Array, policy: Indexes, margins: Array, found: Array
) -> None:
    """Fill ``found``, ``(n,)``: a bound on the distance of each row's value from the exact maximum.

    Let ``e`` be the error of an objective. In exact arithmetic a candidate of the bracket exceeds the computed value by
    at most ``e``, and the choice by at most ``2 e``. A candidate below the bracket exceeds the choice of the row
    before, in that row, by at most some ``t``, and no more in this row (increasing differences). So it exceeds the
    value by at most ``t + e`` less the margin of the value over that choice; and this row's choice by ``t`` if both
    choices are the same, otherwise by ``t + 2 e`` less the margin. Candidates above are treated in the same way from
    the last row.

    A candidate that can be mistaken for the best has an objective of about that size. So its utility is no farther from
    the value than the lowest or the highest ``EV``, which bounds the rounding of its utility.

    Parameters
    ----------
    ev
        ``(m,)``: expectations of all candidates.
    eta
        Curvature of utility.
    ev_error
        Bound on the rounding error of an ``ev``.
    value, policy
        ``(n,)``: the rows, all of which have a choice.
    margins
        ``(2, n)``: by how much each value exceeds the objective, in its row, of the choice of the row before, and of
        the row after; infinite where no candidate is allowed beyond.
    found
        ``(n,)``: is filled.
    """
    least, most = np.inf, -np.inf
    for expected in ev:
        if abs(expected) < np.inf:
            least, most = min(least, expected), max(most, expected)
    power = power_error(eta)
    for side in range(2):
        excess = -np.inf
        for k in range(value.size):
            p = k if side == 0 else value.size - 1 - k
            before = p - 1 if side == 0 else p + 1
            error = ev_error + power * max(abs(value[p] - least), abs(value[p] - most))
            beyond = excess - margins[side, p]
            found[p] = max(error + max(0.0, beyond), 0.0 if side == 0 else found[p])
            if k == 0 or margins[side, p] == np.inf or policy[p] != policy[before]:
                excess = max(2.0 * error, beyond + 2.0 * error)


@njit(cache=True)
def state_slack(ev: Array, eta: float, value: Array, policy: Indexes, margins: Array, states: int) -> float:
    """Return the largest :func:`row_slack` among rows of an exogenous state that have a choice; 0 if none has."""
    first = 0
    while first < policy.size and policy[first] < 0:
        first += 1
    if first == policy.size:
        return 0.0
    found = np.empty(policy.size - first)
    row_slack(ev, eta, _ev_error(ev, states, eta), value[first:], policy[first:], margins[:, first:], found)
    return found.max()
