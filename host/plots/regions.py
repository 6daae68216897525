"""Figures of results with regimes, alternatives or costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.plots.figures import colours, title_of
from beltline.host.problem.arrays import Array
from beltline.host.results.dataset import asset_unit, unit
from beltline.host.results.result import Result, Tables

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

NOTHING = (0.85, 0.85, 0.85)
"""Colour where there is no alternative."""

LABELS = 18
"""Largest number of alternatives that a legend names."""

PANELS = 8
"""Largest number of regimes that are drawn."""

LINES = 6
"""Largest number of states that are drawn as lines."""


def size_of(result: Result, kind: str) -> tuple[float, float]:
    """Return width and height of a figure of a result with regimes or alternatives, in inches."""
    panels = min(len(result.regimes), PANELS)
    return (max(7.0, 4.5 * panels), 4.5) if kind == "regions" else (9.0, 3.2 * panels + 1.0)


def _of_regime(result: Result, regime: int) -> list[int]:
    """Return the numbers of the alternatives of a regime."""
    given = result.problem.alternatives
    return [d for d, one in enumerate(given) if one.regime == result.regimes[regime]] or [0]


def _unit(result: Result) -> str:
    """Return the name of the asset for an axis, with its unit if that is the good."""
    problem = result.problem
    return f"{problem.asset}, {unit(problem)}" if asset_unit(problem) == unit(problem) != "1" else problem.asset


def regions(result: Result, figure: Figure) -> None:
    """Draw where each alternative is taken, one panel for each regime."""
    from matplotlib.patches import Patch

    problem = result.problem
    ages = problem.horizon is not None
    # With one exogenous state, by age; otherwise all states of the first age.
    by_age = ages and problem.states == 1
    taken = result.tables.choice
    choice = taken[:, :, :, 0].transpose(1, 2, 0) if by_age else taken[0] if ages else taken
    rows = [f"age {age + 1}" for age in range(choice.shape[2])] if by_age else list(problem.state_names)
    panels = figure.subplots(1, min(len(result.regimes), PANELS), squeeze=False)[0]
    for regime, axes in enumerate(panels):
        handles = region_panel(axes, problem.grid, choice[regime], result.alternatives)
        shown = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), 8)).round().astype(int))
        axes.set_yticks(shown, [rows[s] for s in shown])
        axes.set_xlabel(_unit(result))
        axes.set_title(f"Regime {result.regimes[regime]}" if result.regimes[regime] else "Best alternative")
    handles = _labelled(handles, choice)
    if (choice < 0).any():
        handles.append(Patch(color=NOTHING, label="none"))
    figure.legend(handles=handles, loc="outside right center", fontsize="small")
    title = title_of(result).split(", first")[0] if by_age else title_of(result)
    figure.suptitle(title + _first(result))


def _first(result: Result) -> str:
    """Return an addition to the title if not all regimes are drawn."""
    count = len(result.regimes)
    return f", the first {PANELS} of {count} regimes" if count > PANELS else ""


def _labelled(handles: list[Patch], choice: NDArray[np.integer[Any]]) -> list[Patch]:
    """Return the entries of a legend: if there are too many, those of the alternatives that are taken most."""
    from matplotlib.patches import Patch

    if len(handles) <= LABELS:
        return handles
    often = np.bincount(choice[choice >= 0], minlength=len(handles))
    named = np.sort(np.argsort(-often, kind="stable")[:LABELS])
    return [*(handles[d] for d in named), Patch(alpha=0.0, label=f"and {len(handles) - LABELS} more")]


def _most(patches: list[Patch]) -> list[Patch]:
    """Return the entries of a legend: if there are too many, the first ones and the number of the others."""
    from matplotlib.patches import Patch

    if len(patches) <= LABELS:
        return patches
    return [*patches[:LABELS], Patch(alpha=0.0, label=f"and {len(patches) - LABELS} more")]


def region_panel(axes: Axes, grid: Array, choice: NDArray[np.integer[Any]], names: Sequence[str]) -> list[Patch]:
    """Colour the region in which each alternative is taken.

    Parameters
    ----------
    axes
        Axes to draw on.
    grid : (N_k,) array
        Grid along the horizontal axis.
    choice : (N_k, rows) array of int
        Number of the alternative that is taken, -1 for none; rows are at 0, 1, 2, ... of the vertical axis.
    names : sequence of str
        Names of the alternatives.

    Returns
    -------
    list of Patch
        Entries of a legend, one for each alternative.
    """
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    edges = np.concatenate([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    # The first colour is for points without an alternative.
    palette: list[Any] = [NOTHING, *colours(len(names))]
    axes.pcolormesh(
        edges,
        np.arange(choice.shape[1] + 1) - 0.5,
        choice.T,
        cmap=ListedColormap(palette),
        norm=BoundaryNorm(np.arange(-1.5, len(names)), len(palette)),
        rasterized=True,
    )
    return [Patch(color=palette[1 + number], label=name) for number, name in enumerate(names)]


def _shades(count: int) -> list[Any]:
    """Return light colours, one for each alternative, against which lines are visible."""
    from matplotlib import colormaps

    return [tuple(0.5 + 0.5 * part for part in colormaps["Pastel1"](number % 9)[:3]) for number in range(count)]


def shade(axes: Axes, grid: Array, taken: NDArray[np.integer[Any]], shades: Sequence[Any]) -> None:
    """Shade the background by the alternative that is taken.

    Parameters
    ----------
    axes
        Axes to draw on.
    grid : (N_k,) array
        Grid along the horizontal axis.
    taken : (N_k,) array of int
        Number of the alternative; where it is negative nothing is shaded.
    shades : sequence of colours
        Colour of each alternative.
    """
    edges = np.concatenate([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    begins = np.flatnonzero(np.append(True, np.diff(taken) != 0))
    for begin, end in zip(begins, np.append(begins[1:], taken.size), strict=True):
        if taken[begin] >= 0:
            axes.axvspan(edges[begin], edges[end], color=shades[taken[begin]], linewidth=0.0, zorder=0)


def policy(result: Result, figure: Figure) -> None:
    """Draw value and choice of each regime, and shade the background by the alternative that is taken."""
    from matplotlib.patches import Patch

    problem = result.problem
    first = (0,) if problem.horizon is not None else ()
    tables = Tables(*(part[first] for part in result.tables))  # type: ignore[arg-type]
    grid, states = problem.grid, np.unique(np.linspace(0, problem.states - 1, min(problem.states, LINES)).astype(int))
    rows = figure.subplots(min(len(result.regimes), PANELS), 2, squeeze=False)
    # Alternatives are shaded for one state only, the middle one.
    middle, shades, patches = problem.states // 2, _shades(len(result.alternatives)), []
    where = f" ({problem.state_names[middle]})" if problem.states > 1 else ""
    for regime, (left, right) in enumerate(rows):
        best, own = tables.choice[regime], _of_regime(result, regime)
        chosen = np.full(best.shape, np.nan)
        for d in own:
            chosen = np.where((best == d) & (tables.policy[d] >= 0), grid[tables.policy[d]], chosen)
        if len(own) > 1:
            for axes in (left, right):
                shade(axes, grid, best[:, middle], shades)
            patches += [Patch(color=shades[d], label=f"{result.alternatives[d]}{where}") for d in own]
        for s, colour in zip(states, colours(len(states)), strict=True):
            left.plot(grid, tables.value[regime][:, s], color=colour, label=problem.state_names[s], linewidth=1.4)
            right.plot(grid, chosen[:, s], color=colour, linewidth=1.4)
        right.plot(grid, grid, color="0.4", linewidth=0.8, linestyle="--", label="x' = x")
        name = f", regime {result.regimes[regime]}" if result.regimes[regime] else ""
        _label(left, f"Value{name}", "V(x, s), units of utility", _unit(result))
        _label(right, f"Choice{name}", f"next {_unit(result)}", _unit(result))
    handles, labels = rows[0][0].get_legend_handles_labels()
    more, named = rows[0][1].get_legend_handles_labels()
    patches = _most(patches)
    named = [*labels, *named, *(patch.get_label() for patch in patches)]
    figure.legend([*handles, *more, *patches], named, loc="outside right center", fontsize="small")
    figure.suptitle(title_of(result) + _first(result))


def _label(axes: Axes, title: str, vertical: str, horizontal: str) -> None:
    axes.set_title(title)
    axes.set_ylabel(vertical)
    axes.set_xlabel(horizontal)
    axes.margins(x=0.01)
    axes.grid(alpha=0.3)
