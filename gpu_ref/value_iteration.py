"""Value iteration by sweeps that are all proven: a guess for every state, and brackets that prove or mend it.

The search is :mod:`beltline.gpu_ref.row_search`, the sweeps are :mod:`beltline.gpu_ref.chunk_sweeps`. What brackets do
not settle within few passes, as in the first sweeps of a rough problem, and where ``EV`` is not finite, divide and
conquer does (:mod:`beltline.gpu_ref.exact`). Bits are those of every sweep of :mod:`beltline.gpu_ref`: the same
operations on each candidate, ties to the lower index; where two candidates that lie apart differ by less than roundings
(:meth:`ValueIteration.slack`), either may be found.
"""

from __future__ import annotations

import math

import numpy as np

from beltline.gpu_ref.brackets import proven
from beltline.gpu_ref.chunk_sweeps import (
    DONE,
    FIXED,
    FRESH,
    LIMIT,
    NOT_FINITE,
    RULES,
    UNPROVEN,
    WARM,
    Tables,
    measure,
    parallel_sweeps,
    serial_sweeps,
    slacks,
    take,
)
from beltline.gpu_ref.exact import divide_and_conquer
from beltline.gpu_ref.methods import shifts
from beltline.gpu_ref.row_search import Indexes
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.window_clocks import BLOCK, blocks, length

_CHUNKS, _FEWEST, _MOST = 32, 512, 4096
"""Chunks that a grid is cut into, and the fewest and the most grid points of one."""

_PATIENCE = 8
"""Most sweeps by divide and conquer before brackets are tried again."""

_MEASURED = 8
"""Half of the sweeps without doubt after which changes of ``EV`` are no longer measured, the first time."""

BATCH_STATES = 2.5e7
"""States swept between two returns to Python, where an interrupt is seen: a fraction of a second."""

_NO_AGES = np.empty((1, 0, 0)), np.empty((1, 0, 0), np.int32)


class ValueIteration:
    """A problem in the layout of these sweeps, and the iteration in progress.

    ``X`` to ``eta`` as in :mod:`beltline.gpu_ref`, checked, ``W`` non-decreasing in ``x``. Making it allocates and
    nothing else; :meth:`load` fills it; :meth:`sweep` and :meth:`evaluate` go on; :meth:`read` gives the result back.

    Attributes
    ----------
    sweeps, maximising_sweeps, exact_sweeps
        As in :class:`beltline.gpu_ref.methods.Solution`.
    h
        What the stopping rule measured in the last maximising sweep.
    low, high
        ``(N_z,)``: least and largest change of that sweep, by exogenous state.
    """

    def __init__(self, X: Array, W: Array, Q: Array, beta: float, eta: float, threads: int) -> None:
        grid, states = W.shape
        self._source = W
        self._run = parallel_sweeps if threads > 1 else serial_sweeps
        shape = (states, grid)
        # Whole blocks.
        chunk = blocks(min(max(grid // _CHUNKS, _FEWEST), _MOST)) * BLOCK
        self._tables = Tables(
            X=X, Q=Q, beta=beta, eta=eta,
            W=np.empty(shape),
            values=np.empty((2, *shape)),
            both=np.zeros((2, states, grid + 2)),
            policy=np.zeros(shape, np.int32),
            below=np.empty(shape), here=np.empty(shape), above=np.empty(shape), until=np.empty(shape),
            rivals=np.empty(shape), watched=np.zeros((3, *shape), np.int32),
            clocks=np.zeros((states, length(grid))),
            changes=np.zeros((2, states, blocks(grid))),
            measured=np.empty((2, states), np.int64),
            quiet=np.empty(((grid - 1) // chunk + 1, states)),
            chunk=chunk,
        )  # fmt: skip
        self.low, self.high = np.zeros(states), np.zeros(states)

    @staticmethod
    def bytes(grid: int, states: int) -> int:
        """What the arrays of a problem of these sizes take, with those of a search by divide and conquer."""
        return grid * states * (10 * 8 + 4 * 4 + 5 * 8 + 2)

    def load(self, V: Array) -> None:
        """Start from ``V``, ``(N_k, N_z)``."""
        t = self._tables
        t.W[:] = self._source.T
        t.policy[:] = 0
        for utilities in (t.below, t.here, t.above, t.until, t.rivals, t.quiet):
            utilities[:] = -np.inf
        t.clocks[:] = 0.0
        t.measured[0], t.measured[1] = 0, _MEASURED
        self._now = 0
        self.sweeps = self.maximising_sweeps = self.exact_sweeps = 0
        self.h = math.inf
        self._divided = False
        self._rough, self._patience = 0, 1
        self._put(V, expectation(t.Q, np.ascontiguousarray(V), t.beta))

    def _put(self, value: Array, ev: Array) -> None:
        """Go on from ``value``, ``(N_k, N_z)``, and its expectation."""
        t = self._tables
        t.values[self._now] = value.T
        t.both[self._now, :, 1:-1] = ev
        self._finite = bool(np.isfinite(ev).all())

    def _batch(
        self,
        how: int,
        limit: int,
        rule: str = "change",
        epsilon: float = 0.0,
        ages: tuple[Array, Indexes] = _NO_AGES,
    ) -> int:
        """At most ``limit`` sweeps: why they ended."""
        done, code, h = self._run(how, RULES[rule], epsilon, limit, self._tables, self._now, self.low, self.high, *ages)
        self._now = (self._now + done) % 2
        self.sweeps += done
        if how != FIXED:
            self.maximising_sweeps += done
            if done:
                self.h, self._divided = h, False
        self._finite = code != NOT_FINITE
        return int(code)

    def sweep(self, rule: str, epsilon: float, limit: int, fresh: bool = False) -> bool:
        """At most ``limit`` maximising sweeps; whether the rule was met, after which no other sweep was done.

        ``fresh`` sweeps begin from the choices of neighbouring states alone.
        """
        t = self._tables
        batch = max(1, int(BATCH_STATES / t.W.size))
        end = self.sweeps + limit
        while self.sweeps < end:
            code = UNPROVEN
            if self._finite and not self._rough:
                before = self.sweeps
                code = self._batch(FRESH if fresh else WARM, min(batch, end - self.sweeps), rule, epsilon)
                if code == UNPROVEN:
                    self._patience = min(2 * self._patience, _PATIENCE) if self.sweeps == before else 1
                    self._rough = self._patience
            if code == UNPROVEN and self.sweeps < end:
                code = self._divide(rule, epsilon)
                self._rough = max(self._rough - 1, 0)
            if code == DONE:
                return True
        return False

    def evaluate(self, count: int) -> None:
        """Policy evaluation sweeps, and ``EV`` after them.

        None where a state has no choice: a policy found before that was known may lead there, and what is lost so no
        later sweep brings back.
        """
        if count and not (self._tables.policy < 0).any():
            self._batch(FIXED, count)

    def ages(self, values: Array, policies: Indexes) -> None:
        """One sweep an age, from the last to the first, into ``values`` and ``policies``, ``(T, N_k, N_z)``."""
        left = values.shape[0]
        while left:
            before = self.sweeps
            if not self._finite or self._batch(WARM, left, ages=(values[:left], policies[:left])) == UNPROVEN:
                left -= self.sweeps - before
                before = self.sweeps
                self._divide("change", 0.0)
                values[left - 1], policies[left - 1] = self._tables.values[self._now].T, self._tables.policy.T
            left -= self.sweeps - before

    def _divide(self, rule: str, epsilon: float) -> int:
        """A sweep by divide and conquer: :data:`DONE` or :data:`LIMIT`."""
        t = self._tables
        ev = np.ascontiguousarray(t.both[self._now, :, 1:-1])
        value, policy = np.empty(self._source.shape), np.empty(self._source.shape, np.int32)
        divide_and_conquer(t.X, self._source, ev, t.eta, value, policy)
        self._now = 1 - self._now
        self._finite = take(t, self._now, value, policy, self.low, self.high)
        self.exact_sweeps += 1
        self.h = measure(RULES[rule], self.low.copy(), self.high.copy(), self.low[None, :], self.high[None, :])
        self._divided = True
        self.sweeps += 1
        self.maximising_sweeps += 1
        return DONE if self.h < epsilon else LIMIT

    def slack(self) -> float:
        """By how much roundings may have let the last maximising sweep, the last of all, miss a maximum."""
        t, turn = self._tables, 1 - self._now
        if not self._divided:
            return float(slacks(t, turn).max())
        ev = np.ascontiguousarray(t.both[turn, :, 1:-1])
        return proven(t.X, self._source, ev, t.eta, np.ascontiguousarray(t.policy.T)).slack

    def largest(self) -> float:
        """Bound on the largest change of the last maximising sweep, units of utility."""
        return max(float(np.abs(self.low).max()), float(np.abs(self.high).max()))

    def read(self, rule: str) -> tuple[Array, Indexes]:
        """Value, shifted as the rule asks, and policy, both ``(N_k, N_z)``."""
        t = self._tables
        value = t.values[self._now]
        if rule != "change":
            middle = (self.low + self.high) / 2.0
            if rule == "span":
                middle = np.full_like(middle, (self.low.min() + self.high.max()) / 2.0)
            value = value + shifts(middle, t.Q, t.beta)[:, None]
        return np.ascontiguousarray(value.T), np.ascontiguousarray(t.policy.T)
