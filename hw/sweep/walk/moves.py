"""By how much the first choice of each walker moved in the walk before."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.walk.parameters import DECAY, FOUND, WalkParameters


class FirstMoves(wiring.Component):
    """Remembers the first move of each walker, less a part of ``2**-DECAY``, from one walk to the next.

    A turn of the ring a clock.

    Attributes
    ----------
    cold
        In: no choices are kept: moves are 0.
    context, beginning
        In: of clock 0 of a turn, from :class:`beltline.hw.sweep.walk.ring.Ring`.
    move, used
        Out: what is remembered of the walker, and whether it is made anew and takes it, in clock
        :attr:`WalkParameters.loaded` of the turn.
    context_later
        In: the context in clock ``FOUND``.
    first, first_move
        In: in clock :attr:`WalkParameters.decided`: the walker has decided its first state of this walk, whose choice
        has moved by ``first_move``.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "cold": In(1),
                "context": In(parameters.context_bits),
                "beginning": In(1),
                "move": Out(parameters.index_bits),
                "used": Out(1),
                "context_later": In(parameters.context_bits),
                "first": In(1),
                "first_move": In(signed(parameters.index_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        loaded, decided = self.parameters.loaded, self.parameters.decided
        m.submodules.moves = moves = Ram(self.parameters.index_bits, self.parameters.contexts)
        move = p.register(Mux(self.cold, 0, moves.read_data), READ_LATENCY)
        kept = Signal(signed(self.parameters.index_bits))
        m.d.sync += kept.eq(Mux(self.cold, 0, self.first_move))
        m.d.comb += [
            moves.read_address.eq(self.context),
            self.move.eq(p.delay(move, loaded - move.time).value),
            self.used.eq(p.delay(p.input(self.beginning), loaded).value),
            moves.write.eq(p.valid(p.input(self.first), 1)),
            moves.write_address.eq(p.delay(p.input(self.context_later, FOUND), decided + 1 - FOUND).value),
            moves.write_data.eq(kept - (kept >> DECAY)),
        ]
        return m
