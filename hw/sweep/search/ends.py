"""End of a local search pass."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.sweep.search.parameters import SearchParameters


class Ends(wiring.Component):
    """Ends the pass when no place of the ring has work left, and no requested row is in flight.

    ``busy`` falls 3 clocks after the last ``over``, or a clock after the first one with ``idle``, whichever is later.
    The ring has :attr:`SearchParameters.clocks` places, one for each clock of a loop.

    Attributes
    ----------
    start : in, 1 bit
        A pass begins.
    beginning : in, 1 bit
        Clock 0 of a turn: it is the first turn of its place in this pass, from
        :class:`beltline.hw.sweep.search.ring.Ring`.
    over, was_over : in, 1 bit each
        Clock :attr:`SearchParameters.decided` of a turn: the place has no work left; it had none after its previous
        turn. In the clock of ``start`` both are high or both low. Turns that began before this pass are ignored.
    idle : in, 1 bit
        No requested row is in flight.
    busy : out, 1 bit
        High from the clock after ``start`` to the end of the pass.
    """

    def __init__(self, parameters: SearchParameters) -> None:
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
        # Turns that began before this pass do not count.
        first_round, of_this_search, ends = Signal(), Signal(), Signal()
        unfinished = Signal(range(places + 1))
        m.d.comb += first_round.eq(p.valid(p.input(self.beginning), self.parameters.decided))
        m.d.sync += of_this_search.eq((of_this_search | first_round) & ~self.start)
        m.d.sync += [
            ends.eq(self.over & ~self.was_over & (of_this_search | first_round)),
            unfinished.eq(unfinished - ends),
        ]
        with m.If((unfinished == 0) & self.idle):
            m.d.sync += self.busy.eq(0)
        with m.If(self.start):
            m.d.sync += [unfinished.eq(places), self.busy.eq(1)]
        return m
