"""Figures of an Aiyagari economy."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.aiyagari.result import Economy
from beltline.host.plots.figures import INTERVALS, check_kind, colours, drawn, legend_labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 0.995
"""Share of households, the poorest first, whose wealth the figure of the distribution shows."""


def plot(economy: Economy, path: str | os.PathLike[str] | None = None, kind: str = "market") -> Figure:
    """Draw a figure of ``economy``; the method :meth:`beltline.Economy.plot` calls this.

    Raises
    ------
    ProblemError
        A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
    """
    check_kind(kind, KINDS)
    draw = _DRAWN.get(kind)
    if draw is None:
        return economy.household.plot(path, kind)
    return drawn(lambda figure: draw(economy, figure), path)


def _title(economy: Economy, what: str) -> str:
    return f"{what}, Aiyagari's economy{'' if economy.success else ' (not solved)'}"


def _market(economy: Economy, figure: Figure) -> None:
    axes = figure.subplots()
    steps = sorted(economy.steps, key=lambda step: step.interest)
    rates = np.linspace(min(steps[0].interest, 0.0), 1 / economy.model.beta - 1, 200)
    near = 3 * max(economy.capital, economy.steps[-1].demand)
    axes.plot([economy.model.capital(rate) for rate in rates], 100 * rates, label="demand", linewidth=1.6)
    shown = [step for step in steps if step.supply < near]
    axes.plot([step.supply for step in shown], [100 * step.interest for step in shown], "o-",
              markersize=4, label="supply", linewidth=1.2)  # fmt: skip
    axes.axhline(100 * (1 / economy.model.beta - 1), color="0.4", linewidth=0.8, linestyle="--", label="1/beta - 1")
    axes.plot([economy.capital], [100 * economy.interest], "k+", markersize=12, label=f"r = {economy.interest:.3%}")
    axes.set_xlim(0, near)
    axes.set_xlabel("capital per head, units of the good")
    axes.set_ylabel("interest rate, percent per period")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.suptitle(_title(economy, "Capital market"))


def _distribution(economy: Economy, figure: Figure) -> None:
    axes = figure.subplots()
    problem, mass = economy.household.problem, economy.distribution
    grid, shares = problem.grid, mass.sum(axis=1)
    top = float(grid[min(int(np.searchsorted(np.cumsum(shares), SHOWN)), grid.size - 1)])
    # A point's mass belongs to the interval half way to its neighbours. Neighbours are added up, because the mass of
    # single points jumps from one to the next.
    bounds = np.concatenate([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    first = np.unique(np.searchsorted(bounds[:-1], np.linspace(0.0, max(top, float(grid[1])), INTERVALS)))
    first = first[first < grid.size]
    edges = bounds[np.append(first, grid.size)]
    parts = np.add.reduceat(mass, first, axis=0)
    density = parts / np.diff(edges)[:, None]
    axes.stairs(density.sum(axis=1), edges, fill=True, color="0.8", label="all states")
    for s, (colour, label) in enumerate(zip(colours(problem.states), legend_labels(problem), strict=True)):
        axes.stairs(density[:, s], edges, color=colour, label=label, linewidth=1.2)
    axes.axvline(economy.capital, color="0.3", linewidth=1.0, linestyle="--", label=f"mean {economy.capital:.3f}")
    axes.set_xlim(0.0, max(top, float(grid[1])))
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel(f"assets, units of the good (the poorest {SHOWN:.1%} of households)")
    axes.set_ylabel("density, per unit of the good")
    axes.grid(alpha=0.3)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right center", fontsize="small")
    figure.suptitle(_title(economy, "Wealth"))


def _lorenz(economy: Economy, figure: Figure) -> None:
    axes = figure.subplots()
    people, share = economy.lorenz()
    axes.plot(people, share, label=f"wealth, Gini {economy.gini:.3f}", linewidth=1.6)
    axes.plot([0, 1], [0, 1], color="0.4", linewidth=0.8, linestyle="--", label="equality")
    axes.set_xlabel("share of households, the poorest first")
    axes.set_ylabel("share of wealth")
    axes.set_aspect("equal")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.suptitle(_title(economy, "Lorenz curve"))


_DRAWN: dict[str, Callable[[Economy, Figure], None]] = {
    "market": _market,
    "distribution": _distribution,
    "lorenz": _lorenz,
}

KINDS = (*_DRAWN, "policy")
"""Kinds of figures of an economy; ``"policy"`` is that of its household."""
