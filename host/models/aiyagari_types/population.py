"""The search for the interest rate at which the supply of capital by all types equals demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from beltline.host.analysis.chain import chain_distribution
from beltline.host.models.aiyagari.bracket import GridEndsError, bracket, no_supply
from beltline.host.models.aiyagari_path.period import Household, Period
from beltline.host.models.aiyagari_path.steady_state import (
    RATE_TOLERANCE,
    UnsolvedError,
    first_value,
    stationary,
)
from beltline.host.models.aiyagari_types.calibration import Calibration
from beltline.host.problem.arrays import Array
from beltline.host.results.outcome import Outcome


@dataclass(frozen=True, eq=False)
class Population:
    """Households of all types at one interest rate.

    Parameters
    ----------
    interest : float
        Interest rate.
    mean_assets : (n,) float64 array
        Mean assets of each type, in units of the good.
    excess : float
        Excess supply of capital as a share of demand.
    periods : tuple of n Period
        Value and choices of each type.
    distribution : (n, N_k, N_z) float64 array
        Share of the households of each type in each state; adds up to 1 for each type.
    """

    interest: float
    mean_assets: Array
    excess: float
    periods: tuple[Period, ...]
    distribution: Array


class _Search:
    def __init__(self, model: Calibration, tol: float, report: Callable[[str], None] | None) -> None:
        self._model, self._tol, self._report = model, tol, report
        self._households = [Household.of(economy) for economy in model.economies]
        self._values = [first_value(household.problem) for household in self._households]
        points, chain = model.economy.grid, self._households[0].chain
        even = np.full((points, chain.shape[0]), 1.0 / points) * chain_distribution(chain)
        self._masses = [even] * len(self._households)
        self.tried: dict[float, Population] = {}

    def gap(self, interest: float) -> float:
        """Return the rate at which firms would demand what is supplied at ``interest``, less ``interest``."""
        if interest not in self.tried:
            self.tried[interest] = self._at(interest)
        supply = float(self._model.shares @ self.tried[interest].mean_assets)
        return min(self._model.economy.rate(supply) - interest, 1.0) if supply > 0 else 1.0

    def _at(self, interest: float) -> Population:
        economy, periods = self._model.economy, []
        for kind, household in enumerate(self._households):
            period, self._values[kind], self._masses[kind] = stationary(
                household, interest, economy.wage(interest), self._values[kind], self._masses[kind], self._tol
            )
            periods.append(period)
        mass = np.stack(self._masses)
        mean_assets: Array = mass.sum(axis=2) @ self._households[0].assets
        excess = float(self._model.shares @ mean_assets) / economy.capital(interest) - 1
        if self._report is not None:
            self._report(f"step {len(self.tried) + 1}: r = {interest:.4%}, excess supply {excess:+.2e} of demand")
        return Population(interest, mean_assets, excess, tuple(periods), mass)


def clear(model: Calibration, tol: float, report: Callable[[str], None] | None) -> tuple[Population, int]:
    """Find the interest rate that clears the market; return the households at it, and the number of rates tried.

    Raises
    ------
    UnsolvedError
        A value did not converge, a stationary distribution is not unique, or no rate clears the market.
    """
    search = _Search(model, tol, report)
    try:
        ends = bracket(model.economy.beta, model.economy.delta, search.gap)
    except GridEndsError:
        raise UnsolvedError(
            Outcome.MARKET,
            "Just below 1/beta - 1 of the most patient type supply is below demand: " + no_supply(model.economy.states),
        ) from None
    if ends is None:
        raise UnsolvedError(Outcome.MARKET, "No interest rate clears the market within the grid.")
    search.gap(float(brentq(search.gap, *ends, xtol=RATE_TOLERANCE, rtol=8.9e-16, maxiter=200)))
    return min(search.tried.values(), key=lambda found: abs(found.excess)), len(search.tried)
