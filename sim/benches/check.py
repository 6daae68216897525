"""Bench of the pass in which a lane checks its choices.

Parameters: ``stimulus`` (path of JSON: ``writes``, a list of mappings of input ports to values, one for each clock, and
``passes``, each with ``start``, the clocks from the reset to the start, ``count``, the number of results, and
``last_state``), ``results`` (path to write: for each pass a list of ``(clock, outputs ...)``), and ``outputs``: the
ports to sample.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from beltline.sim.benches.loading import load
from beltline.sim.cocotb_runner import bench_parameters

STUCK = 3000
"""Clocks without a result after which a pass has failed."""


async def run(dut: Any, one: dict[str, int], outputs: list[Any]) -> list[list[int]]:
    """Reset the unit, run one pass, and return the clock and the outputs of each result."""
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    dut.count.value, dut.last_state.value = one["count"], one["last_state"]
    found: list[list[int]] = []
    clock = quiet = 0
    while len(found) < one["count"] or quiet < 50:
        assert quiet < STUCK, f"no result for {quiet} clocks, after {len(found)} of {one['count']}"
        dut.start.value = int(clock == one["start"])
        await FallingEdge(dut.clk)
        clock += 1
        quiet += 1
        if int(dut.valid.value):
            found.append([clock, *(int(port.value) for port in outputs)])
            quiet = 0
    return found


@cocotb.test()
async def checks(dut: Any) -> None:
    """Run all passes and write their results."""
    parameters = bench_parameters()
    stimulus = json.loads(Path(parameters["stimulus"]).read_text())
    outputs = [getattr(dut, name) for name in parameters["outputs"]]
    await load(dut, stimulus["writes"], ["start"])
    found = [await run(dut, one, outputs) for one in stimulus["passes"]]
    Path(parameters["results"]).write_text(json.dumps(found))
