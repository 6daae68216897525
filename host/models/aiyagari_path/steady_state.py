"""Households that choose between grid points: a date, and a steady state of one or several types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.timing import timed
from beltline.host.analysis.between import maximise, monotone_cubics
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.long_run import MASS_MOVES, long_run
from beltline.host.analysis.policy import shared
from beltline.host.analysis.refine import settle
from beltline.host.models.aiyagari.bracket import UnsolvedError, clearing_rate
from beltline.host.models.aiyagari.calibration import Calibration
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility
from beltline.host.results.outcome import Outcome


class Period(NamedTuple):
    """Value and choices of households at one date; each array is ``(N_k, N_z)``.

    The assets of the next date, ``choice``, may lie between grid points: ``below``, at most ``N_k - 2``, is the index
    of the one at or below, and ``share`` the share of the mass that goes to the one above (Young 2010).
    """

    value: Array
    choice: Array
    below: NDArray[np.int32]
    share: Array

    def carry(self, mass: Array, chain: Array) -> Array:
        """Return the distribution of households at the next date."""
        return shared(mass, self.below, self.share, chain)


@dataclass(frozen=True, eq=False)
class Household:
    """The household of an economy, for any prices: its problem at some, and its labour by state, ``units``."""

    economy: Calibration
    problem: Problem
    units: Array

    @classmethod
    def of(cls, economy: Calibration) -> Household:
        """Return the household of ``economy``."""
        return cls(economy, replace(economy.problem(), marginal_wealth=None, output=None), economy.labour()[0])

    @property
    def chain(self) -> Array:
        """Markov matrix of labour, ``(N_z, N_z)``."""
        return self.problem.transition

    @property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, units of the good."""
        return self.problem.grid

    def at(self, interest: float, wage: float) -> Problem:
        """Return the household's problem at these prices."""
        return replace(self.problem, wealth=self.wealth(interest, wage))

    def wealth(self, interest: float, wage: float) -> Array:
        """Return cash on hand at these prices, ``(N_k, N_z)``, in units of the good."""
        return (1.0 + interest) * self.assets[:, None] + wage * self.units

    def choose(self, interest: float, wage: float, ahead: Array) -> Period:
        """Return the best choices at these prices, given the value of the next date, ``ahead``."""
        found = maximise(self.at(interest, wage), ahead, monotone_cubics)
        return Period(found.value, found.choice, found.below, found.share)


MAX_STEPS = 200
"""Largest number of sweeps that maximise, for each household's problem."""

RATE_TOLERANCE = 1e-12
"""Accuracy of the interest rate; supply is a smooth function of it."""


@dataclass(frozen=True, eq=False)
class SteadyState:
    """A steady state: prices, capital per head that households supply, and its excess as a share of demand.

    ``periods`` has value and choices of each type, ``distributions``, ``(n, N_k, N_z)``, the share of its households in
    each state, and ``residual`` the largest change of a value in the last sweep. ``steps`` counts interest rates that
    were tried, ``sweeps`` the sweeps that maximise at all of them.
    """

    productivity: float
    interest: float
    wage: float
    capital: float
    excess: float
    periods: tuple[Period, ...]
    distributions: Array
    residual: float
    steps: int = 0
    sweeps: int = 0

    @property
    def period(self) -> Period:
        """Value and choices of the first type."""
        return self.periods[0]

    @property
    def distribution(self) -> Array:
        """Distribution of the first type."""
        return self.distributions[0]


class _Search:
    """The households' problems at one interest rate after the other, each starting from the last values."""

    def __init__(
        self, households: Sequence[Household], shares: Array, productivity: float, values: Sequence[Array], tol: float,
        report: Callable[[str], None] | None, timing: dict[str, float],
    ) -> None:  # fmt: skip
        self._households, self._shares, self._productivity = households, shares, productivity
        self._values, self._tol, self._report, self._timing = list(values), tol, report, timing
        even = np.full(values[0].shape, 1.0 / values[0].shape[0]) * chain_distribution(households[0].chain)
        self._masses = [even] * len(households)
        self.tried: dict[float, SteadyState] = {}
        self.sweeps = 0

    def supply(self, interest: float) -> float:
        """Return the capital per head that is supplied at ``interest``."""
        if interest not in self.tried:
            self.tried[interest] = self._at(interest)
        return self.tried[interest].capital

    def _at(self, interest: float) -> SteadyState:
        firms, productivity = self._households[0].economy, self._productivity
        wage = firms.wage(interest, productivity)
        periods, residual = [], 0.0
        for kind, household in enumerate(self._households):
            period, self._values[kind], self._masses[kind], sweeps, change = stationary(
                household, interest, wage, self._values[kind], self._masses[kind], self._tol, self._timing
            )
            periods.append(period)
            self.sweeps += sweeps
            residual = max(residual, change)
        masses = np.stack(self._masses)
        supply = float(self._shares @ (masses.sum(axis=2) @ self._households[0].assets))
        demand = firms.capital(interest, productivity)
        if self._report is not None:
            self._report(f"steady state, step {len(self.tried) + 1}: r = {interest:.4%}, supply of capital "
                         f"{supply:.4f}, demand {demand:.4f}")  # fmt: skip
        excess = supply / demand - 1
        return SteadyState(productivity, interest, wage, supply, excess, tuple(periods), masses, residual)


def stationary(
    household: Household, interest: float, wage: float, value: Array, mass: Array, tol: float, timing: dict[str, float]
) -> tuple[Period, Array, Array, int, float]:
    """Solve the household's problem at constant prices from a value and a distribution; return its choices, value and
    stationary distribution, the number of sweeps and the last change, and add to ``timing``.
    """
    with timed(timing, "values"):
        _, value, change, sweeps = settle(household.at(interest, wage), value, monotone_cubics, tol, MAX_STEPS)
        if not change < tol:
            raise UnsolvedError(
                Outcome.HOUSEHOLD,
                f"At r = {interest:.4%} the values of choices between grid points do not converge: they still change "
                f"by {change:.3g} after {MAX_STEPS} steps, and tol is {tol:g}: raise tol or grid.",
            )
        period = household.choose(interest, wage, value)
    with timed(timing, "distributions"):
        mass, moves, unique = long_run(period.below, household.chain, mass, period.share)
    if not unique or moves > MASS_MOVES:
        raise UnsolvedError(
            Outcome.DISTRIBUTION,
            f"At r = {interest:.4%} households have no unique stationary distribution: raise grid.",
        )
    return period, value, mass, sweeps, change


def steady_state(
    households: Sequence[Household],
    shares: Array,
    productivity: float,
    values: Sequence[Array],
    tol: float,
    report: Callable[[str], None] | None,
    timing: dict[str, float],
) -> SteadyState:
    """Find the steady state of an economy at a constant ``productivity`` and add to ``timing``.

    ``households`` and ``shares`` are those of each type; types differ in preferences. The first problem of each starts
    from ``values``, which should be near the solution at some rate. ``report`` is called with a line of text for every
    rate that is tried.
    """
    search = _Search(households, shares, productivity, values, tol, report, timing)
    patience = max(household.economy.beta for household in households) if len(households) > 1 else None
    search.supply(
        clearing_rate(households[0].economy, search.supply, (RATE_TOLERANCE, 8.9e-16), productivity, patience)
    )
    best = min(search.tried.values(), key=lambda found: abs(found.excess))
    return replace(best, steps=len(search.tried), sweeps=search.sweeps)


def first_value(problem: Problem) -> Array:
    """Return a first guess: consume half of all cash on hand now, and income for ever after."""
    now = utility(0.5 * problem.wealth, problem.eta)
    return now + problem.beta / (1.0 - problem.beta) * utility(problem.wealth[0].mean(), problem.eta)
