"""Figures that a notebook displays without pyplot."""

from __future__ import annotations

import io

from matplotlib.figure import Figure


class ShownFigure(Figure):
    """A figure that a notebook displays if it is the value of a cell.

    It is not made with pyplot: a notebook displays all open pyplot figures at the end of a cell, so that it would
    appear twice.
    """

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png")
        return picture.getvalue()
