"""Bench of the receiver and the transmitter of a serial line, which share a top but are not connected."""

from __future__ import annotations

import random

import cocotb
from cocotb.triggers import RisingEdge

from beltline.sim.benches.serial_line import Line, soon, start
from beltline.sim.cocotb_runner import bench_parameters

DIVISOR = bench_parameters()["divisor"]
RATES = (0.98, 1.0, 1.02)
"""Bit rates of the host, divided by that of the gateware."""


class Taker:
    """Records every byte of the receiver in ``taken``."""

    def __init__(self, dut):
        self.taken = []
        cocotb.start_soon(self._run(dut))

    async def _run(self, dut):
        while True:
            await RisingEdge(dut.clk)
            if int(dut.valid.value):
                self.taken.append(int(dut.data.value))


async def begin(dut):
    """Reset the units; return the host's end of the line and a record of received bytes."""
    await start(dut, send_valid=0)
    return Line(dut, DIVISOR), Taker(dut)


@cocotb.test()
async def bytes_come_in(dut):
    """The receiver returns all bytes, with and without gaps, at bit rates up to 2% off."""
    _, taker = await begin(dut)
    for rate in RATES:
        line = Line(dut, DIVISOR, rate)
        sent = [0, 255, 85, 170, *(random.randrange(256) for _ in range(60))]
        for byte in sent:
            await line.send(byte)
            await line.idle(random.choice((0, 0, 0, 0.3, 1, 7.7)))
        await line.idle(2)
        assert taker.taken == sent, rate
        taker.taken.clear()


@cocotb.test()
async def bytes_go_out(dut):
    """The transmitter sends all bytes, with and without gaps."""
    line, _ = await begin(dut)
    sent = [0, 255, 85, 170, *(random.randrange(256) for _ in range(60))]
    for byte in sent:
        for _ in range(random.choice((0, 0, 1, 5, 11 * DIVISOR))):
            await RisingEdge(dut.clk)
        dut.send_payload.value, dut.send_valid.value = byte, 1
        await RisingEdge(dut.clk)
        while not int(dut.send_ready.value):
            await RisingEdge(dut.clk)
        dut.send_valid.value = 0
    await line.idle(12)
    assert line.heard == sent


@cocotb.test()
async def bytes_go_out_without_a_gap(dut):
    """Bytes that are ready in time are sent at 10 bit times each."""
    line, _ = await begin(dut)
    dut.send_payload.value, dut.send_valid.value = 0x5A, 1
    clocks = taken = 0
    while taken < 11:
        await RisingEdge(dut.clk)
        taken += int(dut.send_ready.value)
        clocks += taken > 0
    dut.send_valid.value = 0
    assert clocks == 1 + 10 * 10 * DIVISOR
    await line.idle(12)
    assert line.heard == [0x5A] * 11


@cocotb.test()
async def invalid_bytes_are_dropped(dut):
    """The receiver drops pulses of less than half a bit, bytes with a low stop bit, and breaks (a line held low)."""
    line, taker = await begin(dut)
    sent = []

    async def good():
        """Send a byte that must be received."""
        sent.append(random.randrange(256))
        await line.send(sent[-1])

    for _ in range(20):
        await good()
        kind = random.randrange(3)
        if kind == 0:
            await line.idle(1)
            await line.level(0, 0.25)
            await line.idle(10)
        elif kind == 1:
            await line.send(random.randrange(256), stop=0)
            await line.idle(1)
        else:
            await line.level(0, random.uniform(11, 40))
            await line.idle(1)
        await good()
    await line.idle(2)
    assert taker.taken == sent


@cocotb.test()
async def comes_out_of_reset_idle(dut):
    """After a reset nothing is received or sent, and the line is high."""
    line, taker = await begin(dut)
    await soon(line.idle(100), 200 * DIVISOR)
    assert (taker.taken, line.heard) == ([], [])
    assert int(dut.tx.value) == 1
