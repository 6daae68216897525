"""Figures of results of discrete problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from beltline.host.plots.figures import LEGEND_ROWS, colours, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from beltline.host.results.result import Result


def policy(result: Result, figure: Figure) -> None:
    """Draw value and best action by state, one line for each exogenous state."""
    problem, points = result.problem, result.value.shape[0]
    tables = [np.ma.masked_invalid(result.value), np.ma.masked_less(result.policy, 0)]
    states = 1 if result.value.ndim == 1 else result.value.shape[1]
    named = set(np.linspace(0, states - 1, min(states, LEGEND_ROWS)).round().astype(int).tolist())
    axes = figure.subplots(1, 2)
    for each, table, what in zip(axes, tables, ("value, units of utility", "best action"), strict=True):
        for s, colour in enumerate(colours(states)):
            label = f"exogenous state {s}" if s in named else None
            # Few states are drawn as points: actions have no order, so lines between them would mislead.
            style = {"marker": "o", "linestyle": "none"} if points <= 50 else {"drawstyle": "steps-mid"}
            each.plot(np.arange(points), table.reshape(points, states)[:, s], color=colour, label=label, **style)
        each.set_xlabel("state" if result.value.ndim == 1 else "endogenous state")
        each.set_ylabel(what)
    title = f"{problem.name}: {problem.size}"
    finish(figure, axes, axes[0], title if result.success else f"{title} ({result.status})")
    if states == 1:
        figure.legends.clear()
