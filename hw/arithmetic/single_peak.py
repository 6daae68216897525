"""A test, for a whole sweep at once, that proves that the objective of every state has a single peak.

On a single-peaked objective the search along candidates finds the best one. The test uses the concavity of the utility
and the second differences of the expected value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import A_FRACTION, B_FRACTION, UtilityConstants


@njit(cache=True, inline="always")
def _difference(a, b):  # type: ignore[no-untyped-def]
    """Return ``a - b`` of two int64, as float64 rounded once. It avoids signed overflow, which is undefined in compiled
    code.
    """
    if a >= b:
        return np.float64(np.uint64(a) - np.uint64(b))
    return -np.float64(np.uint64(b) - np.uint64(a))


def _steps(x: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distances between neighbours of an increasing int64 grid, float64 ``(N_k - 1,)``, without overflow."""
    return np.diff(x.view(np.uint64)).astype(np.float64)


@njit(cache=True, parallel=True)
def _falls_everywhere(ev, steps, room, holds):  # type: ignore[no-untyped-def]
    """Set ``holds[j]`` where the slope of ``ev`` rises by less than ``room[j, s]`` at point ``j + 1`` for every
    ``s``.
    """
    for j in prange(ev.shape[0] - 2):
        fine = True
        for s in range(ev.shape[1]):
            left = _difference(ev[j + 1, s], ev[j, s]) / steps[j]
            right = _difference(ev[j + 2, s], ev[j + 1, s]) / steps[j + 1]
            slack = (abs(left) + abs(right)) * 2.0**-50
            fine = fine and right - left + slack < room[j, s]
        holds[j] = fine


def curvature_room(x: NDArray[np.int64], w: NDArray[np.int64], constants: UtilityConstants) -> NDArray[np.float64]:
    """Return the largest rise of the slope of ``EV`` at each grid point for which the objective has a single peak.

    The objective ``O_j = U(W - X_j) + EV_j``, in integers, is single-peaked where its slope falls strictly from each
    pair of neighbours to the next. Between the pairs ``(j, j+1)`` and ``(j+1, j+2)``, at distances ``h`` and ``h'``,
    the slope of the exact utility falls by at least ``|U''(C)| (h + h')/2`` with ``C = max_x W(x, s) - X_j``, the
    largest consumption, because the third derivative of CRRA utility is positive. An error ``d`` of the utility unit
    reduces this fall by at most ``2 d/h + 2 d/h'``, and its share of the fall, too, is largest at the largest
    consumption. The difference is the room.

    Parameters
    ----------
    x
        int64, ``(N_k,)``, strictly increasing: the grid, in units of amount.
    w
        int64, ``(N_k, N_z)``: wealth, in units of amount.
    constants
        Constants of the utility unit.

    Returns
    -------
    room
        float64, ``(max(N_k - 2, 0), N_z)``, in units of value per unit of amount. Infinite where no state can afford
        all three points, negative where the grid is too fine for the number formats.
    """
    points = x[:, None]
    c = (w.max(axis=0)[None, :] - points)[:-2]
    affordable = w.max(axis=0)[None, :] > points[2:]
    u, feasible, over = UtilityParameters().model(np.maximum(c, 1), constants)
    size = np.abs(u.astype(np.float64))
    consumption = c.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if constants.log:
            bend = 2.0 ** (B_FRACTION - constants.shift) / consumption**2
        else:
            power = constants.a / 2.0**A_FRACTION
            bend = np.maximum(size - 1.0, 0.0) * abs(power) * (1.0 - power) / consumption**2
        steps = _steps(x)[:, None]
        error = 1.0 + size * 2.0**-52
        room = bend * (1 - 2.0**-40) * (steps[:-1] + steps[1:]) / 2 - 2 * error * (1 / steps[:-1] + 1 / steps[1:])
    room = np.where(feasible & ~over, room, -np.inf)
    return np.where(affordable, room, np.inf)


def single_peaked(ev: NDArray[np.int64], x: NDArray[np.int64], room: NDArray[np.float64]) -> bool:
    """Return whether the objective of every state of a sweep is proven to be single-peaked.

    Parameters
    ----------
    ev
        int64, ``(N_k, N_z)``: expected discounted values, in units of value.
    x
        int64, ``(N_k,)``, strictly increasing: the grid.
    room
        Result of :func:`curvature_room`.

    Returns
    -------
    bool
        False where the test proves nothing: the objective may still be single-peaked.
    """
    if ev.shape[0] < 3:
        return True
    holds = np.empty(ev.shape[0] - 2, np.bool_)
    _falls_everywhere(ev, _steps(x), room, holds)
    return bool(holds.all())
