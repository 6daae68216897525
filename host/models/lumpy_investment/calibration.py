"""Calibration of lumpy investment: its parameters, its grid of capital, and the firm's problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.discrete import DiscreteProblem, from_factors
from beltline.host.problem.markov import tauchen
from beltline.host.problem.model_parameters import levels
from beltline.host.problem.problem import Problem

ALTERNATIVES = ("keep", "adjust")
"""Names of the alternatives."""


@dataclass(frozen=True)
class Calibration:
    """Parameters of lumpy investment, which :func:`beltline.lumpy_investment` explains, and tables from them.

    Arrays are read-only float64, with ``N_k = points`` and ``N_z = states``.
    """

    steps: int
    states: int
    beta: float
    alpha: float
    delta: float
    rho: float
    sigma: float
    fixed: float
    convex: float
    width: float
    low: float
    high: float

    @property
    def points(self) -> int:
        """Number of grid points of capital."""
        return grid_points(self.steps, self.delta, self.low, self.high)

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


def grid_points(steps: int, delta: float, low: float, high: float) -> int:
    """Return the number of grid points from ``low`` or just below to ``high``, ``steps`` per period's depreciation."""
    return math.ceil(steps * math.log(high / low) / -math.log1p(-delta) - 1e-9) + 1


def _fixed(table: Array) -> Array:
    table.flags.writeable = False
    return table
