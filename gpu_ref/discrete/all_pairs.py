"""The Bellman operator of a discrete program, and the pairs that can still be the best if its value is off.

Every pair is evaluated. An expectation over ``w`` next states takes ``w`` products and sums and one product by
``beta``; adding the reward rounds once more. Products near the smallest number are rounded to a multiple of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.bounds import ROUND_UP
from beltline.gpu_ref.discrete.program import DOUBLE, SMALLEST, Program
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads, threads_for

Numbers = NDArray[np.int64]


@njit(parallel=True, cache=True)
def _best(
    first: Numbers, lottery: NDArray[np.int32], reward: Array, expected: Array, rounding: Array, value: Array,
    chosen: Numbers, error: Array, gap: Array, slack: Array,
) -> None:  # fmt: skip
    """Find the best pair of every state, its gap to all others, and the errors of its objective and of the value."""
    for i in prange(value.size):
        best, at, own = -np.inf, -1, 0.0
        others = -np.inf
        for j in range(first[i], first[i + 1]):
            objective = reward[j] + expected[lottery[j]]
            if objective == -np.inf:
                continue
            off = rounding[lottery[j]] + DOUBLE * abs(objective)
            if objective > best:
                others = max(others, best + own)
                best, at, own = objective, j, off
            else:
                others = max(others, objective + off)
        value[i], chosen[i], error[i], gap[i], slack[i] = best, at, own, np.inf, own
        if others > -np.inf:
            gap[i], slack[i] = best - own - others, max(own, others - best)


@njit(parallel=True, cache=True)
def _largest(
    first: Numbers, lottery: NDArray[np.int32], reward: Array, expected: Array, rounding: Array, change: Array,
    least: Array, table: Array, found: Array,
) -> None:  # fmt: skip
    """Fill the largest entry of ``table``, by lottery, among pairs that may be worth ``least`` or more."""
    for i in prange(found.size):
        most = 0.0
        for j in range(first[i], first[i + 1]):
            k = lottery[j]
            objective = reward[j] + expected[k]
            if objective + rounding[k] + 2.0 * DOUBLE * abs(objective) + change[k] >= least[i]:
                most = max(most, table[k])
        found[i] = most


def distance(one: Array, other: Array) -> Array:
    """Return the absolute difference of two values; 0 where both are minus infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(one == other, 0.0, np.abs(one - other))


class Applied:
    """The Bellman operator of a discrete program applied to a value, ``(n,)``, finite or minus infinity.

    Attributes
    ----------
    value, chosen
        ``TV`` and the first of the best pairs of every state; minus infinity and -1 where no pair has more.
    error, slack, gap
        Bounds on the errors of the objective of that pair and of ``TV``, and a lower bound on its gap to every other.
    """

    def __init__(self, program: Program, V: Array) -> None:
        self.program, self.expected = program, program.expected(V)
        # One unit more than the operations need covers the rounding of the bound.
        sizes = np.where(V == -np.inf, 0.0, np.abs(V))
        self.rounding = 1.01 * (program.width + 3) * (DOUBLE * program.expected(sizes) + SMALLEST)
        self.value, self.error, self.gap, self.slack = (np.empty(program.states) for _ in range(4))
        self.chosen = np.empty(program.states, np.int64)
        with threads(threads_for(program.pairs)):
            _best(*self._tables, self.value, self.chosen, self.error, self.gap, self.slack)

    @property
    def _tables(self) -> tuple[Numbers, NDArray[np.int32], Array, Array, Array]:
        program = self.program
        return program.first, program.lottery, program.reward, self.expected, self.rounding

    def off(self, V: Array) -> Array:
        """Bound ``|TV - V|`` by state."""
        found: Array = (distance(self.value, V) * (1.0 + DOUBLE) + self.slack) * (1.0 + 2.0 * DOUBLE)
        return found

    def largest(self, change: Array, least: Array, table: Array) -> Array:
        """Return the largest entry of ``table``, ``(K,)``, among pairs that may be worth ``least``, ``(n,)``.

        ``change`` is how far the expectation of each lottery may be off.
        """
        found = np.empty(self.program.states)
        with threads(threads_for(self.program.pairs)):
            _largest(*self._tables, change, least, table, found)
        return found


class PossiblePairs:
    """The pairs that can still be the best if the value was off by at most ``errors``, ``(n,)``."""

    def __init__(self, applied: Applied, errors: Array) -> None:
        self._applied, program = applied, applied.program
        self._change = program.expected(errors) * ROUND_UP
        self.own = self._change[program.lottery[applied.chosen]]
        self._least = applied.value - applied.error - self.own - 4.0 * DOUBLE * np.abs(applied.value)
        self.most = self._largest(self._change)

    @property
    def pairs(self) -> NDArray[np.bool_]:
        """Whether each pair is possible, ``(L,)``."""
        program, applied = self._applied.program, self._applied
        objective = program.reward + applied.expected[program.lottery]
        off = (applied.rounding + self._change)[program.lottery] + 2.0 * DOUBLE * np.abs(objective)
        possible: NDArray[np.bool_] = objective + off >= self._least[program.state]
        return possible

    def _largest(self, table: Array) -> Array:
        return self._applied.largest(self._change, self._least, table)

    def error_of(self, pairs: Numbers) -> Array:
        """Return the error of the objectives of ``pairs``, ``(n,)``."""
        return self._change[self._applied.program.lottery[pairs]]

    def expected(self, errors: Array) -> Array:
        """As :class:`beltline.gpu_ref.bounds.Possible`."""
        return self._largest(self._applied.program.expected(errors) * ROUND_UP)

    def reached(self, table: Array) -> Array:
        """As :class:`beltline.gpu_ref.bounds.Possible`."""
        chances = self._applied.program.chances
        return self._largest(np.maximum.reduceat(table[chances.indices], chances.indptr[:-1]))
