"""Transfers of tables to and from a device, in blocks, so that an interrupt is noticed between two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Device
from beltline.hw.interface.layout import Words
from beltline.hw.interface.registers import Table

BLOCK_WORDS = 2**18
"""Words in a block (2 MiB): large enough for the full speed of the link, small enough for a quick interrupt."""


def write_table(device: Device, table: Table, words: NDArray[np.int64], blocks: Sequence[Words] | None = None) -> None:
    """Write the vector ``words`` (int64) to ``blocks`` of the window of a table; by default to its beginning."""
    for part in _transfers(blocks or (Words(0, 0, words.size),)):
        device.write_block(table, part.window, words[part.table : part.table + part.count])


def read_table(device: Device, table: Table, count: int, blocks: Sequence[Words] | None = None) -> NDArray[np.int64]:
    """Return ``count`` words (at least one) from ``blocks`` of the window of a table; by default from its beginning."""
    parts = _transfers(blocks or (Words(0, 0, count),))
    found = [device.read_block(table, part.window, part.count) for part in parts]
    # A single block, as for the largest problem of a build, is returned without another copy.
    return found[0] if len(found) == 1 else np.concatenate(found)


def _transfers(blocks: Sequence[Words]) -> Iterator[Words]:
    """Split ``blocks`` into transfers of at most ``BLOCK_WORDS`` words."""
    for block in blocks:
        for first in range(0, block.count, BLOCK_WORDS):
            count = min(BLOCK_WORDS, block.count - first)
            yield Words(block.window + first, block.table + first, count)
