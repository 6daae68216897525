"""What a walk says of a state that it has walked."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import clamped
from beltline.hw.arithmetic.numbers import MINIMUM, WIDTH
from beltline.hw.sweep.check import KEPT_BITS
from beltline.hw.sweep.walk.parameters import PROBE, WalkParameters


class Report(wiring.Component):
    """A walker's best candidate as the new choice of its state, with its value and what the next check compares.

    Operands in clock :attr:`WalkParameters.decided` of a turn, results a clock later; a turn of the ring a clock.

    Attributes
    ----------
    busy, seek
        In: as those of :class:`beltline.hw.sweep.walk.walk.Walk`.
    old, candidate, known, done
        In: see :class:`beltline.hw.sweep.walk.commit.Commit`.
    nowhere, exogenous
        In: the candidate is not on the grid; the walker's exogenous state.
    word_over
        In: a word of the candidate left its range.
    valid, position, state, choice, moved, kept, value, infeasible, outside, over, other
        Out: as those of :class:`beltline.hw.sweep.walk.walk.Walk`.
    """

    def __init__(self, parameters: WalkParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "busy": In(1),
                "seek": In(1),
                "old": In(parameters.walker),
                "candidate": In(PROBE),
                "known": In(1),
                "done": In(1),
                "nowhere": In(1),
                "exogenous": In(build.state_bits),
                "word_over": In(1),
                "valid": Out(1),
                "position": Out(build.position_bits),
                "state": Out(build.state_bits),
                "choice": Out(build.index_bits),
                "moved": Out(1),
                "kept": Out(KEPT_BITS),
                "value": Out(signed(WIDTH)),
                "infeasible": Out(1),
                "outside": Out(1),
                "over": Out(1),
                "other": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        old, candidate = self.old, self.candidate
        below, above = Signal(PROBE), Signal(PROBE)
        m.d.comb += [
            below.eq(Mux(old.down, candidate.as_value(), old.below.as_value())),
            above.eq(Mux(old.down, old.above.as_value(), candidate.as_value())),
        ]
        value, cut = clamped(old.objective.as_signed())
        m.d.sync += [
            self.valid.eq(self.done & self.busy & ~self.seek),
            self.other.eq(self.done & self.busy & self.seek & old.here.feasible & (old.index != old.item.choice)),
            self.position.eq(old.item.position),
            self.state.eq(self.exogenous),
            self.choice.eq(old.index),
            self.moved.eq(old.index != old.item.choice),
            self.kept.eq(Cat(below.u, old.here.u, above.u, below.feasible, old.here.feasible, above.feasible)),
            self.value.eq(Mux(old.here.feasible, value, MINIMUM)),
            self.infeasible.eq(~old.here.feasible),
            self.outside.eq(cut & old.here.feasible),
            self.over.eq(self.word_over & self.known & ~self.nowhere & self.busy & ~self.seek),
        ]
        return m
