"""Groups of neighbouring states whose proof remains valid until a clock has passed a limit.

A proof of a state (:mod:`beltline.gpu_ref.row_search`) compares its choice with the candidates between the choices of
its neighbours. It remains valid while none of these three choices moves, and until a candidate of the bracket can have
gained as much as it had lost by. So a group of states needs one limit, ``quiet``, on one clock: that of the smallest
window (:mod:`beltline.gpu_ref.window_clocks`) that contains all brackets of the group. ``gates`` has the index of that
window. Both arrays have a number for each group of a row or of a piece of one. A limit of minus infinity means that
nothing is proven.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit_inlined, njit_uncounted
from beltline.gpu_ref.tables import Array
from beltline.gpu_ref.window_clocks import BLOCK

GROUP = BLOCK
"""Number of states of a group. A piece of a row begins with a group, as it begins with a block of candidates."""


@njit_inlined
def disturb(quiet: Array, size: int, i: int) -> None:
    """Have the groups of state ``i`` of ``size`` and of its neighbours proven again, because its choice has moved."""
    quiet[max(i - 1, 0) // GROUP] = quiet[i // GROUP] = quiet[min(i + 1, size - 1) // GROUP] = -np.inf


@njit_uncounted
def all_known(clocks: Array, quiet: Array, gates: NDArray[np.int32]) -> bool:
    """Return whether the proof of every group is still valid; ``clocks`` are those of the row."""
    known = True
    for g in range(quiet.size):
        known &= clocks[0] + clocks[gates[g]] < quiet[g]
    return known
