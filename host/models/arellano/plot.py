"""Figures of an economy of Arellano (2008)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.arellano.result import DefaultEconomy
from beltline.host.plots.figures import check_kind, colours, drawn
from beltline.host.plots.regions import region_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

APART = 0.05
"""Distance of the low and the high income of a figure from mean income, as a share of it."""

STYLES = ("-", "--")
"""Line styles of these two incomes."""

OWED = "bonds B, units of the good (debt is negative)"
NEXT = "next bonds B', units of the good (debt is negative)"


def plot(economy: DefaultEconomy, path: str | os.PathLike[str] | None = None, kind: str = "default") -> Figure:
    """Draw a figure of ``economy``; the method :meth:`beltline.DefaultEconomy.plot` calls this.

    Raises
    ------
    ProblemError
        A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
    """
    check_kind(kind, KINDS)
    return drawn(lambda figure: _DRAWN[kind](economy, figure), path, (8.0, 4.5))


def _finish(economy: DefaultEconomy, figure: Figure, what: str) -> None:
    figure.suptitle(f"{what}, Arellano's economy{'' if economy.success else f' ({economy.status})'}")


def _incomes(economy: DefaultEconomy) -> list[tuple[int, str]]:
    """Return two states near mean income, and their labels."""
    mean, income = economy.model.mean_income, economy.income
    found = []
    for name, factor in (("low", 1 - APART), ("high", 1 + APART)):
        s = int(np.abs(income - factor * mean).argmin())
        found.append((s, f"{name} income, y = {income[s]:.3f}"))
    return found


def _default(economy: DefaultEconomy, figure: Figure) -> None:
    axes = figure.subplots()
    handles = region_panel(axes, economy.bonds, economy.solution.tables.choice[0], economy.solution.alternatives[:2])
    incomes = economy.income
    shown = np.unique(np.linspace(0, incomes.size - 1, min(incomes.size, 7)).round().astype(int))
    axes.set_yticks(shown, [f"{incomes[s]:.3f}" for s in shown])
    axes.set_xlabel(OWED)
    axes.set_ylabel("income y, units of the good (even steps of ln y)")
    figure.legend(handles=handles, loc="outside right center", fontsize="small")
    _finish(economy, figure, "Default set")


def _lines(economy: DefaultEconomy, draw: Callable[[int, dict[str, object]], None]) -> None:
    for (s, label), colour, style in zip(_incomes(economy), colours(3)[::2], STYLES, strict=True):
        draw(s, {"label": label, "color": colour, "linestyle": style, "linewidth": 1.8})


def _labelled(axes: Axes, horizontal: str, vertical: str) -> None:
    axes.set_xlabel(horizontal)
    axes.set_ylabel(vertical)
    axes.margins(x=0.01)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _prices(economy: DefaultEconomy, figure: Figure) -> None:
    axes = figure.subplots()
    debt = economy.bonds <= 0.0
    _lines(economy, lambda s, style: axes.plot(economy.bonds[debt], economy.prices[debt, s], **style))  # type: ignore[arg-type]
    safe = 1.0 / (1.0 + economy.model.interest)
    axes.axhline(safe, color="0.4", linewidth=0.8, linestyle=":", label=f"safe, {safe:.4f}")
    _labelled(axes, NEXT, "price q(B', y) of a bond")
    _finish(economy, figure, "Price of bonds")


def _policy(economy: DefaultEconomy, figure: Figure) -> None:
    axes = figure.subplots()
    chosen = economy.policy_values
    _lines(economy, lambda s, style: axes.plot(economy.bonds, chosen[:, s], **style))  # type: ignore[arg-type]
    axes.plot(economy.bonds, economy.bonds, color="0.4", linewidth=0.8, linestyle=":", label="B' = B")
    _labelled(axes, f"{OWED}; no line: default", NEXT)
    _finish(economy, figure, "Bonds chosen")


_DRAWN: dict[str, Callable[[DefaultEconomy, Figure], None]] = {
    "default": _default,
    "prices": _prices,
    "policy": _policy,
}

KINDS = tuple(_DRAWN)
"""Kinds of figures of such an economy."""
