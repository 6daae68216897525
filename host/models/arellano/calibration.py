"""Arellano's calibration: income, the price of debt, and the government's problem at given prices."""

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
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.grids import grid_uniform
from beltline.host.problem.markov import tauchen
from beltline.host.problem.model_parameters import levels
from beltline.host.problem.problem import Problem

GOOD, EXCLUDED = "good", "excluded"
"""The regimes."""

ALTERNATIVES = ("repay", "default", "excluded")
"""What a government does; the first two in good standing."""


@dataclass(frozen=True)
class Calibration:
    """Parameters of the economy of Arellano (2008), whose meaning :func:`beltline.arellano` says, and what follows.

    Arrays are read-only, ``float64``, with ``N_B = bonds`` and ``N_y = incomes``.
    """

    bonds: int
    incomes: int
    beta: float
    eta: float
    interest: float
    reentry: float
    rho: float
    sigma: float
    share: float
    width: float
    limit: float

    @property
    def zero(self) -> int:
        """Index of the bond that is 0."""
        return self.bonds // 2

    @cached_property
    def grid(self) -> Array:
        """Bonds ``B``, ``(N_B,)``, units of the good: negative ones are debt."""
        bonds = grid_uniform(-self.limit, self.limit, self.bonds)
        bonds[self.zero] = 0.0
        return _fixed(bonds)

    @property
    def chain(self) -> tuple[Array, Array]:
        """Income by state, ``(N_y,)``, units of the good a quarter, and its transition matrix, ``(N_y, N_y)``."""
        return _income(self.incomes, self.rho, self.sigma, self.width)[:2]

    @property
    def mean_income(self) -> float:
        """Of the chain's long-run distribution."""
        return _income(self.incomes, self.rho, self.sigma, self.width)[2]

    @cached_property
    def default_income(self) -> Array:
        """Income while in default, ``(N_y,)``: ``min(y, share E y)``."""
        return _fixed(np.minimum(self.chain[0], self.share * self.mean_income))

    def prices(self, defaults: NDArray[np.bool_]) -> Array:
        """The price of a bond that pays 1 next quarter if the government repays, ``(N_B, N_y)``, by ``(B', y)``.

        Parameters
        ----------
        defaults : (N_B, N_y) array of bool
            Where it defaults next quarter, by bond and income of that quarter.
        """
        return break_even(defaults, self.chain[1], self.interest)

    @cached_property
    def update(self) -> BondPrices:
        """Prices at which lenders break even, given the default set of the last sweep, as a solve calls it."""
        return BondPrices("repay", "default", self.grid, self.interest)

    def costs(self, prices: Array) -> Array:
        """What ending the quarter with ``B'`` costs, ``(N_B, N_y)``, units of the good; debt brings money in."""
        return self.update.costs(prices)

    def problem(self, prices: Array | None = None, start: Array | None = None) -> Problem:
        """Return the government's problem at ``prices`` of bonds, ``(N_B, N_y)``; by default that of a safe bond.

        A solve of it begins from ``start``, ``(N_B, N_y)`` or ``(2, N_B, N_y)``; zeros by default.
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
    """The chain of income, and its mean in the long run; economies that differ in other things share it."""
    logs, transition = tauchen(incomes, rho, sigma, width=width)
    income = _fixed(levels("income", logs, "rho, sigma or width"))
    try:
        shares = chain_distribution(transition)
    except ProblemError as error:
        raise ProblemError(
            f"income must have one long run, but with incomes = {incomes}, rho = {rho:g} and width = {width:g} it "
            "never leaves some of its states: raise incomes or lower width"
        ) from error
    return income, _fixed(transition), float(shares @ income)


def _fixed(table: Array) -> Array:
    table.flags.writeable = False
    return table
