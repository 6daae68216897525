"""The choices at the two ends of a lane, and those of the neighbouring points in other lanes."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.parameters import SweepParameters


class Borders(wiring.Component):
    """Stores the choices at both ends of a lane for its neighbours, and those of the points just outside it.

    It copies the choices of the first and the last point as they are written. Below the first point of the grid the
    lowest candidate is used, and above the last point the highest; in a general build, these of each exogenous state.
    With ``whole`` they are used at the ends of every lane.

    Latency: a clock from a written choice to ``first`` and ``last``, and a clock from ``lower_last`` and
    ``upper_first`` to ``below`` and ``above``. Throughput: a choice in every clock. A vector of choices has
    ``index_bits`` for each exogenous state, for ``2**state_bits`` of them; widths are those of
    :class:`beltline.hw.sweep.parameters.SweepParameters`.

    Attributes
    ----------
    write, position, choice : in, 1 bit, ``position_bits``, ``index_bits``
        A choice of the lane is written: the number of its state in the lane, and the choice.
    points, count, states : in, ``point_bits + 1``, ``position_bits + 1``, ``count_bits``
        Points and states of the lane, and ``N_z``. These and the next two must not change during a run.
    first_point, last_index : in, ``index_bits`` each
        Grid index of the lane's first point, and the last index of the grid.
    lower_last, upper_first : in, a vector of choices each
        ``last`` of the lane below, and ``first`` of the lane above.
    lowest, highest : in, a vector of choices each
        Only in general builds: the lowest and the highest candidate of each exogenous state.
    whole : in, 1 bit
        The round compares all candidates of the lane's first point.
    hold : in, 1 bit
        ``below`` and ``above`` do not change.
    last_position : out, ``position_bits``
        The number of state 0 of the lane's last point.
    at_begin, at_end : out, 1 bit each
        The lane's first point is that of the grid; its last point is that of the grid.
    first, last : out, a vector of choices each
        The choices of the lane's first and last point.
    below, above : out, a vector of choices each
        The choices of the points just below and just above the lane.
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
                "states": In(build.count_bits),
                "first_point": In(build.index_bits),
                "last_index": In(build.index_bits),
                "lower_last": In(choices),
                "upper_first": In(choices),
                **({name: In(choices) for name in ("lowest", "highest")} if build.general else {}),
                "whole": In(1),
                "hold": In(1),
                "last_position": Out(build.position_bits),
                **({"at_begin": Out(1), "at_end": Out(1)} if build.general else {}),
                **{name: Out(choices) for name in ("first", "last", "below", "above")},
            }
        )

    @property
    def of_lane(self) -> tuple[str, ...]:
        """Inputs that are inputs of the same name of the lane."""
        sizes = ("points", "count", "states", "first_point", "last_index", "lower_last", "upper_first")
        return (*sizes, "lowest", "highest") if self.build.general else sizes

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
        if self.build.general:
            m.d.comb += [self.at_begin.eq(at_begin), self.at_end.eq(at_end)]
        for state in range(1 << self.build.state_bits):
            for words, position in ((self.first, state), (self.last, last_base + state)):
                with m.If(self.write & (self.position == position) & (state < self.states)):
                    m.d.sync += words.word_select(state, bits).eq(self.choice)
        m.d.comb += self.last_position.eq(last_base)
        lowest, highest = Const(0), self.last_index.replicate(1 << self.build.state_bits)
        if self.build.general:
            lowest, highest = self.lowest, self.highest
        with m.If(~self.hold):
            m.d.sync += [
                self.below.eq(Mux(at_begin | self.whole, lowest, self.lower_last)),
                self.above.eq(Mux(at_end | self.whole, highest, self.upper_first)),
            ]
        return m
