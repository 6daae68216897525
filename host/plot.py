"""Value and policy as a figure."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from host.checks import ProblemError
from host.files import check_target, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from host.result import Result

SUFFIXES = (".png", ".pdf", ".svg")
"""File types that plots are written as."""

LEGEND_ROWS = 8
"""States a legend names before it only names some of them."""


def check_plot(path: str | os.PathLike[str] | None) -> None:
    """Check that a plot can be made, and written to ``path``.

    Raises
    ------
    ProblemError
        It cannot.
    """
    if path is not None:
        check_target("plot", path, SUFFIXES)
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise ProblemError("a plot needs the Python package matplotlib, which is not installed") from None


def plot(result: Result, path: str | os.PathLike[str] | None = None) -> Figure:
    """Draw value and policy of ``result`` against ``x``, one line a state; of the first age, with a horizon.

    The policy is drawn as saving, ``x' - x``: on a grid as fine as these ``x'`` itself cannot be told from the
    45-degree line.

    Parameters
    ----------
    result
    path
        Where to write the figure, if anywhere. Nothing is shown on a screen then.

    Raises
    ------
    ProblemError
        ``path`` is no place for a figure, or matplotlib is not installed.
    """
    check_plot(path)
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    problem = result.problem
    if path is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(10, 4.5), layout="constrained")
    else:
        figure = Figure(figsize=(10, 4.5), dpi=150, layout="constrained")
    value, saving = result.value, result.policy_values - problem.grid[:, None]
    title = f"{problem.name}: {problem.points:,} grid points, {problem.states} states"
    if problem.horizon is not None:
        value, saving = value[0], saving[0]
        title += f", first of {problem.horizon} ages"
    if not result.success:
        title += f" ({result.status})"
    left, right = figure.subplots(1, 2)
    unit = "" if problem.asset == "x" else ", units of the good"
    colours = colormaps["viridis"](np.linspace(0.0, 0.88, problem.states))
    named = set(np.linspace(0, problem.states - 1, min(problem.states, LEGEND_ROWS)).round().astype(int).tolist())
    for s in range(problem.states):
        label = (problem.labels[s] if problem.labels else f"state {s}") if s in named else None
        left.plot(problem.grid, value[:, s], color=colours[s], label=label, linewidth=1.4)
        right.plot(problem.grid, saving[:, s], color=colours[s], label=label, linewidth=1.4)
    right.axhline(0.0, color="0.4", linewidth=0.8, linestyle="--", label="x' = x")
    left.set_title("Value")
    left.set_ylabel("V(x, s), units of utility")
    right.set_title("Policy, as saving")
    right.set_ylabel(f"x' - x{unit}")
    for axes in (left, right):
        axes.set_xlabel(f"{problem.asset}{unit}")
        axes.margins(x=0.01)
        axes.grid(alpha=0.3)
    # Outside the axes, where it hides no line.
    figure.legend(*right.get_legend_handles_labels(), loc="outside right center", fontsize="small")
    figure.suptitle(title)
    if path is not None:
        with replacing(check_target("plot", path, SUFFIXES)) as neighbour:
            figure.savefig(neighbour)
    return figure
