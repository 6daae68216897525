"""Figures of a cohort."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.cohort.result import CohortResult
from beltline.host.plots.figures import check_kind, colours, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GOOD = "units of the good"

DRAWN_AGES = 4
"""Number of ages whose consumption is drawn."""


def plot(result: CohortResult, path: str | os.PathLike[str] | None = None, kind: str = "paths") -> Figure:
    """Draw a figure of ``result``; the method :meth:`beltline.CohortResult.plot` calls this.

    Raises
    ------
    ProblemError
        A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
    """
    check_kind(kind, KINDS)
    return drawn(lambda figure: _DRAWN[kind](result, figure), path)


def _finish(result: CohortResult, figure: Figure, panels: list[Axes], what: str, across: str = "age") -> None:
    for axes in panels:
        axes.margins(x=0.01)
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel(across)
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    model = result.model
    status = "" if result.success else f" ({result.status})"
    figure.suptitle(f"{what} of a cohort, ages {model.first} to {model.last}, work until {model.retirement}{status}")


def _paths(result: CohortResult, figure: Figure) -> None:
    paths = result.paths((0.1, 0.5, 0.9))
    left, right = figure.subplots(1, 2)
    dark, middle, light = colours(3)
    left.fill_between(paths.ages, *paths.percentiles["consumption"][[0, 2]], color=middle, alpha=0.2,
                      label="consumption, percentiles 10 to 90")  # fmt: skip
    for name, colour, line in (("income", dark, "--"), ("consumption", middle, "-")):
        left.plot(paths.ages, paths.mean[name], line, color=colour, label=f"{name}, mean", linewidth=1.6)
    right.fill_between(paths.ages, *paths.percentiles["assets"][[0, 2]], color=light, alpha=0.3,
                       label="assets, percentiles 10 to 90")  # fmt: skip
    right.plot(paths.ages, paths.mean["assets"], color=dark, label="assets, mean", linewidth=1.6)
    right.plot(paths.ages, paths.percentiles["assets"][1], "--", color=middle, label="assets, median", linewidth=1.6)
    for axes in (left, right):
        axes.axvline(result.model.retirement + 0.5, color="0.4", linewidth=0.8, linestyle=":")
        axes.set_ylabel(GOOD)
    _finish(result, figure, [left, right], "Paths")


def _inequality(result: CohortResult, figure: Figure) -> None:
    paths = result.paths()
    left, right = figure.subplots(1, 2)
    for (name, line), colour in zip(paths.log_variance.items(), colours(2), strict=True):
        left.plot(paths.ages, line, color=colour, label=name, linewidth=1.6)
    left.set_ylabel("variance of logarithms")
    right.plot(paths.ages, paths.gini, color=colours(1)[0], label="assets", linewidth=1.6)
    right.set_ylabel("Gini coefficient")
    _finish(result, figure, [left, right], "Inequality")


def _policy(result: CohortResult, figure: Figure) -> None:
    axes = figure.subplots()
    shown = np.unique(np.linspace(0, result.model.ages - 2, DRAWN_AGES).round().astype(int)).tolist()
    middle = result.policy.shape[2] // 2
    # Twice the largest percentile 90 of any age: nearly everybody has less.
    top = 2.0 * float(result.paths((0.9,)).percentiles["assets"].max())
    there = result.assets <= max(top, float(result.assets[1]))
    for age, colour in zip(shown, colours(len(shown)), strict=True):
        axes.plot(result.assets[there], result.consumption[age, there, middle], color=colour,
                  label=f"age {result.ages[age]}", linewidth=1.4)  # fmt: skip
    axes.set_ylabel(f"consumption, {GOOD}")
    _finish(result, figure, [axes], "Consumption in the middle state of income", f"assets, {GOOD}")


_DRAWN: dict[str, Callable[[CohortResult, Figure], None]] = {
    "paths": _paths,
    "inequality": _inequality,
    "policy": _policy,
}

KINDS = tuple(_DRAWN)
"""Kinds of figures of a cohort."""
