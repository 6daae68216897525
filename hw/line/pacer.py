"""Lets states into a folded line, and values into a folded expectation, as fast as they can take them."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


@dataclass(frozen=True)
class PacerParameters:
    """A sweep: ``round_states`` states, one a clock, every ``round_clocks``. A prologue: a value every ``interval``."""

    round_states: int
    round_clocks: int
    interval: int


class Pacer(wiring.Component):
    """:class:`PacerParameters` in gateware.

    While ``stream`` is high, ``take`` says in which clocks a state is read. ``enter`` is high for all the clocks of a
    round that has begun with a state, whether there are states to fill it or not. A reset begins a pass: ``take`` is
    high in the clock after.
    """

    def __init__(self, parameters: PacerParameters) -> None:
        self.parameters = parameters
        super().__init__({"stream": In(1), "prologue": In(1), "take": Out(1), "enter": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        count = Signal(range(parameters.round_clocks))
        inside = Signal(init=1)
        begun = Signal()
        m.d.sync += count.eq(count + 1)
        m.d.comb += self.enter.eq(inside & (self.stream | begun) & ~self.prologue)
        with m.If(inside & self.stream):
            m.d.sync += begun.eq(1)
        with m.If(count == parameters.round_states - 1):
            m.d.sync += inside.eq(0)
        with m.If(count == parameters.round_clocks - 1):
            m.d.sync += [count.eq(0), inside.eq(1), begun.eq(0)]
        tick = Signal(range(parameters.interval), init=0)
        m.d.sync += tick.eq(Mux(tick == parameters.interval - 1, 0, tick + 1))
        m.d.comb += self.take.eq(Mux(self.prologue, tick == 0, inside))
        return m
