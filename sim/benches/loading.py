"""Start of benches that fill memories first: the clock, a reset, and writes at the ports, one in every clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge


async def load(dut: Any, writes: Sequence[dict[str, int]], idle: Iterable[str] = ()) -> None:
    """Start the clock, reset the unit, and apply each of ``writes`` to input ports for one clock.

    Ports that a write does not name are 0, and all of them afterwards. ``idle`` are further ports to set to 0.
    """
    ports = {name for row in writes for name in row}
    for name in (*idle, *ports):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start()
    await FallingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    for row in writes:
        for name in ports:
            getattr(dut, name).value = row.get(name, 0)
        await FallingEdge(dut.clk)
    for name in ports:
        getattr(dut, name).value = 0
