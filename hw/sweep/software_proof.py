"""Compiled software model of the rounds of a proof, bit by bit. Described in :mod:`beltline.hw.sweep.proof`.

Arrays of all functions: ``x`` int64, ``(1, N_k)`` or ``(N_z, N_k)``, as of
:func:`beltline.hw.sweep.software_passes.costs_of`; ``limits`` int64, ``(2, 1, N_z)`` or ``(2, N_k, N_z)``, as of
:func:`beltline.hw.sweep.software_passes.limits_of`, the lowest and the highest candidate of each exogenous state;
``w``, ``ev``, ``choices``, ``lowest``, ``highest`` int64, ``(N_k, N_z)``; ``moved`` bool, ``(N_k, N_z)``; ``crossed``
bool and ``flags`` uint8, ``(N_k,)``; ``words`` those of ``UtilityConstants.words``.
"""

from __future__ import annotations

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.objective import SATURATED_FLAG, candidate_word, is_above, objective_word
from beltline.hw.sweep.software_passes import costs_of, limits_of

SKIPPED = -1
"""Lower end of a bracket of which nothing is evaluated."""


@njit(cache=True)
def _best(wealth, x, ev, s, words, lo, hi, own):  # type: ignore[no-untyped-def]
    """Return ``(found, over)``: the lowest best candidate from ``lo`` to ``hi``, and whether a utility left its range.

    ``found`` is ``own`` if no candidate is feasible.
    """
    found = -1
    best = objective_word(ev[lo, s], ev[lo, s])
    any_over = False
    for j in range(lo, hi + 1):
        u, feasible, over = candidate_word(wealth, x[j], words)
        any_over = any_over or over
        if not feasible:
            # Costs do not fall, so no higher candidate is feasible either.
            break
        objective = objective_word(u, ev[j, s])
        if found < 0 or is_above(objective, best):
            best, found = objective, j
    return own if found < 0 else found, any_over


@njit(cache=True)
def _bracket(below, own, above):  # type: ignore[no-untyped-def]
    """Return the bracket ``(lo, hi)`` of three choices.

    ``lo`` is ``SKIPPED`` if check or local search has already compared all candidates of the bracket.
    """
    lo, hi = min(below, own, above), max(below, own, above)
    return (SKIPPED if lo >= own - 1 and hi <= own + 1 else lo), hi


@njit(cache=True)
def _sides(choices, limits, i, s):  # type: ignore[no-untyped-def]
    """Return the choices of the points below and above, within the bounds of the state's own choice.

    Beyond the grid they are the lowest and the highest candidate. Bounds do not fall in ``x``, so the choice of the
    point below can only be below the lowest candidate, and that of the point above only above the highest.
    """
    bounds = limits_of(limits, i)
    below = max(choices[i - 1, s], bounds[0, s]) if i > 0 else bounds[0, s]
    above = min(choices[i + 1, s], bounds[1, s]) if i < choices.shape[0] - 1 else bounds[1, s]
    return below, above


@njit(cache=True, parallel=True)
def bracket_all(x, w, ev, words, limits, parity, confirmed, choices, lowest, highest, moved, crossed, flags):  # type: ignore[no-untyped-def]
    """Replace the choices of all odd points (``parity`` 1) or even points (0) by the lowest best of their brackets.

    A bracket reaches from the lowest of the choices of a state and its two neighbouring points to the highest of them.
    At the first and last point of the grid, the lowest and the highest candidate take the place of the missing
    neighbour's choice. The bounds of a state's choice cut its bracket. The bracket of the first or the last point is
    skipped if it is ``confirmed``, bool ``(2,)``.

    ``lowest`` and ``highest`` receive the brackets, ``moved`` the states whose choice changed, ``crossed`` the points
    at which a choice is below that of the point before, or above that of the point after, and ``flags``
    ``SATURATED_FLAG`` at points where a utility left its range.
    """
    rows, states = w.shape
    for half in prange((rows + 1 - parity) // 2):
        i = 2 * half + parity
        flag = 0
        for s in range(states):
            own = choices[i, s]
            below, above = _sides(choices, limits, i, s)
            crossed[i] = crossed[i] or below > own or own > above
            lowest[i, s], highest[i, s] = _bracket(below, own, above)
            if (i == 0 and confirmed[0]) or (i == rows - 1 and confirmed[1]):
                lowest[i, s] = SKIPPED
            if lowest[i, s] == SKIPPED:
                continue
            found, over = _best(w[i, s], costs_of(x, s), ev, s, words, lowest[i, s], highest[i, s], own)
            flag |= SATURATED_FLAG if over else 0
            moved[i, s] = found != own
            choices[i, s] = found
        flags[i] |= flag


@njit(cache=True)
def share_ends(x, w, ev, words, limits, choices, lowest, highest, flags):  # type: ignore[no-untyped-def]
    """Return whether a bracket of the first or the last point has a better candidate than the choice.

    Choices remain. ``lowest``, ``highest`` and ``flags`` are written as by :func:`bracket_all`.
    """
    rows, states = w.shape
    better = False
    for i in (0, rows - 1):
        for s in range(states):
            own = choices[i, s]
            below, above = _sides(choices, limits, i, s)
            lowest[i, s], highest[i, s] = _bracket(below, own, above)
            if lowest[i, s] == SKIPPED:
                continue
            found, over = _best(w[i, s], costs_of(x, s), ev, s, words, lowest[i, s], highest[i, s], own)
            if over:
                flags[i] = SATURATED_FLAG
            better = better or found != own
    return better


@njit(cache=True, parallel=True)
def divide_all(x, w, ev, words, limits, lane_shift, firsts, choices, lowest, highest, moved, flags):  # type: ignore[no-untyped-def]
    """Find the choices of every lane, of ``2**lane_shift`` points, again by divide and conquer.

    With ``firsts``, that of its first point among all candidates. Without, those of all other points: first of the
    points half-way between points already done, at distance ``2**k`` from them, with ``k`` falling to 0. The bracket of
    a point is between the choices of the points at that distance on both sides; beyond the end of the lane, the choice
    of the next lane's first point; beyond the grid, the highest candidate. A state is skipped if its bracket is its own
    choice alone.

    ``lowest``, ``highest``, ``moved`` and ``flags`` are written as by :func:`bracket_all`.
    """
    rows, states = w.shape
    size = 1 << lane_shift
    for lane in prange((rows + size - 1) // size):
        first, end = lane * size, min((lane + 1) * size, rows)
        for level in range(0 if firsts else 1, 1 if firsts else lane_shift + 1):
            distance = size >> level
            for i in range(first + (distance if level else 0), end, 2 * distance):
                for s in range(states):
                    own = choices[i, s]
                    bounds = limits_of(limits, i)
                    below, above = bounds[0, s], bounds[1, s]
                    if not firsts:
                        below = max(choices[i - distance, s], below)
                        if i + distance < rows:
                            above = min(choices[i + distance, s], above)
                    lo, hi = min(below, above), max(below, above)
                    if lo == own == hi:
                        continue
                    lowest[i, s], highest[i, s] = lo, hi
                    found, over = _best(w[i, s], costs_of(x, s), ev, s, words, lo, hi, own)
                    flags[i] |= SATURATED_FLAG if over else 0
                    moved[i, s] = found != own
                    choices[i, s] = found
