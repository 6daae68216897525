"""Calibration of the retirement model: its parameters, its grid of wealth, and its problem."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem

WORKER, RETIRED = "worker", "retired"
"""Names of the regimes."""

ALTERNATIVES = ("work", "retire", "rest")
"""Names of the alternatives; the first two are those of a worker."""


@dataclass(frozen=True)
class Calibration:
    """Parameters of the retirement model, which :func:`beltline.retirement` explains, and tables from them."""

    grid: int
    ages: int
    wage: float
    disutility: float
    beta: float
    interest: float
    taste: float
    low: float
    high: float

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
