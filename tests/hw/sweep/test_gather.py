"""The unit that gathers expected values for a lane of the sweep engine: each word against plain arrays."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.gather import Gather, GatherParameters
from beltline.hw.sweep.lane_clocks import check_ends
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.row_buses import RowBusesParameters
from beltline.hw.sweep.row_windows import SELECTED
from beltline.sim.cocotb_runner import run_bench
from support.streams import Enclosed
from support.sweeps import add_rows, row_ports, row_writes

BUILDS = [
    (SweepParameters(grid=256, states=4, lanes=2), 1),
    # Windows of more than SELECTED states are stored in registers beside the states.
    (SweepParameters(grid=512, states=2 * SELECTED, lanes=1, general=True), 0),
    *(
        pytest.param(build, lane, marks=pytest.mark.slow)
        for build, lane in (
            (SweepParameters(grid=64, states=1, lanes=1), 0),
            (SweepParameters(grid=512, states=3, lanes=16), 13),
            (SweepParameters(grid=64, states=128, lanes=2, general=True), 1),
        )
    ),
]


class Probe(Enclosed):
    """The unit of one lane with the buses and the memories of all lanes, which one port writes."""

    def __init__(self, build: SweepParameters, lane: int) -> None:
        self.lane, self.buses = lane, RowBusesParameters(build, build.state_bits)
        super().__init__(Gather(GatherParameters(build)), ("fetch", "clear"), **row_ports(self.buses))

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        wiring.connect(m, self.enclosed.fetch, add_rows(m, self, self.buses).lanes[self.lane])
        return m


def search(rng: random.Random, build: SweepParameters, points: int, steps: list[int]) -> list[tuple[int, int]]:
    """Return states in table order, whose index rises by a random one of ``steps`` from point to point."""
    index = [rng.randrange(build.grid // 2) for _ in range(build.states)]
    found = []
    for _ in range(points):
        for s in range(build.states):
            index[s] = min(max(index[s] + rng.choice(steps), 0), build.grid - 1)
            found.append((s, index[s]))
    return found


def sequences(rng: random.Random, build: SweepParameters) -> list[list[tuple[int, int]]]:
    points = max(240 // build.states, 6)
    anywhere = [(k % build.states, rng.randrange(build.grid)) for k in range(120)]
    # Neighbouring states of the same exogenous state wait for each other, and for space in their window.
    together = [(rng.choice((0, 1)) % build.states, rng.randrange(build.grid)) for k in range(120)]
    climbing = [(k // 40 % build.states, 12 * (k % 40) % build.grid) for k in range(120)]
    return [
        search(rng, build, points, [1]),
        search(rng, build, points, [0, 1, 1, 2]),
        search(rng, build, points, [0, 0, 0, 1]),
        search(rng, build, points, [0, 3, 9, 20]),
        search(rng, build, points, [-9, -1, 0, 1, 1, 2, 3]),
        [(k % build.states, 0) for k in range(60)] + [(k % build.states, build.grid - 1) for k in range(60)],
        anywhere,
        together,
        climbing,
    ]


@pytest.mark.gateware
@pytest.mark.parametrize(("build", "lane"), BUILDS, ids=lambda p: getattr(p, "states", None) and f"{p.states}-states")
def test_words(with_shared: Callable[..., dict[str, str]], tmp_path: Path, build: SweepParameters, lane: int) -> None:
    rng = random.Random(11)
    table = np.array([[rng.getrandbits(WIDTH) for _ in range(build.states)] for _ in range(build.grid)], dtype=object)
    writes = row_writes(build, [(s, table[:, s]) for s in range(build.states)])
    runs = [{"gaps": gaps, "states": states} for states in sequences(rng, build) for gaps in (0.0, 0.3)]
    stimulus, results = tmp_path / "stimulus.json", tmp_path / "results.json"
    stimulus.write_text(json.dumps({"writes": writes, "runs": runs}))
    run_bench(
        with_shared(Probe(build, lane)),
        "beltline.sim.benches.gather",
        parameters={"stimulus": str(stimulus), "results": str(results)},
    )
    mask = 2**WIDTH - 1
    for run, found in zip(runs, json.loads(results.read_text()), strict=True):
        for k, ((s, i), (_, below, here, above)) in enumerate(zip(run["states"], found, strict=True)):
            assert here == int(table[i, s]), (k, s, i)
            assert i == 0 or below == int(table[i - 1, s]) & mask, (k, s, i)
            assert i == build.grid - 1 or above == int(table[i + 1, s]) & mask, (k, s, i)


def test_a_lane_keeps_its_pace_where_the_policy_rises_with_the_grid() -> None:
    """The rows of a check arrive in time: its last state leaves after about a clock for each."""
    points = 1024
    for slope in (0.3, 0.9, 1.0, 1.9):
        choices = np.floor(slope * np.arange(points)[:, None] + [100, 1500, 3777, 9000]).astype(np.int64)
        ends = np.zeros(1, np.int64)
        check_ends(choices, 10, np.zeros(1, np.int64), 65_535, 20, ends)
        # A bus of four lanes brings each of them two words a clock.
        assert choices.size <= ends[0] < choices.size + 100, slope
