"""Proof, sweep by sweep, that every objective has a single peak in the numbers that the computer compares.

The objective ``O_j = U(W - X_j) + EV_j`` falls in slope from one pair of neighbours to the next by at least ``|U''(c)|
(h + h')/2`` less the rise of the slope of ``EV``; ``h`` and ``h'`` are the two steps, and ``c = max_x W(x, s) - X_j``
the largest consumption at which the three points are compared, where the curvature of CRRA utility is smallest. A local
search is exact where *computed* objectives have one peak. If each is off by at most ``e``, a computed pair that does
not rise has a slope of at most ``2 e / h``; the next pair does not rise either if the slope falls by more than ``2 e /
h + 2 e / h'``, and so on to the end; downhill the same, strictly. So there is *room* for the slope of ``EV`` to rise by

    room = |U''(c)| (h + h')/2 - 2 e (1/h + 1/h')

The error of utility grows no faster than ``|U| + (eta = 1)``, and ``|U| / |U''|`` rises with consumption, as does a
constant over ``|U''|``: so what errors take of the curvature is largest at the largest consumption, and room that is
positive there is smaller than at any other. Where it is not positive it proves nothing, and the search is exact by
other means (:mod:`beltline.gpu_ref.exact`).
"""

from __future__ import annotations

import math

import numpy as np

from beltline.compiled import njit, prange
from beltline.gpu_ref.methods import DOUBLE
from beltline.gpu_ref.tables import Array, expectation
from beltline.gpu_ref.utility import crra

CURVATURE = 1.0 - 2.0**-40
"""Share of the computed curvature that is counted: the rest covers the rounding of this computation."""

SLOPE = 2.0**-50
"""Relative error of a computed slope, generously."""


@njit(parallel=True, cache=True)
def _room(X: Array, top: Array, eta: float, largest: float, room: Array) -> None:
    for j in prange(X.size - 2):
        below = X[j + 1] - X[j]
        above = X[j + 2] - X[j + 1]
        for s in range(top.size):
            if X[j + 2] >= top[s]:
                room[s, j] = np.inf
                continue
            c = top[s] - X[j]
            utility = abs(crra(c, eta))
            # The product is faster than a power, and no less exact than is allowed for.
            bend = 2.0 / (c * c * c) if eta == 2.0 else eta * math.pow(c, -eta - 1.0)
            error = DOUBLE * ((abs(1.0 - eta) + 8.0) * (utility + (1.0 if eta == 1.0 else 0.0)) + 2.0 * largest)
            room[s, j] = CURVATURE * bend * (below + above) / 2.0 - 2.0 * error * (1.0 / below + 1.0 / above)


def curvature_room(X: Array, W: Array, eta: float, largest: float) -> Array:
    """By how much the slope of ``EV`` may rise at each point without spoiling single peaks, ``(N_z, max(N_k - 2, 0))``.

    Units of utility per unit of money; infinite where the three points are never affordable together. ``largest``
    bounds the ``|EV|`` for which this holds; ``X`` and ``W`` as in :mod:`beltline.gpu_ref`.
    """
    room = np.empty((W.shape[1], max(X.size - 2, 0)))
    _room(X, W.max(axis=0), eta, largest, room)
    return room


@njit(cache=True)
def falls(ev: Array, inverse: Array, room: Array, least: float) -> bool:
    """Whether the slope of a piece of ``EV`` rises by less than the room everywhere.

    ``ev`` has ``n`` points, ``inverse`` the ``n - 1`` inverse steps between them, ``room`` the ``n - 2`` rooms, and
    ``least`` is at most the least of them. False where a value is not finite.
    """
    # Conditions are gathered in a whole number, which the compiler turns into vector instructions.
    doubt = 0
    for j in range(ev.size - 2):
        left = (ev[j + 1] - ev[j]) * inverse[j]
        right = (ev[j + 2] - ev[j + 1]) * inverse[j + 1]
        doubt |= not right - left + (abs(left) + abs(right)) * SLOPE < least
    if doubt == 0:
        return True
    for j in range(ev.size - 2):
        left = (ev[j + 1] - ev[j]) * inverse[j]
        right = (ev[j + 2] - ev[j + 1]) * inverse[j + 1]
        if not right - left + (abs(left) + abs(right)) * SLOPE < room[j]:
            return False
    return True


def single_peaks(X: Array, W: Array, Q: Array, V: Array, beta: float, eta: float) -> bool:
    """Whether every objective of the sweep from ``V`` is proven single-peaked as computed.

    Then any search for a peak ends at the maximum. Arguments as in :mod:`beltline.gpu_ref`.
    """
    ev = expectation(Q, V, beta)
    if not np.isfinite(ev).all():
        return False
    room = curvature_room(X, W, eta, float(np.abs(ev).max()))
    inverse = 1.0 / np.diff(X)
    return all(falls(ev[s], inverse, room[s], float(room[s].min(initial=np.inf))) for s in range(ev.shape[0]))
