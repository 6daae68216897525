"""Bench of the AXI slave of the table windows, driven by the masters of cocotbext-axi, an independent model of the bus.

The slave accesses a word memory with a latency of ``LATENCY`` clocks. The memory checks each access against the bursts
on the bus. Parameters: ``data_bits``, ``window_bits``, ``words`` (of every table), ``readable`` and ``writable``
(tables), ``write_clocks`` and ``read_clocks`` (see :class:`beltline.hw.bus.axi_tables.AxiTables`).
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from beltline.sim.benches.axi_bus import clocks
from beltline.sim.benches.axi_table_ends import (
    BUS_BYTES,
    INCR,
    LARGEST,
    LATENCY,
    WINDOW,
    WORDS,
    Full,
    P,
    Raw,
    begin,
    finish,
    full_beats,
    image,
    on_lanes,
    place,
    some_span,
    soon,
)


async def bursts(dut: Any, stalls: bool, count: int) -> None:
    """Write one table and read another at the same time, ``count`` times, and read each write with its neighbours.

    With ``stalls``, all channels have random idle clocks and back-pressure.
    """
    monitor, tables = await begin(dut)
    axi = Full(dut, stalls)
    master = axi.master
    both = [table for table in P["writable"] if table in P["readable"]]
    sizes = set()
    for _ in range(count):
        table = random.choice(P["writable"])
        size = random.randrange(LARGEST + 1)
        first, length = some_span(table, size)
        data = random.randbytes(length)
        sizes.add(size)
        write = cocotb.start_soon(master.write(place(table, first), data, awid=random.randrange(16), size=size))
        # Meanwhile a read of another table.
        other = random.choice([t for t in P["readable"] if t != table])
        other_size = random.randrange(LARGEST + 1)
        other_first, other_length = some_span(other, other_size)
        read = cocotb.start_soon(
            master.read(place(other, other_first), other_length, arid=random.randrange(16), size=other_size)
        )
        got = await soon(dut, read)
        assert got.resp == AxiResp.OKAY
        assert got.data == tables.bytes(other, other_first, other_length), (other, other_first, other_length)
        assert (await soon(dut, write)).resp == AxiResp.OKAY, (table, first, length, size)
        tables.wanted[table][first : first + length] = data
        if table in both:
            around = max(0, first - 16) & ~7
            until = min(8 * WORDS[table], first + length + 16)
            got = await soon(dut, master.read(place(table, around), until - around, size=random.randint(3, LARGEST)))
            assert got.resp == AxiResp.OKAY
            assert got.data == tables.bytes(table, around, until - around), (table, first, length, size)
        tables.check()
    assert sizes == set(range(LARGEST + 1))
    assert monitor.refusals == 0
    await axi.rest()
    await finish(monitor, tables)


@cocotb.test()
async def bursts_unhindered(dut: Any) -> None:
    """Writes and reads at the same time, without idle clocks and back-pressure."""
    await bursts(dut, False, P["bursts"])


@cocotb.test()
async def bursts_with_stalls(dut: Any) -> None:
    """Writes and reads at the same time, with random idle clocks and back-pressure."""
    await bursts(dut, True, P["bursts"])


@cocotb.test()
async def every_length(dut: Any) -> None:
    """A write and a read of every length at the same time, each in one burst within a 4 KiB page."""
    monitor, tables = await begin(dut)
    raw = Raw(dut)
    lengths = list(range(1, 257))
    random.shuffle(lengths)
    for length in lengths:
        spans = []
        for table in (3, 4):
            size = random.choice([s for s in range(LARGEST + 1) if length << s <= min(4096, 8 * WORDS[table])])
            room = min(4096, 8 * WORDS[table]) - (length << size)
            spans.append((table, random.randrange(0, room + 1, 1 << size), size))
        (table, first, size), (other, other_first, other_size) = spans
        data = full_beats(length)
        writing = cocotb.start_soon(raw.write(place(table, first), data, size))
        got = await raw.read(place(other, other_first), length, other_size)
        assert {response for _, response in got} == {0}
        for at, part in on_lanes(got, other_first, other_size):
            assert part == tables.bytes(other, at, 1 << other_size)
        assert await writing == 0
        tables.expect(table, data, first, size)
        tables.check()
    raw.rest()
    await finish(monitor, tables)


@cocotb.test()
async def many_at_once(dut: Any) -> None:
    """Many requests, with all identifiers, are outstanding at a time; their words do not overlap."""
    monitor, tables = await begin(dut)
    axi = Full(dut, True)
    table = P["writable"][-1]
    pieces = random.sample(range(WORDS[table] // 8), 12)
    operations = []
    for piece in pieces:
        data = random.randbytes(random.randint(1, 64))
        first = 64 * piece + 8 * random.randrange(8)
        data = data[: 64 * piece + 64 - first]
        tables.wanted[table][first : first + len(data)] = data
        size = random.randrange(LARGEST + 1)
        operations.append(axi.master.init_write(place(table, first), data, awid=random.randrange(16), size=size))
    for operation in operations:
        await soon(dut, operation.wait())
        assert operation.data.resp == AxiResp.OKAY
    operations = [
        (piece, axi.master.init_read(place(table, 64 * piece), 64, arid=random.randrange(16))) for piece in pieces
    ]
    for piece, operation in operations:
        await soon(dut, operation.wait())
        assert operation.data.resp == AxiResp.OKAY
        assert operation.data.data == tables.bytes(table, 64 * piece, 64)
    await axi.rest()
    await finish(monitor, tables)


@cocotb.test()
async def master_is_refused_in_so_many_words(dut: Any) -> None:
    """Illegal accesses of the master, in the bursts that it splits them into, are answered SLVERR."""
    monitor, tables = await begin(dut)
    axi = Full(dut, False)
    tables.frozen = True
    for table in range(8):
        if table not in P["writable"]:
            wrote = await soon(dut, axi.master.write(place(table, 0), bytes(24)))
            assert wrote.resp == AxiResp.SLVERR, table
        if table not in P["readable"]:
            got = await soon(dut, axi.master.read(place(table, 0), 24))
            assert (got.resp, got.data) == (AxiResp.SLVERR, bytes(24)), table
    # Accesses that are not aligned to the size of their beats, in one burst.
    for size in range(1, 4):
        for offset in range(1, 1 << size):
            wrote = await soon(dut, axi.master.write(place(3, 64 + offset), random.randbytes(4), size=size))
            assert wrote.resp == AxiResp.SLVERR, (size, offset)
    await axi.rest()
    await finish(monitor, tables)


@cocotb.test()
async def illegal_bursts_change_nothing(dut: Any) -> None:
    """Bursts with a wrong address, length, size or type are answered SLVERR in each beat and access no memory."""
    monitor, tables = await begin(dut)
    raw = Raw(dut, stalls=True)
    tables.frozen = True
    cases: list[tuple[str, int, int, int, int]] = []  # why, address, beats, size, burst
    for table, words in enumerate(WORDS):
        end = 8 * words
        cases += [
            ("beyond the end", place(table, end), 1, 3, INCR),
            ("beyond the end", place(table, (end + 63) & ~63), 1, LARGEST, INCR),
            ("out of the end", place(table, end - 8), 2, 3, INCR),
            ("out of the end", place(table, end - 1), 2, 0, INCR),
            ("out of the end", place(table, end - 16), 256, 3, INCR),
            ("out of the end", place(table, max(0, end - 2040)), min(256, words + 1), 3, INCR),
            ("out of the end", place(table, (end - 1) // BUS_BYTES * BUS_BYTES), 2, LARGEST, INCR),
            ("end of the window", place(table, WINDOW - 8), 1, 3, INCR),
            ("FIXED", place(table, 0), 2, 3, 0),
            ("WRAP", place(table, 0), 2, 3, 2),
            ("reserved burst", place(table, 0), 2, 3, 3),
            ("too wide", place(table, 0), 1, LARGEST + 1, INCR),
            ("too wide", place(table, 0), 2, 7, INCR),
        ]
        cases += [
            ("unaligned", place(table, 8 + offset), beats, size, INCR)
            for size in range(1, LARGEST + 1)
            for offset in range(1, min(8, 1 << size))
            for beats in (1, 3)
            if offset % min(8, 1 << size)
        ]
    cases += [("no such table", place(table, 0), 3, 3, INCR) for table in range(len(WORDS), 8)]
    random.shuffle(cases)
    for why, address, beats, size, burst in cases:
        case = (why, address, beats, size, burst)
        writing = cocotb.start_soon(raw.write(address, full_beats(beats), size, burst))
        assert await raw.read(address, beats, size, burst) == [(0, 2)] * beats, case
        assert await writing == 2, case
    assert tables.writes == tables.reads == monitor.refusals == 0
    # These bursts are legal but for the table, which cannot be written or read.
    for table in range(len(WORDS)):
        if table not in P["writable"]:
            assert await raw.write(place(table, 0), full_beats(3), LARGEST) == 2
        if table not in P["readable"]:
            assert await raw.read(place(table, 0), 3, LARGEST) == [(0, 2)] * 3
    assert tables.writes == tables.reads == monitor.refusals == 0
    raw.rest()
    await finish(monitor, tables)


@cocotb.test()
async def wide_beats_at_the_ends(dut: Any) -> None:
    """Bursts that start within a beat, and bursts whose last beat reaches beyond the table's end."""
    monitor, tables = await begin(dut)
    raw = Raw(dut, stalls=True)
    lanes = BUS_BYTES // 8
    for table in P["writable"]:
        end = 8 * WORDS[table]
        last = (end - 1) // BUS_BYTES * BUS_BYTES
        inside = end - last
        for lane in range(lanes):
            base = max(0, last - BUS_BYTES * random.choice((0, 1, 2, 9)))
            beats = 1 + (last - base) // BUS_BYTES
            data = full_beats(beats)
            # A strobe below the start address is not part of the burst, even if the master sets it.
            first = base + 8 * lane
            if first >= end:
                tables.frozen = True
                assert await raw.write(place(table, first), data, LARGEST) == 2
                tables.frozen = False
                continue
            # With all strobes set, bytes beyond the end, if any, are refused, and those inside are written.
            reply = await raw.write(place(table, first), data, LARGEST)
            assert reply == (2 if inside < BUS_BYTES else 0), (table, first)
            tables.wanted[table][first:end] = image(data)[8 * lane : end - base]
            tables.check()
            # Without strobes beyond the end the burst is legal.
            data[-1] = (data[-1][0] ^ (1 << 8 * inside) - 1, (1 << inside) - 1)
            tables.wanted[table][first:end] = image(data)[8 * lane : end - base]
            assert await raw.write(place(table, first), data, LARGEST) == 0, (table, first)
            tables.check()
            if table in P["readable"]:
                got = await raw.read(place(table, first), beats, LARGEST)
                assert {response for _, response in got} == {0}
                wanted = tables.bytes(table, first, base + BUS_BYTES * beats - first)
                assert image(got)[8 * lane :] == wanted, (table, first)
    raw.rest()
    await finish(monitor, tables)


@cocotb.test()
async def strobes_outside_the_beat_are_ignored(dut: Any) -> None:
    """With all strobes set, a narrow beat writes only its own bytes."""
    monitor, tables = await begin(dut)
    raw = Raw(dut, stalls=True)
    for size in range(LARGEST + 1):
        for _ in range(6):
            count = random.randint(1, 20)
            first = random.randrange(0, (8 * WORDS[3] >> size) - count) << size
            data = full_beats(count)
            assert await raw.write(place(3, first), data, size) == 0
            tables.expect(3, data, first, size)
            tables.check()
    raw.rest()
    await finish(monitor, tables)


@cocotb.test()
async def length_counts_and_not_wlast(dut: Any) -> None:
    """A burst whose ``wlast`` contradicts its length writes nothing from that beat on.

    It ends after as many beats as its length says, with SLVERR.
    """
    monitor, tables = await begin(dut)
    monitor._match = lambda: setattr(monitor, "_whole", len(monitor._writes))
    raw = Raw(dut, stalls=True)
    for last in ([1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]):
        data = full_beats(4)
        assert await raw.write(place(3, 0), data, LARGEST, last=last) == 2
        good = next(k for k in range(4) if last[k] != (k == 3))
        tables.expect(3, data[:good], 0, LARGEST)
        tables.check()
        assert await raw.write(place(3, 0), data, LARGEST) == 0
        tables.expect(3, data, 0, LARGEST)
    raw.rest()
    monitor._beats = 0
    await finish(monitor, tables)


@cocotb.test()
async def locked_from_the_start(dut: Any) -> None:
    """While the tables are locked, legal bursts are answered SLVERR, and refused writes are counted."""
    monitor, tables = await begin(dut)
    raw = Raw(dut, stalls=True)
    dut.locked.value = 1
    tables.frozen = True
    for k in range(8):
        writing = cocotb.start_soon(raw.write(place(3, 8 * k), full_beats(k + 1), 3))
        assert await raw.read(place(3, 0), 2 * k + 1, 3) == [(0, 2)] * (2 * k + 1)
        assert await writing == 2
        assert monitor.refusals == k + 1
    # An access that is illegal in any case is not counted as refused by the lock.
    assert await raw.write(place(4, 0), full_beats(2), 3) == 2
    assert monitor.refusals == 8
    dut.locked.value = 0
    tables.frozen = False
    data = full_beats(1)
    assert await raw.write(place(3, 0), data, LARGEST) == 0
    tables.expect(3, data, 0, LARGEST)
    assert await raw.read(place(3, 0), 1, LARGEST) == [(data[0][0], 0)]
    raw.rest()
    await finish(monitor, tables)


@cocotb.test()
async def locked_in_mid_burst(dut: Any) -> None:
    """A lock in the middle of bursts: beats before it take effect, later ones do not, and all are answered."""
    monitor, tables = await begin(dut)
    raw = Raw(dut, stalls=True)
    some = 0
    for trial in range(P["locks"]):
        refusals, writes, reads = monitor.refusals, tables.writes, tables.reads
        data = full_beats(20)
        writing = cocotb.start_soon(raw.write(place(3, 0), data, 3))
        reading = cocotb.start_soon(raw.read(place(1, 0), 20, 3))
        until = random.randrange(90)
        await clocks(dut, until)
        aside = (bool(writing.done()), bool(reading.done()))
        dut.locked.value = 1
        await clocks(dut, random.choice((1, 2, 50)))
        dut.locked.value = 0
        response, beats = await writing, await reading
        assert response == 2 if monitor.refusals > refusals else response == 0
        assert monitor.refusals - refusals <= 1
        done = tables.writes - writes
        assert (done == 20) == (response == 0), trial
        tables.expect(3, data[:done], 0, 3)
        tables.check()
        codes = [code for _, code in beats]
        good = codes.count(0)
        assert codes == [0] * good + [2] * (20 - good), codes
        assert tables.reads - reads >= good
        for k in range(good):
            lane = 8 * k % BUS_BYTES
            assert beats[k][0] == int.from_bytes(tables.wanted[1][8 * k : 8 * k + 8], "little") << 8 * lane
        assert all(word == 0 for word, code in beats if code)
        assert not aside[0] or response == 0
        assert not aside[1] or good == 20
        some += 0 < done < 20 and 0 < good < 20
    assert some, "no lock began during both bursts"
    raw.rest()
    await finish(monitor, tables)


@cocotb.test()
async def a_word_a_clock(dut: Any) -> None:
    """Without back-pressure a burst transfers one word in each clock; the test counts the clocks."""
    monitor, tables = await begin(dut)
    raw = Raw(dut)
    lanes = BUS_BYTES // 8
    length = min(256, WORDS[3] // lanes)
    assert length * lanes >= 256, "the burst is too short to measure the throughput"
    data = full_beats(length)
    tables.expect(3, data, 0, LARGEST)
    words = length * lanes

    seen: dict[str, list[int]] = {name: [] for name in ("aw", "w", "ar", "r")}

    async def watch() -> None:
        """Record the clock of each transfer by channel."""
        while True:
            await RisingEdge(dut.clk)
            for name, times in seen.items():
                if monitor.when.get(name) not in (None, times[-1] if times else None):
                    times.append(monitor.when[name])

    cocotb.start_soon(watch())
    # All requests are queued beforehand, so that the clocks between transfers are those of the slave.
    address = {"addr": place(3, 0), "len": length - 1, "size": LARGEST, "burst": INCR, "id": 5}
    for _ in range(3):
        raw.aw.send_nowait(raw.aw._transaction_obj(**{f"aw{name}": value for name, value in address.items()}))
        for k, (word, strobes) in enumerate(data):
            raw.w.send_nowait(raw.w._transaction_obj(wdata=word, wstrb=strobes, wlast=int(k == length - 1)))
    for _ in range(3):
        assert int((await soon(dut, raw.b.recv())).bresp) == 0
    for _ in range(3):
        raw.ar.send_nowait(raw.ar._transaction_obj(**{f"ar{name}": value for name, value in address.items()}))
    for _ in range(3):
        for word, _strobes in data:
            r = await soon(dut, raw.r.recv())
            assert (int(r.rdata), int(r.rresp)) == (word, 0)
    await clocks(dut, 3)
    for name, period in (("aw", words + P["write_clocks"]), ("ar", words + LATENCY + P["read_clocks"])):
        assert [b - a for a, b in itertools.pairwise(seen[name])] == [period] * 2, (name, seen[name])
    for name in ("w", "r"):
        assert len(seen[name]) == 3 * length
        for k in range(3):
            beats = seen[name][k * length : (k + 1) * length]
            assert {b - a for a, b in itertools.pairwise(beats)} == {lanes}, name
    raw.rest()
    await finish(monitor, tables)
