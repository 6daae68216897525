"""Figures of an equilibrium of Krusell and Smith (1998)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from beltline.gpu_ref.krusell_smith.euler_iteration import spline_weights
from beltline.host.models.krusell_smith.calibration import AGGREGATES, EMPLOYMENT
from beltline.host.models.krusell_smith.result import Equilibrium
from beltline.host.plots.panels import GREY, label, lorenz_panel, plotter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINES = 60
"""Number of lines of a surface along ``k``."""

BINS = 120
"""Largest number of bins of the distribution of wealth; there is one more for each hundred agents."""

TAIL = 0.999
"""Share of households, the poorest first, that the distribution shows; the axis label says so."""


def _policy(result: Equilibrium, figure: Figure) -> str:
    from matplotlib.ticker import MaxNLocator

    # Up to the wealth of nearly all households, closer near 0, where the policy is curved; in K splines, as solved.
    k = float(np.quantile(result.wealth, TAIL)) * np.linspace(0, 1, LINES) ** 2
    means = np.linspace(result.economy.low, result.economy.high, LINES // 3)
    weights = spline_weights(result.economy.mean_grid, means)
    x, y = np.meshgrid(k, means, indexing="ij")
    for place in range(4):
        a, e = divmod(place, 2)
        axes = figure.add_subplot(2, 2, place + 1, projection="3d")
        columns = np.stack([np.interp(k, result.grid, column) for column in result.policy[:, :, a, e].T])
        axes.plot_surface(
            x, y, columns.T @ weights.T - x, cmap="viridis", rcount=LINES, ccount=LINES, edgecolor="0.3", linewidth=0.15
        )
        axes.set_title(f"{AGGREGATES[a]}, {EMPLOYMENT[e]}", y=0.98)
        axes.set_xlabel("capital k")
        axes.set_ylabel("mean capital K")
        axes.set_zlabel("saving, k' - k")
        axes.set_box_aspect(None, zoom=0.88)
        axes.tick_params(labelsize="small", pad=1)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_major_locator(MaxNLocator(5))
    return "Saving"


def _law(result: Equilibrium, figure: Figure) -> str:
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    capital = result.capital[result.discard :]
    now, growth = capital[:-1], 100 * np.diff(np.log(capital))
    for a, (name, colour) in enumerate(zip(AGGREGATES, ("tab:red", "tab:blue"), strict=True)):
        here = result.aggregate[result.discard :] == a
        b0, b1 = result.law[a]
        line = np.linspace(now[here].min(), now[here].max(), 50)
        about = f"{name}: ln K' = {b0:.4f} + {b1:.4f} ln K, $R^2$ = {result.r2[a]:.7f}"
        upper.plot(line, 100 * (b0 + (b1 - 1) * np.log(line)), color=colour, linewidth=1.2, label=about)
        upper.scatter(now[here], growth[here], s=5, color=colour, alpha=0.4, linewidths=0)
        left = growth[here] - 100 * (b0 + (b1 - 1) * np.log(now[here]))
        lower.scatter(now[here], left, s=5, color=colour, alpha=0.6, linewidths=0)
    label(upper, "", "growth of K, %")
    lower.axhline(0, **GREY)
    label(lower, "mean capital K", "residual, %")
    return "Law of motion"


def _path(result: Equilibrium, figure: Figure) -> str:
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    periods = np.arange(result.discard, result.capital.size)
    upper.plot(periods, result.capital[result.discard :], linewidth=1.4, label="panel")
    upper.plot(periods, result.forecast, linewidth=1.0, linestyle="--", label="law of motion alone")
    label(upper, "", "mean capital K")
    lower.plot(periods, result.forecast_errors, linewidth=1.0, color="tab:red")
    label(lower, "period", "forecast error, %")
    return "Mean capital"


def _wealth(result: Equilibrium, figure: Figure) -> str:
    axes = figure.subplots()
    top = float(np.quantile(result.wealth, TAIL))
    bins = min(BINS, 20 + result.wealth.size // 100)
    edges = np.linspace(0, top, bins + 1)
    base = np.zeros(bins)
    for e, name in enumerate(EMPLOYMENT):
        counts, _ = np.histogram(result.wealth[result.employed == e], edges)
        density = counts / result.wealth.size / np.diff(edges)
        axes.stairs(base + density, edges, baseline=base, fill=True, alpha=0.8, label=name)
        base = base + density
    mean = float(result.wealth.mean())
    axes.axvline(mean, linestyle="--", label=f"mean {mean:.2f}", **GREY)
    label(axes, f"capital k, the richest {100 * (1 - TAIL):.1f} % left out", "density, per unit of the good")
    return "Wealth"


plot = plotter(
    {"policy": _policy, "law": _law, "path": _path, "wealth": _wealth, "lorenz": lorenz_panel},
    lambda result: f"Krusell-Smith, {result.wealth.size:,} agents", {"policy": (10.0, 8.0), "lorenz": (6.0, 6.0)},
)  # fmt: skip
