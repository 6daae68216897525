"""Figures of an economy of Hopenhayn and Rogerson (1993)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.hopenhayn_rogerson.calibration import BEFORE
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy
from beltline.host.plots.panels import GREY, SMALL, beside, label, lines, plotter, spread
from beltline.host.plots.regions import region_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REGIONS = ("hire", "no change", "fire")
"""Choices of firms that produce; if they exit at the end of the period there are the same three again."""

LINES = 5
"""Number of productivities that are drawn as lines."""

BEFORE_NOW = "workers n of the last period"
NOW = "workers n' of this period"


def _subject(economy: FirmEconomy) -> str:
    return f"Hopenhayn and Rogerson's economy, tau = {economy.model.tau:g}"


def _by_size(axes: Axes) -> None:
    # A logarithmic axis has no 0, which is one of the sizes.
    axes.set_xscale("symlog", linthresh=1.0)


def _regions(economy: FirmEconomy, figure: Figure) -> str:
    axes = figure.subplots()
    what = 1 - np.sign(economy.policy - np.arange(economy.model.grid)[:, None])
    if economy.model.exits == BEFORE:
        what = np.where(economy.exits, what + len(REGIONS), what)
        names = [*REGIONS, *(f"{name}, then exit" for name in REGIONS)]
    else:
        what = np.where(economy.exits, len(REGIONS), what)
        names = [*REGIONS, "exit"]
    handles = region_panel(axes, economy.workers, what, names)
    shown = spread(economy.model.states, 7)
    axes.set_yticks(shown, [f"{economy.productivity[s]:.3g}" for s in shown])
    axes.set_xlabel(BEFORE_NOW)
    axes.set_ylabel("productivity z (uniform in ln z)")
    _by_size(axes)
    beside(figure, handles)
    return "Choices of firms"


def _policy(economy: FirmEconomy, figure: Figure) -> str:
    axes = figure.subplots()
    shown = spread(economy.model.states, LINES)
    lines(axes, economy.workers, {f"z = {economy.productivity[s]:.3g}": economy.policy_values[:, s] for s in shown})
    axes.plot(economy.workers, economy.workers, linestyle=":", label="n' = n", **GREY)
    label(axes, BEFORE_NOW, NOW)
    axes.set_yscale("symlog", linthresh=1.0)
    _by_size(axes)
    return "Workers"


def _distribution(economy: FirmEconomy, figure: Figure) -> str:
    axes = figure.subplots()
    chosen = economy.policy_values.ravel()
    order = np.argsort(chosen, kind="stable")
    firms = economy.distribution.ravel()
    sums = {name: np.cumsum(mass[order]) for name, mass in (("firms", firms), ("employment", firms * chosen))}
    lines(axes, chosen[order], {name: mass / mass[-1] for name, mass in sums.items()}, drawstyle="steps-post")
    label(axes, NOW, "cumulative share")
    _by_size(axes)
    return "Firms and employment by size"


plot = plotter(
    {"regions": _regions, "policy": _policy, "distribution": _distribution}, _subject,
    dict.fromkeys(FirmEconomy.figures, SMALL),
)  # fmt: skip
