"""Figures of a cohort."""

from __future__ import annotations

from typing import TYPE_CHECKING

from beltline.host.models.cohort.result import CohortResult
from beltline.host.plots.figures import colours
from beltline.host.plots.panels import label, lines, plotter, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GOOD = "units of the good"

DRAWN_AGES = 4
"""Number of ages whose consumption is drawn."""


def _subject(result: CohortResult) -> str:
    model = result.model
    return f"a cohort, ages {model.first} to {model.last}, work until {model.retirement}"


def _label(axes: Axes, up: str, across: str = "age") -> None:
    label(axes, across, up)
    axes.set_ylim(bottom=0.0)


def _paths(result: CohortResult, figure: Figure) -> str:
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
        _label(axes, GOOD)
    return "Paths"


def _inequality(result: CohortResult, figure: Figure) -> str:
    paths = result.paths()
    left, right = figure.subplots(1, 2)
    lines(left, paths.ages, paths.log_variance)
    _label(left, "variance of logarithms")
    lines(right, paths.ages, {"assets": paths.gini})
    _label(right, "Gini coefficient")
    return "Inequality"


def _policy(result: CohortResult, figure: Figure) -> str:
    axes = figure.subplots()
    shown = spread(result.model.ages - 1, DRAWN_AGES)
    middle = result.policy.shape[2] // 2
    # Twice the largest percentile 90 of any age: nearly everybody has less.
    top = 2.0 * float(result.paths((0.9,)).percentiles["assets"].max())
    there = result.assets <= max(top, float(result.assets[1]))
    curves = {f"age {result.ages[age]}": result.consumption[age, there, middle] for age in shown}
    lines(axes, result.assets[there], curves)
    _label(axes, f"consumption, {GOOD}", f"assets, {GOOD}")
    return "Consumption in the middle state of income"


plot = plotter({"paths": _paths, "inequality": _inequality, "policy": _policy}, _subject, {})
