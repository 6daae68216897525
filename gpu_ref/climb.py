"""Sweeps that find the best choice by climbing from a good guess, exact because each is proven.

Where every objective has a single peak (:mod:`beltline.gpu_ref.peaks`), the end of a climb is the maximum. Where that
is in doubt, brackets prove it (:mod:`beltline.gpu_ref.brackets`), and where they do not within few passes, divide and
conquer does (:mod:`beltline.gpu_ref.exact`).

The search is :mod:`beltline.gpu_ref.local_search`, the sweeps are :mod:`beltline.gpu_ref.local_sweeps`. Bits are those
of every sweep of :mod:`beltline.gpu_ref`: the same operations on each candidate, ties to the lower index.
"""

from __future__ import annotations

import math

import numpy as np

from beltline.gpu_ref.brackets import proven
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.local_search import Indexes
from beltline.gpu_ref.local_sweeps import (
    ALONE,
    DONE,
    DOUBT,
    FIXED,
    LARGER,
    MONOTONE,
    NONE,
    RULES,
    UNPROVEN,
    WARM,
    Tables,
    keep,
    measure,
    parallel_sweeps,
    proven_sweeps,
    serial_sweeps,
)
from beltline.gpu_ref.methods import shifts
from beltline.gpu_ref.peaks import curvature_room
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.utility import crra

_FEWEST, _MOST = 256, 4096
"""Grid points of a chunk."""

BATCH_STATES = 2.5e7
"""States swept between two returns to Python, where an interrupt is seen: a fraction of a second."""

_NO_AGES = np.empty((1, 0, 0)), np.empty((1, 0, 0), np.int32)


class Climber:
    """A problem in the layout of these sweeps, and the iteration in progress.

    ``X`` to ``eta`` as in :mod:`beltline.gpu_ref`, checked, ``W`` non-decreasing in ``x``. Making it allocates and
    nothing else; :meth:`load` fills it; :meth:`sweep` and :meth:`fixed` go on; :meth:`read` gives the result back.

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
        self.X, self.Q, self.beta, self.eta = X, Q, beta, eta
        self._source = W
        self._parallel = threads > 1
        self._chunk = min(max(grid // (16 * threads), _FEWEST), _MOST) if self._parallel else grid
        self._W = np.empty((states, grid))
        self._value = np.empty((states, grid))
        self._both = np.zeros((2, states, grid + 2))
        self._policy = np.zeros((states, grid), np.int32)
        self._kept = np.full((3, states, grid), -np.inf)
        self._before = np.empty((states, grid))
        self._inverse = np.empty(max(grid - 1, 0))
        self._room = np.empty((states, max(grid - 2, 0)))
        self._least = np.empty(((grid - 1) // self._chunk + 1, states))
        self.low, self.high = np.zeros(states), np.zeros(states)

    @staticmethod
    def bytes(grid: int, states: int) -> int:
        """What the arrays of a problem of these sizes take, with those of an exact sweep."""
        return grid * states * (9 * 8 + 4 + 5 * 8) + grid * 8

    def load(self, V: Array) -> None:
        """Start from ``V``, ``(N_k, N_z)``."""
        self._W[:] = self._source.T
        self._value[:] = V.T
        np.divide(1.0, np.diff(self.X), out=self._inverse)
        self._now = 0
        self.sweeps = self.maximising_sweeps = self.exact_sweeps = 0
        self.h = math.inf
        self._ordered = self._stale = False
        self._largest = 0.0
        # A first guess of the largest |EV|: what staying where one is for ever is worth at either end.
        ends = self._W[:, [0, -1]] - self.X[[0, -1]]
        worth = [abs(crra(float(c), self.eta)) / max(1.0 - self.beta, 1e-3) for c in ends.ravel() if c > 0.0]
        finite = np.abs(V[np.isfinite(V)])
        self._measure_room(2.0 * max([float(finite.max(initial=1.0)), *worth]))
        self._look_ahead()

    def _measure_room(self, largest: float) -> None:
        self._largest = largest
        self._room = curvature_room(self.X, self._source, self.eta, largest)
        for c in range(self._least.shape[0]):
            piece = self._room[:, c * self._chunk : (c + 1) * self._chunk]
            self._least[c] = piece.min(axis=1, initial=np.inf)

    def _tables(self) -> Tables:
        return Tables(
            self.X, self._W, self.Q, self.beta, self.eta, self._value, self._both, self._policy, self._kept,
            self._inverse, self._room, self._least, self._largest, self._chunk,
        )  # fmt: skip

    def _batch(
        self,
        kind: int,
        limit: int,
        rule: str = "change",
        epsilon: float = 0.0,
        ages: tuple[Array, Indexes] = _NO_AGES,
    ) -> tuple[int, int]:
        """At most ``limit`` sweeps: how many were done, and why they ended."""
        sweeps = parallel_sweeps if self._parallel else serial_sweeps
        done, code, h = sweeps(kind, RULES[rule], epsilon, limit, self._tables(), self._now, self.low, self.high, *ages)
        self._now = (self._now + done) % 2
        if kind < FIXED:
            self.h, self._ordered = h, False
            # Only these sweeps keep utilities of their choices.
            self._stale = kind != WARM
        return done, code

    def _go_on(self, code: int) -> None:
        """Prepare the sweep after a batch, by why that ended."""
        self._doubt = code == DOUBT
        if code == LARGER:
            self._grow()
            self._now = 1 - self._now
            self._look_ahead()

    def _look_ahead(self) -> None:
        """Compute ``EV`` of the present value, and whether it leaves single peaks."""
        self._doubt = False
        while True:
            _, code = self._batch(NONE, 1)
            if code != LARGER:
                break
            self._grow()
        self._doubt = code == DOUBT

    def _grow(self) -> None:
        largest = float(np.abs(self._both[self._now]).max())
        self._measure_room(4.0 * largest if math.isfinite(largest) else math.inf)

    def sweep(self, rule: str, epsilon: float, limit: int, monotone: bool = False) -> bool:
        """At most ``limit`` maximising sweeps; whether the rule was met, after which no other sweep was done.

        Without a proof of single peaks a sweep is proven by brackets, or by divide and conquer.
        """
        batch = max(1, int(BATCH_STATES / self._W.size))
        end = self.sweeps + limit
        while self.sweeps < end:
            if self._doubt:
                if self._proven(rule, epsilon, min(batch, end - self.sweeps)):
                    return True
                continue
            done, code = self._batch(MONOTONE if monotone else WARM, min(batch, end - self.sweeps), rule, epsilon)
            self.sweeps += done
            self.maximising_sweeps += done
            if code == DONE:
                return True
            self._go_on(code)
        return False

    def fixed(self, count: int) -> None:
        """Sweeps of the policy held fixed, and ``EV`` after them.

        None where a state has no choice: a policy found before that was known may lead there, and what is lost so no
        later sweep brings back.
        """
        if count and not (self._policy < 0).any():
            _, code = self._batch(FIXED, count)
            self.sweeps += count
            self._go_on(code)

    def ages(self, values: Array, policies: Indexes) -> None:
        """One sweep an age, from the last to the first, into ``values`` and ``policies``, ``(T, N_k, N_z)``.

        As :meth:`sweep`, an age whose peaks are in doubt takes the exact search.
        """
        left = values.shape[0]
        while left:
            if self._doubt:
                self._exact("change")
                left -= 1
                values[left], policies[left] = self._value.T, self._policy.T
                continue
            done, code = self._batch(ALONE, left, ages=(values, policies))
            self.sweeps += done
            self.maximising_sweeps += done
            left -= done
            self._go_on(code)

    def _proven(self, rule: str, epsilon: float, limit: int) -> bool:
        """Sweeps where peaks are in doubt, one at least; whether the rule was met."""
        if self._stale:
            keep(self.X, self._W, self.eta, self._policy, self._kept)
            self._stale = False
        done, code, h = proven_sweeps(
            RULES[rule], epsilon, limit, self._tables(), self._before, self._now, self.low, self.high
        )
        self._now = (self._now + done) % 2
        self.sweeps += done
        self.maximising_sweeps += done
        self.exact_sweeps += done
        if done:
            self.h, self._ordered = h, True
        if code == UNPROVEN:
            return self._exact(rule) < epsilon
        self._go_on(code)
        return code == DONE

    def _exact(self, rule: str) -> float:
        self._before[:] = self._value
        self._ordered = True
        before = np.ascontiguousarray(self._value.T)
        value, policy = exact_sweep(self.X, self._source, self.Q, before, self.beta, self.eta)
        with np.errstate(invalid="ignore"):
            change = np.where(value == before, 0.0, value - before)
        self.low[:], self.high[:] = change.min(axis=0), change.max(axis=0)
        self.h = measure(RULES[rule], self.low.copy(), self.high.copy(), self.low[None, :], self.high[None, :])
        self._value[:] = value.T
        self._policy[:] = policy.T
        keep(self.X, self._W, self.eta, self._policy, self._kept)
        self.sweeps += 1
        self.maximising_sweeps += 1
        self.exact_sweeps += 1
        self._look_ahead()
        return self.h

    def slack(self) -> float:
        """By how much roundings may have let the last sweep miss a maximum; 0 where a single peak was proven."""
        if not self._ordered:
            return 0.0
        ev = expectation(self.Q, np.ascontiguousarray(self._before.T), self.beta)
        return proven(self.X, self._source, ev, self.eta, np.ascontiguousarray(self._policy.T)).slack

    def read(self, rule: str) -> tuple[Array, Indexes]:
        """Value, shifted as the rule asks, and policy, both ``(N_k, N_z)``."""
        value = self._value
        if rule != "change":
            middle = (self.low + self.high) / 2.0
            if rule == "span":
                middle = np.full_like(middle, (self.low.min() + self.high.max()) / 2.0)
            value = value + shifts(middle, self.Q, self.beta)[:, None]
        return np.ascontiguousarray(value.T), np.ascontiguousarray(self._policy.T)
