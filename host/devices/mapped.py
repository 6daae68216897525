"""What boards have in common whose table windows are mapped into the memory of the program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import BusDevice, DeviceLostError
from beltline.hw.interface.registers import REGISTERS, Table

LINE_WORDS = 8
"""Words of a line of 64 bytes: what write-combining gathers, and the widest access of a processor."""

_ALIGNED_BYTES = 16
"""Alignment that copies in the C library go by."""


class MappedDevice(BusDevice):
    """A :class:`BusDevice` with its windows at ``tables``: an array of int64, mapped, uncached or write-combining.

    On ARM such memory ends a program that accesses it unaligned (SIGBUS), and copies in the C library are unaligned at
    their ends, or throughout if source and target are aligned differently. So only whole lines are copied in a block,
    between buffers that are aligned alike; the at most seven words before and after go one by one, aligned. Copies in
    the C library also write some words twice, where a block has no length of theirs; the device would add those up
    twice (:mod:`beltline.hw.interface.sums`), so words are written by a loop of NumPy's that writes each once. These
    rules were made from the manuals: they never ran on a board.
    """

    _tables: NDArray[np.int64]

    def _write_words(self, offset: int, words: NDArray[np.int64]) -> None:
        target = self._part(offset, words.size)
        begin, end = _lines(target)
        for i in (*range(begin), *range(end, words.size)):
            target[i] = words[i]
        body = words[begin:end]
        np.bitwise_or(body if _aligned(body) else _aligned_copy(body), 0, out=target[begin:end])

    def _read_words(self, offset: int, words: NDArray[np.int64]) -> None:
        source = self._part(offset, words.size)
        begin, end = _lines(source)
        for i in (*range(begin), *range(end, words.size)):
            words[i] = source[i]
        body = words[begin:end]
        if _aligned(body):
            body[:] = source[begin:end]
        else:
            body[:] = _aligned_copy(source[begin:end])

    def _part(self, offset: int, count: int) -> NDArray[np.int64]:
        first = offset // self._tables.itemsize
        part = self._tables[first : first + count]
        if part.size != count:
            raise DeviceLostError(
                f"device {self.name!r} came short: {part.size} of {count} words at byte {offset} of its tables"
            )
        return part


class PcieDevice(MappedDevice):
    """A :class:`MappedDevice` behind PCIe, with registers mapped uncached and tables, where possible, write-combining.

    A processor holds stores to write-combining memory back for as long as it likes, and a load from the same memory
    does not make it send them; an access to uncached memory does. Registers and tables are also two ways into the chip,
    on neither of which an access waits for the other. So after every block a register is read, which empties the
    processor's buffers, and then a word of the tables, which on PCIe overtakes no write before it.
    """

    def _write_words(self, offset: int, words: NDArray[np.int64]) -> None:
        super()._write_words(offset, words)
        self._read_word(REGISTERS["IDENTITY"].offset)
        # W can be read on every build, which X cannot.
        self._part(self.windows().offset(Table.W), 1).item()


def _lines(mapped: NDArray[np.int64]) -> tuple[int, int]:
    """First word of the whole lines in ``mapped``, and the word after the last."""
    begin = min(-(mapped.ctypes.data // mapped.itemsize) % LINE_WORDS, mapped.size)
    return begin, begin + (mapped.size - begin) // LINE_WORDS * LINE_WORDS


def _aligned(words: NDArray[np.int64]) -> bool:
    return words.ctypes.data % _ALIGNED_BYTES == 0


def _aligned_copy(words: NDArray[np.int64]) -> NDArray[np.int64]:
    room = np.empty(words.size + 1, dtype=np.int64)
    start = 0 if _aligned(room) else 1
    copy = room[start : start + words.size]
    copy[:] = words
    return copy
