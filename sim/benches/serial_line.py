"""The host's end of a serial line, for benches; it shares no code with the gateware."""

from __future__ import annotations

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer, with_timeout

CLOCK = 1000
"""Picoseconds per clock."""


async def start(dut, **inputs):
    """Start the clock and reset the unit, with the line idle; ``inputs`` are values of further ports."""
    for name, value in {"rx": 1, **inputs}.items():
        getattr(dut, name).value = value
    dut.rst.value = 1
    Clock(dut.clk, CLOCK, unit="ps").start()
    for _ in range(3):
        await RisingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


class Line:
    """The host's end of the line: sends bytes on ``rx`` and collects those from ``tx`` in ``heard``.

    A bit of the gateware takes ``divisor`` clocks; ``rate`` is the bit rate of this end divided by that of the
    gateware.
    """

    def __init__(self, dut, divisor, rate=1.0):
        self.dut = dut
        self.bit = round(CLOCK * divisor / rate)
        self.nominal = CLOCK * divisor
        self.heard = []
        cocotb.start_soon(self._listen())

    async def level(self, value, bits):
        """Drive ``value`` for ``bits`` bit times."""
        self.dut.rx.value = value
        if bits:
            await Timer(round(self.bit * bits), unit="ps")

    async def send(self, byte, stop=1):
        """Send a byte, lowest bit first, with a start bit and a stop bit of value ``stop``."""
        frame = byte << 1 | stop << 9
        for k in range(10):
            await self.level(frame >> k & 1, 1)
        self.dut.rx.value = 1

    async def idle(self, bits):
        """Leave the line high for ``bits`` bit times."""
        await self.level(1, bits)

    async def _listen(self):
        """Collect the bytes from ``tx``, and check their start and stop bits."""
        tx = self.dut.tx
        while True:
            await FallingEdge(tx)
            await Timer(self.nominal // 2, unit="ps")
            assert not int(tx.value), "a start bit of less than half a bit"
            byte = 0
            for k in range(8):
                await Timer(self.nominal, unit="ps")
                byte |= int(tx.value) << k
            await Timer(self.nominal, unit="ps")
            assert int(tx.value), "a byte without a stop bit"
            self.heard.append(byte)

    async def take(self, count, bits):
        """Return ``count`` bytes, or fewer if these are all that arrived within ``bits`` bit times."""
        waited = 0
        while len(self.heard) < count and waited < bits:
            await Timer(self.nominal, unit="ps")
            waited += 1
        taken, self.heard = bytes(self.heard[:count]), self.heard[count:]
        return taken


async def soon(awaitable, clocks):
    """Return the result of ``awaitable``; fail if it takes more than ``clocks`` clocks."""
    return await with_timeout(awaitable, CLOCK * clocks, "ps")
