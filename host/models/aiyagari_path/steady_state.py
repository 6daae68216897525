"""A steady state of Aiyagari's economy whose households choose between grid points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from beltline.host.analysis.between import monotone_cubics
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.long_run import MASS_MOVES, long_run
from beltline.host.analysis.refine import settle
from beltline.host.models.aiyagari.bracket import GridEndsError, bracket
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.models.aiyagari_path.period import Household, Period
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.outcome import Outcome

MAX_STEPS = 200
"""Sweeps that maximise at most, for each household."""

RATE_TOLERANCE = 1e-12
"""How closely the interest rate is found: what is held is smooth in it."""


class UnsolvedError(Exception):
    """There is no such steady state, or none was found: ``status`` and the message say why."""

    def __init__(self, status: Outcome, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, eq=False)
class SteadyState:
    """Prices at which households hold in the long run what firms rent, and what they then do.

    Parameters
    ----------
    productivity : float
    interest, wage, capital : float
        Net and a period; of a unit of labour; a head, units of the good: what households hold.
    excess : float
        What households hold over what firms rent, less 1.
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
    """Households at one interest rate after the other, each beginning from the value of the one before."""

    def __init__(
        self, economy: Calibration, household: Household, productivity: float, value: Array, tol: float,
        report: Callable[[str], None] | None,
    ) -> None:  # fmt: skip
        self._economy, self._household, self._productivity = economy, household, productivity
        self._value, self._tol, self._report = value, tol, report
        self._mass = np.full(value.shape, 1.0 / value.shape[0]) * chain_distribution(household.chain)
        self.tried: dict[float, SteadyState] = {}

    def gap(self, interest: float) -> float:
        """By how much the rate at which firms would rent what is saved at ``interest`` lies above it."""
        if interest not in self.tried:
            self.tried[interest] = self._at(interest)
        held = self.tried[interest].capital
        return min(self._economy.rate(held, self._productivity) - interest, 1.0) if held > 0 else 1.0

    def _at(self, interest: float) -> SteadyState:
        economy, productivity = self._economy, self._productivity
        wage = economy.wage(interest, productivity)
        period, self._value, self._mass = at_rest(self._household, interest, wage, self._value, self._mass, self._tol)
        held = float(self._household.assets @ self._mass.sum(axis=1))
        rented = economy.capital(interest, productivity)
        if self._report is not None:
            self._report(f"steady state {len(self.tried) + 1}: r = {interest:.4%}, households hold {held:.4f}, firms "
                         f"rent {rented:.4f}")  # fmt: skip
        return SteadyState(productivity, interest, wage, held, held / rented - 1, period, self._mass)


def at_rest(
    household: Household, interest: float, wage: float, value: Array, mass: Array, tol: float
) -> tuple[Period, Array, Array]:
    """Return what households do at prices that never change, what that is worth, and where it leads in the long run.

    Parameters
    ----------
    household
    interest, wage
    value : (N_k, N_z) array
        From which the iteration begins.
    mass : (N_k, N_z) array
        From which the distribution is carried on, where it is.
    tol
        Of values, in utility, as of :func:`beltline.host.analysis.refine.settle`.

    Raises
    ------
    UnsolvedError
        Choices do not settle, or the distribution is not unique or does not.
    """
    _, value, change, _ = settle(household.at(interest, wage), value, monotone_cubics, tol, MAX_STEPS)
    if not change < tol:
        raise UnsolvedError(
            Outcome.HOUSEHOLD,
            f"At r = {interest:.4%} choices between grid points do not settle: values still change by {change:.3g} "
            f"after {MAX_STEPS} steps, where tol is {tol:g}: raise tol or grid.",
        )
    period = household.choose(interest, wage, value)
    mass, moves, unique = long_run(period.below, household.chain, mass, period.share)
    if not unique or moves > MASS_MOVES:
        raise UnsolvedError(
            Outcome.DISTRIBUTION,
            f"At r = {interest:.4%} households do not come to rest in one distribution: raise grid.",
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
    """Find the steady state of ``economy`` with ``productivity``.

    Parameters
    ----------
    economy
    household
        That of ``economy``.
    productivity
    value : (N_k, N_z) array
        From which the first household begins; near the solution at some rate.
    tol
        Of households' values, in utility, as of :func:`beltline.host.analysis.refine.settle`.
    report
        Told of every rate that is tried.

    Raises
    ------
    UnsolvedError
        A household's choices do not settle, a distribution is not unique, or no rate clears the market.
    """
    search = _Search(economy, household, productivity, value, tol, report)
    try:
        ends = bracket(economy.beta, economy.delta, search.gap)
    except GridEndsError:
        raise UnsolvedError(
            Outcome.MARKET, "Just below 1/beta - 1 too little is held: the grid ends too early, so raise high."
        ) from None
    if ends is None:
        raise UnsolvedError(Outcome.MARKET, "No interest rate clears the market within the grid.")
    rate = float(brentq(search.gap, *ends, xtol=RATE_TOLERANCE, rtol=8.9e-16, maxiter=200))
    search.gap(rate)
    return min(search.tried.values(), key=lambda found: abs(found.excess))


def first_value(problem: Problem) -> Array:
    """Of consuming half of all cash on hand, and income then for ever; what follows does not depend on it."""
    now = utility(0.5 * problem.wealth, problem.eta)
    found: Array = now + problem.beta / (1.0 - problem.beta) * utility(problem.wealth[0].mean(), problem.eta)
    return found
