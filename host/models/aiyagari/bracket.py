"""Bracket the interest rate at which the supply of capital equals demand."""

from __future__ import annotations

from collections.abc import Callable

NEAR = 1e-5
"""Distance from ``1/beta - 1`` at which the search ends if supply is still below demand."""


class GridEndsError(Exception):
    """Supply of capital is below demand just below ``1/beta - 1``: the grid ends too early, or incomes are certain."""


def no_supply(states: int) -> str:
    """Return why supply is below demand just below ``1/beta - 1``, with ``states`` of income, and what to change."""
    if states == 1:
        return "with one state incomes are certain, and households save at no rate below 1/beta - 1, so raise states."
    return "the grid ends too early, so raise high."


def bracket(beta: float, delta: float, gap_at: Callable[[float], float]) -> tuple[float, float] | None:
    """Return a rate with excess demand for capital and one with excess supply, or None if there is no such pair.

    ``gap_at`` gives the rate at which firms would demand what households supply at a rate, less this rate: positive
    values are excess demand. On an infinite grid, supply rises without bound as the rate approaches ``1/beta - 1``; if
    demand exceeds it even just below, ``GridEndsError`` is raised.
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
