"""Bench of any unit of fixed latency: operands in, results out, every result at its clock.

The stimulus and the results are NumPy archives, so that the test that runs the bench compares whole arrays. Parameters:
``stimulus`` (path: one array of unsigned words per input port), ``results`` (path to write: one array per output port),
``outputs`` (output ports), ``constants`` (ports and the values they keep), ``valid`` (the pair of valid ports, or none),
``latency`` in clocks, ``gaps`` (probability of a clock without operand).
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from sim.bench import bench_parameters


@cocotb.test()
async def stream(dut: Any) -> None:
    """Drive all operands, with gaps or without; sample every output ``latency`` clocks after its operand."""
    parameters = bench_parameters()
    latency, gaps, valid = parameters["latency"], parameters["gaps"], parameters["valid"]
    with np.load(parameters["stimulus"]) as archive:
        names = list(archive)
        rows = list(zip(*(archive[name].tolist() for name in names), strict=True))
    inputs = [getattr(dut, name) for name in names]
    outputs = [getattr(dut, name) for name in parameters["outputs"]]
    for name, value in parameters["constants"].items():
        getattr(dut, name).value = value
    if valid:
        getattr(dut, valid[0]).value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start()
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0

    results: list[tuple[int, ...]] = []
    expected = [False] * latency
    queue = iter(rows)
    sent = 0
    while len(results) < len(rows):
        send = sent < len(rows) and random.random() >= gaps
        row = next(queue) if send else random.choice(rows)
        sent += send
        for port, word in zip(inputs, row, strict=True):
            port.value = word
        if valid:
            getattr(dut, valid[0]).value = int(send)
        expected.append(send)
        await FallingEdge(dut.clk)
        due = expected.pop(0) if latency == 0 else expected[-latency]
        if valid:
            seen = int(getattr(dut, valid[1]).value)
            assert seen == due, f"{valid[1]} is {seen}, must be {int(due)}, after {len(results)} results"
        if due:
            results.append(tuple(int(port.value) for port in outputs))
    columns = zip(*results, strict=True)
    arrays = {name: np.array(c, dtype=object) for name, c in zip(parameters["outputs"], columns, strict=True)}
    narrow = {name: array.astype(np.uint64) for name, array in arrays.items()}
    np.savez(parameters["results"], **narrow)  # type: ignore[arg-type]
