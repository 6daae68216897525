"""Check sums of table words: of all words that the host writes, and of words that it selects for reading."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.interface.registers import WRITABLE
from beltline.hw.interface.sums import (
    FIRST_FOLD,
    FIRST_SHIFT,
    LAST_FOLD,
    MISSING,
    PLACE_SHIFT,
    ROUNDS,
    START,
)
from beltline.hw.interface.windows import WORD_BITS, WORD_BYTES, WindowParameters

BITS = 32
"""Bits of a hash and of a sum."""

HALF_BYTES = WORD_BYTES // 2
"""Bytes of half a word."""

HASH_CLOCKS = 3 + len(ROUNDS)
"""Latency of :class:`WordHash`, in clocks."""


class WordHash(wiring.Component):
    """Computes the sum of the hashes of both halves of a word, which :mod:`beltline.hw.interface.sums` defines.

    Latency: ``HASH_CLOCKS`` (6) clocks. Throughput: one word in every clock. Contract: fixed latency, no ``valid`` and
    no ``ready``. The longest path is a 32-bit carry after two levels of LUTs.

    Parameters
    ----------
    address_bits
        Bits of the address of a word in its table, at most 27.

    Attributes
    ----------
    strobes : in, 8 bits
        The bytes of the word that were written. The hash of a half without strobes is 0.
    address : in, ``address_bits`` bits
        Address of the word in its table.
    data : in, 64 bits
        The word.
    sum : out, 32 bits
        Sum of the two hashes, modulo ``2**32``.
    """

    def __init__(self, address_bits: int) -> None:
        self.address_bits = address_bits
        super().__init__(
            {"strobes": In(WORD_BYTES), "address": In(address_bits), "data": In(8 * WORD_BYTES), "sum": Out(BITS)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        halves = [self._half(p, half) for half in range(2)]
        total = p.compute(lambda low, high: (low + high)[:BITS], *halves)
        assert total.time == HASH_CLOCKS
        m.d.comb += self.sum.eq(total.value)
        return m

    def _half(self, p: Pipeline, half: int) -> Timed:
        """Return the hash of half 0 or 1 of the word; 0 where it has no strobes. Its last step is combinational."""
        strobes = self.strobes.word_select(half, HALF_BYTES)
        x = self.data.word_select(half, BITS) & Cat(strobe.replicate(8) for strobe in strobes)
        k = Cat(Const(half, 1), self.address, Const(0, MISSING - 1 - self.address_bits), ~strobes)
        place = p.register(k ^ (k << PLACE_SHIFT)[:BITS] ^ START, 0)
        a = p.register(_with_shifted(x, FIRST_SHIFT), 0)
        a = p.compute(lambda a, place: ((a ^ (a >> FIRST_FOLD)) + place)[:BITS], a, place)
        for fold, shift in ROUNDS:
            a = p.compute(lambda a, f=fold, s=shift: _with_shifted(a ^ (a >> f), s), a)
        lives = p.delay(p.input(strobes.any()), a.time).value
        return a.map(lambda a: Mux(lives, a ^ (a >> LAST_FOLD), 0))


def _with_shifted(t: Value, shift: int) -> Value:
    """Return ``t + (t << shift)``, modulo ``2**32``."""
    return (t + (t << shift)[:BITS])[:BITS]


class SumPort(wiring.Signature):
    """Register side of :class:`TableSums`. Directions are those of the register file.

    Attributes
    ----------
    begin : out, 1 bit
        Starts to add up words of a table; one clock.
    table : out, 3 bits
        The table.
    first, count : out, 32 bits
        First word and number of words. ``table``, ``first`` and ``count`` must not change until ``summing`` is 0.
    written_x, written_w, written_q, written_v : in, 32 bits
        Registers ``WRITTEN_X`` etc.: sums of the words that were written to each table.
    sum : in, 32 bits
        Register ``SUM``: sum of the words that were selected.
    summing : in, 32 bits
        Register ``SUMMING``: not 0 while words are still to be added.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "begin": Out(1),
                "table": Out(3),
                "first": Out(BITS),
                "count": Out(BITS),
                **{f"written_{table.name.lower()}": In(BITS) for table in WRITABLE},
                "sum": In(BITS),
                "summing": In(BITS),
            }
        )


class TableSums(wiring.Component):
    """Adds up the hashes of the words that the host writes, for each table, and of words that the host selects.

    Sums are 0 after a reset of the chip and only grow from then on, modulo ``2**32``.

    Throughput: one word in every clock. Latency: a write is included in its table's sum ``SETTLE`` (8) clocks later.
    Selected words are read one in every clock in which the host reads none itself; each is included in ``sum``
    ``read_clocks + SETTLE`` clocks later. ``summing`` is not 0 from the clock of a write or of ``begin`` until the sums
    include every word. If the host writes a table while words are added up, ``sum`` is undefined.

    Parameters
    ----------
    windows
        Address windows of the build.
    read_clocks
        Clocks from ``read`` to its word.

    Attributes
    ----------
    write : in, 8 bits
        Byte strobes of a write of the host that is carried out.
    write_table, write_address, write_data : in; 3, ``address_bits`` and 64 bits
        Its table, address in words, and data.
    pause : in, 1 bit
        The host reads a word in this clock.
    stop : in, 1 bit
        A run is in progress: stop reading.
    read : out, 1 bit
        Requests a word.
    read_table, read_address : out; 3 and ``address_bits`` bits
        Its table and address in words.
    read_data : in, 64 bits
        The word, ``read_clocks`` after its request.
    port : in, :class:`SumPort`
        Register side.
    """

    SETTLE = HASH_CLOCKS + 2
    """Clocks from a write to the sum that includes it."""

    def __init__(self, windows: WindowParameters, read_clocks: int) -> None:
        self.address_bits = windows.window_bits - WORD_BITS
        self.read_clocks = read_clocks
        super().__init__(
            {
                "write": In(WORD_BYTES),
                "write_table": In(3),
                "write_address": In(self.address_bits),
                "write_data": In(8 * WORD_BYTES),
                "pause": In(1),
                "stop": In(1),
                "read": Out(1),
                "read_table": Out(3),
                "read_address": Out(self.address_bits),
                "read_data": In(8 * WORD_BYTES),
                "port": In(SumPort()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        port = self.port
        going, left = Signal(), Signal(self.address_bits + 1)
        m.d.comb += [self.read.eq(going & ~self.pause & ~self.stop), self.read_table.eq(port.table)]
        with m.If(self.read):
            m.d.sync += [self.read_address.eq(self.read_address + 1), left.eq(left - 1), going.eq(left != 1)]
        arrives = p.valid(p.input(self.read), self.read_clocks)
        arrived = Signal(self.address_bits)
        with m.If(arrives):
            m.d.sync += arrived.eq(arrived + 1)
        with m.If(port.begin):
            m.d.sync += [
                going.eq(port.count.any()),
                left.eq(port.count),
                self.read_address.eq(port.first),
                arrived.eq(port.first),
            ]
        with m.If(self.stop):
            m.d.sync += [going.eq(0), left.eq(0)]

        # The input of the hash: the host's write, or else the word of a read. The two never come together, except where
        # the sum is undefined.
        writes = self.write.any()
        m.submodules.hash = words = WordHash(self.address_bits)
        kept = {name: Signal.like(getattr(words, name), reset_less=True) for name in ("strobes", "address", "data")}
        m.d.comb += [getattr(words, name).eq(signal) for name, signal in kept.items()]
        m.d.sync += [
            kept["strobes"].eq(self.write | (~writes).replicate(WORD_BYTES)),
            kept["address"].eq(Mux(writes, self.write_address, arrived)),
            kept["data"].eq(Mux(writes, self.write_data, self.read_data)),
        ]
        totals = {table: getattr(port, f"written_{table.name.lower()}") for table in WRITABLE}
        sums: list[tuple[Value, Signal]] = [
            *((writes & (self.write_table == int(table)), total) for table, total in totals.items()),
            (arrives & ~writes, port.sum),
        ]
        for flag, total in sums:
            with m.If(p.valid(p.input(flag), self.SETTLE - 1)):
                m.d.sync += total.eq(total + words.sum)

        clocks = Signal(range(self.read_clocks + self.SETTLE))
        with m.If(writes | self.read | port.begin):
            m.d.sync += clocks.eq(self.read_clocks + self.SETTLE - 1)
        with m.Elif(clocks.any()):
            m.d.sync += clocks.eq(clocks - 1)
        m.d.comb += port.summing.eq(Cat(port.begin | writes | going | clocks.any(), left))
        return m
