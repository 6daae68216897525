"""Control of the proof of a sweep: which round all lanes make next, and when the sweep is proven."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.sweep.scan.parameters import LIMIT, PERIOD


class Rounds(wiring.Component):
    """Starts the rounds of a proof in all lanes, and ends the proof.

    After check and local search of a sweep, rounds over odd and over even points alternate; of every
    :data:`beltline.hw.sweep.scan.parameters.PERIOD` rounds the last two divide. The first round that moves no choice
    ends the proof, unless it is the very first, the first after one that divides, or divides itself. The sweep is then
    proven if no choice in this round was below that of the point before it. After
    :data:`beltline.hw.sweep.scan.parameters.LIMIT` rounds the proof ends without success. All lanes finish a round
    before the next one begins.

    In a general build the lanes may ``share`` the brackets at the ends of the grid before the rounds. The brackets are
    confirmed if none has a better candidate. In other builds the proof of a sweep can be left out.

    Latency: the next round begins in the first clock with ``met`` that is more than ``guard`` clocks after ``begin``
    and the last ``go``.

    Parameters
    ----------
    guard
        Clocks from ``begin`` or ``go`` after which ``met``, ``moved`` and ``crossed`` describe the pass or round that
        it began.
    general
        Whether the build is general: it has the ports for shared brackets in place of those for sweeps without a proof.

    Attributes
    ----------
    begin, proves : in, 1 bit each
        A pass begins, and whether it must be proven. If not, there are no rounds.
    skips : in, 1 bit
        Only in builds that are not general, with ``begin`` and ``proves``: no proof, only ``finish`` when all lanes
        wait.
    met : in, 1 bit
        All lanes wait for the next round.
    moved, crossed : in, 1 bit each
        In this round a lane has moved a choice; a lane has found a choice below that of the point before it.
    go : out, 1 bit
        High for a clock: a round begins.
    divide, odd : out, 1 bit each
        From the clock after ``go``: the round divides; it is over odd points or, if it divides, over the first points
        of lanes. They do not change until the next round.
    finish : out, 1 bit
        High for a clock: the last round has ended.
    repaired : out, 1 bit
        Only in builds that are not general: from the clock after ``finish`` to the next ``begin``, a round has moved a
        choice.
    proven : out, 1 bit
        From the clock after ``finish`` to the next ``begin``: the sweep is proven.
    share : in, 1 bit
        Only in general builds, with ``begin``: the lanes share brackets before the rounds.
    sharing : out, 1 bit
        Only in general builds: from the clock after a ``go`` to the next, the lanes share brackets. ``moved`` then says
        that one has a better candidate.
    confirmed : out, 1 bit
        Only in general builds: from the clock after the ``go`` of the first round to the next ``begin``, the shared
        brackets have no better candidates.
    """

    def __init__(self, guard: int, general: bool = False) -> None:
        self.guard, self.general = guard, general
        flags = ("begin", "proves", "met", "moved", "crossed")
        super().__init__(
            {
                **{name: In(1) for name in flags},
                **{name: Out(1) for name in ("go", "divide", "odd", "finish", "proven")},
                **(
                    {"share": In(1), "sharing": Out(1), "confirmed": Out(1)}
                    if general
                    else {"skips": In(1), "repaired": Out(1)}
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # `number` counts the rounds begun. `place` counts those since a division, whose last round has PERIOD.
        number, place = Signal(range(LIMIT + 1)), Signal(range(PERIOD + 1))
        wait = Signal(range(self.guard + 1))
        ready, ends = Signal(), Signal()
        m.d.comb += [
            ready.eq((wait == 0) & self.met),
            ends.eq((place >= 2) & (place < PERIOD - 1) & ~self.moved),
        ]
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(self.begin):
                m.d.sync += self.proven.eq(0)
                with m.If(self.proves):
                    m.d.sync += [number.eq(0), place.eq(0), wait.eq(self.guard)]
                    m.next = "ROUNDS"
                    if self.general:
                        m.d.sync += self.confirmed.eq(0)
                        with m.If(self.share):
                            m.next = "SHARE"
                    else:
                        m.d.sync += self.repaired.eq(0)
                        with m.If(self.skips):
                            m.next = "NONE"
            if not self.general:
                with m.State("NONE"), m.If(ready):
                    m.d.comb += self.finish.eq(1)
                    m.next = "IDLE"
            else:
                with m.State("SHARE"), m.If(ready):
                    m.d.comb += self.go.eq(1)
                    m.d.sync += [self.sharing.eq(1), self.divide.eq(0), self.odd.eq(0), wait.eq(self.guard)]
                    m.next = "ROUNDS"
            with m.State("ROUNDS"), m.If(ready):
                if not self.general:
                    m.d.sync += self.repaired.eq(self.repaired | (self.moved & (number != 0)))
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
                        self.divide.eq(following >= PERIOD - 1),
                        self.odd.eq(following[0]),
                        wait.eq(self.guard),
                    ]
                    if self.general:
                        m.d.sync += self.sharing.eq(0)
                        with m.If(self.sharing):
                            m.d.sync += self.confirmed.eq(~self.moved)
        return m
