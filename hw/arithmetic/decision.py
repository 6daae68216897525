"""Comparison of the objectives of a state's candidates, for the stages of the assembly line and the sweep engine.

A candidate *wins* if it is the best feasible one, and the lowest among equals. It *wins or ties* if no feasible
candidate is above it.
"""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Mux, Value

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import SEGMENT, Pipeline, Timed

ORDER_CLOCKS = 2
"""Clocks from the objectives to the results of :class:`Order`."""


def move(best: list[Value]) -> Value:
    """Step of the search from one stage to the next: 0 to 4 places, 3 bits.

    The rule is that of :func:`beltline.hw.line.stage.next_position`. ``best`` has three bits: whether candidates 1, 2
    and 3 win or tie.
    """
    one, two, three = best
    return Mux(two, Mux(one == three, 2, Mux(one, 1, 3)), Mux(one | ~Cat(*best).any(), 0, 4))


def encode(one_hot: list[Value]) -> Value:
    """Return the index, 2 bits, of the bit of ``one_hot`` (four bits) that is set; 0 if no bit is."""
    return Cat(one_hot[1] | one_hot[3], one_hot[2] | one_hot[3])


class Order:
    """Compares the objectives of all pairs of a state's candidates.

    Latency: ``ORDER_CLOCKS`` (2) clocks from the objectives to all results. Throughput: one state in every clock.

    Parameters
    ----------
    p
        Pipeline to which the comparisons are added.
    objectives
        The objectives, signed 65 bits, all with the same time.
    feasible
        Whether each candidate is feasible, with the same time. An infeasible candidate is below every feasible one.
    """

    def __init__(self, p: Pipeline, objectives: list[Timed], feasible: list[Timed]) -> None:
        # With the sign bit inverted, unsigned comparison gives the signed order.
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
                # Of two infeasible candidates each counts as at least the other; neither can win, as that takes
                # feasibility.
                k_above = p.compute(less, *flags, low[0], *high).value
                k_at_least = p.compute(at_most, *flags, *low, *high).value
                self._above[k, i] = k_above
                self._at_least[k, i] = k_at_least
                self._above[i, k] = ~k_at_least
                self._at_least[i, k] = ~k_above
        self._feasible = [p.delay(f, 2).value for f in feasible]
        self._count = len(objectives)

    def above(self, k: int, i: int) -> Value:
        """Return whether candidate ``k`` is feasible and candidate ``i`` is infeasible or has a lower objective."""
        return self._above[k, i]

    def wins_or_ties(self, k: int) -> Value:
        """Return whether candidate ``k`` is feasible and no feasible candidate is above it."""
        others = (self._at_least[k, i] for i in range(self._count) if i != k)
        return self._feasible[k] & Cat(*others).all()

    def wins(self, k: int) -> Value:
        """Return whether candidate ``k`` has the lowest index of those that win or tie."""
        before = (self._above[k, i] for i in range(k))
        after = (self._at_least[k, i] for i in range(k + 1, self._count))
        return self._feasible[k] & Cat(*before, *after).all()


@dataclass(frozen=True)
class Choice:
    """The best candidate of a state, at the input of the output register of a stage.

    Attributes
    ----------
    value
        Its objective, saturated to signed 64 bits; ``-2**63`` if no candidate is feasible.
    index
        Its index.
    none
        Whether no candidate is feasible.
    outside
        Whether ``value`` was saturated.
    """

    value: Value
    index: Value
    none: Value
    outside: Value


def clamped(objective: Value) -> tuple[Value, Value]:
    """Return ``objective``, signed 65 bits, saturated to signed 64 bits, and whether it was outside of their range."""
    outside = objective[-1] ^ objective[-2]
    bound = Mux(objective[-1], MINIMUM, MAXIMUM).as_signed()
    return Mux(outside, bound, objective[:WIDTH].as_signed()), outside


def choose(p: Pipeline, order: Order, objectives: list[Timed], place: Timed) -> Choice:
    """Select the best candidate, one clock after ``order``.

    Parameters
    ----------
    p
        Pipeline to which the selection is added.
    order
        Comparisons of the objectives.
    objectives
        At most four objectives, signed 65 bits, of candidates with consecutive indices.
    place
        Index of the first candidate, with the time of ``order``.
    """
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
