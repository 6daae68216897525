"""The diagrams in the pages are up to date with the gateware."""

from __future__ import annotations

import re
import runpy
from xml.etree import ElementTree

import pytest

from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.line.clocks import pass_clocks, run_clocks
from support.paths import ROOT

DOCS = ROOT / "docs"
DRAW = runpy.run_path(str(DOCS / "draw.py"))


@pytest.mark.parametrize("name", DRAW["DRAWINGS"])
def test_figure_is_up_to_date(name: str) -> None:
    drawn = DRAW["DRAWINGS"][name]().svg()
    assert (DOCS / "figures" / name).read_text() == drawn, "run `python docs/draw.py`"
    ElementTree.fromstring(drawn)


@pytest.mark.parametrize(("grid", "states"), [(16, 4), (16, 3), (64, 1), (8, 16)])
def test_a_sweep_ends_where_the_clocks_say(grid: int, states: int) -> None:
    parameters = MachineParameters(grid=grid, states=states)
    length = pass_clocks(parameters, grid, states)
    assert max(span.last for span in DRAW["spans"](parameters, states)) == length - 1


def test_clocks_of_the_run() -> None:
    written = re.search(r"CLOCKS reads ([\d,]+)", DRAW["sweep"]().svg())
    assert written is not None
    assert int(written[1].replace(",", "")) == run_clocks(DRAW["SMALL"], 16, 4, 3) == 961
