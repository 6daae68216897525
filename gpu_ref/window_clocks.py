"""Clocks of windows of candidates: by how much one candidate may have gained on another that lies near it.

From one sweep to the next an objective gains on another of the same state no more than the spread, largest less
smallest, of the changes of ``EV`` at candidates of any window that holds both. A clock adds these spreads up. Windows
overlap: one begins with every block of :data:`BLOCK` candidates, and ends with the block behind it; likewise for blocks
of :data:`WIDE`; and one is the whole row. So candidates that lie within a block's length of each other share a window
of two blocks, however blocks lie.

A row of clocks, ``(length(N_k),)``: what all of them have passed in sweeps of which no block was measured; what that of
the whole row has passed in the others; and so on for the windows of two blocks, and of two wide ones. No clock may run
slow: every sum is rounded up (:data:`UP`).
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit
from beltline.gpu_ref.tables import Array

BLOCK, WIDE = 16, 256
"""Candidates of a block, and of a wide one, which is a whole number of blocks."""

UP = 1.0 + 2.0**-50
"""What a sum of few numbers that are not below 0 is multiplied by, so that it is not below the true one."""

_FIRST = 2
"""Where clocks of windows begin."""


@njit(cache=True, inline="always")
def blocks(grid: int) -> int:
    """How many blocks so many candidates have."""
    return (grid + BLOCK - 1) // BLOCK


@njit(cache=True)
def length(grid: int) -> int:
    """How many numbers the clocks of a row of so many candidates are."""
    return _FIRST + blocks(grid) + (grid + WIDE - 1) // WIDE


@njit(cache=True, inline="always")
def window(grid: int, low: int, high: int) -> int:
    """Place, in a row of clocks, of the smallest window that holds all candidates from ``low`` to ``high``.

    Neither is below 0. What its clock shows is the sum of ``clocks[0]`` and what is there.
    """
    if high >> 4 <= (low >> 4) + 1:
        return _FIRST + (low >> 4)
    if high >> 8 <= (low >> 8) + 1:
        return _FIRST + blocks(grid) + (low >> 8)
    return _FIRST - 1


@njit(cache=True, inline="always")
def shown(clocks: Array) -> float:
    """What the clock of the whole row shows, of all windows the one that has passed most."""
    return clocks[0] + clocks[_FIRST - 1]


@njit(cache=True)
def measure_blocks(ev: Array, ahead: Array, begin: int, end: int, least: Array, most: Array) -> None:
    """Least and largest change from ``ev`` to ``ahead``, both with spare ends, by block.

    Of the candidates from ``begin``, where a block begins, to ``end``.
    """
    for start in range(begin, end, BLOCK):
        low, high = np.inf, -np.inf
        for i in range(start + 1, min(start + BLOCK, end) + 1):
            change = ahead[i] - ev[i]
            low = change if change < low else low
            high = change if change > high else high
        least[start // BLOCK], most[start // BLOCK] = low, high


@njit(cache=True, inline="always")
def _later(clock: float, low: float, high: float) -> float:
    """A clock that has passed the spread of changes from ``low`` to ``high``, which are rounded.

    Where no change is a number, nobody knows what it shows.
    """
    return (clock + (high - low) + (UP - 1.0) * max(abs(low), abs(high))) * UP if high >= low else np.inf


@njit(cache=True)
def pass_all(clocks: Array, spread: float) -> None:
    """Let all clocks of a row pass the spread of changes of its whole ``EV``."""
    clocks[0] = (clocks[0] + spread) * UP


@njit(cache=True)
def pass_windows(clocks: Array, least: Array, most: Array) -> None:
    """Let the clocks of a row pass what the changes of its blocks allow."""
    count, per = least.size, WIDE // BLOCK
    lowest, highest = np.inf, -np.inf
    for b in range(count):
        low, high = least[b], most[b]
        if b + 1 < count:
            low, high = min(low, least[b + 1]), max(high, most[b + 1])
        clocks[_FIRST + b] = _later(clocks[_FIRST + b], low, high)
    for w in range(clocks.size - _FIRST - count):
        low, high = np.inf, -np.inf
        for b in range(per * w, min(per * (w + 2), count)):
            low, high = min(low, least[b]), max(high, most[b])
        lowest, highest = min(lowest, low), max(highest, high)
        clocks[_FIRST + count + w] = _later(clocks[_FIRST + count + w], low, high)
    clocks[_FIRST - 1] = _later(clocks[_FIRST - 1], lowest, highest)
