"""The search for the interest rate at which households of all kinds together hold the capital that firms rent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from beltline.host.analysis.chain import chain_distribution
from beltline.host.models.aiyagari.bracket import GridEndsError, bracket
from beltline.host.models.aiyagari_path.period import Household, Period
from beltline.host.models.aiyagari_path.steady_state import (
    RATE_TOLERANCE,
    UnsolvedError,
    at_rest,
    first_value,
)
from beltline.host.models.aiyagari_types.calibration import Calibration
from beltline.host.problem.arrays import Array
from beltline.host.results.outcome import Outcome


@dataclass(frozen=True, eq=False)
class Population:
    """Households of all kinds at one interest rate.

    Parameters
    ----------
    interest : float
    held : (n,) float64 array
        Assets a head of each kind, units of the good.
    excess : float
        What all hold over what firms rent, less 1.
    periods : tuple of n Period
        What each kind does.
    distribution : (n, N_k, N_z) float64 array
        Share of the households of each kind in each state; adds up to 1 for each.
    """

    interest: float
    held: Array
    excess: float
    periods: tuple[Period, ...]
    distribution: Array


class _Search:
    def __init__(self, model: Calibration, tol: float, report: Callable[[str], None] | None) -> None:
        self._model, self._tol, self._report = model, tol, report
        self._households = [Household.of(kind) for kind in model.kinds_of_household]
        self._values = [first_value(household.problem) for household in self._households]
        points, chain = model.economy.grid, self._households[0].chain
        even = np.full((points, chain.shape[0]), 1.0 / points) * chain_distribution(chain)
        self._masses = [even] * len(self._households)
        self.tried: dict[float, Population] = {}

    def gap(self, interest: float) -> float:
        """By how much the rate at which firms would rent what is held at ``interest`` lies above it."""
        if interest not in self.tried:
            self.tried[interest] = self._at(interest)
        held = float(self._model.shares @ self.tried[interest].held)
        return min(self._model.economy.rate(held) - interest, 1.0) if held > 0 else 1.0

    def _at(self, interest: float) -> Population:
        economy, periods = self._model.economy, []
        for kind, household in enumerate(self._households):
            period, self._values[kind], self._masses[kind] = at_rest(
                household, interest, economy.wage(interest), self._values[kind], self._masses[kind], self._tol
            )
            periods.append(period)
        mass = np.stack(self._masses)
        held: Array = mass.sum(axis=2) @ self._households[0].assets
        excess = float(self._model.shares @ held) / economy.capital(interest) - 1
        if self._report is not None:
            self._report(f"step {len(self.tried) + 1}: r = {interest:.4%}, excess {excess:+.2e}")
        return Population(interest, held, excess, tuple(periods), mass)


def clear(model: Calibration, tol: float, report: Callable[[str], None] | None) -> tuple[Population, int]:
    """Find the rate at which households of all kinds hold what firms rent; return what they do, and how many rates
    were tried.

    Raises
    ------
    UnsolvedError
        A household's choices do not settle, a distribution is not unique, or no rate clears the market.
    """
    search = _Search(model, tol, report)
    try:
        ends = bracket(model.economy.beta, model.economy.delta, search.gap)
    except GridEndsError:
        raise UnsolvedError(
            Outcome.MARKET,
            "Just below 1/beta - 1 of the most patient too little is held: the grid ends too early, so raise high.",
        ) from None
    if ends is None:
        raise UnsolvedError(Outcome.MARKET, "No interest rate clears the market within the grid.")
    search.gap(float(brentq(search.gap, *ends, xtol=RATE_TOLERANCE, rtol=8.9e-16, maxiter=200)))
    return min(search.tried.values(), key=lambda found: abs(found.excess)), len(search.tried)
