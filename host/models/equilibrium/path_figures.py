"""Figures of paths of economies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from beltline.host.models.equilibrium.search import MARKET_TOLERANCE
from beltline.host.models.equilibrium.sequence import REST_TOLERANCE
from beltline.host.models.equilibrium.transition import MarketPath
from beltline.host.plots.figures import colours
from beltline.host.plots.panels import GREY, draws, label, lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@draws("MarketPath", "path", "An announced shock", (10.0, 4.5), ncols=3)
def _path(result: MarketPath, *panels: Axes) -> None:
    steady = result.before | result.model.given
    for axes, paths in zip(panels, (result.given, result.prices, result.aggregates), strict=True):
        lines(axes, np.arange(result.value.shape[0]), {name: path - steady[name] for name, path in paths.items()})
        axes.axhline(0.0, linestyle=":", **GREY)
    for axes, up in zip(panels, ("given, less that after", "prices, less before", "means, less before"), strict=True):
        label(axes, "date", up)


@draws("MarketPath", "market", "Excess of markets")
@draws("TransitionPath", "market", "Excess supply of capital")
def _market(result: Any, axes: Axes) -> None:
    size = np.maximum(np.abs(np.atleast_2d(result.excess)).max(axis=0), np.finfo(float).tiny)
    last = size.size - 1
    axes.semilogy(size[:-1], ".", color=colours(1)[0], label="absolute excess")
    axes.axhline(MARKET_TOLERANCE, linestyle="--", label=f"allowed, {MARKET_TOLERANCE:g}", **GREY)
    # The market after the last date has its own tolerance: how close the path is to the new steady state.
    text = f"after the last date; allowed, {REST_TOLERANCE:g}"
    axes.semilogy([last], size[-1:], "x", color="0.2", label=text)
    label(axes, "date", "excess of demand or supply")
    axes.set_ylim(bottom=1e-16)
