"""Policy evaluation, compiled: steps of value iteration in which every choice of ``x'`` is fixed.

With corrections (:mod:`beltline.gpu_ref.general.aggregation`) the choice of the alternative is fixed, too, and steps
are taken only at *recurrent* grid points. Take away all points to which no choice leads, then those to which none leads
any more, and so on: what remains is a set that no choice leaves. Each point that was taken away leads only to points
that stayed longer. So after the steps, one pass over those points in the reverse order gives their values exactly.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.general.aggregation import CYCLE, correction, factorised
from beltline.gpu_ref.general.candidates import Indexes
from beltline.gpu_ref.general.packed import TABLE, Packed
from beltline.gpu_ref.general.sweep import expected, log_sum, mixed_values
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.utility import crra

LEAST_GROUP = 8
"""Fewer points than this are not taken away: their values take as long as some steps there."""


class Choices(NamedTuple):
    """A fixed policy, with its utilities and working memory; grid points are in any order.

    Attributes
    ----------
    policy
        ``(N_d, N_z, N_k)``, ``uint32``: place of ``x'`` in that order; any place where there is none.
    utility
        ``(N_d, N_z, N_k)``: utility of what these choices leave to consume; ``-inf`` where there is none.
    reach
        ``(N_d, 2)``: the first and the last place chosen.
    ev, values
        ``(N_d, N_z, N_k)``: expectations and values of alternatives of the last step.
    probabilities
        The same shape: choice probabilities after the last step, with taste shocks; otherwise empty.
    """

    policy: NDArray[np.uint32]
    utility: Array
    reach: NDArray[np.int64]
    ev: Array
    values: Array
    probabilities: Array


@njit(cache=True)
def _order(
    policy: Indexes, taken: NDArray[np.bool_], recurrent: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # fmt: skip
    """Return grid points, recurrent ones first, then as they are evaluated, and the ends of the groups, from 0.

    Points of a group lead only to those of the groups before; those of the first group to that group. Unless
    ``recurrent``, that is all points, in their order.
    """
    count, states, grid = policy.shape
    chosen = np.zeros(grid, np.int64)
    for d in range(count):
        for s in range(states):
            for x in range(grid):
                if recurrent and taken[d, s, x] and policy[d, s, x] >= 0:
                    chosen[policy[d, s, x]] += 1
    order, ends = np.empty(grid, np.int64), np.empty(grid + 2, np.int64)
    groups, begin, end = 0, grid, grid
    for x in range(grid):
        if recurrent and chosen[x] == 0:
            begin -= 1
            order[begin] = x
    while end - begin >= LEAST_GROUP:
        ends[groups] = end
        groups, last = groups + 1, begin
        for place in range(begin, end):
            for d in range(count):
                for s in range(states):
                    i = policy[d, s, order[place]]
                    if taken[d, s, order[place]] and i >= 0:
                        chosen[i] -= 1
                        if chosen[i] == 0:
                            begin -= 1
                            order[begin] = i
        end = last
    # Points of a last, small group remain at the end of the first.
    place = 0
    for x in range(grid):
        if chosen[x] > 0 or not recurrent:
            order[place] = x
            place += 1
    ends[groups], ends[groups + 1] = end, 0
    found = np.empty(groups + 2, np.int64)
    for group in range(groups + 2):
        found[group] = ends[groups + 1 - group]
    return order, found


@njit(cache=True)
def _choices(
    packed: Packed, policy: Indexes, taken: NDArray[np.bool_], order: NDArray[np.int64], eta: float, sigma: float
) -> Choices:
    """Compute utilities of a policy, with grid points in ``order``."""
    count, states, grid = policy.shape
    utility, places = np.empty(policy.shape), np.zeros(policy.shape, np.uint32)
    place_of, reach = np.empty(grid, np.int32), np.zeros((count, 2), np.int64)
    for place in range(grid):
        place_of[order[place]] = place
    for d in range(count):
        first, last = grid - 1, 0
        for s in range(states):
            wealth, cost, chosen, counts = packed.wealth[d, s], packed.cost[d, s], policy[d, s], taken[d, s]
            for place in range(grid):
                x = order[place]
                i, u = chosen[x], -np.inf
                if packed.kind[d] == TABLE:
                    u = wealth[x] if counts[x] else u
                elif i >= 0 and counts[x]:
                    u = crra(wealth[x] - cost[i], eta)
                    places[d, s, place] = place_of[i]
                    first, last = min(first, place_of[i]), max(last, place_of[i])
                utility[d, s, place] = u
        reach[d, 0], reach[d, 1] = min(first, last), last
    probabilities = np.empty(policy.shape if sigma > 0.0 else (count, 0, grid))
    return Choices(places, utility, reach, np.zeros(policy.shape), np.empty(policy.shape), probabilities)


@njit(cache=True)
def _some_states(
    packed: Packed, V: Array, mixed: Array, choices: Choices, sigma: float, value: Array, known: tuple[int, int],
    asked: tuple[int, int], states: tuple[int, int],
) -> None:  # fmt: skip
    """Make one step in the exogenous states from the first to before the last of ``states``, as :func:`_step`."""
    # The compiler vectorises loops only if it knows that indexes are not negative.
    begin, end = np.uint64(asked[0]), np.uint64(asked[1])
    for r in range(V.shape[0]):
        for s in range(states[0], states[1]):
            for x in range(begin, end):
                value[r, s, x] = -np.inf
    for d in range(packed.kind.size):
        ev, own, utility, place = choices.ev[d], choices.values[d], choices.utility[d], choices.policy[d]
        best = value[packed.regime[d]]
        reach = max(known[0], choices.reach[d, 0]), min(known[1], choices.reach[d, 1] + 1)
        if packed.kind[d] != TABLE and reach[0] < reach[1]:
            block = V[packed.leads_to[d]] if packed.leads_to[d] >= 0 else mixed[d]
            expected(block, packed.transition[d], packed.beta[d], packed.kappa[d], states, reach, ev)
        for s in range(states[0], states[1]):
            for x in range(begin, end):
                # Expectations of alternatives without a choice are zeros.
                own[s, x] = utility[s, x] + ev[s, place[s, x]]
                best[s, x] = max(best[s, x], own[s, x])
    if sigma > 0.0:
        for r in range(V.shape[0]):
            for s in range(states[0], states[1]):
                log_sum(
                    packed.regime, choices.values, r, s, sigma, value[r, s, begin:end], choices.probabilities, asked[0]
                )  # fmt: skip


@njit(parallel=True, cache=True)
def _step(
    packed: Packed, V: Array, mixed: Array, choices: Choices, sigma: float, value: Array, known: tuple[int, int],
    asked: tuple[int, int], chunks: int,
) -> None:  # fmt: skip
    """Make one step from ``V`` into ``value``, ``(N_r, N_z, N_k)``, at the places ``asked``, the last not included.

    Expectations are computed at the places ``known``; those of others are those of earlier steps.
    """
    states = V.shape[1]
    for chunk in prange(chunks):
        some = chunk * states // chunks, (chunk + 1) * states // chunks
        _some_states(packed, V, mixed, choices, sigma, value, known, asked, some)


@njit(cache=True)
def _steps(
    packed: Packed, V: Array, choices: Choices, sigma: float, steps: int, chunks: int
) -> tuple[Array, Array, float]:  # fmt: skip
    """Take ``steps`` steps, at least one, from ``V``, ``(N_r, N_z, n)``, at the first ``n`` places.

    These places must lead only to each other. Returns the value; the mean change in the last step, ``(N_r, N_z)``; and
    the largest, infinite if one is not a number.
    """
    regimes, states, size = V.shape
    value, before = np.empty_like(V), V
    for number in range(steps):
        if number == 1:
            value, before = np.empty_like(V), value
        elif number > 1:
            value, before = before, value
        mixed = mixed_values(packed, before, choices.reach)
        _step(packed, before, mixed, choices, sigma, value, (0, size), (0, size), chunks)
    mean, largest = np.empty((regimes, states)), 0.0
    for r in range(regimes):
        for s in range(states):
            total = 0.0
            for x in range(size):
                change = value[r, s, x] - before[r, s, x]
                total += change
                largest = max(largest, abs(change) if abs(change) < np.inf else np.inf)
            mean[r, s] = total / max(size, 1)
    return value, mean, largest


@njit(cache=True)
def evaluated(
    packed: Packed, V: Array, policy: Indexes, choice: Indexes, probabilities: Array, eta: float, sigma: float,
    steps: int, step_tol: float, shares: Array, system: Array, chunks: int,
) -> Array:  # fmt: skip
    """Return the value of a policy after at most ``steps`` steps, at least 1, ``(N_r, N_z, N_k)``.

    Parameters
    ----------
    packed
        The tables for which the policy was found.
    V, policy, choice, probabilities
        As in :class:`~beltline.gpu_ref.general.sweep.Found`: value, units of utility, which is finite, and choices.
    eta, sigma
        Curvature of utility, and scale of taste shocks.
    step_tol
        Steps end when one changes the value by no more than this, units of utility. If negative, all steps are taken at
        all grid points, with any choice of alternatives, and without corrections.
    shares, system
        ``(N_d, N_z)``, at first infinite, and ``(N_r N_z, N_r N_z)``: memory of corrections between calls for the same
        transitions; no corrections if ``system`` has no rows.
    chunks
        Into how many parts to divide exogenous states for threads.
    """
    count, states, grid = policy.shape
    corrects, factors, taken = step_tol >= 0.0, False, np.ones(policy.shape, np.bool_)
    if corrects and sigma == 0.0:
        for d in range(count):
            for s in range(states):
                for x in range(grid):
                    taken[d, s, x] = choice[packed.regime[d], s, x] == d
    order, ends = _order(policy, taken, corrects)
    choices, size = _choices(packed, policy, taken, order, eta, sigma), ends[1]
    value = _at(V, order[:size])
    begin, number, largest = value, 1 if corrects else steps, np.inf
    while number > 0:
        after, mean, last = _steps(packed, begin, choices, sigma, number, chunks)
        steps -= number
        if corrects and factors and not last < largest:
            corrects = False
        else:
            value, largest = after, last
        if corrects and not factors:
            factors = corrects = (
                steps > 1
                and largest > step_tol
                and factorised(packed, choice, probabilities, order[:size], shares, system)
            )
        begin, number = value, steps if largest > step_tol else 0
        if corrects and number:
            number = min(steps, CYCLE) if steps > 1 else 0
            shift, begin = correction(system, mean), np.empty_like(value)
            for r in range(V.shape[0]):
                for s in range(states):
                    for place in range(size):
                        begin[r, s, place] = value[r, s, place] + shift[r, s]
    placed, found = np.empty_like(V), np.empty_like(V)
    for r in range(V.shape[0]):
        for s in range(states):
            for place in range(size):
                placed[r, s, place] = value[r, s, place]
    for group in range(1, ends.size - 1):
        known, asked = (ends[group - 1], ends[group]), (ends[group], ends[group + 1])
        mixed = mixed_values(packed, placed, choices.reach)
        _step(packed, placed, mixed, choices, sigma, placed, known, asked, chunks)
    for r in range(V.shape[0]):
        for s in range(states):
            for place in range(grid):
                found[r, s, order[place]] = placed[r, s, place]
    return found


@njit(cache=True)
def _at(V: Array, points: NDArray[np.int64]) -> Array:
    """Return the columns ``points`` of a value, ``(N_r, N_z, n)``."""
    found = np.empty((V.shape[0], V.shape[1], points.size))
    for r in range(V.shape[0]):
        for s in range(V.shape[1]):
            for place in range(points.size):
                found[r, s, place] = V[r, s, points[place]]
    return found
