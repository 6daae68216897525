"""Which states of a lane are to be walked: a bit each, in words of neighbouring points."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.walk.parameters import MARK_BITS, MARKS

MARKS_CLOCKS = 1 + READ_LATENCY
"""Clocks from a point and a state to the word with their mark."""


class Marks(wiring.Component):
    """Gathers the marks of neighbouring points in words of ``MARKS``, an exogenous state each, and keeps the words.

    A word is written when it is full or the points end. One mark and one word a clock; words that are read must have
    been written a clock before.

    Attributes
    ----------
    mark_valid, mark_point, mark_state, mark
        In: the marks of all states of the lane, in table order.
    points
        In: points of the lane.
    state, point
        In: which word is read; the low bits of ``point`` do not matter.
    word
        Out: the marks of that state at the ``MARKS`` points, ``MARKS_CLOCKS`` later.
    set, set_point, set_state, clear, clear_point, clear_state
        In, of a build with ``proof``: a mark that is set, or cleared, alone. In a clock there is one of these or a mark
        of those in table order.
    """

    def __init__(self, build: SweepParameters, point_bits: int) -> None:
        self.build = build
        super().__init__(
            {
                "mark_valid": In(1),
                "mark_point": In(build.point_bits),
                "mark_state": In(build.state_bits),
                "mark": In(1),
                "points": In(build.point_bits + 1),
                "state": In(build.state_bits),
                "point": In(point_bits),
                "word": Out(MARKS),
                **(self._alone() if build.proof else {}),
            }
        )

    def _alone(self) -> dict[str, wiring.Member]:
        build = self.build
        of_state = {"": In(1), "_point": In(build.point_bits), "_state": In(build.state_bits)}
        return {f"{name}{part}": member for name in ("set", "clear") for part, member in of_state.items()}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build = self.build
        depth = -(-(1 << build.point_bits) // MARKS) << build.state_bits
        m.submodules.marks = marks = Ram(MARKS, depth, MARKS if build.proof else 1)
        words = Array(Signal(MARKS, name=f"marks{k}") for k in range(1 << build.state_bits))
        number = self.mark_point[:MARK_BITS]
        full = Signal()
        word = Signal(MARKS)
        gathered = Mux(number == 0, 0, words[self.mark_state])
        m.d.comb += [
            word.eq(gathered | (self.mark << number)),
            full.eq(number.all() | (self.mark_point == self.points - 1)),
            marks.write.eq((self.mark_valid & full).replicate(len(marks.write))),
            marks.write_address.eq(Cat(self.mark_state, self.mark_point[MARK_BITS:])),
            marks.write_data.eq(word),
            self.word.eq(marks.read_data),
        ]
        if build.proof:
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
