"""Figures of the retirement model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.retirement.result import RetirementResult
from beltline.host.plots.figures import check_kind, colours, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from beltline.host.problem.arrays import Array

HIGHEST = 2.0
"""Highest consumption of a figure, in multiples of the wage."""

WEALTH = "wealth M, units of the good"


def plot(result: RetirementResult, path: str | os.PathLike[str] | None = None, kind: str = "consumption") -> Figure:
    """Draw a figure of ``result``; the method :meth:`beltline.RetirementResult.plot` calls this.

    Raises
    ------
    ProblemError
        A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
    """
    check_kind(kind, KINDS)
    return drawn(lambda figure: _DRAWN[kind](result, figure), path, (8.0, 4.5))


def _finish(result: RetirementResult, figure: Figure, axes: Axes, what: str) -> None:
    axes.margins(x=0.01)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    model = result.model
    shocks = f", taste shocks of {model.taste:g}" if model.taste > 0 else ""
    figure.suptitle(f"{what}, {model.ages} ages{shocks}{'' if result.success else f' ({result.status})'}")


def _by_wealth(result: RetirementResult, axes: Axes, table: Array) -> None:
    """Draw a line for each of up to three ages: the first, the middle, and the third from the end."""
    ages = sorted({0, (result.model.ages - 1) // 2, max(0, result.model.ages - 3)}, reverse=True)
    for age, colour in zip(ages, colours(len(ages)), strict=True):
        axes.plot(result.wealth, table[age], color=colour, label=f"age {age + 1}", linewidth=1.4)
    axes.set_xlabel(WEALTH)


def _consumption(result: RetirementResult, figure: Figure) -> None:
    axes = figure.subplots()
    _by_wealth(result, axes, result.consumption)
    axes.set_ylim(0.0, HIGHEST * result.model.wage)
    axes.set_ylabel("consumption c of a worker, units of the good")
    _finish(result, figure, axes, "Consumption")


def _threshold(result: RetirementResult, figure: Figure) -> None:
    from matplotlib.ticker import MaxNLocator

    axes = figure.subplots()
    ages = np.arange(1, result.model.ages + 1)
    axes.plot(ages, result.threshold, "o-", color=colours(1)[0], label="on the grid", linewidth=1.2, markersize=4)
    if result.model.taste == 0:
        exact = result.closed_form()
        axes.plot(ages, [exact.threshold(age) for age in ages.tolist()], "k+", label="closed form", markersize=10)
    axes.set_xlabel("age")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel(f"threshold of {WEALTH}")
    _finish(result, figure, axes, "Retirement threshold")


def _probability(result: RetirementResult, figure: Figure) -> None:
    axes = figure.subplots()
    _by_wealth(result, axes, result.retirement_probability)
    axes.set_ylabel("probability that a worker retires")
    _finish(result, figure, axes, "Retirement")


_DRAWN: dict[str, Callable[[RetirementResult, Figure], None]] = {
    "consumption": _consumption,
    "threshold": _threshold,
    "probability": _probability,
}

KINDS = tuple(_DRAWN)
"""Kinds of figures of the retirement model."""
