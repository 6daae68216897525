"""Bench of the whole machine at its buses, driven by the masters of cocotbext-axi, an independent model of AXI.

Parameters: ``tables`` (path of a NumPy archive: 64-bit words by table name), ``settings`` (register values by name),
``results`` (path to write: ``V`` and ``POLICY``, and the counters by register name), ``words`` (number of words of each
result), ``sizes`` (words of every table), ``window_bits``, ``data_bits``, ``stalls`` (whether every channel of both
buses has random idle clocks and back-pressure).
"""

from __future__ import annotations

import random
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiMaster, AxiResp

from beltline.hw.interface.registers import REGISTERS, Command, Interrupt, Refused, Status, Table
from beltline.sim.benches.axi_bus import Monitor, clocks, hold_up
from beltline.sim.cocotb_runner import bench_parameters

COUNTERS = ("STATUS", "CLOCKS", "SWEEPS", "STATES_DONE", "NORM")

COMMAND_CLOCKS = 4
"""Clocks from the write of a command on the bus to the first clock of the run.

Two for the slave, one each for the registers of the register file and of the sequencer.
"""

PATIENCE_NS = 10_000_000

P = bench_parameters()
SIZES: list[int] = P.get("sizes", [])
LARGEST = (P.get("data_bits", 64) // 8).bit_length() - 1
WINDOW = 1 << P.get("window_bits", 12)


class Board:
    """Masters at both buses of the machine, with monitors that check the bus rules in every clock."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_registers"), dut.clk, dut.rst)
        self.tables = AxiMaster(AxiBus.from_prefix(dut, "s_axi_tables"), dut.clk, dut.rst)
        self.register_monitor: Any = None
        self.table_monitor: Any = None

    async def start(self) -> None:
        """Reset the machine, and start the monitors."""
        dut = self.dut
        dut.rst.value = 1
        Clock(dut.clk, 10, unit="ns").start()
        await clocks(dut, 3)
        dut.rst.value = 0
        await clocks(dut, 1)
        self.register_monitor = Monitor(dut, "s_axi_registers_")
        self.table_monitor = Monitor(dut, "s_axi_tables_")
        if P["stalls"]:
            for master in (self.registers, self.tables):
                write, read = master.write_if, master.read_if
                hold_up(write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)

    async def finish(self) -> None:
        """Check that all requests were answered and that no further responses arrive."""
        for master in (self.registers, self.tables):
            write, read = master.write_if, master.read_if
            for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
                channel.clear_pause_generator()
                channel.pause = False
            assert master.idle()
        await self.register_monitor.finish()
        await self.table_monitor.finish()

    async def write_register(self, name: str, value: int) -> set[AxiResp]:
        """Write all words of a register, and return the set of responses."""
        register = REGISTERS[name]
        answers = set()
        for k in range(register.words):
            word = (value >> 32 * k & 0xFFFF_FFFF).to_bytes(4, "little")
            answers.add((await soon(self.registers.write(register.offset + 4 * k, word))).resp)
        return answers

    async def read_register(self, name: str) -> int:
        """Return the value of a register, of all its words."""
        register = REGISTERS[name]
        words = []
        for k in range(register.words):
            read = await soon(self.registers.read(register.offset + 4 * k, 4))
            assert read.resp == AxiResp.OKAY
            words.append(int.from_bytes(read.data, "little"))
        return sum(word << 32 * k for k, word in enumerate(words))

    async def write_bytes(self, table: int, first: int, data: bytes, size: int = LARGEST) -> AxiResp:
        """Write from byte ``first`` of a table in bursts of beats of ``1 << size`` bytes."""
        written = await soon(
            self.tables.write(table * WINDOW + first, data, size=size, awid=random.randrange(16), burst=1)
        )
        return written.resp

    async def read_bytes(self, table: int, first: int, count: int, size: int = LARGEST) -> tuple[bytes, AxiResp]:
        """Read from byte ``first`` of a table in beats of ``1 << size`` bytes; return the bytes and the response."""
        read = await soon(self.tables.read(table * WINDOW + first, count, size=size, arid=random.randrange(16)))
        return bytes(read.data), read.resp

    async def write_table(self, table: int, data: bytes) -> None:
        """Write ``data`` from the start of a table on, in bursts of random length, beat size and order."""
        pieces = []
        first = 0
        while first < len(data):
            size = random.randrange(LARGEST + 1)
            # A beat of several words may begin at any of them, a smaller one at a multiple of its size.
            unit = min(1 << size, 8)
            if first % unit:
                size = (first & -first).bit_length() - 1
                unit = 1 << size
            count = min(len(data) - first, unit * random.choice((1, 2, 3, 17, 100)))
            pieces.append((first, count, size))
            first += count
        random.shuffle(pieces)
        for first, count, size in pieces:
            assert await self.write_bytes(table, first, data[first : first + count], size) == AxiResp.OKAY

    async def read_table(self, table: int, count: int) -> bytes:
        """Return the first ``count`` bytes of a table, read in bursts of random length."""
        data = b""
        while len(data) < count:
            part, answer = await self.read_bytes(table, len(data), min(count - len(data), 8 * random.randint(1, 300)))
            assert answer == AxiResp.OKAY
            data += part
        return data

    async def interrupted(self) -> None:
        """Wait for the interrupt."""
        while not int(self.dut.interrupt.value):
            await RisingEdge(self.dut.clk)


async def soon(awaitable: Any) -> Any:
    """Return the result of ``awaitable``; fail if it takes more than ``PATIENCE_NS`` nanoseconds."""
    return await with_timeout(awaitable, PATIENCE_NS, "ns")


async def load(board: Board) -> None:
    """Write all tables and settings, and read them back where they can be read."""
    with np.load(P["tables"]) as archive:
        for name in archive:
            await board.write_table(Table[name], archive[name].tobytes())
            if name in ("W", "V"):
                assert await board.read_table(Table[name], archive[name].nbytes) == archive[name].tobytes()
    for name, value in P["settings"].items():
        assert await board.write_register(name, value) == {AxiResp.OKAY}
        assert await board.read_register(name) == value


async def refusals(board: Board) -> None:
    """Try accesses that are not allowed during a run, and check that each is answered SLVERR.

    The results of the run show that they changed nothing.
    """
    for table in (Table.X, Table.W, Table.Q, Table.V):
        # A write beyond the end of the table would be refused for that reason.
        data = random.randbytes(8 * min(20, SIZES[table]))
        assert await board.write_bytes(table, 0, data) == AxiResp.SLVERR
    for table in (Table.W, Table.V, Table.POLICY):
        assert (await board.read_bytes(table, 0, 40))[1] == AxiResp.SLVERR
    for name in ("GRID", "UTILITY_A", "MODE", "INTERRUPT"):
        assert await board.write_register(name, 7) == {AxiResp.SLVERR}
    assert await board.read_register("STATUS") == Status.BUSY
    assert await board.read_register("REFUSED") == Refused.REGISTER | Refused.TABLE


async def command_taken(dut: Any) -> None:
    """Return in the clock after the one in which the write of a command is complete on the bus."""
    address = data = False
    while not (address and data):
        await RisingEdge(dut.clk)
        address |= bool(int(dut.s_axi_registers_awvalid.value) and int(dut.s_axi_registers_awready.value))
        data |= bool(int(dut.s_axi_registers_wvalid.value) and int(dut.s_axi_registers_wready.value))


@cocotb.test()
async def solve(dut: Any) -> None:
    """Load, run, count the clocks from outside, attempt forbidden accesses meanwhile, and read the results."""
    board = Board(dut)
    await board.start()
    await load(board)
    assert await board.write_register("INTERRUPT", Interrupt.ENABLE) == {AxiResp.OKAY}
    assert not int(dut.interrupt.value)
    command = cocotb.start_soon(board.write_register("COMMAND", Command.RUN))
    await soon(command_taken(dut))
    clocks_seen = 0
    meddling = None
    while not int(dut.interrupt.value):
        await RisingEdge(dut.clk)
        clocks_seen += 1
        if meddling is None and command.done():
            assert command.result() == {AxiResp.OKAY}
            meddling = cocotb.start_soon(refusals(board))
    await soon(meddling)
    counters = {name: await board.read_register(name) for name in COUNTERS}
    assert clocks_seen == counters["CLOCKS"] + COMMAND_CLOCKS, (clocks_seen, counters["CLOCKS"])
    assert not counters["STATUS"] & Status.BUSY
    assert int(dut.interrupt.value)
    assert await board.write_register("INTERRUPT", 0) == {AxiResp.OKAY}
    assert not int(dut.interrupt.value)
    results = {table.name: await board.read_table(table, 8 * P["words"]) for table in (Table.V, Table.POLICY)}
    assert await board.write_register("COMMAND", Command.RESET) == {AxiResp.OKAY}
    assert await board.read_register("STATUS") == 0
    assert await board.read_register("REFUSED") == 0
    for name, value in P["settings"].items():
        assert await board.read_register(name) == value, f"reset changed {name}"
    await board.finish()
    np.savez(
        P["results"],
        **{name: np.frombuffer(data, dtype=np.uint64) for name, data in results.items()},
        **{name: np.array(value, dtype=np.uint64) for name, value in counters.items()},
    )


@cocotb.test()
async def races(dut: Any) -> None:
    """A run or a reset begins in any clock of a burst: a burst that is answered OKAY is done in full, once.

    A burst that is refused has written only its first words, or none.
    """
    board = Board(dut)
    await board.start()
    await load(board)
    # With this setting a run is refused; it takes some clocks and does not change the tables.
    await board.write_register("GRID", 1)
    await board.write_register("INTERRUPT", Interrupt.ENABLE)
    content = {table: bytearray(await board.read_table(table, 8 * SIZES[table])) for table in (Table.W, Table.V)}
    answers = {AxiResp.OKAY: 0, AxiResp.SLVERR: 0}
    for _ in range(150):
        table = random.choice(list(content))
        count = 8 * random.randint(1, 24)
        first = 8 * random.randrange(SIZES[table] - count // 8 + 1)
        data = random.randbytes(count)
        command = random.choice((Command.RUN, Command.RUN, Command.RESET))
        burst = cocotb.start_soon(board.write_bytes(table, first, data))
        await clocks(dut, random.randrange(40))
        assert await board.write_register("COMMAND", command) == {AxiResp.OKAY}
        answer = await soon(burst)
        answers[answer] += 1
        while await board.read_register("STATUS") & Status.BUSY:
            pass
        found = await board.read_table(table, 8 * SIZES[table])
        wanted = content[table].copy()
        wanted[first : first + count] = data
        if answer == AxiResp.OKAY:
            assert found == wanted, "a write that was answered with OKAY is missing in the table"
        else:
            # The number of words that were written before the run began.
            done = next((k for k in range(0, count, 8) if found[first + k : first + k + 8] != data[k : k + 8]), count)
            wanted = content[table].copy()
            wanted[first : first + done] = data[:done]
            assert found == wanted, "a write that was refused left more than its beginning"
        content[table][:] = found
    assert min(answers.values()) > 10, answers

    answers = {AxiResp.OKAY: 0, AxiResp.SLVERR: 0}
    for _ in range(150):
        table = random.choice(list(content))
        count = 8 * random.randint(1, 24)
        first = 8 * random.randrange(SIZES[table] - count // 8 + 1)
        command = random.choice((Command.RUN, Command.RESET))
        burst = cocotb.start_soon(board.read_bytes(table, first, count))
        await clocks(dut, random.randrange(50))
        assert await board.write_register("COMMAND", command) == {AxiResp.OKAY}
        found, answer = await soon(burst)
        answers[answer] += 1
        if answer == AxiResp.OKAY:
            assert found == content[table][first : first + count]
        else:
            assert command == Command.RUN, "a reset refuses no read"
        while await board.read_register("STATUS") & Status.BUSY:
            pass
    assert min(answers.values()) > 10, answers
    for table, wanted in content.items():
        assert await board.read_table(table, 8 * SIZES[table]) == wanted
    await board.finish()
