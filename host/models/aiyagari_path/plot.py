"""Figures of a transition path of the Aiyagari economy."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.aiyagari_path.result import PATH_TOLERANCE, REST_TOLERANCE, TransitionPath
from beltline.host.plots.figures import check_kind, colours, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot(result: TransitionPath, path: str | os.PathLike[str] | None = None, kind: str = "path") -> Figure:
    """Draw a figure of ``result``; the method :meth:`beltline.TransitionPath.plot` calls this.

    Raises
    ------
    ProblemError
        A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
    """
    check_kind(kind, KINDS)
    return drawn(lambda figure: _DRAWN[kind](result, figure), path, (10.0, 6.5) if kind == "path" else (8.0, 4.5))


def _finish(result: TransitionPath, figure: Figure, panels: list[Axes], what: str) -> None:
    for axes in panels:
        axes.margins(x=0.01)
        axes.set_xlabel("date")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    figure.suptitle(f"{what}, Aiyagari's economy{'' if result.success else f' ({result.status})'}")


def _path(result: TransitionPath, figure: Figure) -> None:
    model, before = result.model, result.initial
    output = before.productivity * before.capital**model.economy.alpha
    consumption = output - model.economy.delta * before.capital
    dates = np.arange(model.periods)
    panels = figure.subplots(2, 2).ravel().tolist()
    lines = (
        (("capital", result.capital, before.capital), ("productivity", result.productivity, before.productivity)),
        (("output", result.output, output), ("consumption", result.consumption, consumption)),
        (("wage", result.wage, before.wage),),
    )
    for axes, drawn_here in zip(panels, lines, strict=False):
        for (name, series, level), colour, style in zip(drawn_here, colours(2), ("-", "--"), strict=False):
            axes.plot(dates, 100.0 * (series / level - 1.0), style, color=colour, label=name, linewidth=1.6)
        axes.axhline(0.0, color="0.4", linewidth=0.8, linestyle=":")
        axes.set_ylabel("percent from initial steady state")
    panels[-1].plot(dates, 100.0 * result.interest, color=colours(1)[0], label="interest rate", linewidth=1.6)
    panels[-1].axhline(100.0 * before.interest, color="0.4", linewidth=0.8, linestyle=":", label="initial")
    panels[-1].set_ylabel("percent per period")
    _finish(result, figure, panels, "An unexpected change of productivity")


def _inequality(result: TransitionPath, figure: Figure) -> None:
    axes = figure.subplots()
    axes.plot(result.gini, color=colours(1)[0], label="wealth", linewidth=1.6)
    axes.set_ylabel("Gini coefficient")
    _finish(result, figure, [axes], "Inequality")


def _market(result: TransitionPath, figure: Figure) -> None:
    axes = figure.subplots()
    size = np.maximum(np.abs(result.excess), np.finfo(float).tiny)
    last = size.size - 1
    axes.semilogy(size[:-1], ".", color=colours(1)[0], label="absolute excess supply")
    axes.axhline(PATH_TOLERANCE, color="0.4", linewidth=0.8, linestyle="--", label=f"allowed, {PATH_TOLERANCE:g}")
    # The market after the last date has its own tolerance: how close the path is to the new steady state.
    text = f"after the last date; allowed, {REST_TOLERANCE:g}"
    axes.semilogy([last], size[-1:], "x", color="0.2", label=text)
    axes.set_ylim(bottom=1e-16)
    axes.set_ylabel("share of demand")
    _finish(result, figure, [axes], "Excess supply of capital")


_DRAWN: dict[str, Callable[[TransitionPath, Figure], None]] = {
    "path": _path,
    "inequality": _inequality,
    "market": _market,
}

KINDS = tuple(_DRAWN)
"""Kinds of figures of a transition path."""
