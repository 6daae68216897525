"""Figures of an Aiyagari economy."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.aiyagari.result import Economy
from beltline.host.plots.figures import INTERVALS, density_panel, legend_labels
from beltline.host.plots.panels import GREY, beside, label, lorenz_panel, plotter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 0.995
"""Share of households, the poorest first, whose wealth the figure of the distribution shows."""


def _market(economy: Economy, figure: Figure) -> str:
    axes = figure.subplots()
    steps = sorted(economy.steps, key=lambda step: step.interest)
    patience = 1 / economy.model.beta - 1
    rates = np.linspace(min(steps[0].interest, 0.0), patience, 200)
    near = 3 * max(economy.capital, economy.steps[-1].demand)
    axes.plot([economy.model.capital(rate) for rate in rates], 100 * rates, label="demand", linewidth=1.6)
    shown = [step for step in steps if step.supply < near]
    axes.plot([step.supply for step in shown], [100 * step.interest for step in shown], "o-",
              markersize=4, label="supply", linewidth=1.2)  # fmt: skip
    axes.axhline(100 * patience, linestyle="--", label="1/beta - 1", **GREY)
    axes.plot([economy.capital], [100 * economy.interest], "k+", markersize=12, label=f"r = {economy.interest:.3%}")
    label(axes, "capital per head, units of the good", "interest rate, percent per period")
    axes.set_xlim(0, near)
    return "Capital market"


def _distribution(economy: Economy, figure: Figure) -> str:
    axes = figure.subplots()
    problem, mass = economy.household.problem, economy.distribution
    grid = problem.grid
    last = min(int(np.searchsorted(np.cumsum(mass.sum(axis=1)), SHOWN)), grid.size - 1)
    top = max(float(grid[last]), float(grid[1]))
    # Neighbours are added up to intervals of about the same length.
    lower = np.append(grid[0], (grid[:-1] + grid[1:]) / 2)
    first = np.unique(np.searchsorted(lower, np.linspace(0.0, top, INTERVALS)))
    density_panel(axes, grid, mass, first[first < grid.size], legend_labels(problem))
    label(axes, f"assets, units of the good (the poorest {SHOWN:.1%} of households)",
          "density, per unit of the good", legend=False)  # fmt: skip
    axes.set_xlim(0.0, top)
    beside(figure)
    return "Wealth"


_plot = plotter(
    {"market": _market, "distribution": _distribution, "lorenz": lorenz_panel}, lambda _: "Aiyagari's economy", {}
)


def plot(economy: Economy, path: str | os.PathLike[str] | None, kind: str) -> Figure:
    """Draw a figure of ``economy``; that of its policy is the household's."""
    figure: Figure = economy.household.plot(path, kind) if kind == "policy" else _plot(economy, path, kind)
    return figure


vars(plot)["kinds"] = _plot.kinds
