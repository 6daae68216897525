"""Bench of the AXI4-Lite slave of the register file, driven by the master of cocotbext-axi and by single channels.

The top has the slave's bus, ``locked``, ``refused`` and ``command``, the reports as inputs (``report_NAME``) and the
settings as outputs (``setting_NAME``).
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiResp
from cocotbext.axi.axil_channels import (
    AxiLiteARSource,
    AxiLiteAWSource,
    AxiLiteBSink,
    AxiLiteRSink,
    AxiLiteWSource,
)

from beltline.hw.interface.registers import REGISTERS, Access, Command
from beltline.sim.benches.axi_bus import PATIENCE, Monitor, clocks, hold_up, start

WRITE_CLOCKS, READ_CLOCKS = 3, 3
"""Clocks from the address, or the data if later, to the response, as the slave specifies them."""

WINDOW = 4096
"""Bytes of the window of the registers."""

OWNERS = {r.offset + 4 * k: (r, k) for r in REGISTERS.values() for k in range(r.words)}
"""Register, and number of the word in it, by byte address."""

SETTINGS = [r for r in REGISTERS.values() if r.access is Access.READ_WRITE]
COMMAND = REGISTERS["COMMAND"].offset
ALL_STROBES = 15


class Registers:
    """What each register must contain, by name in ``values``, and the commands that the slave passed on."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.values = {r.name: random.getrandbits(r.bits) if r.access is Access.READ else 0 for r in REGISTERS.values()}
        for r in REGISTERS.values():
            if r.access is Access.READ:
                getattr(dut, f"report_{r.name}").value = self.values[r.name]
        self.commands: list[int] = []
        cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        """Record the commands that the slave passes on."""
        while True:
            await RisingEdge(self.dut.clk)
            if command := int(self.dut.command.value):
                self.commands.append(command)

    def word(self, address: int) -> int:
        """Return the 32-bit word that a read of ``address`` must return."""
        register, part = OWNERS[address]
        return self.values[register.name] >> 32 * part & 0xFFFFFFFF

    def write(self, address: int, word: int) -> None:
        """Record that ``word`` was written at ``address``; bits beyond the register's width are dropped."""
        register, part = OWNERS[address]
        mask = 0xFFFFFFFF << 32 * part
        self.values[register.name] = (self.values[register.name] & ~mask | word << 32 * part) % 2**register.bits

    def check(self) -> None:
        """Compare the settings at the slave's outputs with the words written."""
        for r in SETTINGS:
            assert int(getattr(self.dut, f"setting_{r.name}").value) == self.values[r.name], r.name


async def soon(awaitable: Any) -> Any:
    """Return the result of ``awaitable``; fail if it takes more than ``PATIENCE`` clocks."""
    return await with_timeout(awaitable, 10 * PATIENCE, "ns")


async def begin(dut: Any) -> tuple[Monitor, Registers]:
    """Reset the slave; return a monitor of the bus rules and the expected registers."""
    await start(dut)
    monitor, registers = Monitor(dut), Registers(dut)
    await clocks(dut, 2)
    return monitor, registers


async def finish(monitor: Monitor, registers: Registers) -> None:
    """Check that all requests were answered, and that the settings are as expected."""
    await monitor.finish()
    registers.check()


class Master:
    """The complete master of cocotbext-axi; with ``stalls``, with random idle clocks and back-pressure."""

    def __init__(self, dut: Any, stalls: bool) -> None:
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "bus_"), dut.clk, dut.rst)
        write, read = self.master.write_if, self.master.read_if
        self.channels = (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)
        if stalls:
            hold_up(*self.channels)

    async def write(self, address: int, word: int, size: int = 4) -> int:
        """Write the lowest ``size`` bytes of a word, and return the response."""
        return int((await soon(self.master.write(address, word.to_bytes(4, "little")[:size]))).resp)

    async def read(self, address: int) -> tuple[int, int]:
        """Read a word, and return it and the response."""
        got = await soon(self.master.read(address, 4))
        return int.from_bytes(got.data, "little"), int(got.resp)

    def rest(self) -> None:
        """End idle clocks and back-pressure, and check that the master has no open requests."""
        for channel in self.channels:
            channel.clear_pause_generator()
            channel.pause = False
        assert self.master.idle()


class Raw:
    """The five channels, driven one by one; with ``stalls``, with random idle clocks and back-pressure."""

    def __init__(self, dut: Any, stalls: bool) -> None:
        bus = AxiLiteBus.from_prefix(dut, "bus_")
        self.dut = dut
        self.aw = AxiLiteAWSource(bus.write.aw, dut.clk, dut.rst)
        self.w = AxiLiteWSource(bus.write.w, dut.clk, dut.rst)
        self.b = AxiLiteBSink(bus.write.b, dut.clk, dut.rst)
        self.ar = AxiLiteARSource(bus.read.ar, dut.clk, dut.rst)
        self.r = AxiLiteRSink(bus.read.r, dut.clk, dut.rst)
        self.all = (self.aw, self.w, self.b, self.ar, self.r)
        if stalls:
            hold_up(*self.all)

    async def write(self, address: int, word: int, strobes: int = ALL_STROBES) -> int:
        """Send address and data in random order, some clocks apart, and return the response."""
        both = [
            (self.aw, self.aw._transaction_obj(awaddr=address)),
            (self.w, self.w._transaction_obj(wdata=word, wstrb=strobes)),
        ]
        random.shuffle(both)
        for channel, transaction in both:
            await channel.send(transaction)
            await clocks(self.dut, random.choice((0, 0, 1, 2, 5)))
        return int((await soon(self.b.recv())).bresp)

    async def read(self, address: int) -> tuple[int, int]:
        """Read a word, and return it and the response."""
        await self.ar.send(self.ar._transaction_obj(araddr=address))
        r = await soon(self.r.recv())
        return int(r.rdata), int(r.rresp)

    def rest(self) -> None:
        """End idle clocks and back-pressure, and check that no transfers are left over."""
        for channel in self.all:
            channel.clear_pause_generator()
            channel.pause = False
            assert channel.empty()


async def traffic(dut: Any, stalls: bool) -> None:
    """Write all registers in random order, with reads at the same time; no write changes another register."""
    monitor, registers = await begin(dut)
    master = Master(dut, stalls)
    writable = [a for a, (r, _) in OWNERS.items() if r.access is Access.READ_WRITE]
    readable = [a for a, (r, _) in OWNERS.items() if r.access is not Access.WRITE]
    order = [address for address in writable for _ in range(12)]
    random.shuffle(order)
    for address in order:
        word = random.getrandbits(32)
        writing = cocotb.start_soon(master.write(address, word))
        other = random.choice([a for a in readable if a != address])
        assert await master.read(other) == (registers.word(other), 0), other
        assert await writing == 0
        registers.write(address, word)
        registers.check()
        for near in (address - 4, address, address + 4):
            if near in readable:
                assert await master.read(near) == (registers.word(near), 0), near
    every = sum(Command)
    commands = range(1, every + 1)
    for command in commands:
        assert await master.write(COMMAND, 0xFFFFFFFF ^ every | command) == 0
    assert registers.commands == list(commands)
    assert monitor.refusals == 0
    master.rest()
    await finish(monitor, registers)


@cocotb.test()
async def traffic_unhindered(dut: Any) -> None:
    """Writes and reads at the same time, without idle clocks and back-pressure."""
    await traffic(dut, False)


@cocotb.test()
async def traffic_with_stalls(dut: Any) -> None:
    """Writes and reads at the same time, with random idle clocks and back-pressure."""
    await traffic(dut, True)


@cocotb.test()
async def many_at_once(dut: Any) -> None:
    """Many requests are outstanding at a time, each for all words of a register."""
    monitor, registers = await begin(dut)
    master = Master(dut, True)
    writes = []
    for r in SETTINGS:
        word = random.getrandbits(32 * r.words)
        writes.append(master.master.init_write(r.offset, word.to_bytes(4 * r.words, "little")))
        registers.values[r.name] = word % 2**r.bits
    for write in writes:
        await soon(write.wait())
        assert write.data.resp == AxiResp.OKAY
    registers.check()
    reads = [(r, master.master.init_read(r.offset, 4 * r.words)) for r in REGISTERS.values()]
    for r, read in reads:
        await soon(read.wait())
        assert read.data.resp == (AxiResp.SLVERR if r.name == "COMMAND" else AxiResp.OKAY)
        assert int.from_bytes(read.data.data, "little") == registers.values[r.name], r.name
    master.rest()
    await finish(monitor, registers)


@cocotb.test()
async def illegal_accesses_change_nothing(dut: Any) -> None:
    """Accesses with a wrong address, direction or strobes are answered SLVERR and change nothing."""
    monitor, registers = await begin(dut)
    raw = Raw(dut, True)
    for r in SETTINGS:
        for k in range(r.words):
            word = random.getrandbits(32)
            assert await raw.write(r.offset + 4 * k, word) == 0
            registers.write(r.offset + 4 * k, word)
    end = len(OWNERS) * 4
    unaligned = [a for a in range(end + 8) if a % 4]
    outside = [end, end + 4, 256, 508, 512, 1020, 1024, 2048, WINDOW - 4, *(1024 + a for a in OWNERS)]
    for address in random.sample([*unaligned, *outside], len(unaligned) + len(outside)):
        assert await raw.write(address, random.getrandbits(32)) == 2, address
        assert await raw.read(address) == (0, 2), address
        registers.check()
    for address, (r, _) in OWNERS.items():
        if r.access is Access.READ:
            assert await raw.write(address, random.getrandbits(32)) == 2, r.name
        elif r.access is Access.WRITE:
            assert await raw.read(address) == (0, 2), r.name
        for strobes in range(ALL_STROBES):
            assert await raw.write(address, random.getrandbits(32), strobes) == 2, (r.name, strobes)
        registers.check()
    assert registers.commands == []
    assert monitor.refusals == 0
    raw.rest()
    await finish(monitor, registers)


@cocotb.test()
async def locked(dut: Any) -> None:
    """While the registers are locked, writes of settings are refused and counted; commands and reads are not."""
    monitor, registers = await begin(dut)
    master = Master(dut, True)
    dut.locked.value = 1
    refused = 0
    for address, (r, _) in OWNERS.items():
        response = await master.write(address, 5)
        assert response == (0 if r.access is Access.WRITE else 2), r.name
        refused += r.access is Access.READ_WRITE
        assert monitor.refusals == refused, r.name
        if r.access is not Access.WRITE:
            assert await master.read(address) == (registers.word(address), 0), r.name
        # An access that is illegal in any case is not counted as refused by the lock.
        assert await master.write(address, 5, size=2) == 2
        assert monitor.refusals == refused, r.name
    assert registers.commands == [5]
    dut.locked.value = 0
    grid = REGISTERS["GRID"].offset
    assert await master.write(grid, 77) == 0
    registers.write(grid, 77)
    master.rest()
    await finish(monitor, registers)


@cocotb.test()
async def lock_can_be_taken_and_released(dut: Any) -> None:
    """With a lock at any clock, a write is either done and answered OKAY, or refused, counted and answered SLVERR."""
    monitor, registers = await begin(dut)
    master = Master(dut, True)

    async def lock() -> None:
        """Set and clear the lock at random."""
        while True:
            dut.locked.value = random.randrange(2)
            await clocks(dut, random.choice((1, 1, 2, 3, 10)))

    locking = cocotb.start_soon(lock())
    answers = []
    for _ in range(300):
        r = random.choice(SETTINGS)
        word, refusals = random.getrandbits(32), monitor.refusals
        answers.append(await master.write(r.offset, word))
        assert monitor.refusals - refusals == (answers[-1] == 2)
        if answers[-1] == 0:
            registers.write(r.offset, word)
        registers.check()
    assert min(answers.count(0), answers.count(2)) > 50
    locking.cancel()
    dut.locked.value = 0
    master.rest()
    await finish(monitor, registers)


@cocotb.test()
async def clocks_of_an_access(dut: Any) -> None:
    """A write takes ``WRITE_CLOCKS`` clocks and a read ``READ_CLOCKS``."""
    monitor, registers = await begin(dut)
    raw = Raw(dut, False)
    grid = REGISTERS["GRID"].offset
    for _ in range(30):
        word = random.getrandbits(32)
        assert await raw.write(grid, word) == 0
        registers.write(grid, word)
        await clocks(dut, 1)
        assert monitor.when["b"] - max(monitor.when["aw"], monitor.when["w"]) == WRITE_CLOCKS
        assert await raw.read(grid) == (word, 0)
        await clocks(dut, 1)
        assert monitor.when["r"] - monitor.when["ar"] == READ_CLOCKS
    raw.rest()
    await finish(monitor, registers)


@cocotb.test()
async def reads_and_writes_take_turns(dut: Any) -> None:
    """With many reads and writes outstanding, the slave answers one of each in turn."""
    monitor, registers = await begin(dut)
    raw = Raw(dut, False)
    grid = REGISTERS["GRID"].offset
    order = []

    async def watch() -> None:
        """Record the order of responses: b for a write, r for a read."""
        before = (0, 0)
        while True:
            await RisingEdge(dut.clk)
            now = (monitor.counts["b"], monitor.counts["r"])
            order.extend("b" * (now[0] - before[0]) + "r" * (now[1] - before[1]))
            before = now

    cocotb.start_soon(watch())
    for k in range(40):
        raw.aw.send_nowait(raw.aw._transaction_obj(awaddr=grid))
        raw.w.send_nowait(raw.w._transaction_obj(wdata=k, wstrb=ALL_STROBES))
        raw.ar.send_nowait(raw.ar._transaction_obj(araddr=grid))
    found = []
    for _ in range(40):
        assert int((await soon(raw.b.recv())).bresp) == 0
        found.append(int((await soon(raw.r.recv())).rdata))
    assert found == sorted(found)
    registers.write(grid, 39)
    await clocks(dut, 3)
    assert all(a != b for a, b in itertools.pairwise(order)), "".join(order)
    raw.rest()
    await finish(monitor, registers)
