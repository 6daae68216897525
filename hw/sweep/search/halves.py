"""The half-rows of other lanes that the searches of a lane have fetched."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS, ROW_BITS, ROW_SHIFT
from beltline.hw.sweep.search.parameters import FOUND, NUMBER_BITS, OPERANDS, SearchParameters

UNLOAD_CLOCKS = HALF_WORDS
"""Clocks in which half a row is written into the memory of half-rows; at most the clocks from one turn of the bus to
the next."""


class Halves(wiring.Component):
    """Stores, for each search, one lower and one upper half-row, each with four expected values and four grid points.

    The two halves may belong to different rows. A half-row stays until the search requests another one of the same
    kind. Of a row from the buses one half has expected values and the other half the grid (or costs) of the same
    points: the lower half has the expected values if the lower half was requested.

    Latency: a row is written in the ``UNLOAD_CLOCKS`` clocks after ``valid``, and ``arrived`` counts it in the clock
    after these; a candidate's words are read from clock :data:`FOUND` to clock :data:`OPERANDS` of a turn. Throughput:
    a candidate in every clock, a row in every ``UNLOAD_CLOCKS`` clocks. Contract: no ready; the next ``valid`` must not
    come before the last clock of writing.

    Attributes
    ----------
    valid, data : in, 1 bit and 512 bits
        A row from the buses, see :class:`beltline.hw.sweep.row_buses.RowPort`.
    place : in, 1 + ``context_bits``
        With ``valid``: which half was requested (lowest bit), and by which search.
    arrived : out, 8 bits
        The number of rows that have been written, modulo ``2**NUMBER_BITS``.
    context : in, ``context_bits``
        Clock ``FOUND``: the search whose words are read.
    probe : in, ``index_bits`` of the build
        Clock ``FOUND``: its candidate.
    ev, x : out, 64 bits each
        Clock ``OPERANDS``: the expected value and the grid point (or cost) of the candidate.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "valid": In(1),
                "data": In(ROW_BITS),
                "place": In(1 + parameters.context_bits),
                "arrived": Out(NUMBER_BITS),
                "context": In(parameters.context_bits),
                "probe": In(parameters.build.index_bits),
                "ev": Out(WIDTH),
                "x": Out(WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.build.multiplier)
        halves = [Signal(HALF_WORDS * WIDTH, name=f"half{high}", reset_less=True) for high in range(2)]
        base = Signal(len(self.place))
        unloading, last_word, word = Signal(), Signal(), Signal(range(HALF_WORDS))
        m.d.comb += last_word.eq(unloading & (word == HALF_WORDS - 1))
        with m.If(self.valid):
            m.d.sync += [Cat(halves).eq(self.data), base.eq(self.place), unloading.eq(1), word.eq(0)]
        with m.Else():
            m.d.sync += [*(half.eq(half >> WIDTH) for half in halves), word.eq(word + 1)]
            with m.If(last_word):
                m.d.sync += unloading.eq(0)
        m.d.sync += self.arrived.eq(self.arrived + last_word)
        words = []
        for high, half in enumerate(halves):
            m.submodules[f"words{high}"] = ram = Ram(WIDTH, 2 * self.parameters.contexts * HALF_WORDS)
            m.d.comb += [
                ram.write.eq(unloading),
                ram.write_address.eq(Cat(word, base)),
                ram.write_data.eq(half[:WIDTH]),
            ]
            m.d.sync += ram.read_address.eq(Cat(self.probe[:ROW_SHIFT], self.context))
            words.append(ram.read_data)
        read = FOUND + 1 + READ_LATENCY
        odd = p.delay(p.input(self.probe[HALF_SHIFT], FOUND), read - FOUND).value
        ev, x = (p.register(Mux(odd, *pair), read) for pair in ((words[1], words[0]), (words[0], words[1])))
        assert ev.time == OPERANDS
        m.d.comb += [self.ev.eq(ev.value), self.x.eq(x.value)]
        return m
