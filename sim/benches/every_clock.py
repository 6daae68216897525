"""Bench of any unit that drives inputs and samples all outputs in every clock, before its rising edge.

Stimulus and results are JSON files. Parameters: ``stimulus`` (path: a list of unsigned words for each input port, one
for each clock), ``results`` (path to write: the same for each output port) and ``outputs`` (output ports). Inputs are 0
during the reset before the first clock. A unit without registers has no clock.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from beltline.sim.cocotb_runner import bench_parameters

PERIOD = 1000
"""Picoseconds of a clock."""


@cocotb.test()
async def every_clock(dut: Any) -> None:
    """Drive the inputs of each clock, sample the outputs, and write them."""
    parameters = bench_parameters()
    stimulus = json.loads(Path(parameters["stimulus"]).read_text())
    rows = list(zip(*stimulus.values(), strict=True))
    assert rows, "no clocks"
    inputs = [getattr(dut, name) for name in stimulus]
    outputs = [getattr(dut, name) for name in parameters["outputs"]]
    for port in inputs:
        port.value = 0
    clocked = hasattr(dut, "clk")
    if clocked:
        dut.rst.value = 1
        Clock(dut.clk, PERIOD, unit="ps").start()
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0
    results = []
    before: tuple[int | None, ...] = (None,) * len(inputs)
    for row in rows:
        for port, word, last in zip(inputs, row, before, strict=True):
            if word != last:
                port.value = word
        before = row
        # Inputs change at the falling edge, registers at the rising one.
        await Timer(PERIOD // 4, unit="ps")
        results.append([int(port.value) for port in outputs])
        if clocked:
            await FallingEdge(dut.clk)
    columns = zip(*results, strict=True)
    Path(parameters["results"]).write_text(json.dumps(dict(zip(parameters["outputs"], columns, strict=True))))
