"""The sweep engine in software, to the bit, with the clocks that its gateware takes.

Where the objective is single-peaked the results are also those of the assembly line.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.hw.arithmetic.norm import NormParameters
from beltline.hw.arithmetic.objective import INFEASIBLE, raised_status
from beltline.hw.control.sequencer import check_clocks
from beltline.hw.control.software_machine import SoftwareMachine
from beltline.hw.interface.groups import Groups, Mark
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import HELD, Engine, Mode, Status
from beltline.hw.sweep.clocks import Dealt, Round, SweepLog, begin_clocks, pass_clocks, seek_clocks
from beltline.hw.sweep.combine import CombineParameters
from beltline.hw.sweep.lane.parameters import MOST_SHIFT
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.proof import Proof
from beltline.hw.sweep.shift import ShiftParameters
from beltline.hw.sweep.software_passes import add_all, check_all, climb_all, hold_all, walk_all
from beltline.hw.sweep.walk.parameters import WalkParameters

_FIRST_CAPACITY = 64
"""Probes of a walker for which a log has room at first."""


class Proven(NamedTuple):
    """What a sweep's proof took; all 0 where there was none."""

    rounds: int
    divided: int
    walked: int
    evaluations: int
    clocks: int


class SweepSoftwareMachine(SoftwareMachine):
    """The sweep engine's tables, run and counters.

    Parameters
    ----------
    build
        Of the engine.
    contexts
        Walkers of a lane.
    logged
        Count the clocks of the gateware, which takes about as long as the sweeps do, and keep in ``log`` what those of
        the last sweep follow from. Without, ``clocks`` is 0.

    Attributes
    ----------
    x
        int64, ``(N_k,)``; of a build with costs ``(N_k * states,)``, what point ``x'`` costs in state ``s`` at
        ``x' * states + s``.
    shift_weights
        uint64, ``(states * states,)``: those of :class:`beltline.hw.sweep.shift.ShiftParameters`, as ``q``; of a build
        with alternatives the second matrix of window ``Q``, :class:`beltline.hw.interface.groups.Groups`.
    kept
        int64, ``(N_k, N_z, 3)``: utilities of ``i - 1``, ``i``, ``i + 1`` for the choice ``i``, ``INFEASIBLE`` where
        one is not on the grid or has no utility.
    checked, walked, patched, evaluations, sweep_clocks
        For each sweep of the run, how many states were checked, walked, and read once more for expectations, utilities
        evaluated, and clocks taken where they are counted.
    seek_clocks
        Clocks of the passes that seek other peaks behind the last sweep.
    proven_by
        Of a build with ``proof``, for each sweep: the rounds of its proof, those that divided, states walked from a
        better candidate, evaluations (which ``evaluations`` has too), and clocks (which ``sweep_clocks`` has too)
        beyond those of the sweep without it where they are counted.
    log
        :class:`beltline.hw.sweep.clocks.SweepLog` of the last sweep.
    """

    clocks_source = "modelled by the clock model"

    def __init__(self, build: SweepParameters, contexts: int = 64, logged: bool = False) -> None:
        self.build = build
        self.walk = WalkParameters(build, contexts)
        self._logged = logged
        self._capacity = _FIRST_CAPACITY
        self.shift_weights = np.zeros(build.states * build.states, np.uint64)
        super().__init__(build.grid, build.states, build.grid * build.states)
        if build.costs:
            self.x = np.zeros(build.grid * build.states, np.int64)

    @property
    def parameters(self) -> MachineParameters:
        """A build that it is the machine of. Raises ``ValueError`` where ``states`` is no power of two."""
        build = self.build
        return MachineParameters(
            build.grid,
            build.states,
            multiplier=build.multiplier,
            engine=Engine.SWEEP,
            lanes=build.lanes,
            proof=build.proof,
            costs=build.costs,
            alternatives=build.alternatives,
        )

    @property
    def matrices(self) -> tuple[NDArray[np.uint64], ...]:
        """``q`` and ``shift_weights``."""
        return self.q, self.shift_weights

    def reset(self) -> None:
        """End a run at once; counters are 0 then, and the tables stay."""
        super().reset()
        self.checked: list[int] = []
        self.walked: list[int] = []
        self.patched: list[int] = []
        self.evaluations: list[int] = []
        self.sweep_clocks: list[int] = []
        self.seek_clocks: list[int] = []
        self.proven_by: list[Proven] = []
        self._proven = False
        self._rounds: list[Round] = []
        self.log: SweepLog | None = None
        self._clocks = 0

    @property
    def clocks(self) -> int:
        """Clocks of the run so far, where they are counted."""
        if self._logged and Status.BAD_CONFIGURATION in self.status:
            return check_clocks(self.build.multiplier)
        return self._clocks

    def _fits(self, work: int, sweeps: int) -> bool:
        return sweeps == 1

    def _begin(self, mode: Mode) -> None:
        self._dealt = Dealt(self.walk, self._grid, self._states)
        self._costs = self.x[None]
        if self.build.costs:
            # Of each state that the problem has, those of its points.
            costs = self.x.reshape(self.build.grid, -1)[: self._grid, : self._states]
            self._costs = np.ascontiguousarray(costs.T)
        self._shift_weights = self._given(self.shift_weights)
        self._groups: Groups | None = None
        if self.build.alternatives:
            self._groups = Groups.of(self.shift_weights.reshape(self.build.states, -1), self._states)
            self._keeps = self._groups.has(Mark.KEEPS)
        self._shifts = Mode.SHIFT in mode and self._groups is None
        # Whoever proves need not look for other peaks.
        self._seeks = Mode.PEAKS in mode and not self.build.proof
        self._held_wanted = int(mode) >> HELD.start & 255 if self._groups is None else 0
        self._plain, self._held, self._left = True, False, 0
        self._before = self._after = np.zeros(self._states, np.int64)
        self._moves = np.zeros((self.build.lanes, self.walk.contexts), np.int64)
        self._unchecked = np.ones(self.build.lanes, np.bool_)
        self._smooth = np.zeros(self.build.lanes, np.bool_)
        self.kept = np.full((self._grid, self._states, 3), INFEASIBLE, np.int64)
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
        last = self.sweeps + 1 == self._limit or (below and self._plain and not self._horizon)
        self._sought = self._seeks and last
        peaks = self._sought and (self._seek(False) | self._seek(True))
        self.v[:work] = value.reshape(-1)
        self.policy[:work] = self._found.reshape(-1)
        self.sweeps += 1
        raised |= self._expected(value)
        ended = self._decide(raised, below and self._plain)
        if peaks and not raised:
            self.status |= Status.PEAKS
        if ended and self._proven and not raised:
            self.status |= Status.PROVEN
        self._prepare(below, value, before)
        return ended

    def _finish(self, raised: Status, groups: Groups, value: NDArray[np.int64], before: NDArray[np.int64]) -> Status:
        """Add what each state adds to its value, and put tables of values in their place; ``INFEASIBLE`` is dropped.

        A state that can afford nothing keeps the lowest value. Whether others of its group can afford something is
        known with the expectations.
        """
        poor = self.kept[:, :, 1] == INFEASIBLE
        value[:, self._keeps] = before[:, self._keeps]
        flags = np.zeros(self._grid, np.uint8)
        added = np.where(poor, 0, value)
        add_all(added, groups.kappa, flags)
        value[~poor] = added[~poor]
        return raised & ~Status.INFEASIBLE | raised_status(flags)

    def _expected(self, value: NDArray[np.int64]) -> Status:
        if self._groups is None:
            return super()._expected(value)
        marks = (self._groups.has(mark) for mark in (Mark.BEGINS, Mark.ENDS))
        largest, nothing = CombineParameters(self.build.states).model(value, *marks)
        return super()._expected(largest) | (Status.INFEASIBLE if nothing else Status(0))

    def _prepare(self, below: bool, value: NDArray[np.int64], before: NDArray[np.int64]) -> None:
        """The kind of the next sweep, its shifts, and the clocks of the one that has ended."""
        plain = below or self.sweeps + 1 == self._limit
        self._left = self._left - 1 if self._held else self._held_wanted
        self._held = not plain and self._left > 0
        shifts = self._shifts and not plain
        self._plain = plain or not (self._held or shifts)
        self._before = self._after = np.zeros(self._states, np.int64)
        of_shift = ShiftParameters(self.build)
        if shifts:
            middle = self._grid // 2
            self._before, self._after = of_shift.model(
                value[middle] - before[middle], self._shift_weights, self._weights
            )
        if self._logged:
            assert self.log is not None
            # Nothing is shifted any more behind passes that seek.
            of_pass = self._dealt, self.log, shifts and not self._sought
            self.sweep_clocks.append(pass_clocks(*of_pass, self._rounds))
            self._clocks += self.sweep_clocks[-1]
            if self._rounds:
                clocks = self.sweep_clocks[-1] - pass_clocks(*of_pass)
                self.proven_by[-1] = self.proven_by[-1]._replace(clocks=clocks)

    def _sweep(self, value: NDArray[np.int64]) -> Status:
        last, self._found = self._found, self._found.copy()
        tables = (self._costs, self._wealth, self._ev, self._constants)
        walked = np.ones(last.shape, np.bool_)
        raised = Status(0)
        guesses: NDArray[np.int64] = last
        cold = self.sweeps == 0
        if cold:
            # No choices are kept: a point stands for that of each of its states.
            guesses = np.repeat(np.arange(self._grid, dtype=np.int64), self._states).reshape(last.shape)
        else:
            flags = np.zeros(self._grid, np.uint8)
            of_choices = last, self.kept, self._ev, value, walked
            if self._held:
                self._unchecked[:] = False
                hold_all(*of_choices, flags)
            else:
                check_all(*of_choices, self._unchecked, self._dealt.lane_shift, self._groups is not None, flags)
            raised = raised_status(flags)
        room = self._capacity if self._logged else 0
        while True:
            moves = self._moves.copy()
            done = walk_all(self._dealt, *tables, walked, guesses, self._found, self.kept, value, moves, cold, room)
            if not self._logged or done.counts.max() <= room:
                break
            # The same walks once more, with room for all their probes.
            room = self._capacity = int(done.counts.max()) * 5 // 4
        self._moves = moves
        count = np.array([self._dealt.points(lane) for lane in range(self.build.lanes)]) * self._states
        self.checked.append(int(count[~self._unchecked].sum()))
        self.walked.append(int(walked.sum()))
        self.patched.append(int(walked.any(axis=1).sum()) * self._states)
        self.evaluations.append(done.evaluations)
        if self._logged:
            self.log = SweepLog(self._dealt, last, walked, done.counts, done.probes, self._unchecked)
        raised |= done.status
        # Where nearly all choices have moved, nearly all will move again, unless a proof moved some back.
        starts = np.arange(0, self._grid, 1 << self._dealt.lane_shift)
        moved = np.zeros(self.build.lanes, np.int64)
        if not cold:
            moved[: starts.size] = np.add.reduceat((self._found != last).sum(axis=1), starts)
        if self.build.proof:
            self._smooth[np.flatnonzero(walked.any(axis=1)) >> self._dealt.lane_shift] = False
            repaired = np.zeros(self._grid, np.bool_)
            raised |= self._prove(value, repaired)
            moved[: starts.size][np.logical_or.reduceat(repaired, starts)] = 0
        self._unchecked = (count > 0) & (moved + (count >> MOST_SHIFT) >= count)
        return raised

    def _prove(self, value: NDArray[np.int64], repaired: NDArray[np.bool_]) -> Status:
        """Prove the choices of a sweep, or repair them; ``repaired`` takes the points where one moved."""
        self._proven = False
        if self._held:
            self._rounds = []
            self.proven_by.append(Proven(0, 0, 0, 0, 0))
            return Status(0)
        room = self._capacity if self._logged else 0
        tables = self._costs, self._wealth, self._ev, self._constants
        proof = Proof(self._dealt, *tables, self._found, self.kept, value, self._smooth, room)
        self._proven = proof.proven
        repaired |= proof.moved.any(axis=1)
        self._rounds = proof.rounds
        if self._logged:
            self._capacity = proof.room
        walked = int(proof.moved.sum())
        self.proven_by.append(Proven(len(proof.rounds), proof.divided, walked, proof.evaluations, 0))
        self.evaluations[-1] += proof.evaluations
        return proof.status

    def _seek(self, above: bool) -> bool:
        """Behind the last sweep, whether a search from below, or from above, ends on another peak."""
        dealt, build, walk = self._dealt, self.build, self.walk
        shape = (build.lanes, walk.contexts)
        of_walks = self._costs, self._wealth, self._ev, self._constants.words, (dealt.lane_shift, dealt.part_shift)
        room = self._capacity if self._logged else 0
        while True:
            counts, others = np.zeros(shape, np.int64), np.zeros((build.lanes, 1 << walk.part_bits), np.bool_)
            probes = np.empty((build.lanes * walk.contexts, room), np.int32)
            climb_all(*of_walks, build.state_bits, self._found, above, others, counts, probes)
            if not self._logged or counts.max() <= room:
                break
            room = self._capacity = int(counts.max()) * 5 // 4
        if self._logged:
            every = np.ones(self._found.shape, np.bool_)
            log = SweepLog(dealt, self._found, every, counts, probes, np.ones(build.lanes, np.bool_))
            self.seek_clocks.append(seek_clocks(dealt, log))
            self._clocks += self.seek_clocks[-1]
        return bool(others.any())
