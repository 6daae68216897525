"""Lumpy investment as figures."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from beltline.host.models.lumpy_investment.result import LumpyInvestmentResult
from beltline.host.plots.figures import check_kind, colours, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SHOWN = 1e-6
"""Share of firms from which on a capital gap is drawn."""


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


def _band(result: LumpyInvestmentResult, figure: Figure) -> None:
    axes = figure.subplots()
    dark, _, bright = colours(3)
    z = result.productivity
    axes.fill_between(z, result.lower, result.upper, color="0.85", label="kept")
    axes.plot(z, result.upper, color=bright, label="upper end", linewidth=1.4)
    axes.plot(z, result.target, "o-", color="0.2", label="adjusted to, at the end of the period", markersize=4)
    axes.plot(z, result.lower, color=dark, label="lower end", linewidth=1.4)
    axes.set_yscale("log")
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
    axes.set_xlabel("capital gap: log of what keeping leaves, less log of what is adjusted to")
    axes.set_ylabel("share of firms with this gap that adjust")
    other = axes.twinx()
    depreciation = -math.log1p(-result.model.delta)
    other.bar(gap, firms, width=0.8 * depreciation, color=bright, alpha=0.5, label="firms (right)")
    other.set_ylabel("share of all firms")
    figure.legend(loc="outside right center", fontsize="small")
    _finish(result, figure, "Hazard of adjustment")


_DRAWN: dict[str, Callable[[LumpyInvestmentResult, Figure], None]] = {"band": _band, "hazard": _hazard}

KINDS = tuple(_DRAWN)
"""What can be drawn of lumpy investment."""
