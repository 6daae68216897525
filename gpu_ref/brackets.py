"""Exact sweeps that begin from a policy and prove what they end with, for any value function.

Let ``O(x, i) = U(W(x) - X_i) + EV_i``, minus infinity where ``i`` is not affordable, with ``W`` non-decreasing in
``x``. *If a policy ``g`` does not fall in ``x``, and if ``g(x)`` maximises ``O(x, .)`` between ``g(x - 1)`` and
``g(x + 1)`` for every ``x`` (from the lowest candidate for the first row, to the highest for the last), then ``g(x)``
maximises ``O(x, .)`` over all candidates, for every ``x``; and if it is the lowest maximiser there, it is the lowest of
all.*

Proof. No ``i < g(x)`` is as good as ``g(x)``: for the first row, and for ``g(x - 1) <= i``, that is assumed. An ``i <
g(x - 1)`` is worse than ``g(x - 1)`` at ``x - 1``, by induction, and by increasing differences
(:mod:`beltline.gpu_ref.exact`) at ``x``, where ``g(x - 1)`` is no better than ``g(x)``. No ``i > g(x)`` is better, by
the same argument from the last row downwards. Rows that can afford nothing are the lowest and bound nobody.

So a policy is proven by the evaluations between the choices of its neighbours: about three a state where it rises by a
point a point, and twice its length for a jump. A sweep takes the best candidate of every bracket, and again of those
whose ends moved, until none moves: from the policy of the sweep before that takes one round. From a policy that lies
far away it may take thousands, so after :data:`ROUNDS` the sweep is done by divide and conquer.

Rounding. Let ``e`` be the error of an objective, and ``margin(x)`` by how much ``g(x)`` beats ``g(x - 1)`` at ``x`` as
computed. A candidate of the bracket may truly exceed the computed maximum by ``e``, and the choice by ``2 e``. Let one
below the bracket truly exceed the choice of the row before by ``t`` at most. Then at ``x`` it exceeds that choice by no
more, and so the computed maximum by ``t + e - margin(x)``. What is below ``g(x)`` exceeds ``g(x)`` by ``t`` again where
both rows choose the same, else by ``max(2 e, t + 2 e - margin(x))``. Above, the same from the other end.
:attr:`Swept.slack` is the largest of all, some ``e`` wherever margins are not as small as roundings.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array, check_tables, expectation, feasible
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra

Indexes = NDArray[np.int32]

ROUNDS = 8
"""Half-rounds, of odd rows and of even ones in turn, before divide and conquer takes over."""

_CHUNK = 512
"""Rows that a thread takes at a time; even, so that rows of a round are the same in every chunk."""


@dataclass(frozen=True)
class Swept:
    """A sweep that is proven.

    Attributes
    ----------
    value
        ``(N_k, N_z)``, ``float64``, units of utility: ``TV``.
    policy
        ``(N_k, N_z)``, ``int32``: the lowest maximiser; -1 where nothing is affordable.
    slack
        By how much the true ``TV`` may exceed ``value`` anywhere, because objectives are rounded, units of utility.
    rounds
        Half-rounds that it took.
    evaluations
        Objectives that were computed in them.
    divided
        Whether divide and conquer did it in the end.
    """

    value: Array
    policy: Indexes
    slack: float
    rounds: int
    evaluations: int
    divided: bool


@njit(cache=True, inline="always")
def _affordable(X: Array, wealth: float, most: int) -> int:
    """The highest candidate up to ``most`` that ``wealth`` affords, -1 where there is none."""
    return most if X[most] < wealth else min(most, feasible(X, wealth) - 1)


@njit(parallel=True, cache=True)
def _begin(X: Array, W: Array, first: Indexes, policy: Indexes) -> None:
    """``first`` as a policy that does not fall and can be afforded."""
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
    """The best of the candidates from ``low`` to ``high``, the lowest of equals, and the objectives of both ends."""
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
    """Maximise the rows of one parity whose neighbours moved in the half-round before, all of them in the first two.

    ``moved`` holds for each row the last half-round in which it moved. ``counts`` receives for each chunk how many rows
    moved, how many brackets have no finite objective, and evaluations.
    """
    grid, states = W.shape
    for chunk in prange(counts.shape[0]):
        changes = nothing = evaluations = 0
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
                    nothing += 1
                    continue
                value[x, s] = best
                policy[x, s] = index
                margins[0, x, s] = best - at_low
                margins[1, x, s] = best - at_high
                if index != old:
                    moved[x, s] = number
                    changes += 1
        counts[chunk, 0] = changes
        counts[chunk, 1] = nothing
        counts[chunk, 2] += evaluations


@njit(cache=True)
def _expectation_noise(ev: Array, states: int, eta: float) -> float:
    """What an expectation of one state's candidates rounds at most, and the logarithm where that is the utility."""
    largest = 0.0
    for promise in ev:
        if abs(promise) < np.inf:
            largest = max(largest, abs(promise))
    return DOUBLE * ((1.0 if eta == 1.0 else 0.0) + (states + 4) * largest)


@njit(cache=True)
def row_slack(ev: Array, eta: float, noise: float, value: Array, policy: Indexes, margins: Array, found: Array) -> None:
    """Fill ``found``, ``(n,)``: how far the value of each row, all with a choice, may be from the true maximum.

    With ``e`` the error of an objective, a candidate of the bracket truly exceeds the computed value by ``e`` at most,
    and the choice by ``2 e``. One below the bracket exceeds the choice of the row before by no more than it does there,
    say ``t``, and so the value by ``t + e`` less the margin of the value over that choice. It exceeds this row's choice
    by ``t`` where both choices are the same, else by ``t + 2 e`` less the margin. Above, the same from the last row.

    What can be mistaken for the best has an objective of that size, and so a utility no farther from it than any
    ``EV``; so ``e`` follows from ``noise``, what an ``EV`` is off by. ``margins``, ``(2, n)``, is by how much each
    value exceeds the objective of the choice of the row before, and of the row behind; infinite where nothing is
    allowed beyond.
    """
    least, most = np.inf, -np.inf
    for promise in ev:
        if abs(promise) < np.inf:
            least, most = min(least, promise), max(most, promise)
    power = DOUBLE * (abs(1.0 - eta) + 4.0)
    for side in range(2):
        excess = -np.inf
        for k in range(value.size):
            p = k if side == 0 else value.size - 1 - k
            before = p - 1 if side == 0 else p + 1
            error = noise + power * max(abs(value[p] - least), abs(value[p] - most))
            beyond = excess - margins[side, p]
            found[p] = max(error + max(0.0, beyond), 0.0 if side == 0 else found[p])
            if k == 0 or margins[side, p] == np.inf or policy[p] != policy[before]:
                excess = max(2.0 * error, beyond + 2.0 * error)


@njit(parallel=True, cache=True)
def _slack(ev: Array, eta: float, value: Array, policy: Indexes, margins: Array, largest: Array) -> None:
    """The largest :func:`row_slack` of each exogenous state."""
    for s in prange(largest.size):
        largest[s] = state_slack(ev[s], eta, value[:, s], policy[:, s], margins[:, :, s], largest.size)


@njit(cache=True)
def state_slack(ev: Array, eta: float, value: Array, policy: Indexes, margins: Array, states: int) -> float:
    """The largest :func:`row_slack` of the rows of an exogenous state that have a choice; 0 where none has."""
    first = 0
    while first < policy.size and policy[first] < 0:
        first += 1
    if first == policy.size:
        return 0.0
    found = np.empty(policy.size - first)
    row_slack(ev, eta, _expectation_noise(ev, states, eta), value[first:], policy[first:], margins[:, first:], found)
    return found.max()


def proven_sweep(
    X: ArrayLike, W: ArrayLike, Q: ArrayLike, V: ArrayLike, beta: float, eta: float, policy: ArrayLike
) -> Swept:
    """One exact sweep that begins from ``policy``, ``(N_k, N_z)`` whole numbers; ``V`` need not be concave.

    About three evaluations a state where ``policy`` is nearly right, else those of
    :func:`beltline.gpu_ref.exact.exact_sweep`. Any ``policy`` will do: it decides what the sweep takes, and of the
    result nothing but which of two choices within :attr:`Swept.slack` is returned.

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
    """As :func:`proven_sweep`, of checked tables and their expectation, ``(N_z, N_k)``."""
    with threads(threads_for(W.size)):
        return _proven(X, W, ev, eta, first)


def missed_by_a_policy(X: Array, W: Array, ev: Array, eta: float, value: Array, policy: Indexes) -> float:
    """By how much the maximum may truly exceed ``value``, the objectives of a policy that some search has found.

    Arguments as of :func:`proven`. Units of utility; infinite where the search has missed more than roundings.
    """
    swept = proven(X, W, ev, eta, policy)
    if ((policy < 0) != (swept.policy < 0)).any():
        return math.inf
    with np.errstate(invalid="ignore"):
        gap = float(np.where(swept.value == value, 0.0, swept.value - value).max())
    return swept.slack + max(gap, 0.0) if gap <= swept.slack else math.inf


def _proven(X: Array, W: Array, ev: Array, eta: float, first: Indexes) -> Swept:
    grid, states = W.shape
    value, found = np.empty(W.shape), np.empty(W.shape, np.int32)
    margins = np.zeros((2, *W.shape))
    counts = np.zeros(((grid - 1) // _CHUNK + 1, 3), np.int64)
    rounds, proof, divided = 0, False, False
    # A candidate that nobody can be at bounds no bracket.
    if np.isfinite(ev).all():
        _begin(X, W, first, found)
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
    """Half-rounds until no choice moves: how many, and whether that was so within ``limit``."""
    moved = np.zeros(policy.shape, np.int32)
    for number in range(1, limit + 1):
        _half_round(X, W, ev, eta, number, policy, value, margins, moved, counts)
        if counts[:, 1].any():
            return number, False
        if number >= 2 and not counts[:, 0].any():
            return number, True
    return limit, False
