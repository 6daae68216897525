"""Policy evaluation, compiled: steps of value iteration in which every choice of ``x'`` is fixed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.general.candidates import Indexes
from beltline.gpu_ref.general.packed import TABLE, Packed
from beltline.gpu_ref.general.sweep import expected, log_sum, mixed_values
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for
from beltline.gpu_ref.utility import crra


class Choices(NamedTuple):
    """A fixed policy, with its utilities and working memory.

    Attributes
    ----------
    policy
        ``(N_d, N_z, N_k)``, ``int32``: index of ``x'``; -1 where there is none.
    utility
        ``(N_d, N_z, N_k)``: utility of what these choices leave to consume, at the tables given to :func:`fixed`.
    reach
        ``(N_d, 2)``: the lowest and the highest ``x'`` chosen.
    values
        ``(N_d, N_z, N_k)``: values of alternatives after the last step.
    probabilities
        The same shape: choice probabilities after the last step, with taste shocks; otherwise empty.
    """

    policy: Indexes
    utility: Array
    reach: NDArray[np.int64]
    values: Array
    probabilities: Array


class Step(NamedTuple):
    """Outcome of evaluation steps.

    Attributes
    ----------
    value
        ``(N_r, N_z, N_k)``, units of utility.
    mean
        ``(N_r, N_z)``: mean over ``x`` of the change in the last step.
    largest
        Largest absolute change in the last step; infinite if one is not a number.
    """

    value: Array
    mean: Array
    largest: float


@njit(cache=True)
def _utilities(packed: Packed, policy: Indexes, eta: float) -> tuple[Array, NDArray[np.int64]]:
    """Return utilities of a fixed policy, ``(N_d, N_z, N_k)``, and its lowest and highest ``x'``, ``(N_d, 2)``."""
    utility = np.empty(policy.shape)
    count, states, grid = policy.shape
    reach = np.zeros((count, 2), np.int64)
    for d in range(count):
        if packed.kind[d] == TABLE:
            utility[d] = packed.wealth[d]
            continue
        least, most = grid - 1, 0
        for s in range(states):
            for x in range(grid):
                i = policy[d, s, x]
                utility[d, s, x] = crra(packed.wealth[d, s, x] - packed.cost[d, s, i], eta) if i >= 0 else -np.inf
                if i >= 0:
                    least, most = min(least, i), max(most, i)
        reach[d] = min(least, most), most
    return utility, reach


def fixed(packed: Packed, policy: Indexes, eta: float, sigma: float) -> Choices:
    """Prepare the evaluation of ``policy``, ``(N_d, N_z, N_k)``, at the tables in ``packed``."""
    utility, reach = _utilities(packed, policy, eta)
    values = np.empty_like(utility)
    return Choices(policy, utility, reach, values, np.empty_like(utility if sigma > 0.0 else utility[:, :0]))


@njit(cache=True)
def _evaluate_state(
    packed: Packed, V: Array, mixed: Array, choices: Choices, sigma: float, value: Array, s: int
) -> None:
    """Make one evaluation step in exogenous state ``s``."""
    count, _, grid = choices.policy.shape
    ev = np.empty(grid)
    value[:, s] = -np.inf
    for d in range(count):
        own, utilities, chosen = choices.values[d, s], choices.utility[d, s], choices.policy[d, s]
        best = value[packed.regime[d], s]
        if packed.kind[d] == TABLE:
            own[:] = utilities
        else:
            begin, end = choices.reach[d]
            expected(packed, V, mixed, d, s, begin, end, ev)
            if begin == end:
                only = ev[begin]
                for x in range(grid):
                    own[x] = utilities[x] + only
            else:
                for x in range(grid):
                    own[x] = utilities[x] + ev[max(chosen[x], 0)]
        for x in range(grid):
            best[x] = max(best[x], own[x])
    if sigma > 0.0:
        for r in range(V.shape[0]):
            log_sum(packed, choices.values, r, s, sigma, value[r, s], choices.probabilities)


@njit(parallel=True, cache=True)
def _evaluate_once(packed: Packed, V: Array, mixed: Array, choices: Choices, sigma: float, value: Array) -> None:
    """Make one step from ``V`` with every ``x'`` fixed, into ``value``, both ``(N_r, N_z, N_k)``."""
    for s in prange(V.shape[1]):
        _evaluate_state(packed, V, mixed, choices, sigma, value, s)


@njit(cache=True)
def _steps(packed: Packed, V: Array, choices: Choices, sigma: float, steps: int) -> tuple[Array, Array, float]:
    """Take ``steps`` steps from ``V``, at least one; returns the fields of :class:`Step`.

    A compiled function must not return a named tuple to Python: its class is called for that, and an interrupt that
    arrived meanwhile, and is raised in this call, ends the process by a segmentation fault.
    """
    regimes, states, grid = V.shape
    value, before = np.empty_like(V), V
    for number in range(steps):
        if number == 1:
            value, before = np.empty_like(V), value
        elif number > 1:
            value, before = before, value
        _evaluate_once(packed, before, mixed_values(packed, before, choices.reach), choices, sigma, value)
    mean, largest = np.empty((regimes, states)), 0.0
    for r in range(regimes):
        for s in range(states):
            total = 0.0
            for x in range(grid):
                change = value[r, s, x] - before[r, s, x]
                total += change
                largest = max(largest, abs(change) if abs(change) < np.inf else np.inf)
            mean[r, s] = total / grid
    return value, mean, largest


def evaluation_steps(packed: Packed, V: Array, choices: Choices, sigma: float, steps: int) -> Step:
    """Take ``steps`` evaluation steps, at least one, from ``V``, ``(N_r, N_z, N_k)``, with every ``x'`` fixed."""
    # A step takes a few operations per state and next exogenous state, a sweep some fifty more: threads pay later.
    with threads(threads_for(V[0].size * (V.shape[1] + 8) // 100)):
        return Step(*_steps(packed, V, choices, sigma, steps))
