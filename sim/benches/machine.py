"""Bench of the whole machine at its own ports, clock by clock.

Parameters: ``tables`` (path of a NumPy archive: 64-bit words by table name), ``settings`` (register values by name),
``results`` (path to write: ``V`` and ``POLICY``, and the counters by register name), ``words`` (of the results),
``gaps`` (probability of an idle clock between two words).
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from hw.machine import TABLE_READ_CLOCKS
from hw.registers import REGISTERS, Command, Status, Table
from sim.bench import bench_parameters

COUNTERS = ("STATUS", "CLOCKS", "SWEEPS", "STATES_DONE", "NORM")


class Ports:
    """The machine's ports, one access a clock."""

    def __init__(self, dut: Any, gaps: float) -> None:
        self._dut = dut
        self._gaps = gaps

    async def clock(self) -> None:
        await FallingEdge(self._dut.clk)

    async def idle(self) -> None:
        while random.random() < self._gaps:
            await self.clock()

    async def write_register(self, name: str, value: int) -> None:
        register = REGISTERS[name]
        for k in range(register.words):
            await self.idle()
            self._dut.register_address.value = register.offset // 4 + k
            self._dut.register_write_data.value = value >> 32 * k & 0xFFFF_FFFF
            self._dut.register_write.value = 1
            await self.clock()
            self._dut.register_write.value = 0

    async def read_register(self, name: str) -> int:
        register = REGISTERS[name]
        value = 0
        for k in range(register.words):
            self._dut.register_address.value = register.offset // 4 + k
            await self.clock()
            value |= int(self._dut.register_read_data.value) << 32 * k
        return value

    async def write_table(self, table: Table, words: list[int]) -> None:
        self._dut.table_select.value = int(table)
        for address, word in enumerate(words):
            await self.idle()
            self._dut.table_address.value = address
            self._dut.table_write_data.value = word
            self._dut.table_write.value = 1
            await self.clock()
            self._dut.table_write.value = 0

    async def read_table(self, table: Table, count: int) -> list[int]:
        """Ask word after word; every word must come back exactly ``TABLE_READ_CLOCKS`` clocks later."""
        self._dut.table_select.value = int(table)
        words: list[int] = []
        asked = [False] * TABLE_READ_CLOCKS
        address = 0
        while len(words) < count:
            ask = address < count and random.random() >= self._gaps
            self._dut.table_address.value = address
            self._dut.table_read.value = int(ask)
            address += ask
            asked.append(ask)
            await self.clock()
            due = asked[-TABLE_READ_CLOCKS]
            valid = int(self._dut.table_read_valid.value)
            assert valid == due, f"table_read_valid is {valid}, must be {int(due)}, after {len(words)} words"
            if valid:
                words.append(int(self._dut.table_read_data.value))
        self._dut.table_read.value = 0
        return words


@cocotb.test()
async def solve(dut: Any) -> None:
    """Load, run, count the clocks from outside, read back."""
    parameters = bench_parameters()
    for name in ("register_write", "table_write", "table_read", "table_select", "table_address", "register_address"):
        getattr(dut, name).value = 0
    dut.rst.value = 1
    Clock(dut.clk, 10, unit="ns").start()
    ports = Ports(dut, parameters["gaps"])
    await ports.clock()
    await ports.clock()
    dut.rst.value = 0
    with np.load(parameters["tables"]) as archive:
        for name in archive:
            await ports.write_table(Table[name], archive[name].tolist())
    for name, value in parameters["settings"].items():
        await ports.write_register(name, value)
    assert not int(dut.done.value)
    await ports.write_register("COMMAND", int(Command.RUN))
    clocks = 0
    while not int(dut.done.value):
        await ports.clock()
        clocks += 1
    counters = {name: await ports.read_register(name) for name in COUNTERS}
    # The command takes one clock to become a run.
    assert clocks == counters["CLOCKS"] + 1, f"{clocks} clocks seen, register CLOCKS says {counters['CLOCKS']}"
    assert not counters["STATUS"] & Status.BUSY
    np.savez(
        parameters["results"],
        V=np.array(await ports.read_table(Table.V, parameters["words"]), dtype=np.uint64),
        POLICY=np.array(await ports.read_table(Table.POLICY, parameters["words"]), dtype=np.uint64),
        **{name: np.array(value, dtype=np.uint64) for name, value in counters.items()},
    )
