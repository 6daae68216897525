"""Shifts of the value between sweeps, and sweeps that hold the choices fixed: the engine's acceleration, modelled.

Where a sweep changes the value of exogenous state ``s`` by ``d_s`` at every point, all sweeps after it change it by
``c = (beta Q + (beta Q)^2 + ...) d = M1 d`` more, with ``M1 = beta Q (I - beta Q)^-1``. So the next sweep may begin
from ``V + c``. No choice depends on ``c``, and the expectation of ``V + c`` is that of ``V`` and ``e = beta Q c = M2 d``
more. So the next sweep is as it would be, ``e`` is added to its values, and its norm is taken against ``V + c``.
(Bertsekas and Castanon 1989, "Adaptive aggregation methods for infinite horizon dynamic programming", IEEE Transactions
on Automatic Control 34.)
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from hw.model import _SATURATED, INFEASIBLE, _clamped, _objective, _status
from hw.norm import NormParameters
from hw.numbers import MAXIMUM, MINIMUM
from hw.registers import Mode, Status
from hw.sweep.model import SweepSoftwareMachine
from hw.sweep.parameters import SweepParameters
from hw.utility import UtilityConstants

WEIGHT_FRACTION = 32
"""Fraction bits of a weight, which has 64 bits and no sign."""


class Reference(enum.Enum):
    """What stands for the change of a state."""

    POINT = "the change at the middle point of the grid"
    MIDPOINT = "the mean of the smallest and the largest change"


@dataclass(frozen=True)
class ShiftParameters:
    """``c = M1 d`` and ``e = M2 d``: ``N_z^2`` products of 64 bits by 64 each, once a sweep; exact sums, rounded once.

    Parameters
    ----------
    of_norm, of_value
        uint64, ``(N_z, N_z)``, ``WEIGHT_FRACTION`` fraction bits: ``M1`` and ``M2``.
    """

    of_norm: NDArray[np.uint64]
    of_value: NDArray[np.uint64]

    @classmethod
    def of(cls, transition: NDArray[np.uint64]) -> ShiftParameters:
        """From ``beta Q``, ``(N_z, N_z)`` with 64 fraction bits, whose rows sum to less than 1.

        Raises
        ------
        ValueError
            A weight is too large for its format.
        """
        weights = transition.astype(np.float64) * 2.0**-64
        of_norm = np.linalg.solve(np.eye(weights.shape[0]) - weights, weights)
        if not (np.isfinite(of_norm).all() and of_norm.max() < 2.0 ** (63 - WEIGHT_FRACTION)):
            raise ValueError(f"weights of shifts must be below 2**{63 - WEIGHT_FRACTION}, not {of_norm.max():.3g}")
        scale = 2.0**WEIGHT_FRACTION
        both = [np.rint(np.maximum(m, 0.0) * scale).astype(np.uint64) for m in (of_norm, weights @ of_norm)]
        return cls(*both)

    def model(self, change: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """``(c, e)`` of int64 ``d``; zeros where a shift would leave 64 bits."""
        half = 1 << (WEIGHT_FRACTION - 1)
        d = [int(v) for v in change]
        rows = [
            [sum(int(w) * v for w, v in zip(row, d, strict=True)) + half >> WEIGHT_FRACTION for row in weights]
            for weights in (self.of_norm, self.of_value)
        ]
        if any(not MINIMUM <= word <= MAXIMUM for row in rows for word in row):
            return np.zeros_like(change), np.zeros_like(change)
        return np.array(rows[0], np.int64), np.array(rows[1], np.int64)


@njit(cache=True, parallel=True)
def _hold(choices, kept, ev, value, flags):  # type: ignore[no-untyped-def]
    for i in prange(choices.shape[0]):
        flag = 0
        for s in range(choices.shape[1]):
            here = kept[i, s, 1]
            value[i, s] = MINIMUM
            if here != INFEASIBLE:
                value[i, s], saturated = _clamped(_objective(here, ev[choices[i, s], s]))
                flag |= _SATURATED if saturated else 0
        flags[i] = flag


@njit(cache=True, parallel=True)
def _add(value, shift, flags):  # type: ignore[no-untyped-def]
    """Add the shift of a state to its values, which stay in range."""
    for i in prange(value.shape[0]):
        flag = 0
        for s in range(value.shape[1]):
            v, c = value[i, s], shift[s]
            if (c > 0 and v > MAXIMUM - c) or (c < 0 and v < MINIMUM - c):
                flag = _SATURATED
                value[i, s] = MAXIMUM if c > 0 else MINIMUM
            else:
                value[i, s] = v + c
        flags[i] = flag


class AcceleratedMachine(SweepSoftwareMachine):
    """The sweep engine with shifts, and with sweeps between that hold the choices fixed.

    After every sweep a shift is prepared for the next, but after a shifted or a held sweep whose norm is below
    ``epsilon``: the next one is plain then, and only a plain sweep that maximises ends a run as converged.

    Parameters
    ----------
    build
        Of the engine.
    shifted
        Whether to shift.
    reference
        What stands for the change of a state.
    held
        Sweeps with the choices held fixed after each that maximises.
    index
        Grid point of ``Reference.POINT``; by default the middle one.
    logged
        As of :class:`SweepSoftwareMachine`.

    Attributes
    ----------
    maximising, plain
        How many of the sweeps maximised, and how many of these were not shifted.
    norms
        Of every sweep.
    """

    def __init__(
        self,
        build: SweepParameters,
        shifted: bool = True,
        reference: Reference = Reference.POINT,
        held: int = 0,
        index: int | None = None,
        logged: bool = False,
    ) -> None:
        self._shifting, self._reference, self._held, self._index = shifted, reference, held, index
        super().__init__(build, logged=logged)

    def reset(self) -> None:
        """End a run at once; counters are 0 then, and the tables stay."""
        super().reset()
        self.maximising = self.plain = 0
        self.norms: list[int] = []
        self._hold_left = 0

    def start(
        self, grid: int, states: int, mode: Mode, sweep_limit: int, epsilon: int, constants: UtilityConstants
    ) -> None:
        """As of :class:`SweepSoftwareMachine`."""
        super().start(grid, states, mode, sweep_limit, epsilon, constants)
        if Status.BUSY in self.status:
            self._of_shift = ShiftParameters.of(self._weights)
            self._c = self._e = np.zeros(states, np.int64)

    def _step(self) -> bool:
        if Status.BUSY not in self.status:
            return True
        if self.sweeps == 0 and self._stopping:
            self.status = Status.DONE | Status.STOPPED
            return True
        work = self._grid * self._states
        before = self.v[:work].reshape(self._grid, self._states).copy()
        value = np.empty_like(before)
        flags = np.zeros(self._grid, np.uint8)
        holds, plain = self._hold_left > 0, not self._c.any()
        if holds:
            self._hold_left -= 1
            _hold(self._found, self.kept, self._ev, value, flags)
            raised = _status(flags)
        else:
            self._hold_left = self._held
            raised = self._sweep(value)
            self.maximising += 1
            self.plain += plain
        if not plain:
            for table, shift in ((value, self._e), (before, self._c)):
                _add(table, shift, flags)
                raised |= _status(flags)
        self.norm = NormParameters().model(value, before)
        self.norms.append(self.norm)
        self.v[:work] = value.reshape(-1)
        self.policy[:work] = self._found.reshape(-1)
        self.sweeps += 1
        if self._expect(value):
            raised |= Status.SATURATED
        self._c = self._e = np.zeros(self._states, np.int64)
        below = self.norm < self._epsilon
        if raised:
            self.status = Status.DONE | raised
        elif below and plain and not holds:
            self.status = Status.DONE | Status.CONVERGED
        elif self.sweeps == self._limit:
            self.status = Status.DONE | Status.LIMIT
        elif self._stopping:
            self.status = Status.DONE | Status.STOPPED
        elif below:
            self._hold_left = 0
        elif self._shifting:
            self._c, self._e = self._of_shift.model(self._change(value, before))
        return Status.DONE in self.status

    def _change(self, value: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
        """``d``: the change of each exogenous state."""
        if self._reference is Reference.POINT:
            index = self._grid // 2 if self._index is None else self._index
            return value[index] - before[index]
        # By columns: a strided minimum is slow.
        difference = value - before
        return (difference.min(axis=0) >> 1) + (difference.max(axis=0) >> 1)
