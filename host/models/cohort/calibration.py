"""Calibration of a cohort: its parameters, its Markov chain of income by age, and its problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.grids import grid_polynomial
from beltline.host.problem.markov import rouwenhorst_by_age
from beltline.host.problem.problem import Problem
from beltline.host.problem.utility import utility

ALTERNATIVES = ("live", "leave")
"""Names of the alternatives: the living consume and save, the dead leave a bequest."""

SHOCKS = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1.0, 4.0, 1.0]) / 6.0
"""Nodes and weights of a standard normal variable by Gauss-Hermite quadrature, exact for polynomials up to degree 5."""

NOTHING = -1.0
"""Cash on hand of the dead. It is below every cost, so that they have no choice."""


@dataclass(frozen=True)
class Calibration:
    """Parameters of a cohort, which :func:`beltline.cohort` explains, and tables that follow from them."""

    grid: int
    states: int
    first: int
    retirement: int
    last: int
    income: tuple[float, ...]
    survival: tuple[float, ...]
    beta: float
    eta: float
    interest: float
    replacement: float
    rho: float
    sigma: float
    transitory: float
    bequest: float
    luxury: float
    high: float
    power: float

    @property
    def ages(self) -> int:
        """Number of ages, ``T``."""
        return self.last - self.first + 1

    @property
    def working(self) -> int:
        """Number of ages at which people work."""
        return self.retirement - self.first + 1

    @cached_property
    def assets(self) -> Array:
        """The grid of assets, ``(N_k,)``, in units of the good."""
        found = grid_polynomial(0.0, self.high, self.grid, self.power)
        found.flags.writeable = False
        return found

    @property
    def shocks(self) -> tuple[Array, Array]:
        """The transitory shock to log income and its probabilities."""
        nodes, weights = SHOCKS
        return (self.transitory * nodes, weights) if self.transitory > 0 else (np.zeros(1), np.ones(1))

    @property
    def persistent(self) -> tuple[Array, Array]:
        """The persistent part of log income, ``(ages of work, states)``, and the Markov matrix from each age of work to
        the next.
        """
        return rouwenhorst_by_age(self.states, self.rho, [self.sigma] * self.working)

    @property
    def incomes(self) -> Array:
        """Income by age and income state of the living, ``(T, N_s)``, in units of the good.

        An income state is a pair of persistent and transitory shock; the transitory one varies fastest. A retired
        person keeps the state of the last year of work, and the pension does not depend on its transitory part.
        """
        persistent, _ = self.persistent
        transitory, _ = self.shocks
        working = persistent[:, :, None] + transitory + np.log(np.array(self.income))[:, None, None]
        pension = np.log(self.replacement * self.income[-1]) + persistent[-1][:, None] + 0 * transitory
        retired = np.broadcast_to(pension, (self.ages - self.working, *pension.shape))
        found: Array = np.exp(np.concatenate([working, retired])).reshape(self.ages, -1)
        return found

    @property
    def chain(self) -> Array:
        """Markov matrix of the income states from each age to the next, given survival, ``(T - 1, N_s, N_s)``."""
        _, transition = self.persistent
        _, weights = self.shocks
        working = [np.kron(one, np.tile(weights, (weights.size, 1))) for one in transition]
        retired = np.eye(self.states * weights.size)
        return np.array(working + [retired] * (self.ages - self.working))

    @property
    def beginning(self) -> Array:
        """Probability of each income state at the first age, ``(N_s,)``, after the first persistent and transitory
        shock.
        """
        heads = [math.comb(self.states - 1, k) / 2.0 ** (self.states - 1) for k in range(self.states)]
        _, weights = self.shocks
        return np.kron(np.array(heads), weights)

    def bequest_utility(self, left: Array) -> Array:
        """Return the utility of bequests ``left``, from 0, in units of the good: ``bequest * U(luxury + left)``."""
        return self.bequest * utility(self.luxury + left, self.eta)

    def problem(self) -> Problem:
        """Return the model as a problem of the general form; its last exogenous state is that of the dead."""
        incomes, assets = self.incomes, self.assets
        ages, living = incomes.shape
        wealth = np.full((ages, self.grid, living + 1), NOTHING)
        wealth[:, :, :-1] = (1.0 + self.interest) * assets[:, None] + incomes[:, None, :]
        transition = np.zeros((ages, living + 1, living + 1))
        # At the last age survival is 0, so the transition of the living does not matter.
        survival = np.array(self.survival)[:, None, None]
        transition[:-1, :-1, :-1] = survival * self.chain
        transition[:, :-1, -1] = np.maximum(1.0 - transition[:, :-1, :-1].sum(axis=2), 0.0)
        transition[:, -1, -1] = 1.0
        left = np.full((self.grid, living + 1), -np.inf)
        left[:, -1] = self.bequest_utility((1.0 + self.interest) * assets)
        numbers = [f"{z + 1}.{e + 1}" for z in range(self.states) for e in range(living // self.states)]
        return Problem(
            grid=assets,
            wealth=wealth,
            transition=transition,
            start=np.where(np.isfinite(left), left, 0.0),
            beta=self.beta,
            eta=self.eta,
            horizon=ages,
            alternatives=[
                Alternative(name=ALTERNATIVES[0]), Alternative(name=ALTERNATIVES[1], value=left),
            ],
            name="cohort",
            asset="assets a",
            shock="income state s",
            labels=(*numbers, "dead"),
            parameters={
                "interest": self.interest, "replacement": self.replacement, "rho": self.rho, "sigma": self.sigma,
                "transitory": self.transitory, "bequest": self.bequest, "luxury": self.luxury,
            },
        )  # fmt: skip
