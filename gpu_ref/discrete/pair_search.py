"""Search a discrete program: all pairs, or by divide and conquer if rewards have increasing differences.

Within a group, let ``x = 0, 1, ...`` be the states and ``c`` the lotteries, in their order. Suppose that every ``x``
can choose the lotteries ``lo(x)`` to ``hi(x)``, neither of which falls in ``x``, and that for neighbours ``x, x + 1``
and ``c, c + 1``, all four allowed::

    R(x + 1, c + 1) - R(x + 1, c)  >=  R(x, c + 1) - R(x, c)

Adding this up over rows and candidates gives increasing differences for any two rows, since all rows between them may
choose what both may choose. So the lowest best choice does not fall in ``x``, whatever the value is (Topkis 1978; the
argument of :mod:`beltline.gpu_ref.exact` with ``R`` in place of utility), and the choices of two rows are bounds for
all rows between them (Gordon and Qiu 2018).

The test of the differences allows for rounding of the table, and the result does not depend on it: the sweep that ends
an iteration searches every pair, and so does :mod:`beltline.gpu_ref.discrete.exact_step`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.discrete.program import DOUBLE, Program
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for

Numbers = NDArray[np.int64]

ALLOWANCE = 4.0 * DOUBLE
"""Tolerance for a difference of rewards, as a share of the sum of their absolute values."""


@njit(parallel=True, cache=True)
def _all_pairs(
    first: Numbers, lottery: NDArray[np.int32], reward: Array, expected: Array, value: Array, chosen: Numbers
) -> None:
    """Search every pair of every state."""
    for i in prange(value.size):
        best, at = -np.inf, -1
        for j in range(first[i], first[i + 1]):
            objective = reward[j] + expected[lottery[j]]
            if objective > best:
                best, at = objective, j
        value[i] = best
        chosen[i] = at


@njit(parallel=True, cache=True)
def _by_order(
    order: Numbers,
    begin: Numbers,
    first: Numbers,
    lottery: NDArray[np.int32],
    reward: Array,
    expected: Array,
    value: Array,
    chosen: Numbers,
    evaluations: Numbers,
) -> None:
    # With the rows of a group numbered from 1, a level has the odd multiples of `step`.
    """Search each group by divide and conquer on the monotone choice."""
    for g in prange(begin.size - 1):
        rows = order[begin[g] : begin[g + 1]]
        step = 1
        while 2 * step <= rows.size:
            step *= 2
        count = 0
        while step > 0:
            for t in range((rows.size // step + 1) // 2):
                row = (2 * t + 1) * step - 1
                i = rows[row]
                low, high = first[i], first[i + 1] - 1
                pair = low - lottery[low]
                if row >= step and chosen[rows[row - step]] >= 0:
                    low = max(low, pair + lottery[chosen[rows[row - step]]])
                if row + step < rows.size and chosen[rows[row + step]] >= 0:
                    high = min(high, pair + lottery[chosen[rows[row + step]]])
                best, at = -np.inf, -1
                for j in range(low, high + 1):
                    objective = reward[j] + expected[lottery[j]]
                    if objective > best:
                        best, at = objective, j
                value[i] = best
                chosen[i] = at
                count += high - low + 1
            step //= 2
        evaluations[g] = count


@njit(parallel=True, cache=True)
def _ordered(
    order: Numbers, begin: Numbers, first: Numbers, lottery: NDArray[np.int32], reward: Array, found: NDArray[np.bool_]
) -> None:
    """Test for each group whether bounds rise and rewards have increasing differences."""
    for g in prange(begin.size - 1):
        good = True
        for row in range(begin[g], begin[g + 1]):
            i = order[row]
            low, high = first[i], first[i + 1] - 1
            if lottery[high] - lottery[low] != high - low:
                good = False
                break
            if row == begin[g]:
                continue
            before = order[row - 1]
            below, end = first[before], first[before + 1] - 1
            if lottery[low] < lottery[below] or lottery[high] < lottery[end]:
                good = False
                break
            # Compare all neighbouring lotteries that both states can choose: from that of `low` to that of `end`.
            shift = below + lottery[low] - lottery[below] - low
            for j in range(low, low + lottery[end] - lottery[low]):
                here = reward[j + 1] - reward[j]
                there = reward[j + shift + 1] - reward[j + shift]
                size = abs(reward[j + 1]) + abs(reward[j]) + abs(reward[j + shift + 1]) + abs(reward[j + shift])
                if here < there - ALLOWANCE * size:
                    good = False
                    break
            if not good:
                break
        found[g] = good


def increasing(program: Program) -> bool:
    """Return whether rewards have increasing differences in every group, so that choices bound their neighbours.

    False if every group has one state only, since there is then nothing to limit.
    """
    if program.groups == program.states:
        return False
    found = np.zeros(program.groups, np.bool_)
    with threads(threads_for(program.pairs)):
        _ordered(program.order, program.begin, program.first, program.lottery, program.reward, found)
    return bool(found.all())


def search(program: Program, expected: Array, ordered: bool) -> tuple[Array, Numbers, int]:
    """Maximise in every state.

    Parameters
    ----------
    program
        The discrete program.
    expected
        ``(K,)``, the discounted expectation of every lottery.
    ordered
        Whether to search by divide and conquer, which requires :func:`increasing`.

    Returns
    -------
    value
        ``(n,)``, ``float64``, units of utility.
    chosen
        ``(n,)``, ``int64``: the best pair, of equals that with the lowest lottery; -1 if no objective is above minus
        infinity.
    evaluations
        Number of pairs evaluated.
    """
    value, chosen = np.empty(program.states), np.empty(program.states, np.int64)
    tables = program.first, program.lottery, program.reward, expected, value, chosen
    with threads(threads_for(program.pairs)):
        if not ordered:
            _all_pairs(*tables)
            return value, chosen, program.pairs
        evaluations = np.zeros(program.groups, np.int64)
        _by_order(program.order, program.begin, *tables, evaluations)
    return value, chosen, int(evaluations.sum())
