"""Sums by which the host knows what the tables' words are: the law of gateware, models and driver.

A word is two halves of 32 bits. Each half ``x`` has a hash of what it is and of where it is, :data:`LAW`: ``k`` is
twice the word, counted from the beginning of its table, plus the half, and its bits from ``MISSING`` on mark the bytes
that were not written, which are 0 in ``x``. Everything is modulo ``2**32``, and so is the sum of hashes. The order of
the words makes no difference. Every step can be undone, so one word with other bits always has another hash in one of
its halves, and so does a half that is written elsewhere; words that are lost, doubled, shifted or swapped have the same
sum with a probability of about ``2**-32``. Additions alternate with exclusive ors, because in a sum of a code that is
linear in either, such as a CRC, a swap of two words shows only in bits in which both their places and their contents
differ.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.hw.interface.registers import Table

START = 0x6A09E667
"""Makes the hash of a half that is 0 another number than 0: the fraction of the square root of 2."""

LAW = """
a = x + (x << 12)
a = (a ^ a >> 14) + (k ^ k << 7 ^ 0x6A09E667)
a = (a ^ a >> 12) * (1 + 2^10)
a = (a ^ a >> 8) * (1 + 2^6)
a = (a ^ a >> 14) * (1 + 2^12)
hash = a ^ a >> 16
""".strip()
"""The hash of a half, in words; what follows are its numbers."""

PLACE_SHIFT = 7
FIRST_SHIFT = 12
FIRST_FOLD = 14
ROUNDS = ((12, 10), (8, 6), (14, 12))
"""Shifts of the rounds after the place: ``t = a ^ a >> r``, ``a = t + (t << s)``."""
LAST_FOLD = 16

MISSING = 28
"""Bit of the place from which on the bytes of a half are marked that were not written."""

MODULUS = 2**32

WRITTEN: dict[Table, str] = {
    Table.X: "WRITTEN_X",
    Table.W: "WRITTEN_W",
    Table.Q: "WRITTEN_Q",
    Table.V: "WRITTEN_V",
}
"""Registers with the sums of the words that were written to a table."""

_CHUNK = 1 << 14
"""Halves of a step, which stay in a processor's cache."""


def table_sum(words: NDArray[np.int64], first: int = 0) -> int:
    """Return the sum of whole words that lie one after the other in a table.

    Parameters
    ----------
    words : (n,) int64 array
    first
        Word of the table where they begin.

    Returns
    -------
    int
        0 to ``2**32 - 1``; the sum of two blocks is that of both sums, modulo ``2**32``.

    Examples
    --------
    >>> import numpy as np
    >>> words = np.arange(6)
    >>> (table_sum(words[:2]) + table_sum(words[2:], 2)) % 2**32 == table_sum(words)
    True
    """
    halves = np.ascontiguousarray(words, dtype="<i8").view("<u4")
    place = np.arange(_CHUNK, dtype=np.uint32)
    a, t = np.empty(_CHUNK, np.uint32), np.empty(_CHUNK, np.uint32)
    total = 0
    for begin in range(0, halves.size, _CHUNK):
        x = halves[begin : begin + _CHUNK]
        size = x.size
        total += int(_hashes(x, place[:size] + np.uint32((2 * first + begin) % MODULUS), a[:size], t[:size]))
    return total % MODULUS


def _hashes(x: NDArray[np.uint32], k: NDArray[np.uint32], a: NDArray[np.uint32], t: NDArray[np.uint32]) -> np.uint64:
    """The sum of the hashes of halves ``x`` at places ``k``; all others are room to work in."""
    np.left_shift(x, np.uint32(FIRST_SHIFT), out=a)
    a += x
    np.right_shift(a, np.uint32(FIRST_FOLD), out=t)
    a ^= t
    np.left_shift(k, np.uint32(PLACE_SHIFT), out=t)
    t ^= k
    t ^= np.uint32(START)
    a += t
    for fold, shift in ROUNDS:
        np.right_shift(a, np.uint32(fold), out=t)
        a ^= t
        np.left_shift(a, np.uint32(shift), out=t)
        a += t
    np.right_shift(a, np.uint32(LAST_FOLD), out=t)
    a ^= t
    return a.sum(dtype=np.uint64)
