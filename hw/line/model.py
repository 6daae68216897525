"""Software model of the assembly line, bit by bit.

A sweep can be computed in two ways. :func:`line_sweep` follows the assembly line stage by stage: the same candidates,
comparisons and recursion. The fast path is a local search: it moves from the choice of the last sweep, or of the
neighbouring grid point, to the nearest local maximum, and evaluates few utilities once the policy has converged. Both
give the same bits wherever the objective is single-peaked in integers, and the fast path is used only for sweeps for
which :func:`beltline.hw.arithmetic.single_peak.single_peaked` proves that.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.evaluator import consumption_word
from beltline.hw.arithmetic.norm import NormParameters
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.objective import (
    INFEASIBLE,
    INFEASIBLE_FLAG,
    SATURATED_FLAG,
    candidate_word,
    clamped_word,
    is_above,
    objective_word,
    raised_status,
)
from beltline.hw.arithmetic.single_peak import curvature_room, single_peaked
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.control.sequencer import check_clocks
from beltline.hw.control.software_machine import SoftwareMachine
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Mode, Status
from beltline.hw.line.clocks import run_clocks
from beltline.hw.line.stage import next_position

_CHUNKS_PER_THREAD = 8
"""Parts of the grid for each thread, so that threads that finish early take another part."""


@njit(cache=True)
def _line_search(wealth, x, ev, state, words, index_bits):  # type: ignore[no-untyped-def]
    """Search one state through all stages of the line.

    Parameters
    ----------
    wealth
        int64: cash on hand.
    x, ev, state
        The built grid, int64; expectations, int64 ``(N_k, N_z)``; and the exogenous state.
    words
        Constants of the utility, ``UtilityConstants.words``.
    index_bits
        Bits of the index of a grid point.

    Returns
    -------
    index, objective, feasible, over
        Policy index; objective as a pair; whether a candidate is feasible; whether a utility was out of range.
    """
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
            u, good, over = candidate_word(wealth, x[i], words)
            any_over = any_over or over
            high, low = objective_word(u, ev[i, state] if i < rows else np.int64(0))
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
            best < 0 or is_above((objectives_high[j], objectives_low[j]), (objectives_high[best], objectives_low[best]))
        ):
            best = j
    if best < 0:
        return h, (np.int64(0), np.int64(0)), False, any_over
    return h + best, (objectives_high[best], objectives_low[best]), True, any_over


@njit(cache=True, parallel=True)
def _line_sweep(x, w, ev, words, index_bits, value, policy, flags):  # type: ignore[no-untyped-def]
    """Compute ``value``, ``policy`` and the ``flags`` of each grid point, stage by stage; see :func:`line_sweep`."""
    for i in prange(w.shape[0]):
        for s in range(w.shape[1]):
            index, objective, feasible, over = _line_search(w[i, s], x, ev, s, words, index_bits)
            policy[i, s] = index
            flag = SATURATED_FLAG if over else 0
            if feasible:
                value[i, s], saturated = clamped_word(objective)
                flag |= SATURATED_FLAG if saturated else 0
            else:
                value[i, s] = MINIMUM
                flag |= INFEASIBLE_FLAG
            flags[i] |= flag


def line_sweep(
    x: NDArray[np.int64],
    w: NDArray[np.int64],
    ev: NDArray[np.int64],
    constants: UtilityConstants,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Status]:
    """Compute one sweep, stage by stage as the gateware does.

    Parameters
    ----------
    x
        int64, ``(2**p,)``: the built grid, in units of amount, padded with ``2**63 - 1``.
    w, ev
        int64, ``(N_k, N_z)``: wealth in units of amount, expected discounted value in units of value.
    constants
        Constants of the utility unit.

    Returns
    -------
    value, policy
        int64, ``(N_k, N_z)``: value in units of value, and policy index.
    status
        ``SATURATED`` and ``INFEASIBLE`` if a state raised them.
    """
    value, policy = np.empty_like(w), np.empty_like(w)
    flags = np.zeros(w.shape[0], np.uint8)
    _line_sweep(x, w, ev, constants.words, x.size.bit_length() - 1, value, policy, flags)
    return value, policy, raised_status(flags)


@njit(cache=True)
def _utility_at(wealth, x, i, rows, words):  # type: ignore[no-untyped-def]
    """Return the utility of candidate ``i``, int64; ``INFEASIBLE`` if it is infeasible, or no point of the ``rows``."""
    if i < 0 or i >= rows:
        return np.int64(INFEASIBLE)
    u, feasible, _ = candidate_word(wealth, x[i], words)
    return u if feasible else np.int64(INFEASIBLE)


@njit(cache=True)
def _local_search(wealth, x, ev, s, words, start):  # type: ignore[no-untyped-def]
    """Move from ``start`` to the local maximum of the objective.

    ``start`` may be infeasible. Returns ``(p, u(p - 1), u(p), u(p + 1))``: the policy index, and the utilities of its
    neighbours and itself, ``INFEASIBLE`` where there is no such candidate.
    """
    rows = ev.shape[0]
    p = start
    here = _utility_at(wealth, x, p, rows, words)
    while here == INFEASIBLE and p > 0:
        p -= 1
        here = _utility_at(wealth, x, p, rows, words)
    below = np.int64(INFEASIBLE)
    known = False
    above = _utility_at(wealth, x, p + 1, rows, words)
    while above != INFEASIBLE and is_above(objective_word(above, ev[p + 1, s]), objective_word(here, ev[p, s])):
        below, here, known = here, above, True
        p += 1
        above = _utility_at(wealth, x, p + 1, rows, words)
    if not known:
        below = _utility_at(wealth, x, p - 1, rows, words)
        while below != INFEASIBLE and not is_above(objective_word(here, ev[p, s]), objective_word(below, ev[p - 1, s])):
            here, above = below, here
            p -= 1
            below = _utility_at(wealth, x, p - 1, rows, words)
    return p, below, here, above


@njit(cache=True, parallel=True)
def _search_all(x, w, ev, words, index_bits, warm, cached, value, policy, flags, chunks):  # type: ignore[no-untyped-def]
    """Make one sweep by local search.

    Parameters
    ----------
    x, w, ev, words, index_bits
        As of :func:`_line_search`, with wealth ``w``, int64 ``(N_k, N_z)``.
    warm
        Whether ``policy`` and ``cached`` are those of the last sweep; where they still are optimal, nothing is
        searched.
    cached
        int64, ``(N_k, N_z, 3)``: cached utilities of the candidates below, at and above the choice; updated.
    value, policy
        int64, ``(N_k, N_z)``: results.
    flags
        uint8, ``(chunks,)``: flags of each chunk of grid points.
    chunks
        Number of chunks, which are computed in parallel.
    """
    rows, states = w.shape
    for chunk in prange(chunks):
        begin, end = rows * chunk // chunks, rows * (chunk + 1) // chunks
        flag = 0
        for s in range(states):
            p = 0
            for i in range(begin, end):
                if warm:
                    p_old = policy[i, s]
                    below, here, above = cached[i, s, 0], cached[i, s, 1], cached[i, s, 2]
                    best = objective_word(here, ev[p_old, s])
                    rises = above != INFEASIBLE and is_above(objective_word(above, ev[p_old + 1, s]), best)
                    falls = below != INFEASIBLE and not is_above(best, objective_word(below, ev[p_old - 1, s]))
                    if here != INFEASIBLE and not rises and not falls:
                        p = p_old
                        value[i, s], saturated = clamped_word(best)
                        flag |= SATURATED_FLAG if saturated else 0
                        continue
                    start = max(p_old, p) if rises or i == begin else p
                else:
                    start = p
                    if i == begin:
                        start = _line_search(w[i, s], x, ev, s, words, index_bits)[0]
                p, below, here, above = _local_search(w[i, s], x, ev, s, words, start)
                policy[i, s] = p
                cached[i, s, 0], cached[i, s, 1], cached[i, s, 2] = below, here, above
                if here == INFEASIBLE:
                    value[i, s] = MINIMUM
                    flag |= INFEASIBLE_FLAG
                else:
                    value[i, s], saturated = clamped_word(objective_word(here, ev[p, s]))
                    flag |= SATURATED_FLAG if saturated else 0
        flags[chunk] = flag


class LineSoftwareMachine(SoftwareMachine):
    """Software model of a machine with the assembly line.

    Parameters
    ----------
    parameters
        The build.
    stage_by_stage
        Compute all sweeps stage by stage, never by local search. The results are the same.

    Attributes
    ----------
    literal_sweeps
        Number of sweeps of the run that were computed stage by stage.
    """

    clocks_source = "modelled by formula"

    def __init__(self, parameters: MachineParameters, stage_by_stage: bool = False) -> None:
        self._parameters = parameters
        self._stage_by_stage = stage_by_stage
        super().__init__(parameters.grid, parameters.states, parameters.results)

    @property
    def parameters(self) -> MachineParameters:
        """The build."""
        return self._parameters

    def reset(self) -> None:
        """Abort a run and set all counters to 0; the tables keep their contents."""
        super().reset()
        self.literal_sweeps = 0

    @property
    def clocks(self) -> int:
        """Clocks of the run so far."""
        if not self.status:
            return 0
        if Status.BAD_CONFIGURATION in self.status:
            return check_clocks(self.parameters.multiplier)
        return run_clocks(self.parameters, self._grid, self._states, self.sweeps)

    def _fits(self, work: int, sweeps: int) -> bool:
        return work * sweeps <= self.parameters.results

    def _begin(self, mode: Mode) -> None:
        points = self.x[: self._grid]
        self._room = curvature_room(points, self._wealth, self._constants)
        # If the largest utility of all is out of range, whether it is reported depends on the candidates that are
        # evaluated, so these must be those of the stages.
        top, excess = consumption_word(self._wealth.max(), points[0])
        self._literal = bool(
            self._stage_by_stage
            or excess
            or UtilityParameters().model(top, self._constants)[2]
            or (points[1:] <= points[:-1]).any()
            or (self.x[self._grid :] < MAXIMUM).any()
        )
        self._warm = False
        self._cached = np.empty((self._grid, self._states, 3), np.int64)

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

    def _sweep(self, value: NDArray[np.int64]) -> Status:
        """Compute ``value``, int64 ``(N_k, N_z)``, and the policy; returns ``SATURATED`` and ``INFEASIBLE``."""
        points = self.x[: self._grid]
        if self._literal or not single_peaked(self._ev, points, self._room):
            self.literal_sweeps += 1
            self._warm = False
            exact, self._found, raised = line_sweep(self.x, self._wealth, self._ev, self._constants)
            value[:] = exact
            return raised
        chunks = min(self._grid, get_num_threads() * _CHUNKS_PER_THREAD)
        flags = np.zeros(chunks, np.uint8)
        _search_all(
            self.x,
            self._wealth,
            self._ev,
            self._constants.words,
            self.parameters.index_bits,
            self._warm,
            self._cached,
            value,
            self._found,
            flags,
            chunks,
        )
        self._warm = True
        return raised_status(flags)
