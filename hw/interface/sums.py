"""Check sums of table words, by which the host verifies the tables; used by gateware, models and driver.

A word has two halves of 32 bits. The hash of a half depends on its contents ``x`` and its place ``k`` (:data:`LAW`):
``k`` is twice the number of the word in its table, plus 1 for the upper half. Bits of ``k`` from ``MISSING`` on mark
bytes that were not written, which are 0 in ``x``. The check sum is the sum of all hashes. All arithmetic is modulo
``2**32``, so the order of the words does not matter.

Every step of the hash is invertible. So a half with other contents, or at another place, always has another hash. If
words are lost, doubled, shifted or swapped, the sum is the same with a probability of about ``2**-32``. Additions
alternate with exclusive ors for this reason: with a code that is linear in one of them, such as a CRC, a swap of two
words shows only in bits in which both their places and their contents differ.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from beltline.hw.interface.registers import Table

START = 0x6A09E667
"""Fraction of the square root of 2. Because of it, the hash of a half 0 at place 0 is not 0."""

LAW = """
a = x + (x << 12)
a = (a ^ a >> 14) + (k ^ k << 7 ^ 0x6A09E667)
a = (a ^ a >> 12) * (1 + 2^10)
a = (a ^ a >> 8) * (1 + 2^6)
a = (a ^ a >> 14) * (1 + 2^12)
hash = a ^ a >> 16
""".strip()
"""Definition of the hash of a half, for the documentation. The constants below are its numbers."""

PLACE_SHIFT = 7
"""Shift of the place."""

FIRST_SHIFT = 12
"""Left shift of the contents, before the place is added."""

FIRST_FOLD = 14
"""Right shift of the contents, before the place is added."""

ROUNDS = ((12, 10), (8, 6), (14, 12))
"""Shifts of the rounds after the place: ``t = a ^ a >> r``, ``a = t + (t << s)``."""

LAST_FOLD = 16
"""Right shift of the last step."""

MISSING = 28
"""Lowest of the four bits of the place that mark bytes of the half that were not written."""

MODULUS = 2**32
"""Hashes and sums are modulo this number."""

WRITTEN: dict[Table, str] = {
    Table.X: "WRITTEN_X",
    Table.W: "WRITTEN_W",
    Table.Q: "WRITTEN_Q",
    Table.V: "WRITTEN_V",
}
"""Names of the registers with the sum of all words that were written to each table."""

_COMPILED = 1 << 13
"""Number of halves from which compiled code saves time."""

_CHUNK = 1 << 14
"""Halves that are hashed at a time, few enough to stay in a processor's cache."""


def table_sum(words: NDArray[np.int64], first: int = 0) -> int:
    """Return the check sum of consecutive words of a table, all bytes of which were written.

    Parameters
    ----------
    words : (n,) int64 array
        The words.
    first
        Number of the first of them in the table.

    Returns
    -------
    int
        0 to ``2**32 - 1``. The sum of two blocks together is the sum of both, modulo ``2**32``.

    Examples
    --------
    >>> import numpy as np
    >>> words = np.arange(6)
    >>> (table_sum(words[:2]) + table_sum(words[2:], 2)) % 2**32 == table_sum(words)
    True
    """
    halves = np.ascontiguousarray(words, dtype="<i8").view("<u4")
    if halves.size >= _COMPILED and halves.dtype.isnative:
        return int(_compiled()(halves, np.uint32(2 * first % MODULUS))) % MODULUS
    place = np.arange(_CHUNK, dtype=np.uint32)
    a, t = np.empty(_CHUNK, np.uint32), np.empty(_CHUNK, np.uint32)
    total = 0
    for begin in range(0, halves.size, _CHUNK):
        x = halves[begin : begin + _CHUNK]
        size = x.size
        total += int(_hashes(x, place[:size] + np.uint32((2 * first + begin) % MODULUS), a[:size], t[:size]))
    return total % MODULUS


def _hashes(x: NDArray[np.uint32], k: NDArray[np.uint32], a: NDArray[np.uint32], t: NDArray[np.uint32]) -> np.uint64:
    """Return the sum of the hashes of halves ``x`` at places ``k``; ``a`` and ``t`` are scratch arrays."""
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


(_FOLD_1, _SHIFT_1), (_FOLD_2, _SHIFT_2), (_FOLD_3, _SHIFT_3) = ROUNDS


def _sum_of_hashes(halves: NDArray[np.uint32], place: np.uint32) -> np.uint64:
    """Return the sum of the hashes of consecutive halves, the first of them at ``place``; for :func:`_compiled`.

    The compiler turns the loop into vector instructions, because every step is cut to 32 bits.
    """
    total = np.uint64(0)
    for i in range(halves.size):
        x, k = halves[i], np.uint32(place + np.uint32(i))
        a = np.uint32(x + np.uint32(x << FIRST_SHIFT))
        a = np.uint32(a ^ (a >> FIRST_FOLD))
        a = np.uint32(a + np.uint32(k ^ np.uint32(k << PLACE_SHIFT) ^ np.uint32(START)))
        a = np.uint32(a ^ (a >> _FOLD_1))
        a = np.uint32(a + np.uint32(a << _SHIFT_1))
        a = np.uint32(a ^ (a >> _FOLD_2))
        a = np.uint32(a + np.uint32(a << _SHIFT_2))
        a = np.uint32(a ^ (a >> _FOLD_3))
        a = np.uint32(a + np.uint32(a << _SHIFT_3))
        total += np.uint64(np.uint32(a ^ (a >> LAST_FOLD)))
    return total


@functools.cache
def _compiled() -> Callable[[NDArray[np.uint32], np.uint32], np.uint64]:
    """Return :func:`_sum_of_hashes` in compiled code."""
    # Imported here because small tables do not need it.
    from beltline.compiled import njit

    compiled: Callable[[NDArray[np.uint32], np.uint32], np.uint64] = njit(cache=True)(_sum_of_hashes)
    return compiled
