"""Lumpy investment: its parameters, its grid of capital, and the firm's problem."""

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
"""What a firm does."""


@dataclass(frozen=True)
class Calibration:
    """Parameters of lumpy investment, whose meaning :func:`beltline.lumpy_investment` says, and what follows.

    Arrays are read-only, ``float64``, with ``N_k = points`` and ``N_z = states``.
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
        """The grid of capital ``k``, ``(N_k,)``: :attr:`steps` points down are a period's depreciation."""
        found: Array = self.high * (1.0 - self.delta) ** (np.arange(1 - self.points, 1) / -self.steps)
        return _fixed(found)

    @cached_property
    def chain(self) -> tuple[Array, Array]:
        """Productivity by state, ``(N_z,)``, and its transition matrix, ``(N_z, N_z)``."""
        logs, transition = tauchen(self.states, self.rho, self.sigma, width=self.width)
        return _fixed(levels("productivity", logs, "rho, sigma or width")), _fixed(transition)

    @property
    def scale(self) -> float:
        """Of profits: such that without shocks and fixed cost a firm would own capital of 1."""
        return (1.0 / self.beta - 1.0 + self.delta) / self.alpha

    @cached_property
    def profit(self) -> Array:
        """A period's profit before investment, ``(N_k, N_z)``, units of the good."""
        found: Array = self.scale * self.chain[0] * self.capital[:, None] ** self.alpha
        return _fixed(found)

    @cached_property
    def kept(self) -> NDArray[np.int64]:
        """Index of the next capital of who keeps it, ``(N_k,)``; the lowest does not depreciate."""
        return np.maximum(np.arange(self.points) - self.steps, 0)

    def problem(self) -> Problem:
        """Return the firm's problem in the general form.

        Raises
        ------
        ProblemError
            There is a convex cost, which mixes ``k`` and ``k'``; :meth:`discrete_problem` has it.
        """
        if self.convex > 0.0:
            raise ProblemError(
                f"the general form has no cost that mixes capital and next capital, such as convex = {self.convex:g}: "
                "use discrete_problem()"
            )
        productivity, transition = self.chain
        capital = self.capital
        return Problem(
            grid=capital,
            wealth=self.profit,
            cost=np.zeros_like(self.profit),
            transition=transition,
            start=np.zeros_like(self.profit),
            beta=self.beta,
            eta=0.0,
            negative=True,
            alternatives=[
                Alternative(name=ALTERNATIVES[0], choice=self.kept),
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

        Endogenous state ``x`` is grid point ``x`` of capital, and action ``a`` the choice of grid point ``a`` for the
        next period. The action :attr:`kept` is to keep the capital, which costs nothing.

        Raises
        ------
        ProblemError
            The pairs of capital and next capital do not fit the memory.
        """
        capital, kept, profit = self.capital, self.kept, self.profit

        def reward(k: NDArray[np.int64], z: NDArray[np.int64], a: NDArray[np.int64]) -> Array:
            spent: Array = np.where(a == kept[k], 0.0, self.adjustment(capital[k], capital[a]))
            return profit[k, z] - spent

        return from_factors(
            self.points, self.chain[1], reward=reward, beta=self.beta, name="lumpy investment with a convex cost"
        )

    def adjustment(self, capital: Array, following: Array) -> Array:
        """Return what it costs to go from ``capital`` to ``following``: investment, the fixed and the convex cost."""
        invested = following - (1.0 - self.delta) * capital
        found: Array = invested + self.fixed + 0.5 * self.convex * invested**2 / capital
        return found


def grid_points(steps: int, delta: float, low: float, high: float) -> int:
    """How many points from ``low`` at the latest to ``high``, ``steps`` of them a period's depreciation."""
    return math.ceil(steps * math.log(high / low) / -math.log1p(-delta) - 1e-9) + 1


def _fixed(table: Array) -> Array:
    table.flags.writeable = False
    return table
