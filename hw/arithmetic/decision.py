"""Which of the candidates of a state wins: comparisons shared by the stages of the line and the folded ones."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Mux, Value

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import SEGMENT, Pipeline, Timed

ORDER_CLOCKS = 2
"""Clocks from the objectives to their order."""


def move(best: list[Value]) -> Value:
    """``j*`` of a stage before the last, 0 to 4, from whether candidates 1, 2 and 3 win or tie (``next_position``)."""
    one, two, three = best
    return Mux(two, Mux(one == three, 2, Mux(one, 1, 3)), Mux(one | ~Cat(*best).any(), 0, 4))


def encode(one_hot: list[Value]) -> Value:
    """Index of the one bit that is set, 0 where none is."""
    return Cat(one_hot[1] | one_hot[3], one_hot[2] | one_hot[3])


class Order:
    """All comparisons among candidates, two clocks behind the objectives."""

    def __init__(self, p: Pipeline, objectives: list[Timed], feasible: list[Timed]) -> None:
        # Unsigned order is signed order once the sign bit is inverted.
        biased = [o.map(lambda value: Cat(value[:-1], ~value[-1])) for o in objectives]
        count = range(len(objectives))
        self._at_least: dict[tuple[int, int], Value] = {}
        self._above: dict[tuple[int, int], Value] = {}
        for i in count:
            for k in range(i + 1, len(objectives)):
                low = [p.compute(f, biased[i].map(_low), biased[k].map(_low)) for f in (_less, _equal)]
                high = [p.compute(f, biased[i].map(_high), biased[k].map(_high)) for f in (_less, _equal)]

                def less(fi: Value, fk: Value, ll: Value, hl: Value, he: Value) -> Value:
                    return fk & (~fi | hl | (he & ll))

                def at_most(fi: Value, fk: Value, ll: Value, le: Value, hl: Value, he: Value) -> Value:
                    return ~fi | (fk & (hl | (he & (ll | le))))

                flags = (feasible[i], feasible[k])
                # A tie of two infeasible candidates counts as both at least the other, and neither wins.
                k_above = p.compute(less, *flags, low[0], *high).value
                k_at_least = p.compute(at_most, *flags, *low, *high).value
                self._above[k, i] = k_above
                self._at_least[k, i] = k_at_least
                self._above[i, k] = ~k_at_least
                self._at_least[i, k] = ~k_above
        self._feasible = [p.delay(f, 2).value for f in feasible]
        self._count = len(objectives)

    def above(self, k: int, i: int) -> Value:
        """Candidate ``k`` is feasible, and ``i`` is not or is below it."""
        return self._above[k, i]

    def wins_or_ties(self, k: int) -> Value:
        """Candidate ``k`` is feasible and none is above it."""
        others = (self._at_least[k, i] for i in range(self._count) if i != k)
        return self._feasible[k] & Cat(*others).all()

    def wins(self, k: int) -> Value:
        """Candidate ``k`` is the lowest among those that win or tie."""
        before = (self._above[k, i] for i in range(k))
        after = (self._at_least[k, i] for i in range(k + 1, self._count))
        return self._feasible[k] & Cat(*before, *after).all()


@dataclass(frozen=True)
class Choice:
    """The best of four candidates, as it goes into the last register of a stage.

    ``value`` is cut to 64 bits, and ``outside`` where it had to be; ``none``: no candidate is feasible.
    """

    value: Value
    index: Value
    none: Value
    outside: Value


def clamped(objective: Value) -> tuple[Value, Value]:
    """An objective cut to 64 bits, and whether it had to be."""
    outside = objective[-1] ^ objective[-2]
    bound = Mux(objective[-1], MINIMUM, MAXIMUM).as_signed()
    return Mux(outside, bound, objective[:WIDTH].as_signed()), outside


def choose(p: Pipeline, order: Order, objectives: list[Timed], place: Timed) -> Choice:
    """The best of the objectives, a clock after ``place``, the index of the first, which comes with their order."""
    time = place.time
    winner = [order.wins(k) for k in range(len(objectives))]
    words = Cat(*(p.delay(o, time - o.time).value for o in objectives))
    chosen = p.register(words.word_select(encode(winner), OBJECTIVE_BITS).as_signed(), time).value
    none = p.register(~Cat(*winner).any(), time).value
    value, outside = clamped(chosen)
    return Choice(
        value=Mux(none, MINIMUM, value),
        index=p.register(place.value + encode(winner), time).value,
        none=none,
        outside=outside & ~none,
    )


def _low(value: Value) -> Value:
    return value[:SEGMENT]


def _high(value: Value) -> Value:
    return value[SEGMENT:]


def _less(a: Value, b: Value) -> Value:
    return a < b


def _equal(a: Value, b: Value) -> Value:
    return a == b
