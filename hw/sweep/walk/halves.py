"""What a lane's walkers hold of other lanes' rows: a half of even number and one of odd number each."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS, ROW_BITS, ROW_SHIFT
from beltline.hw.sweep.walk.parameters import FOUND, NUMBER_BITS, OPERANDS, WalkParameters

UNLOAD_CLOCKS = HALF_WORDS
"""Clocks in which half a row goes from the bus to the walkers' memory, no more than from turn to turn."""


class Halves(wiring.Component):
    """Keeps halves of rows, of the grid and of expected values, until the walker that asked for them asks for others.

    A row from the buses has half a row of each in it: its lower half is the expected values where the lower half was
    asked for, and else the grid. It is unloaded word by word, in the ``UNLOAD_CLOCKS`` clocks behind ``valid``; the
    next must not come before the last of them. ``arrived`` counts it in the clock behind these. A probe is read every
    clock.

    Attributes
    ----------
    valid, data
        In: a row from the buses, see :class:`beltline.hw.sweep.row_buses.RowPort`.
    place
        In: with ``valid``, from :class:`beltline.hw.sweep.walk.requests.Requests`.
    arrived
        Out: the number of rows that were unloaded, counted round and round.
    context, probe
        In: of clock ``FOUND`` of a turn: which walker's words are read, for which candidate.
    ev, x
        Out: the expected value and the grid point of that candidate, in clock ``OPERANDS``.
    """

    def __init__(self, parameters: WalkParameters) -> None:
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
        p = Pipeline(m)
        held = [Signal(HALF_WORDS * WIDTH, name=f"held{high}", reset_less=True) for high in range(2)]
        base = Signal(len(self.place))
        unloading, last_word, word = Signal(), Signal(), Signal(range(HALF_WORDS))
        m.d.comb += last_word.eq(unloading & (word == HALF_WORDS - 1))
        with m.If(self.valid):
            m.d.sync += [Cat(held).eq(self.data), base.eq(self.place), unloading.eq(1), word.eq(0)]
        with m.Else():
            m.d.sync += [*(half.eq(half >> WIDTH) for half in held), word.eq(word + 1)]
            with m.If(last_word):
                m.d.sync += unloading.eq(0)
        m.d.sync += self.arrived.eq(self.arrived + last_word)
        words = []
        for high, half in enumerate(held):
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
