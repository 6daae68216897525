"""The best candidate of a bracket."""

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
    """Finds the lowest of the best feasible candidates of a bracket, from the objectives of its half-rows.

    Objectives are compared in pairs, then pairs with each other, and then the best of a half-row with the best of the
    bracket so far. A comparison takes :data:`beltline.hw.arithmetic.decision.ORDER_CLOCKS`.

    Latency: :data:`CONTEST_CLOCKS` from the last objective of a bracket to ``done``. Throughput: an objective in every
    clock. Contract: fixed latency, no ready; the four objectives of a half-row come in consecutive clocks, and the next
    half-row not before the last of them.

    Attributes
    ----------
    objective, able : in, signed 65 bits and 1 bit
        ``O_j``, and whether the candidate is feasible and in the bracket.
    ends : in, 1 bit
        This is the last objective of a half-row.
    number : in, :attr:`ScanParameters.half_bits`
        With ``ends``: the number of the half-row, ``j // 4``.
    first, last : in, 1 bit each
        With ``ends``: the half-row is the first, or the last, of its bracket.
    done : out, 1 bit
        High for a clock at the end of a bracket, to which the other two outputs belong.
    any : out, 1 bit
        The bracket has a feasible candidate.
    index : out, ``index_bits`` of the build
        The best candidate.
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
    """An objective, whether it counts, and its number among the candidates that it was compared with."""

    objective: Timed
    able: Timed
    index: Timed

    def earlier(self, p: Pipeline, clocks: int) -> _Candidate:
        """Return the candidate that came ``clocks`` clocks before."""
        return _Candidate(
            *(Timed(p.delay(part, clocks).value, part.time) for part in (self.objective, self.able, self.index))
        )


def _better(p: Pipeline, low: _Candidate, high: _Candidate) -> _Candidate:
    """Return the better of two candidates, ``ORDER_CLOCKS`` and a clock later; of equals the lower one."""
    order = Order(p, [low.objective, high.objective], [low.able, high.able])
    above, time = order.above(1, 0), high.able.time + ORDER_CLOCKS
    parts = [[p.delay(part, ORDER_CLOCKS).value for part in (of.objective, of.able, of.index)] for of in (low, high)]
    (low_objective, low_able, low_index), (high_objective, high_able, high_index) = parts
    return _Candidate(
        p.register(Mux(above, high_objective, low_objective).as_signed(), time),
        p.register(low_able | high_able, time),
        p.register(Cat(Mux(above, high_index, low_index), above), time),
    )
