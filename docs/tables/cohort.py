"""Print the tables of ``docs/life-cycle.md`` on the cohort: ``python -m docs.tables.cohort``.

They compare the solution on the grid with one by Euler equations, whose choices lie between grid points.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from beltline.host.analysis.policy import carried, lottery
from beltline.host.models.cohort.model import Cohort, CohortResult, cohort
from beltline.host.models.cohort.published import EDUCATION
from beltline.host.problem.arrays import Array
from beltline.host.problem.utility import marginal_utility
from beltline.host.solver.solve import solve

GRIDS = (125, 250, 500, 1_000, 2_000)
"""Numbers of grid points of the table of errors."""

FINE = 2_000
"""Number of grid points of the solution by Euler equations."""


@dataclass(frozen=True)
class Euler:
    """A cohort solved by Euler equations with the endogenous grid method (Carroll 2006), without any search.

    Parameters
    ----------
    model : Cohort
        The cohort.
    consumption : (T, N_k, N_s) array
        Consumption; linear in cash on hand between the points of the endogenous grid.
    mass : (T, N_k, N_s) array
        Distribution of the cohort; choices between two points are split between them so that the mean is the choice.
    """

    model: Cohort
    consumption: Array
    mass: Array

    @classmethod
    def of(cls, model: Cohort) -> Euler:
        """Solve ``model`` on its own grid of assets."""
        gross, assets = 1.0 + model.interest, model.assets
        wealth = gross * assets[:, None] + model.incomes[:, None, :]
        survival = np.append(model.survival, 0.0)
        left = model.bequest * marginal_utility(model.luxury + gross * assets, model.eta)[:, None]
        consumption = np.empty_like(wealth)
        for age in reversed(range(model.ages)):
            lives = survival[age]
            ahead = (1.0 - lives) * left + np.zeros_like(wealth[age])
            if lives > 0:
                ahead = ahead + lives * marginal_utility(consumption[age + 1], model.eta) @ model.chain[age].T
            with np.errstate(divide="ignore"):
                implied = (model.beta * gross * ahead) ** (-1.0 / model.eta)
            for s in range(wealth.shape[2]):
                saved = np.interp(wealth[age, :, s], implied[:, s] + assets, assets) if ahead.any() else 0.0
                consumption[age, :, s] = wealth[age, :, s] - saved
        mass = np.zeros_like(wealth)
        mass[0, 0] = model.beginning
        for age, lives in enumerate(model.survival):
            below, share = lottery(assets, wealth[age] - consumption[age])
            mass[age + 1] = carried(mass[age], below, lives * model.chain[age], share)
        return cls(model, consumption, mass)

    def mean(self, name: str) -> Array:
        """Return mean consumption or mean assets of the living by age, ``(T,)``."""
        table = self.consumption if name == "consumption" else self.model.assets[:, None]
        found: Array = (self.mass * table).sum(axis=(1, 2)) / self.mass.sum(axis=(1, 2))
        return found


def ages(grid: int = 1_000) -> None:
    """Print the default cohort by age."""
    result: CohortResult = solve(cohort(grid=grid), progress=False)
    print(f"{result}\n\n{result.paths()}\n")


def educations(grid: int = 1_000) -> None:
    """Print the effects of education and of a bequest motive."""
    print("| education | bequest | income, highest mean | consumption, highest mean | at age | assets, highest mean |"
          " at age | zero assets, years of life | mean bequest of all |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for education in EDUCATION:
        for bequest in (0.0, 20.0):
            result: CohortResult = solve(cohort(grid=grid, education=education, bequest=bequest), progress=False)
            mean = result.paths().mean
            cells = [education, f"{bequest:g}", f"{mean['income'].max():.2f}"]
            for name in ("consumption", "assets"):
                cells += [f"{mean[name].max():.2f}", f"{result.ages[mean[name].argmax()]}"]
            cells += [f"{result.at_limit @ result.alive / result.alive.sum():.1%}", f"{result.mean_bequest:.2f}"]
            print(f"| {' | '.join(cells)} |{'' if result.success else f' {result.message}'}", flush=True)
    print(f"\n{grid:,} grid points.\n")


def errors(grids: Sequence[int] = GRIDS, fine: int = FINE) -> None:
    """Print the difference between the solution on the grid and that by Euler equations, by number of grid points."""
    exact = Euler.of(cohort(grid=fine))
    print("| grid points | consumption, largest | assets, largest | assets, mean | choices on the grid, s |")
    print("|---:|---:|---:|---:|---:|")
    for grid in grids:
        result: CohortResult = solve(cohort(grid=grid), progress=False)
        mean = result.paths().mean
        consumption, assets = (mean[name] - exact.mean(name) for name in ("consumption", "assets"))
        cells = [f"{grid:,}", f"{np.abs(consumption).max():.4f}", f"{np.abs(assets).max():.4f}"]
        cells.append(f"{np.abs(assets).mean():.4f}")
        cells.append(f"{sum(result.solution.timing.values()):.2f}")
        print(f"| {' | '.join(cells)} |{'' if result.success else f' {result.message}'}", flush=True)
    other = Euler.of(cohort(grid=fine // 2))
    changes = [np.abs(other.mean(name) - exact.mean(name)).max() for name in ("consumption", "assets")]
    print(f"\nErrors of means by age, in thousands of dollars, against Euler equations with {fine:,} grid points. With")
    print(f"half of them its means change by at most {changes[0]:.1g} (consumption) and {changes[1]:.1g} (assets).\n")


def tables(device: str) -> None:
    """Print all tables; the model is solved on ``cpu``, and ``device`` only changes a note."""
    print(f"On device cpu{'' if device == 'cpu' else ', the only one that these tables use'}.\n")
    for table in (ages, educations, errors):
        table()


if __name__ == "__main__":
    tables("cpu")
    sys.exit(0)
