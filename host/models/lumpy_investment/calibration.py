"""Calibration of lumpy investment: its parameters, its grid of capital, and the firm's problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError, real
from beltline.host.problem.discrete import DiscreteProblem, from_factors
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.markov import tauchen
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import (
    AUTOCORRELATION,
    CHAIN_SIZE,
    FROM_ZERO,
    POSITIVE,
    SHARE,
    count,
    levels,
)  # fmt: skip
from beltline.host.problem.problem import Problem
from beltline.host.results.fields import Declared, parameter

ALTERNATIVES = ("keep", "adjust")
"""Names of the alternatives."""


@dataclass(frozen=True)
class Calibration(Declared):
    """Parameters of lumpy investment, and tables from them.

    Arrays are read-only float64, with ``N_k = points`` and ``N_z = states``.
    """

    steps: int = parameter(
        8, count(1, GRID_SIZE_LIMIT), "Number of grid points by which capital falls in a period through depreciation, "
        "at least 1; a larger number is a finer grid",
    )  # fmt: skip
    states: int = parameter(11, CHAIN_SIZE, "Number of productivity states, 1 to ``CHAIN_LIMIT``")
    beta: float = parameter(0.95, SHARE, "Discount factor, above 0 and below 1")
    alpha: float = parameter(0.6, SHARE, "Exponent of capital in profits, above 0 and below 1")
    delta: float = parameter(0.07, SHARE, "Depreciation rate, above 0 and below 1")
    rho: float = parameter(0.9, AUTOCORRELATION, "Autocorrelation of log productivity, above -1 and below 1")
    sigma: float = parameter(0.1, POSITIVE, "Standard deviation of its shock, above 0")
    fixed: float = parameter(0.01, FROM_ZERO, "Fixed cost of adjusting, from 0", "units of the good")
    convex: float = parameter(
        0.0, FROM_ZERO, "Coefficient of the convex cost, from 0. With a convex cost the firm's problem is solved as a "
        "discrete problem on the processor; time and memory grow with the square of the number of grid points, and "
        "``steps=4`` is a good choice",
    )  # fmt: skip
    width: float = parameter(
        3.0, POSITIVE, "Half-width of the grid of log productivity in unconditional standard deviations, above 0"
    )
    low: float = parameter(
        0.02, POSITIVE, "Lowest capital, above 0; the lowest grid point is ``low`` or less than one step below"
    )
    high: float = parameter(50.0, POSITIVE, "Highest capital of the grid, above 0")

    def validate(self) -> None:
        """Check the grid, that the tables fit into the memory, and the chain."""
        real("high", self.high, f"a number above low = {self.low:g}", lambda v: v > self.low)
        points = self.points
        if not self.steps < points <= GRID_SIZE_LIMIT:
            raise ProblemError(
                f"the grid from low = {self.low:g} to high = {self.high:g} must have more than steps = {self.steps} "
                f"points and at most {GRID_SIZE_LIMIT:,}, not {points:,}"
            )
        check_tables(13 * points * self.states, points=points, states=self.states)
        _ = self.chain

    @property
    def points(self) -> int:
        """Number of grid points of capital."""
        periods = math.log(self.high / self.low) / -math.log1p(-self.delta)
        return math.ceil(self.steps * periods - 1e-9) + 1

    @cached_property
    def capital(self) -> Array:
        """The grid of capital ``k``, ``(N_k,)``; a period's depreciation lowers capital by :attr:`steps` points."""
        found: Array = self.high * (1.0 - self.delta) ** (np.arange(1 - self.points, 1) / -self.steps)
        return _fixed(found)

    @cached_property
    def chain(self) -> tuple[Array, Array]:
        """Productivity by state, ``(N_z,)``, and its Markov matrix, ``(N_z, N_z)``."""
        logs, transition = tauchen(self.states, self.rho, self.sigma, width=self.width)
        return _fixed(levels("productivity", logs, "rho, sigma or width")), _fixed(transition)

    @property
    def scale(self) -> float:
        """Factor ``a`` of profits; without shocks and adjustment costs a firm would own a capital of 1."""
        return (1.0 / self.beta - 1.0 + self.delta) / self.alpha

    @cached_property
    def profit(self) -> Array:
        """Profit of a period before investment, ``(N_k, N_z)``, in units of the good."""
        found: Array = self.scale * self.chain[0] * self.capital[:, None] ** self.alpha
        return _fixed(found)

    @cached_property
    def depreciated(self) -> NDArray[np.int64]:
        """Index of the next capital of a firm that does nothing, ``(N_k,)``; the lowest capital does not depreciate."""
        return np.maximum(np.arange(self.points) - self.steps, 0)

    def problem(self) -> Problem:
        """Return the firm's problem in the general form.

        Raises
        ------
        ProblemError
            There is a convex cost, which depends on both ``k`` and ``k'``; use :meth:`discrete_problem`.
        """
        if self.convex > 0.0:
            raise ProblemError(
                f"the general form has no cost that depends on both capital and next capital, and convex is "
                f"{self.convex:g}: use discrete_problem()"
            )
        productivity, transition = self.chain
        capital = self.capital
        return Problem(
            grid=capital,
            wealth=self.profit,
            cost=np.zeros_like(self.profit),
            transition=transition,
            beta=self.beta,
            eta=0.0,
            negative=True,
            alternatives=[
                Alternative(name=ALTERNATIVES[0], choice=self.depreciated),
                Alternative(
                    name=ALTERNATIVES[1],
                    wealth=self.profit + (1.0 - self.delta) * capital[:, None] - self.fixed,
                    cost=capital,
                ),
            ],
            name="lumpy investment",
            asset="capital k",
            shock="productivity z",
            shock_values=productivity,
            parameters={
                "alpha": self.alpha, "delta": self.delta, "rho": self.rho, "sigma": self.sigma, "fixed": self.fixed,
                "width": self.width,
            },
        )  # fmt: skip

    def discrete_problem(self) -> DiscreteProblem:
        """Return the firm's problem as a discrete dynamic program, with or without a convex cost.

        State ``x`` is grid point ``x`` of capital, and action ``a`` the choice of grid point ``a`` for the next period.
        The action :attr:`depreciated` is to do nothing, which costs nothing.

        Raises
        ------
        ProblemError
            The pairs of capital and next capital do not fit into the memory.
        """
        capital, depreciated, profit = self.capital, self.depreciated, self.profit

        def reward(k: NDArray[np.int64], z: NDArray[np.int64], a: NDArray[np.int64]) -> Array:
            cost: Array = np.where(a == depreciated[k], 0.0, self.adjustment(capital[k], capital[a]))
            return profit[k, z] - cost

        return from_factors(
            self.points, self.chain[1], reward=reward, beta=self.beta, name="lumpy investment with a convex cost"
        )

    def adjustment(self, capital: Array, following: Array) -> Array:
        """Return the cost of going from ``capital`` to ``following``: investment, fixed and convex cost."""
        invested = following - (1.0 - self.delta) * capital
        found: Array = invested + self.fixed + 0.5 * self.convex * invested**2 / capital
        return found


def _fixed(table: Array) -> Array:
    table.flags.writeable = False
    return table
