"""The figures of models, one function for each kind that ``figures`` of a result describes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.gpu_ref.krusell_smith.euler_iteration import spline_weights
from beltline.host.models.aiyagari_path.result import TransitionPath
from beltline.host.models.equilibrium import path_figures as _figures  # noqa: F401  (declares figures)
from beltline.host.models.hopenhayn_rogerson.calibration import BEFORE
from beltline.host.models.krusell_smith.calibration import AGGREGATES, EMPLOYMENT
from beltline.host.plots.figures import INTERVALS, SIZE, colours, density_panel, legend_labels
from beltline.host.plots.panels import GREY, KINDS, WIDTH, beside, draws, label, lines, lorenz_panel, plot_kind, spread
from beltline.host.plots.regions import region_panel
from beltline.host.problem.arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from beltline.host.models.aiyagari.result import Economy
    from beltline.host.models.aiyagari_types.model import TypesEconomy
    from beltline.host.models.arellano.model import DefaultEconomy
    from beltline.host.models.cohort.model import CohortResult
    from beltline.host.models.hopenhayn_rogerson.result import FirmEconomy
    from beltline.host.models.krusell_smith.result import Equilibrium
    from beltline.host.models.lumpy_investment.model import LumpyInvestmentResult
    from beltline.host.models.retirement.model import RetirementResult

SUBJECTS: dict[str, Any] = {
    "Economy": lambda _: "Aiyagari's economy",
    "TransitionPath": lambda _: "Aiyagari's economy",
    "TypesEconomy": lambda _: "Aiyagari's economy",
    "MarketEquilibrium": lambda found: found.household.problem.name,
    "MarketPath": lambda found: f"{found.value.shape[0]} dates",
    "DefaultEconomy": lambda _: "Arellano's economy",
    "CohortResult": lambda found: f"a cohort, ages {found.model.first} to {found.model.last}, work until "
    f"{found.model.retirement}",
    "FirmEconomy": lambda found: f"Hopenhayn and Rogerson's economy, tau = {found.model.tau:g}",
    "Equilibrium": lambda found: f"Krusell-Smith, {found.wealth.size:,} agents",
    "LumpyInvestmentResult": lambda _: "lumpy investment",
    "RetirementResult": lambda found: f"{found.model.ages} ages"
    + (f", taste shocks of {found.model.taste:g}" if found.model.taste > 0 else ""),
}  # fmt: skip
"""What the titles of figures call the solution of a model, by its class."""


def plot(result: Any, path: Any, kind: str) -> Figure:
    """Draw a figure of the solution of a model; those of its household's policy are the household's."""
    name = type(result).__name__
    if (name, kind) in (("Economy", "policy"), ("MarketEquilibrium", "policy")):
        return result.household.plot(path, kind)
    return plot_kind(result, path, kind, SUBJECTS[name](result))


def _regions(
    axes: Axes, x: Array, what: NDArray[Any], names: Sequence[str], rows: Sequence[str], across: str, up: str
) -> None:
    """Draw where each of ``names`` is taken, by ``x`` and by the exogenous states, which ``rows`` name."""
    handles = region_panel(axes, x, what, names)
    shown = spread(len(rows), 7)
    axes.set_yticks(shown, [rows[s] for s in shown])
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    beside(axes.figure, handles)


for _name, _size in (("Economy", SIZE), ("TypesEconomy", None), ("Equilibrium", (6.0, 6.0))):
    draws(_name, "lorenz", "Lorenz curve", *([_size] if _size else []))(lorenz_panel)


SHOWN = 0.995
"""Share of households, the poorest first, whose wealth the figure of the distribution shows."""


@draws("Economy", "market", "Capital market", SIZE)
def _supply_and_demand(economy: Economy, axes: Axes) -> None:
    steps = sorted(economy.steps, key=lambda step: step.interest)
    patience = 1 / economy.model.beta - 1
    rates = np.linspace(min(steps[0].interest, 0.0), patience, 200)
    near = 3 * max(economy.capital, economy.steps[-1].demand)
    axes.plot([economy.model.capital(rate) for rate in rates], 100 * rates, label="demand", linewidth=1.6)
    shown = [step for step in steps if step.supply < near]
    axes.plot([step.supply for step in shown], [100 * step.interest for step in shown], "o-",
              markersize=4, label="supply", linewidth=1.2)  # fmt: skip
    axes.axhline(100 * patience, linestyle="--", label="1/beta - 1", **GREY)
    axes.plot([economy.capital], [100 * economy.interest], "k+", markersize=12, label=f"r = {economy.interest:.3%}")
    label(axes, "capital per head, units of the good", "interest rate, percent per period")
    axes.set_xlim(0, near)


@draws("Economy", "distribution", "Wealth", SIZE)
@draws("MarketEquilibrium", "distribution", "Distribution", SIZE)
def _density_of_wealth(economy: Any, axes: Axes) -> None:
    problem = economy.household.problem
    mass = economy.distribution.reshape(-1, problem.points, problem.states).sum(axis=0)
    grid = problem.grid
    last = min(int(np.searchsorted(np.cumsum(mass.sum(axis=1)), SHOWN)), grid.size - 1)
    top = max(float(grid[last]), float(grid[1]))
    # Neighbours are added up to intervals of about the same length.
    lower = np.append(grid[0], (grid[:-1] + grid[1:]) / 2)
    first = np.unique(np.searchsorted(lower, np.linspace(grid[0], top, INTERVALS)))
    density_panel(axes, grid, mass, first[first < grid.size], legend_labels(problem))
    label(axes, f"{problem.asset}, units of the good (the poorest {SHOWN:.1%} of households)",
          "density, per unit of the good", legend=False)  # fmt: skip
    axes.set_xlim(grid[0], top)
    beside(axes.figure)


@draws("TransitionPath", "path", "An unexpected change of productivity", (10.0, 6.5), nrows=2, ncols=2)
def _path(result: TransitionPath, *panels: Axes) -> None:
    model, before = result.model, result.initial
    output = before.productivity * before.capital**model.economy.alpha
    consumption = output - model.economy.delta * before.capital
    dates = np.arange(model.periods)
    shown = (
        (("capital", result.capital, before.capital), ("productivity", result.productivity, before.productivity)),
        (("output", result.output, output), ("consumption", result.consumption, consumption)),
        (("wage", result.wage, before.wage),),
    )
    for axes, drawn_here in zip(panels, shown, strict=False):
        changes = {name: 100.0 * (series / level - 1.0) for name, series, level in drawn_here}
        lines(axes, dates, changes, ("-", "--"))
        axes.axhline(0.0, linestyle=":", **GREY)
    panels[-1].plot(dates, 100.0 * result.interest, color=colours(1)[0], label="interest rate", linewidth=WIDTH)
    panels[-1].axhline(100.0 * before.interest, linestyle=":", label="initial", **GREY)
    for axes, up in zip(panels, (*["percent from initial steady state"] * 3, "percent per period"), strict=True):
        label(axes, "date", up)


@draws("TransitionPath", "inequality", "Inequality")
def _path_inequality(result: TransitionPath, axes: Axes) -> None:
    lines(axes, np.arange(result.gini.size), {"wealth": result.gini})
    label(axes, "date", "Gini coefficient")


@draws("TypesEconomy", "shares", "Shares by type")
def _types_shares(economy: TypesEconomy, axes: Axes) -> None:
    places = np.arange(len(economy.model.betas))
    dark, light = colours(2)
    axes.bar(places - 0.2, 100 * economy.model.shares, 0.4, color=light, label="of households")
    axes.bar(places + 0.2, 100 * economy.wealth_shares, 0.4, color=dark, label="of wealth")
    label(axes, "type", "percent")
    axes.set_xticks(places, economy.model.names)


APART = 0.05
"""Distance of the low and the high income of a figure from mean income, as a share of it."""

STYLES = ("-", "--")
"""Line styles of these two incomes."""

OWED = "bonds B, units of the good (debt is negative)"
NEXT = "next bonds B', units of the good (debt is negative)"


def _arellano_incomes(economy: DefaultEconomy) -> list[tuple[int, str]]:
    """Return two states near mean income, and their labels."""
    mean, income = economy.model.mean_income, economy.income
    found = []
    for name, factor in (("low", 1 - APART), ("high", 1 + APART)):
        s = int(np.abs(income - factor * mean).argmin())
        found.append((s, f"{name} income, y = {income[s]:.3f}"))
    return found


@draws("DefaultEconomy", "default", "Default set")
def _arellano_default(economy: DefaultEconomy, axes: Axes) -> None:
    taken, names = economy.solution.tables.choice[0], economy.solution.alternatives[:2]
    incomes = [f"{income:.3f}" for income in economy.income]
    _regions(axes, economy.bonds, taken, names, incomes, OWED, "income y, units of the good (even steps of ln y)")


def _arellano_by_income(economy: DefaultEconomy, axes: Axes, x: Array, table: Array) -> None:
    for (s, name), colour, style in zip(_arellano_incomes(economy), colours(3)[::2], STYLES, strict=True):
        axes.plot(x, table[:, s], label=name, color=colour, linestyle=style, linewidth=WIDTH)


@draws("DefaultEconomy", "prices", "Price of bonds")
def _arellano_prices(economy: DefaultEconomy, axes: Axes) -> None:
    debt = economy.bonds <= 0.0
    _arellano_by_income(economy, axes, economy.bonds[debt], economy.prices[debt])
    safe = 1.0 / (1.0 + economy.model.interest)
    axes.axhline(safe, linestyle=":", label=f"safe, {safe:.4f}", **GREY)
    label(axes, NEXT, "price q(B', y) of a bond")


@draws("DefaultEconomy", "policy", "Bonds chosen")
def _arellano_policy(economy: DefaultEconomy, axes: Axes) -> None:
    _arellano_by_income(economy, axes, economy.bonds, economy.policy_values)
    axes.plot(economy.bonds, economy.bonds, linestyle=":", label="B' = B", **GREY)
    label(axes, f"{OWED}; no line: default", NEXT)


GOOD = "units of the good"

DRAWN_AGES = 4
"""Number of ages whose consumption is drawn."""


def _cohort_label(axes: Axes, up: str, across: str = "age") -> None:
    label(axes, across, up)
    axes.set_ylim(bottom=0.0)


@draws("CohortResult", "paths", "Paths", SIZE, ncols=2)
def _cohort_paths(result: CohortResult, left: Axes, right: Axes) -> None:
    paths = result.paths((0.1, 0.5, 0.9))
    dark, middle, light = colours(3)
    left.fill_between(paths.ages, *paths.percentiles["consumption"][[0, 2]], color=middle, alpha=0.2,
                      label="consumption, percentiles 10 to 90")  # fmt: skip
    for name, colour, line in (("income", dark, "--"), ("consumption", middle, "-")):
        left.plot(paths.ages, paths.mean[name], line, color=colour, label=f"{name}, mean", linewidth=1.6)
    right.fill_between(paths.ages, *paths.percentiles["assets"][[0, 2]], color=light, alpha=0.3,
                       label="assets, percentiles 10 to 90")  # fmt: skip
    right.plot(paths.ages, paths.mean["assets"], color=dark, label="assets, mean", linewidth=1.6)
    right.plot(paths.ages, paths.percentiles["assets"][1], "--", color=middle, label="assets, median", linewidth=1.6)
    for axes in (left, right):
        axes.axvline(result.model.retirement + 0.5, color="0.4", linewidth=0.8, linestyle=":")
        _cohort_label(axes, GOOD)


@draws("CohortResult", "inequality", "Inequality", SIZE, ncols=2)
def _cohort_inequality(result: CohortResult, left: Axes, right: Axes) -> None:
    paths = result.paths()
    lines(left, paths.ages, paths.log_variance)
    _cohort_label(left, "variance of logarithms")
    lines(right, paths.ages, {"assets": paths.gini})
    _cohort_label(right, "Gini coefficient")


@draws("CohortResult", "policy", "Consumption in the middle state of income", SIZE)
def _cohort_policy(result: CohortResult, axes: Axes) -> None:
    shown = spread(result.model.ages - 1, DRAWN_AGES)
    middle = result.policy.shape[2] // 2
    # Twice the largest percentile 90 of any age: nearly everybody has less.
    top = 2.0 * float(result.paths((0.9,)).percentiles["assets"].max())
    there = result.assets <= max(top, float(result.assets[1]))
    curves = {f"age {result.ages[age]}": result.consumption[age, there, middle] for age in shown}
    lines(axes, result.assets[there], curves)
    _cohort_label(axes, f"consumption, {GOOD}", f"assets, {GOOD}")


REGIONS = ("hire", "no change", "fire")
"""Choices of firms that produce; if they exit at the end of the period there are the same three again."""

LINES = 5
"""Number of productivities that are drawn as lines."""

BEFORE_NOW = "workers n of the last period"
NOW = "workers n' of this period"

BY_SIZE: dict[str, Any] = {"value": "symlog", "linthresh": 1.0}
"""Scale of sizes of firms: a logarithmic axis has no 0, which is one of them."""


@draws("FirmEconomy", "regions", "Choices of firms")
def _firms_regions(economy: FirmEconomy, axes: Axes) -> None:
    what = 1 - np.sign(economy.policy - np.arange(economy.model.grid)[:, None])
    if economy.model.exits == BEFORE:
        what = np.where(economy.exits, what + len(REGIONS), what)
        names = [*REGIONS, *(f"{name}, then exit" for name in REGIONS)]
    else:
        what = np.where(economy.exits, len(REGIONS), what)
        names = [*REGIONS, "exit"]
    rows = [f"{z:.3g}" for z in economy.productivity]
    _regions(axes, economy.workers, what, names, rows, BEFORE_NOW, "productivity z (uniform in ln z)")
    axes.set_xscale(**BY_SIZE)


@draws("FirmEconomy", "policy", "Workers")
def _firms_policy(economy: FirmEconomy, axes: Axes) -> None:
    shown = spread(economy.model.states, LINES)
    lines(axes, economy.workers, {f"z = {economy.productivity[s]:.3g}": economy.policy_values[:, s] for s in shown})
    axes.plot(economy.workers, economy.workers, linestyle=":", label="n' = n", **GREY)
    label(axes, BEFORE_NOW, NOW)
    axes.set_yscale(**BY_SIZE)
    axes.set_xscale(**BY_SIZE)


@draws("FirmEconomy", "distribution", "Firms and employment by size")
def _firms_distribution(economy: FirmEconomy, axes: Axes) -> None:
    chosen = economy.policy_values.ravel()
    order = np.argsort(chosen, kind="stable")
    firms = economy.distribution.ravel()
    sums = {name: np.cumsum(mass[order]) for name, mass in (("firms", firms), ("employment", firms * chosen))}
    lines(axes, chosen[order], {name: mass / mass[-1] for name, mass in sums.items()}, drawstyle="steps-post")
    label(axes, NOW, "cumulative share")
    axes.set_xscale(**BY_SIZE)


SURFACE = 60
"""Number of lines of a surface along ``k``."""

BINS = 120
"""Largest number of bins of the distribution of wealth; there is one more for each hundred agents."""

TAIL = 0.999
"""Share of households, the poorest first, that the distribution shows; the axis label says so."""


@draws("Equilibrium", "policy", "Saving", (10.0, 8.0), nrows=2, ncols=2, subplot_kw={"projection": "3d"})
def _krusell_policy(result: Equilibrium, *panels: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    # Up to the wealth of nearly all households, closer near 0, where the policy is curved; in K splines, as solved.
    k = float(np.quantile(result.wealth, TAIL)) * np.linspace(0, 1, SURFACE) ** 2
    means = np.linspace(result.economy.low, result.economy.high, SURFACE // 3)
    weights = spline_weights(result.economy.mean_grid, means)
    x, y = np.meshgrid(k, means, indexing="ij")
    for place, axes in enumerate(panels):
        a, e = divmod(place, 2)
        columns = np.stack([np.interp(k, result.grid, column) for column in result.policy[:, :, a, e].T])
        axes.plot_surface(
            x,
            y,
            columns.T @ weights.T - x,
            cmap="viridis",
            rcount=SURFACE,
            ccount=SURFACE,
            edgecolor="0.3",
            linewidth=0.15,
        )
        axes.set_title(f"{AGGREGATES[a]}, {EMPLOYMENT[e]}", y=0.98)
        axes.set_xlabel("capital k")
        axes.set_ylabel("mean capital K")
        axes.set_zlabel("saving, k' - k")
        axes.set_box_aspect(None, zoom=0.88)
        axes.tick_params(labelsize="small", pad=1)
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_major_locator(MaxNLocator(5))


@draws("Equilibrium", "law", "Law of motion", SIZE, nrows=2, sharex=True, height_ratios=(2, 1))
def _krusell_law(result: Equilibrium, upper: Axes, lower: Axes) -> None:
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


@draws("Equilibrium", "path", "Mean capital", SIZE, nrows=2, sharex=True, height_ratios=(2, 1))
def _krusell_path(result: Equilibrium, upper: Axes, lower: Axes) -> None:
    periods = np.arange(result.discard, result.capital.size)
    upper.plot(periods, result.capital[result.discard :], linewidth=1.4, label="panel")
    upper.plot(periods, result.forecast, linewidth=1.0, linestyle="--", label="law of motion alone")
    label(upper, "", "mean capital K")
    lower.plot(periods, result.forecast_errors, linewidth=1.0, color="tab:red")
    label(lower, "period", "forecast error, %")


@draws("Equilibrium", "wealth", "Wealth", SIZE)
def _krusell_wealth(result: Equilibrium, axes: Axes) -> None:
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


FEW = 1e-6
"""Smallest share of firms of a capital gap that is drawn."""

NEAR = 0.3
"""Range of capital that is drawn on either side of the inaction range, in logs."""


def _plain(axis: Axis) -> None:
    """Print plain numbers on a logarithmic axis."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


@draws("LumpyInvestmentResult", "band", "Range of inaction")
def _lumpy_band(result: LumpyInvestmentResult, axes: Axes) -> None:
    dark, _, bright = colours(3)
    z = result.productivity
    axes.fill_between(z, result.lower, result.upper, color="0.85", label="no adjustment")
    axes.plot(z, result.upper, color=bright, label="upper end", linewidth=1.4)
    convex = result.model.convex > 0.0
    target = "target: the choice without adjustment costs" if convex else "adjusted to, at the end of the period"
    axes.plot(z, result.target, "o-", color="0.2", label=target, markersize=4)
    axes.plot(z, result.lower, color=dark, label="lower end", linewidth=1.4)
    axes.set_yscale("log")
    _plain(axes.yaxis)
    label(axes, "productivity z", "capital k at the beginning, units of the good")


@draws("LumpyInvestmentResult", "hazard", "Hazard of adjustment")
def _lumpy_hazard(result: LumpyInvestmentResult, axes: Axes) -> None:
    every = result.hazard()
    shown = every.firms > FEW
    gap, adjusts, firms = every.gap[shown], every.adjusts[shown], every.firms[shown]
    dark, _, bright = colours(3)
    axes.plot(gap, adjusts, "o-", color=dark, label="share that adjusts", linewidth=1.2, markersize=4)
    across = "capital gap: log of depreciated capital, less log of target capital"
    label(axes, across, "share of firms with this gap that adjust", legend=False)
    other = axes.twinx()
    depreciation = -math.log1p(-result.model.delta)
    other.bar(gap, firms, width=0.8 * depreciation, color=bright, alpha=0.5, label="firms (right)")
    other.set_ylabel("share of all firms")
    # The line is drawn over the bars.
    axes.set_zorder(other.get_zorder() + 1)
    axes.patch.set_visible(False)
    beside(axes.figure)


@draws("LumpyInvestmentResult", "investment", "Investment")
def _lumpy_investment(result: LumpyInvestmentResult, axes: Axes) -> None:
    states = result.model.states
    shown = sorted({states // 4, states // 2, states - 1 - states // 4})
    inactive = [number for s in shown for number in np.flatnonzero(~result.adjusts[:, s])]
    ends = (min(inactive), max(inactive)) if inactive else (0, result.model.points - 1)
    # Only capital near the inaction range is drawn; farther away rates only grow.
    wide = int(NEAR / -math.log1p(-result.model.delta) * result.model.steps)
    near = slice(max(ends[0] - wide, 0), ends[1] + wide + 1)
    rates = {f"productivity {result.productivity[s]:.2f}": 100.0 * result.investment_rate[near, s] for s in shown}
    lines(axes, result.capital[near], rates)
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set_xscale("log")
    _plain(axes.xaxis)
    label(axes, "capital k at the beginning, units of the good", "investment, percent of capital")


HIGHEST = 2.0
"""Highest consumption of a figure, in multiples of the wage."""

WEALTH = "wealth M, units of the good"


def _retirement_by_wealth(result: RetirementResult, axes: Axes, table: Array, up: str) -> None:
    """Draw a line for each of up to three ages: the first, the middle, and the third from the end."""
    ages = sorted({0, (result.model.ages - 1) // 2, max(0, result.model.ages - 3)}, reverse=True)
    lines(axes, result.wealth, {f"age {age + 1}": table[age] for age in ages})
    label(axes, WEALTH, up)


@draws("RetirementResult", "consumption", "Consumption")
def _retirement_consumption(result: RetirementResult, axes: Axes) -> None:
    _retirement_by_wealth(result, axes, result.consumption, "consumption c of a worker, units of the good")
    axes.set_ylim(0.0, HIGHEST * result.model.wage)


@draws("RetirementResult", "threshold", "Retirement threshold")
def _retirement_threshold(result: RetirementResult, axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    ages = np.arange(1, result.model.ages + 1)
    axes.plot(ages, result.threshold, "o-", color=colours(1)[0], label="on the grid", linewidth=1.2, markersize=4)
    if result.model.taste == 0:
        exact = result.closed_form()
        axes.plot(ages, [exact.threshold(age) for age in ages.tolist()], "k+", label="closed form", markersize=10)
    label(axes, "age", f"threshold of {WEALTH}")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


@draws("RetirementResult", "probability", "Retirement")
def _retirement_probability(result: RetirementResult, axes: Axes) -> None:
    _retirement_by_wealth(result, axes, result.retirement_probability, "probability that a worker retires")


vars(plot)["kinds"] = tuple(dict.fromkeys(kind for _, kind in KINDS))
