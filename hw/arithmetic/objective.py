"""Objectives in the software model: computed, compared and saturated bit by bit as in the gateware.

All functions but :func:`raised_status` are for calls from compiled code only. A 65-bit objective is a pair: its upper
64 bits, int64, and its lowest bit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.hw.arithmetic.evaluator import consumption_word
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility import utility_word
from beltline.hw.interface.registers import Status

INFEASIBLE = MINIMUM
"""Entry of an array of cached utilities that marks an infeasible candidate; every utility is above it."""

SATURATED_FLAG = 1
"""Flag of a state in compiled sweeps: a value or utility was saturated. See :func:`raised_status`."""

INFEASIBLE_FLAG = 2
"""Flag of a state in compiled sweeps: it has no feasible candidate. See :func:`raised_status`."""


@njit(cache=True, inline="always")
def objective_word(u, ev):  # type: ignore[no-untyped-def]
    """Return the objective ``u + ev`` of two int64, as a pair."""
    return (u >> np.int64(1)) + (ev >> np.int64(1)) + (u & ev & np.int64(1)), (u ^ ev) & np.int64(1)


@njit(cache=True, inline="always")
def is_above(a, b):  # type: ignore[no-untyped-def]
    """Return whether objective ``a`` is above objective ``b``."""
    return a[0] > b[0] or (a[0] == b[0] and a[1] > b[1])


@njit(cache=True, inline="always")
def clamped_word(o):  # type: ignore[no-untyped-def]
    """Return ``(value, saturated)``: objective ``o`` saturated to int64, and whether it was out of range."""
    if o[0] >= 2**62:
        return np.int64(MAXIMUM), True
    if o[0] < -(2**62):
        return np.int64(MINIMUM), True
    return (o[0] << np.int64(1)) | o[1], False


@njit(cache=True)
def candidate_word(wealth, x, words):  # type: ignore[no-untyped-def]
    """Return the utility and flags ``(u, feasible, over)`` of one candidate, as the evaluator computes them.

    ``wealth`` and ``x`` are int64 amounts, ``words`` those of ``UtilityConstants.words``.
    """
    c, excess = consumption_word(wealth, x)
    u, feasible, over = utility_word(c, words)
    return u, feasible, over or excess


def raised_status(flags: NDArray[np.uint8]) -> Status:
    """Return bits ``SATURATED`` and ``INFEASIBLE`` of register ``STATUS``: set if any of ``flags`` has the flag.

    ``flags`` is uint8, ``(n,)`` with ``n >= 1``: sums of ``SATURATED_FLAG`` and ``INFEASIBLE_FLAG``.
    """
    raised = int(np.bitwise_or.reduce(flags))
    return Status(
        (Status.SATURATED if raised & SATURATED_FLAG else 0) | (Status.INFEASIBLE if raised & INFEASIBLE_FLAG else 0)
    )
