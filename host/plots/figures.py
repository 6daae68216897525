"""Figures of results, and what other figures share with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from beltline.host.analysis.euler import euler_errors, log10_errors
from beltline.host.analysis.impulse import impulse_response
from beltline.host.analysis.simulation import life_paths
from beltline.host.analysis.stationary import stationary_distribution
from beltline.host.problem.checks import ProblemError, missing_package, word
from beltline.host.problem.problem import Problem
from beltline.host.results.files import check_target, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from beltline.host.problem.arrays import Array
    from beltline.host.results.result import Result

    Draw = Callable[[Figure], None]
    Colour = tuple[float, ...]

SUFFIXES = (".png", ".pdf", ".svg")
"""File name endings that figures are written as."""

LEGEND_ROWS = 8
"""Largest number of states that a legend names; of more it names a selection."""

ENDLESS = ("distribution", "irf")
"""Kinds of figures that need an infinite horizon."""

OF_AGES = ("ages", "life")
"""Kinds of figures that need a finite horizon."""

SIZE = (10.0, 4.5)
"""Width and height of most figures, in inches."""

INTERVALS = 120
"""Number of intervals of the density of the stationary distribution."""


def check_plot(path: str | os.PathLike[str] | None, name: str = "plot") -> None:
    """Check that figures can be drawn and, if there is a path, that one can be written there.

    Messages call the path ``name``.

    Raises
    ------
    ProblemError
        Matplotlib is not installed, or ``path`` has another ending or is in a directory that cannot be written to.
    """
    if path is not None:
        check_target(name, path, SUFFIXES)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise ProblemError(missing_package("a plot", "matplotlib", "")) from None


def drawn(draw: Draw, path: str | os.PathLike[str] | None, size: tuple[float, float] = SIZE) -> Figure:
    """Make a figure with ``draw``, write it to ``path`` if there is one, and return it.

    A notebook displays the figure if it is the value of a cell; pyplot does not know it.

    Parameters
    ----------
    draw
        A function that draws on the figure it is given.
    path
        File to write the figure to.
    size
        Width and height in inches.

    Raises
    ------
    ProblemError
        As :func:`check_plot`.
    """
    check_plot(path)
    # Imported here because Matplotlib may not be installed.
    from beltline.host.plots.shown import ShownFigure

    figure = ShownFigure(figsize=size, dpi=None if path is None else 150, layout="constrained")
    draw(figure)
    if path is not None:
        target = check_target("plot", path, SUFFIXES)
        with replacing(target) as file:
            figure.savefig(file, format=target.suffix.lower().removeprefix("."))
    return figure


def check_kind(kind: str, kinds: Sequence[str] = (), problem: Problem | None = None) -> None:
    """Check that there are figures of this kind.

    Parameters
    ----------
    kind
        The kind.
    kinds
        Kinds that exist; by default those of a result of the simple form.
    problem
        The problem whose result is to be drawn; some kinds need a finite or an infinite horizon.

    Raises
    ------
    ProblemError
        ``kind`` is unknown, or the problem has another kind of horizon.
    """
    known = kinds or tuple(KINDS)
    word("kind", kind, known)
    if problem is None:
        return
    if problem.horizon is None and kind in OF_AGES:
        raise ProblemError(f"kind {kind!r} needs ages, and the horizon of this problem is infinite")
    if problem.horizon is not None and kind in ENDLESS:
        raise ProblemError(f"kind {kind!r} needs an infinite horizon, and this problem has {problem.horizon} ages")
    if problem.horizon == 1 and kind == "euler":
        raise ProblemError("kind 'euler' needs two ages, and this problem has one")


def units(problem: Problem) -> str:
    """Return the unit that follows the name of an amount on an axis; empty if the problem has no units."""
    return "" if problem.asset == "x" else ", units of the good"


def colours(count: int) -> list[Colour]:
    """Return one colour for each state, from dark to bright."""
    from matplotlib import colormaps

    return [tuple(colour) for colour in colormaps["viridis"](np.linspace(0.0, 0.88, count)).tolist()]


def legend_labels(problem: Problem) -> list[str | None]:
    """Return the name of each state in the legend; None for states that it leaves out."""
    named = set(np.linspace(0, problem.states - 1, min(problem.states, LEGEND_ROWS)).round().astype(int).tolist())
    return [name if s in named else None for s, name in enumerate(problem.state_names)]


def finish(figure: Figure, axes: Sequence[Axes], legend: Axes, title: str) -> None:
    """Set margins, grid lines, title, and the legend with the lines of the axes ``legend``."""
    for each in axes:
        each.margins(x=0.01)
        each.grid(alpha=0.3)
    # Outside the axes, so that it hides no line.
    figure.legend(*legend.get_legend_handles_labels(), loc="outside right center", fontsize="small")
    figure.suptitle(title)


def size_of(problem: Problem) -> str:
    """Return the size of a problem as text."""
    return f"{problem.points:,} grid points, {problem.states} state{'' if problem.states == 1 else 's'}"


def title_of(result: Result) -> str:
    """Return the title of a figure of a result; it ends with the status if the result is not solved."""
    problem = result.problem
    title = f"{problem.name}: {size_of(problem)}"
    if problem.horizon is not None:
        title += f", first of {problem.horizon} ages"
    return title if result.success else f"{title} ({result.status})"


def _of_one_regime(result: Result, what: str) -> None:
    if len(result.regimes) > 1:
        raise ProblemError(f"a figure of {what} is for one regime, and this result has {len(result.regimes)}")


def density_panel(axes: Axes, grid: Array, mass: Array, first: NDArray[np.intp], labels: Sequence[str | None]) -> None:
    """Draw the density of a distribution on a grid, ``(N_k, N_z)``, in total and by state.

    The mass of single grid points jumps from one to the next, so that the points from each of ``first`` to the next are
    added up. A point's mass belongs to the interval half way to its neighbours.
    """
    halves = np.concatenate([grid[:1], (grid[:-1] + grid[1:]) / 2, grid[-1:]])
    edges = halves[np.append(first, grid.size)]
    density = np.add.reduceat(mass, first, axis=0) / np.diff(edges)[:, None]
    axes.stairs(density.sum(axis=1), edges, color="0.8", fill=True, label="all states")
    for s, (colour, name) in enumerate(zip(colours(mass.shape[1]), labels, strict=True)):
        axes.stairs(density[:, s], edges, color=colour, label=name, linewidth=1.4)
    mean = float(grid @ mass.sum(axis=1))
    axes.axvline(mean, linestyle="--", label=f"mean {mean:.4g}", color="0.4", linewidth=0.8)
    axes.set_ylim(bottom=0.0)


def _policy(result: Result) -> Draw:
    problem = result.problem
    value, saving = result.value, result.choice - problem.grid[:, None]
    if problem.horizon is not None:
        value, saving = value[0], saving[0]

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for s, (colour, label) in enumerate(zip(colours(problem.states), legend_labels(problem), strict=True)):
            left.plot(problem.grid, value[:, s], color=colour, label=label, linewidth=1.4)
            right.plot(problem.grid, saving[:, s], color=colour, label=label, linewidth=1.4)
        right.axhline(0.0, color="0.4", linewidth=0.8, linestyle="--", label="x' = x")
        left.set_title("Value")
        left.set_ylabel("V(x, s), units of utility")
        right.set_title("Policy, as saving")
        right.set_ylabel(f"x' - x{units(problem)}")
        for axes in (left, right):
            axes.set_xlabel(f"{problem.asset}{units(problem)}")
        finish(figure, (left, right), right, title_of(result))

    return draw


def _consumption(result: Result) -> Draw:
    _of_one_regime(result, "consumption")
    problem = result.problem
    spent = result.consumption
    if problem.horizon is not None:
        spent = spent[0]
    by = np.broadcast_to(problem.grid[:, None], spent.shape) if problem.general else problem.wealth

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for s, (colour, label) in enumerate(zip(colours(problem.states), legend_labels(problem), strict=True)):
            axes.plot(by[:, s], spent[:, s], color=colour, label=label, linewidth=1.4)
        axes.set_xlabel(f"{problem.asset if problem.general else 'cash on hand'}{units(problem)}")
        axes.set_ylabel(f"consumption{units(problem)}")
        finish(figure, (axes,), axes, title_of(result))

    return draw


def _euler(result: Result) -> Draw:
    problem = result.problem
    errors = log10_errors(euler_errors(result))
    if problem.horizon is not None:
        if not errors.shape[0]:
            raise ProblemError("a problem with one age has no Euler equation, so that there are no errors to draw")
        errors = errors[0]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        size = 1.2 if problem.points * problem.states > 8000 else 3
        for s, (colour, label) in enumerate(zip(colours(problem.states), legend_labels(problem), strict=True)):
            # Drawn as pixels in vector files too, which otherwise have an object for each of many thousand states.
            axes.plot(problem.grid, errors[:, s], ".", color=colour, markersize=size, rasterized=True)
            axes.plot([], [], "o", color=colour, markersize=5, label=label)
        mean = float(np.nanmean(errors))
        axes.axhline(mean, color="0.2", linewidth=1.0, linestyle="--", label=f"mean {mean:.2f}")
        axes.set_xlabel(f"{problem.asset}{units(problem)}")
        axes.set_ylabel("log10 |Euler equation error|, share of consumption")
        finish(figure, (axes,), axes, f"Euler equation errors, {title_of(result)}")

    return draw


def _distribution(result: Result) -> Draw:
    problem = result.problem
    mass = stationary_distribution(result).reshape(-1, problem.points, problem.states).sum(axis=0)
    first = np.linspace(0, problem.points, min(problem.points, INTERVALS) + 1).round().astype(int)[:-1]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        density_panel(axes, problem.grid, mass, first, legend_labels(problem))
        axes.set_xlabel(f"{problem.asset}{units(problem)}")
        axes.set_ylabel(f"density, per {'unit of x' if problem.asset == 'x' else 'unit of the good'}")
        finish(figure, (axes,), axes, f"Stationary distribution, {title_of(result)}")

    return draw


def _irf(result: Result) -> Draw:
    response = impulse_response(result)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for name in response.names:
            axes.plot(response.percent(name), label=name, linewidth=1.6)
        axes.axhline(0.0, color="0.4", linewidth=0.8, linestyle="--")
        axes.set_xlabel("periods after the impulse")
        axes.set_ylabel("percent of the baseline")
        finish(figure, (axes,), axes, response.title)

    return draw


def _ages(result: Result) -> Draw:
    problem = result.problem
    if problem.horizon is None:
        raise ProblemError("there are no ages to draw: the horizon of this problem is infinite")
    _of_one_regime(result, "ages")
    ages, middle = result.value.shape[0], problem.states // 2
    drawn = np.unique(np.linspace(0, ages - 1, min(ages, 10)).round().astype(int)).tolist()
    middle_name = problem.state_names[middle]

    def draw(figure: Figure) -> None:
        left, right = figure.subplots(1, 2)
        for colour, age in zip(colours(len(drawn)), drawn, strict=True):
            left.plot(problem.grid, result.value[age, :, middle], color=colour, label=f"age {age + 1}", linewidth=1.4)
            right.plot(problem.grid, result.choice[age, :, middle], color=colour, label=f"age {age + 1}", linewidth=1.4)
        right.plot(problem.grid, problem.grid, color="0.4", linewidth=0.8, linestyle="--", label="x' = x")
        left.set_title(f"Value, {middle_name}")
        left.set_ylabel("V(x, s), units of utility")
        right.set_title(f"Policy, {middle_name}")
        right.set_ylabel(f"x'{units(problem)}")
        for axes in (left, right):
            axes.set_xlabel(f"{problem.asset}{units(problem)}")
        finish(figure, (left, right), right, title_of(result).replace(", first of ", ", "))

    return draw


def _life(result: Result) -> Draw:
    lives = life_paths(result)
    wanted = [name for name in ("consumption", result.problem.asset_name) if name in lives.series]

    def draw(figure: Figure) -> None:
        ages = np.arange(1, lives.points.shape[1] + 1)
        panels = figure.subplots(1, len(wanted), squeeze=False)[0]
        for axes, name in zip(panels, wanted, strict=True):
            table = lives.series[name]
            low, high = np.nanquantile(table, [0.1, 0.9], axis=0)
            axes.fill_between(ages, low, high, color="0.85", label="percentiles 10 to 90")
            for person, line in enumerate(table[:4]):
                axes.plot(ages, line, color="0.6", linewidth=0.8, label="four people" if person == 0 else None)
            axes.plot(ages, np.nanmean(table, axis=0), color="C0", linewidth=1.8, label="mean")
            axes.set_title(name.capitalize())
            axes.set_xlabel("age")
            axes.set_ylabel(f"{name}{units(result.problem)}")
        finish(figure, panels, panels[-1], f"{lives.title}, {lives.points.shape[0]:,} people")

    return draw


def _regions(result: Result) -> Draw:
    raise ProblemError(f"a figure of regions needs alternatives, and {result.problem.name} has one")


KINDS: dict[str, Callable[[Result], Draw]] = {
    "policy": _policy,
    "regions": _regions,
    "consumption": _consumption,
    "euler": _euler,
    "distribution": _distribution,
    "irf": _irf,
    "ages": _ages,
    "life": _life,
}
"""Kinds of figures of a result. Each function computes first, and returns a function that draws on a figure."""
