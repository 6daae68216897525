"""Lists the states of a lane's points from the last point to the first."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.prices.parameters import POINT_CLOCKS


class Descent(wiring.Component):
    """Lists the states of all points of a lane, from the last point to the first, those of a point in their order.

    Latency: the first state is listed in the clock after ``start``. Throughput: a state every ``last_turn + 1`` clocks,
    and ``POINT_CLOCKS`` more between two points. Contract: no ready; ``points``, ``count``, ``states`` and
    ``last_turn`` do not change from 2 clocks before ``start`` until ``busy`` falls.

    Parameters
    ----------
    build
        Sizes of the engine.

    Attributes
    ----------
    start : in, 1 bit
        Begins a list. The lane has at least one point.
    points, count : in, ``point_bits + 1`` and ``position_bits + 1``
        Points and states of the lane.
    states, last_turn : in, ``count_bits`` and ``turn_bits``
        ``N_z``, and one less than the turns of an expectation.
    busy : out, 1 bit
        High from the clock after ``start`` to that of the last state.
    valid : out, 1 bit
        High in clocks with a state.
    position, point : out, ``position_bits`` and ``point_bits``
        The number of that state in the lane, and its point.
    """

    def __init__(self, build: SweepParameters) -> None:
        self.build = build
        super().__init__(
            {
                "start": In(1),
                "points": In(build.point_bits + 1),
                "count": In(build.position_bits + 1),
                "states": In(build.count_bits),
                "last_turn": In(build.turn_bits),
                "busy": Out(1),
                "valid": Out(1),
                "position": Out(build.position_bits),
                "point": Out(build.point_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build = self.build
        last_base, last_point = Signal(build.position_bits), Signal(build.point_bits)
        last_state, between = Signal(build.state_bits), Signal(range(2**build.turn_bits + POINT_CLOCKS))
        m.d.sync += [
            last_base.eq(self.count - self.states),
            last_point.eq(self.points - 1),
            last_state.eq(self.states - 1),
            between.eq(self.last_turn + POINT_CLOCKS),
        ]
        base, state, pause = Signal(build.position_bits), Signal(build.state_bits), Signal.like(between)
        m.d.comb += self.valid.eq(self.busy & (pause == 0))
        with m.If(self.valid & (state == last_state)):
            m.d.sync += [
                self.point.eq(self.point - 1),
                base.eq(base - self.states),
                self.position.eq(base - self.states),
                state.eq(0),
                pause.eq(between),
                self.busy.eq(self.point != 0),
            ]
        with m.Elif(self.valid):
            m.d.sync += [self.position.eq(self.position + 1), state.eq(state + 1), pause.eq(self.last_turn)]
        with m.Else():
            m.d.sync += pause.eq(Mux(pause == 0, 0, pause - 1))
        with m.If(self.start):
            m.d.sync += [
                self.busy.eq(1),
                self.point.eq(last_point),
                base.eq(last_base),
                self.position.eq(last_base),
                state.eq(0),
                pause.eq(0),
            ]
        return m
