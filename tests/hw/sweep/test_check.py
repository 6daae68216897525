"""The pass that checks a lane's choices: every result against Python's integers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.check import CACHED_BITS, Check, CheckParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.peak import NEIGHBOURS, PeakParameters
from beltline.hw.sweep.row_buses import RowBusesParameters
from beltline.sim.cocotb_runner import run_bench
from support.streams import Enclosed
from support.sweeps import add_rows, add_states, row_ports, row_writes

OUTPUTS = ("position", "value", "old", "stays", "outside")


class Probe(Enclosed):
    """The pass of one lane with its memories, buses, and the rows of all lanes, each kind written by one port."""

    def __init__(self, build: SweepParameters, lane: int) -> None:
        self.lane, self.buses = lane, RowBusesParameters(build, build.state_bits)
        check = Check(CheckParameters(build))
        states = {"choice": build.index_bits, "cached": CACHED_BITS, "old": WIDTH, "address": build.position_bits}
        super().__init__(
            check,
            [name for name in check.signature.members if name == "fetch" or name.endswith(("_address", "_data"))],
            **row_ports(self.buses, 3),
            **{f"state_{name}": In(bits) for name, bits in states.items()},
        )

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        wiring.connect(m, self.enclosed.fetch, add_rows(m, self, self.buses).lanes[self.lane])
        add_states(m, self, self.enclosed, ("choice", "cached", "old"))
        return m


@pytest.mark.gateware
@pytest.mark.parametrize(
    ("build", "lane", "states"),
    [
        (SweepParameters(grid=256, states=4, lanes=2), 1, 4),
        pytest.param(SweepParameters(grid=64, states=1, lanes=1), 0, 1, marks=pytest.mark.slow),
    ],
)
def test_results_and_clocks(
    with_shared: Callable[..., dict[str, str]], tmp_path: Path, build: SweepParameters, lane: int, states: int
) -> None:
    rng = random.Random(build.lanes)
    parameters = CheckParameters(build)
    points = build.grid // build.lanes
    mask = 2**WIDTH - 1

    def number() -> int:
        return rng.randrange(-(1 << 62), 1 << 62) if rng.random() < 0.9 else rng.randrange(-(1 << 63), 1 << 63)

    ev = [[number() for _ in range(states)] for _ in range(build.grid)]
    steps = rng.choices((0, 1, 1, 2), k=points)
    choices = np.minimum(np.cumsum(steps)[:, None] + [rng.randrange(build.grid) for _ in range(states)], build.grid - 1)
    cached: list[list[int | None]] = []
    old = [number() for _ in range(points * states)]
    writes: list[dict[str, int]] = []
    writes += row_writes(build, [(s, [words[s] for words in ev]) for s in range(states)])
    for position in range(points * states):
        x, s = divmod(position, states)
        i = int(choices[x, s])
        around = [ev[k][s] if 0 <= k < build.grid else 0 for k in (i - 1, i, i + 1)]
        # Objectives nearly tie, and most choices are peaks.
        top = rng.randrange(-(1 << 61), 1 << 61)
        near = [
            top + bend - value
            for bend, value in zip((rng.choice((-1, -1, 0)), 0, rng.choice((-1, 0, 1))), around, strict=True)
        ]
        u: list[int | None] = [value if -(1 << 63) <= value < 1 << 63 else number() for value in near]
        u = [
            None if not 0 <= k < build.grid or rng.random() < 0.05 else a
            for k, a in zip((i - 1, i, i + 1), u, strict=True)
        ]
        cached.append(u)
        packed = sum(((number() if a is None else a) & mask) << WIDTH * k for k, a in enumerate(u))
        packed |= sum(int(a is not None) << (len(NEIGHBOURS) * WIDTH + k) for k, a in enumerate(u))
        writes.append(
            {
                "write": 2,
                "state_address": position,
                "state_choice": i,
                "state_cached": packed,
                "state_old": old[position] & mask,
            }
        )
    counts = [points * states, states, 1 if states == 1 else 2 * states, points // 2 * states]
    passes = [
        {"start": start, "count": count, "last_state": states - 1}
        for start, count in zip((0, 3, 5, 18), counts, strict=True)
    ]
    stimulus, results = tmp_path / "stimulus.json", tmp_path / "results.json"
    stimulus.write_text(json.dumps({"writes": writes, "passes": passes}))
    run_bench(
        with_shared(Probe(build, lane)),
        "beltline.sim.benches.check",
        parameters={"stimulus": str(stimulus), "results": str(results), "outputs": OUTPUTS},
    )
    seen = set()
    for one, found in zip(passes, json.loads(results.read_text()), strict=True):
        # A state a clock, two with a single exogenous state, and the rows of the first one before.
        first, last = found[0][0], found[-1][0]
        fetch = RowBusesParameters(build, build.state_bits).latency
        assert first - one["start"] - parameters.begin - parameters.result_latency <= fetch + 20
        assert last - first <= 1.1 * len(found) * (1 + (states == 1)) + 20
        for position, (_, at, value, before, *flags) in enumerate(found):
            x, s = divmod(position, states)
            i = int(choices[x, s])
            around = [ev[k][s] if 0 <= k < build.grid else 0 for k in (i - 1, i, i + 1)]
            stays, best, outside = PeakParameters().model(cached[position], around)
            assert (at, before) == (position, old[position] & mask)
            assert tuple(map(bool, flags)) == (stays, outside), (position, cached[position], around)
            if cached[position][1] is not None:
                assert value == best & mask, position
            seen.add(stays)
    assert seen == {True, False}
