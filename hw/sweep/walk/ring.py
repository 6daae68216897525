"""Whose turn it is in a walk, and the walkers whose turn is over."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.walk.parameters import WalkParameters


class Ring(wiring.Component):
    """Gives each walker its turn, one a clock, every :attr:`WalkParameters.clocks` clocks.

    A walker that is committed :attr:`WalkParameters.decided` clocks behind the start of its turn begins its next turn
    when the ring has gone round. In the first turns of a walk every walker is made anew, without a state.

    Attributes
    ----------
    restart
        In: the clock behind it is the first of a turn of the ring.
    start
        In: the walkers are made anew in the ``clocks`` clocks behind it.
    busy
        In: without it no walker is active.
    last_state, last_index, part_shift, seek, above
        In: as those of :class:`beltline.hw.sweep.walk.walk.Walk`.
    next
        In: a walker as it is committed.
    context
        Out: whose turn it is; the low bits are the exogenous state.
    mine
        Out: there is such a walker, and its exogenous state is one of the problem.
    beginning
        Out: the walker is made anew.
    limit
        Out: the point behind the walker's part.
    walker
        Out: the walker. These outputs are of clock 0 of a turn.
    held
        Out: ``walker`` a clock later.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "restart": In(1),
                "start": In(1),
                "busy": In(1),
                "last_state": In(build.state_bits),
                "last_index": In(build.index_bits),
                "part_shift": In(range(build.point_bits + 1)),
                "seek": In(1),
                "above": In(1),
                "next": In(parameters.walker),
                "context": Out(parameters.context_bits),
                "mine": Out(1),
                "beginning": Out(1),
                "limit": Out(parameters.walked_bits + 1),
                "walker": Out(parameters.walker),
                "held": Out(parameters.walker),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters = self.parameters
        clocks, state_bits = parameters.clocks, parameters.build.state_bits
        # The walkers, then nobody.
        turn = Signal(range(clocks))
        m.d.sync += turn.eq(Mux((turn == clocks - 1) | self.restart, 0, turn + 1))
        m.d.comb += [
            self.context.eq(turn),
            self.mine.eq((turn < parameters.contexts) & (self.context[:state_bits] <= self.last_state)),
        ]
        left = Signal(range(clocks + 1))
        m.d.comb += self.beginning.eq(left != 0)
        with m.If(self.beginning):
            m.d.sync += left.eq(left - 1)
        with m.If(self.start):
            m.d.sync += left.eq(clocks)

        fresh = Signal(parameters.walker)
        part = self.context[state_bits:] if parameters.part_bits else Const(0, 1)
        came = p.delay(p.input(self.next.as_value()), clocks - parameters.decided)
        m.d.comb += [
            fresh.eq(0),
            fresh.point.eq(part << self.part_shift),
            fresh.index.eq(Mux(self.seek & self.above, self.last_index, 0)),
            self.walker.eq(Mux(self.beginning, fresh.as_value(), came.value)),
            self.limit.eq((part + 1) << self.part_shift),
            self.held.eq(p.delay(p.input(self.walker.as_value()), 1).value),
        ]
        with m.If(~self.busy):
            m.d.comb += self.walker.active.eq(0)
        return m
