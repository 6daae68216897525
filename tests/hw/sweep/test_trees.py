# amaranth: UnusedElaboratable=no
"""The trees that join all lanes: the largest norm, and whether all norms are below the threshold."""

from __future__ import annotations

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.trees import LargestNorm
from support.streams import Clocks

BUILDS = [SweepParameters(grid=32, states=1, lanes=4)]


class Flat(wiring.Component):
    """The unit with its inputs as ports of their own."""

    def __init__(self, build: SweepParameters) -> None:
        self.build = build
        lanes = {f"norm{number}": In(WIDTH) for number in range(build.lanes)}
        super().__init__({**lanes, "epsilon": In(WIDTH), "norm": Out(WIDTH), "below": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = unit = LargestNorm(self.build)
        m.d.comb += [
            *(unit.norms[number].eq(getattr(self, f"norm{number}")) for number in range(self.build.lanes)),
            unit.epsilon.eq(self.epsilon),
            self.norm.eq(unit.norm),
            self.below.eq(unit.below),
        ]
        return m


@pytest.mark.gateware
@pytest.mark.parametrize("build", BUILDS, ids="{0.lanes}-lanes".format)
def test_largest_norm_and_whether_all_are_below(clocks: Clocks, build: SweepParameters) -> None:
    rng = random.Random(build.lanes)
    unit = LargestNorm(build)
    names = [f"norm{number}" for number in range(build.lanes)]
    columns: dict[str, list[int]] = {name: [] for name in (*names, "epsilon")}
    wanted: dict[str, list[tuple[int, int]]] = {"norm": [], "below": []}
    for _ in range(150):
        # Thresholds at a norm, and a unit of either half away from it.
        top = rng.getrandbits(rng.choice((1, 32, 33, 64)))
        norms = [rng.randrange(top + 1) for _ in names]
        norms[rng.randrange(build.lanes)] = top
        epsilon = min(max(top + rng.choice((-(1 << 32), -1, 0, 1, 1 << 32)), 0), 2**WIDTH - 1)
        begin = len(columns["epsilon"])
        wanted["norm"].append((begin + unit.clocks, top))
        wanted["below"].append((begin + unit.below_clocks, int(top < epsilon)))
        for _ in range(max(unit.clocks, unit.below_clocks) + 1):
            for name, norm in zip(names, norms, strict=True):
                columns[name].append(norm)
            columns["epsilon"].append(epsilon)
    found = clocks(Flat(build), columns)
    for name, pairs in wanted.items():
        assert [found[name][clock] for clock, _ in pairs] == [value for _, value in pairs]
    assert {value for _, value in wanted["below"]} == {0, 1}
