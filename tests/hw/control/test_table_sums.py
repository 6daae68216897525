# amaranth: UnusedElaboratable=no
"""Checksums of tables: their definition, their gateware clock by clock, and that changed tables have other sums."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from amaranth.sim import Simulator

from beltline.hw.control.table_sums import TableSums
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import WRITABLE, Table
from beltline.hw.interface.sums import table_sum
from beltline.hw.interface.windows import WindowParameters

READ_CLOCKS = 5
WINDOWS = WindowParameters(MachineParameters(grid=64, states=3))
FULL = 0xFF


def oracle(word: int, address: int, strobes: int = FULL) -> int:
    """Return the hash of a word by the formula, in whole numbers."""
    total = 0
    for half in range(2):
        given = strobes >> 4 * half & 15
        if given:
            x = word >> 32 * half & sum(255 << 8 * byte for byte in range(4) if given >> byte & 1)
            k = 2 * address + half | (given ^ 15) << 28
            a = (x + (x << 12)) % 2**32
            a = (a ^ a >> 14) + (k ^ (k << 7) % 2**32 ^ 0x6A09E667)
            for right, left in ((12, 10), (8, 6), (14, 12)):
                t = a % 2**32 ^ a % 2**32 >> right
                a = t + (t << left)
            total += a % 2**32 ^ a % 2**32 >> 16
    return total % 2**32


EXTREMES = [0, 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**63 - 1, 2**64 - 1]


def signed(words: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(words, dtype=np.uint64).view(np.int64)


def test_law() -> None:
    rng = random.Random(1)
    words = EXTREMES + [rng.getrandbits(64) for _ in range(200)]
    for first in (0, 1, 12_345, 2**24 - len(words)):
        wanted = sum(oracle(word, first + i) for i, word in enumerate(words)) % 2**32
        assert table_sum(signed(words), first) == wanted
    assert table_sum(signed([])) == 0
    # The sum is the same for any division into blocks, whose size selects one of two algorithms, and any memory layout.
    long = np.random.default_rng(2).integers(-(2**63), 2**63 - 1, 20_000)
    cut = (table_sum(long[:7]) + table_sum(long[7:9_001], 7) + table_sum(long[9_001:], 9_001)) % 2**32
    assert cut == table_sum(long)
    for first in (0, 2**31 - 9):
        pieces = [table_sum(long[i : i + 1000], first + i) for i in range(0, long.size, 1000)]
        assert sum(pieces) % 2**32 == table_sum(long, first)
    assert table_sum(np.repeat(long, 2)[::2]) == table_sum(long)


@pytest.mark.parametrize("table", ["random", "smooth", "zero", "indexes"])
def test_every_fault_of_one_or_two_words_shows(table: str) -> None:
    """A change of one or two words changes the sum, even in regular tables such as those of problems."""
    rng = np.random.default_rng(3)
    size = 512
    words = {
        "random": rng.integers(-(2**63), 2**63 - 1, size),
        "smooth": (np.sqrt(1.0 + np.arange(size)) * 2**45).astype(np.int64),
        "zero": np.zeros(size, np.int64),
        "indexes": np.arange(size) // 3,
    }[table]
    right = table_sum(words)
    hashes = [table_sum(words[i : i + 1], i) for i in range(size)]
    for i in range(size):
        assert hashes[i] % 2**32, "a word that is lost, or written twice"
        other = words[i] ^ np.int64(1 << int(rng.integers(0, 63)))
        assert table_sum(np.array([other]), i) != hashes[i], "a bit that is flipped"
        j = int(rng.integers(0, size))
        if i != j:
            assert table_sum(words[i : i + 1], j) != hashes[i], "a word that is written elsewhere"
        if words[i] != words[j]:
            swapped = words.copy()
            swapped[[i, j]] = swapped[[j, i]]
            assert table_sum(swapped) != right
    for shift in (1, 2, 8, -1):
        shifted = np.roll(words, shift)
        assert (table_sum(shifted) != right) == (shifted != words).any()
    assert table_sum(words, 1) != right


def simulate(unit: Any, process: Any) -> None:
    simulator = Simulator(unit)
    simulator.add_clock(1e-8)
    simulator.add_testbench(process)
    simulator.run()


class Bench:
    """:class:`TableSums`, tables that answer after ``READ_CLOCKS``, and a host that may read tables, too."""

    def __init__(self, seed: int, stalls: float) -> None:
        self.unit = TableSums(WINDOWS, READ_CLOCKS)
        self.rng = random.Random(seed)
        self.stalls = stalls
        self.words = {table: [self.rng.getrandbits(64) for _ in range(WINDOWS.words(table))] for table in Table}
        self._due: list[int] = [0] * READ_CLOCKS
        self.asked = 0

    async def clock(self, ctx: Any, **ports: int) -> None:
        """Advance one clock; ports that are not named are 0."""
        unit = self.unit
        given = {"pause": int(self.rng.random() < self.stalls)} | ports
        for name in ("write", "write_table", "write_address", "write_data", "pause", "stop"):
            ctx.set(getattr(unit, name), given.get(name, self.rng.getrandbits(2) if "write_" in name else 0))
        ctx.set(unit.port.begin, given.get("begin", 0))
        ctx.set(unit.read_data, self._due.pop(0))
        read = ctx.get(unit.read)
        assert not (read and given["pause"])
        table, address = ctx.get(unit.read_table), ctx.get(unit.read_address)
        self._due.append(self.words[Table(table)][address] if read else self.rng.getrandbits(64))
        self.asked += read
        await ctx.tick()

    def sums(self, ctx: Any) -> list[int]:
        port = self.unit.port
        return [ctx.get(getattr(port, f"written_{table.name.lower()}")) for table in WRITABLE] + [ctx.get(port.sum)]


@pytest.mark.parametrize("gaps", [0.0, 0.5])
def test_writes_count_in_the_sum_of_their_table(gaps: float) -> None:
    bench = Bench(5, 0.3)
    rng = bench.rng
    totals = [0] * 5

    def row() -> dict[str, int]:
        if rng.random() < gaps:
            return {}
        strobes = rng.choice((FULL, FULL, rng.getrandbits(8)))
        table = rng.choice(WRITABLE)
        return {
            "write": strobes,
            "write_table": int(table),
            "write_address": rng.randrange(WINDOWS.words(table)),
            "write_data": rng.getrandbits(64),
        }

    async def process(ctx: Any) -> None:
        due: list[list[int]] = [list(totals)] * TableSums.SETTLE
        for k in range(400):
            given = row() if k < 350 else {}
            if given:
                here = list(WRITABLE).index(Table(given["write_table"]))
                totals[here] += oracle(given["write_data"], given["write_address"], given["write"])
                totals[here] %= 2**32
            due.append(list(totals))
            await bench.clock(ctx, **given)
            # In the clock of the write, and until it counts.
            assert bench.sums(ctx) == due[-TableSums.SETTLE]
            if bench.sums(ctx) != totals:
                assert ctx.get(bench.unit.port.summing)
        assert ctx.get(bench.unit.port.summing) == 0
        assert any(totals[:4])

    simulate(bench.unit, process)
    assert bench.asked == 0


@pytest.mark.parametrize("stalls", [0.0, 0.4])
def test_words_that_are_asked_for(stalls: float) -> None:
    bench = Bench(6, stalls)
    unit, rng = bench.unit, bench.rng

    async def process(ctx: Any) -> None:
        total = 0
        await bench.clock(ctx)
        cases = [(Table.V, 0, 192), (Table.POLICY, 0, 1), (Table.W, 191, 1), (Table.V, 5, 0)]
        for _ in "ab":
            first = rng.randrange(190)
            cases.append((Table(rng.choice((1, 3, 4))), first, rng.randint(1, 192 - first)))
        for table, first, count in cases:
            for name, value in (("table", table), ("first", first), ("count", count)):
                ctx.set(getattr(unit.port, name), int(value))
            before = bench.asked
            await bench.clock(ctx, begin=1)
            clocks = 1
            while left := ctx.get(unit.port.summing):
                assert left >> 1 == count - (bench.asked - before)
                await bench.clock(ctx)
                clocks += 1
            assert bench.asked - before == count
            words = bench.words[table][first : first + count]
            total = (total + sum(oracle(word, first + i) for i, word in enumerate(words))) % 2**32
            assert bench.sums(ctx) == [0, 0, 0, 0, total]
            if not stalls:
                # Those of the last word, or of the command itself, and as many as there are words.
                assert clocks == count + READ_CLOCKS + TableSums.SETTLE
        assert bench.asked == sum(count for _, _, count in cases)

    simulate(unit, process)


def test_a_run_breaks_off() -> None:
    bench = Bench(7, 0.0)
    unit = bench.unit

    async def process(ctx: Any) -> None:
        for name, value in (("table", Table.V), ("count", 100)):
            ctx.set(getattr(unit.port, name), int(value))
        await bench.clock(ctx, begin=1)
        for _ in range(10):
            await bench.clock(ctx)
        assert ctx.get(unit.port.summing) == 1 | 90 << 1
        await bench.clock(ctx, stop=1)
        for _ in range(READ_CLOCKS + TableSums.SETTLE):
            await bench.clock(ctx)
        assert ctx.get(unit.port.summing) == 0
        assert bench.asked == 10
        assert bench.sums(ctx)[-1] == sum(oracle(bench.words[Table.V][i], i) for i in range(10)) % 2**32

    simulate(unit, process)
