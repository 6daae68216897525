"""Clock model of the patch, :class:`beltline.hw.sweep.patch.Patch`."""

from __future__ import annotations

from beltline.compiled import njit
from beltline.hw.sweep.patch import NOTES


@njit(cache=True)
def patches(notes, lane_shift, states, turns, busy, last):  # type: ignore[no-untyped-def]
    """Count each lane's clocks of a patch of points ``notes``: all (``busy``) and to the last state read (``last``).

    Two states are ``turns`` clocks apart or more; with more than one turn all points are noted.
    """
    for lane in range(busy.size):
        first = lane << lane_shift
        end = min(first + (1 << lane_shift), notes.size)
        clocks = 0
        if turns > 1 and first < end:
            # The clock of each word of notes is one between two states.
            last[lane] = ((end - first) * states - 1) * turns + 1
            busy[lane] = last[lane] + 1
            continue
        while first < end:
            word_end = min(first + NOTES, end)
            behind = word_end
            while behind > first and not notes[behind - 1]:
                behind -= 1
            for point in range(first, behind):
                clocks += states if notes[point] else 1
            if behind > first:
                last[lane] = clocks
            clocks += 1
            first = word_end
        busy[lane] = clocks
