"""Figures of the retirement model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.retirement.result import RetirementResult
from beltline.host.plots.figures import colours
from beltline.host.plots.panels import SMALL, label, lines, plotter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from beltline.host.problem.arrays import Array

HIGHEST = 2.0
"""Highest consumption of a figure, in multiples of the wage."""

WEALTH = "wealth M, units of the good"


def _subject(result: RetirementResult) -> str:
    model = result.model
    return f"{model.ages} ages" + (f", taste shocks of {model.taste:g}" if model.taste > 0 else "")


def _by_wealth(result: RetirementResult, axes: Axes, table: Array, up: str) -> None:
    """Draw a line for each of up to three ages: the first, the middle, and the third from the end."""
    ages = sorted({0, (result.model.ages - 1) // 2, max(0, result.model.ages - 3)}, reverse=True)
    lines(axes, result.wealth, {f"age {age + 1}": table[age] for age in ages})
    label(axes, WEALTH, up)


def _consumption(result: RetirementResult, figure: Figure) -> str:
    axes = figure.subplots()
    _by_wealth(result, axes, result.consumption, "consumption c of a worker, units of the good")
    axes.set_ylim(0.0, HIGHEST * result.model.wage)
    return "Consumption"


def _threshold(result: RetirementResult, figure: Figure) -> str:
    from matplotlib.ticker import MaxNLocator

    axes = figure.subplots()
    ages = np.arange(1, result.model.ages + 1)
    axes.plot(ages, result.threshold, "o-", color=colours(1)[0], label="on the grid", linewidth=1.2, markersize=4)
    if result.model.taste == 0:
        exact = result.closed_form()
        axes.plot(ages, [exact.threshold(age) for age in ages.tolist()], "k+", label="closed form", markersize=10)
    label(axes, "age", f"threshold of {WEALTH}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return "Retirement threshold"


def _probability(result: RetirementResult, figure: Figure) -> str:
    _by_wealth(result, figure.subplots(), result.retirement_probability, "probability that a worker retires")
    return "Retirement"


plot = plotter(
    {"consumption": _consumption, "threshold": _threshold, "probability": _probability}, _subject,
    dict.fromkeys(RetirementResult.figures, SMALL),
)  # fmt: skip
