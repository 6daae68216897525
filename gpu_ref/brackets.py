"""Exact sweeps that start from any policy and prove their own result, for any value function.

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
the policy rises by about one point per point, and twice its length for a jump. A sweep maximises every row over its
bracket, and then again those rows whose neighbours' choices changed, until nothing changes. Starting from the policy of
the sweep before, one round is usually enough. From a distant policy it can take thousands, so after :data:`ROUNDS`
divide and conquer does the sweep.

*Rounding.* Let ``e`` be the error of an objective, and ``margin(x)`` the computed amount by which ``g(x)`` beats ``g(x
- 1)`` at ``x``. In exact arithmetic a candidate of the bracket can exceed the computed maximum by ``e``, and the choice
by ``2 e``. Let ``t`` be the most by which a candidate below the bracket exceeds the choice of the row before, in that
row. By increasing differences it exceeds that choice by no more at ``x``, and so the computed maximum by at most ``t +
e - margin(x)``. A candidate below ``g(x)`` then exceeds ``g(x)`` by at most ``t`` if both rows choose the same,
otherwise by ``max(2 e, t + 2 e - margin(x))``. Candidates above are treated in the same way from the other end.
:attr:`Swept.slack` is the largest of these errors: a few ``e``, unless margins are as small as rounding errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, njit_inlined, prange
from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.tables import Array, check_tables, expectation, feasible
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import DOUBLE, crra, power_error

Indexes = NDArray[np.int32]

ROUNDS = 8
"""Number of half-rounds (odd rows, then even rows) before divide and conquer takes over."""

_CHUNK = 512
"""Rows that a thread takes at a time. It is even, so that the rows of a half-round are the same in every chunk."""


@dataclass(frozen=True)
class Swept:
    """Result of a proven sweep.

    Attributes
    ----------
    value
        ``(N_k, N_z)``, ``float64``, units of utility: ``TV``.
    policy
        ``(N_k, N_z)``, ``int32``: the lowest maximiser; -1 where nothing is affordable.
    slack
        Bound on the amount by which the exact ``TV`` exceeds ``value`` anywhere because objectives are rounded, units
        of utility.
    rounds
        Number of half-rounds.
    evaluations
        Number of objectives computed in them.
    divided
        Whether divide and conquer was needed.
    """

    value: Array
    policy: Indexes
    slack: float
    rounds: int
    evaluations: int
    divided: bool


@njit_inlined
def _affordable(X: Array, wealth: float, most: int) -> int:
    """Return the highest candidate up to ``most`` that ``wealth`` affords, -1 if it affords nothing."""
    return most if X[most] < wealth else min(most, feasible(X, wealth) - 1)


@njit(parallel=True, cache=True)
def _feasible_policy(X: Array, W: Array, first: Indexes, policy: Indexes) -> None:
    """Turn the guess ``first`` into a policy that does not fall and is affordable."""
    grid, states = W.shape
    for s in prange(states):
        least = 0
        for x in range(grid):
            least = _affordable(X, W[x, s], min(max(least, first[x, s]), grid - 1))
            policy[x, s] = least
            least = max(least, 0)


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


@njit(parallel=True, cache=True)
def _half_round(
    X: Array,
    W: Array,
    ev: Array,
    eta: float,
    number: int,
    policy: Indexes,
    value: Array,
    margins: Array,
    moved: Indexes,
    counts: NDArray[np.int64],
) -> None:
    """Maximise the rows of one parity over their brackets.

    In the first two half-rounds all rows; later only those with a neighbour whose choice changed in the half-round
    before. ``moved``, ``(N_k, N_z)``, holds for each row the last half-round in which its choice changed. ``counts``,
    ``(chunks, 3)``, receives the number of changed rows, of brackets without a finite objective, and of evaluations
    (added up).
    """
    grid, states = W.shape
    for chunk in prange(counts.shape[0]):
        changes = without_value = evaluations = 0
        begin = chunk * _CHUNK
        for x in range(begin + number % 2, min(begin + _CHUNK, grid), 2):
            for s in range(states):
                before = number <= 2
                if not before:
                    before = (x > 0 and moved[x - 1, s] == number - 1) or (
                        x + 1 < grid and moved[x + 1, s] == number - 1
                    )
                if not before:
                    continue
                old = policy[x, s]
                if old < 0:
                    value[x, s] = -np.inf
                    continue
                low = max(policy[x - 1, s], 0) if x > 0 else 0
                high = _affordable(X, W[x, s], policy[x + 1, s] if x + 1 < grid else grid - 1)
                best, index, at_low, at_high = best_between(X, W[x, s], ev[s], eta, low, high)
                evaluations += high - low + 1
                if index < 0:
                    without_value += 1
                    continue
                value[x, s] = best
                policy[x, s] = index
                margins[0, x, s] = best - at_low
                margins[1, x, s] = best - at_high
                if index != old:
                    moved[x, s] = number
                    changes += 1
        counts[chunk, 0] = changes
        counts[chunk, 1] = without_value
        counts[chunk, 2] += evaluations


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


@njit(parallel=True, cache=True)
def _slack(ev: Array, eta: float, value: Array, policy: Indexes, margins: Array, largest: Array) -> None:
    """Fill the largest :func:`row_slack` of each exogenous state."""
    for s in prange(largest.size):
        largest[s] = state_slack(ev[s], eta, value[:, s], policy[:, s], margins[:, :, s], largest.size)


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


def proven_sweep(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V: ArrayLike, beta: float, eta: float, policy: ArrayLike
) -> Swept:
    """Sweep exactly, starting from ``policy``, ``(N_k, N_z)`` whole numbers; ``V`` need not be concave.

    A state takes about three evaluations if ``policy`` is nearly right, and otherwise as many as in
    :func:`beltline.gpu_ref.exact.exact_sweep`. Any ``policy`` is allowed. It affects the time, and, where objectives of
    two choices differ by less than :attr:`Swept.slack`, which of them is returned.

    Other arguments as in :mod:`beltline.gpu_ref`.

    Raises
    ------
    ValueError
        A table breaks a condition of :mod:`beltline.gpu_ref`, ``W`` falls in ``x``, or ``policy`` has another shape.
    """
    X, W, Q, V = check_tables(X, W, Q, V, beta, eta, ordered=True)
    first = np.ascontiguousarray(policy, np.int32)
    if first.shape != W.shape:
        raise ValueError(f"policy must have shape {W.shape}, not {first.shape}")
    return proven(X, W, expectation(Q, V, beta), eta, first)


def proven(X: Array, W: Array, ev: Array, eta: float, first: Indexes) -> Swept:
    """Sweep as :func:`proven_sweep` does, from checked tables and their expectation ``ev``, ``(N_z, N_k)``."""
    with threads(threads_for(W.size)):
        return _proven(X, W, ev, eta, first)


def _proven(X: Array, W: Array, ev: Array, eta: float, first: Indexes) -> Swept:
    """Make a proven sweep from guess ``first``: a few half-rounds, then divide and conquer if they did not finish."""
    grid, states = W.shape
    value, found = np.empty(W.shape), np.empty(W.shape, np.int32)
    margins = np.zeros((2, *W.shape))
    counts = np.zeros(((grid - 1) // _CHUNK + 1, 3), np.int64)
    rounds, proof, divided = 0, False, False
    # A guess may choose a candidate whose EV is -inf, which proves nothing about its neighbours. Divide and conquer
    # never chooses one.
    if np.isfinite(ev).all():
        _feasible_policy(X, W, first, found)
        rounds, proof = _rounds(X, W, ev, eta, ROUNDS, value, found, margins, counts)
    if not proof:
        divided = True
        divide_and_conquer(X, W, ev, eta, value, found)
        more, _ = _rounds(X, W, ev, eta, X.size, value, found, margins, counts)
        rounds += more
    slack = np.zeros(states)
    _slack(ev, eta, value, found, margins, slack)
    return Swept(value, found, float(slack.max()), rounds, int(counts[:, 2].sum()), divided)


def _rounds(
    X: Array,
    W: Array,
    ev: Array,
    eta: float,
    limit: int,
    value: Array,
    policy: Indexes,
    margins: Array,
    counts: NDArray[np.int64],
) -> tuple[int, bool]:
    """Run half-rounds until no choice changes; return their number, and whether that happened within ``limit``."""
    moved = np.zeros(policy.shape, np.int32)
    for number in range(1, limit + 1):
        _half_round(X, W, ev, eta, number, policy, value, margins, moved, counts)
        if counts[:, 1].any():
            return number, False
        if number >= 2 and not counts[:, 0].any():
            return number, True
    return limit, False
