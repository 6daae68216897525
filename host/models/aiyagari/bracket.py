"""Where to look for the interest rate at which households hold the capital that firms rent."""

from __future__ import annotations

from collections.abc import Callable

NEAR = 1e-5
"""How close to ``1/beta - 1`` a rate is tried at which too little is saved."""


class GridEndsError(Exception):
    """Too little is saved just below ``1/beta - 1``, where it would rise without bound if the grid did not end."""


def bracket(beta: float, delta: float, gap_at: Callable[[float], float]) -> tuple[float, float] | None:
    """Return a rate below which too little is saved and one above which too much is; None where none is found.

    What is saved rises without bound towards ``1/beta - 1``.

    Parameters
    ----------
    beta
        Discount factor of households.
    delta
        Depreciation.
    gap_at
        By how much the rate at which firms would rent what is saved lies above a rate.

    Raises
    ------
    GridEndsError
        The rate just below ``1/beta - 1`` was the last that was tried.
    """
    top = 1 / beta - 1
    low, high = -delta, top
    rate = 0.9 * top
    for _ in range(60):
        gap = gap_at(rate)
        if gap > 0:
            low = rate
        else:
            high = rate
        if low > -delta and high < top:
            return low, high
        if gap > 0 and top - rate < NEAR:
            raise GridEndsError
        rate = low + 0.6 * (top - low) if gap > 0 else rate - max(0.01, 2 * (top - rate))
        if rate <= -delta:
            rate = (high - delta) / 2
    return None
