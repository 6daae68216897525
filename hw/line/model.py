"""The machine in software, to the bit.

Two ways through a sweep. :func:`line_sweep` follows the assembly line stage by stage: the same candidates, comparisons
and recursion. The fast path walks from the policy of the last sweep or of the neighbouring point to the nearest local
maximum and evaluates next to nothing once the policy has settled. They agree to the bit wherever the objective is
single-peaked in integers, and :func:`single_peaked` proves that for a whole sweep before the fast path is taken.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, prange, set_num_threads
from numpy.typing import NDArray

from beltline.hw.arithmetic.evaluator import consumption_word
from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.arithmetic.norm import NormParameters
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility import A_FRACTION, B_FRACTION, UtilityConstants, UtilityParameters, utility_word
from beltline.hw.control.sequencer import SequencerParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Mode, Status
from beltline.hw.line.stage import next_position
from beltline.hw.top.machine import run_clocks

INFEASIBLE = MINIMUM
"""In the arrays of kept utilities: no such candidate. No utility is as low."""

_CHUNKS_PER_THREAD = 8
_THREADS_WORTH = 10_000
"""States of a sweep below which threads gain nothing; on a busy computer waiting for them costs a hundredfold."""

_SATURATED = 1
_INFEASIBLE = 2


@njit(cache=True, inline="always")
def _objective(u, ev):  # type: ignore[no-untyped-def]
    """``u + ev`` in 65 bits, as its upper 64 bits and the lowest one."""
    return (u >> np.int64(1)) + (ev >> np.int64(1)) + (u & ev & np.int64(1)), (u ^ ev) & np.int64(1)


@njit(cache=True, inline="always")
def _above(a, b):  # type: ignore[no-untyped-def]
    return a[0] > b[0] or (a[0] == b[0] and a[1] > b[1])


@njit(cache=True, inline="always")
def _clamped(o):  # type: ignore[no-untyped-def]
    """``(value, saturated)`` of a 65-bit objective."""
    if o[0] >= 2**62:
        return np.int64(MAXIMUM), True
    if o[0] < -(2**62):
        return np.int64(MINIMUM), True
    return (o[0] << np.int64(1)) | o[1], False


@njit(cache=True)
def _candidate(wealth, x, words):  # type: ignore[no-untyped-def]
    """``(u, feasible, over)`` of one candidate, as the evaluator gives them."""
    c, excess = consumption_word(wealth, x)
    u, feasible, over = utility_word(c, words)
    return u, feasible, over or excess


@njit(cache=True)
def _line_search(wealth, x, ev, state, words, index_bits):  # type: ignore[no-untyped-def]
    """``(index, objective, feasible, over)`` of one state: the stages of the line, one after the other."""
    rows = ev.shape[0]
    h = 0
    any_over = False
    objectives_high = np.zeros(4, np.int64)
    objectives_low = np.zeros(4, np.int64)
    feasible = np.zeros(4, np.bool_)
    for number in range(1, index_bits):
        last = number == index_bits - 1
        step = 1 << (index_bits - number - 1)
        for j in range(0 if last else 1, 4):
            i = step * (h + j)
            u, good, over = _candidate(wealth, x[i], words)
            any_over = any_over or over
            high, low = _objective(u, ev[i, state] if i < rows else np.int64(0))
            objectives_high[j], objectives_low[j], feasible[j] = high, low, good
        if not last:
            h = next_position(
                h,
                (objectives_high[1], objectives_low[1]),
                feasible[1],
                (objectives_high[2], objectives_low[2]),
                feasible[2],
                (objectives_high[3], objectives_low[3]),
                feasible[3],
            )
    best = -1
    for j in range(4):
        if feasible[j] and (
            best < 0 or _above((objectives_high[j], objectives_low[j]), (objectives_high[best], objectives_low[best]))
        ):
            best = j
    if best < 0:
        return h, (np.int64(0), np.int64(0)), False, any_over
    return h + best, (objectives_high[best], objectives_low[best]), True, any_over


@njit(cache=True, parallel=True)
def _line_sweep(x, w, ev, words, index_bits, value, policy, flags):  # type: ignore[no-untyped-def]
    for i in prange(w.shape[0]):
        for s in range(w.shape[1]):
            index, objective, feasible, over = _line_search(w[i, s], x, ev, s, words, index_bits)
            policy[i, s] = index
            flag = _SATURATED if over else 0
            if feasible:
                value[i, s], saturated = _clamped(objective)
                flag |= _SATURATED if saturated else 0
            else:
                value[i, s] = MINIMUM
                flag |= _INFEASIBLE
            flags[i] |= flag


def line_sweep(
    x: NDArray[np.int64],
    w: NDArray[np.int64],
    ev: NDArray[np.int64],
    constants: UtilityConstants,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Status]:
    """One sweep, stage by stage.

    Parameters
    ----------
    x
        int64, the built ``2**p`` points, padded with ``2**63 - 1``.
    w, ev
        int64, ``(N_k, N_z)``: wealth and expected value.
    constants
        Of the utility unit.

    Returns
    -------
    value, policy
        int64, ``(N_k, N_z)``.
    status
        ``SATURATED`` and ``INFEASIBLE`` where a state raised them.
    """
    value, policy = np.empty_like(w), np.empty_like(w)
    flags = np.zeros(w.shape[0], np.uint8)
    _line_sweep(x, w, ev, constants.words, x.size.bit_length() - 1, value, policy, flags)
    return value, policy, _status(flags)


def _status(flags: NDArray[np.uint8]) -> Status:
    raised = int(np.bitwise_or.reduce(flags))
    return Status((Status.SATURATED if raised & _SATURATED else 0) | (Status.INFEASIBLE if raised & _INFEASIBLE else 0))


@njit(cache=True)
def _utility_at(wealth, x, i, rows, words):  # type: ignore[no-untyped-def]
    if i < 0 or i >= rows:
        return np.int64(INFEASIBLE)
    u, feasible, _ = _candidate(wealth, x[i], words)
    return u if feasible else np.int64(INFEASIBLE)


@njit(cache=True)
def _climb(wealth, x, ev, s, words, start):  # type: ignore[no-untyped-def]
    """``(p, u(p - 1), u(p), u(p + 1))`` of the maximum, from any feasible or infeasible ``start``."""
    rows = ev.shape[0]
    p = start
    here = _utility_at(wealth, x, p, rows, words)
    while here == INFEASIBLE and p > 0:
        p -= 1
        here = _utility_at(wealth, x, p, rows, words)
    below = np.int64(INFEASIBLE)
    known = False
    above = _utility_at(wealth, x, p + 1, rows, words)
    while above != INFEASIBLE and _above(_objective(above, ev[p + 1, s]), _objective(here, ev[p, s])):
        below, here, known = here, above, True
        p += 1
        above = _utility_at(wealth, x, p + 1, rows, words)
    if not known:
        below = _utility_at(wealth, x, p - 1, rows, words)
        while below != INFEASIBLE and not _above(_objective(here, ev[p, s]), _objective(below, ev[p - 1, s])):
            here, above = below, here
            p -= 1
            below = _utility_at(wealth, x, p - 1, rows, words)
    return p, below, here, above


@njit(cache=True, parallel=True)
def _climb_sweep(x, w, ev, words, index_bits, warm, kept, value, policy, flags, chunks):  # type: ignore[no-untyped-def]
    rows, states = w.shape
    for chunk in prange(chunks):
        begin, end = rows * chunk // chunks, rows * (chunk + 1) // chunks
        flag = 0
        for s in range(states):
            p = 0
            for i in range(begin, end):
                if warm:
                    p_old = policy[i, s]
                    below, here, above = kept[i, s, 0], kept[i, s, 1], kept[i, s, 2]
                    best = _objective(here, ev[p_old, s])
                    rises = above != INFEASIBLE and _above(_objective(above, ev[p_old + 1, s]), best)
                    falls = below != INFEASIBLE and not _above(best, _objective(below, ev[p_old - 1, s]))
                    if here != INFEASIBLE and not rises and not falls:
                        p = p_old
                        value[i, s], saturated = _clamped(best)
                        flag |= _SATURATED if saturated else 0
                        continue
                    start = max(p_old, p) if rises or i == begin else p
                else:
                    start = p
                    if i == begin:
                        start = _line_search(w[i, s], x, ev, s, words, index_bits)[0]
                p, below, here, above = _climb(w[i, s], x, ev, s, words, start)
                policy[i, s] = p
                kept[i, s, 0], kept[i, s, 1], kept[i, s, 2] = below, here, above
                if here == INFEASIBLE:
                    value[i, s] = MINIMUM
                    flag |= _INFEASIBLE
                else:
                    value[i, s], saturated = _clamped(_objective(here, ev[p, s]))
                    flag |= _SATURATED if saturated else 0
        flags[chunk] = flag


@njit(cache=True, inline="always")
def _difference(a, b):  # type: ignore[no-untyped-def]
    """``a - b`` rounded once, whatever their signs: signed overflow is undefined to the compiler."""
    if a >= b:
        return np.float64(np.uint64(a) - np.uint64(b))
    return -np.float64(np.uint64(b) - np.uint64(a))


def _steps(x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Distances of the points of an increasing grid, whatever their signs."""
    return np.diff(x.view(np.uint64)).astype(np.float64)


@njit(cache=True, parallel=True)
def _falls_everywhere(ev, steps, room, holds):  # type: ignore[no-untyped-def]
    for j in prange(ev.shape[0] - 2):
        fine = True
        for s in range(ev.shape[1]):
            left = _difference(ev[j + 1, s], ev[j, s]) / steps[j]
            right = _difference(ev[j + 2, s], ev[j + 1, s]) / steps[j + 1]
            slack = (abs(left) + abs(right)) * 2.0**-50
            fine = fine and right - left + slack < room[j, s]
        holds[j] = fine


def curvature_room(x: NDArray[np.int64], w: NDArray[np.int64], constants: UtilityConstants) -> NDArray[np.float64]:
    """By how much the slope of ``EV`` may rise at each point without spoiling single-peakedness.

    The objective ``O_j = U(W - X_j) + EV_j`` is single-peaked in integers where its slope falls strictly from one pair
    of neighbours to the next. Between the pairs ``(j, j+1)`` and ``(j+1, j+2)``, at distances ``h`` and ``h'``, the
    slope of the exact utility falls by at least ``|U''(C)| (h + h')/2`` with ``C = max_x W(x, s) - X_j``, the largest
    consumption, because the third derivative of CRRA utility is positive. The unit's error ``d`` can spoil
    ``2 d/h + 2 d/h'`` of it, and that share, too, is largest at the largest consumption. What is left is the room.

    Parameters
    ----------
    x
        int64, ``(N_k,)``, strictly increasing.
    w
        int64, ``(N_k, N_z)``.

    Returns
    -------
    room
        float64, ``(max(N_k - 2, 0), N_z)``, units of value per unit of money; infinite where the three points are never
        affordable together, negative where the grid is too fine for the number formats.
    """
    points = x[:, None]
    c = (w.max(axis=0)[None, :] - points)[:-2]
    affordable = w.max(axis=0)[None, :] > points[2:]
    u, feasible, over = UtilityParameters().model(np.maximum(c, 1), constants)
    size = np.abs(u.astype(np.float64))
    consumption = c.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if constants.log:
            bend = 2.0 ** (B_FRACTION - constants.shift) / consumption**2
        else:
            power = constants.a / 2.0**A_FRACTION
            bend = np.maximum(size - 1.0, 0.0) * abs(power) * (1.0 - power) / consumption**2
        steps = _steps(x)[:, None]
        error = 1.0 + size * 2.0**-52
        room = bend * (1 - 2.0**-40) * (steps[:-1] + steps[1:]) / 2 - 2 * error * (1 / steps[:-1] + 1 / steps[1:])
    room = np.where(feasible & ~over, room, -np.inf)
    return np.where(affordable, room, np.inf)


def single_peaked(ev: NDArray[np.int64], x: NDArray[np.int64], room: NDArray[np.float64]) -> bool:
    """Whether every objective of the sweep is proven single-peaked; ``room`` of :func:`curvature_room`."""
    if ev.shape[0] < 3:
        return True
    holds = np.empty(ev.shape[0] - 2, np.bool_)
    _falls_everywhere(ev, _steps(x), room, holds)
    return bool(holds.all())


class SoftwareMachine:
    """The machine's tables, run and counters, without its clock: the clocks are those that the gateware would take.

    Parameters
    ----------
    parameters
        The build.
    stage_by_stage
        Never take the fast path, whose results are the same.

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
    literal_sweeps
        How many of the sweeps went stage by stage.
    """

    def __init__(self, parameters: MachineParameters, stage_by_stage: bool = False) -> None:
        self.parameters = parameters
        self._stage_by_stage = stage_by_stage
        self.x = np.zeros(parameters.grid, np.int64)
        self.w = np.zeros(parameters.grid * parameters.states, np.int64)
        self.q = np.zeros(parameters.states * parameters.states, np.uint64)
        self.v = np.zeros(parameters.results, np.int64)
        self.policy = np.zeros(parameters.results, np.int64)
        self.reset()

    def reset(self) -> None:
        """End a run at once; counters are 0 then, and the tables stay."""
        self.status = Status(0)
        self.sweeps = 0
        self.norm = 0
        self.literal_sweeps = 0
        self._stopping = False
        self._grid = self._states = 0

    @property
    def states_done(self) -> int:
        return self.sweeps * self._grid * self._states

    @property
    def clocks(self) -> int:
        if not self.status:
            return 0
        if Status.BAD_CONFIGURATION in self.status:
            return SequencerParameters(self.parameters).check
        return run_clocks(self.parameters, self._grid, self._states, self.sweeps)

    def start(
        self, grid: int, states: int, mode: Mode, sweep_limit: int, epsilon: int, constants: UtilityConstants
    ) -> None:
        """Check the configuration and do the prologue; the run has ended already where ``status`` is not ``BUSY``."""
        parameters = self.parameters
        self.sweeps, self.norm, self.literal_sweeps = 0, 0, 0
        self._stopping = False
        self._grid, self._states = grid, states
        self._horizon = Mode.HORIZON in mode
        work = grid * states
        if (
            not 2 <= grid <= parameters.grid
            or not 1 <= states <= parameters.states
            or sweep_limit < 1
            or (self._horizon and work * sweep_limit > parameters.results)
        ):
            self.status = Status.DONE | Status.BAD_CONFIGURATION
            return
        self._limit, self._epsilon, self._constants = sweep_limit, epsilon, constants
        self._wealth = self.w[:work].reshape(grid, states)
        self._weights = np.ascontiguousarray(self.q.reshape(parameters.states, -1)[:states, :states])
        points = self.x[:grid]
        self._room = curvature_room(points, self._wealth, constants)
        # The largest utility of all; where it is out of range, which candidates are looked at makes a difference.
        top, excess = consumption_word(self._wealth.max(), points[0])
        self._literal = bool(
            self._stage_by_stage
            or excess
            or UtilityParameters().model(top, constants)[2]
            or (points[1:] <= points[:-1]).any()
            or (self.x[grid:] < MAXIMUM).any()
        )
        self._warm = False
        self._kept = np.empty((grid, states, 3), np.int64)
        self._found = np.zeros((grid, states), np.int64)
        self.status = Status.BUSY
        self._slot = 0
        if self._expect(self.v[:work].reshape(grid, states)):
            self.status = Status.DONE | Status.SATURATED

    def _expect(self, value: NDArray[np.int64]) -> bool:
        self._ev, saturated = ExpectationParameters(self.parameters.states).model(value, self._weights)
        return saturated

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

    def _step(self) -> bool:
        work = self._grid * self._states
        shape = (self._grid, self._states)
        old = self.v[self._slot : self._slot + work].reshape(shape)
        raised = self._sweep(new := np.empty(shape, np.int64))
        self.norm = NormParameters().model(new, old)
        if self._horizon and self.sweeps > 0:
            self._slot += work
        self.v[self._slot : self._slot + work] = new.reshape(-1)
        self.policy[self._slot : self._slot + work] = self._found.reshape(-1)
        self.sweeps += 1
        if self._expect(new):
            raised |= Status.SATURATED
        return self._decide(raised, self.norm < self._epsilon)

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

    def _sweep(self, value: NDArray[np.int64]) -> Status:
        points = self.x[: self._grid]
        if self._literal or not single_peaked(self._ev, points, self._room):
            self.literal_sweeps += 1
            self._warm = False
            exact, self._found, raised = line_sweep(self.x, self._wealth, self._ev, self._constants)
            value[:] = exact
            return raised
        chunks = min(self._grid, get_num_threads() * _CHUNKS_PER_THREAD)
        flags = np.zeros(chunks, np.uint8)
        _climb_sweep(
            self.x,
            self._wealth,
            self._ev,
            self._constants.words,
            self.parameters.index_bits,
            self._warm,
            self._kept,
            value,
            self._found,
            flags,
            chunks,
        )
        self._warm = True
        return _status(flags)
