"""Bench of the unit that gathers expected values for each state of a stream.

Parameters: ``stimulus`` (path of JSON: ``writes``, see :func:`beltline.sim.benches.loading.load`, and ``runs``, each
with ``gaps``, the probability of a clock without a state, and ``states``, a list of ``(state, index)``), ``results``
(path to write: for each run a list of ``(clock, below, here, above)``, with clocks counted from the end of the reset).
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from beltline.sim.benches.loading import load
from beltline.sim.cocotb_runner import bench_parameters

STUCK = 2000
"""Clocks without an output after which a run has failed."""


async def reset(dut: Any) -> None:
    """Reset the unit for two clocks."""
    dut.valid.value = 0
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


async def run(dut: Any, gaps: float, states: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Offer the states, with random gaps, and return clock and outputs of each result."""
    await reset(dut)
    found: list[tuple[int, int, int, int]] = []
    sent = clock = quiet = 0
    while len(found) < len(states):
        assert quiet < STUCK, f"no output for {quiet} clocks, after {len(found)} of {len(states)}"
        offered = sent < len(states) and random.random() >= gaps
        dut.valid.value = int(offered)
        if offered:
            dut.state.value, dut.index.value = states[sent]
        else:
            dut.state.value, dut.index.value = random.choice(states)
        # Inputs are driven in the middle of a clock, after which the outputs are those of this clock.
        await cocotb.triggers.Timer(1, unit="ns")
        sent += offered and int(dut.ready.value)
        quiet += 1
        if int(dut.out_valid.value):
            found.append((clock, int(dut.below.value), int(dut.here.value), int(dut.above.value)))
            quiet = 0
        await FallingEdge(dut.clk)
        clock += 1
    for _ in range(50):
        assert not int(dut.out_valid.value), "more outputs than states"
        await FallingEdge(dut.clk)
    return found


@cocotb.test()
async def gathers(dut: Any) -> None:
    """Run all streams and write their results."""
    parameters = bench_parameters()
    stimulus = json.loads(Path(parameters["stimulus"]).read_text())
    await load(dut, stimulus["writes"], ["valid"])
    found = [await run(dut, one["gaps"], [tuple(pair) for pair in one["states"]]) for one in stimulus["runs"]]
    Path(parameters["results"]).write_text(json.dumps(found))
