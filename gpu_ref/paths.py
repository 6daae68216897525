"""Evaluation of a policy along its paths: a pass solves each exogenous state exactly, given the values of the others.

The value of following choices ``g`` solves, for each exogenous state ``s``::

    V(x, s) = r(x, s) + a V(g(x, s), s),  a = beta Q(s, s),  r = u + beta sum over s' != s of Q(s, s') V(g(x, s), s')

A non-decreasing map of the grid into itself has only fixed points and chains that lead to them. So one pass over the
rows solves this: a row that stays has ``r / (1 - a)``; rows that rise follow from the top down, those that fall from
the bottom up. Every second exogenous state is solved given the values of the others, on any number of threads, and
then the rest given these. Such a pass shrinks the error by ``beta (1 - q) / (1 - beta q)`` at least, where ``q`` is the
lowest ``Q(s, s)``, usually by its square, and costs little more than a step of policy evaluation, which shrinks it by
``beta``. What is left is in part the same at all ``x``: the shift of :func:`beltline.gpu_ref.methods.shifts` removes
that first. Nothing here has to be exact, because the next maximising sweep is exact from whatever value it starts.

Source: block Gauss-Seidel iteration in red-black order (Varga 2000, "Matrix Iterative Analysis", section 3.4), with the
triangular form that a monotone policy gives to each block. All blocks at once would take two to three times as many
passes.
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit, prange, serial_and_parallel
from beltline.gpu_ref.chunk_expectation import expect_between
from beltline.gpu_ref.chunk_tables import Tables
from beltline.gpu_ref.tables import Array


@njit(cache=True)
def _pass_state(t: Tables, s: int, values: Array, others: Array) -> float:
    """Solve state ``s`` given ``values``, ``(N_z, N_k)``, of the others; return half the spread of its changes."""
    others[:] = 0.0
    for k in range(values.shape[0]):
        weight = t.beta * t.Q[s, k]
        if k != s and weight != 0.0:
            row = values[k]
            for x in range(others.size):
                others[x] += weight * row[x]
    own = t.beta * t.Q[s, s]
    stays = 1.0 / (1.0 - own)
    utility, policy, value = t.here[s], t.policy[s], values[s]
    least, most = np.inf, -np.inf
    for x in range(others.size - 1, -1, -1):
        y, before = policy[x], value[x]
        if y < x:
            continue
        # Rounding may make a path turn back: it then ends with the value before.
        value[x] = (utility[x] + others[x]) * stays if y == x else utility[x] + others[y] + own * value[y]
        change = value[x] - before
        least = change if change < least else least
        most = change if change > most else most
    for x in range(others.size):
        y, before = policy[x], value[x]
        if y < x:
            value[x] = utility[x] + others[y] + own * value[y]
            change = value[x] - before
            least = change if change < least else least
            most = change if change > most else most
    return (most - least) / 2.0


@njit(cache=True)
def _shift_state(value: Array, shift: float) -> None:
    """Shift a row of values, in a function because Numba takes ``+=`` in a parallel loop for a sum over threads."""
    value += shift


def _follow(t: Tables, now: int, shift: Array, target: float, most: int) -> tuple[int, bool]:
    """Evaluate the policy from the values ``now``, 0 or 1, plus ``shift``, ``(N_z,)``, in at most ``most`` passes.

    Passes end when one changes the values of no exogenous state by a spread above twice ``target``. Returns their
    number, and whether ``EV`` of the last is finite.
    """
    values, others, spreads = t.values[now], np.empty(t.W.shape), np.zeros(t.W.shape[0])
    for s in prange(spreads.size):
        _shift_state(values[s], shift[s])
    done, spread = 0, np.inf
    while done < most and not spread < target:
        for first in range(2):
            for k in prange((spreads.size - first + 1) // 2):
                # The index of a parallel loop has no sign: another type, for which all would be compiled again.
                s = 2 * np.int64(k) + first
                spreads[s] = _pass_state(t, s, values, others[s])
        spread = spreads.max()
        done += 1
    beyond = 0
    for c in prange((t.X.size - 1) // t.chunk + 1):
        begin = c * t.chunk
        end = min(begin + t.chunk, t.X.size)
        beyond += 0 if expect_between(t.Q, t.beta, values, t.both[now], begin, end) else 1
    return done, beyond == 0


serial_follow, parallel_follow = serial_and_parallel(_follow)
