"""The tables of the page on the life cycle: ``python -m beltline.host.bench.cohort_tables``.

The solution on the grid beside one by Euler equations, whose choices lie between grid points.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from beltline.host.analysis.policy import lottery, shared
from beltline.host.models.cohort.calibration import Calibration
from beltline.host.models.cohort.model import cohort
from beltline.host.models.cohort.published import EDUCATION
from beltline.host.models.cohort.result import CohortResult
from beltline.host.problem.arrays import Array
from beltline.host.problem.utility import marginal_utility
from beltline.host.solver.solve import solve

GRIDS = (125, 250, 500, 1_000, 2_000)
"""Grid points of assets of the table of errors."""

FINE = 2_000
"""Grid points of the solution by Euler equations that they are compared with."""


@dataclass(frozen=True)
class Euler:
    """A cohort by Euler equations and the endogenous grid method (Carroll 2006): nothing of it is searched.

    Parameters
    ----------
    consumption : (T, N_k, N_s) array
        Linear in cash on hand between the points of the endogenous grid.
    mass : (T, N_k, N_s) array
        The cohort; who chooses between two points goes to each with a probability such that the mean is the choice.
    """

    model: Calibration
    consumption: Array
    mass: Array

    @classmethod
    def of(cls, model: Calibration) -> Euler:
        """Solve ``model`` on its own grid."""
        gross, assets = 1.0 + model.interest, model.assets
        wealth = gross * assets[:, None] + model.incomes[:, None, :]
        survival = np.append(model.survival, 0.0)
        left = model.bequest * marginal_utility(model.luxury + gross * assets, model.eta)[:, None]
        eaten = np.empty_like(wealth)
        for age in reversed(range(model.ages)):
            lives = survival[age]
            ahead = (1.0 - lives) * left + np.zeros_like(wealth[age])
            if lives > 0:
                ahead = ahead + lives * marginal_utility(eaten[age + 1], model.eta) @ model.chain[age].T
            with np.errstate(divide="ignore"):
                wanted = (model.beta * gross * ahead) ** (-1.0 / model.eta)
            for s in range(wealth.shape[2]):
                kept = np.interp(wealth[age, :, s], wanted[:, s] + assets, assets) if ahead.any() else 0.0
                eaten[age, :, s] = wealth[age, :, s] - kept
        mass = np.zeros_like(wealth)
        mass[0, 0] = model.beginning
        for age, lives in enumerate(model.survival):
            below, share = lottery(assets, wealth[age] - eaten[age])
            mass[age + 1] = shared(mass[age], below, share, lives * model.chain[age])
        return cls(model, eaten, mass)

    def mean(self, name: str) -> Array:
        """Mean consumption or assets of the living by age, ``(T,)``."""
        table = self.consumption if name == "consumption" else self.model.assets[:, None]
        found: Array = (self.mass * table).sum(axis=(1, 2)) / self.mass.sum(axis=(1, 2))
        return found


def ages(grid: int = 1_000) -> None:
    """Print the default cohort by age."""
    result: CohortResult = solve(cohort(grid=grid), progress=False)
    print(f"{result}\n\n{result.paths()}\n")


def educations(grid: int = 1_000) -> None:
    """Print what education and a wish to leave something do."""
    print("| education | bequest | income, highest mean | consumption, highest mean | at age | assets, highest mean |"
          " at age | kept nothing, years of life | left behind, mean of all |")  # fmt: skip
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for education in EDUCATION:
        for bequest in (0.0, 20.0):
            result: CohortResult = solve(cohort(grid=grid, education=education, bequest=bequest), progress=False)
            mean = result.paths().mean
            cells = [education, f"{bequest:g}", f"{mean['income'].max():.2f}"]
            for name in ("consumption", "assets"):
                cells += [f"{mean[name].max():.2f}", f"{result.ages[mean[name].argmax()]}"]
            cells += [f"{result.at_limit @ result.alive / result.alive.sum():.1%}", f"{result.left:.2f}"]
            print(f"| {' | '.join(cells)} |{'' if result.success else f' {result.message}'}", flush=True)
    print(f"\n{grid:,} grid points.\n")


def errors(grids: Sequence[int] = GRIDS, fine: int = FINE) -> None:
    """Print how far the solution on the grid is from that by Euler equations, by size of the grid."""
    exact = Euler.of(cohort(grid=fine))
    print("| grid points | consumption, largest | assets, largest | assets, mean | choices on the grid, s |")
    print("|---:|---:|---:|---:|---:|")
    for grid in grids:
        result: CohortResult = solve(cohort(grid=grid), progress=False)
        mean = result.paths().mean
        eaten, held = (mean[name] - exact.mean(name) for name in ("consumption", "assets"))
        cells = [f"{grid:,}", f"{np.abs(eaten).max():.4f}", f"{np.abs(held).max():.4f}", f"{np.abs(held).mean():.4f}"]
        cells.append(f"{sum(result.solution.timing.values()):.2f}")
        print(f"| {' | '.join(cells)} |{'' if result.success else f' {result.message}'}", flush=True)
    other = Euler.of(cohort(grid=fine // 2))
    moved = [np.abs(other.mean(name) - exact.mean(name)).max() for name in ("consumption", "assets")]
    print(
        f"\nOf means by age, thousands of dollars. By Euler equations {fine:,} grid points; with half of them its means"
    )
    print(f"of consumption and assets differ by {moved[0]:.1g} and {moved[1]:.1g} at most.\n")


def tables(device: str) -> None:
    """Print all tables; the model is solved on device ``cpu`` alone, whatever ``device`` is."""
    print(f"On device cpu{'' if device == 'cpu' else ', which alone solves this model here'}.\n")
    for table in (ages, educations, errors):
        table()


if __name__ == "__main__":
    tables("cpu")
    sys.exit(0)
