"""Aiyagari's economy as figures."""

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
"""Share of households, the poorest, that the figure of wealth has room for."""


def plot(economy: Economy, path: str | os.PathLike[str] | None = None, kind: str = "market") -> Figure:
    """Draw a figure of ``economy`` as :meth:`~beltline.host.models.aiyagari.result.Economy.plot` says, and write it if
    there is a path.

    Raises
    ------
    ProblemError
        ``path`` is no place for a figure, ``kind`` is not known, or matplotlib is not installed.
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
    axes.plot([economy.model.capital(rate) for rate in rates], 100 * rates, label="firms rent", linewidth=1.6)
    shown = [step for step in steps if step.supply < near]
    axes.plot([step.supply for step in shown], [100 * step.interest for step in shown], "o-",
              markersize=4, label="households hold", linewidth=1.2)  # fmt: skip
    axes.axhline(100 * (1 / economy.model.beta - 1), color="0.4", linewidth=0.8, linestyle="--", label="1/beta - 1")
    axes.plot([economy.capital], [100 * economy.interest], "k+", markersize=12, label=f"r = {economy.interest:.3%}")
    axes.set_xlim(0, near)
    axes.set_xlabel("capital a head, units of the good")
    axes.set_ylabel("interest, per cent a period")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.suptitle(_title(economy, "The market for capital"))


def _distribution(economy: Economy, figure: Figure) -> None:
    axes = figure.subplots()
    problem, mass = economy.household.problem, economy.distribution
    grid, held = problem.grid, mass.sum(axis=1)
    top = float(grid[min(int(np.searchsorted(np.cumsum(held), SHOWN)), grid.size - 1)])
    # Each point has the ground half way to its neighbours, and neighbours are gathered: mass of single ones jumps.
    ground = np.concatenate([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    first = np.unique(np.searchsorted(ground[:-1], np.linspace(0.0, max(top, float(grid[1])), INTERVALS)))
    first = first[first < grid.size]
    edges = ground[np.append(first, grid.size)]
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
"""What can be drawn of an economy; ``"policy"`` is a figure of its household."""
