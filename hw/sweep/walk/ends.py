"""When a walk ends."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.walk.parameters import WalkParameters


class Ends(wiring.Component):
    """A walk ends when all places of the ring have nothing to do any more, and no row is under way.

    ``busy`` falls 3 clocks behind the last ``over``, or a clock behind the first one without a row under way, whichever
    is later.

    Attributes
    ----------
    start
        In: a walk begins.
    beginning
        In: of clock 0 of a turn, from :class:`beltline.hw.sweep.walk.ring.Ring`.
    over, was_over
        In: of clock :attr:`WalkParameters.decided`: the place of the ring has nothing to do any more, and had nothing
        to do in its turn before. In the clock of ``start`` either both are set or none; what comes later of turns that
        began before this walk's does not count.
    idle
        In: no row is under way.
    busy
        Out: from the clock behind ``start`` to the end of the walk.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "start": In(1),
                "beginning": In(1),
                "over": In(1),
                "was_over": In(1),
                "idle": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        places = self.parameters.clocks
        # What was begun before this walk is not over in it.
        first_round, of_this_walk, ends = Signal(), Signal(), Signal()
        unfinished = Signal(range(places + 1))
        m.d.comb += first_round.eq(p.valid(p.input(self.beginning), self.parameters.decided))
        m.d.sync += [
            of_this_walk.eq((of_this_walk | first_round) & ~self.start),
            ends.eq(self.over & ~self.was_over & (of_this_walk | first_round)),
            unfinished.eq(unfinished - ends),
        ]
        with m.If((unfinished == 0) & self.idle):
            m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            m.d.sync += [unfinished.eq(places), self.busy.eq(1)]
        return m
