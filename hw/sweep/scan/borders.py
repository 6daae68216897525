"""The choices at the two ends of a lane, and those of the points beside it."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.parameters import SweepParameters


class Borders(wiring.Component):
    """Follows the choices of a lane's first and last point as they are written, and holds those of the points beside.

    Below the first point of the grid stands the lowest candidate, and above the last one the highest.

    Attributes
    ----------
    write, position, choice
        In: a choice of the lane is written.
    points, count, states, first_point, last_index
        In: of the lane, standing.
    lower_last, upper_first
        In: the choices at the ends of the two lanes beside.
    last_position
        Out: the number of state 0 of the last point.
    hold
        In: ``below`` and ``above`` stay as they are.
    first, last
        Out: the choices of the first and the last point, of each exogenous state, a clock behind their write.
    below, above
        Out: the choices of the points beside, a clock behind ``lower_last`` and ``upper_first``.
    """

    def __init__(self, build: SweepParameters) -> None:
        self.build = build
        choices = build.index_bits << build.state_bits
        super().__init__(
            {
                "write": In(1),
                "position": In(build.position_bits),
                "choice": In(build.index_bits),
                "points": In(build.point_bits + 1),
                "count": In(build.position_bits + 1),
                "states": In(5),
                "first_point": In(build.index_bits),
                "last_index": In(build.index_bits),
                "lower_last": In(choices),
                "upper_first": In(choices),
                "hold": In(1),
                "last_position": Out(build.position_bits),
                **{name: Out(choices) for name in ("first", "last", "below", "above")},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = self.build.index_bits
        last_base = Signal(self.build.position_bits + 1)
        at_begin, at_end = Signal(), Signal()
        m.d.sync += [
            last_base.eq(self.count - self.states),
            at_begin.eq(self.first_point == 0),
            at_end.eq(self.first_point + self.points == self.last_index + 1),
        ]
        for state in range(1 << self.build.state_bits):
            for words, position in ((self.first, state), (self.last, last_base + state)):
                with m.If(self.write & (self.position == position) & (state < self.states)):
                    m.d.sync += words.word_select(state, bits).eq(self.choice)
        m.d.comb += self.last_position.eq(last_base)
        with m.If(~self.hold):
            m.d.sync += [
                self.below.eq(Mux(at_begin, 0, self.lower_last)),
                self.above.eq(Mux(at_end, self.last_index.replicate(1 << self.build.state_bits), self.upper_first)),
            ]
        return m
