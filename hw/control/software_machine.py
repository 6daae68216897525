"""Base class of the software models of the engines: tables of a machine, its run and its counters."""

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
"""Sweeps of fewer states than this use one thread: more gain nothing, and on a busy computer waiting for them takes a
hundred times as long."""


class SoftwareMachine(ABC):
    """Software model of a machine: its tables, its run and its counters.

    Results and status are those of the gateware, bit by bit. It is not clocked; ``clocks`` is the number that the
    gateware would take. The model of an engine implements :meth:`_fits`, :meth:`_begin`, :meth:`_step` and
    :attr:`clocks`.

    Parameters
    ----------
    grid, states
        Largest ``N_k`` and ``N_z`` of the build.
    results
        Words of its value and policy memories.

    Attributes
    ----------
    x, w, v
        Tables, int64, ``(grid,)``, ``(grid * states,)`` and ``(results,)``, in table order: grid and wealth in units of
        amount, values in units of value.
    q
        ``beta Q``, uint64, ``(states * states,)``, unit ``2**-64``; a row has the built ``states`` words.
    policy
        Policy indices, int64, ``(results,)``.
    bounds
        Of a general build, int64, ``(grid * states,)``, in table order: the candidates of each state
        (:mod:`beltline.hw.interface.bounds`). ``None`` for other builds.
    status, sweeps, states_done, clocks, norm
        Contents of the registers of these names.
    clocks_source
        How ``clocks`` is determined, for reports.
    """

    clocks_source: str
    bounds: NDArray[np.int64] | None = None

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
        """The build."""

    @property
    def matrices(self) -> tuple[NDArray[np.uint64], ...]:
        """The matrices of table window ``Q`` in the order of their addresses, each in the format of ``q``."""
        return (self.q,)

    @property
    @abstractmethod
    def clocks(self) -> int:
        """Clocks of the run so far."""

    def reset(self) -> None:
        """Abort a run and set all counters to 0; the tables keep their contents."""
        self.status = Status(0)
        self.sweeps = 0
        self.norm = 0
        self._stopping = False
        self._grid = self._states = 0

    @property
    def states_done(self) -> int:
        """Number of states that were completed in the run."""
        return self.sweeps * self._grid * self._states

    def start(
        self, grid: int, states: int, mode: Mode, sweep_limit: int, epsilon: int, constants: UtilityConstants
    ) -> None:
        """Start a run: check its configuration and compute the expectations of the start values.

        The run has ended where ``status`` is not ``BUSY`` afterwards.

        Parameters
        ----------
        grid, states
            ``N_k`` and ``N_z`` of the problem.
        mode
            Flags of register ``MODE``.
        sweep_limit
            Largest number of sweeps.
        epsilon
            Threshold of the norm, in units of value.
        constants
            Constants of the utility unit.
        """
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
        """Return whether the value memory has room for the results of ``sweeps`` ages of ``work`` states each."""

    @abstractmethod
    def _begin(self, mode: Mode) -> None:
        """Prepare a run of the problem in the tables, with the flags of register ``MODE``."""

    @abstractmethod
    def _step(self) -> bool:
        """Compute one sweep; returns whether the run has ended."""

    def _given(self, matrix: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return the problem's part, ``(N_z, N_z)``, of a matrix in the format of ``q``."""
        return np.ascontiguousarray(matrix.reshape(self._built[1], -1)[: self._states, : self._states])

    def _expect(self, value: NDArray[np.int64]) -> bool:
        """Compute the expectations of ``value``, int64 ``(N_k, N_z)``; returns whether any saturated."""
        self._ev, saturated = ExpectationParameters(self._built[1]).model(value, self._weights)
        return saturated

    def _expected(self, value: NDArray[np.int64]) -> Status:
        """Compute the expectations of ``value``, ``(N_k, N_z)``, and return the flags that this raises."""
        return Status.SATURATED if self._expect(value) else Status(0)

    def stop(self) -> None:
        """Request that the run ends after the next sweep, or before the first one if none was made."""
        self._stopping = True

    def step(self) -> bool:
        """Compute one sweep; returns whether the run has ended."""
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
        """Set ``status`` after a sweep, which ``sweeps`` includes; returns whether the run has ended.

        ``raised`` has the bits ``SATURATED`` and ``INFEASIBLE`` of the sweep; ``converged`` is whether its norm is
        below epsilon.
        """
        if raised:
            self.status = Status.DONE | raised
        elif not self._horizon and converged:
            self.status = Status.DONE | Status.CONVERGED
        elif self.sweeps == self._limit:
            self.status = Status.DONE | Status.LIMIT
        elif self._stopping:
            self.status = Status.DONE | Status.STOPPED
        return Status.DONE in self.status
