"""Lumpy investment as figures."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.lumpy_investment.result import LumpyInvestmentResult
from beltline.host.plots.figures import check_kind, colours, drawn

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


SHOWN = 1e-6
"""Share of firms from which on a capital gap is drawn."""

WIDTH = 0.3
"""How far beyond the capital that is kept investment is drawn, in logs."""


def plot(result: LumpyInvestmentResult, path: str | os.PathLike[str] | None = None, kind: str = "band") -> Figure:
    """Draw a figure of ``result`` as
    :meth:`~beltline.host.models.lumpy_investment.result.LumpyInvestmentResult.plot` says, and write it if there is a
    path.

    Raises
    ------
    ProblemError
        ``path`` is no place for a figure, ``kind`` is not known, or matplotlib is not installed.
    """
    check_kind(kind, KINDS)
    return drawn(lambda figure: _DRAWN[kind](result, figure), path, (8.0, 4.5))


def _finish(result: LumpyInvestmentResult, figure: Figure, what: str) -> None:
    for axes in figure.axes:
        axes.margins(x=0.01)
    figure.axes[0].grid(alpha=0.3)
    figure.suptitle(f"{what}, lumpy investment{'' if result.success else f' ({result.status})'}")


def _plain(axis: Axis) -> None:
    """Plain numbers on a logarithmic axis."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _band(result: LumpyInvestmentResult, figure: Figure) -> None:
    axes = figure.subplots()
    dark, _, bright = colours(3)
    z = result.productivity
    axes.fill_between(z, result.lower, result.upper, color="0.85", label="kept")
    axes.plot(z, result.upper, color=bright, label="upper end", linewidth=1.4)
    convex = result.model.convex > 0.0
    wanted = "aimed at: the choice without costs" if convex else "adjusted to, at the end of the period"
    axes.plot(z, result.target, "o-", color="0.2", label=wanted, markersize=4)
    axes.plot(z, result.lower, color=dark, label="lower end", linewidth=1.4)
    axes.set_yscale("log")
    _plain(axes.yaxis)
    axes.set_xlabel("productivity z")
    axes.set_ylabel("capital k at the beginning, units of the good")
    axes.legend(fontsize="small")
    _finish(result, figure, "Capital that is kept")


def _hazard(result: LumpyInvestmentResult, figure: Figure) -> None:
    axes = figure.subplots()
    every = result.hazard()
    shown = every.firms > SHOWN
    gap, adjusts, firms = every.gap[shown], every.adjusts[shown], every.firms[shown]
    dark, _, bright = colours(3)
    axes.plot(gap, adjusts, "o-", color=dark, label="share that adjusts", linewidth=1.2, markersize=4)
    axes.set_xlabel("capital gap: log of what keeping leaves, less log of what is aimed at")
    axes.set_ylabel("share of firms with this gap that adjust")
    other = axes.twinx()
    depreciation = -math.log1p(-result.model.delta)
    other.bar(gap, firms, width=0.8 * depreciation, color=bright, alpha=0.5, label="firms (right)")
    other.set_ylabel("share of all firms")
    # The line is drawn over the bars.
    axes.set_zorder(other.get_zorder() + 1)
    axes.patch.set_visible(False)
    figure.legend(loc="outside right center", fontsize="small")
    _finish(result, figure, "Hazard of adjustment")


def _investment(result: LumpyInvestmentResult, figure: Figure) -> None:
    axes = figure.subplots()
    states = result.model.states
    shown = sorted({states // 4, states // 2, states - 1 - states // 4})
    kept = [number for s in shown for number in np.flatnonzero(~result.adjusts[:, s])]
    ends = (min(kept), max(kept)) if kept else (0, result.model.points - 1)
    # A band around what is kept: further away rates only grow.
    wide = int(WIDTH / -math.log1p(-result.model.delta) * result.model.steps)
    near = slice(max(ends[0] - wide, 0), ends[1] + wide + 1)
    for s, colour in zip(shown, colours(len(shown)), strict=True):
        z = result.productivity[s]
        rate = 100.0 * result.investment_rate[near, s]
        axes.plot(result.capital[near], rate, color=colour, label=f"productivity {z:.2f}", linewidth=1.4)
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set_xscale("log")
    _plain(axes.xaxis)
    axes.set_xlabel("capital k at the beginning, units of the good")
    axes.set_ylabel("investment, per cent of capital")
    axes.legend(fontsize="small")
    _finish(result, figure, "Investment")


_DRAWN: dict[str, Callable[[LumpyInvestmentResult, Figure], None]] = {
    "band": _band,
    "hazard": _hazard,
    "investment": _investment,
}

KINDS = tuple(_DRAWN)
"""What can be drawn of lumpy investment."""
