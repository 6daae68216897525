"""A lane's local search with its memories, the buses and the rows of all lanes, for tests of units and of clocks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.row_buses import RowBusesParameters
from beltline.hw.sweep.search.local_search import LocalSearch
from beltline.hw.sweep.search.parameters import SearchParameters
from support.streams import Enclosed
from support.sweeps import add_rows, add_states, row_ports

OUTPUTS = ("position", "choice", "moved", "cached", "value", "old", "infeasible", "outside")


CASES = pytest.mark.parametrize(
    ("parameters", "lane", "states", "eta"),
    [
        (SearchParameters(SweepParameters(grid=256, states=4, lanes=2), 16), 1, 3, 2.0),
        (SearchParameters(SweepParameters(grid=512, states=1, lanes=2), 4), 1, 1, 1.0),
        *(
            pytest.param(SearchParameters(build, contexts), lane, build.states, eta, marks=pytest.mark.slow)
            for build, contexts, lane, eta in (
                (SweepParameters(grid=64, states=1, lanes=1), 2, 0, 1.0),
                (SweepParameters(grid=256, states=2, lanes=8), 64, 5, 0.5),
                (SweepParameters(grid=32_768, states=2, lanes=64), 64, 40, 2.0),
            )
        ),
    ],
    ids=["16-contexts", "long-parts", "2-contexts", "64-contexts", "far"],
)
"""Local searches of one lane, and its problem."""


class Probe(Enclosed):
    """One lane's pass, its memories, the buses and the rows of all lanes. One port writes each kind of memory."""

    def __init__(self, parameters: SearchParameters, lane: int) -> None:
        build = parameters.build
        self.lane, self.buses = lane, RowBusesParameters(build, build.inner_bits)
        self.states = {"wealth": WIDTH, "choice": build.index_bits, "old": WIDTH}
        search = LocalSearch(parameters)
        super().__init__(
            search,
            [name for name in search.signature.members if name == "fetch" or name.endswith(("_address", "_data"))],
            **row_ports(self.buses, 3),
            state_address=In(build.position_bits),
            **{f"state_{name}": In(bits) for name, bits in self.states.items()},
        )

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        wiring.connect(m, self.enclosed.fetch, add_rows(m, self, self.buses, halves=True).lanes[self.lane])
        add_states(m, self, self.enclosed, self.states)
        return m


Words = list[int | None]


def on_grid(utilities: Iterable[Any], feasible: Iterable[Any], choice: int, grid: int) -> Words:
    """Return utilities of candidates ``choice - 1`` to ``choice + 1`` of a state from those of all; ``None`` for an
    infeasible candidate or one that is not on the grid.
    """
    u, able = list(utilities), list(feasible)
    return [int(u[j]) if 0 <= j < grid and able[j] else None for j in (choice - 1, choice, choice + 1)]
