"""Apply the Bellman operator of a general problem once: compiled sweeps of all alternatives.

Exogenous states run in parallel; the rows of one exogenous state run in a fixed order
(:mod:`beltline.gpu_ref.general.column`). So every bit of the result is the same on any number of threads.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.general.candidates import Indexes
from beltline.gpu_ref.general.column import forced, forced_utility, searched
from beltline.gpu_ref.general.log_sum import growth, log_sum_error
from beltline.gpu_ref.general.packed import FORCED, TABLE, Packed
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import DOUBLE


class Found(NamedTuple):
    """Arrays that a sweep fills; exogenous states come before ``x``.

    Attributes
    ----------
    value, choice
        ``(N_r, N_z, N_k)``, ``float64`` and ``int32``: value of each regime, units of utility; the number of its best
        alternative, the first of equals.
    values, policy, slack
        ``(N_d, N_z, N_k)``, by alternative: value, ``-inf`` where it cannot be taken; the best ``x'``, -1 there; and a
        bound on the distance of the value from the same sweep in exact arithmetic, units of utility.
    probabilities
        ``(N_d, N_z, N_k)``, of each alternative, with taste shocks; otherwise empty.
    facts
        ``(N_z, 3)``: largest change of ``value``; its largest rounding error, if requested (both in units of utility);
        1 if all of it is finite, else 0.
    counts
        ``(N_d, N_z, 3)``: utilities computed; 1 if divide and conquer was needed; 1 if searched in full.
    """

    value: Array
    choice: Indexes
    values: Array
    policy: Indexes
    slack: Array
    probabilities: Array
    facts: Array
    counts: NDArray[np.int64]


@njit(cache=True)
def mixed_values(packed: Packed, V: Array, reach: NDArray[np.int64]) -> Array:
    """Average the values of the regimes to which an alternative leads: ``sum_r mix_d(r) V_r``, ``(N_d, N_z, N_k)``.

    Filled only for alternatives that lead to several regimes, and only for ``x'`` within ``reach``, ``(N_d, 2)``.
    """
    mixed = np.empty(packed.low.shape)
    for d in range(packed.kind.size):
        if packed.kind[d] == TABLE or packed.leads_to[d] >= 0:
            continue
        begin, end = reach[d, 0], min(reach[d, 1], V.shape[2] - 1)
        for t in range(V.shape[1]):
            row = mixed[d, t]
            row[begin : end + 1] = 0.0
            for r in range(V.shape[0]):
                if packed.mix[d, r] != 0.0:
                    for i in range(begin, end + 1):
                        row[i] += packed.mix[d, r] * V[r, t, i]
    return mixed


def chunks_of(states: int, used: int) -> int:
    """Return into how many chunks to divide exogenous states, so that ``used`` threads have about the same work."""
    return 1 if used == 1 else min(states, 4 * used)


@njit(cache=True)
def expected(
    block: Array, transition: Array, beta: Array, kappa: Array, states: tuple[int, int], reach: tuple[int, int],
    ev: Array,
) -> None:  # fmt: skip
    """Fill ``ev``, ``(N_z, N_k)``, with ``kappa + beta sum_s' Q(s, s') V(x', s')`` at some ``s`` and ``x'``.

    ``block``, ``(N_z, N_k)``, is ``V``; ``states`` and ``reach`` are the first ``s`` and ``x'`` and those after the
    last ones. Sums run in the order of ``s'``.
    """
    # The compiler vectorises loops only if it knows that indexes are not negative.
    begin, end = np.uint64(reach[0]), np.uint64(reach[1])
    count = transition.shape[0]
    for s in range(states[0], states[1]):
        for i in range(begin, end):
            ev[s, i] = 0.0
        # Four states at a time, added in the same order: each sum is read and written once for four products.
        for t in range(0, count - 3, 4):
            a, b, c, e = transition[s, t], transition[s, t + 1], transition[s, t + 2], transition[s, t + 3]
            for i in range(begin, end):
                ev[s, i] = (((ev[s, i] + a * block[t, i]) + b * block[t + 1, i]) + c * block[t + 2, i]) + e * block[
                    t + 3, i
                ]
        for t in range(count - count % 4, count):
            chance = transition[s, t]
            for i in range(begin, end):
                ev[s, i] += chance * block[t, i]
        for i in range(begin, end):
            ev[s, i] = ev[s, i] * beta[s] + kappa[s]


@njit(cache=True)
def _best_of(regimes: NDArray[np.int64], values: Array, r: int, s: int, value: Array, choice: Indexes) -> None:
    """Fill the value and the number of the best alternative of regime ``r``, the first of equals, ``(N_k,)`` each."""
    first = True
    for d in range(regimes.size):
        if regimes[d] == r:
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
def log_sum(
    regimes: NDArray[np.int64], values: Array, r: int, s: int, sigma: float, value: Array, probabilities: Array,
    begin: int = 0,
) -> None:  # fmt: skip
    """Turn the largest ``v_d`` of regime ``r`` into ``sigma log sum_d exp(v_d / sigma)``, and fill the probabilities.

    ``value`` has the points from ``begin`` on. The largest ``v_d`` is subtracted from the exponents, so that none
    overflows. Where it is not finite, it stays.
    """
    total, end = np.zeros(value.size), begin + value.size
    for number in range(2):
        for d in range(regimes.size):
            if regimes[d] == r:
                own, chance = values[d, s, begin:end], probabilities[d, s, begin:end]
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
def _regime_slack(packed: Packed, found: Found, r: int, s: int, sigma: float) -> float:
    """Return a bound on the distance of the computed value of regime ``r`` from the one in exact arithmetic.

    Without taste shocks the maximum lies between the largest ``v_d - slack_d`` and the largest ``v_d + slack_d``, so an
    alternative far below the best does not matter, however large its slack. The same holds for a log-sum
    (:mod:`beltline.gpu_ref.general.log_sum`), which also rounds: an exponent is off by two roundings of itself,
    weighted by its exponential, which makes at most ``1 / e``; exponential, sum, logarithm, product and the last sum
    add a few roundings each. Units of utility.
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
            worst = max(worst, log_sum_error(grown, total, above - top, packed.regime.size, sigma) + rounding)
        else:
            # The sums above are rounded as well.
            worst = max(worst, max(above - value, value - below) + DOUBLE * 4.0 * abs(value))
    return worst


@njit(cache=True)
def _aggregate(packed: Packed, V: Array, s: int, sigma: float, with_slack: bool, found: Found) -> None:
    """Compute the value of each regime in exogenous state ``s`` from those of its alternatives."""
    change = regime_slack = 0.0
    finite = True
    for r in range(V.shape[0]):
        value = found.value[r, s]
        _best_of(packed.regime, found.values, r, s, value, found.choice[r, s])
        if sigma > 0.0:
            log_sum(packed.regime, found.values, r, s, sigma, value, found.probabilities)
        before = V[r, s]
        for x in range(value.size):
            change = max(change, abs(value[x] - before[x]))
            finite = finite and abs(value[x]) < np.inf
        if with_slack:
            regime_slack = max(regime_slack, _regime_slack(packed, found, r, s, sigma))
    facts = found.facts[s]
    facts[0], facts[1], facts[2] = change, regime_slack, 1.0 if finite else 0.0


@njit(cache=True)
def _some_states(
    packed: Packed, V: Array, mixed: Array, eta: float, sigma: float, negative: bool, largest_value: float,
    with_slack: bool, guess: Indexes, found: Found, states: tuple[int, int], ev: Array,
) -> None:  # fmt: skip
    """Maximise all alternatives in the exogenous states from the first to before the last of ``states``."""
    for d in range(packed.kind.size):
        if packed.kind[d] == TABLE:
            for s in range(states[0], states[1]):
                found.values[d, s] = packed.wealth[d, s]
                found.policy[d, s] = -1
                found.slack[d, s] = 0.0
            continue
        begin, end = packed.reach[d]
        block = V[packed.leads_to[d]] if packed.leads_to[d] >= 0 else mixed[d]
        expected(block, packed.transition[d], packed.beta[d], packed.kappa[d], states, (begin, end + 1), ev)
        for s in range(states[0], states[1]):
            _one_alternative(
                packed, eta, negative, largest_value, with_slack, guess, found, d, s, ev[s, begin : end + 1], ev[s]
            )  # fmt: skip
    for s in range(states[0], states[1]):
        _aggregate(packed, V, s, sigma, with_slack, found)


@njit(cache=True)
def _one_alternative(
    packed: Packed, eta: float, negative: bool, largest_value: float, with_slack: bool, guess: Indexes, found: Found,
    d: int, s: int, part: Array, ev: Array,
) -> None:  # fmt: skip
    """Maximise one alternative in one exogenous state, given its expectations ``ev``, in reach those of ``part``."""
    value, policy, slack = found.values[d, s], found.policy[d, s], found.slack[d, s]
    begin, end = packed.reach[d]
    ev[:begin] = ev[begin]
    ev[end + 1 :] = ev[begin]
    # Largest rounding error of the expectation, and of the logarithm if that is the utility.
    terms = (packed.beta.shape[1] + found.value.shape[0] + 6) * packed.beta[d, s] * largest_value
    ev_error = 1.001 * DOUBLE * (terms + 2.0 * abs(packed.kappa[d, s]) + (1.0 if eta == 1.0 else 0.0))
    tags, cached = packed.tags[d, s], packed.cached[d, s]
    stale = packed.stale[d, s]
    if packed.kind[d] == FORCED:
        utility = cached.reshape(-1)[: ev.size]
        if stale:
            found.counts[d, s, 0] = forced_utility(
                packed.cost[d, s], packed.wealth[d, s], eta, negative, packed.low[d, s], utility
            )
        least, most = part.min(), part.max()
        forced(utility, ev, eta, ev_error, packed.low[d, s], least, most, with_slack, value, policy, slack)
        packed.stale[d, s] = False
    else:
        # A utility of eta = 0 or 2 (a division) is computed as fast as it is read from the cache.
        if packed.new_tables[d, s] or eta == 0.0 or eta == 2.0:
            tags, cached = tags[:0], cached[:0]
        elif stale:
            tags[:] = -1
            packed.stale[d, s] = False
        evaluations, divided, in_full, packed.many_moved[d, s] = searched(
            packed.cost[d, s], ev, packed.wealth[d, s], eta, negative, ev_error, packed.low[d, s],
            packed.high[d, s], packed.first[d, s], packed.last[d, s], packed.all_allowed[d, s], tags, cached,
            guess[d, s], packed.many_moved[d, s], with_slack, value, policy, slack,
        )  # fmt: skip
        found.counts[d, s] = evaluations, divided, in_full
    packed.new_tables[d, s] = False


@njit(parallel=True, cache=True)
def _sweep(
    packed: Packed, V: Array, mixed: Array, eta: float, sigma: float, negative: bool, largest_value: float,
    with_slack: bool, guess: Indexes, found: Found, chunks: int,
) -> None:  # fmt: skip
    """Run :func:`_some_states` for all exogenous states, in parallel."""
    _, states, grid = V.shape
    ev = np.empty((states, grid))
    for chunk in prange(chunks):
        some = chunk * states // chunks, (chunk + 1) * states // chunks
        _some_states(packed, V, mixed, eta, sigma, negative, largest_value, with_slack, guess, found, some, ev)


def swept(
    packed: Packed, V: Array, eta: float, sigma: float, negative: bool, guess: Indexes, *, with_slack: bool = True
) -> Found:
    """Maximise once from ``V``, ``(N_r, N_z, N_k)``, starting from the policy ``guess``, ``(N_d, N_z, N_k)``.

    ``V`` must be finite; nothing is checked. ``with_slack`` says whether to compute rounding errors.
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
    largest_value = float(np.abs(V).max()) if with_slack else 0.0
    used = threads_for(states * grid)
    with threads(used):
        mixed = mixed_values(packed, V, packed.reach)
        _sweep(
            packed, V, mixed, eta, sigma, negative, largest_value, with_slack, guess, found, chunks_of(states, used)
        )  # fmt: skip
    return found
