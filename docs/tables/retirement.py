"""Print the tables of ``docs/retirement.md``: ``python -m docs.tables.retirement``.

They compare the solution on the grid with the closed form and with published numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from beltline.host.models.retirement.closed_form import ClosedForm
from beltline.host.models.retirement.model import RetirementResult, retirement
from beltline.host.problem.alternative import Alternative
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.solver.solve import solve

GRIDS = (5_000, 20_000, 80_000, 320_000)
"""Numbers of grid points of the table of errors."""

AGES = (1, 5, 10, 15, 18, 19)
"""Ages of the table of thresholds."""

LATE = (25.0, 30.0, 35.0, 40.0)
"""Wealths of the table of choices at the last age but one."""

FIVE = {
    (1, 0): 7.5140542186256045, (1, 4): 10.354372388305565, (1, 12): 11.882932807041595, (1, 24): 14.28289797586932,
    (1, 49): 17.686657953465318, (3, 4): 6.673237073284125, (3, 12): 8.235462681452901, (3, 24): 10.243484461891892,
    (3, 49): 12.326852246965961,
}  # fmt: skip
"""Value of a worker in the model with five ages, by age and index in 100 even steps of wealth from 1 to 400, from the
tests of OpenSourceEconomics/lcm on GitHub (``iskhakov_2017_five_periods__values_worker.csv``)."""


@dataclass(frozen=True)
class Printed:
    """Published solution at one period, counted from 0 of ten, and wealth, computed by the package dcegm.

    From ``tests/data/dcegm_reference/ijrs_taste_shocks_reference.csv`` of OpenSourceEconomics/pylcm on GitHub. ``work``
    and ``retire`` are values, ``works`` is the probability of working.
    """

    period: int
    wealth: float
    work: float
    retire: float
    works: float


DCEGM = (
    Printed(0, 10.0, 4.642570814451865, 1.522901544180636, 0.9999998318394266),
    Printed(0, 20.0, 5.428219668150675, 4.864581286926903, 0.9436510003094569),
    Printed(0, 35.0, 6.304814417827006, 6.342221741562921, 0.4533766835949265),
    Printed(3, 10.0, 3.7872477400519755, 2.393484834700035, 0.9990601167119098),
    Printed(3, 20.0, 4.457596309385538, 4.302920261960506, 0.6842516528889687),
    Printed(3, 35.0, 4.996924072075046, 5.147450044400522, 0.3202485373666653),
    Printed(6, 10.0, 2.6363267887371578, 2.377240293230616, 0.785065272927958),
    Printed(6, 20.0, 2.9778195530514697, 3.1143549496246674, 0.3356640898865708),
    Printed(6, 35.0, 3.1918246549761546, 3.440455376630229, 0.2238875316386577),
)


def late_probability(wealth: ArrayLike, taste: float, wage: float, disutility: float, beta: float) -> Array:
    """Return the probability that a worker retires at the last age but one, with taste shocks and no interest.

    At the last age the shocks add a constant to the value, so that consumption is the same as without them: with
    ``M > wage / beta`` it is ``(M + wage) / (1 + beta)`` for a worker and ``M / (1 + beta)`` for a worker who retires.
    """
    given = np.asarray(wealth, np.float64)
    works = np.minimum(given, (given + wage) / (1.0 + beta))
    rests = given / (1.0 + beta)
    ahead = taste * math.log1p(math.exp(-disutility / taste))
    gain = np.log(works) - disutility + beta * (np.log(given - works + wage) + ahead)
    gain -= np.log(rests) + beta * np.log(given - rests)
    return 1.0 / (1.0 + np.exp(gain / taste))


def thresholds(grid: int = 20_000, ages: Sequence[int] = AGES) -> None:
    """Print the wealth from which workers retire, by age: published formula, closed form, and on the grid."""
    result: RetirementResult = solve(retirement(grid=grid), progress=False)
    model, exact = result.model, result.closed_form()
    print("| age | theorem 1 | closed form | on the grid | periods of work at a wealth of 100 |")
    print("|---:|---:|---:|---:|---:|")
    for age in ages:
        k = model.disutility / sum(model.beta**i for i in range(model.ages - age + 1))
        printed = model.wage / (1 + model.interest) * np.exp(-k) / (1 - np.exp(-k))
        cells = [f"{age}", *(f"{at:.6f}" for at in (printed, exact.threshold(age)))]
        cells += [f"{result.threshold[age - 1]:.2f}", f"{int(exact.periods(age, 100.0))}"]
        print(f"| {' | '.join(cells)} |")
    print(f"\n{grid:,} grid points.\n")


def five_ages(grid: int = 20_000) -> None:
    """Print the value of a worker with five ages: published, closed form, and on the grid."""
    result: RetirementResult = solve(retirement(grid=grid, ages=5), progress=False)
    exact = result.closed_form()
    print("| age | wealth | published | closed form | on the grid |\n|---:|---:|---:|---:|---:|")
    for (age, place), printed in FIVE.items():
        wealth = float(np.linspace(1.0, 400.0, 100)[place])
        near = float(np.interp(np.log(wealth), np.log(result.wealth), result.value[age - 1]))
        cells = [f"{age}", f"{wealth:.4f}", f"{printed:.12f}", f"{exact.value(age, wealth):.12f}", f"{near:.6f}"]
        print(f"| {' | '.join(cells)} |")
    print(f"\n{grid:,} grid points, between which the value is linear in ln M.\n")


@dataclass(frozen=True)
class Errors:
    """Differences between a solution on the grid and the closed form: largest over all ages, for consumption the
    mean.
    """

    worker: float
    retired: float
    consumption: float
    threshold: float

    @classmethod
    def of(cls, result: RetirementResult) -> Errors:
        """Compare at every grid point; values of retired people only at a wealth of at least the wage."""
        exact: ClosedForm = result.closed_form()
        wealth, rich = result.wealth, slice(result.model.paid, None)
        ages = range(1, result.model.ages + 1)
        worker = [result.value[t - 1] - exact.value(t, wealth) for t in ages]
        retired = [(result.retired_value[t - 1] - exact.retired_value(t, wealth))[rich] for t in ages]
        consumption = [result.consumption[t - 1] - exact.consumption(t, wealth) for t in ages]
        threshold = [result.threshold[t - 1] - exact.threshold(t) for t in ages[:-1]]
        return cls(
            worker=float(np.abs(worker).max()),
            retired=float(np.abs(retired).max()),
            consumption=float(np.abs(consumption).mean()),
            threshold=float(np.abs(threshold).max()),
        )


def errors(grids: Sequence[int] = GRIDS) -> None:
    """Print the difference between the solution on the grid and the closed form, by number of grid points."""
    print("| grid points | worker's value | retired value | consumption, mean | threshold | solve, s |")
    print("|---:|---:|---:|---:|---:|---:|")
    for grid in grids:
        result: RetirementResult = solve(retirement(grid=grid), progress=False)
        found = Errors.of(result)
        cells = [f"{grid:,}", *(f"{gap:.1e}" for gap in (found.worker, found.retired, found.consumption))]
        cells += [f"{found.threshold:.1e}", f"{result.solution.timing['solve']:.2f}"]
        print(f"| {' | '.join(cells)} |{'' if result.success else f' {result.message}'}", flush=True)
    print()


def late_choices(grid: int = 20_000, tastes: Sequence[float] = (0.01, 0.05, 0.1)) -> None:
    """Print the probability of retiring at the last age but one, in closed form and on the grid."""
    print("| taste | wealth | closed form | on the grid |\n|---:|---:|---:|---:|")
    for taste in tastes:
        model = retirement(grid=grid, taste=taste)
        result: RetirementResult = solve(model, progress=False)
        for wealth in LATE:
            x = int(np.abs(result.wealth - wealth).argmin())
            at = result.wealth[x]
            exact = late_probability(at, taste, model.wage, model.disutility, model.beta)
            cells = [f"{taste:g}", f"{at:.4f}", f"{exact:.7f}", f"{result.retirement_probability[-2, x]:.7f}"]
            print(f"| {' | '.join(cells)} |")
    print(f"\n{grid:,} grid points; wealth is that of the nearest.\n")


def dcegm_problem(grid: int, high: float = 60.0) -> tuple[Problem, Array]:
    """Return the problem that the package dcegm solves, with savings as the state, and the wage of each period.

    It has a relative risk aversion of 1.95, wages that rise with age, an interest rate of 5%, taste shocks of scale
    0.2, and ten periods. ``x`` is saving. Wealth is ``1.05 x``, plus a wage for those who worked, and at least 0.001.
    """
    ages, gross, floor = 10, 1.05, 0.001
    savings = np.append(0.0, np.geomspace(1e-3, high, grid - 1))
    age = 20 + np.arange(ages)
    wages = np.exp(0.75 + 0.04 * age - 0.0002 * age**2)
    worker = np.maximum(gross * savings + wages[:, None], floor)[:, :, None]
    problem = Problem(
        grid=savings,
        wealth=np.maximum(gross * savings, floor)[:, None],
        transition=np.eye(1),
        start=np.zeros((grid, 1)),
        beta=0.95,
        eta=1.95,
        horizon=ages,
        taste=0.2,
        alternatives=[
            Alternative(name="work", regime="worker", wealth=worker, kappa=-0.35),
            Alternative(name="retire", regime="worker", wealth=worker, leads_to="retired"),
            Alternative(name="rest", regime="retired"),
        ],
        name="retirement of dcegm",
        asset="savings x",
    )
    return problem, wages


def dcegm_choices(grid: int, printed: Sequence[Printed]) -> Array:
    """Return the values of working and retiring, and the probability of working, ``(rows, 3)``, interpolated."""
    problem, wages = dcegm_problem(grid)
    result: Any = solve(problem, device="cpu", progress=False)
    found = np.empty((len(printed), 3))
    for row, choice in zip(printed, found, strict=True):
        saved = (row.wealth - wages[row.period]) / 1.05
        tables = (*result.values[row.period, :2], result.probabilities[row.period, 0])
        choice[:] = [np.interp(saved, problem.grid, table[:, 0]) for table in tables]
        # The package's utility is (c**(1 - eta) - 1) / (1 - eta).
        choice[:2] += sum(0.95**i for i in range(wages.size - row.period)) / 0.95
    return found


def beside_dcegm(grid: int = 80_000, printed: Sequence[Printed] = DCEGM) -> None:
    """Print values and probabilities of working, as published by dcegm and as solved on the grid."""
    found, coarse = dcegm_choices(grid, printed), dcegm_choices(grid // 4, printed)
    print("| period | wealth | value of working, dcegm | here | of retiring, dcegm | here | works, dcegm | here |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|")
    for row, (work, retire, works) in zip(printed, found, strict=True):
        cells = [f"{row.period}", f"{row.wealth:g}", f"{row.work:.5f}", f"{work:.5f}", f"{row.retire:.5f}"]
        cells += [f"{retire:.5f}", f"{row.works:.5f}", f"{works:.5f}"]
        print(f"| {' | '.join(cells)} |")
    print(f"\n{grid:,} grid points of savings, interpolated linearly; with a quarter of them no number of ours changes")
    print(f"by more than {np.abs(found - coarse).max():.1g}.\n")


def tables(device: str) -> None:
    """Print all tables; the model is solved on ``cpu``, and ``device`` only changes a note."""
    print(f"On device cpu{'' if device == 'cpu' else ', the only one that these tables use'}.\n")
    for table in (thresholds, five_ages, errors, late_choices, beside_dcegm):
        table()


if __name__ == "__main__":
    tables("cpu")
    sys.exit(0)
