"""Evaluation of a policy along its paths: a pass solves each exogenous state exactly, given the values of the others.

The value of following choices ``g`` solves, for each exogenous state ``s``::

    V(x, s) = r(x, s) + a V(g(x, s), s),  a = beta Q(s, s),  r = u + beta sum over s' != s of Q(s, s') V(g(x, s), s')

A non-decreasing map of the grid into itself has only fixed points and chains that lead to them. So one pass over the
rows solves this: a row that stays has ``r / (1 - a)``; rows that rise follow from the top down, those that fall from
the bottom up. A pass over all exogenous states shrinks the error by ``beta (1 - q) / (1 - beta q)`` at least, where
``q`` is the lowest ``Q(s, s)``, and costs little more than a step of policy evaluation, which shrinks it by ``beta``.
What is left is in part the same at all ``x``: the shift of :func:`beltline.gpu_ref.methods.shifts` removes that first.
Nothing here has to be exact, because the next maximising sweep is exact from whatever value it starts.

Source: block Jacobi iteration (Varga 2000, "Matrix Iterative Analysis", section 3.4), with the triangular form that a
monotone policy gives to each block.
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit, prange, serial_and_parallel
from beltline.gpu_ref.chunk_expectation import expect_between
from beltline.gpu_ref.chunk_tables import Tables
from beltline.gpu_ref.tables import Array


@njit(cache=True)
def _pass_state(t: Tables, s: int, old: Array, value: Array, others: Array) -> tuple[float, float]:
    """Solve exogenous state ``s`` given ``old``, the values of all; return the least and the largest change."""
    states, grid = old.shape
    others[:] = 0.0
    for k in range(states):
        weight = t.beta * t.Q[s, k]
        if k != s and weight != 0.0:
            row = old[k]
            for x in range(grid):
                others[x] += weight * row[x]
    own = t.beta * t.Q[s, s]
    stays = 1.0 / (1.0 - own)
    utility, policy, before = t.here[s], t.policy[s], old[s]
    for x in range(grid - 1, -1, -1):
        y = policy[x]
        if y == x:
            value[x] = (utility[x] + others[x]) * stays
        elif y > x:
            # Rounding may make a path turn back: it then ends with the value before.
            value[x] = utility[x] + others[y] + own * (value[y] if policy[y] >= y else before[y])
    least, most = np.inf, -np.inf
    for x in range(grid):
        y = policy[x]
        if y < x:
            value[x] = utility[x] + others[y] + own * value[y]
        change = value[x] - before[x]
        least = change if change < least else least
        most = change if change > most else most
    return least, most


@njit(cache=True)
def _shift_state(value: Array, shift: float) -> None:
    """Shift a row of values, in a function because Numba takes ``+=`` in a parallel loop for a sum over threads."""
    value += shift


@njit(cache=True)
def _spread(low: Array, high: Array) -> float:
    """Return the largest spread of changes, halved."""
    return float((high - low).max() / 2.0)


def _follow(t: Tables, now: int, shift: Array, target: float, most: int) -> tuple[int, bool]:
    """Evaluate the policy from the values ``now``, 0 or 1, plus ``shift``, ``(N_z,)``, in at most ``most`` passes.

    Passes end when one changes the values of no exogenous state by a spread above twice ``target``. Returns their
    number, and whether ``EV`` of the last is finite. ``now + `` that number, modulo 2, is where the values are.
    """
    states, grid = t.W.shape
    others = np.empty((states, grid))
    low, high = np.empty(states), np.empty(states)
    for s in prange(states):
        _shift_state(t.values[now, s], shift[s])
    done, spread = 0, np.inf
    while done < most and not spread < target:
        old, value = t.values[(now + done) % 2], t.values[(now + done + 1) % 2]
        for s in prange(states):
            # The index of a parallel loop has no sign: another type, for which all would be compiled again.
            low[s], high[s] = _pass_state(t, np.int64(s), old, value[s], others[s])
        spread = _spread(low, high)
        done += 1
    now = (now + done) % 2
    return done, expect_between(t.Q, t.beta, t.values[now], t.both[now], 0, grid)


serial_follow, parallel_follow = serial_and_parallel(_follow)
