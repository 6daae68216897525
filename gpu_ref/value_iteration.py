"""Value iteration in which every sweep is proven: each state's choice is guessed, and brackets prove or correct it.

The search of a row is in :mod:`beltline.gpu_ref.row_search`, the sweeps are in :mod:`beltline.gpu_ref.chunk_sweeps`. If
brackets do not finish within a few passes, as in the first sweeps of a rough problem, or if ``EV`` is not finite,
divide and conquer does the sweep (:mod:`beltline.gpu_ref.exact`). The bits are those of every other sweep of
:mod:`beltline.gpu_ref`: the same operations on each candidate, ties to the lower index. Only where two candidates that
are not neighbours differ by less than rounding (:meth:`ValueIteration.slack`), either may be found.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.chunk_sweeps import (
    DONE,
    LIMIT,
    NOT_FINITE,
    RULES,
    UNPROVEN,
    measure,
    parallel_slack,
    parallel_sweeps,
    serial_slack,
    serial_sweeps,
    take,
)
from beltline.gpu_ref.chunk_tables import Tables, copy, fill
from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.methods import largest_value, shifts
from beltline.gpu_ref.paths import parallel_follow, serial_follow
from beltline.gpu_ref.row_search import Indexes
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.threads import threads
from beltline.gpu_ref.utility import DOUBLE

_CHUNKS, _FEWEST, _MOST = 32, 512, 4096
"""Number of chunks into which a grid is cut, and the smallest and the largest number of grid points of one."""

_PAD = 40
"""Entries between two tables, so that those of one state are not in the same set of the processor's cache."""

_MOST_DIVIDED = 8
"""Largest number of sweeps by divide and conquer before brackets are tried again."""

STALLED = 20
"""Number of sweeps in a row that do not halve the change, after which it may be rounding."""

EVALUATED, PASSES = 0.1, 15
"""A policy is evaluated until a pass moves values by less than this share of the change in the sweep that found it, in
at most this number of passes.
"""

FINISHING, ALWAYS = 2, 12
"""After its rule is met, an iteration goes on with at most one in ``FINISHING`` of the sweeps and passes so far, or
``ALWAYS`` if these are more.
"""

BATCH_STATES = 2.5e7
"""States swept in one call of compiled code, a fraction of a second, so that Python can handle Ctrl-C between calls."""

_SERIAL = serial_sweeps, serial_follow, serial_slack
_PARALLEL = parallel_sweeps, parallel_follow, parallel_slack

_NO_AGES = np.empty((1, 0, 0)), np.empty((1, 0, 0), np.int32)


def _cut(dtype: type, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, NDArray[Any]]:
    """Return uninitialised tables of these shapes by name, parts of one allocation.

    The operating system provides a large allocation in large pages, which takes it less time than many small ones.
    """
    sizes = {name: math.prod(shape) for name, shape in shapes.items()}
    room: NDArray[Any] = np.empty(sum(sizes.values()) + _PAD * len(sizes), dtype)
    begin, tables = 0, {}
    for name, count in sizes.items():
        tables[name] = room[begin : begin + count].reshape(shapes[name])
        begin += count + _PAD
    return tables


_stored: dict[tuple[int, ...], Tables] = {}
"""Arrays of the last small problems that were solved, by the shape of ``W``."""

_STORED_STATES, _STORED_SHAPES = 4096, 4
"""Largest number of states of such a problem, and largest number of shapes for which arrays are stored."""


def _allocated(grid: int, states: int, **given: Any) -> Tables:
    """Return new tables with those that are ``given``."""
    shape = (states, grid)
    one_each = dict.fromkeys(("W", "below", "here", "above"), shape)
    cut: dict[str, Any] = _cut(np.float64, {**one_each, "values": (2, *shape), "both": (2, states, grid + 2)})
    cut |= _cut(np.int32, {"policy": shape})
    return Tables(**given, **cut, chunk=min(max(grid // _CHUNKS, _FEWEST), _MOST))


@functools.cache
def _no_shift(states: int) -> Array:
    """Return what is added to values that are not shifted, ``(N_z,)``: -0.0, which changes no bit."""
    return np.full(states, -0.0)


class ValueIteration:
    """A table problem, stored for these sweeps, and the state of its iteration.

    ``X`` to ``eta`` as in :mod:`beltline.gpu_ref`, checked, with ``W`` non-decreasing in ``x``; ``count`` is the number
    of threads to use. The constructor only allocates; :meth:`load` fills the arrays, :meth:`sweep` and :meth:`evaluate`
    iterate, and :meth:`read` writes the result. :meth:`close` is optional.

    Attributes
    ----------
    sweeps, maximising_sweeps, exact_sweeps
        As in :class:`beltline.gpu_ref.methods.Solution`.
    h
        What the stopping rule measured in the last maximising sweep.
    moved
        How many choices moved in it.
    size
        Largest absolute value that :meth:`read` wrote, units of utility; infinity if one was not finite.
    low, high
        ``(N_z,)``: lowest and highest change in that sweep, by exogenous state.
    """

    def __init__(self, X: Array, W: Array, Q: Array, beta: float, eta: float, count: int) -> None:
        grid, states = W.shape
        self._source = W
        stored = _stored.pop(W.shape, None)
        new: dict[str, Any] = {"X": X, "Q": Q, "beta": beta, "eta": eta}
        self._tables = _allocated(grid, states, **new) if stored is None else stored._replace(**new)
        self.low, self.high = np.zeros(states), np.zeros(states)
        self._threads = count
        self._run, self._follow, self._slack = _PARALLEL if count > 1 else _SERIAL

    @staticmethod
    def bytes(grid: int, states: int) -> int:
        """Return the bytes that all arrays of a problem take, including those of a search by divide and conquer."""
        return grid * states * (8 * 8 + 4 + 5 * 8 + 2)

    def load(self, V: Array) -> None:
        """Start from ``V``, ``(N_k, N_z)``."""
        t = self._tables
        self._now = 0
        self.sweeps = self.maximising_sweeps = self.exact_sweeps = 0
        self.h = self.size = math.inf
        self.moved = 0
        self._to_divide, self._next_to_divide = 0, 1
        self._finite = fill(t, self._source, np.ascontiguousarray(V))

    def _batch(
        self,
        limit: int,
        rule: str = "change",
        epsilon: float = 0.0,
        ages: tuple[Array, Indexes] = _NO_AGES,
    ) -> int:
        """Run at most ``limit`` sweeps; return the reason why they ended, a constant of
        :mod:`beltline.gpu_ref.chunk_sweeps`.
        """
        done, code, h, moved = self._run(
            RULES[rule], epsilon, limit, self._tables, self._now, self.low, self.high, *ages
        )
        self._now = (self._now + done) % 2
        self.sweeps += done
        self.maximising_sweeps += done
        if done:
            self.h, self.moved = h, moved
        self._finite = code != NOT_FINITE
        return int(code)

    def sweep(self, rule: str, epsilon: float, limit: int) -> bool:
        """Run maximising sweeps until the rule is met, at most ``limit``; return whether it was met."""
        t = self._tables
        batch = max(1, int(BATCH_STATES / t.W.size))
        end = self.sweeps + limit
        while self.sweeps < end:
            code = UNPROVEN
            if self._finite and not self._to_divide:
                before = self.sweeps
                code = self._batch(min(batch, end - self.sweeps), rule, epsilon)
                if code == UNPROVEN:
                    self._next_to_divide = min(2 * self._next_to_divide, _MOST_DIVIDED) if self.sweeps == before else 1
                    self._to_divide = self._next_to_divide
            if code == UNPROVEN and self.sweeps < end:
                code = self._divide(rule, epsilon)
                self._to_divide = max(self._to_divide - 1, 0)
            if code == DONE:
                return True
        return False

    def iterate(self, epsilon: float, limit: int, finish: bool = False) -> None:
        """Sweep and evaluate the policy by turns until rule `spans` is met or ``limit`` sweeps and passes are done.

        Ends, too, if sweeps that change values by rounding only do not lower the change. If it is to ``finish``, it
        goes on, as :data:`FINISHING` allows, until a sweep moves no choice. A start that meets the rule is a solution,
        after which nothing is done.
        """
        stalled = 0
        while self.sweeps < limit:
            before = self.h
            if self.sweep("spans", epsilon, 1):
                if finish and self.sweeps > 1:
                    self._finish(min(limit, self.sweeps + max(self.sweeps // FINISHING, ALWAYS)))
                if self.h < epsilon:
                    return
            stalled = 0 if self.h <= before / 2.0 else stalled + 1
            if stalled >= STALLED and self._rounded():
                return
            self.evaluate(limit)

    def _finish(self, limit: int) -> None:
        """Go on until a sweep moves no choice and changes no value by more than rounding, or until sweeps neither move
        fewer choices nor halve the change.
        """
        while (self.moved or not self._rounded()) and self.sweeps < limit:
            self.evaluate(limit)
            before, moved = self.h, self.moved
            self.sweep("spans", 0.0, 1)
            if self.moved >= moved and not self.h <= before / 2.0:
                return

    def _rounded(self) -> bool:
        """Return whether the last sweep changed values by no more than rounding."""
        return self.h <= 8.0 * DOUBLE * largest_value(self._tables.values[self._now])

    def evaluate(self, limit: int) -> None:
        """Evaluate the policy so well that the next sweep need not go over it again, with one of ``limit`` sweeps left.

        Does nothing if a state has no choice: the policy may lead there because its value was still finite when the
        policy was found, and evaluating it would make other values ``-inf``, permanently.
        """
        t = self._tables
        most = limit - self.sweeps - 1
        if most < 1 or (t.policy < 0).any():
            return
        shift = shifts((self.low + self.high) / 2.0, t.Q, t.beta)
        done, self._finite = self._follow(t, self._now, shift, EVALUATED * self.h, min(most, PASSES))
        self.sweeps += done

    def ages(self, values: Array, policies: Indexes) -> None:
        """Run one sweep per age, from the last to the first, into ``values`` and ``policies``, ``(T, N_k, N_z)``."""
        left = values.shape[0]
        while left:
            before = self.sweeps
            if not self._finite or self._batch(left, ages=(values[:left], policies[:left])) == UNPROVEN:
                left -= self.sweeps - before
                before = self.sweeps
                self._divide("change", 0.0)
                values[left - 1], policies[left - 1] = self._tables.values[self._now].T, self._tables.policy.T
            left -= self.sweeps - before

    def _divide(self, rule: str, epsilon: float) -> int:
        """Sweep by divide and conquer; return :data:`DONE` if the stopping rule is met, otherwise :data:`LIMIT`."""
        t = self._tables
        ev = np.ascontiguousarray(t.both[self._now, :, 1:-1])
        value, policy = np.empty(self._source.shape), np.empty(self._source.shape, np.int32)
        self._now = 1 - self._now
        with threads(self._threads):
            divide_and_conquer(t.X, self._source, ev, t.eta, value, policy)
            self.moved = int(np.count_nonzero(t.policy.T != policy))
            self._finite = take(t, self._now, value, policy, self.low, self.high)
        self.exact_sweeps += 1
        self.h = measure(RULES[rule], self.low.copy(), self.high.copy(), self.low[None, :], self.high[None, :])
        self.sweeps += 1
        self.maximising_sweeps += 1
        return DONE if self.h < epsilon else LIMIT

    def slack(self) -> float:
        """Bound the amount by which the last sweep, a maximising one, missed a maximum because of rounding, units of
        utility.
        """
        return self._slack(self._tables, 1 - self._now)

    def close(self) -> None:
        """Keep the arrays of a small problem for the next one of its size. No other method may be called after it."""
        if self._source.size <= _STORED_STATES:
            _stored[self._source.shape] = self._tables
            for shape in list(_stored)[:-_STORED_SHAPES]:
                _stored.pop(shape, None)

    def largest(self) -> float:
        """Return a bound on the largest change in the last maximising sweep, units of utility."""
        return max(float(np.abs(self.low).max()), float(np.abs(self.high).max()))

    def read(self, rule: str, value: Array, policy: Indexes) -> None:
        """Write the value, shifted as the stopping rule requires, and the policy, into arrays ``(N_k, N_z)``."""
        t = self._tables
        shift = _no_shift(t.Q.shape[0])
        if rule != "change":
            middle = (self.low + self.high) / 2.0
            shift = shifts(middle, t.Q, t.beta)
        self.size = copy(t, self._now, shift, value, policy)
