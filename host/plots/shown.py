"""Figures that a notebook shows, without pyplot."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that a notebook shows where it is the value of a cell, and nowhere else.

    pyplot does not know it: what pyplot knows stays open, and a notebook shows it a second time at the end of the cell.
    """

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()
