"""How benches begin that fill memories first: the clock, a reset, and writes at the ports, one a clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cocotb.clock import Clock
from cocotb.triggers import FallingEdge


async def load(dut: Any, writes: Sequence[dict[str, int]], idle: Iterable[str] = ()) -> None:
    """Start the clock, reset, and set input ports to each of ``writes`` for a clock; they are 0 else.

    ``idle`` are ports that are 0 until the bench drives them.
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
