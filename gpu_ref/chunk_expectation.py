"""Discounted expectation of a piece of the grid, computed while its values are in the processor's cache.

Four exogenous states are added in one pass, so that a sum is loaded and stored a quarter as often. The order of the
operations, and with it every bit, is that of :func:`beltline.gpu_ref.tables.expectation`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit

Array = NDArray[np.float64]


@njit(cache=True)
def _add_one(ev: Array, first: bool, weight: float, value: Array, scale: float) -> int:
    """Add a weighted value to ``ev``, or to 0 if ``first``, and multiply by ``scale``.

    Returns 0 if every result is finite.
    """
    beyond = 0
    for i in range(ev.size):
        total = 0.0 if first else ev[i]
        total = (total + weight * value[i]) * scale
        ev[i] = total
        beyond |= not abs(total) < np.inf
    return beyond


@njit(cache=True)
def _add_four(
    ev: Array, first: bool, a: float, b: float, c: float, d: float, at_a: Array, at_b: Array, at_c: Array, at_d: Array,
    scale: float,
) -> int:  # fmt: skip
    """Add four weighted values to ``ev``, one after the other, or to 0 if ``first``, and multiply by ``scale``.

    Returns 0 if every result is finite.
    """
    beyond = 0
    for i in range(ev.size):
        total = 0.0 if first else ev[i]
        total = (((total + a * at_a[i]) + b * at_b[i]) + c * at_c[i]) + d * at_d[i]
        total *= scale
        ev[i] = total
        beyond |= not abs(total) < np.inf
    return beyond


@njit(cache=True)
def expect_piece(Q: Array, beta: float, value: Array, ev: Array, begin: int, end: int, at: int) -> bool:
    """Compute ``EV`` of grid points ``begin`` to ``end`` into ``ev``, from its column ``at`` on.

    ``Q`` is ``(N_z, N_z)``, ``value`` and ``ev`` have a row for each exogenous state. Sums run in the order of the
    exogenous states, without those of probability zero. Returns whether all of it is finite.
    """
    states = value.shape[0]
    beyond = 0
    following = np.empty(states, np.int64)
    for s in range(states):
        own = ev[s, at : at + end - begin]
        count = 0
        for z in range(states):
            if Q[s, z] != 0.0:
                following[count] = z
                count += 1
        if count == 0:
            own[:] = 0.0
        done = 0
        while done + 4 <= count:
            i, j, k, m = following[done], following[done + 1], following[done + 2], following[done + 3]
            scale = beta if done + 4 == count else 1.0
            beyond |= _add_four(
                own, done == 0, Q[s, i], Q[s, j], Q[s, k], Q[s, m], value[i, begin:end], value[j, begin:end],
                value[k, begin:end], value[m, begin:end], scale,
            )  # fmt: skip
            done += 4
        while done < count:
            z, scale = following[done], beta if done + 1 == count else 1.0
            beyond |= _add_one(own, done == 0, Q[s, z], value[z, begin:end], scale)
            done += 1
    return beyond == 0


@njit(cache=True)
def expect_between(Q: Array, beta: float, value: Array, ahead: Array, begin: int, end: int) -> bool:
    """Compute ``EV`` of grid points ``begin`` to ``end`` into ``ahead``; return whether all of it is finite.

    As :func:`expect_piece`, but ``ahead`` is ``(N_z, N_k + 2)``, with a spare word at each end of a row.
    """
    return expect_piece(Q, beta, value, ahead, begin, end, begin + 1)
