"""Bench of the local search, the pass of a lane that moves to new choices.

Parameters: ``stimulus`` (path of JSON: ``writes``, a list of mappings of input ports to values, one for each clock;
``constants``, ports with a constant value; and ``searches``, the passes to run), ``results`` (path to write: for each
pass the clocks from start to end, and a list of outputs), and ``outputs``: the ports to sample in clocks with
``valid``. Each of ``searches`` has

- ``cold`` and ``force``;
- ``wait``: clocks by which it begins later;
- ``marks``: a list of ``(point, state, mark, ...)`` in table order, with further inputs of the mark in the order of
  ``known``, a list of ports;
- ``ring``: if not 0, the ring of a pass of all states is restarted so that its turns are those of a ring of as many
  clocks that began in clock 0 of port ``clock``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.search.handed import HANDED_CLOCKS
from beltline.sim.benches.loading import load
from beltline.sim.cocotb_runner import bench_parameters

WAIT = HANDED_CLOCKS - 2
"""Clocks from the last mark to the start: as few as the unit allows."""

ARRIVES = 600
"""Clocks in which all rows arrive that are requested for the marks of a pass."""

STUCK = 200_000
"""Largest number of clocks of a pass."""


async def search(dut: Any, given: dict[str, Any], outputs: list[Any]) -> tuple[int, list[list[int]]]:
    """Run one pass; return its clocks and the outputs of each state."""
    dut.cold.value, dut.force.value = given["cold"], given["force"]
    of_mark = [getattr(dut, name) for name in ("mark_point", "mark_state", "mark", *given["known"])]
    for words in given["marks"]:
        dut.mark_valid.value = 1
        for port, word in zip(of_mark, words, strict=True):
            port.value = word
        await FallingEdge(dut.clk)
    dut.mark_valid.value = 0
    aligns = hasattr(dut, "align")
    if aligns and given["force"] and given["ring"]:
        while int(dut.clock.value) % given["ring"] != given["ring"] - 1:
            await FallingEdge(dut.clk)
        dut.restart.value = 1
        await FallingEdge(dut.clk)
        dut.restart.value = 0
    for left in range(WAIT + (ARRIVES if aligns else 0) + given["wait"], 0, -1):
        if aligns:
            dut.align.value = left == READ_LATENCY and not given["force"]
        await FallingEdge(dut.clk)
    if aligns:
        dut.align.value = 0
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
