"""Sums of the words that go into the tables and come out of them, in gateware."""

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
HALF_BYTES = WORD_BYTES // 2

HASH_CLOCKS = 3 + len(ROUNDS)
"""Clocks of :class:`WordHash`."""


class WordHash(wiring.Component):
    """The sum of the hashes of both halves of a word, as :mod:`beltline.hw.interface.sums` defines them.

    A word a clock, ``HASH_CLOCKS`` after its operands; of a half without strobes the hash counts as 0. Between two
    registers there is a 32-bit carry behind two levels of LUTs.

    Parameters
    ----------
    address_bits
        Of a word in its table, at most 27.

    Attributes
    ----------
    strobes, address, data
        In: which bytes of ``data`` were written to word ``address``.
    sum
        Out.
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
        """The hash of a half behind its last fold, 0 where the half has no strobes; wiring and gates from its time."""
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
    return (t + (t << shift)[:BITS])[:BITS]


class SumPort(wiring.Signature):
    """What a host asks of :class:`TableSums` and reads of it, seen from the host.

    ``begin`` starts to add up ``count`` words of ``table`` from word ``first``, which stand still until ``summing`` is
    0. The others are the registers of their names.
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
    """Adds up the hashes of the words that the host writes, a sum for each table, and of words that it asks for.

    Sums are 0 after a reset of the chip, and run on from then. A write counts in its table's sum ``SETTLE`` clocks
    later. Words that are asked for are read one a clock, in clocks in which the host reads nothing itself; each counts
    ``read_clocks`` + ``SETTLE`` later. ``summing`` is not 0 from the clock of a write or of ``begin`` until all that
    came counts. Where the host writes a table while words are added up, their sum is anything.

    Parameters
    ----------
    windows
        Of the build.
    read_clocks
        Clocks from ``read`` to the word.

    Attributes
    ----------
    write, write_table, write_address, write_data
        In: a write that is done.
    held
        In: the host reads a word itself.
    stop
        In: a run is under way; nothing is read any more.
    read, read_table, read_address
        Out: a word that is asked for.
    read_data
        In: the word, ``read_clocks`` later.
    port
        In: :class:`SumPort`.
    """

    SETTLE = HASH_CLOCKS + 2

    def __init__(self, windows: WindowParameters, read_clocks: int) -> None:
        self.address_bits = windows.window_bits - WORD_BITS
        self.read_clocks = read_clocks
        super().__init__(
            {
                "write": In(WORD_BYTES),
                "write_table": In(3),
                "write_address": In(self.address_bits),
                "write_data": In(8 * WORD_BYTES),
                "held": In(1),
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
        m.d.comb += [self.read.eq(going & ~self.held & ~self.stop), self.read_table.eq(port.table)]
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

        # What is hashed: the host's write, or else a word that has come.
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
