"""Figures of an Aiyagari economy with several types of households."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.aiyagari_types.result import TypesEconomy
from beltline.host.plots.figures import colours
from beltline.host.plots.panels import SMALL, label, lorenz_panel, plotter

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _shares(economy: TypesEconomy, figure: Figure) -> str:
    axes = figure.subplots()
    places = np.arange(len(economy.model.betas))
    dark, light = colours(2)
    axes.bar(places - 0.2, 100 * economy.model.shares, 0.4, color=light, label="of households")
    axes.bar(places + 0.2, 100 * economy.wealth_shares, 0.4, color=dark, label="of wealth")
    label(axes, "type", "percent")
    axes.set_xticks(places, economy.model.names)
    return "Shares by type"


plot = plotter(
    {"shares": _shares, "lorenz": lorenz_panel}, lambda _: "Aiyagari's economy",
    dict.fromkeys(TypesEconomy.figures, SMALL),
)  # fmt: skip
