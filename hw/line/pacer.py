"""Pacing of the input of a folded line: when the next state, or in a prologue the next value, is read."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


@dataclass(frozen=True)
class PacerParameters:
    """Parameters of the pacer.

    Parameters
    ----------
    round_states
        States of a round: in a sweep they are read in consecutive clocks.
    round_clocks
        Clocks from one round to the next.
    interval
        In a prologue, clocks from one value to the next.
    """

    round_states: int
    round_clocks: int
    interval: int


class Pacer(wiring.Component):
    """Generates the read strobe of a folded line, at the highest rate that the line can accept.

    Contract: a reset begins a pass; ``take`` is high in the clock after it.

    Attributes
    ----------
    stream : in, 1 bit
        There are states to read.
    prologue : in, 1 bit
        The pass is a prologue.
    take : out, 1 bit
        A state is read in this clock, if ``stream`` is high.
    enter : out, 1 bit
        High in all ``round_states`` clocks of a round that began with a state, also when ``stream`` falls before its
        end. Low in a prologue.
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
