"""The best candidate of a bracket, from the objectives of its halves of rows."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.decision import ORDER_CLOCKS, Order
from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.sweep.scan.parameters import CONTEST_CLOCKS, ScanParameters


class Contest(wiring.Component):
    """The lowest of the best feasible candidates of a bracket: the two of a pair, of two pairs, and of all halves.

    The objectives of half a row come in four clocks, one behind the other, and the next half no sooner than behind
    them.

    Attributes
    ----------
    objective, able
        In: ``O_j``, and whether the candidate counts.
    number, first, last
        In, with the last word: the number of the half, and whether its bracket begins and ends with it.
    ends
        In: the last word of a half.
    done, any, index
        Out, ``CONTEST_CLOCKS`` behind the last word of a bracket: whether a candidate of it counts, and the best.
    """

    def __init__(self, parameters: ScanParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                "objective": In(signed(OBJECTIVE_BITS)),
                "able": In(1),
                "number": In(parameters.half_bits),
                "first": In(1),
                "last": In(1),
                "ends": In(1),
                "done": Out(1),
                "any": Out(1),
                "index": Out(parameters.build.index_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        word = _Candidate(p.input(self.objective), p.input(self.able), p.input(Const(0, 0)))
        # A word is compared with the one before it, and a pair with the one two clocks before it.
        pair = _better(p, word.earlier(p, 1), word)
        half = _better(p, pair.earlier(p, 2), pair)
        time = half.able.time
        first, last, number = (p.delay(p.input(flag), time) for flag in (self.first, self.last, self.number))

        best = Signal(self.parameters.candidate)
        order = Order(
            p, [Timed(best.objective, time), half.objective], [Timed(best.able & ~first.value, time), half.able]
        )
        index = half.index.map(lambda low: Cat(low, number.value))
        objective, able, index = (p.delay(part, ORDER_CLOCKS) for part in (half.objective, half.able, index))
        decided = time + ORDER_CLOCKS
        commit = p.valid(p.input(self.ends), decided)
        with m.If(commit & (order.above(1, 0) | p.delay(first, ORDER_CLOCKS).value)):
            m.d.sync += [best.objective.eq(objective.value), best.able.eq(able.value), best.index.eq(index.value)]
        m.d.sync += self.done.eq(commit & p.delay(last, ORDER_CLOCKS).value)
        assert decided + 1 == CONTEST_CLOCKS
        m.d.comb += [self.any.eq(best.able), self.index.eq(best.index)]
        return m


@dataclass(frozen=True)
class _Candidate:
    """An objective, whether it counts, and its number among those that it has won against."""

    objective: Timed
    able: Timed
    index: Timed

    def earlier(self, p: Pipeline, clocks: int) -> _Candidate:
        """The one so many clocks before."""
        return _Candidate(
            *(Timed(p.delay(part, clocks).value, part.time) for part in (self.objective, self.able, self.index))
        )


def _better(p: Pipeline, low: _Candidate, high: _Candidate) -> _Candidate:
    """The better of two; of equals the lower one."""
    order = Order(p, [low.objective, high.objective], [low.able, high.able])
    above, time = order.above(1, 0), high.able.time + ORDER_CLOCKS
    parts = [[p.delay(part, ORDER_CLOCKS).value for part in (of.objective, of.able, of.index)] for of in (low, high)]
    (low_objective, low_able, low_index), (high_objective, high_able, high_index) = parts
    return _Candidate(
        p.register(Mux(above, high_objective, low_objective).as_signed(), time),
        p.register(low_able | high_able, time),
        p.register(Cat(Mux(above, high_index, low_index), above), time),
    )
