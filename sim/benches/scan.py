"""Bench of the pass that scans brackets.

Parameters: ``stimulus`` (path of JSON: ``writes``, a list of mappings of input ports to values, one for each clock;
``constants``, ports with a constant value; and ``rounds``, each with ``writes``, ``ports`` that are constant in it, and
``rival``, the probability that another lane requests a row), ``results`` (path to write: for each round the clock of
its end, ``crossed``, ``saturated``, and for each result its clock and a list of outputs), and ``outputs``: the ports to
sample in clocks with ``result``.
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

STUCK = 200_000
"""Largest number of clocks of a round."""

QUIET = 150
"""Clocks after a round in which there must be no result."""


async def one(dut: Any, given: dict[str, Any], outputs: list[Any], chance: random.Random) -> dict[str, Any]:
    """Run one round, with random requests of a rival lane, and return what the results file has of it."""
    for name, value in given["ports"].items():
        getattr(dut, name).value = value
    dut.start.value = dut.restart.value = 1
    await FallingEdge(dut.clk)
    dut.start.value = dut.restart.value = 0
    found: list[list[int]] = []
    clock = saturated = 0
    while int(dut.busy.value):
        dut.rival.value = int(chance.random() < given["rival"])
        dut.rival_row.value = chance.randrange(1 << len(dut.rival_row))
        if int(dut.result.value):
            found.append([clock, *(int(port.value) for port in outputs)])
        saturated |= int(dut.saturated.value)
        clock += 1
        assert clock < STUCK, f"still busy after {clock} clocks and {len(found)} results"
        await FallingEdge(dut.clk)
    dut.rival.value = 0
    crossed = int(dut.crossed.value)
    for _ in range(QUIET):
        assert not int(dut.result.value), "a result after the end"
        await FallingEdge(dut.clk)
    return {"end": clock, "crossed": crossed, "saturated": saturated, "found": found}


@cocotb.test()
async def rounds(dut: Any) -> None:
    """Run all rounds and write their results."""
    parameters = bench_parameters()
    stimulus = json.loads(Path(parameters["stimulus"]).read_text())
    outputs = [getattr(dut, name) for name in parameters["outputs"]]
    chance = random.Random(1)
    for name, value in stimulus["constants"].items():
        getattr(dut, name).value = value
    done = []
    await load(dut, stimulus["writes"], ["start", "restart", "rival"])
    for given in stimulus["rounds"]:
        for row in given["writes"]:
            for name, value in row.items():
                getattr(dut, name).value = value
            await FallingEdge(dut.clk)
        dut.write.value = 0
        done.append(await one(dut, given, outputs, chance))
    Path(parameters["results"]).write_text(json.dumps(done))
