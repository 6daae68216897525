"""Figures of an economy of Arellano (2008)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.arellano.result import DefaultEconomy
from beltline.host.plots.figures import colours
from beltline.host.plots.panels import GREY, SMALL, WIDTH, beside, label, plotter, spread
from beltline.host.plots.regions import region_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from beltline.host.problem.arrays import Array

APART = 0.05
"""Distance of the low and the high income of a figure from mean income, as a share of it."""

STYLES = ("-", "--")
"""Line styles of these two incomes."""

OWED = "bonds B, units of the good (debt is negative)"
NEXT = "next bonds B', units of the good (debt is negative)"


def _incomes(economy: DefaultEconomy) -> list[tuple[int, str]]:
    """Return two states near mean income, and their labels."""
    mean, income = economy.model.mean_income, economy.income
    found = []
    for name, factor in (("low", 1 - APART), ("high", 1 + APART)):
        s = int(np.abs(income - factor * mean).argmin())
        found.append((s, f"{name} income, y = {income[s]:.3f}"))
    return found


def _default(economy: DefaultEconomy, figure: Figure) -> str:
    axes = figure.subplots()
    handles = region_panel(axes, economy.bonds, economy.solution.tables.choice[0], economy.solution.alternatives[:2])
    incomes = economy.income
    shown = spread(incomes.size, 7)
    axes.set_yticks(shown, [f"{incomes[s]:.3f}" for s in shown])
    axes.set_xlabel(OWED)
    axes.set_ylabel("income y, units of the good (even steps of ln y)")
    beside(figure, handles)
    return "Default set"


def _by_income(economy: DefaultEconomy, axes: Axes, x: Array, table: Array) -> None:
    for (s, name), colour, style in zip(_incomes(economy), colours(3)[::2], STYLES, strict=True):
        axes.plot(x, table[:, s], label=name, color=colour, linestyle=style, linewidth=WIDTH)


def _prices(economy: DefaultEconomy, figure: Figure) -> str:
    axes = figure.subplots()
    debt = economy.bonds <= 0.0
    _by_income(economy, axes, economy.bonds[debt], economy.prices[debt])
    safe = 1.0 / (1.0 + economy.model.interest)
    axes.axhline(safe, linestyle=":", label=f"safe, {safe:.4f}", **GREY)
    label(axes, NEXT, "price q(B', y) of a bond")
    return "Price of bonds"


def _policy(economy: DefaultEconomy, figure: Figure) -> str:
    axes = figure.subplots()
    _by_income(economy, axes, economy.bonds, economy.policy_values)
    axes.plot(economy.bonds, economy.bonds, linestyle=":", label="B' = B", **GREY)
    label(axes, f"{OWED}; no line: default", NEXT)
    return "Bonds chosen"


plot = plotter(
    {"default": _default, "prices": _prices, "policy": _policy}, lambda _: "Arellano's economy",
    dict.fromkeys(DefaultEconomy.figures, SMALL),
)  # fmt: skip
