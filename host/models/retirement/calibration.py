"""The retirement model: its parameters, its grid of wealth, and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem

WORKER, RETIRED = "worker", "retired"
"""The regimes."""

ALTERNATIVES = ("work", "retire", "rest")
"""What is done at an age; the first two by a worker."""


@dataclass(frozen=True)
class Calibration:
    """Parameters of the retirement model, whose meaning :func:`beltline.retirement` says, and what follows."""

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
        """Index of the wealth that is the wage: what a worker has next who saves nothing."""
        share = np.log(self.wage / self.low) / np.log(self.high / self.low)
        return min(max(round((self.grid - 1) * float(share)), 1), self.grid - 2)

    @cached_property
    def wealth(self) -> Array:
        """The grid of wealth ``M``, ``(grid,)``, units of the good: even steps of ``ln M``, the wage among them."""
        below = np.geomspace(self.low, self.wage, self.paid + 1)
        found = np.append(below, np.geomspace(self.wage, self.high, self.grid - self.paid)[1:])
        found.flags.writeable = False
        return found

    @property
    def costs(self) -> tuple[Array, Array]:
        """What the next wealth costs one who works, and one who does not, each ``(grid,)``, units of the good."""
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
            start=np.zeros_like(wealth),
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
