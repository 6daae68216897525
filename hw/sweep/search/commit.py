"""The decision of a search: accept its candidate or not, and which step comes next."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.sweep.search.parameters import PROBE, SearchParameters


class Commit(wiring.Component):
    """Accepts the candidate if it is better, chooses the next step, and begins the waiting state after a finished one.

    A search evaluates the guess first, unless it begins with what the check knows. It then steps upwards while the
    objective rises, and downwards
    while it does not fall, so the lowest of equal candidates wins. From the second success in a row on, each doubles
    the step, ``2**exponent``. A failed step is followed by a step of 1; a step off the grid is halved instead, and so
    are those after it. A failed step of 1 shows that this neighbour is not better, and reverses the direction. With
    both neighbours known the best candidate is the peak.

    Combinational, in clock :attr:`SearchParameters.decided` of a turn. Throughput: a turn in every clock.

    Attributes
    ----------
    old : in, :attr:`SearchParameters.search`
        The search before the decision.
    probe : in, ``index_bits`` of the build
        Its candidate ``j``.
    found : in, 1 bit
        ``j`` is on the grid and was evaluated.
    nowhere : in, 1 bit
        ``j`` is not on the grid.
    last : in, 1 bit
        Unless ``j`` is better, the best candidate is the peak: ``j`` is beside it, and the neighbour on its other side
        is known not to be better.
    exhausted : in, 1 bit
        The search has no points left in which to look for a state.
    objective : in, signed 65 bits
        ``O_j``.
    u : in, 64 bits
        Utility of ``j``.
    feasible, rises, keeps : in, 1 bit each
        Of ``j``, see :class:`beltline.hw.sweep.search.compare.Compare`.
    move, begin_done, begin_idle : in
        See :class:`beltline.hw.sweep.search.guess.Guess`.
    next : out, :attr:`SearchParameters.search`
        The search after the decision, for its next turn.
    candidate : out, :data:`PROBE`
        Utility of ``j``, and whether ``j`` is on the grid and feasible.
    known : out, 1 bit
        ``j`` was evaluated, or is not on the grid: this turn decides something.
    done : out, 1 bit
        The best candidate in ``old`` is the peak of its state.
    over : out, 1 bit
        The search has no state, none waits, and none is left.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "old": In(parameters.search),
                "probe": In(parameters.build.index_bits),
                "found": In(1),
                "nowhere": In(1),
                "last": In(1),
                "exhausted": In(1),
                "objective": In(signed(OBJECTIVE_BITS)),
                "u": In(WIDTH),
                "feasible": In(1),
                "rises": In(1),
                "keeps": In(1),
                "move": In(signed(parameters.index_bits)),
                "begin_done": In(parameters.index_bits),
                "begin_idle": In(parameters.index_bits),
                "next": Out(parameters.search),
                "candidate": Out(PROBE),
                "known": Out(1),
                "done": Out(1),
                "over": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        old, candidate, done = self.old, self.candidate, self.done
        new = Signal(self.parameters.search)
        better = Signal()
        m.d.comb += [
            self.known.eq(self.found | self.nowhere),
            candidate.u.eq(self.u),
            candidate.feasible.eq(self.feasible & ~self.nowhere),
            better.eq(~self.nowhere & Mux(old.down, ~self.keeps, self.rises)),
            done.eq(self.last & ~better),
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
                    m.d.comb += [new.below.eq(candidate), new.below_known.eq(1)]
                with m.Else():
                    m.d.comb += [new.above.eq(candidate), new.above_known.eq(1)]
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
