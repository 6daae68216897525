"""Bench of the running sum of ``tests/sim/test_cocotb_runner.py``, as an example of a minimal bench."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from beltline.sim.cocotb_runner import bench_parameters


async def start(dut):
    """Start the clock and reset the unit."""
    dut.rst.value = 1
    dut.step.value = 0
    dut.valid.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


@cocotb.test()
async def running_sum(dut):
    """The sum of 1000 random steps, of which about half are valid, is right in each clock."""
    width = bench_parameters()["width"]
    await start(dut)
    total = 0
    for _ in range(1000):
        valid, step = random.randrange(2), random.getrandbits(width)
        dut.valid.value = valid
        dut.step.value = step
        await FallingEdge(dut.clk)
        total = (total + valid * step) % 2**width
        assert dut.total.value == total, f"running sum is {int(dut.total.value)}, wanted {total}"


@cocotb.test()
async def reset_clears_the_sum(dut):
    """A reset sets the sum to 0, even if a step is valid in the same clock."""
    await start(dut)
    dut.valid.value = 1
    dut.step.value = 5
    await FallingEdge(dut.clk)
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    assert dut.total.value == 0
