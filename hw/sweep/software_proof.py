"""The rounds of a proof in compiled code, to the bit: see :mod:`beltline.hw.sweep.proof`."""

from __future__ import annotations

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.objective import INFEASIBLE, SATURATED_FLAG, candidate_word, is_above, objective_word

_NONE = -1
"""In place of a candidate: there is none."""


@njit(cache=True)
def _best(wealth, x, ev, s, words, lo, hi, skipped, found, best):  # type: ignore[no-untyped-def]
    """``(found, evaluations, cut, over)``: the lowest best candidate of ``lo`` to ``hi`` and ``found``.

    The three around ``skipped`` are left out. ``best`` is the objective of ``found``, which may be ``_NONE``. The
    search is ``cut`` at the first candidate that is not feasible: all above it are not either.
    """
    made = 0
    any_over = False
    for j in range(lo, hi + 1):
        if skipped != _NONE and skipped - 1 <= j <= skipped + 1:
            continue
        u, feasible, over = candidate_word(wealth, x[j], words)
        made += 1
        any_over = any_over or over
        if not feasible:
            return found, made, True, any_over
        objective = objective_word(u, ev[j, s])
        if found == _NONE or is_above(objective, best) or (j < found and not is_above(best, objective)):
            best, found = objective, j
    return found, made, False, any_over


@njit(cache=True, parallel=True)
def bracket_all(x, w, ev, words, choices, kept, asked, found, lowest, widths, cuts, flags):  # type: ignore[no-untyped-def]
    """``found``: the lowest best of each asked state's bracket, and the choice of a state that was not asked for.

    A bracket reaches from the lowest of the choices of a state and its neighbours to the highest; at the ends of the
    grid, to the end of the candidates. The choice's own neighbours were compared by the check or by a walk.
    """
    rows, states = w.shape
    for i in prange(rows):
        flag = 0
        for s in range(states):
            own = choices[i, s]
            found[i, s], lowest[i, s], widths[i, s], cuts[i, s] = own, own, 0, False
            if not asked[i, s]:
                continue
            lo = min(choices[i - 1, s], own, choices[min(i + 1, rows - 1), s]) if i > 0 else 0
            hi = max(choices[max(i - 1, 0), s], own, choices[i + 1, s]) if i < rows - 1 else rows - 1
            if lo >= own - 1 and hi <= own + 1:
                continue
            lowest[i, s] = lo
            best = objective_word(kept[i, s, 1], ev[own, s])
            found[i, s], widths[i, s], cuts[i, s], over = _best(w[i, s], x, ev, s, words, lo, hi, own, own, best)
            flag |= SATURATED_FLAG if over else 0
        flags[i] |= flag


@njit(cache=True)
def divide_all(x, w, ev, words, distance, found, lowest, widths, cuts, flags):  # type: ignore[no-untyped-def]
    """A level of divide and conquer: ``found`` of points ``distance, 3 distance, ...`` from those of the levels before.

    The lowest best between the choices of the points ``distance`` below and above; where there is no point above, up
    to the last candidate. ``distance`` 0 is the first point, over all candidates.
    """
    rows, states = w.shape
    for i in range(distance, rows, 2 * distance if distance else rows):
        for s in range(states):
            lo = found[i - distance, s] if distance else 0
            hi = found[i + distance, s] if distance and i + distance < rows else rows - 1
            lowest[i, s] = lo
            nothing = objective_word(INFEASIBLE, ev[0, s])
            index, widths[i, s], cuts[i, s], over = _best(w[i, s], x, ev, s, words, lo, hi, _NONE, _NONE, nothing)
            found[i, s] = max(index, 0)
            flags[i] |= SATURATED_FLAG if over else 0
