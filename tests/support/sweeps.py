"""Helpers for tests of the sweep engine's units: rows for the memories of all lanes."""

from __future__ import annotations

from collections.abc import Sequence

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.sweep.parameters import SweepParameters

MASK = 2**WIDTH - 1


def row_writes(build: SweepParameters, tables: Sequence[tuple[int, Sequence[int]]]) -> list[dict[str, int]]:
    """Writes of whole rows, each with its lane and its address there.

    Parameters
    ----------
    build
        Of the engine; the grid is its largest.
    tables
        Numbers of tables, and their words, one for each grid point.
    """
    writes = []
    for inner, words in tables:
        for row in range(1 << build.row_bits):
            part = words[ROW_WORDS * row : ROW_WORDS * (row + 1)]
            writes.append(
                {
                    "write": 1,
                    "write_lane": row >> build.local_bits,
                    "write_address": row % (1 << build.local_bits) | inner << build.local_bits,
                    "write_row": sum((int(word) & MASK) << WIDTH * k for k, word in enumerate(part)),
                }
            )
    return writes
