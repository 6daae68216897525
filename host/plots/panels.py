"""What the figures of models share: titles, labels, lines and Lorenz curves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from beltline.host.plots.figures import colours, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALL = (8.0, 4.5)
"""Width and height of figures of one panel, in inches."""

GREY: dict[str, Any] = {"color": "0.4", "linewidth": 0.8}
"""Style of lines to compare with."""

WIDTH = 1.6
"""Width of other lines, in points."""


class Kind(NamedTuple):
    """A kind of figure of the solution of a model: title, function that draws it on its axes, size in inches, and
    arguments of ``Figure.subplots``.
    """

    title: str
    draw: Callable[..., None]
    size: tuple[float, float]
    panels: dict[str, Any]


KINDS: dict[tuple[str, str], Kind] = {}
"""The figures of solutions of models, by class and kind."""


def draws(of: str, kind: str, title: str, size: tuple[float, float] = SMALL, **panels: Any) -> Callable[..., Any]:
    """Return a decorator that declares the figure ``kind`` of the class ``of``; ``panels`` is for ``Figure.subplots``.

    The function takes the solution and the axes.
    """

    def declared(draw: Callable[..., None]) -> Callable[..., None]:
        KINDS[of, kind] = Kind(title, draw, size, panels)
        return draw

    return declared


def plot_kind(result: Any, path: str | os.PathLike[str] | None, kind: str, subject: str) -> Figure:
    """Draw a declared figure; its title is that of the kind, the ``subject`` and, if it is not solved, the status."""
    shows = KINDS[type(result).__name__, kind]

    def draw(figure: Figure) -> None:
        shows.draw(result, *np.ravel(figure.subplots(**shows.panels)))
        figure.suptitle(f"{shows.title}, {subject}{'' if result.success else f' ({result.status})'}")

    return drawn(draw, path, shows.size)


def label(axes: Axes, across: str, up: str, legend: bool = True) -> None:
    """Name both axes, and set margins, grid lines and, if there are labelled lines, a legend."""
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.margins(x=0.01)
    axes.grid(alpha=0.3)
    if legend and axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize="small")


def beside(figure: Any, handles: Sequence[Any] = ()) -> None:
    """Put a legend beside the axes, so that it hides nothing: of ``handles``, or of everything that has a label."""
    more = {"handles": handles} if handles else {}
    figure.legend(loc="outside right center", fontsize="small", **more)


def lines(axes: Axes, x: Any, curves: Mapping[str, Any], styles: Iterable[str] = (), **more: Any) -> None:
    """Draw a line for each of ``curves``, which are named by the legend, in colours from dark to bright."""
    style = [*styles, *["-"] * len(curves)]
    for (name, y), colour, dashes in zip(curves.items(), colours(len(curves)), style, strict=False):
        axes.plot(x, y, dashes, **{"color": colour, "label": name, "linewidth": WIDTH, **more})


def spread(count: int, most: int) -> list[int]:
    """Return up to ``most`` numbers from 0 to ``count - 1``, evenly spaced."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()


def lorenz_panel(result: Any, axes: Axes) -> None:
    """Draw the Lorenz curve of wealth of a result that has ``lorenz()`` and ``gini``."""
    axes.plot(*result.lorenz(), color=colours(1)[0], label=f"wealth, Gini {result.gini:.3f}", linewidth=WIDTH)
    axes.plot([0, 1], [0, 1], linestyle="--", label="equality", **GREY)
    axes.set_aspect("equal")
    label(axes, "share of households, the poorest first", "share of wealth")
