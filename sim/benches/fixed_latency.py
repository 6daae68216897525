"""Bench of any unit of fixed latency: each result must follow its operand by that latency.

Stimulus and results are JSON files, so that the test that runs the bench compares whole arrays. Parameters:
``stimulus`` (path: a list of unsigned words for each input port), ``results`` (path to write: the same for each output
port), ``outputs`` (output ports), ``valid`` (the pair of valid ports, or none), ``latency`` in clocks, ``late`` (input
ports whose word enters some clocks after the others of its operand), and ``segments``, each with the number ``count``
of operands, the probability ``gaps`` of a clock without operand, and ``constants``, values of ports during the segment.
"""

from __future__ import annotations

import json
import random
from collections import deque
from pathlib import Path
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from beltline.sim.cocotb_runner import bench_parameters


async def _start(dut: Any, parameters: dict[str, Any]) -> None:
    """Start the clock and reset the unit, with the valid input low."""
    if parameters["valid"]:
        getattr(dut, parameters["valid"][0]).value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start()
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


@cocotb.test()
async def reset_empties_the_pipeline(dut: Any) -> None:
    """A reset discards all operands in the pipeline: no result is valid afterwards."""
    parameters = bench_parameters()
    if not parameters["valid"]:
        return
    await _start(dut, parameters)
    valid_in, valid_out = (getattr(dut, name) for name in parameters["valid"])
    valid_in.value = 1
    for _ in range(parameters["latency"] + 2):
        await FallingEdge(dut.clk)
    assert int(valid_out.value) == 1
    valid_in.value = 0
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for clock in range(parameters["latency"] + 2):
        assert int(valid_out.value) == 0, f"valid {clock} clocks after reset"
        await FallingEdge(dut.clk)


@cocotb.test()
async def stream(dut: Any) -> None:
    """Drive all operands; sample each result ``latency`` clocks after its operand; check that no other clock is
    valid.
    """
    parameters = bench_parameters()
    stimulus = json.loads(Path(parameters["stimulus"]).read_text())
    names = list(stimulus)
    rows = list(zip(*stimulus.values(), strict=True))
    assert rows, "no operands"
    await _start(dut, parameters)

    results: list[list[int]] = []
    first = 0
    for segment in parameters["segments"]:
        for name, value in segment["constants"].items():
            getattr(dut, name).value = value
        results += await _segment(dut, parameters, names, rows[first : first + segment["count"]], segment["gaps"])
        first += segment["count"]
    assert len(results) == len(rows), f"{len(results)} results of {len(rows)} operands"
    columns = zip(*results, strict=True)
    Path(parameters["results"]).write_text(json.dumps(dict(zip(parameters["outputs"], columns, strict=True))))


async def _segment(
    dut: Any, parameters: dict[str, Any], names: list[str], rows: list[tuple[int, ...]], gaps: float
) -> list[list[int]]:
    """Drive ``rows``, one in each clock except in gaps, in which all ports have random operands; return the results."""
    latency, late = parameters["latency"], parameters["late"]
    valid_in, valid_out = (getattr(dut, name) for name in parameters["valid"]) if parameters["valid"] else (None, None)
    outputs = [getattr(dut, name) for name in parameters["outputs"]]
    ports = [(k, getattr(dut, name), late.get(name, 0)) for k, name in enumerate(names)]
    delayed = max(late.values(), default=0)
    driven = deque([random.choice(rows)] * delayed, maxlen=delayed + 1)
    due = deque([False] * latency, maxlen=latency + 1)
    results: list[list[int]] = []
    sent = 0
    # Run for some clocks more than the latency, to detect results without an operand.
    left = latency + 4
    while sent < len(rows) or left:
        send = sent < len(rows) and random.random() >= gaps
        if sent == len(rows):
            left -= 1
        driven.append(rows[sent] if send else random.choice(rows))
        sent += send
        for k, port, clocks in ports:
            port.value = driven[-1 - clocks][k]
        if valid_in is not None:
            valid_in.value = int(send)
        due.append(send)
        await FallingEdge(dut.clk)
        now = due[0] if latency == 0 else due[1]
        if valid_out is not None:
            seen = int(valid_out.value)
            assert seen == now, f"valid is {seen}, must be {int(now)}, after {len(results)} results"
        if now:
            results.append([int(port.value) for port in outputs])
    return results
