"""Figures of lumpy investment."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.lumpy_investment.result import LumpyInvestmentResult
from beltline.host.plots.figures import colours
from beltline.host.plots.panels import SMALL, beside, label, lines, plotter

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


SHOWN = 1e-6
"""Smallest share of firms of a capital gap that is drawn."""

WIDTH = 0.3
"""Range of capital that is drawn on either side of the inaction range, in logs."""


def _plain(axis: Axis) -> None:
    """Print plain numbers on a logarithmic axis."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _band(result: LumpyInvestmentResult, figure: Figure) -> str:
    axes = figure.subplots()
    dark, _, bright = colours(3)
    z = result.productivity
    axes.fill_between(z, result.lower, result.upper, color="0.85", label="no adjustment")
    axes.plot(z, result.upper, color=bright, label="upper end", linewidth=1.4)
    convex = result.model.convex > 0.0
    target = "target: the choice without adjustment costs" if convex else "adjusted to, at the end of the period"
    axes.plot(z, result.target, "o-", color="0.2", label=target, markersize=4)
    axes.plot(z, result.lower, color=dark, label="lower end", linewidth=1.4)
    axes.set_yscale("log")
    _plain(axes.yaxis)
    label(axes, "productivity z", "capital k at the beginning, units of the good")
    return "Range of inaction"


def _hazard(result: LumpyInvestmentResult, figure: Figure) -> str:
    axes = figure.subplots()
    every = result.hazard()
    shown = every.firms > SHOWN
    gap, adjusts, firms = every.gap[shown], every.adjusts[shown], every.firms[shown]
    dark, _, bright = colours(3)
    axes.plot(gap, adjusts, "o-", color=dark, label="share that adjusts", linewidth=1.2, markersize=4)
    across = "capital gap: log of depreciated capital, less log of target capital"
    label(axes, across, "share of firms with this gap that adjust", legend=False)
    other = axes.twinx()
    depreciation = -math.log1p(-result.model.delta)
    other.bar(gap, firms, width=0.8 * depreciation, color=bright, alpha=0.5, label="firms (right)")
    other.set_ylabel("share of all firms")
    # The line is drawn over the bars.
    axes.set_zorder(other.get_zorder() + 1)
    axes.patch.set_visible(False)
    beside(figure)
    return "Hazard of adjustment"


def _investment(result: LumpyInvestmentResult, figure: Figure) -> str:
    axes = figure.subplots()
    states = result.model.states
    shown = sorted({states // 4, states // 2, states - 1 - states // 4})
    inactive = [number for s in shown for number in np.flatnonzero(~result.adjusts[:, s])]
    ends = (min(inactive), max(inactive)) if inactive else (0, result.model.points - 1)
    # Only capital near the inaction range is drawn; farther away rates only grow.
    wide = int(WIDTH / -math.log1p(-result.model.delta) * result.model.steps)
    near = slice(max(ends[0] - wide, 0), ends[1] + wide + 1)
    rates = {f"productivity {result.productivity[s]:.2f}": 100.0 * result.investment_rate[near, s] for s in shown}
    lines(axes, result.capital[near], rates)
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set_xscale("log")
    _plain(axes.xaxis)
    label(axes, "capital k at the beginning, units of the good", "investment, percent of capital")
    return "Investment"


plot = plotter(
    {"band": _band, "hazard": _hazard, "investment": _investment}, lambda _: "lumpy investment",
    dict.fromkeys(LumpyInvestmentResult.figures, SMALL),
)  # fmt: skip
