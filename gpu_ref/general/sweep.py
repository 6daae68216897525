"""Compiled sweeps of all alternatives.

Exogenous states run in parallel, rows of one of them do not: the order of the rounds
(:mod:`beltline.gpu_ref.general.column`), and so every bit, is the same on any number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.general.candidates import Indexes
from beltline.gpu_ref.general.column import forced, forced_utility, searched
from beltline.gpu_ref.general.form import Tables
from beltline.gpu_ref.general.log_sum import growth, reach
from beltline.gpu_ref.general.packed import FORCED, TABLE, Packed, pack
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for


class Found(NamedTuple):
    """What a sweep finds; exogenous states come before ``x``.

    Attributes
    ----------
    value, choice
        ``(N_r, N_z, N_k)``, ``float64`` and ``int32``: units of utility; the first of the best alternatives.
    values, policy, slack
        ``(N_d, N_z, N_k)``, as of :class:`Swept`.
    probabilities
        ``(N_d, N_z, N_k)`` with taste shocks, else empty.
    facts
        ``(N_z, 3)``: largest change of ``value``; how far it may be from the sweep in real numbers, if asked for;
        whether all of it is finite. Units of utility.
    counts
        ``(N_d, N_z, 3)``: utilities computed; whether it divided; whether it searched in full.
    """

    value: Array
    choice: Indexes
    values: Array
    policy: Indexes
    slack: Array
    probabilities: Array
    facts: Array
    counts: NDArray[np.int64]


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
        Utilities that were computed.
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


@njit(cache=True)
def mixed_values(packed: Packed, V: Array, reach: NDArray[np.int64]) -> Array:
    """``sum_r mix_d(r) V_r``, ``(N_d, N_z, N_k)``, of alternatives that lead to several regimes, within ``reach``."""
    mixed = np.empty(packed.low.shape)
    for d in range(packed.kind.size):
        if packed.kind[d] == TABLE or packed.leads_to[d] >= 0:
            continue
        begin, end = reach[d]
        for t in range(V.shape[1]):
            row = mixed[d, t]
            row[begin : end + 1] = 0.0
            for r in range(V.shape[0]):
                if packed.mix[d, r] != 0.0:
                    for i in range(begin, end + 1):
                        row[i] += packed.mix[d, r] * V[r, t, i]
    return mixed


@njit(cache=True)
def expected(packed: Packed, V: Array, mixed: Array, d: int, s: int, begin: int, end: int, ev: Array) -> None:
    """``kappa + beta sum_s' Q(s, s') sum_r mix(r) V_r`` of the ``x'`` from ``begin`` to ``end``; elsewhere that of one.

    Summed in the order of ``s'``, whatever the range.
    """
    block = V[packed.leads_to[d]] if packed.leads_to[d] >= 0 else mixed[d]
    # Slices, whose indexes from 0 the compiler knows not to be negative, so that it takes several at a time.
    part = ev[begin : end + 1]
    part[:] = 0.0
    chances = packed.transition[d, s]
    states = V.shape[1]
    # Four at a time, in the same order of sums: a sum is read and written once for four products.
    for t in range(0, states - 3, 4):
        a, b, c, e = chances[t], chances[t + 1], chances[t + 2], chances[t + 3]
        one, two = block[t, begin : end + 1], block[t + 1, begin : end + 1]
        three, four = block[t + 2, begin : end + 1], block[t + 3, begin : end + 1]
        for i in range(part.size):
            part[i] = (((part[i] + a * one[i]) + b * two[i]) + c * three[i]) + e * four[i]
    for t in range(states - states % 4, states):
        chance, row = chances[t], block[t, begin : end + 1]
        for i in range(part.size):
            part[i] += chance * row[i]
    beta, kappa = packed.beta[d, s], packed.kappa[d, s]
    for i in range(part.size):
        part[i] = part[i] * beta + kappa
    ev[:begin] = ev[begin]
    ev[end + 1 :] = ev[begin]


@njit(cache=True)
def _best_of(packed: Packed, values: Array, r: int, s: int, value: Array, choice: Indexes) -> None:
    """The best alternative of regime ``r``, the first of equals, and its value, ``(N_k,)`` each."""
    first = True
    for d in range(packed.regime.size):
        if packed.regime[d] == r:
            own = values[d, s]
            if first:
                value[:] = own
                choice[:] = d
                first = False
            else:
                for x in range(own.size):
                    if own[x] > value[x]:
                        value[x], choice[x] = own[x], d


@njit(cache=True)
def log_sum(packed: Packed, values: Array, r: int, s: int, sigma: float, value: Array, probabilities: Array) -> None:
    """``sigma log sum_d exp(v_d / sigma)`` of regime ``r`` in place of its largest ``v_d``, and ``exp(v_d / sigma)``
    over the sum.

    The largest is taken out of the exponentials, so that none overflows; where it is not finite it stays.
    """
    total = np.zeros(value.size)
    for number in range(2):
        for d in range(packed.regime.size):
            if packed.regime[d] == r:
                own, chance = values[d, s], probabilities[d, s]
                for x in range(own.size):
                    if abs(value[x]) < np.inf:
                        if number == 0:
                            chance[x] = math.exp((own[x] - value[x]) / sigma)
                            total[x] += chance[x]
                        else:
                            chance[x] /= total[x]
    for x in range(value.size):
        if abs(value[x]) < np.inf:
            value[x] += sigma * math.log(total[x])


@njit(cache=True)
def _doubt(packed: Packed, found: Found, r: int, s: int, sigma: float) -> float:
    """How far the value of regime ``r`` may be from the one in real numbers at most, units of utility.

    Of a maximum counts who might truly be the best: an alternative far below may be as uncertain as it likes, and so it
    may in a log-sum (:mod:`beltline.gpu_ref.general.log_sum`). That is rounded: an exponent is off by two roundings of
    itself, weighted by its exponential, which is at most ``1 / e``; exponential, sum, logarithm, product and the last
    sum take a few each.
    """
    worst = 0.0
    for x in range(found.value.shape[2]):
        value = found.value[r, s, x]
        if not abs(value) < np.inf:
            continue
        above = below = top = -np.inf
        for d in range(packed.regime.size):
            if packed.regime[d] == r:
                own, slack = found.values[d, s, x], found.slack[d, s, x]
                above, below, top = max(above, own + slack), max(below, own - slack), max(top, own)
        if sigma > 0.0:
            grown = total = 0.0
            for d in range(packed.regime.size):
                if packed.regime[d] == r:
                    own = found.values[d, s, x]
                    total += math.exp((own - top) / sigma)
                    grown += growth(own - top, found.slack[d, s, x], sigma)
            rounding = DOUBLE * (4.0 * abs(value) + sigma * (8.0 + 4.0 * packed.regime.size))
            worst = max(worst, reach(grown, total, above - top, packed.regime.size, sigma) + rounding)
        else:
            # These sums round, too.
            worst = max(worst, max(above - value, value - below) + DOUBLE * 4.0 * abs(value))
    return worst


@njit(cache=True)
def _aggregate(packed: Packed, V: Array, s: int, sigma: float, doubts: bool, found: Found) -> None:
    """One value of each regime from those of its alternatives."""
    change = doubt = 0.0
    finite = True
    for r in range(V.shape[0]):
        value = found.value[r, s]
        _best_of(packed, found.values, r, s, value, found.choice[r, s])
        if sigma > 0.0:
            log_sum(packed, found.values, r, s, sigma, value, found.probabilities)
        before = V[r, s]
        for x in range(value.size):
            change = max(change, abs(value[x] - before[x]))
            finite = finite and abs(value[x]) < np.inf
        if doubts:
            doubt = max(doubt, _doubt(packed, found, r, s, sigma))
    facts = found.facts[s]
    facts[0], facts[1], facts[2] = change, doubt, 1.0 if finite else 0.0


@njit(cache=True)
def _one_state(
    packed: Packed, V: Array, mixed: Array, eta: float, sigma: float, free: bool, largest: float, doubts: bool,
    wanted: Indexes, found: Found, s: int,
) -> None:  # fmt: skip
    """All alternatives in exogenous state ``s``."""
    count, states, grid = packed.low.shape
    ev = np.empty(grid)
    for d in range(count):
        value, policy, slack = found.values[d, s], found.policy[d, s], found.slack[d, s]
        if packed.kind[d] == TABLE:
            value[:] = packed.wealth[d, s]
            policy[:] = -1
            slack[:] = 0.0
            continue
        begin, end = packed.reach[d]
        expected(packed, V, mixed, d, s, begin, end, ev)
        # What an expectation and the logarithm of a utility round at most.
        terms = (states + V.shape[0] + 6) * packed.beta[d, s] * largest + 2.0 * abs(packed.kappa[d, s])
        noise = 1.001 * DOUBLE * (terms + (1.0 if eta == 1.0 else 0.0))
        tags, known = packed.tags[d, s], packed.known[d, s]
        stale = packed.stale[d, s]
        if packed.kind[d] == FORCED:
            utility = known.reshape(-1)[:grid]
            if stale:
                found.counts[d, s, 0] = forced_utility(
                    packed.cost[d, s], packed.wealth[d, s], eta, free, packed.low[d, s], utility
                )
            part = ev[begin : end + 1]
            forced(utility, ev, eta, noise, packed.low[d, s], part.min(), part.max(), doubts, value, policy, slack)
            packed.stale[d, s] = False
        else:
            # A division, eta = 2, takes no longer than looking up what it gave.
            if packed.moving[d, s] or eta == 0.0 or eta == 2.0:
                tags, known = tags[:0], known[:0]
            elif stale:
                tags[:] = -1
                packed.stale[d, s] = False
            evaluations, divided, in_full, packed.far[d, s] = searched(
                packed.cost[d, s], ev, packed.wealth[d, s], eta, free, noise, packed.low[d, s], packed.high[d, s],
                packed.first[d, s], packed.last[d, s], packed.whole[d, s], tags, known, wanted[d, s], packed.far[d, s],
                doubts, value, policy, slack,
            )  # fmt: skip
            found.counts[d, s] = evaluations, divided, in_full
        packed.moving[d, s] = False
    _aggregate(packed, V, s, sigma, doubts, found)


@njit(parallel=True, cache=True)
def _sweep(
    packed: Packed, V: Array, mixed: Array, eta: float, sigma: float, free: bool, largest: float, doubts: bool,
    wanted: Indexes, found: Found,
) -> None:  # fmt: skip
    """All exogenous states; ``largest`` is the largest size of ``V``, ``wanted`` the choices to begin from."""
    for s in prange(V.shape[1]):
        _one_state(packed, V, mixed, eta, sigma, free, largest, doubts, wanted, found, s)


def swept(
    packed: Packed, V: Array, eta: float, sigma: float, negative: bool, wanted: Indexes, *, doubts: bool = True
) -> Found:
    """Maximise once from ``V``, ``(N_r, N_z, N_k)``, beginning from ``wanted``, ``(N_d, N_z, N_k)``.

    ``V`` must be finite; nothing is checked. Without ``doubts`` it is not said how far values may be off.
    """
    regimes = V.shape[0]
    count, states, grid = packed.low.shape
    values = np.empty((count, states, grid))
    found = Found(
        value=np.empty((regimes, states, grid)),
        choice=np.empty((regimes, states, grid), np.int32),
        values=values,
        policy=np.empty(values.shape, np.int32),
        slack=np.empty(values.shape),
        probabilities=np.zeros(values.shape if sigma > 0.0 else (0, states, grid)),
        facts=np.empty((states, 3)),
        counts=np.zeros((count, states, 3), np.int64),
    )
    largest = float(np.abs(V).max()) if doubts else 0.0
    with threads(threads_for(states * grid)):
        _sweep(packed, V, mixed_values(packed, V, packed.reach), eta, sigma, negative, largest, doubts, wanted, found)
    return found


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
    array([0, 0, 0, 1, 2], dtype=int32)
    """
    shape = tables.wealth.shape
    wanted = np.asarray(policy, np.int32)
    if wanted.ndim and wanted.shape != shape:
        raise ValueError(f"policy must be an index or have shape {shape}, not {wanted.shape}")
    first = np.ascontiguousarray(np.broadcast_to(wanted, shape).T)[None]
    V = np.ascontiguousarray(V.transpose(0, 2, 1))
    found = swept(pack([(0, tables)], V.shape[0]), V, float(eta), 0.0, negative, first)
    evaluations, divided, in_full = (int(n) for n in found.counts[0].sum(axis=0))
    return Swept(found.values[0].T, found.policy[0].T, found.slack[0].T, evaluations, divided, in_full)
