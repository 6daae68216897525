"""The common base of boards whose tables are mapped into the memory of the program."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import BusDevice, DeviceLostError
from beltline.hw.interface.registers import REGISTERS, Table

LINE_WORDS = 8
"""Words in a line of 64 bytes: the unit of write-combining, and the widest access of a processor."""

_ALIGNED_BYTES = 16
"""Alignment in bytes that copies in the C library need."""


class MappedDevice(BusDevice):
    """A :class:`BusDevice` whose tables are at ``_tables``, a mapped array of int64, uncached or write-combining.

    On ARM an unaligned access to such memory ends the program (SIGBUS). Copies in the C library are unaligned at their
    ends, or throughout if source and target have different alignment. Therefore only whole lines are copied as a block,
    between buffers of equal alignment; the words before and after them, at most seven, are copied one by one. Copies in
    the C library may also write some words twice, which the device would count twice in its checksums
    (:mod:`beltline.hw.interface.sums`); so words are written by a NumPy loop that writes each word once.

    These rules follow the manuals; they were never tested on a board.
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
                f"device {self.name!r} maps only {part.size} of {count} words at byte {offset} of its tables"
            )
        return part


class PcieDevice(MappedDevice):
    """A :class:`MappedDevice` on PCIe. Registers are mapped uncached, tables write-combining where possible.

    A processor may delay stores to write-combining memory for any time. A load from the same memory does not make it
    send them, but an access to uncached memory does. Registers and tables also have separate paths into the chip, which
    do not wait for each other. Therefore, after every block, first a register is read, which empties the processor's
    buffers, and then a word of the tables, because on PCIe a read cannot overtake the writes before it.
    """

    def _write_words(self, offset: int, words: NDArray[np.int64]) -> None:
        super()._write_words(offset, words)
        self._read_word(REGISTERS["IDENTITY"].offset)
        # W can be read on every build; X cannot.
        self._part(self.windows().offset(Table.W), 1).item()


def _lines(mapped: NDArray[np.int64]) -> tuple[int, int]:
    """Return the index of the first word of the whole lines in ``mapped``, and that after their last word."""
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
