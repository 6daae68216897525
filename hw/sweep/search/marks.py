"""The states of a lane that must be searched: one bit each, in words of neighbouring points."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.parameters import MARK_BITS, MARKS

MARKS_CLOCKS = 1 + READ_LATENCY
"""Clocks from the address of a mark to the word that contains it."""


def mark_ports(build: SweepParameters) -> dict[str, wiring.Member]:
    """Return the inputs that bring marks, which :class:`Marks` describes."""
    return {
        "mark_valid": In(1),
        "mark_point": In(build.point_bits),
        "mark_state": In(build.state_bits),
        "mark": In(1),
    }


class Marks(wiring.Component):
    """Collects the marks of 16 neighbouring points with the same exogenous state in a word, and stores the words.

    A mark says that the state failed the check and must be searched. A word is written when its last point arrives, or
    the last one of the lane.

    Latency ``MARKS_CLOCKS`` for reads. Throughput: a mark is written and a word read in every clock. Contract: no
    ready; a word must have been written at least a clock before it is read.

    Attributes
    ----------
    mark_valid : in, 1 bit
        High in clocks with a mark. Marks come for all states of the lane, in table order.
    mark_point, mark_state, mark : in, ``point_bits``, ``state_bits``, 1 bit
        Point, exogenous state, and the mark.
    points : in, ``point_bits + 1``
        Points of the lane; it must not have changed in the clock before a mark.
    state, point : in, ``state_bits``, ``searched_bits`` of :class:`SearchParameters`
        Exogenous state of the word to read, and any of its 16 points.
    word : out, 16 bits
        The marks of these points, from the lowest point on, ``MARKS_CLOCKS`` later.
    set, set_point, set_state : in, 1 bit, ``point_bits``, ``state_bits``
        Sets a single mark.
    clear, clear_point, clear_state : in, 1 bit, ``point_bits``, ``state_bits``
        Clears a single mark. At most one of ``mark_valid``, ``set`` and ``clear`` may be high in a
        clock.
    """

    def __init__(self, build: SweepParameters, point_bits: int) -> None:
        self.build = build
        of_state = {"": In(1), "_point": In(build.point_bits), "_state": In(build.state_bits)}
        super().__init__(
            {
                **mark_ports(build),
                "points": In(build.point_bits + 1),
                "state": In(build.state_bits),
                "point": In(point_bits),
                "word": Out(MARKS),
                **{f"{name}{part}": member for name in ("set", "clear") for part, member in of_state.items()},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build = self.build
        depth = -(-(1 << build.point_bits) // MARKS) << build.state_bits
        m.submodules.marks = marks = Ram(MARKS, depth, MARKS)
        words = Array(Signal(MARKS, name=f"marks{k}") for k in range(1 << build.state_bits))
        number = self.mark_point[:MARK_BITS]
        full = Signal()
        word = Signal(MARKS)
        gathered = Mux(number == 0, 0, words[self.mark_state])
        # A register for the last point, so that the subtraction is not on the path to the write enable.
        last = Signal(build.point_bits)
        m.d.sync += last.eq(self.points - 1)
        m.d.comb += [
            word.eq(gathered | (self.mark << number)),
            full.eq(number.all() | (self.mark_point == last)),
            marks.write.eq((self.mark_valid & full).replicate(len(marks.write))),
            marks.write_address.eq(Cat(self.mark_state, self.mark_point[MARK_BITS:])),
            marks.write_data.eq(word),
            self.word.eq(marks.read_data),
        ]
        for flag, point, state, bit in (
            (self.set, self.set_point, self.set_state, 1),
            (self.clear, self.clear_point, self.clear_state, 0),
        ):
            with m.If(flag):
                m.d.comb += [
                    marks.write.eq(1 << point[:MARK_BITS]),
                    marks.write_address.eq(Cat(state, point[MARK_BITS:])),
                    marks.write_data.eq(Const(bit, 1).replicate(MARKS)),
                ]
        with m.If(self.mark_valid):
            m.d.sync += words[self.mark_state].eq(word)
        m.d.sync += marks.read_address.eq(Cat(self.state, self.point[MARK_BITS:]))
        return m
