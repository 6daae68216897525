"""Figures of an Aiyagari economy with several types of households."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.aiyagari_types.result import TypesEconomy
from beltline.host.plots.figures import check_kind, colours, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(economy: TypesEconomy, path: str | os.PathLike[str] | None = None, kind: str = "shares") -> Figure:
    """Draw a figure of ``economy``; the method :meth:`beltline.TypesEconomy.plot` calls this.

    Raises
    ------
    ProblemError
        A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
    """
    check_kind(kind, KINDS)
    return drawn(lambda figure: _DRAWN[kind](economy, figure), path, (8.0, 4.5))


def _title(economy: TypesEconomy, what: str) -> str:
    return f"{what}, Aiyagari's economy{'' if economy.success else f' ({economy.status})'}"


def _shares(economy: TypesEconomy, figure: Figure) -> None:
    axes = figure.subplots()
    places = np.arange(len(economy.model.betas))
    dark, light = colours(2)
    axes.bar(places - 0.2, 100 * economy.model.shares, 0.4, color=light, label="of households")
    axes.bar(places + 0.2, 100 * economy.wealth_shares, 0.4, color=dark, label="of wealth")
    axes.set_xticks(places, economy.model.names)
    axes.set_ylabel("percent")
    axes.grid(alpha=0.3, axis="y")
    axes.legend()
    figure.suptitle(_title(economy, "Shares by type"))


def _lorenz(economy: TypesEconomy, figure: Figure) -> None:
    axes = figure.subplots()
    people, share = economy.lorenz()
    axes.plot(people, share, color=colours(1)[0], label=f"wealth, Gini {economy.gini:.3f}", linewidth=1.6)
    axes.plot([0, 1], [0, 1], color="0.4", linewidth=0.8, linestyle="--", label="equality")
    axes.set_xlabel("share of households, the poorest first")
    axes.set_ylabel("share of wealth")
    axes.set_aspect("equal")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.suptitle(_title(economy, "Lorenz curve"))


_DRAWN: dict[str, Callable[[TypesEconomy, Figure], None]] = {"shares": _shares, "lorenz": _lorenz}

KINDS = tuple(_DRAWN)
"""Kinds of figures of such an economy."""
