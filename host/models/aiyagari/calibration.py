"""Calibration of the economy of Aiyagari (1994): prices, labour, and the household's problem at an interest rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from beltline.host.analysis.chain import chain_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import real
from beltline.host.problem.grids import grid_polynomial
from beltline.host.problem.markov import tauchen
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import (
    AUTOCORRELATION,
    CHAIN_SIZE,
    DEPRECIATION,
    FROM_ONE,
    GRID_SIZE,
    POSITIVE,
    RISK_AVERSION,
    SHARE,
    fixed,
    levels,
)  # fmt: skip
from beltline.host.problem.problem import Problem
from beltline.host.results.fields import Declared, parameter


@dataclass(frozen=True)
class Calibration(Declared):
    """Parameters of the economy of Aiyagari (1994), their prices, and the household's problem."""

    grid: int = parameter(
        2000, GRID_SIZE, "Number of grid points of assets, from 2. Households choose from these points too; with few "
        "points, the supply of capital jumps at some interest rates and the market may not clear",
    )  # fmt: skip
    states: int = parameter(7, CHAIN_SIZE, "Number of labour states, 1 to ``CHAIN_LIMIT``")
    beta: float = parameter(0.96, SHARE, "Discount factor of a period (a year with the defaults), above 0 and below 1")
    eta: float = parameter(3.0, RISK_AVERSION, "Relative risk aversion, above 0 and at most 16; 1 is log utility")
    alpha: float = parameter(0.36, SHARE, "Capital share of output, above 0 and below 1")
    delta: float = parameter(0.08, DEPRECIATION, "Depreciation rate of a period, above 0 and at most 1")
    rho: float = parameter(0.6, AUTOCORRELATION, "Autocorrelation of log labour, above -1 and below 1")
    sigma: float = parameter(0.2, POSITIVE, "Unconditional standard deviation of log labour, above 0")
    width: float = parameter(
        3.0, POSITIVE, "Half-width of the labour grid in unconditional standard deviations, above 0"
    )
    high: float = parameter(60.0, POSITIVE, "Highest assets of the grid, above 0", "units of the good")
    power: float = parameter(
        3.0, FROM_ONE, "Exponent of the grid's spacing, from 1; larger values put more points near 0 "
        "(:func:`beltline.grid_polynomial`)",
    )  # fmt: skip

    def validate(self) -> None:
        """Refuse tables that do not fit into the memory, and a chain of labour that is out of range."""
        check_tables(8 * self.grid * self.states, grid=self.grid, states=self.states)
        self.labour()

    @cached_property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, in units of the good."""
        return fixed(grid_polynomial(0.0, self.high, self.grid, self.power))

    def labour(self) -> tuple[Array, Array]:
        """Return labour in efficiency units by state, whose stationary mean is 1, and its Markov matrix."""
        return self._labour

    @cached_property
    def _labour(self) -> tuple[Array, Array]:
        log_labour, transition = tauchen(
            self.states, self.rho, self.sigma * math.sqrt(1 - self.rho**2), width=self.width
        )
        units = levels("labour", log_labour, "sigma or width")
        return fixed(units / (chain_distribution(transition) @ units)), fixed(transition)

    def capital(self, interest: float, productivity: float = 1.0) -> float:
        """Return the demand for capital per head: ``K`` of ``interest = productivity alpha K**(alpha - 1) - delta``."""
        real("interest", interest, f"a number above -delta = {-self.delta:g}", lambda v: -self.delta < v < math.inf)
        POSITIVE("productivity", productivity)
        return float((productivity * self.alpha / (interest + self.delta)) ** (1 / (1 - self.alpha)))

    def wage(self, interest: float, productivity: float = 1.0) -> float:
        """Return the wage of a unit of labour at this interest rate, ``productivity (1 - alpha) K**alpha``."""
        capital = self.capital(interest, productivity)
        return float(productivity * (1 - self.alpha) * capital**self.alpha)

    def rate(self, capital: float, productivity: float = 1.0) -> float:
        """Return the interest rate at which firms demand ``capital`` per head."""
        POSITIVE("capital", capital)
        POSITIVE("productivity", productivity)
        return float(productivity * self.alpha * capital ** (self.alpha - 1) - self.delta)

    def problem(self, interest: float | None = None, start: Array | None = None) -> Problem:
        """Return the household's problem.

        Parameters
        ----------
        interest
            Interest rate, above ``-delta`` and below ``1/beta - 1``; by default 0.8 times ``1/beta - 1``.
        start
            First guess of the value, ``(N_k, N_z)``; by default zeros.
        """
        top = 1 / self.beta - 1
        rate = 0.8 * top if interest is None else real(
            "interest", interest, f"a number above -delta = {-self.delta:g} and below 1/beta - 1 = {top:.6g}",
            lambda v: -self.delta < v < top,
        )  # fmt: skip
        return self.at(rate, self.wage(rate), start)

    def at(self, interest: float, wage: float, start: Array | None = None) -> Problem:
        """Return the household's problem at any interest rate and wage, from a first guess of the value."""
        units, transition = self._labour
        assets = self.assets
        real("interest", interest, "a number above -1 and below 1000", lambda v: -1 < v < 1000)
        POSITIVE("wage", wage)
        wealth = (1 + interest) * assets[:, None] + wage * units
        return Problem(
            grid=assets,
            wealth=wealth,
            transition=transition,
            start=np.zeros_like(wealth) if start is None else start,
            beta=self.beta,
            eta=self.eta,
            name="Aiyagari's household",
            asset="assets a",
            labels=tuple(f"l = {value:.4f}" for value in units),
            marginal_wealth=np.full_like(wealth, 1 + interest),
            output=interest * assets[:, None] + wage * units,
            shock="labour l",
            shock_values=units,
            parameters={"interest": interest, "wage": wage},
        )
