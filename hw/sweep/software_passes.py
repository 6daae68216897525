"""The passes of a sweep in compiled code, to the bit: the check and the walk of every lane, for any objective.

A walk that starts elsewhere may end on another peak, so the walkers, their guesses and their steps are those of
:class:`beltline.hw.sweep.walk.Walk`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
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
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.registers import Status
from beltline.hw.sweep.clocks import Dealt
from beltline.hw.sweep.walk.parameters import DECAY
from beltline.hw.sweep.walk_clocks import OFF_GRID

_EXPONENT_LIMIT = 15
"""Largest exponent of a walker's step."""


@njit(cache=True, parallel=True)
def check_all(choices, kept, ev, value, walked, unchecked, lane_shift, poor, flags):  # type: ignore[no-untyped-def]
    """The first pass: ``value`` of the states that stay, ``walked`` where they do not; all of an unchecked lane are.

    With ``poor`` a state that can afford nothing stays so, at the lowest value, and is not walked again.
    """
    for i in prange(choices.shape[0]):
        flag = 0
        if unchecked[i >> lane_shift]:
            walked[i] = True
            continue
        for s in range(choices.shape[1]):
            j = choices[i, s]
            below, here, above = kept[i, s, 0], kept[i, s, 1], kept[i, s, 2]
            if poor and here == INFEASIBLE:
                walked[i, s], value[i, s] = False, MINIMUM
                continue
            best = objective_word(here, ev[j, s])
            stays = here != INFEASIBLE
            if below != INFEASIBLE:
                stays = stays and is_above(best, objective_word(below, ev[j - 1, s]))
            if above != INFEASIBLE:
                stays = stays and not is_above(objective_word(above, ev[j + 1, s]), best)
            walked[i, s] = not stays
            if stays:
                value[i, s], saturated = clamped_word(best)
                flag |= SATURATED_FLAG if saturated else 0
        flags[i] = flag


@njit(cache=True, parallel=True)
def hold_all(choices, kept, ev, value, walked, flags):  # type: ignore[no-untyped-def]
    """The first pass of a sweep that keeps all choices."""
    for i in prange(choices.shape[0]):
        flag = 0
        for s in range(choices.shape[1]):
            walked[i, s] = False
            value[i, s], saturated = clamped_word(objective_word(kept[i, s, 1], ev[choices[i, s], s]))
            flag |= SATURATED_FLAG if saturated else 0
        flags[i] = flag


@njit(cache=True, parallel=True)
def add_all(values, shift, flags):  # type: ignore[no-untyped-def]
    """Add the shift of each state to its values, which stay in range."""
    for i in prange(values.shape[0]):
        flag = 0
        for s in range(values.shape[1]):
            v, c = values[i, s], shift[s]
            if c > 0 and v > MAXIMUM - c:
                values[i, s], flag = MAXIMUM, SATURATED_FLAG
            elif c < 0 and v < MINIMUM - c:
                values[i, s], flag = MINIMUM, SATURATED_FLAG
            else:
                values[i, s] = v + c
        flags[i] = flag


@njit(cache=True)
def costs_of(x, s):  # type: ignore[no-untyped-def]
    """What candidates cost in exogenous state ``s``: of ``x``, ``(N_z, N_k)``, or ``(1, N_k)`` for all of them."""
    return x[s if x.shape[0] > 1 else 0]


@njit(cache=True)
def _walk(wealth, x, ev, s, words, guess, log, count):  # type: ignore[no-untyped-def]
    """``(index, u(index - 1), u(index), u(index + 1), over, count, off)`` of the peak that is found from ``guess``.

    ``count`` goes on from probe to probe, ``off`` of them are not on the grid; those that have room in ``log`` leave
    what :class:`SweepLog` has of a probe.
    """
    top = ev.shape[0] - 1
    index = guess
    u, feasible, over = candidate_word(wealth, x[index], words)
    any_over = over
    here = u if feasible else np.int64(INFEASIBLE)
    best = objective_word(u, ev[index, s])
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
            u, feasible, over = candidate_word(wealth, x[j], words)
            any_over = any_over or over
            of_j = u if feasible else np.int64(INFEASIBLE)
            objective = objective_word(u, ev[j, s])
            if down:
                better = here == INFEASIBLE or (feasible and not is_above(best, objective))
            else:
                better = feasible and (here == INFEASIBLE or is_above(objective, best))
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
    exact,
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
            shift = 0 if cold or exact else moves[lane, walker]
            begun = False
            own = log[lane * walkers + walker]
            costs = costs_of(x, s)
            for i in range(begin, end):
                if not walked[i, s]:
                    continue
                guess = min(max(last[i, s] + shift, 0), rows - 1)
                index, below, here, above, over, count, off = _walk(w[i, s], costs, ev, s, words, guess, own, count)
                off_grid += off
                shift = 0 if exact else index - last[i, s]
                if not begun:
                    moves[lane, walker] = 0 if cold else shift - (shift >> DECAY)
                begun = True
                choices[i, s] = index
                kept[i, s, 0], kept[i, s, 1], kept[i, s, 2] = below, here, above
                flag |= SATURATED_FLAG if over else 0
                if here == INFEASIBLE:
                    value[i, s] = MINIMUM
                    flag |= INFEASIBLE_FLAG
                else:
                    value[i, s], saturated = clamped_word(objective_word(here, ev[index, s]))
                    flag |= SATURATED_FLAG if saturated else 0
            counts[lane, walker] = count
            evaluations[lane, part] += count - off_grid
        flags[lane, part] = flag


@njit(cache=True, parallel=True)
def climb_all(x, w, ev, words, shifts, state_bits, choices, above, others, counts, log):  # type: ignore[no-untyped-def]
    """All states from the lowest candidate, or the highest; ``others`` where one ends elsewhere than its choice."""
    rows, states = w.shape
    walkers, parts = counts.shape[1], others.shape[1]
    for task in prange(others.size):
        lane, part, begin, end = _part(task, parts, shifts, rows)
        other = False
        for s in range(states):
            walker = part << state_bits | s
            own = log[lane * walkers + walker]
            costs = costs_of(x, s)
            count = 0
            index = rows - 1 if above else 0
            for i in range(begin, end):
                index, _, here, _, _, count, _ = _walk(w[i, s], costs, ev, s, words, index, own, count)
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
    exact: bool = False,
) -> Walked:
    """The second pass of a sweep, of all lanes.

    Parameters
    ----------
    dealt
        States to lanes and walkers.
    x, w, ev
        int64, ``(N_k,)`` or longer, or ``(N_z, N_k)`` of each exogenous state; ``(N_k, N_z)``; ``(N_k, N_z)``.
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
    exact
        Whether every walk begins at the choice before, whatever ``moves`` and the walks before it.
    """
    walk = dealt.walk
    lanes = walk.build.lanes
    counts = np.zeros((lanes, walk.contexts), np.int64)
    probes = np.empty((lanes * walk.contexts, room), np.int32)
    flags = np.zeros((lanes, 1 << walk.part_bits), np.uint8)
    evaluations = np.zeros(flags.shape, np.int64)
    if walked.any():
        _walks(
            np.atleast_2d(x),
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
            exact,
            flags,
            counts,
            evaluations,
            probes,
        )
    return Walked(raised_status(flags.reshape(-1)), counts, int(evaluations.sum()), probes)
