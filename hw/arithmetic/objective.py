"""Objectives of the search in software: those of the evaluator, compared and cut to 64 bits as the gateware does."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from beltline.compiled import njit
from beltline.hw.arithmetic.evaluator import consumption_word
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility import utility_word
from beltline.hw.interface.registers import Status

INFEASIBLE = MINIMUM
"""In the arrays of kept utilities: no such candidate. No utility is as low."""

SATURATED_FLAG = 1
INFEASIBLE_FLAG = 2
"""What compiled sweeps collect of the states: :func:`raised_status` turns it into bits of ``STATUS``."""


@njit(cache=True, inline="always")
def objective_word(u, ev):  # type: ignore[no-untyped-def]
    """``u + ev`` in 65 bits, as its upper 64 bits and the lowest one."""
    return (u >> np.int64(1)) + (ev >> np.int64(1)) + (u & ev & np.int64(1)), (u ^ ev) & np.int64(1)


@njit(cache=True, inline="always")
def is_above(a, b):  # type: ignore[no-untyped-def]
    """Whether one objective is above another."""
    return a[0] > b[0] or (a[0] == b[0] and a[1] > b[1])


@njit(cache=True, inline="always")
def clamped_word(o):  # type: ignore[no-untyped-def]
    """``(value, saturated)`` of a 65-bit objective."""
    if o[0] >= 2**62:
        return np.int64(MAXIMUM), True
    if o[0] < -(2**62):
        return np.int64(MINIMUM), True
    return (o[0] << np.int64(1)) | o[1], False


@njit(cache=True)
def candidate_word(wealth, x, words):  # type: ignore[no-untyped-def]
    """``(u, feasible, over)`` of one candidate, as the evaluator gives them."""
    c, excess = consumption_word(wealth, x)
    u, feasible, over = utility_word(c, words)
    return u, feasible, over or excess


def raised_status(flags: NDArray[np.uint8]) -> Status:
    """``SATURATED`` and ``INFEASIBLE`` where any of ``flags``, uint8 of any shape ``(n,)``, has them."""
    raised = int(np.bitwise_or.reduce(flags))
    return Status(
        (Status.SATURATED if raised & SATURATED_FLAG else 0) | (Status.INFEASIBLE if raised & INFEASIBLE_FLAG else 0)
    )
