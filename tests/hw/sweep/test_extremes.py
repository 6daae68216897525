"""Mid-points of changes: units against Python's integers, machines with them against their software model."""

from __future__ import annotations

import random

import numpy as np
import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

import beltline as bl
from beltline.host.models.rbc import rbc
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.sweep.extremes import EXTREMES_CLOCKS, Extremes, Midpoints, MidpointsParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.trees import LargestNorm, largest_norm_clocks
from support.streams import Clocks

BUILD = SweepParameters(grid=64, states=3, lanes=4, slots=4, midpoints=True)
WORD = 1 << WIDTH
ENDS = (MINIMUM, MINIMUM + 1, -1, 0, 1, MAXIMUM - 1, MAXIMUM)


class Joined(wiring.Component):
    """The extremes of all lanes, whose words are joined as in a machine; ``lane`` has the change."""

    def __init__(self) -> None:
        super().__init__(
            {
                "clear": In(1),
                "lane": In(range(BUILD.lanes)),
                "valid": In(1),
                "state": In(BUILD.state_bits),
                "change": In(WIDTH),
                "start": In(1),
                "states": In(5),
                "sample_valid": Out(1),
                "sample_state": Out(BUILD.state_bits),
                "sample": Out(WIDTH),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.norm = norm = LargestNorm(BUILD)
        m.submodules.midpoints = unit = Midpoints(MidpointsParameters(BUILD, norm.clocks))
        place, sends = Signal.like(unit.place), Signal(2)
        m.d.sync += [place.eq(unit.place), sends.eq(Cat(unit.reading, sends))]
        for number in range(BUILD.lanes):
            m.submodules[f"lane{number}"] = lane = Extremes(BUILD)
            m.d.comb += [
                lane.clear.eq(self.clear),
                lane.valid.eq(self.valid & (self.lane == number)),
                lane.state.eq(self.state),
                lane.change.eq(self.change),
                lane.place.eq(place),
                # A norm comes before and after them.
                norm.norms[number].eq(Mux(sends[1], lane.word, ~number)),
            ]
        m.d.comb += [
            unit.start.eq(self.start),
            unit.states.eq(self.states),
            unit.word.eq(norm.norm),
            self.done.eq(unit.done),
            *(getattr(self, name).eq(getattr(unit, name)) for name in ("sample_valid", "sample_state", "sample")),
        ]
        return m


@pytest.mark.gateware
def test_midpoints_of_all_lanes(clocks: Clocks) -> None:
    rng = random.Random(3)
    names = ("clear", "lane", "valid", "state", "change", "start", "states")
    columns: dict[str, list[int]] = {name: [] for name in names}

    def clock(**given: int) -> None:
        noise = {"lane": rng.randrange(4), "state": rng.randrange(3), "change": rng.randrange(WORD)}
        for name, column in columns.items():
            column.append(({"clear": 0, "valid": 0, "start": 0, "states": 3} | noise | given)[name])

    wanted: dict[int, tuple[int, int]] = {}
    ends = []
    for states, bits in ((3, 64), (1, 64), (3, 3), (2, 34), (3, 33)):
        clock(clear=1, states=states)
        seen: dict[int, list[int]] = {}
        for _ in range(40):
            change = rng.choice((*ENDS, rng.randrange(WORD) - WORD // 2)) >> 64 - bits
            state = rng.randrange(states) if len(seen) == states else len(seen)
            seen.setdefault(state, []).append(change)
            # Lane 3 has no state.
            clock(valid=1, state=state, lane=rng.randrange(3), change=change % WORD, states=states)
        for _ in range(EXTREMES_CLOCKS):
            clock(states=states)
        latency = MidpointsParameters(BUILD, largest_norm_clocks(BUILD)).clocks(states)
        ends.append(len(columns["start"]) + latency)
        for state, changes in seen.items():
            middle = (min(changes) >> 1) + (max(changes) >> 1)
            wanted[ends[-1] - 2 * (states - 1 - state)] = state, middle % WORD
        clock(start=1, states=states)
        for _ in range(latency):
            clock(states=states)
    found = clocks(Joined(), columns)
    assert [t for t, flag in enumerate(found["done"]) if flag] == ends
    assert {
        t: (found["sample_state"][t], found["sample"][t]) for t, flag in enumerate(found["sample_valid"]) if flag
    } == wanted


def test_midpoints_take_fewer_sweeps() -> None:
    problem = rbc(grid=4096)
    plain, fewer = (
        bl.solve(problem, device="emulator", lanes=16, midpoints=given, method="shift", start="coarse", tol=1e-8)
        for given in (0, 1)
    )
    for result in (plain, fewer):
        assert result.success, result.message
        assert result.verified
    assert fewer.sweeps < plain.sweeps
    assert np.abs(plain.value - fewer.value).max() <= plain.error_bound + fewer.error_bound
