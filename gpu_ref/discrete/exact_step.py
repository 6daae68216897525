"""Certify a value of a discrete program and its choices, by state (:mod:`beltline.gpu_ref.bounds` has the argument).

Every pair is evaluated once more. An expectation over ``w`` next states takes ``w`` products and sums and one product
by ``beta``; adding the reward rounds once more. Products near the smallest number are rounded to a multiple of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.gpu_ref.bounds import ROUND_UP, Certified, bound_by_state, status_of, uniform_bound
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
            off = rounding[lottery[j]] + DOUBLE * abs(objective)
            if objective > best:
                others = max(others, best + own)
                best, at, own = objective, j, off
            else:
                others = max(others, objective + off)
        value[i], chosen[i], error[i] = best, at, own
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


class Applied:
    """The Bellman operator of a discrete program applied to a finite value, ``(n,)``.

    Attributes
    ----------
    value, chosen
        ``TV`` and the first of the best pairs of every state.
    error, slack, gap
        Bounds on the errors of the objective of that pair and of ``TV``, and a lower bound on its gap to every other.
    """

    def __init__(self, program: Program, V: Array) -> None:
        self.program, self.expected = program, program.expected(V)
        # One unit more than the operations need covers the rounding of the bound.
        self.rounding = 1.01 * (program.width + 3) * (DOUBLE * program.expected(np.abs(V)) + SMALLEST)
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
        found: Array = (np.abs(self.value - V) * (1.0 + DOUBLE) + self.slack) * (1.0 + 2.0 * DOUBLE)
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


def certify(program: Program, value: Array, pairs: Numbers | None = None) -> Certified:
    """Certify a value, ``(n,)`` and finite, and the chosen pairs, ``(n,)``; by default the best ones.

    The policy of the result has pairs.
    """
    applied = Applied(program, value)
    sums = program.chances.sum(axis=1)
    least = float(program.beta * sums.min() * (1.0 - (program.width + 2) * DOUBLE))
    bound = bound_by_state(applied.off(value), program.modulus, least, lambda w: PossiblePairs(applied, w))
    given = applied.chosen if pairs is None else pairs
    maximal = given == applied.chosen
    objective = program.reward[given] + applied.expected[program.lottery[given]]
    loss = np.where(maximal, 0.0, applied.value - objective)
    rounding = applied.rounding[program.lottery[given]] + 4.0 * DOUBLE * (np.abs(objective) + np.abs(applied.value))
    own = most = best = np.full(value.shape, np.inf)
    if np.isfinite(bound).all():
        choices = PossiblePairs(applied, bound)
        own, most, best = choices.error_of(given), choices.most, choices.own
    status = status_of(maximal, applied.gap, loss - applied.error - rounding, own, most, best)
    gap = np.abs(applied.value - value)
    return Certified(gap, bound, applied.chosen, None, status, loss, program.pairs)


class Measured(NamedTuple):
    """How far a solution of a solver is from what it promises.

    Attributes
    ----------
    residual, error_bound
        Largest ``|TV - V|``, and a bound on the largest ``|V - V*|``, rounding included, units of utility.
    chosen
        The best pairs given the value: the given ones, except where another is better.
    missed
        Number of states whose choice loses, or whose value is off, by more than the last change and rounding explain.
    state, amount, better
        The state with the largest of these errors (-1 without errors), its error in units of utility, and whether
        another choice is better there; otherwise the value is wrong.
    """

    residual: float
    error_bound: float
    chosen: Numbers
    missed: int = 0
    state: int = -1
    amount: float = 0.0
    better: bool = False


def measured(program: Program, value: Array, chosen: Numbers, change: float) -> Measured:
    """Measure a finite value and chosen pairs from a sweep that changed the value by up to ``change``."""
    applied = Applied(program, value)
    residual = float(np.abs(applied.value - value).max())
    off = applied.off(value)
    bound = uniform_bound(float(off.max()), program.modulus)
    # The value is T of a value at most `change` away, so its choices may lose twice modulus * change here.
    allowed = program.modulus * change + 2.0 * applied.slack
    own = np.maximum(chosen, 0)
    right = (program.first[:-1] <= chosen) & (chosen < program.first[1:])
    objective = program.reward[own] + applied.expected[program.lottery[own]]
    loss = np.where(right, applied.value - objective, np.inf)
    gap = np.abs(applied.value - value)
    exact = np.where(loss > 0.0, applied.chosen, chosen)
    lost, wrong = loss > 2.0 * allowed, gap > allowed
    if not (lost | wrong).any():
        return Measured(residual, bound, exact)
    amounts = np.maximum(np.where(lost, loss, 0.0), np.where(wrong, gap, 0.0))
    state = int(amounts.argmax())
    return Measured(residual, bound, exact, int((lost | wrong).sum()), state, float(amounts[state]), bool(lost[state]))
