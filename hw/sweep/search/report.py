"""Results of the local search: the new choice of a state, its value and its cached utilities."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import clamped
from beltline.hw.arithmetic.numbers import MINIMUM, WIDTH
from beltline.hw.sweep.check import CACHED_BITS
from beltline.hw.sweep.search.parameters import PROBE, SearchParameters


class Report(wiring.Component):
    """Outputs a finished search's best candidate as its state's new choice, with the value and the cached utilities.

    Latency 1: operands in clock :attr:`SearchParameters.decided` of a turn, results a clock later. Throughput: a turn
    in every clock. Contract: fixed latency, no ready.

    Attributes
    ----------
    busy : in, 1 bit
        See :class:`beltline.hw.sweep.search.local_search.LocalSearch`.
    old, candidate, known, done : in
        The search and its decision, see :class:`beltline.hw.sweep.search.commit.Commit`.
    nowhere : in, 1 bit
        The candidate is not on the grid.
    exogenous : in, ``state_bits``
        The search's exogenous state.
    word_over : in, 1 bit
        A word of the evaluation left its range.
    valid, position, state, choice, moved, cached, value, infeasible, outside, over : out
        See :class:`beltline.hw.sweep.search.local_search.LocalSearch`.
    """

    def __init__(self, parameters: SearchParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "busy": In(1),
                "old": In(parameters.search),
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
                "cached": Out(CACHED_BITS),
                "value": Out(signed(WIDTH)),
                "infeasible": Out(1),
                "outside": Out(1),
                "over": Out(1),
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
            self.valid.eq(self.done & self.busy),
            self.position.eq(old.item.position),
            self.state.eq(self.exogenous),
            self.choice.eq(old.index),
            self.moved.eq(old.index != old.item.choice),
            self.cached.eq(Cat(below.u, old.here.u, above.u, below.feasible, old.here.feasible, above.feasible)),
            self.value.eq(Mux(old.here.feasible, value, MINIMUM)),
            self.infeasible.eq(~old.here.feasible),
            self.outside.eq(cut & old.here.feasible),
            self.over.eq(self.word_over & self.known & ~self.nowhere & self.busy),
        ]
        return m
