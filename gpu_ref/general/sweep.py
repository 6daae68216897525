"""One exact sweep of one alternative, begun from any policy, proven by brackets; no concavity is needed.

Let candidates be numbered so that cost does not fall along the numbers (:mod:`beltline.gpu_ref.general.candidates`),
and let row ``x`` be allowed the numbers from ``a(x)`` to ``b(x)``, of which neither falls in ``x``: bounds, and what is
affordable. *If a policy ``g`` does not fall in ``x``, and ``g(x)`` is the lowest maximiser between ``max(a(x),
g(x-1))`` and ``min(b(x), g(x+1))`` for every row that has a choice, then ``g(x)`` is the lowest maximiser between
``a(x)`` and ``b(x)``, for every ``x``.*

Proof. As in :mod:`beltline.gpu_ref.brackets`, along the rows that have a choice. Take ``i`` allowed at ``x`` and ``i <
g(x-1)``. It is allowed at the row before: ``a(x-1) <= a(x) <= i < g(x-1) <= b(x-1)``. There it is worse than
``g(x-1)``, by induction, which is allowed at ``x``, as ``a(x) <= i < g(x-1) <= g(x) <= b(x)``; so by increasing
differences it is worse than ``g(x-1)`` at ``x``, and ``g(x-1)`` is no better than ``g(x)`` there. Upwards the same. A
utility that overflows to minus infinity does so for all that cost more: an upper bound like what is affordable.

With ``eta = 0`` and negative consumption allowed, the difference of two objectives does not depend on ``x`` at all, so
any order of candidates will do, and ``x'``, in which bounds are intervals, is one.

Rounding: :func:`_slack`; where dominated candidates were removed, what two expectations round is added.
Exogenous states run in parallel, rows of one of them do not: the order of the rounds, and so every bit, is the same on
any number of threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.brackets import ROUNDS
from beltline.gpu_ref.general.candidates import BY_COST, UNORDERED, Indexes, numbered, rows_in_order, windows
from beltline.gpu_ref.general.form import Tables
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra


class Swept(NamedTuple):
    """A sweep of an alternative that is proven.

    Attributes
    ----------
    value
        ``(N_k, N_z)``, ``float64``, units of utility; ``-inf`` where nothing can be taken.
    policy
        ``(N_k, N_z)``, ``int32``: the lowest of the best ``x'``, or where cost falls in ``x'`` the cheapest of them; -1
        where nothing can be taken.
    slack
        ``(N_k, N_z)``, ``float64``: how far ``value`` may be from the maximum in real numbers, units of utility.
    evaluations
        Objectives that were computed.
    divided
        Exogenous states that took divide and conquer.
    searched
        Exogenous states that were searched in full, because no order of the candidates keeps bounds intervals, or
        roundings leave nothing that can be proven.
    """

    value: Array
    policy: Indexes
    slack: Array
    evaluations: int
    divided: int
    searched: int


@njit(cache=True, inline="always")
def _utility(c: float, eta: float) -> float:
    return c if eta == 0.0 else crra(c, eta)


@njit(cache=True)
def _best(cost: Array, ev: Array, wealth: float, eta: float, low: int, high: int) -> tuple[float, int, float, float]:
    """The best number from ``low`` to ``high``, the lowest of equals, and the objectives of both ends."""
    best = first = last = -np.inf
    index = -1
    for i in range(low, high + 1):
        last = _utility(wealth - cost[i], eta) + ev[i]
        if i == low:
            first = last
        if last > best:
            best = last
            index = i
    return best, index, first, last


@njit(cache=True)
def _divide(
    cost: Array, ev: Array, wealth: Array, eta: float, least: Indexes, most: Indexes, policy: Indexes, value: Array
) -> int:
    """Divide and conquer, level by level as in :mod:`beltline.gpu_ref.exact`; returns evaluations."""
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
                # Two near ties on either side of a row that has no choice.
                low, high = least[row], most[row]
            value[row], policy[row], _, _ = _best(cost, ev, wealth[row], eta, low, high)
            evaluations += high - low + 1
        step //= 2
    return evaluations


@njit(cache=True)
def _repair(
    cost: Array,
    ev: Array,
    wealth: Array,
    eta: float,
    least: Indexes,
    most: Indexes,
    limit: int,
    policy: Indexes,
    value: Array,
    margins: Array,
) -> tuple[bool, int]:
    """Rounds of odd rows and of even ones until no choice moves: whether that was so, and evaluations.

    A row is maximised again when a neighbour moved in the half-round before. Where a bracket has no finite objective
    nothing is proven.
    """
    count = wealth.size
    moved = np.zeros(count, np.int32)
    evaluations = 0
    for number in range(1, limit + 1):
        changes = 0
        for p in range(number % 2, count, 2):
            if number > 2 and not (
                (p > 0 and moved[p - 1] == number - 1) or (p + 1 < count and moved[p + 1] == number - 1)
            ):
                continue
            low = max(least[p], policy[p - 1]) if p > 0 else least[p]
            high = min(most[p], policy[p + 1]) if p + 1 < count else most[p]
            best, index, at_low, at_high = _best(cost, ev, wealth[p], eta, low, high)
            evaluations += high - low + 1
            if index < 0:
                return False, evaluations
            if index != policy[p]:
                policy[p] = index
                moved[p] = number
                changes += 1
            value[p] = best
            # Nothing is allowed beyond an end that is a bound.
            margins[0, p] = best - at_low if low > least[p] else np.inf
            margins[1, p] = best - at_high if high < most[p] else np.inf
        if number >= 2 and changes == 0:
            return True, evaluations
    return False, evaluations


@njit(cache=True)
def _slack(ev: Array, eta: float, noise: float, value: Array, policy: Indexes, margins: Array) -> Array:
    """How far the value of each row may be from the true maximum; ``noise`` is what an expectation rounds.

    With ``e`` the error of an objective, a candidate of the bracket truly exceeds the computed value by ``e`` at most,
    and the choice by ``2 e``. One below the bracket exceeds the choice of the row before by no more than it does there,
    say ``t``, and so the value by ``t + e`` less the margin of the value over that choice. It exceeds this row's choice
    by ``t`` where both choices are the same, else by ``t + 2 e`` less the margin. Above, the same from the last row.
    """
    least, most = ev.min(), ev.max()
    power = DOUBLE * (abs(1.0 - eta) + 4.0)
    found = np.empty(value.size)
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
    return found


@njit(cache=True)
def _begin(number_of: Indexes, wanted: Indexes, rows: NDArray[Any], least: Indexes, most: Indexes) -> Indexes:
    """``wanted`` as a policy that does not fall and is allowed."""
    policy = np.empty(rows.size, np.int32)
    before = 0
    for p in range(rows.size):
        old = wanted[rows[p]]
        number = number_of[old] if 0 <= old < number_of.size else -1
        before = min(max(before, number, least[p]), most[p])
        policy[p] = before
    return policy


@njit(cache=True)
def _in_order(
    cost: Array, ev: Array, wealth: Array, eta: float, free: bool, noise: float,
    first: Indexes, last: Indexes, kept: Indexes, wanted: Indexes, value: Array, policy: Indexes, slack: Array,
) -> tuple[int, bool, bool]:  # fmt: skip
    """Fill ``value``, ``policy`` and ``slack``, ``(N_k,)``, of numbered candidates.

    Returns evaluations, whether it divided, and whether the outcome is proven: not so where roundings and
    overflows leave no policy that is allowed and does not fall.
    """
    rows, least, most = rows_in_order(cost, wealth, first, last, kept, free)
    value[:] = -np.inf
    policy[:] = -1
    slack[:] = 0.0
    if rows.size == 0:
        return 0, False, True
    price, promise, money = cost[kept], ev[kept], wealth[rows]
    number_of = np.full(cost.size, -1, np.int32)
    for k in range(kept.size):
        number_of[kept[k]] = k
    chosen = _begin(number_of, wanted, rows, least, most)
    best, margins = np.empty(rows.size), np.empty((2, rows.size))
    proof, evaluations = _repair(price, promise, money, eta, least, most, ROUNDS, chosen, best, margins)
    divided = not proof
    if divided:
        evaluations += _divide(price, promise, money, eta, least, most, chosen, best)
        # Rows whose every utility overflows have no choice either.
        some = chosen >= 0
        rows, least, most, money, best = rows[some], least[some], most[some], money[some], best[some]
        # What `_divide` found does not fall but for roundings next to such rows.
        chosen = _begin(np.arange(kept.size).astype(np.int32), chosen[some], np.arange(rows.size), least, most)
        margins = np.empty((2, rows.size))
        # It ends: a move raises an objective, or lowers the number of an equal one.
        proof, more = _repair(price, promise, money, eta, least, most, 1 << 30, chosen, best, margins)
        evaluations += more
    doubts = _slack(promise, eta, noise, best, chosen, margins)
    for p in range(rows.size):
        value[rows[p]] = best[p]
        policy[rows[p]] = kept[chosen[p]]
        slack[rows[p]] = doubts[p]
    return evaluations, divided, proof


@njit(cache=True)
def _in_full(
    cost: Array, ev: Array, wealth: Array, eta: float, free: bool, noise: float, low: Indexes, high: Indexes,
    value: Array, policy: Indexes, slack: Array,
) -> int:  # fmt: skip
    """Search every candidate in bounds of every row: evaluations."""
    evaluations = 0
    power = DOUBLE * (abs(1.0 - eta) + 4.0)
    least, most = ev.min(), ev.max()
    for x in range(wealth.size):
        best = -np.inf
        index = -1
        for i in range(low[x], high[x] + 1):
            if free or cost[i] < wealth[x]:
                objective = _utility(wealth[x] - cost[i], eta) + ev[i]
                evaluations += 1
                if objective > best:
                    best = objective
                    index = i
        value[x] = best
        policy[x] = index
        slack[x] = noise + power * max(abs(best - least), abs(best - most)) if index >= 0 else 0.0
    return evaluations


@njit(parallel=True, cache=True)
def _sweep(
    W: Array, G: Array, ev: Array, low: Indexes, high: Indexes, eta: float, free: bool, noise: Array,
    wanted: Indexes, value: Array, policy: Indexes, slack: Array, counts: NDArray[np.int64],
) -> None:  # fmt: skip
    """All exogenous states; ``counts``, ``(N_z, 3)``: evaluations, whether it divided or searched in full."""
    grid = W.shape[0]
    for s in prange(W.shape[1]):
        wealth, cost = W[:, s].copy(), G[:, s].copy()
        lows, highs = low[:, s].copy(), high[:, s].copy()
        best, chosen, doubts = np.empty(grid), np.empty(grid, np.int32), np.empty(grid)
        first, last = windows(lows, highs)
        kept, order = numbered(cost, ev[s], first, last, free)
        proof = False
        if order != UNORDERED:
            counts[s, 0], divided, proof = _in_order(
                cost, ev[s], wealth, eta, free, noise[s], first, last, kept, wanted[:, s].copy(), best, chosen, doubts
            )
            counts[s, 1] = 1 if divided else 0
            if order == BY_COST:
                doubts += 2.0 * noise[s]
        if not proof:
            counts[s, 0] += _in_full(cost, ev[s], wealth, eta, free, noise[s], lows, highs, best, chosen, doubts)
            counts[s, 2] = 1
        value[:, s] = best
        policy[:, s] = chosen
        slack[:, s] = doubts


def continuation(tables: Tables, V: Array) -> Array:
    """``kappa(s) + beta(s) sum_s' Q(s, s') sum_r mix(r) V_r(x', s')``, ``(N_z, N_k)``; ``V`` is ``(N_r, N_k, N_z)``."""
    mixed = np.zeros(V.shape[1:])
    for chance, value in zip(tables.mix, V, strict=True):
        if chance:
            mixed += chance * value
    ev: Array = expectation(tables.transition, mixed, 1.0) * tables.beta[:, None] + tables.kappa[:, None]
    return ev


def expectation_noise(tables: Tables, V: Array, eta: float) -> Array:
    """What :func:`continuation` and the logarithm of a utility round at most, ``(N_z,)``, units of utility."""
    regimes, _, states = V.shape
    largest = float(np.abs(V).max())
    terms = (states + regimes + 6) * tables.beta * largest + 2.0 * np.abs(tables.kappa)
    noise: Array = 1.001 * DOUBLE * (terms + (eta == 1.0))
    return noise


def proven_branch(tables: Tables, V: Array, eta: float, *, negative: bool = False, policy: ArrayLike = -1) -> Swept:
    """Sweep one alternative exactly; about three evaluations a state where ``policy`` is nearly right.

    Parameters
    ----------
    tables
        Of a checked :class:`beltline.gpu_ref.general.form.Branch`.
    V
        ``(N_r, N_k, N_z)``, finite, units of utility.
    eta, negative
        As of :class:`beltline.gpu_ref.general.form.Form`.
    policy
        Indexes of ``x'`` to begin from, ``(N_k, N_z)`` or a number. Decides what the sweep takes, and which of choices
        within :attr:`Swept.slack` is returned.

    Raises
    ------
    ValueError
        ``policy`` has another shape.

    Example
    -------
    >>> import numpy as np
    >>> from beltline.gpu_ref.general import Branch, Form, proven_branch
    >>> grid = np.linspace(0.0, 1.0, 5)[:, None]
    >>> form = Form((Branch("save", 0, wealth=0.1 + grid, cost=grid, transition=np.eye(1), beta=0.9),), eta=2.0)
    >>> proven_branch(form.alternatives[0].at(), form.start(5.0 * grid[None]), 2.0).policy[:, 0]
    array([0, 0, 1, 1, 2], dtype=int32)
    """
    shape = tables.wealth.shape
    wanted = np.asarray(policy, np.int32)
    if wanted.ndim and wanted.shape != shape:
        raise ValueError(f"policy must be an index or have shape {shape}, not {wanted.shape}")
    wanted = np.ascontiguousarray(np.broadcast_to(wanted, shape))
    value, found = np.empty(shape), np.empty(shape, np.int32)
    slack, counts = np.empty(shape), np.zeros((shape[1], 3), np.int64)
    with threads(threads_for(value.size)):
        _sweep(
            tables.wealth, tables.cost, continuation(tables, V), tables.low, tables.high, float(eta), negative,
            expectation_noise(tables, V, eta), wanted, value, found, slack, counts,
        )  # fmt: skip
    evaluations, divided, searched = (int(n) for n in counts.sum(axis=0))
    return Swept(value, found, slack, evaluations, divided, searched)
