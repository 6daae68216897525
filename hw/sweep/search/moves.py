"""How far the first choice of each search moved in the sweep before."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.search.parameters import DECAY, FOUND, SearchParameters


class FirstMoves(wiring.Component):
    """Stores, from one pass to the next, how far the choice of each search's first state moved.

    What is stored is the move times ``1 - 2**-DECAY``. A search has no state before its first one from which to guess
    the move, and moves become smaller from sweep to sweep.

    Throughput: a turn in every clock. Contract: fixed latency, no ready; ports belong to the named clock of a turn.

    Attributes
    ----------
    cold : in, 1 bit
        There are no stored choices: moves are 0.
    context, beginning : in, ``context_bits`` and 1 bit
        Clock 0: number of the search, and whether this is its first turn of the pass, from
        :class:`beltline.hw.sweep.search.ring.Ring`.
    move : out, ``index_bits + 1``
        Clock :attr:`SearchParameters.loaded`: the stored move of the search.
    used : out, 1 bit
        Clock ``loaded``: the search takes this move, because it is its first turn.
    context_later : in, ``context_bits``
        Clock ``FOUND``: number of the search.
    first, first_move : in, 1 bit and signed ``index_bits + 1``
        Clock :attr:`SearchParameters.decided`: the search has finished its first state of this pass, and how far that
        moved.
    """

    def __init__(self, parameters: SearchParameters) -> None:
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
        p = Pipeline(m, self.parameters.build.multiplier)
        loaded, decided = self.parameters.loaded, self.parameters.decided
        m.submodules.moves = moves = Ram(self.parameters.index_bits, self.parameters.contexts)
        move = p.register(Mux(self.cold, 0, moves.read_data), READ_LATENCY)
        stored = Signal(signed(self.parameters.index_bits))
        m.d.sync += stored.eq(Mux(self.cold, 0, self.first_move))
        m.d.comb += [
            moves.read_address.eq(self.context),
            self.move.eq(p.delay(move, loaded - move.time).value),
            self.used.eq(p.delay(p.input(self.beginning), loaded).value),
            moves.write.eq(p.valid(p.input(self.first), 1)),
            moves.write_address.eq(p.delay(p.input(self.context_later, FOUND), decided + 1 - FOUND).value),
            moves.write_data.eq(stored - (stored >> DECAY)),
        ]
        return m
