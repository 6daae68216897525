"""Bench of the local search, the pass of a lane that moves to new choices.

Parameters: ``stimulus`` (path of JSON: ``writes``, a list of mappings of input ports to values, one for each clock;
``constants``, ports with a constant value; and ``searches``, the passes to run), ``results`` (path to write: for each
pass the clocks from start to end, and a list of outputs), and ``outputs``: the ports to sample in clocks with
``valid``. Each of ``searches`` has

- ``cold`` and ``force``;
- ``wait``: clocks by which it begins later;
- ``marks``: a list of ``(point, state, mark)`` in table order.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from beltline.hw.sweep.search.marks import MARKS_CLOCKS
from beltline.sim.benches.loading import load
from beltline.sim.cocotb_runner import bench_parameters

WAIT = MARKS_CLOCKS - 1
"""Clocks from the last mark to the start: as few as the unit allows."""

STUCK = 200_000
"""Largest number of clocks of a pass."""


async def search(dut: Any, given: dict[str, Any], outputs: list[Any]) -> tuple[int, list[list[int]]]:
    """Run one pass; return its clocks and the outputs of each state."""
    dut.cold.value, dut.force.value = given["cold"], given["force"]
    of_mark = [getattr(dut, name) for name in ("mark_point", "mark_state", "mark")]
    for words in given["marks"]:
        dut.mark_valid.value = 1
        for port, word in zip(of_mark, words, strict=True):
            port.value = word
        await FallingEdge(dut.clk)
    dut.mark_valid.value = 0
    for _ in range(WAIT + given["wait"]):
        await FallingEdge(dut.clk)
    dut.start.value = 1
    await FallingEdge(dut.clk)
    dut.start.value = 0
    found: list[list[int]] = []
    clocks = 0
    while int(dut.busy.value):
        if int(dut.valid.value):
            found.append([int(port.value) for port in outputs])
        clocks += 1
        assert clocks < STUCK, f"still busy after {clocks} clocks and {len(found)} states"
        await FallingEdge(dut.clk)
    for _ in range(200):
        assert not int(dut.valid.value), "a state after the end"
        await FallingEdge(dut.clk)
    return clocks, found


@cocotb.test()
async def searches(dut: Any) -> None:
    """Run all passes and write their results."""
    parameters = bench_parameters()
    stimulus = json.loads(Path(parameters["stimulus"]).read_text())
    outputs = [getattr(dut, name) for name in parameters["outputs"]]
    for name, value in stimulus["constants"].items():
        getattr(dut, name).value = value
    await load(dut, stimulus["writes"], ["start", "mark_valid"])
    found = [await search(dut, given, outputs) for given in stimulus["searches"]]
    Path(parameters["results"]).write_text(json.dumps(found))
