"""Calibration of the economy of Aiyagari (1994): prices, labour, and the household's problem at an interest rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from beltline.host.analysis.chain import chain_distribution
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import real
from beltline.host.problem.grids import grid_polynomial
from beltline.host.problem.markov import tauchen
from beltline.host.problem.model_parameters import levels
from beltline.host.problem.problem import Problem


@dataclass(frozen=True)
class Calibration:
    """Parameters of the economy of Aiyagari (1994), which :func:`beltline.aiyagari` explains, and their prices."""

    grid: int
    states: int
    beta: float
    eta: float
    alpha: float
    delta: float
    rho: float
    sigma: float
    width: float
    high: float
    power: float

    def labour(self) -> tuple[Array, Array]:
        """Return labour in efficiency units by state, whose stationary mean is 1, and its Markov matrix."""
        log_labour, transition = tauchen(
            self.states, self.rho, self.sigma * math.sqrt(1 - self.rho**2), width=self.width
        )
        units = levels("labour", log_labour, "sigma or width")
        return units / (chain_distribution(transition) @ units), transition

    def capital(self, interest: float, productivity: float = 1.0) -> float:
        """Return the demand for capital per head: ``K`` of ``interest = productivity alpha K**(alpha - 1) - delta``."""
        return float((productivity * self.alpha / (interest + self.delta)) ** (1 / (1 - self.alpha)))

    def wage(self, interest: float, productivity: float = 1.0) -> float:
        """Return the wage of a unit of labour at this interest rate, ``productivity (1 - alpha) K**alpha``."""
        return float(productivity * (1 - self.alpha) * self.capital(interest, productivity) ** self.alpha)

    def rate(self, capital: float, productivity: float = 1.0) -> float:
        """Return the interest rate at which firms demand ``capital`` per head."""
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
        units, transition = self.labour()
        wage = self.wage(rate)
        assets = grid_polynomial(0.0, self.high, self.grid, self.power)
        wealth = (1 + rate) * assets[:, None] + wage * units
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
            marginal_wealth=np.full_like(wealth, 1 + rate),
            output=rate * assets[:, None] + wage * units,
            shock="labour l",
            shock_values=units,
            parameters={"interest": rate, "wage": wage},
        )
