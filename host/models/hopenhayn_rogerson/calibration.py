"""Calibration of Hopenhayn and Rogerson (1993): workers, productivity, entrants, and a firm's problem at a price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import ProblemError
from beltline.host.problem.grids import grid_log, grid_uniform
from beltline.host.problem.markov import tauchen
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import (
    AUTOCORRELATION,
    CHAIN_SIZE,
    DEPRECIATION,
    FROM_ZERO,
    GRID_SIZE,
    POSITIVE,
    SHARE,
    fixed,
    levels,
    number,
    one_of,
)  # fmt: skip
from beltline.host.problem.problem import Problem
from beltline.host.results.fields import Declared, parameter

BEFORE, AFTER = "before", "after"
"""When a firm decides on exit: before it sees the productivity of the period, or after."""

SPACINGS = ("log", "uniform")
"""Spacings of the grid of workers: uniform in ``ln(1 + n)``, or in ``n``."""

ACTIVE, CLOSED = "active", "closed"
"""Names of the regimes; if exit is decided on after the shock there is only the first."""

PRODUCING = {BEFORE: ("hire", "fire", "hire, then exit", "fire, then exit"), AFTER: ("hire", "fire")}
"""Names of the alternatives of a firm that produces in the period."""

EXIT = "exit"
"""Name of the alternative without a choice: all workers are dismissed."""


@dataclass(frozen=True)
class Calibration(Declared):
    """Parameters of the economy of Hopenhayn and Rogerson (1993), and tables that follow from them.

    Arrays are read-only float64, with ``N_n = grid`` and
    ``N_z = states``.
    """

    tau: float = parameter(0.1, FROM_ZERO, "Firing cost per worker, in units of one period's wage, from 0")
    grid: int = parameter(250, GRID_SIZE, "Number of grid points of workers, from 2")
    states: int = parameter(20, CHAIN_SIZE, "Number of productivity states, 1 to ``CHAIN_LIMIT``")
    beta: float = parameter(0.8, SHARE, "Discount factor of a period, above 0 and below 1")
    alpha: float = parameter(0.64, SHARE, "Exponent of labour in production, above 0 and below 1")
    rho: float = parameter(0.93, AUTOCORRELATION, "Autocorrelation of log productivity, above -1 and below 1")
    variance: float = parameter(0.53, POSITIVE, "Unconditional variance of log productivity, above 0")
    drift: float = parameter(
        0.078, number("a finite number", math.isfinite),
        "Constant of log productivity, whose mean is ``drift / (1 - rho)``",
    )  # fmt: skip
    width: float = parameter(
        3.0, POSITIVE, "Half-width of the grid of log productivity in unconditional standard deviations, above 0"
    )
    fixed_cost: float = parameter(
        12.0, FROM_ZERO, "Fixed cost of a firm that produces, per period, from 0", "units of the good"
    )
    share: float = parameter(
        0.65, DEPRECIATION, "Entrants draw their productivity from the lowest states, this share of all, each with the "
        "same probability; above 0 and at most 1, and at least one state",
    )  # fmt: skip
    employment: float = parameter(
        0.6,
        POSITIVE,
        "Employment per household in the economy without firing costs, above 0; it only scales the economy",
    )
    high: float = parameter(5000.0, POSITIVE, "Largest number of workers of a firm, above 0")
    spacing: str = parameter(
        SPACINGS[0], one_of(SPACINGS), 'Grid of workers: ``"log"``, uniform in ``ln(1 + n)``, or ``"uniform"``'
    )
    exits: str = parameter(
        BEFORE, one_of((BEFORE, AFTER)), "Whether a firm decides on exit ``\"before\"`` it sees the productivity of "
        "the period, as in the paper, or ``\"after\"``",
    )  # fmt: skip

    def validate(self) -> None:
        """Check that entrants have a state, that the tables fit into the memory, and the chain."""
        if self.lowest < 1:
            raise ProblemError(
                f"share must leave entrants a state, but {self.share:g} of {self.states} is less than one"
            )
        tables = 29 if self.exits == BEFORE else 20
        check_tables(tables * self.grid * self.states, grid=self.grid, states=self.states)
        _ = self.chain

    @cached_property
    def workers(self) -> Array:
        """The grid of workers ``n`` of a firm, ``(N_n,)``; the first is 0."""
        if self.spacing == "log":
            return fixed(grid_log(0.0, self.high, self.grid))
        return fixed(grid_uniform(0.0, self.high, self.grid))

    @cached_property
    def chain(self) -> tuple[Array, Array]:
        """Productivity by state, ``(N_z,)``, and its Markov matrix, ``(N_z, N_z)``."""
        sigma = math.sqrt(self.variance * (1 - self.rho**2))
        logs, transition = tauchen(self.states, self.rho, sigma, self.drift / (1 - self.rho), self.width)
        return fixed(levels("productivity", logs, "drift, rho, variance or width")), fixed(transition)

    @property
    def lowest(self) -> int:
        """Number of states, the lowest ones, from which entrants draw."""
        # A product such as 0.29 * 100 may round to just below a whole number.
        return math.floor(self.share * self.states + 1e-9)

    @cached_property
    def entry(self) -> Array:
        """Probability of each productivity state for an entrant, ``(N_z,)``; the same for all of the lowest."""
        found = np.zeros(self.states)
        found[: self.lowest] = 1.0 / self.lowest
        return fixed(found)

    @property
    def producing(self) -> tuple[str, ...]:
        """Names of the alternatives of a firm that produces, which are the first ones of the problem."""
        return PRODUCING[self.exits]

    def output(self) -> Array:
        """Return output ``z n**alpha``, ``(N_n, N_z)``, in units of the good, by workers and productivity."""
        return self.chain[0] * self.workers[:, None] ** self.alpha

    def problem(self, price: float = 1.0, start: Array | None = None) -> Problem:
        """Return a firm's problem at a price; ``x`` is the workers of the last period, ``x'`` those of this one.

        Parameters
        ----------
        price
            Price of the good, in units of the wage.
        start
            First guess of the value, as of :class:`beltline.Problem`; by default zeros.
        """
        POSITIVE("price", price)
        productivity, transition = self.chain
        n = self.workers[:, None]
        flat = np.zeros((self.grid, self.states))
        profit = price * (self.output() - self.fixed_cost) - n
        same = np.arange(self.grid)
        hire: dict[str, Any] = {"cost": -profit, "low": same}
        fire: dict[str, Any] = {"cost": -profit - self.tau * n, "wealth": flat - self.tau * n, "high": same}
        if self.exits == BEFORE:
            alternatives = [
                Alternative(name=name, regime=ACTIVE, leads_to=ahead, **tables)
                for name, tables, ahead in zip(
                    self.producing, (hire, fire, hire, fire), (ACTIVE, ACTIVE, CLOSED, CLOSED), strict=True
                )
            ]
            alternatives.append(Alternative(name=EXIT, regime=CLOSED, value=flat - self.tau * n))
        else:
            alternatives = [
                Alternative(name=name, regime=ACTIVE, **tables)
                for name, tables in zip(self.producing, (hire, fire), strict=True)
            ]
            alternatives.append(Alternative(name=EXIT, regime=ACTIVE, value=flat - self.tau * n))
        return Problem(
            grid=self.workers,
            wealth=flat,
            transition=transition,
            start=flat if start is None else start,
            beta=self.beta,
            eta=0.0,
            negative=True,
            alternatives=alternatives,
            name="a firm with firing costs",
            asset="workers n",
            shock="productivity z",
            shock_values=productivity,
            parameters={
                "price": price, "tau": self.tau, "alpha": self.alpha, "rho": self.rho, "variance": self.variance,
                "drift": self.drift, "width": self.width, "fixed_cost": self.fixed_cost,
            },
        )  # fmt: skip
