"""Calibration of the retirement model: its parameters, its grid of wealth, and its problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.checks import real
from beltline.host.problem.grids import GRID_SIZE_LIMIT
from beltline.host.problem.memory import check_tables
from beltline.host.problem.model_parameters import FROM_ZERO, POSITIVE, RATE, SHARE, count
from beltline.host.problem.problem import HORIZON_LIMIT, Problem
from beltline.host.results.fields import Declared, parameter

WORKER, RETIRED = "worker", "retired"
"""Names of the regimes."""

ALTERNATIVES = ("work", "retire", "rest")
"""Names of the alternatives; the first two are those of a worker."""


@dataclass(frozen=True)
class Calibration(Declared):
    """Parameters of the retirement model, and tables from them."""

    grid: int = parameter(20_000, count(3, GRID_SIZE_LIMIT), "Number of grid points of wealth, from 3")
    ages: int = parameter(20, count(1, HORIZON_LIMIT), "Number of ages, 1 to ``HORIZON_LIMIT``")
    wage: float = parameter(20.0, POSITIVE, "Wage of one age, above ``low``", "units of the good")
    disutility: float = parameter(1.0, FROM_ZERO, "Disutility of working at one age, from 0", "units of utility")
    beta: float = parameter(0.98, SHARE, "Discount factor from age to age, above 0 and below 1")
    interest: float = parameter(0.0, RATE, "Interest rate from age to age, above -1")
    taste: float = parameter(
        0.0, FROM_ZERO, "Scale of extreme value taste shocks to working and retiring, from 0 (no shocks)",
        "units of utility",
    )  # fmt: skip
    low: float = parameter(0.1, POSITIVE, "Lowest wealth of the grid, above 0", "units of the good")
    high: float = parameter(400.0, POSITIVE, "Highest wealth of the grid", "units of the good")

    def validate(self) -> None:
        """Check that the wage is on the grid, and that the tables fit into the memory."""
        real("wage", self.wage, f"a number above low = {self.low:g}", lambda v: v > self.low)
        real("high", self.high, f"a number above wage = {self.wage:g}", lambda v: v > self.wage)
        check_tables(21 * self.grid, grid=self.grid)

    @property
    def paid(self) -> int:
        """Index of the grid point that equals the wage, which is the next wealth of a worker who saves nothing."""
        share = np.log(self.wage / self.low) / np.log(self.high / self.low)
        return min(max(round((self.grid - 1) * float(share)), 1), self.grid - 2)

    @cached_property
    def wealth(self) -> Array:
        """The grid of wealth ``M``, ``(grid,)``, in units of the good; it contains the wage."""
        below = np.geomspace(self.low, self.wage, self.paid + 1)
        found = np.append(below, np.geomspace(self.wage, self.high, self.grid - self.paid)[1:])
        found.flags.writeable = False
        return found

    @property
    def costs(self) -> tuple[Array, Array]:
        """Cost of each wealth of the next age for a worker and for a retired person, ``(grid,)`` each, in goods."""
        works = self.wealth / (1.0 + self.interest)
        rests = works.copy()
        rests[0] = 0.0
        return works, rests

    def problem(self) -> Problem:
        """Return the model as a problem of the general form."""
        works, rests = self.costs
        wealth = self.wealth[:, None]
        return Problem(
            grid=self.wealth,
            wealth=wealth,
            cost=rests,
            transition=np.eye(1),
            beta=self.beta,
            eta=1.0,
            horizon=self.ages,
            taste=self.taste,
            alternatives=[
                Alternative(
                    name=ALTERNATIVES[0], regime=WORKER, wealth=wealth + works[self.paid], cost=works, low=self.paid,
                    kappa=-self.disutility,
                ),
                Alternative(name=ALTERNATIVES[1], regime=WORKER, leads_to=RETIRED),
                Alternative(name=ALTERNATIVES[2], regime=RETIRED),
            ],
            name="retirement",
            asset="wealth M",
            parameters={"wage": self.wage, "disutility": self.disutility, "interest": self.interest},
        )  # fmt: skip
