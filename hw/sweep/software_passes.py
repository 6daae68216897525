"""Compiled software model of check and local search, bit by bit, for objectives with any number of peaks.

If an objective has several peaks, the peak that a local search finds depends on where it starts. So searches, guesses
and steps are those of the gateware, :class:`beltline.hw.sweep.search.local_search.LocalSearch`. In names, ``context``
is the number of a search in its lane, ``probe`` stands for one evaluation of a candidate, and ``cached`` for cached
utilities.

Arrays of all functions: ``N_k`` points, ``N_z`` exogenous states; values, utilities and expected values are int64 in
units of value.
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
from beltline.hw.sweep.dealt import OFF_GRID, Dealt
from beltline.hw.sweep.search.parameters import DECAY

_EXPONENT_LIMIT = 15
"""A step of a search is at most ``2**_EXPONENT_LIMIT`` points."""


@njit(cache=True, parallel=True)
def check_all(choices, cached, ev, value, searched, unchecked, lane_shift, poor, flags):  # type: ignore[no-untyped-def]
    """Check the choices of all states: the first pass of a sweep.

    A choice ``i`` remains if it is feasible and ``O(i-1) < O(i) >= O(i+1)``.

    Parameters
    ----------
    choices, cached, ev
        int64, ``(N_k, N_z)``, ``(N_k, N_z, 3)``, ``(N_k, N_z)``: choices, cached utilities of ``i - 1``, ``i``,
        ``i + 1``, and expected values.
    value
        int64, ``(N_k, N_z)``: receives the values of states whose choice remains.
    searched
        bool, ``(N_k, N_z)``: receives which states must be searched.
    unchecked
        bool, ``(lanes,)``: lanes in which every state is to be searched without a check.
    lane_shift
        Point ``i`` is in lane ``i >> lane_shift``.
    poor
        Whether a state that could afford nothing gets the lowest value without a search, as in general builds.
    flags
        uint8, ``(N_k,)``: receives ``SATURATED_FLAG`` at points where a value was saturated.
    """
    for i in prange(choices.shape[0]):
        flag = 0
        if unchecked[i >> lane_shift]:
            searched[i] = True
            continue
        for s in range(choices.shape[1]):
            j = choices[i, s]
            below, here, above = cached[i, s, 0], cached[i, s, 1], cached[i, s, 2]
            if poor and here == INFEASIBLE:
                searched[i, s], value[i, s] = False, MINIMUM
                continue
            best = objective_word(here, ev[j, s])
            stays = here != INFEASIBLE
            if below != INFEASIBLE:
                stays = stays and is_above(best, objective_word(below, ev[j - 1, s]))
            if above != INFEASIBLE:
                stays = stays and not is_above(objective_word(above, ev[j + 1, s]), best)
            searched[i, s] = not stays
            if stays:
                value[i, s], saturated = clamped_word(best)
                flag |= SATURATED_FLAG if saturated else 0
        flags[i] = flag


@njit(cache=True, parallel=True)
def evaluate_all(choices, cached, ev, value, searched, flags):  # type: ignore[no-untyped-def]
    """Compute the values of the present choices: the first pass of a policy evaluation sweep.

    Arrays are those of :func:`check_all`; no state is marked in ``searched``.
    """
    for i in prange(choices.shape[0]):
        flag = 0
        for s in range(choices.shape[1]):
            searched[i, s] = False
            value[i, s], saturated = clamped_word(objective_word(cached[i, s, 1], ev[choices[i, s], s]))
            flag |= SATURATED_FLAG if saturated else 0
        flags[i] = flag


@njit(cache=True, parallel=True)
def add_all(values, shift, flags):  # type: ignore[no-untyped-def]
    """Add ``shift``, int64 ``(N_z,)``, to ``values``, int64 ``(N_k, N_z)``.

    A sum outside of signed 64 bits is saturated, and its point gets ``SATURATED_FLAG`` in ``flags``, uint8 ``(N_k,)``.
    """
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
    """Return the costs of all candidates in exogenous state ``s``, int64 ``(N_k,)``.

    ``x`` is ``(N_z, N_k)``, or ``(1, N_k)`` if the costs are the same in all states.
    """
    return x[s if x.shape[0] > 1 else 0]


@njit(cache=True)
def whole_grid(rows, states):  # type: ignore[no-untyped-def]
    """Return limits that leave out no candidate of ``rows``: int64, ``(2, 1, states)``."""
    limits = np.zeros((2, 1, states), np.int64)
    limits[1] = rows - 1
    return limits


@njit(cache=True)
def limits_of(limits, i):  # type: ignore[no-untyped-def]
    """Return the lowest and the highest candidate of each exogenous state at point ``i``: int64, ``(2, N_z)``.

    ``limits`` is ``(2, N_k, N_z)``, or ``(2, 1, N_z)`` if they are the same at all points.
    """
    return limits[:, i if limits.shape[1] > 1 else 0]


@njit(cache=True)
def _search(wealth, x, ev, s, words, limits, guess, log, count):  # type: ignore[no-untyped-def]
    """Search for a peak of one state's objective, from candidate ``guess``, which is evaluated first.

    Candidates are those of state ``s`` in ``limits``, int64 ``(2, N_z)``, of the state's point; *the grid* below means
    these. The search steps upwards, then downwards. It doubles its step while the objective improves, and halves a step
    that leaves the grid. It ends when the objectives of both neighbours are known not to be better; of equal ones the
    lowest candidate wins.

    Returns ``(index, u(index - 1), u(index), u(index + 1), over, count, off)``: the choice and its three utilities,
    ``INFEASIBLE`` for a candidate that is not on the grid or cannot be afforded; whether a utility left its range; the
    number of evaluations, added to argument ``count``; and how many of this search's were off the grid. Evaluation
    ``count`` is written to ``log`` as in :class:`beltline.hw.sweep.dealt.SweepLog` if it has room there.
    """
    u, feasible, any_over = candidate_word(wealth, x[guess], words)
    index, here, best = guess, u if feasible else np.int64(INFEASIBLE), objective_word(u, ev[guess, s])
    if count < log.size:
        log[count] = guess << 1
    count += 1
    bottom, top = limits[0, s], limits[1, s]
    above = below = np.int64(INFEASIBLE)
    below_known = above_known = down = streak = shrinks = False
    exponent = off = 0
    while True:
        step = 1 << exponent
        j = index - step if down else index + step
        on_grid = bottom <= j <= top
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
    """Return ``(lane, part, begin, end)`` of task number ``task``: its points are ``begin`` to ``end - 1``."""
    lane_shift, part_shift = shifts
    lane, part = task // parts, task % parts
    begin = (lane << lane_shift) + (part << part_shift)
    return lane, part, begin, min(begin + (1 << part_shift), (lane + 1) << lane_shift, rows)


@njit(cache=True, parallel=True)
def _searches(  # type: ignore[no-untyped-def]
    x,
    w,
    ev,
    words,
    limits,
    searched,
    shifts,
    state_bits,
    last,
    choices,
    cached,
    value,
    moves,
    cold,
    exact,
    flags,
    counts,
    evaluations,
    log,
):
    """Search all marked states: the compiled part of :func:`search_all`.

    ``shifts`` is ``(lane_shift, part_shift)`` of :class:`beltline.hw.sweep.dealt.Dealt`.
    """
    rows, states = w.shape
    contexts, parts = counts.shape[1], flags.shape[1]
    for task in prange(flags.size):
        lane, part, begin, end = _part(task, parts, shifts, rows)
        flag = 0
        for s in range(states):
            context = part << state_bits | s
            count = off_grid = 0
            shift = 0 if cold or exact else moves[lane, context]
            begun = False
            own = log[lane * contexts + context]
            costs = costs_of(x, s)
            for i in range(begin, end):
                if not searched[i, s]:
                    continue
                here_limits = limits_of(limits, i)
                guess = min(max(last[i, s] + shift, here_limits[0, s]), here_limits[1, s])
                index, below, here, above, over, count, off = _search(
                    w[i, s], costs, ev, s, words, here_limits, guess, own, count
                )
                off_grid += off
                shift = 0 if exact else index - last[i, s]
                if not begun:
                    moves[lane, context] = 0 if cold else shift - (shift >> DECAY)
                begun = True
                choices[i, s] = index
                cached[i, s, 0], cached[i, s, 1], cached[i, s, 2] = below, here, above
                flag |= SATURATED_FLAG if over else 0
                if here == INFEASIBLE:
                    value[i, s] = MINIMUM
                    flag |= INFEASIBLE_FLAG
                else:
                    value[i, s], saturated = clamped_word(objective_word(here, ev[index, s]))
                    flag |= SATURATED_FLAG if saturated else 0
            counts[lane, context] = count
            evaluations[lane, part] += count - off_grid
        flags[lane, part] = flag


@dataclass(frozen=True, eq=False)
class Searched:
    """Flags and counts that :func:`search_all` returns.

    Parameters
    ----------
    status
        ``SATURATED`` and ``INFEASIBLE``, if any state raised them.
    counts
        int64, ``(lanes, contexts)``: number of evaluations of each search, including those off the grid.
    evaluations
        Number of evaluations on the grid, of all searches together.
    probes
        int32, ``(lanes * contexts, room)``: the first ``room`` evaluations of each search, encoded as in
        :class:`beltline.hw.sweep.dealt.SweepLog`.
    """

    status: Status
    counts: NDArray[np.int64]
    evaluations: int
    probes: NDArray[np.int32]


def search_all(
    dealt: Dealt,
    x: NDArray[np.int64],
    w: NDArray[np.int64],
    ev: NDArray[np.int64],
    constants: UtilityConstants,
    searched: NDArray[np.bool_],
    last: NDArray[np.int64],
    choices: NDArray[np.int64],
    cached: NDArray[np.int64],
    value: NDArray[np.int64],
    moves: NDArray[np.int64],
    cold: bool = False,
    room: int = 0,
    exact: bool = False,
    limits: NDArray[np.int64] | None = None,
) -> Searched:
    """Search for the best choices of the marked states of all lanes: the second pass of a sweep.

    Parameters
    ----------
    dealt
        Assignment of states to lanes and searches.
    x
        int64 amounts: the grid, ``(N_k,)`` or longer; or costs, ``(1, N_k)`` or ``(N_z, N_k)``.
    w
        int64 amounts, ``(N_k, N_z)``: cash on hand.
    ev
        int64, ``(N_k, N_z)``: expected values.
    constants
        Constants of the utility unit.
    searched
        bool, ``(N_k, N_z)``: states to search.
    last
        int64, ``(N_k, N_z)``: choices before the search.
    choices, cached, value
        int64, ``(N_k, N_z)``, ``(N_k, N_z, 3)``, ``(N_k, N_z)``: receive choice, cached utilities and value of each
        state that is searched.
    moves
        int64, ``(lanes, contexts)``, in points: the move of the choice that each search expects for its first state.
        Replaced by the moves to expect in the next sweep.
    cold
        Whether this is the first sweep of a run: ``moves`` is ignored, and becomes 0.
    room
        Evaluations of each search that are logged; further ones are only counted.
    exact
        Whether every state is searched from its choice in ``last``, without a guess of its move.
    limits
        int64, ``(2, 1, N_z)`` or ``(2, N_k, N_z)``: the lowest and the highest candidate of each exogenous state, at
        all points or at each of them; by default the whole grid.

    Returns
    -------
    Searched
        Flags, counts and log.
    """
    search = dealt.search
    lanes = search.build.lanes
    counts = np.zeros((lanes, search.contexts), np.int64)
    probes = np.empty((lanes * search.contexts, room), np.int32)
    flags = np.zeros((lanes, 1 << search.part_bits), np.uint8)
    evaluations = np.zeros(flags.shape, np.int64)
    if searched.any():
        _searches(
            np.atleast_2d(x),
            w,
            ev,
            constants.words,
            whole_grid(*w.shape) if limits is None else limits,
            searched,
            (dealt.lane_shift, dealt.part_shift),
            search.build.state_bits,
            last,
            choices,
            cached,
            value,
            moves,
            cold,
            exact,
            flags,
            counts,
            evaluations,
            probes,
        )
    return Searched(raised_status(flags.reshape(-1)), counts, int(evaluations.sum()), probes)
