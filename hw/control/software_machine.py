"""What the software models of both engines share: the tables of a machine, its run and its counters."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numba import get_num_threads, set_num_threads
from numpy.typing import NDArray

from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Mode, Status

_THREADS_WORTH = 10_000
"""States of a sweep below which threads gain nothing; on a busy computer waiting for them costs a hundredfold."""


class SoftwareMachine(ABC):
    """The machine's tables, run and counters, without its clock: the clocks are those that the gateware would take.

    An engine says what fits it, prepares a run, and sweeps: :meth:`_fits`, :meth:`_begin`, :meth:`_step`.

    Parameters
    ----------
    grid, states
        Largest ``N_k`` and ``N_z``.
    results
        Words of the value and policy memories.

    Attributes
    ----------
    x, w, v
        int64 tables of the built sizes ``(grid,)``, ``(grid * states,)``, ``(results,)``, in table order.
    q
        uint64, ``(states * states,)``, row stride the built ``states``.
    policy
        int64, ``(results,)``.
    status, sweeps, states_done, clocks, norm
        As in the registers.
    clocks_source
        How ``clocks`` are found.
    """

    clocks_source: str

    def __init__(self, grid: int, states: int, results: int) -> None:
        self._built = grid, states
        self.x = np.zeros(grid, np.int64)
        self.w = np.zeros(grid * states, np.int64)
        self.q = np.zeros(states * states, np.uint64)
        self.v = np.zeros(results, np.int64)
        self.policy = np.zeros(results, np.int64)
        self.reset()

    @property
    @abstractmethod
    def parameters(self) -> MachineParameters:
        """A build that it is the machine of."""

    @property
    def matrices(self) -> tuple[NDArray[np.uint64], ...]:
        """The matrices of window ``Q``, one behind the other, as ``q``."""
        return (self.q,)

    @property
    @abstractmethod
    def clocks(self) -> int:
        """Clocks of the run so far."""

    def reset(self) -> None:
        """End a run at once; counters are 0 then, and the tables stay."""
        self.status = Status(0)
        self.sweeps = 0
        self.norm = 0
        self._stopping = False
        self._grid = self._states = 0

    @property
    def states_done(self) -> int:
        return self.sweeps * self._grid * self._states

    def start(
        self, grid: int, states: int, mode: Mode, sweep_limit: int, epsilon: int, constants: UtilityConstants
    ) -> None:
        """Check the configuration and do the prologue; the run has ended already where ``status`` is not ``BUSY``."""
        self.reset()
        self._grid, self._states = grid, states
        self._horizon = Mode.HORIZON in mode
        most_points, most_states = self._built
        if (
            not 2 <= grid <= most_points
            or not 1 <= states <= most_states
            or sweep_limit < 1
            or (self._horizon and not self._fits(grid * states, sweep_limit))
        ):
            self.status = Status.DONE | Status.BAD_CONFIGURATION
            return
        self._limit, self._epsilon, self._constants = sweep_limit, epsilon, constants
        self._slot = 0
        work = grid * states
        self._wealth = self.w[:work].reshape(grid, states)
        self._weights = self._given(self.q)
        self._found = np.zeros((grid, states), np.int64)
        self._begin(mode)
        self.status = Status.BUSY
        if raised := self._expected(self.v[:work].reshape(grid, states)):
            self.status = Status.DONE | raised

    @abstractmethod
    def _fits(self, work: int, sweeps: int) -> bool:
        """Whether the machine keeps ``sweeps`` ages of ``work`` states."""

    @abstractmethod
    def _begin(self, mode: Mode) -> None:
        """Prepare a run of the problem in the tables."""

    @abstractmethod
    def _step(self) -> bool:
        """One sweep; true when the run has ended."""

    def _given(self, matrix: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """The ``(N_z, N_z)`` of the problem in a matrix of the built size."""
        return np.ascontiguousarray(matrix.reshape(self._built[1], -1)[: self._states, : self._states])

    def _expect(self, value: NDArray[np.int64]) -> bool:
        self._ev, saturated = ExpectationParameters(self._built[1]).model(value, self._weights)
        return saturated

    def _expected(self, value: NDArray[np.int64]) -> Status:
        """Compute the expectations of ``value``, ``(N_k, N_z)``, and return the flags that this raises."""
        return Status.SATURATED if self._expect(value) else Status(0)

    def stop(self) -> None:
        """End the run after the next sweep."""
        self._stopping = True

    def step(self) -> bool:
        """One sweep; true when the run has ended."""
        if Status.BUSY not in self.status:
            return True
        if self.sweeps == 0 and self._stopping:
            self.status = Status.DONE | Status.STOPPED
            return True
        threads = get_num_threads()
        if self._grid * self._states < _THREADS_WORTH:
            set_num_threads(1)
        try:
            return self._step()
        finally:
            set_num_threads(threads)

    def _decide(self, raised: Status, converged: bool) -> bool:
        """Whether the run has ended, and why, after a sweep that has been counted."""
        if raised:
            self.status = Status.DONE | raised
        elif not self._horizon and converged:
            self.status = Status.DONE | Status.CONVERGED
        elif self.sweeps == self._limit:
            self.status = Status.DONE | Status.LIMIT
        elif self._stopping:
            self.status = Status.DONE | Status.STOPPED
        return Status.DONE in self.status
