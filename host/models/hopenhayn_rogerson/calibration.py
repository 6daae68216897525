"""Hopenhayn and Rogerson's calibration: workers, productivity, entrants, and a firm's problem at a price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.grids import grid_log, grid_uniform
from beltline.host.problem.markov import tauchen
from beltline.host.problem.model_parameters import levels
from beltline.host.problem.problem import Problem

BEFORE, AFTER = "before", "after"
"""When a firm decides on exit: before it sees the productivity of the period, or after."""

SPACINGS = ("log", "uniform")
"""Of the grid of workers: even steps of ``ln(1 + n)``, or of ``n``."""

ACTIVE, CLOSED = "active", "closed"
"""The regimes where exit is decided on before the shock; otherwise there is the first alone."""

PRODUCING = {BEFORE: ("hire", "fire", "hire, then exit", "fire, then exit"), AFTER: ("hire", "fire")}
"""Alternatives of a firm that produces in the period."""

EXIT = "exit"
"""The alternative without a choice: all workers are dismissed."""


@dataclass(frozen=True)
class Calibration:
    """Parameters of the economy of Hopenhayn and Rogerson (1993), whose meaning
    :func:`beltline.hopenhayn_rogerson` says, and what follows.

    Arrays are read-only, ``float64``, with ``N_n = grid`` and ``N_z = states``.
    """

    tau: float
    grid: int
    states: int
    beta: float
    alpha: float
    rho: float
    variance: float
    drift: float
    width: float
    fixed_cost: float
    share: float
    employment: float
    high: float
    spacing: str
    exits: str

    @cached_property
    def workers(self) -> Array:
        """The grid of workers ``n`` of a firm, ``(N_n,)``; the first is 0."""
        if self.spacing == "log":
            return _fixed(grid_log(0.0, self.high, self.grid))
        return _fixed(grid_uniform(0.0, self.high, self.grid))

    @cached_property
    def chain(self) -> tuple[Array, Array]:
        """Productivity by state, ``(N_z,)``, and its transition matrix, ``(N_z, N_z)``."""
        sigma = math.sqrt(self.variance * (1 - self.rho**2))
        logs, transition = tauchen(self.states, self.rho, sigma, self.drift / (1 - self.rho), self.width)
        return _fixed(levels("productivity", logs, "drift, rho, variance or width")), _fixed(transition)

    @property
    def lowest(self) -> int:
        """How many states entrants draw from, the lowest."""
        # A product such as 0.29 * 100 may round to just below a whole number.
        return math.floor(self.share * self.states + 1e-9)

    @cached_property
    def entry(self) -> Array:
        """Probability of each state for an entrant, ``(N_z,)``: the same for the lowest."""
        found = np.zeros(self.states)
        found[: self.lowest] = 1.0 / self.lowest
        return _fixed(found)

    @property
    def producing(self) -> tuple[str, ...]:
        """Alternatives of a firm that produces, the first of the problem."""
        return PRODUCING[self.exits]

    def output(self) -> Array:
        """``z n**alpha``, ``(N_n, N_z)``, units of the good, by workers and productivity of the period."""
        found: Array = self.chain[0] * self.workers[:, None] ** self.alpha
        return found

    def problem(self, price: float = 1.0, start: Array | None = None) -> Problem:
        """Return a firm's problem at a ``price`` of the good, in units of the wage; ``x`` is the workers of the last
        period, ``x'`` those of this one.

        ``start`` as of :class:`~beltline.host.problem.problem.Problem`; zeros by default.
        """
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


def _fixed(table: Array) -> Array:
    table.flags.writeable = False
    return table
