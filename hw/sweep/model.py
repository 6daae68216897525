"""Software model of the sweep engine: its results bit by bit, and the number of clocks that its gateware takes.

If every objective has a single peak, the results are also those of the assembly line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.hw.arithmetic.log_sum_constants import LogSumConstants
from beltline.hw.arithmetic.norm import NormParameters
from beltline.hw.arithmetic.objective import INFEASIBLE, raised_status
from beltline.hw.control.sequencer import check_clocks
from beltline.hw.control.software_machine import SoftwareMachine
from beltline.hw.interface.bounds import bounds_of
from beltline.hw.interface.groups import Groups, Mark
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import STEPS_FIELD, Engine, Mode, Status
from beltline.hw.sweep.clocks import END_CLOCKS, begin_clocks, pass_clocks
from beltline.hw.sweep.dealt import Dealt, Round, SweepLog
from beltline.hw.sweep.intervals import after_proof
from beltline.hw.sweep.lane.parameters import MOST_SHIFT, LaneParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.proof import Proof
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.shift import ShiftParameters
from beltline.hw.sweep.software_passes import add_all, check_all, evaluate_all, search_all, whole_grid
from beltline.hw.sweep.taste import TasteParameters

_FIRST_CAPACITY = 64
"""Evaluations of each search for which the log has room at first."""


class Proven(NamedTuple):
    """Work of the proof of one sweep; all 0 for a sweep without a proof.

    Parameters
    ----------
    rounds
        Number of rounds.
    divided
        Number of these rounds that were by divide and conquer.
    searched
        Number of states that were repaired, that is, searched again from a better candidate.
    evaluations
        Utilities that were evaluated, for brackets and repairs.
    clocks
        Clocks that the sweep took longer than without its proof; 0 if clocks are not counted.
    """

    rounds: int
    divided: int
    searched: int
    evaluations: int
    clocks: int


class SweepSoftwareMachine(SoftwareMachine):
    """Software model of the sweep engine: its tables, runs and counters.

    In names, ``cached`` stands for cached utilities.

    Parameters
    ----------
    build
        Sizes of the engine.
    contexts
        Searches that share the evaluator of a lane; by default those of the gateware.
    logged
        Whether the clocks of the gateware are counted, which takes about as long as the sweeps themselves. If not,
        ``clocks`` is 0 and ``log`` is ``None``.

    Attributes
    ----------
    x
        int64, ``(grid,)`` of the build: the grid. In a general build ``(grid * states,)`` of the build: word
        ``x' * states + s`` is the cost of candidate ``x'`` in exogenous state ``s``.
    shift_weights
        uint64, ``(states * states,)`` of the build, in the order of ``q``: the second matrix of window ``Q``. It has
        the weights of the shifts (:class:`beltline.hw.sweep.shift.ShiftParameters`), or in a general build the
        groups (:class:`beltline.hw.interface.groups.Groups`).
    cached
        int64, ``(N_k, N_z, 3)``, in units of value: cached utilities of ``i - 1``, ``i``, ``i + 1`` for the choice
        ``i``. ``INFEASIBLE`` for a candidate that is not on the grid or cannot be afforded.
    checked, searched, patched, evaluations, sweep_clocks
        One number for each sweep of the run: states checked, states searched, states read once more for expectations,
        utilities evaluated, and clocks (only if they are counted).
    proven_by
        A :class:`Proven` for each sweep. Its evaluations and clocks are also included in
        ``evaluations`` and ``sweep_clocks``.
    log
        The last sweep's :class:`beltline.hw.sweep.dealt.SweepLog`, from which its clocks are computed.
    """

    clocks_source = "modelled from its work, within 2%"

    def __init__(self, build: SweepParameters, contexts: int | None = None, logged: bool = False) -> None:
        self.build = build
        self.search = LaneParameters(build).search if contexts is None else SearchParameters(build, contexts)
        self._logged = logged
        self._capacity = _FIRST_CAPACITY
        self.shift_weights = np.zeros(build.states * build.states, np.uint64)
        if build.general:
            self.bounds = np.zeros(build.grid * build.states, np.int64)
        super().__init__(build.grid, build.states, build.grid * build.states)
        if build.general:
            self.x = np.zeros(build.grid * build.states, np.int64)

    @property
    def parameters(self) -> MachineParameters:
        """The build of this machine.

        Raises
        ------
        ValueError
            ``states`` is not a power of two.
        """
        build = self.build
        return MachineParameters(
            build.grid,
            build.states,
            multiplier=build.multiplier,
            engine=Engine.SWEEP,
            lanes=build.lanes,
            general=build.general,
        )

    @property
    def matrices(self) -> tuple[NDArray[np.uint64], ...]:
        """The two matrices of window ``Q``: ``q`` and ``shift_weights``, uint64 each."""
        return self.q, self.shift_weights

    def reset(self) -> None:
        """End a run at once. Counters become 0; the tables do not change."""
        super().reset()
        self.checked: list[int] = []
        self.searched: list[int] = []
        self.patched: list[int] = []
        self.evaluations: list[int] = []
        self.sweep_clocks: list[int] = []
        self.proven_by: list[Proven] = []
        self._proven = False
        self._rounds: list[Round] = []
        self.log: SweepLog | None = None
        self._clocks = 0

    @property
    def clocks(self) -> int:
        """Clocks of the run so far; 0 if they are not counted."""
        if self._logged and Status.BAD_CONFIGURATION in self.status:
            return check_clocks(self.build.multiplier)
        ended = self._logged and Status.DONE in self.status
        return self._clocks + (END_CLOCKS if ended else 0)

    def _fits(self, work: int, sweeps: int) -> bool:
        return sweeps == 1

    def _begin(self, mode: Mode) -> None:
        self._dealt = Dealt(self.search, self._grid, self._states)
        self._costs = self.x[None]
        self._groups: Groups | None = None
        self._limits = whole_grid(self._grid, self._states)
        self._shift_weights = self._given(self.shift_weights)
        if self.build.general:
            # The costs of the problem's points in the problem's states, one row for each state.
            costs = self.x.reshape(self.build.grid, -1)[: self._grid, : self._states]
            self._costs = np.ascontiguousarray(costs.T)
            self._groups = Groups.of(self.shift_weights.reshape(self.build.states, -1), self._states)
            self._keeps = self._groups.has(Mark.KEEPS)
            work = self._grid * self._states
            assert self.bounds is not None
            self._limits = bounds_of(self.bounds[:work].reshape(self._grid, self._states))
        self._shifts = Mode.SHIFT in mode and self._groups is None
        self._stored = Mode.CHOICES in mode
        if self._stored:
            self._found[:] = self.policy[: self._found.size].reshape(self._found.shape)
        self._steps_wanted = int(mode) >> STEPS_FIELD.start & 255 if self._groups is None else 0
        self._plain, self._evaluates, self._left = True, False, 0
        self._sparse = Mode.SPARSE in mode and self._groups is None and not self._horizon
        self._proves, self._interval, self._unproven = True, 0, 0
        self._before = self._after = np.zeros(self._states, np.int64)
        self._moves = np.zeros((self.build.lanes, self.search.contexts), np.int64)
        self._unchecked = np.ones(self.build.lanes, np.bool_)
        self._smooth = np.zeros(self.build.lanes, np.bool_)
        self.cached = np.full((self._grid, self._states, 3), INFEASIBLE, np.int64)
        if self._logged:
            self._clocks = begin_clocks(self._dealt)

    def _step(self) -> bool:
        work = self._grid * self._states
        before = self.v[:work].reshape(self._grid, self._states).copy()
        value = np.empty_like(before)
        raised = self._sweep(value)
        if self._groups is not None:
            raised = self._finish(raised, self._groups, value, before)
        for table, shift in ((value, self._after), (before, self._before)):
            if shift.any():
                flags = np.zeros(self._grid, np.uint8)
                add_all(table, shift, flags)
                raised |= raised_status(flags)
        self.norm = NormParameters().model(value, before)
        below = self.norm < self._epsilon
        self.v[:work] = value.reshape(-1)
        self.policy[:work] = self._found.reshape(-1)
        self.sweeps += 1
        raised |= self._expected(value)
        ended = self._decide(raised, below and self._plain)
        if ended and self._proven and not raised:
            self.status |= Status.PROVEN
        self._prepare(below, value, before)
        return ended

    def _finish(self, raised: Status, groups: Groups, value: NDArray[np.int64], before: NDArray[np.int64]) -> Status:
        """Restore the values of states that are marked ``KEEPS``, and add ``kappa`` to all others; returns the flags.

        A state that can afford nothing keeps the lowest value. ``INFEASIBLE`` is cleared: :meth:`_expected` sets it if
        a whole group can afford nothing.
        """
        value[:, self._keeps] = before[:, self._keeps]
        still = (self.cached[:, :, 1] == INFEASIBLE) | self._keeps
        flags = np.zeros(self._grid, np.uint8)
        added = np.where(still, 0, value)
        add_all(added, groups.kappa, flags)
        value[~still] = added[~still]
        return raised & ~Status.INFEASIBLE | raised_status(flags)

    def _expected(self, value: NDArray[np.int64]) -> Status:
        if self._groups is None:
            return super()._expected(value)
        marks = (self._groups.has(mark) for mark in (Mark.BEGINS, Mark.ENDS))
        constants = LogSumConstants.of_words(self._groups.shocks)
        largest, nothing, over = TasteParameters(self.build.states).model(value, constants, *marks)
        raised = Status.SATURATED if over else Status(0)
        return super()._expected(largest) | raised | (Status.INFEASIBLE if nothing else Status(0))

    def _prepare(self, below: bool, value: NDArray[np.int64], before: NDArray[np.int64]) -> None:
        """Determine kind and shifts of the next sweep, and count the clocks of the one that has ended."""
        plain = below or self.sweeps + 1 == self._limit
        meets = not self._evaluates
        if self._proves and not self._evaluates:
            if self._sparse:
                self._interval = after_proof(self._interval, self.proven_by[-1].searched > 0)
            self._unproven = self._interval
        else:
            self._unproven = max(self._unproven - 1, 0)
        self._proves = plain or not self._unproven
        self._left = self._left - 1 if self._evaluates else self._steps_wanted
        self._evaluates = not plain and self._left > 0
        shifts = self._shifts and not plain
        self._plain = (plain or not (self._evaluates or shifts)) and self._proves
        self._before = self._after = np.zeros(self._states, np.int64)
        of_shift = ShiftParameters(self.build)
        if shifts:
            middle = self._grid // 2
            change = value[middle] - before[middle]
            self._before, self._after = of_shift.model(change, self._shift_weights, self._weights)
        if self._logged:
            assert self.log is not None
            of_pass = self._dealt, self.log, shifts
            self.sweep_clocks.append(pass_clocks(*of_pass, self._rounds, meets))
            if meets:
                clocks = self.sweep_clocks[-1] - pass_clocks(*of_pass)
                self.proven_by[-1] = self.proven_by[-1]._replace(clocks=clocks)
            self._clocks += self.sweep_clocks[-1]

    def _sweep(self, value: NDArray[np.int64]) -> Status:
        last, self._found = self._found, self._found.copy()
        tables = (self._costs, self._wealth, self._ev, self._constants)
        searched = np.ones(last.shape, np.bool_)
        raised = Status(0)
        guesses: NDArray[np.int64] = last
        cold = self.sweeps == 0
        if cold and not self._stored:
            # There are no choices to begin from: the guess for each state is its own point.
            guesses = np.repeat(np.arange(self._grid, dtype=np.int64), self._states).reshape(last.shape)
        if not cold:
            flags = np.zeros(self._grid, np.uint8)
            of_choices = last, self.cached, self._ev, value, searched
            if self._evaluates:
                self._unchecked[:] = False
                evaluate_all(*of_choices, flags)
            else:
                check_all(*of_choices, self._unchecked, self._dealt.lane_shift, self._groups is not None, flags)
            raised = raised_status(flags)
        room = self._capacity if self._logged else 0
        while True:
            moves = self._moves.copy()
            given = guesses, self._found, self.cached, value, moves
            done = search_all(self._dealt, *tables, searched, *given, cold, room, limits=self._limits)
            if not self._logged or done.counts.max() <= room:
                break
            # Repeat the searches, with room in the log for all their evaluations.
            room = self._capacity = int(done.counts.max()) * 5 // 4
        self._moves = moves
        count = np.array([self._dealt.points(lane) for lane in range(self.build.lanes)]) * self._states
        self.checked.append(int(count[~self._unchecked].sum()))
        self.searched.append(int(searched.sum()))
        self.patched.append(int(searched.any(axis=1).sum()) * self._states)
        self.evaluations.append(done.evaluations)
        if self._logged:
            self.log = SweepLog(self._dealt, last, searched, done.counts, done.probes, self._unchecked)
        raised |= done.status
        # If at least half of a lane's choices moved, its next sweep searches all states without a check, unless the
        # proof repaired some.
        starts = self._dealt.firsts
        moved = np.zeros(self.build.lanes, np.int64)
        if not cold:
            moved[: starts.size] = np.add.reduceat((self._found != last).sum(axis=1), starts)
        self._smooth[np.flatnonzero(searched.any(axis=1)) >> self._dealt.lane_shift] = False
        repaired = np.zeros(self._grid, np.bool_)
        raised |= self._prove(value, repaired)
        moved[: starts.size][np.logical_or.reduceat(repaired, starts)] = 0
        self._unchecked = (count > 0) & (moved + (count >> MOST_SHIFT) >= count)
        return raised

    def _prove(self, value: NDArray[np.int64], repaired: NDArray[np.bool_]) -> Status:
        """Prove the choices of a sweep, or repair them.

        ``repaired``, bool ``(N_k,)``, becomes true at points where a choice was repaired. Returns the flags raised.
        """
        self._proven = False
        if self._evaluates or not self._proves:
            self._rounds = []
            self.proven_by.append(Proven(0, 0, 0, 0, 0))
            return Status(0)
        room = self._capacity if self._logged else 0
        tables = self._costs, self._wealth, self._ev, self._constants
        proof = Proof(self._dealt, *tables, self._found, self.cached, value, self._smooth, room, self._limits)
        self._proven = proof.proven
        repaired |= proof.moved.any(axis=1)
        self._rounds = [*([proof.shared] if proof.shared else []), *proof.rounds]
        if self._logged:
            self._capacity = proof.room
        searched = int(proof.moved.sum())
        self.proven_by.append(Proven(len(proof.rounds), proof.divided, searched, proof.evaluations, 0))
        self.evaluations[-1] += proof.evaluations
        return proof.status
