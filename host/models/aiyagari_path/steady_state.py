"""A steady state of the Aiyagari economy in which households choose between grid points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from beltline.host.analysis.between import monotone_cubics
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.long_run import MASS_MOVES, long_run
from beltline.host.analysis.refine import settle
from beltline.host.models.aiyagari.bracket import GridEndsError, bracket, no_supply
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.aiyagari_path.period import Household, Period
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.outcome import Outcome

MAX_STEPS = 200
"""Largest number of sweeps that maximise, for each household's problem."""

RATE_TOLERANCE = 1e-12
"""Accuracy of the interest rate; supply is a smooth function of it."""


class UnsolvedError(Exception):
    """No steady state was found; ``status`` and the message give the reason."""

    def __init__(self, status: Outcome, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, eq=False)
class SteadyState:
    """A steady state: prices, value and choices of households, and their stationary distribution.

    Parameters
    ----------
    productivity : float
        Productivity.
    interest, wage, capital : float
        Net interest rate of a period, wage of a unit of labour, and capital per head that households supply.
    excess : float
        Excess supply of capital as a share of demand.
    period : Period
        Value and choices of households, ``(N_k, N_z)``.
    distribution : (N_k, N_z) float64 array
        Share of households in each state; adds up to 1.
    """

    productivity: float
    interest: float
    wage: float
    capital: float
    excess: float
    period: Period
    distribution: Array


class _Search:
    """The households' problem at one interest rate after the other, each starting from the last value."""

    def __init__(
        self, economy: Calibration, household: Household, productivity: float, value: Array, tol: float,
        report: Callable[[str], None] | None,
    ) -> None:  # fmt: skip
        self._economy, self._household, self._productivity = economy, household, productivity
        self._value, self._tol, self._report = value, tol, report
        self._mass = np.full(value.shape, 1.0 / value.shape[0]) * chain_distribution(household.chain)
        self.tried: dict[float, SteadyState] = {}

    def gap(self, interest: float) -> float:
        """Return the rate at which firms would demand what is supplied at ``interest``, less ``interest``."""
        if interest not in self.tried:
            self.tried[interest] = self._at(interest)
        supply = self.tried[interest].capital
        return min(self._economy.rate(supply, self._productivity) - interest, 1.0) if supply > 0 else 1.0

    def _at(self, interest: float) -> SteadyState:
        economy, productivity = self._economy, self._productivity
        wage = economy.wage(interest, productivity)
        period, self._value, self._mass = stationary(
            self._household, interest, wage, self._value, self._mass, self._tol
        )
        supply = float(self._household.assets @ self._mass.sum(axis=1))
        demand = economy.capital(interest, productivity)
        if self._report is not None:
            self._report(f"steady state, step {len(self.tried) + 1}: r = {interest:.4%}, supply of capital "
                         f"{supply:.4f}, demand {demand:.4f}")  # fmt: skip
        return SteadyState(productivity, interest, wage, supply, supply / demand - 1, period, self._mass)


def stationary(
    household: Household, interest: float, wage: float, value: Array, mass: Array, tol: float
) -> tuple[Period, Array, Array]:
    """Solve the household's problem at constant prices; return its choices, value and stationary distribution.

    Parameters
    ----------
    household
        The household.
    interest, wage
        Prices.
    value : (N_k, N_z) array
        Value from which the iteration starts.
    mass : (N_k, N_z) array
        Distribution from which an iteration starts, if one is needed.
    tol
        Tolerance of values, in units of utility; see :func:`beltline.host.analysis.refine.settle`.

    Raises
    ------
    UnsolvedError
        The value did not converge, or there is no unique stationary distribution.
    """
    _, value, change, _ = settle(household.at(interest, wage), value, monotone_cubics, tol, MAX_STEPS)
    if not change < tol:
        raise UnsolvedError(
            Outcome.HOUSEHOLD,
            f"At r = {interest:.4%} the values of choices between grid points do not converge: they still change by "
            f"{change:.3g} after {MAX_STEPS} steps, and tol is {tol:g}: raise tol or grid.",
        )
    period = household.choose(interest, wage, value)
    mass, moves, unique = long_run(period.below, household.chain, mass, period.share)
    if not unique or moves > MASS_MOVES:
        raise UnsolvedError(
            Outcome.DISTRIBUTION,
            f"At r = {interest:.4%} households have no unique stationary distribution: raise grid.",
        )
    return period, value, mass


def steady_state(
    economy: Calibration,
    household: Household,
    productivity: float,
    value: Array,
    tol: float,
    report: Callable[[str], None] | None,
) -> SteadyState:
    """Find the steady state of ``economy`` at a constant ``productivity``.

    Parameters
    ----------
    economy
        The economy.
    household
        Its household.
    productivity
        Productivity.
    value : (N_k, N_z) array
        Value from which the first household's problem starts; it should be near the solution at some rate.
    tol
        Tolerance of values, in units of utility; see :func:`beltline.host.analysis.refine.settle`.
    report
        A function that is called with a line of text for every rate that is tried, or None.

    Raises
    ------
    UnsolvedError
        A value did not converge, a stationary distribution is not unique, or no rate clears the market.
    """
    search = _Search(economy, household, productivity, value, tol, report)
    try:
        ends = bracket(economy.beta, economy.delta, search.gap)
    except GridEndsError:
        raise UnsolvedError(
            Outcome.MARKET, f"Just below 1/beta - 1 supply is below demand: {no_supply(economy.states)}"
        ) from None
    if ends is None:
        raise UnsolvedError(Outcome.MARKET, "No interest rate clears the market within the grid.")
    rate = float(brentq(search.gap, *ends, xtol=RATE_TOLERANCE, rtol=8.9e-16, maxiter=200))
    search.gap(rate)
    return min(search.tried.values(), key=lambda found: abs(found.excess))


def first_value(problem: Problem) -> Array:
    """Return a first guess: consume half of all cash on hand now, and income for ever after."""
    now = utility(0.5 * problem.wealth, problem.eta)
    found: Array = now + problem.beta / (1.0 - problem.beta) * utility(problem.wealth[0].mean(), problem.eta)
    return found
