"""The rounds of a proof in compiled code, to the bit: see :mod:`beltline.hw.sweep.proof`."""

from __future__ import annotations

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.objective import SATURATED_FLAG, candidate_word, is_above, objective_word
from beltline.hw.sweep.software_passes import costs_of

SKIPPED = -1
"""In place of the lowest candidate: nothing is evaluated."""


@njit(cache=True)
def _best(wealth, x, ev, s, words, lo, hi, own):  # type: ignore[no-untyped-def]
    """``(found, over)``: the lowest best candidate of ``lo`` to ``hi``, ``own`` where none is feasible."""
    found = -1
    best = objective_word(ev[lo, s], ev[lo, s])
    any_over = False
    for j in range(lo, hi + 1):
        u, feasible, over = candidate_word(wealth, x[j], words)
        any_over = any_over or over
        if not feasible:
            # Nor is any above it.
            break
        objective = objective_word(u, ev[j, s])
        if found < 0 or is_above(objective, best):
            best, found = objective, j
    return own if found < 0 else found, any_over


@njit(cache=True)
def _bracket(below, own, above):  # type: ignore[no-untyped-def]
    """``(lo, hi)`` of three choices; ``lo`` is ``SKIPPED`` where check and walk have compared all of it."""
    lo, hi = min(below, own, above), max(below, own, above)
    return (SKIPPED if lo >= own - 1 and hi <= own + 1 else lo), hi


@njit(cache=True, parallel=True)
def bracket_all(x, w, ev, words, parity, choices, lowest, highest, moved, crossed, flags):  # type: ignore[no-untyped-def]
    """The states of odd points, or of even ones: ``choices`` become the lowest best of their brackets.

    A bracket reaches from the lowest of the choices of a state and its neighbours to the highest; at the ends of the
    grid, to the end of the candidates. ``crossed`` where a choice is below that of the point before. ``x`` as of
    :func:`beltline.hw.sweep.software_passes.costs_of`.
    """
    rows, states = w.shape
    for half in prange((rows + 1 - parity) // 2):
        i = 2 * half + parity
        flag = 0
        for s in range(states):
            own = choices[i, s]
            below = choices[i - 1, s] if i > 0 else 0
            above = choices[i + 1, s] if i < rows - 1 else rows - 1
            crossed[i] = crossed[i] or below > own or own > above
            lowest[i, s], highest[i, s] = _bracket(below, own, above)
            if lowest[i, s] == SKIPPED:
                continue
            found, over = _best(w[i, s], costs_of(x, s), ev, s, words, lowest[i, s], highest[i, s], own)
            flag |= SATURATED_FLAG if over else 0
            moved[i, s] = found != own
            choices[i, s] = found
        flags[i] |= flag


@njit(cache=True, parallel=True)
def divide_all(x, w, ev, words, lane_shift, before, choices, lowest, highest, moved, flags):  # type: ignore[no-untyped-def]
    """Divide and conquer within every lane, between the choices of the points beside it, which are in ``before``.

    The first point of a lane, then those at distance ``2**k`` from the ones before, ``k`` falling to 0; ``x`` as of
    :func:`beltline.hw.sweep.software_passes.costs_of`.
    """
    rows, states = w.shape
    size = 1 << lane_shift
    for lane in prange((rows + size - 1) // size):
        first, end = lane * size, min((lane + 1) * size, rows)
        for level in range(lane_shift + 1):
            distance = size >> level
            for i in range(first + (distance if level else 0), end, 2 * distance):
                for s in range(states):
                    own = choices[i, s]
                    if i > first:
                        below = choices[i - distance, s]
                    else:
                        below = before[i - 1, s] if i > 0 else 0
                    if i + distance < end:
                        above = choices[i + distance, s]
                    else:
                        above = before[end, s] if end < rows else rows - 1
                    lo, hi = min(below, above), max(below, above)
                    lowest[i, s], highest[i, s] = lo, hi
                    found, over = _best(w[i, s], costs_of(x, s), ev, s, words, lo, hi, own)
                    flags[i] |= SATURATED_FLAG if over else 0
                    moved[i, s] = found != own
                    choices[i, s] = found
