"""Figures of an economy of Hopenhayn and Rogerson (1993)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.models.hopenhayn_rogerson.calibration import BEFORE
from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy
from beltline.host.plots.figures import check_kind, colours, drawn
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


def plot(economy: FirmEconomy, path: str | os.PathLike[str] | None = None, kind: str = "regions") -> Figure:
    """Draw a figure of ``economy``; the method :meth:`beltline.FirmEconomy.plot` calls this.

    Raises
    ------
    ProblemError
        A figure cannot be written to ``path``, there is no figure ``kind``, or Matplotlib is not installed.
    """
    check_kind(kind, KINDS)
    return drawn(lambda figure: _DRAWN[kind](economy, figure), path, (8.0, 4.5))


def _finish(economy: FirmEconomy, figure: Figure, what: str) -> None:
    tail = "" if economy.success else f" ({economy.status})"
    figure.suptitle(f"{what}, Hopenhayn and Rogerson's economy, tau = {economy.model.tau:g}{tail}")


def _by_size(axes: Axes, horizontal: str) -> None:
    # A logarithmic axis has no 0, which is one of the sizes.
    axes.set_xscale("symlog", linthresh=1.0)
    axes.set_xlabel(horizontal)


def _regions(economy: FirmEconomy, figure: Figure) -> None:
    axes = figure.subplots()
    what = 1 - np.sign(economy.policy - np.arange(economy.model.grid)[:, None])
    if economy.model.exits == BEFORE:
        what = np.where(economy.exits, what + len(REGIONS), what)
        names = [*REGIONS, *(f"{name}, then exit" for name in REGIONS)]
    else:
        what = np.where(economy.exits, len(REGIONS), what)
        names = [*REGIONS, "exit"]
    handles = region_panel(axes, economy.workers, what, names)
    shown = np.unique(np.linspace(0, economy.model.states - 1, min(economy.model.states, 7)).round().astype(int))
    axes.set_yticks(shown, [f"{economy.productivity[s]:.3g}" for s in shown])
    axes.set_ylabel("productivity z (uniform in ln z)")
    _by_size(axes, BEFORE_NOW)
    figure.legend(handles=handles, loc="outside right center", fontsize="small")
    _finish(economy, figure, "Choices of firms")


def _policy(economy: FirmEconomy, figure: Figure) -> None:
    axes = figure.subplots()
    shown = np.unique(np.linspace(0, economy.model.states - 1, min(economy.model.states, LINES)).round().astype(int))
    for s, colour in zip(shown, colours(len(shown)), strict=True):
        axes.plot(
            economy.workers, economy.policy_values[:, s], color=colour, linewidth=1.8,
            label=f"z = {economy.productivity[s]:.3g}",
        )  # fmt: skip
    axes.plot(economy.workers, economy.workers, color="0.4", linewidth=0.8, linestyle=":", label="n' = n")
    axes.set_yscale("symlog", linthresh=1.0)
    _by_size(axes, BEFORE_NOW)
    axes.set_ylabel(NOW)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    _finish(economy, figure, "Workers")


def _distribution(economy: FirmEconomy, figure: Figure) -> None:
    axes = figure.subplots()
    chosen = economy.policy_values.ravel()
    order = np.argsort(chosen, kind="stable")
    for name, weights, colour in zip(
        ("firms", "employment"), (economy.distribution.ravel(), economy.distribution.ravel() * chosen), colours(2),
        strict=True,
    ):  # fmt: skip
        sums = np.cumsum(weights[order])
        axes.step(chosen[order], sums / sums[-1], where="post", color=colour, linewidth=1.8, label=name)
    _by_size(axes, NOW)
    axes.set_ylabel("cumulative share")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    _finish(economy, figure, "Firms and employment by size")


_DRAWN: dict[str, Callable[[FirmEconomy, Figure], None]] = {
    "regions": _regions,
    "policy": _policy,
    "distribution": _distribution,
}

KINDS = tuple(_DRAWN)
"""Kinds of figures of such an economy."""
