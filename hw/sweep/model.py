"""The sweep engine in software, to the bit: the check and the walk of every lane, for any objective.

A walk that starts elsewhere may end on another peak, so the walkers, their guesses and their steps are those of
:class:`beltline.hw.sweep.walk.walk.Walk`. Where the objective is single-peaked the results are also those of the
assembly line.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from beltline.hw.arithmetic.norm import NormParameters
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility import UtilityConstants
from beltline.hw.control.sequencer import SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import HELD, Mode, Status
from beltline.hw.line.model import (
    _INFEASIBLE,
    _SATURATED,
    INFEASIBLE,
    SoftwareMachine,
    _above,
    _candidate,
    _clamped,
    _objective,
    _status,
)
from beltline.hw.sweep.clocks import Dealt, SweepLog, pass_clocks, seek_clocks
from beltline.hw.sweep.lane.parameters import MOST_SHIFT
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.shift import ShiftParameters
from beltline.hw.sweep.walk.parameters import DECAY, WalkParameters
from beltline.hw.sweep.walk_clocks import OFF_GRID

_EXPONENT_LIMIT = 15
"""Largest exponent of a walker's step."""

_FIRST_CAPACITY = 64
"""Probes of a walker for which a log has room at first."""


@njit(cache=True, parallel=True)
def _check(choices, kept, ev, value, walked, unchecked, lane_shift, flags):  # type: ignore[no-untyped-def]
    """The first pass: ``value`` of the states that stay, ``walked`` where they do not; all of an unchecked lane are."""
    for i in prange(choices.shape[0]):
        flag = 0
        if unchecked[i >> lane_shift]:
            walked[i] = True
            continue
        for s in range(choices.shape[1]):
            j = choices[i, s]
            below, here, above = kept[i, s, 0], kept[i, s, 1], kept[i, s, 2]
            best = _objective(here, ev[j, s])
            stays = here != INFEASIBLE
            if below != INFEASIBLE:
                stays = stays and _above(best, _objective(below, ev[j - 1, s]))
            if above != INFEASIBLE:
                stays = stays and not _above(_objective(above, ev[j + 1, s]), best)
            walked[i, s] = not stays
            if stays:
                value[i, s], saturated = _clamped(best)
                flag |= _SATURATED if saturated else 0
        flags[i] = flag


@njit(cache=True, parallel=True)
def _hold(choices, kept, ev, value, walked, flags):  # type: ignore[no-untyped-def]
    """The first pass of a sweep that keeps all choices."""
    for i in prange(choices.shape[0]):
        flag = 0
        for s in range(choices.shape[1]):
            walked[i, s] = False
            value[i, s], saturated = _clamped(_objective(kept[i, s, 1], ev[choices[i, s], s]))
            flag |= _SATURATED if saturated else 0
        flags[i] = flag


@njit(cache=True, parallel=True)
def _add(values, shift, flags):  # type: ignore[no-untyped-def]
    """Add the shift of each state to its values, which stay in range."""
    for i in prange(values.shape[0]):
        flag = 0
        for s in range(values.shape[1]):
            v, c = values[i, s], shift[s]
            if c > 0 and v > MAXIMUM - c:
                values[i, s], flag = MAXIMUM, _SATURATED
            elif c < 0 and v < MINIMUM - c:
                values[i, s], flag = MINIMUM, _SATURATED
            else:
                values[i, s] = v + c
        flags[i] = flag


@njit(cache=True)
def _walk(wealth, x, ev, s, words, guess, log, count):  # type: ignore[no-untyped-def]
    """``(index, u(index - 1), u(index), u(index + 1), over, count, off)`` of the peak that is found from ``guess``.

    ``count`` goes on from probe to probe, ``off`` of them are not on the grid; those that have room in ``log`` leave
    what :class:`SweepLog` has of a probe.
    """
    top = ev.shape[0] - 1
    index = guess
    u, feasible, over = _candidate(wealth, x[index], words)
    any_over = over
    here = u if feasible else np.int64(INFEASIBLE)
    best = _objective(u, ev[index, s])
    if count < log.size:
        log[count] = index << 1
    count += 1
    below = above = np.int64(INFEASIBLE)
    below_known = above_known = down = streak = shrinks = False
    exponent = off = 0
    while True:
        step = 1 << exponent
        j = index - step if down else index + step
        on_grid = 0 <= j <= top
        of_j = np.int64(INFEASIBLE)
        objective = best
        better = False
        if on_grid:
            u, feasible, over = _candidate(wealth, x[j], words)
            any_over = any_over or over
            of_j = u if feasible else np.int64(INFEASIBLE)
            objective = _objective(u, ev[j, s])
            if down:
                better = here == INFEASIBLE or (feasible and not _above(best, objective))
            else:
                better = feasible and (here == INFEASIBLE or _above(objective, best))
        done = False
        if better:
            if down:
                above = here
            else:
                below = here
            below_known, above_known = not down and exponent == 0, down and exponent == 0
            index, best, here = j, objective, of_j
            if shrinks:
                shrinks = exponent > 1
                exponent = max(exponent - 1, 0)
            elif streak and exponent < _EXPONENT_LIMIT:
                exponent += 1
            streak = True
        else:
            if exponent == 0:
                if down:
                    below, below_known, done = of_j, True, above_known
                else:
                    above, above_known, done = of_j, True, below_known
                down = not down
            streak, shrinks = False, exponent > 0 and not on_grid
            exponent = exponent - 1 if shrinks else 0
        if count < log.size:
            log[count] = ((j if on_grid else OFF_GRID) << 1) | done
        count += 1
        off += 0 if on_grid else 1
        if done:
            return index, below, here, above, any_over, count, off


@njit(cache=True)
def _part(task, parts, shifts, rows):  # type: ignore[no-untyped-def]
    """Lane and part of a task, and the points from ``begin`` to ``end`` that they have."""
    lane_shift, part_shift = shifts
    lane, part = task // parts, task % parts
    begin = (lane << lane_shift) + (part << part_shift)
    return lane, part, begin, min(begin + (1 << part_shift), (lane + 1) << lane_shift, rows)


@njit(cache=True, parallel=True)
def _walks(  # type: ignore[no-untyped-def]
    x,
    w,
    ev,
    words,
    walked,
    shifts,
    state_bits,
    last,
    choices,
    kept,
    value,
    moves,
    cold,
    flags,
    counts,
    evaluations,
    log,
):
    """The second pass, from choices ``last`` to ``choices``; ``shifts`` of lane and part."""
    rows, states = w.shape
    walkers, parts = counts.shape[1], flags.shape[1]
    for task in prange(flags.size):
        lane, part, begin, end = _part(task, parts, shifts, rows)
        flag = 0
        for s in range(states):
            walker = part << state_bits | s
            count = off_grid = 0
            shift = 0 if cold else moves[lane, walker]
            begun = False
            own = log[lane * walkers + walker]
            for i in range(begin, end):
                if not walked[i, s]:
                    continue
                guess = min(max(last[i, s] + shift, 0), rows - 1)
                index, below, here, above, over, count, off = _walk(w[i, s], x, ev, s, words, guess, own, count)
                off_grid += off
                shift = index - last[i, s]
                if not begun:
                    moves[lane, walker] = 0 if cold else shift - (shift >> DECAY)
                begun = True
                choices[i, s] = index
                kept[i, s, 0], kept[i, s, 1], kept[i, s, 2] = below, here, above
                flag |= _SATURATED if over else 0
                if here == INFEASIBLE:
                    value[i, s] = MINIMUM
                    flag |= _INFEASIBLE
                else:
                    value[i, s], saturated = _clamped(_objective(here, ev[index, s]))
                    flag |= _SATURATED if saturated else 0
            counts[lane, walker] = count
            evaluations[lane, part] += count - off_grid
        flags[lane, part] = flag


@njit(cache=True, parallel=True)
def _climbs(x, w, ev, words, shifts, state_bits, choices, above, others, counts, log):  # type: ignore[no-untyped-def]
    """All states from the lowest candidate, or the highest; ``others`` where one ends elsewhere than its choice."""
    rows, states = w.shape
    walkers, parts = counts.shape[1], others.shape[1]
    for task in prange(others.size):
        lane, part, begin, end = _part(task, parts, shifts, rows)
        other = False
        for s in range(states):
            walker = part << state_bits | s
            own = log[lane * walkers + walker]
            count = 0
            index = rows - 1 if above else 0
            for i in range(begin, end):
                index, _, here, _, _, count, _ = _walk(w[i, s], x, ev, s, words, index, own, count)
                other = other or (here != INFEASIBLE and index != choices[i, s])
            counts[lane, walker] = count
        others[lane, part] = other


@dataclass(frozen=True, eq=False)
class Walked:
    """What :func:`walk_all` tells besides the results.

    Parameters
    ----------
    status
        ``SATURATED`` and ``INFEASIBLE`` where a state raised them.
    counts
        int64, ``(lanes, contexts)``: the probes of each walker.
    evaluations
        Probes of all walkers that were on the grid.
    probes
        As in :class:`SweepLog`, of each walker the first ones that there was room for.
    """

    status: Status
    counts: NDArray[np.int64]
    evaluations: int
    probes: NDArray[np.int32]


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
    shift_weights
        uint64, ``(states * states,)``: those of :class:`beltline.hw.sweep.shift.ShiftParameters`, as ``q``.
    kept
        int64, ``(N_k, N_z, 3)``: utilities of ``i - 1``, ``i``, ``i + 1`` for the choice ``i``, ``INFEASIBLE`` where
        one is not on the grid or has no utility.
    checked, walked, patched, evaluations, sweep_clocks
        For each sweep of the run, how many states were checked, walked, and read once more for expectations, utilities
        evaluated, and clocks taken where they are counted.
    seek_clocks
        Clocks of the passes that seek other peaks behind the last sweep.
    log
        :class:`beltline.hw.sweep.clocks.SweepLog` of the last sweep.
    """

    def __init__(self, build: SweepParameters, contexts: int = 64, logged: bool = False) -> None:
        self.build = build
        self.walk = WalkParameters(build, contexts)
        self._logged = logged
        self._capacity = _FIRST_CAPACITY
        self.shift_weights = np.zeros(build.states * build.states, np.uint64)
        super().__init__(MachineParameters(build.grid, build.states, multiplier=build.multiplier))

    def reset(self) -> None:
        """End a run at once; counters are 0 then, and the tables stay."""
        super().reset()
        self.checked: list[int] = []
        self.walked: list[int] = []
        self.patched: list[int] = []
        self.evaluations: list[int] = []
        self.sweep_clocks: list[int] = []
        self.seek_clocks: list[int] = []
        self.log: SweepLog | None = None
        self._clocks = 0

    @property
    def clocks(self) -> int:
        return self._clocks

    def start(
        self, grid: int, states: int, mode: Mode, sweep_limit: int, epsilon: int, constants: UtilityConstants
    ) -> None:
        """Check the configuration and do the prologue; the run has ended already where ``status`` is not ``BUSY``."""
        self.reset()
        self._grid, self._states = grid, states
        self._horizon = Mode.HORIZON in mode
        if (
            not 2 <= grid <= self.parameters.grid
            or not 1 <= states <= self.parameters.states
            or sweep_limit < 1
            or (self._horizon and sweep_limit > 1)
        ):
            self.status = Status.DONE | Status.BAD_CONFIGURATION
            self._clocks = SequencerParameters(self.parameters).check if self._logged else 0
            return
        self._limit, self._epsilon, self._constants = sweep_limit, epsilon, constants
        self._slot = 0
        work = grid * states
        self._wealth = self.w[:work].reshape(grid, states)
        self._weights = np.ascontiguousarray(self.q.reshape(self.parameters.states, -1)[:states, :states])
        self._dealt = Dealt(self.walk, grid, states)
        weights = self.shift_weights.reshape(self.parameters.states, -1)[:states, :states]
        self._shift_weights = np.ascontiguousarray(weights)
        self._shifts = Mode.SHIFT in mode
        self._seeks = Mode.PEAKS in mode
        self._held_wanted = int(mode) >> HELD.start & 255
        self._plain, self._held, self._left = True, False, 0
        self._before = self._after = np.zeros(states, np.int64)
        self._moves = np.zeros((self.build.lanes, self.walk.contexts), np.int64)
        self._unchecked = np.ones(self.build.lanes, np.bool_)
        self._found = np.zeros((grid, states), np.int64)
        self.kept = np.full((grid, states, 3), INFEASIBLE, np.int64)
        self._clocks = SequencerParameters(self.parameters).check + pass_clocks(self._dealt) if self._logged else 0
        self.status = Status.BUSY
        if self._expect(self.v[:work].reshape(grid, states)):
            self.status = Status.DONE | Status.SATURATED

    def _step(self) -> bool:
        work = self._grid * self._states
        before = self.v[:work].reshape(self._grid, self._states).copy()
        value = np.empty_like(before)
        raised = self._sweep(value)
        for table, shift in ((value, self._after), (before, self._before)):
            if shift.any():
                flags = np.zeros(self._grid, np.uint8)
                _add(table, shift, flags)
                raised |= _status(flags)
        self.norm = NormParameters().model(value, before)
        below = self.norm < self._epsilon
        last = self.sweeps + 1 == self._limit or (below and self._plain and not self._horizon)
        self._sought = self._seeks and last
        peaks = self._sought and (self._seek(False) | self._seek(True))
        self.v[:work] = value.reshape(-1)
        self.policy[:work] = self._found.reshape(-1)
        self.sweeps += 1
        if self._expect(value):
            raised |= Status.SATURATED
        ended = self._decide(raised, below and self._plain)
        if peaks and not raised:
            self.status |= Status.PEAKS
        self._prepare(below, value, before)
        return ended

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
            self.sweep_clocks.append(pass_clocks(self._dealt, self.log, shifts and not self._sought))
            self._clocks += self.sweep_clocks[-1]

    def _sweep(self, value: NDArray[np.int64]) -> Status:
        last, self._found = self._found, self._found.copy()
        tables = (self.x, self._wealth, self._ev, self._constants)
        walked = np.ones(last.shape, np.bool_)
        raised = Status(0)
        guesses = last
        cold = self.sweeps == 0
        if cold:
            # No choices are kept: a point stands for that of each of its states.
            guesses = np.repeat(np.arange(self._grid, dtype=np.int64), self._states).reshape(last.shape)
        else:
            flags = np.zeros(self._grid, np.uint8)
            of_choices = last, self.kept, self._ev, value, walked
            if self._held:
                self._unchecked[:] = False
                _hold(*of_choices, flags)
            else:
                _check(*of_choices, self._unchecked, self._dealt.lane_shift, flags)
            raised = _status(flags)
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
        # Where nearly all choices have moved, nearly all will move again.
        starts = np.arange(0, self._grid, 1 << self._dealt.lane_shift)
        moved = np.zeros(self.build.lanes, np.int64)
        if not cold:
            moved[: starts.size] = np.add.reduceat((self._found != last).sum(axis=1), starts)
        self._unchecked = (count > 0) & (moved + (count >> MOST_SHIFT) >= count)
        return raised | done.status

    def _seek(self, above: bool) -> bool:
        """Behind the last sweep, whether a search from below, or from above, ends on another peak."""
        dealt, build, walk = self._dealt, self.build, self.walk
        shape = (build.lanes, walk.contexts)
        of_walks = self.x, self._wealth, self._ev, self._constants.words, (dealt.lane_shift, dealt.part_shift)
        room = self._capacity if self._logged else 0
        while True:
            counts, others = np.zeros(shape, np.int64), np.zeros((build.lanes, 1 << walk.part_bits), np.bool_)
            probes = np.empty((build.lanes * walk.contexts, room), np.int32)
            _climbs(*of_walks, build.state_bits, self._found, above, others, counts, probes)
            if not self._logged or counts.max() <= room:
                break
            room = self._capacity = int(counts.max()) * 5 // 4
        if self._logged:
            every = np.ones(self._found.shape, np.bool_)
            log = SweepLog(dealt, self._found, every, counts, probes, np.ones(build.lanes, np.bool_))
            self.seek_clocks.append(seek_clocks(dealt, log))
            self._clocks += self.seek_clocks[-1]
        return bool(others.any())


def walk_all(
    dealt: Dealt,
    x: NDArray[np.int64],
    w: NDArray[np.int64],
    ev: NDArray[np.int64],
    constants: UtilityConstants,
    walked: NDArray[np.bool_],
    last: NDArray[np.int64],
    choices: NDArray[np.int64],
    kept: NDArray[np.int64],
    value: NDArray[np.int64],
    moves: NDArray[np.int64],
    cold: bool = False,
    room: int = 0,
) -> Walked:
    """The second pass of a sweep, of all lanes.

    Parameters
    ----------
    dealt
        States to lanes and walkers.
    x, w, ev
        int64, ``(N_k,)`` or longer, ``(N_k, N_z)``, ``(N_k, N_z)``.
    constants
        Of the utility unit.
    walked
        bool, ``(N_k, N_z)``: the states to walk.
    last
        int64, ``(N_k, N_z)``: the choices before.
    choices, kept, value
        int64, ``(N_k, N_z)``, ``(N_k, N_z, 3)``, ``(N_k, N_z)``: written where a state is walked.
    moves
        int64, ``(lanes, contexts)``: by how much each walker expects its first choice to move, before the sweep and
        after it.
    cold
        Whether that means nothing, and is 0 after the sweep.
    room
        Probes of a walker that are logged; what has no room is counted only.
    """
    walk = dealt.walk
    lanes = walk.build.lanes
    counts = np.zeros((lanes, walk.contexts), np.int64)
    probes = np.empty((lanes * walk.contexts, room), np.int32)
    flags = np.zeros((lanes, 1 << walk.part_bits), np.uint8)
    evaluations = np.zeros(flags.shape, np.int64)
    if walked.any():
        _walks(
            x,
            w,
            ev,
            constants.words,
            walked,
            (dealt.lane_shift, dealt.part_shift),
            walk.build.state_bits,
            last,
            choices,
            kept,
            value,
            moves,
            cold,
            flags,
            counts,
            evaluations,
            probes,
        )
    return Walked(_status(flags.reshape(-1)), counts, int(evaluations.sum()), probes)
