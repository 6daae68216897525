"""The search for the interest rate at which the supply of capital equals demand."""

from __future__ import annotations

from collections.abc import Callable

from scipy.optimize import brentq

from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.results.outcome import Outcome

NEAR = 1e-5
"""Distance from ``1/beta - 1`` at which the search ends if supply is still below demand."""


class UnsolvedError(Exception):
    """The search ends without an equilibrium; ``status`` and the message give the reason."""

    def __init__(self, status: Outcome, message: str) -> None:
        super().__init__(message)
        self.status = status


def clearing_rate(
    economy: Calibration,
    supply_at: Callable[[float], float],
    accuracy: tuple[float, float],
    productivity: float = 1.0,
    patience: float | None = None,
) -> float:
    """Return the interest rate at which households supply the capital that firms demand, given supply by rate.

    ``accuracy`` is the absolute and the relative one, ``patience`` the largest discount factor if there are several.
    """
    supplies: dict[float, float] = {}

    def gap_at(rate: float) -> float:
        """Return the rate at which firms would demand what is supplied at ``rate``, less ``rate``."""
        # The root finder evaluates the ends of the bracket again.
        if rate not in supplies:
            supplies[rate] = supply_at(rate)
        supply = supplies[rate]
        return min(economy.rate(supply, productivity) - rate, 1.0) if supply > 0 else 1.0

    top, delta = 1 / (patience or economy.beta) - 1, economy.delta
    low, high = -delta, top
    rate = 0.9 * top
    for _ in range(60):
        gap = gap_at(rate)
        if gap > 0:
            low = rate
        else:
            high = rate
        if low > -delta and high < top:
            return float(brentq(gap_at, low, high, xtol=accuracy[0], rtol=accuracy[1], maxiter=200))
        # On an infinite grid, supply rises without bound as the rate approaches 1/beta - 1.
        if gap > 0 and top - rate < NEAR:
            of = " of the most patient type" if patience else ""
            why = "the grid ends too early, so raise high."
            if economy.states == 1:
                why = "with one state incomes are certain, and households save at no rate below 1/beta - 1, so raise "
                why += "states."
            raise UnsolvedError(
                Outcome.MARKET,
                f"Just below 1/beta - 1{of} the supply of capital is {supplies[rate]:.4g} and demand "
                f"{economy.capital(rate, productivity):.4g}: {why}",
            )
        rate = low + 0.6 * (top - low) if gap > 0 else rate - max(0.01, 2 * (top - rate))
        if rate <= -delta:
            rate = (high - delta) / 2
    raise UnsolvedError(Outcome.MARKET, "No interest rate clears the market within the grid.")
