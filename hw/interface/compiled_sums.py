"""The check sum of :mod:`beltline.hw.interface.sums` in compiled code, which needs one pass over the words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.hw.interface.sums import FIRST_FOLD, FIRST_SHIFT, LAST_FOLD, PLACE_SHIFT, ROUNDS, START

(_FOLD_1, _SHIFT_1), (_FOLD_2, _SHIFT_2), (_FOLD_3, _SHIFT_3) = ROUNDS


@njit(cache=True)
def sum_of_hashes(halves: NDArray[np.uint32], place: np.uint32) -> Any:
    """Return the sum of the hashes of consecutive halves of words, the first of them at ``place``, as a ``uint64``.

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
