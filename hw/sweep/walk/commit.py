"""What a walker does next, from how its probe compares with its best candidate."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.walk.parameters import PROBE, WalkParameters


class Commit(wiring.Component):
    """Takes the candidate or not, chooses the next step, and begins the state that waits when one is done.

    Combinational, in clock :attr:`WalkParameters.decided` of a turn; a turn of the ring a clock.

    Attributes
    ----------
    old
        In: the walker.
    probe, found, nowhere, exhausted
        In: what came with it, see :class:`beltline.hw.sweep.walk.course.Course`.
    objective, u, feasible, rises, keeps
        In: of its candidate, see :class:`beltline.hw.sweep.walk.compare.Compare`.
    move, begin_done, begin_idle
        In: see :class:`beltline.hw.sweep.walk.guess.Guess`.
    next
        Out: the walker in its next turn.
    candidate
        Out: utility of the candidate, and whether it is on the grid and feasible.
    known
        Out: something is known of the candidate.
    done
        Out: the walker's state has its peak in ``old``.
    over
        Out: the walker has nothing to do any more.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "old": In(parameters.walker),
                "probe": In(parameters.build.index_bits),
                "found": In(1),
                "nowhere": In(1),
                "exhausted": In(1),
                "objective": In(signed(OBJECTIVE_BITS)),
                "u": In(WIDTH),
                "feasible": In(1),
                "rises": In(1),
                "keeps": In(1),
                "move": In(signed(parameters.index_bits)),
                "begin_done": In(parameters.index_bits),
                "begin_idle": In(parameters.index_bits),
                "next": Out(parameters.walker),
                "candidate": Out(PROBE),
                "known": Out(1),
                "done": Out(1),
                "over": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        old, candidate, done = self.old, self.candidate, self.done
        new = Signal(self.parameters.walker)
        better = Signal()
        m.d.comb += [
            self.known.eq(self.found | self.nowhere),
            candidate.u.eq(self.u),
            candidate.feasible.eq(self.feasible & ~self.nowhere),
            better.eq(~self.nowhere & Mux(old.down, ~self.keeps, self.rises)),
            new.eq(old),
        ]
        with m.If(self.known & old.first):
            m.d.comb += [new.first.eq(0), new.objective.eq(self.objective), new.here.eq(candidate)]
        with m.Elif(self.known & better):
            m.d.comb += [
                new.index.eq(self.probe),
                new.objective.eq(self.objective),
                new.here.eq(candidate),
                new.streak.eq(1),
                new.below_known.eq(~old.down & (old.exponent == 0)),
                new.above_known.eq(old.down & (old.exponent == 0)),
            ]
            with m.If(old.down):
                m.d.comb += new.above.eq(old.here)
            with m.Else():
                m.d.comb += new.below.eq(old.here)
            with m.If(old.shrinks):
                m.d.comb += [
                    new.exponent.eq(old.exponent - (old.exponent != 0)),
                    new.shrinks.eq(old.exponent > 1),
                ]
            with m.Elif(old.streak & ~old.exponent.all()):
                m.d.comb += new.exponent.eq(old.exponent + 1)
        with m.Elif(self.known):
            m.d.comb += [new.streak.eq(0), new.exponent.eq(0), new.shrinks.eq(0)]
            with m.If((old.exponent != 0) & self.nowhere):
                m.d.comb += [new.exponent.eq(old.exponent - 1), new.shrinks.eq(1)]
            with m.If(old.exponent == 0):
                m.d.comb += new.down.eq(~old.down)
                with m.If(old.down):
                    m.d.comb += [new.below.eq(candidate), new.below_known.eq(1), done.eq(old.above_known)]
                with m.Else():
                    m.d.comb += [new.above.eq(candidate), new.above_known.eq(1), done.eq(old.below_known)]
        with m.If(done):
            m.d.comb += [new.active.eq(0), new.shift.eq(self.move), new.begun.eq(1)]
        with m.If((done | ~old.active) & old.waiting):
            m.d.comb += [
                new.active.eq(1),
                new.waiting.eq(0),
                new.item.eq(old.next),
                new.index.eq(Mux(done, self.begin_done, self.begin_idle)),
                new.first.eq(1),
                new.down.eq(0),
                new.exponent.eq(0),
                new.streak.eq(0),
                new.shrinks.eq(0),
                new.below_known.eq(0),
                new.above_known.eq(0),
            ]
        m.d.comb += [
            self.over.eq(~new.active & ~new.waiting & self.exhausted),
            self.next.eq(new),
            self.next.over.eq(old.over | self.over),
        ]
        return m
