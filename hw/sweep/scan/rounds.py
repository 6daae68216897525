"""The rounds of a proof: what all lanes do next, and when a sweep is proven."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.scan.parameters import LIMIT, PERIOD


class Rounds(wiring.Component):
    """Behind a sweep's checks and walks: rounds over odd and over even points in turn, until one moves no choice.

    A round that moves none, but for the first of them and the first behind one that divides, ends the proof; round
    :data:`beltline.hw.sweep.scan.parameters.LIMIT` ends it unproven. All lanes meet before each round.

    Parameters
    ----------
    guard
        Clocks from ``begin``, or from the clock of ``go``, after which ``met`` is that of all lanes since then.

    Attributes
    ----------
    begin, proves
        In: a pass begins, and whether it is to be proven; in one that is not nothing is done.
    met, moved, crossed
        In: all lanes wait; a lane has moved a choice in this round; a lane has seen choices that cross.
    go, divide, odd
        Out: a round begins; what it is, standing to the next.
    finish
        Out: the last round has ended.
    proven
        Out: of the last pass that has finished, from the clock behind ``finish``.
    """

    def __init__(self, guard: int) -> None:
        self.guard = guard
        flags = ("begin", "proves", "met", "moved", "crossed")
        super().__init__(
            {
                **{name: In(1) for name in flags},
                **{name: Out(1) for name in ("go", "divide", "odd", "finish", "proven")},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The rounds that have begun, and of those since the last one that divides, which is the first of them.
        number, place = Signal(range(LIMIT + 1)), Signal(range(PERIOD + 1))
        wait = Signal(range(self.guard + 1))
        ready, ends = Signal(), Signal()
        m.d.comb += [
            ready.eq((wait == 0) & self.met),
            ends.eq((place >= 2) & (place != PERIOD) & ~self.moved),
        ]
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.begin):
                m.d.sync += self.proven.eq(0)
                with m.If(self.proves):
                    m.d.sync += [number.eq(0), place.eq(0), wait.eq(self.guard)]
                    m.next = "ROUNDS"
            with m.State("ROUNDS"), m.If(ready):
                with m.If(ends | (number == LIMIT)):
                    m.d.comb += self.finish.eq(1)
                    m.d.sync += self.proven.eq(ends & ~self.crossed)
                    m.next = "IDLE"
                with m.Else():
                    m.d.comb += self.go.eq(1)
                    following = Mux(place == PERIOD, 1, place + 1)
                    m.d.sync += [
                        number.eq(number + 1),
                        place.eq(following),
                        self.divide.eq(following == PERIOD),
                        self.odd.eq(following[0]),
                        wait.eq(self.guard),
                    ]
        return m
