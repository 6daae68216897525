"""Figure of a policy between grid points."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from beltline.host.plots.figures import colours, drawn, finish, legend_labels, size_of, units
from beltline.host.problem.checks import ProblemError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from beltline.host.analysis.refine import Refined


def plot(refined: Refined, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw consumption and saving by ``x``, one colour for each state; the policy on the grid is drawn faintly.

    The method ``Refined.plot`` calls this.

    Raises
    ------
    ProblemError
        The problem has several regimes; or as :func:`beltline.host.plots.figures.check_plot`.
    """
    problem = refined.problem
    if len(problem.regimes) > 1:
        raise ProblemError(f"a figure of choices between grid points is for one regime, and {problem.name} has several")
    tables = refined.result.choice, refined.result.consumption, refined.choice, refined.consumption
    of = "" if problem.horizon is None else ", first age"
    on_grid, spent, choice, consumption = tables if problem.horizon is None else (table[0] for table in tables)
    grid = problem.grid

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for s, (colour, label) in enumerate(zip(colours(problem.states), legend_labels(problem), strict=True)):
            left.plot(grid, spent[:, s], color=colour, alpha=0.35, linewidth=0.8)
            left.plot(grid, consumption[:, s], color=colour, label=label, linewidth=1.4)
            right.plot(grid, on_grid[:, s] - grid, color=colour, alpha=0.35, linewidth=0.8)
            right.plot(grid, choice[:, s] - grid, color=colour, label=label, linewidth=1.4)
        left.plot([], [], color="0.5", alpha=0.5, linewidth=0.8, label="on the grid")
        left.set_title("Consumption")
        left.set_ylabel(f"c(x, s){units(problem)}")
        right.set_title("Saving")
        right.set_ylabel(f"x' - x{units(problem)}")
        for axes in (left, right):
            axes.set_xlabel(f"{problem.asset}{units(problem)}")
        title = f"{problem.name}: choices between {size_of(problem)}{of}"
        finish(figure, (left, right), left, title if refined.success else f"{title} ({refined.status})")

    return drawn(draw, path)
