"""Masters and memory for :mod:`beltline.sim.benches.axi_tables`, at both ends of the AXI slave of the table windows.

The parameters are those of that bench.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge, with_timeout
from cocotbext.axi import AxiBus, AxiMaster
from cocotbext.axi.axi_channels import AxiARSource, AxiAWSource, AxiBSink, AxiRSink, AxiWSource

from beltline.sim.benches.axi_bus import PATIENCE, Monitor, hold_up, start
from beltline.sim.cocotb_runner import bench_parameters

LATENCY = 5
"""Clocks of a read of the memory."""

INCR = 1
"""Burst type of AXI with rising addresses."""

P = bench_parameters()
WORDS: list[int] = P.get("words", [])
BUS_BYTES = P.get("data_bits", 64) // 8
LARGEST = BUS_BYTES.bit_length() - 1
WINDOW = 1 << P.get("window_bits", 12)
LENGTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 255, 256)


class Tables:
    """The memory that the slave accesses, and the bytes that it must contain.

    Attributes: ``words``, the content of each table; ``wanted``, the bytes that it must contain; ``writes`` and
    ``reads``, numbers of accesses; ``frozen``, whether a write is an error.
    """

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.words = [[random.getrandbits(64) for _ in range(count)] for count in WORDS]
        self.wanted = [bytearray(b"".join(w.to_bytes(8, "little") for w in table)) for table in self.words]
        self.writes = 0
        self.reads = 0
        self.frozen = False
        cocotb.start_soon(self._run())

    async def _run(self) -> None:
        """Serve the slave in each clock, with a read latency of ``LATENCY``, and check the legality of each access."""
        dut = self.dut
        pipeline: deque[int | None] = deque([None] * (LATENCY - 1))
        dut.tables__read_valid.value = 0
        while True:
            await RisingEdge(dut.clk)
            locked = int(dut.locked.value)
            strobes = int(dut.tables__write.value)
            if strobes:
                assert not locked, "write while locked"
                assert not self.frozen, "write of a burst that must change nothing"
                table, address = int(dut.tables__write_table.value), int(dut.tables__write_address.value)
                assert table in P["writable"]
                assert address < WORDS[table], f"write beyond table {table}: {address}"
                mask = sum(0xFF << 8 * byte for byte in range(8) if strobes >> byte & 1)
                self.words[table][address] &= ~mask
                self.words[table][address] |= int(dut.tables__write_data.value) & mask
                self.writes += 1
            word = None
            if int(dut.tables__read.value):
                assert not locked, "read while locked"
                table, address = int(dut.tables__read_table.value), int(dut.tables__read_address.value)
                assert table in P["readable"]
                assert address < WORDS[table], f"read beyond table {table}: {address}"
                word = self.words[table][address]
                self.reads += 1
            pipeline.append(word)
            word = pipeline.popleft()
            dut.tables__read_valid.value = int(word is not None)
            dut.tables__read_data.value = random.getrandbits(64) if word is None else word

    def bytes(self, table: int, first: int, count: int) -> bytes:
        """Return the bytes that a read must return; beyond the table's end they are 0."""
        return bytes(self.wanted[table][first : first + count]).ljust(count, b"\0")

    def expect(self, table: int, beats: Sequence[tuple[int, int]], first: int, size: int) -> None:
        """Record that beats of ``1 << size`` bytes, with all strobes set, have been written from byte ``first`` on."""
        for at, part in on_lanes(beats, first, size):
            self.wanted[table][at : at + len(part)] = part

    def check(self) -> None:
        """Compare the content of all tables with what was written."""
        for table, wanted in enumerate(self.wanted):
            found = b"".join(word.to_bytes(8, "little") for word in self.words[table])
            different = [k for k in range(len(wanted)) if wanted[k] != found[k]]
            assert not different, f"table {table} differs at bytes {different[:20]}"


async def begin(dut: Any) -> tuple[Monitor, Tables]:
    """Reset the slave; return a monitor of the bus rules and the memory."""
    await start(dut)
    return Monitor(dut), Tables(dut)


async def finish(monitor: Monitor, tables: Tables) -> None:
    """Check that all requests were answered, that no access goes on, and that the memory is as expected."""
    await monitor.finish()
    assert not int(monitor.dut.tables__read.value)
    assert not int(monitor.dut.tables__write.value)
    tables.check()


async def soon(dut: Any, awaitable: Any) -> Any:
    """Return the result of ``awaitable``; fail if it takes more than ``PATIENCE`` clocks."""
    return await with_timeout(awaitable, 10 * PATIENCE, "ns")


def place(table: int, byte: int) -> int:
    """Return the bus address of a byte of a table."""
    return table * WINDOW + byte


def some_span(table: int, size: int) -> tuple[int, int]:
    """Return the first byte and the number of bytes of a random legal access in beats of ``1 << size`` bytes."""
    end = 8 * WORDS[table]
    unit = min(1 << size, 8)
    beats = random.choice((*LENGTHS, random.randint(1, 256)))
    first = random.randrange(0, end, unit)
    if random.random() < 0.3:
        first = max(0, end - unit * random.randint(1, 4))
    count = min(beats << size, end - first)
    # Accesses may end in the middle of a beat.
    return first, max(1, count - random.choice((0, 0, random.randrange(1 << size))))


class Full:
    """The complete masters of cocotbext-axi, which split accesses into bursts; with ``stalls``, with idle clocks."""

    def __init__(self, dut: Any, stalls: bool) -> None:
        self.master = AxiMaster(AxiBus.from_prefix(dut, "bus_"), dut.clk, dut.rst)
        if stalls:
            write, read = self.master.write_if, self.master.read_if
            hold_up(write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)

    async def rest(self) -> None:
        """End idle clocks and back-pressure, and check that the master has no open requests."""
        write, read = self.master.write_if, self.master.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
            channel.clear_pause_generator()
            channel.pause = False
        assert self.master.idle()


class Raw:
    """The five channels, driven one by one, so that bursts can be illegal; with ``stalls``, with idle clocks."""

    def __init__(self, dut: Any, stalls: bool = False) -> None:
        bus = AxiBus.from_prefix(dut, "bus_")
        self.dut = dut
        self.aw = AxiAWSource(bus.write.aw, dut.clk, dut.rst)
        self.w = AxiWSource(bus.write.w, dut.clk, dut.rst)
        self.b = AxiBSink(bus.write.b, dut.clk, dut.rst)
        self.ar = AxiARSource(bus.read.ar, dut.clk, dut.rst)
        self.r = AxiRSink(bus.read.r, dut.clk, dut.rst)
        self.all = (self.aw, self.w, self.b, self.ar, self.r)
        if stalls:
            hold_up(*self.all)

    async def write(
        self,
        address: int,
        beats: Sequence[tuple[int, int]],
        size: int,
        burst: int = INCR,
        last: Sequence[int] | None = None,
    ) -> int:
        """Write beats of data and strobes, and return the response. ``last`` replaces the values of ``wlast``."""
        awid = random.randrange(16)
        await self.aw.send(
            self.aw._transaction_obj(awid=awid, awaddr=address, awlen=len(beats) - 1, awsize=size, awburst=burst)
        )
        for k, (data, strobes) in enumerate(beats):
            wlast = int(k == len(beats) - 1) if last is None else last[k]
            await self.w.send(self.w._transaction_obj(wdata=data, wstrb=strobes, wlast=wlast))
        response = await soon(self.dut, self.b.recv())
        assert int(response.bid) == awid
        return int(response.bresp)

    async def read(self, address: int, length: int, size: int, burst: int = INCR) -> list[tuple[int, int]]:
        """Read a burst of ``length`` beats, and return data and response of each beat."""
        arid = random.randrange(16)
        await self.ar.send(
            self.ar._transaction_obj(arid=arid, araddr=address, arlen=length - 1, arsize=size, arburst=burst)
        )
        beats = []
        for k in range(length):
            r = await soon(self.dut, self.r.recv())
            assert int(r.rid) == arid
            assert int(r.rlast) == (k == length - 1)
            beats.append((int(r.rdata), int(r.rresp)))
        return beats

    def rest(self) -> None:
        """End idle clocks and back-pressure, and check that no transfers are left over."""
        for channel in self.all:
            channel.clear_pause_generator()
            channel.pause = False
            assert channel.empty()


def full_beats(count: int) -> list[tuple[int, int]]:
    """Return ``count`` beats of random data with all strobes set, as pairs of data and strobes."""
    return [(random.getrandbits(8 * BUS_BYTES), 2**BUS_BYTES - 1) for _ in range(count)]


def image(beats: Sequence[tuple[int, int]]) -> bytes:
    """Return the bytes of all lanes of the beats, one beat after the other."""
    return b"".join(word.to_bytes(BUS_BYTES, "little") for word, _ in beats)


def on_lanes(beats: Sequence[tuple[int, int]], first: int, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield for each beat of a burst from byte ``first`` on its first byte in the table, and its bytes."""
    for k, (word, _) in enumerate(beats):
        at = first + (k << size)
        lane = at % BUS_BYTES
        yield at, word.to_bytes(BUS_BYTES, "little")[lane : lane + (1 << size)]
