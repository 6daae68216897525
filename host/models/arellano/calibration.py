"""Calibration of Arellano (2008): income, bond prices, and the government's problem at given prices."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.general.prices import BondPrices, break_even
from beltline.host.analysis.chain import chain_distribution
from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, numbers_of, table, whole
from beltline.host.problem.grids import GRID_SIZE_LIMIT, grid_uniform
from beltline.host.problem.markov import tauchen
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import (
    AUTOCORRELATION,
    CHAIN_SIZE,
    POSITIVE,
    RATE,
    RISK_AVERSION,
    SHARE,
    TO_ONE,
    fixed,
    levels,
)  # fmt: skip
from beltline.host.problem.problem import Problem
from beltline.host.results.fields import Declared, parameter

GOOD, EXCLUDED = "good", "excluded"
"""Names of the regimes."""

ALTERNATIVES = ("repay", "default", "excluded")
"""Names of the alternatives; the first two are those of good standing."""


def _odd(name: str, value: Any) -> int:
    wanted = f"an odd number from 3 to {GRID_SIZE_LIMIT - 1}, so that 0 is one of them"
    return whole(name, value, wanted, lambda v: 3 <= v < GRID_SIZE_LIMIT and v % 2 == 1)


@dataclass(frozen=True)
class Calibration(Declared):
    """Parameters of the economy of Arellano (2008), and tables from them.

    Arrays are read-only float64, with ``N_B = bonds`` and ``N_y = incomes``.
    """

    bonds: int = parameter(251, _odd, "Number of grid points of ``B``, an odd number from 3, so that 0 is one of them")
    incomes: int = parameter(51, CHAIN_SIZE, "Number of income states, 1 to ``CHAIN_LIMIT``")
    beta: float = parameter(0.953, SHARE, "Discount factor of a quarter, above 0 and below 1")
    eta: float = parameter(2.0, RISK_AVERSION, "Relative risk aversion, above 0 and at most 16; 1 is log utility")
    interest: float = parameter(0.017, RATE, "Interest rate of a safe bond in a quarter, above -1")
    reentry: float = parameter(0.282, TO_ONE, "Probability of a return to good standing in a quarter, from 0 to 1")
    rho: float = parameter(0.945, AUTOCORRELATION, "Autocorrelation of log income, above -1 and below 1")
    sigma: float = parameter(0.025, POSITIVE, "Standard deviation of its shock, above 0")
    share: float = parameter(0.969, POSITIVE, "In default, income above this share of mean income is lost; above 0")
    width: float = parameter(
        3.0, POSITIVE, "Half-width of the grid of log income in unconditional standard deviations, above 0"
    )
    limit: float = parameter(
        0.45, POSITIVE, "The grid of bonds is uniform from ``-limit`` to ``limit``; above 0", "units of the good"
    )

    def validate(self) -> None:
        """Refuse tables that do not fit into the memory, and a chain of income that is out of range."""
        check_tables(24 * self.bonds * self.incomes, bonds=self.bonds, incomes=self.incomes)
        _ = self.chain

    @property
    def zero(self) -> int:
        """Index of the grid point at which bonds are 0."""
        return self.bonds // 2

    @cached_property
    def grid(self) -> Array:
        """Bonds ``B``, ``(N_B,)``, in units of the good; debt is negative."""
        bonds = grid_uniform(-self.limit, self.limit, self.bonds)
        bonds[self.zero] = 0.0
        return fixed(bonds)

    @property
    def chain(self) -> tuple[Array, Array]:
        """Income by state, ``(N_y,)``, in units of the good per quarter, and its Markov matrix, ``(N_y, N_y)``."""
        return _income(self.incomes, self.rho, self.sigma, self.width)[:2]

    @property
    def mean_income(self) -> float:
        """Mean of income under the stationary distribution of the chain."""
        return _income(self.incomes, self.rho, self.sigma, self.width)[2]

    @cached_property
    def default_income(self) -> Array:
        """Income in default, ``(N_y,)``: ``min(y, share E[y])``."""
        return fixed(np.minimum(self.chain[0], self.share * self.mean_income))

    def prices(self, defaults: NDArray[np.bool_]) -> Array:
        """Return the price of a bond that pays 1 in the next quarter unless the government defaults, ``(N_B, N_y)``,
        given where it does, ``(N_B, N_y)``, by bonds and income of that quarter.
        """
        numbers_of("defaults", defaults, "an array of True and False", "b", (self.bonds, self.incomes))
        return break_even(defaults, self.chain[1], self.interest)

    @cached_property
    def update(self) -> BondPrices:
        """Rule by which a solve updates bond prices after each sweep: lenders break even, given its default set."""
        return BondPrices("repay", "default", self.grid, self.interest)

    def costs(self, prices: Array) -> Array:
        """Return the cost of ending the quarter with each ``B'``, ``q B'``, ``(N_B, N_y)``; negative for borrowing."""
        return self.update.costs(table("prices", prices, shape=(self.bonds, self.incomes)))

    def problem(self, prices: Array | None = None, start: Array | None = None) -> Problem:
        """Return the government's problem at given bond prices.

        Parameters
        ----------
        prices
            Bond prices, ``(N_B, N_y)``; by default that of a safe bond.
        start
            First guess of the value, ``(N_B, N_y)`` or ``(2, N_B, N_y)``; by default zeros.
        """
        return self._safe if prices is None and start is None else self._problem(prices, start)

    @cached_property
    def _safe(self) -> Problem:
        return self._problem(None, None)

    def _problem(self, prices: Array | None, start: Array | None) -> Problem:
        income, transition = self.chain
        bonds, shape = self.grid, (self.bonds, self.incomes)
        flat = np.zeros(shape)
        if prices is None:
            prices = self.prices(np.zeros(shape, bool))
        out: dict[str, Any] = {
            "wealth": self.default_income + flat, "cost": flat, "choice": self.zero,
            "leads_to": {GOOD: self.reentry, EXCLUDED: 1.0 - self.reentry},
        }  # fmt: skip
        return Problem(
            grid=bonds,
            wealth=income + bonds[:, None],
            cost=self.costs(prices),
            transition=transition,
            start=flat if start is None else start,
            beta=self.beta,
            eta=self.eta,
            alternatives=[
                Alternative(name="repay", regime=GOOD),
                Alternative(name="default", regime=GOOD, **out),
                Alternative(name="excluded", regime=EXCLUDED, **out),
            ],
            name="sovereign default",
            asset="bonds B",
            shock="income y",
            shock_values=income,
            parameters={
                "interest": self.interest, "reentry": self.reentry, "rho": self.rho, "sigma": self.sigma,
                "share": self.share, "width": self.width,
            },
        )  # fmt: skip


@lru_cache(maxsize=16)
def _income(incomes: int, rho: float, sigma: float, width: float) -> tuple[Array, Array, float]:
    """Return income, its Markov matrix and its mean, which economies with the same income process share."""
    logs, transition = tauchen(incomes, rho, sigma, width=width)
    income = fixed(levels("income", logs, "rho, sigma or width"))
    if incomes > 1 and (np.diag(transition) == 1.0).any():
        raise ProblemError(
            f"income must have one long run, but with incomes = {incomes}, rho = {rho:g} and width = {width:g} it "
            "never leaves some of its states: raise incomes or lower width"
        )
    return income, fixed(transition), float(chain_distribution(transition) @ income)
