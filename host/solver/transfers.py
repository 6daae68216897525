"""Tables to a device and back, in transfers that can be interrupted between two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Device
from beltline.hw.interface.layout import Words
from beltline.hw.interface.registers import Table

BLOCK_WORDS = 2**18
"""Words of a transfer (2 MiB): large enough for the speed of the link, small enough to be interrupted between two."""


def write_table(device: Device, table: Table, words: NDArray[np.int64], blocks: Sequence[Words] | None = None) -> None:
    """Write ``words``, a vector of int64, to where they lie in the window of a table, by default its beginning."""
    for part in _transfers(blocks or (Words(0, 0, words.size),)):
        device.write_block(table, part.window, words[part.table : part.table + part.count])


def read_table(device: Device, table: Table, count: int, blocks: Sequence[Words] | None = None) -> NDArray[np.int64]:
    """Return ``count`` words of a table, at least one, from where they lie in its window, by default its beginning."""
    parts = _transfers(blocks or (Words(0, 0, count),))
    found = [device.read_block(table, part.window, part.count) for part in parts]
    # One block, as the tables of the largest problem are, is not copied again.
    return found[0] if len(found) == 1 else np.concatenate(found)


def _transfers(blocks: Sequence[Words]) -> Iterator[Words]:
    """``blocks`` in parts of at most ``BLOCK_WORDS``."""
    for block in blocks:
        for first in range(0, block.count, BLOCK_WORDS):
            count = min(BLOCK_WORDS, block.count - first)
            yield Words(block.window + first, block.table + first, count)
