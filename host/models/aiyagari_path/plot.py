"""Figures of a transition path of the Aiyagari economy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.aiyagari_path.result import PATH_TOLERANCE, REST_TOLERANCE, TransitionPath
from beltline.host.plots.figures import colours
from beltline.host.plots.panels import GREY, SMALL, WIDTH, label, lines, plotter

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _path(result: TransitionPath, figure: Figure) -> str:
    model, before = result.model, result.initial
    output = before.productivity * before.capital**model.economy.alpha
    consumption = output - model.economy.delta * before.capital
    dates = np.arange(model.periods)
    panels = figure.subplots(2, 2).ravel().tolist()
    shown = (
        (("capital", result.capital, before.capital), ("productivity", result.productivity, before.productivity)),
        (("output", result.output, output), ("consumption", result.consumption, consumption)),
        (("wage", result.wage, before.wage),),
    )
    for axes, drawn_here in zip(panels, shown, strict=False):
        changes = {name: 100.0 * (series / level - 1.0) for name, series, level in drawn_here}
        lines(axes, dates, changes, ("-", "--"))
        axes.axhline(0.0, linestyle=":", **GREY)
    panels[-1].plot(dates, 100.0 * result.interest, color=colours(1)[0], label="interest rate", linewidth=WIDTH)
    panels[-1].axhline(100.0 * before.interest, linestyle=":", label="initial", **GREY)
    for axes, up in zip(panels, (*["percent from initial steady state"] * 3, "percent per period"), strict=True):
        label(axes, "date", up)
    return "An unexpected change of productivity"


def _inequality(result: TransitionPath, figure: Figure) -> str:
    axes = figure.subplots()
    lines(axes, np.arange(result.gini.size), {"wealth": result.gini})
    label(axes, "date", "Gini coefficient")
    return "Inequality"


def _market(result: TransitionPath, figure: Figure) -> str:
    axes = figure.subplots()
    size = np.maximum(np.abs(result.excess), np.finfo(float).tiny)
    last = size.size - 1
    axes.semilogy(size[:-1], ".", color=colours(1)[0], label="absolute excess supply")
    axes.axhline(PATH_TOLERANCE, linestyle="--", label=f"allowed, {PATH_TOLERANCE:g}", **GREY)
    # The market after the last date has its own tolerance: how close the path is to the new steady state.
    text = f"after the last date; allowed, {REST_TOLERANCE:g}"
    axes.semilogy([last], size[-1:], "x", color="0.2", label=text)
    label(axes, "date", "share of demand")
    axes.set_ylim(bottom=1e-16)
    return "Excess supply of capital"


plot = plotter(
    {"path": _path, "inequality": _inequality, "market": _market}, lambda _: "Aiyagari's economy",
    {"path": (10.0, 6.5), "inequality": SMALL, "market": SMALL},
)  # fmt: skip
