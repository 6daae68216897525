"""Visits of a policy with lotteries inside a regime and exogenous state, along which passes follow values and masses.

People who keep both lead from ``x`` to ``cell`` and ``cell + 1``. Where choices rise in ``x`` they only lead up between
two points that stay, or only down, so that one scan of those that lead up and one of the others solve a state.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.host.problem.arrays import Array

UP, DOWN, STAYS = 1, 2, 4
"""Where some alternative leads, and that none leads elsewhere."""


class Visits(NamedTuple):
    """What happens to those who keep regime and exogenous state.

    Attributes
    ----------
    low, high
        ``(N_d, N_z, N_k)``: weights of the moves to ``cell`` and ``cell + 1``; 0 where that is the point itself.
    stay, factor
        ``(N_r, N_z, N_k)``: the weight ``w`` of staying, and ``1 / (1 - w)``, or 1 where ``w`` counts as 1.
    way
        ``(N_r, N_z, N_k)``: :data:`UP`, :data:`DOWN`, both added, or :data:`STAYS`.
    """

    low: Array
    high: Array
    stay: Array
    factor: Array
    way: NDArray[np.int8]


@njit(cache=True)
def visits_of(
    regime: NDArray[np.int64], probability: Array, cell: NDArray[np.int32], share: Array, chain: Array, mix: Array,
    closed: float,
) -> Visits:  # fmt: skip
    """Return the visits of a policy, whose tables are ``(N_d, N_z, N_k)``; a weight from ``closed`` on counts as 1."""
    count, states, points = cell.shape
    low, high = np.zeros(cell.shape), np.zeros(cell.shape)
    own, factor = np.zeros((mix.shape[1], states, points)), np.ones((mix.shape[1], states, points))
    way = np.zeros(own.shape, np.int8)
    for d in range(count):
        for s in range(states):
            weight, stay, ways = mix[d, regime[d]] * chain[d, s, s], own[regime[d], s], way[regime[d], s]
            for x in range(points):
                j, chance, above = cell[d, s, x], probability[d, s, x], share[d, s, x]
                if j < 0 or chance == 0.0:
                    continue
                if j == x:
                    stay[x] += chance * weight * (1.0 - above)
                else:
                    low[d, s, x] = chance * weight * (1.0 - above)
                if j + 1 == x:
                    stay[x] += chance * weight * above
                else:
                    high[d, s, x] = chance * weight * above
                if j < x:
                    ways[x] |= DOWN
                elif j > x or above > 0.0:
                    ways[x] |= UP
    for r in range(own.shape[0]):
        for s in range(states):
            for x in range(points):
                if own[r, s, x] < closed:
                    factor[r, s, x] = 1.0 / (1.0 - own[r, s, x])
                if way[r, s, x] == 0:
                    way[r, s, x] = STAYS
    return Visits(low, high, own, factor, way)
