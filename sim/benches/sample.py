"""Bench of the running sum of ``tests/sim/test_cocotb_runner.py``: the least that a bench needs."""

from __future__ import annotations

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from beltline.sim.cocotb_runner import bench_parameters


async def start(dut):
    dut.rst.value = 1
    dut.step.value = 0
    dut.valid.value = 0
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0


@cocotb.test()
async def running_sum(dut):
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
    await start(dut)
    dut.valid.value = 1
    dut.step.value = 5
    await FallingEdge(dut.clk)
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    assert dut.total.value == 0
