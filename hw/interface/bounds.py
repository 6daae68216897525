"""Contents of the second half of window ``X`` in a general build: the candidates of each state.

State ``(x, s)`` has a word in the order of ``W``, with its lowest candidate in bits 0 to 15 and its highest one in bits
16 to 31; the machine chooses among these as if the grid had no others. Neither may fall in ``x``. Those of all points
together are in the table of the groups (:class:`beltline.hw.interface.groups.Groups`): the ``lowest`` of a state there
is that of its first point, and the ``highest`` that of its last.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

INDEX_BITS = 16
"""Bits of a candidate; the highest one of a state has the bits above those of the lowest."""

USED_BYTES = 2 * INDEX_BITS // 8
"""Bytes of a word that are used, the lowest ones."""


def words_of(bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the words for lowest and highest candidates, int64 ``(2, N_k, N_z)``: int64, ``(N_k, N_z)``."""
    return bounds[0] | bounds[1] << INDEX_BITS


def bounds_of(words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the lowest and the highest candidates in the words of states, int64 of any shape, along a new first axis.

    >>> import numpy as np
    >>> bounds_of(words_of(np.array([[[3, 4]], [[9, 65535]]]))).tolist()
    [[[3, 4]], [[9, 65535]]]
    """
    mask = (1 << INDEX_BITS) - 1
    return np.stack([words & mask, words >> INDEX_BITS & mask])
