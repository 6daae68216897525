"""Clocks of windows of candidates: bounds on how much one candidate has gained on another that lies near it.

Utilities do not change while the tables stay. So from one sweep to the next, the objective of one candidate gains on
that of another by at most the spread, largest minus smallest, of the changes of ``EV`` over any window of candidates
that contains both. The clock of a window is the sum of these spreads over all sweeps.

Windows overlap. One begins at every block of :data:`BLOCK` candidates and contains the next block too; the same holds
for blocks of :data:`WIDE` candidates; one more window is the whole row. Two candidates at most one block's length apart
therefore always share a window of two blocks.

The clocks of a row are an array of ``length(N_k)`` numbers:

- number 0: the sum of the spreads of sweeps in which blocks were not measured, which counts for every window;
- number 1: the same for the window of the whole row, in sweeps in which blocks were measured;
- then one number for each window of two blocks, and one for each window of two wide blocks, likewise.

The clock of a window is number 0 plus the window's own number. A clock must never be too small, so every sum is rounded
up (:data:`UP`).
"""

from __future__ import annotations

import numpy as np

from beltline.compiled import njit, njit_inlined, njit_uncounted
from beltline.gpu_ref.tables import Array

BLOCK, WIDE = 16, 256
"""Number of candidates in a block, and in a wide block; the second is a multiple of the first."""

UP = 1.0 + 2.0**-50
"""Factor by which a rounded sum of a few non-negative numbers is multiplied, so that it is at least the exact sum."""

_FIRST = 2
"""Index of the first window of two blocks in a row of clocks."""


@njit_inlined
def blocks(grid: int) -> int:
    """Return the number of blocks of ``grid`` candidates."""
    return (grid + BLOCK - 1) // BLOCK


@njit(cache=True)
def length(grid: int) -> int:
    """Return the length of the array of clocks of a row of ``grid`` candidates."""
    return _FIRST + blocks(grid) + (grid + WIDE - 1) // WIDE


@njit_inlined
def window(grid: int, low: int, high: int) -> int:
    """Return the index, in a row of clocks, of the smallest window that contains the candidates ``low`` to ``high``.

    Both must be at least 0. The window's clock is ``clocks[0]`` plus the number at this index.
    """
    if high >> 4 <= (low >> 4) + 1:
        return _FIRST + (low >> 4)
    if high >> 8 <= (low >> 8) + 1:
        return _FIRST + blocks(grid) + (low >> 8)
    return _FIRST - 1


@njit_uncounted
def measure_blocks(ev: Array, ahead: Array, begin: int, end: int, least: Array, most: Array) -> None:
    """Write the least and the largest change from ``ev`` to ``ahead`` of each block into ``least`` and ``most``.

    ``ev`` and ``ahead`` have a spare word at each end. Only candidates from ``begin``, the first of a block, up to but
    not including ``end`` are measured.
    """
    for start in range(begin, end, BLOCK):
        low, high = np.inf, -np.inf
        for i in range(start + 1, min(start + BLOCK, end) + 1):
            change = ahead[i] - ev[i]
            low = change if change < low else low
            high = change if change > high else high
        least[start // BLOCK], most[start // BLOCK] = low, high


@njit_inlined
def _later(clock: float, low: float, high: float) -> float:
    """Return a clock advanced by the spread of changes from ``low`` to ``high``, which are rounded.

    It is infinite if no change is a number (``low > high``), because then no bound is known.
    """
    return (clock + (high - low) + (UP - 1.0) * max(abs(low), abs(high))) * UP if high >= low else np.inf


@njit_uncounted
def pass_all(clocks: Array, spread: float) -> None:
    """Advance all clocks of a row by ``spread``, that of the changes of ``EV`` over the whole row."""
    clocks[0] = (clocks[0] + spread) * UP


@njit_uncounted
def pass_windows(clocks: Array, least: Array, most: Array) -> None:
    """Advance each window's clock by the spread of the changes in its blocks, which ``least`` and ``most`` bound."""
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
