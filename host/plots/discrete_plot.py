"""Figures of results of discrete problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from beltline.host.plots.figures import LEGEND_ROWS, colours, finish

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from beltline.host.results.result import Result


def policy(result: Result, figure: Figure) -> None:
    """Draw value and best action by state, one line for each exogenous state; with a horizon those of the first age."""
    problem, points = result.problem, result.problem.shape[0]
    first = result.value if problem.horizon is None else result.value[0]
    actions = result.policy if problem.horizon is None else result.policy[0]
    tables = [np.ma.masked_invalid(first), np.ma.masked_less(actions, 0)]
    states = 1 if first.ndim == 1 else first.shape[1]
    named = set(np.linspace(0, states - 1, min(states, LEGEND_ROWS)).round().astype(int).tolist())
    axes = figure.subplots(1, 2)
    for each, table, what in zip(axes, tables, ("value, units of utility", "best action"), strict=True):
        for s, colour in enumerate(colours(states)):
            label = f"exogenous state {s}" if s in named else None
            # Few states are drawn as points: actions have no order, so lines between them would mislead.
            style = {"marker": "o", "linestyle": "none"} if points <= 50 else {"drawstyle": "steps-mid"}
            each.plot(np.arange(points), table.reshape(points, states)[:, s], color=colour, label=label, **style)
        each.set_xlabel("state" if first.ndim == 1 else "endogenous state")
        each.set_ylabel(what)
    title = f"{problem.name}: {problem.size}" + ("" if problem.horizon is None else ", age 1")
    finish(figure, axes, axes[0], title if result.success else f"{title} ({result.status})")
    if states == 1:
        figure.legends.clear()
