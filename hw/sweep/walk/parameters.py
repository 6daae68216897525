"""Sizes, clocks and words of a walk, which all its units share."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Const, Value
from amaranth.lib import data

from beltline.hw.arithmetic.decision import ORDER_CLOCKS
from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import SweepParameters

MARKS = 16
"""States whose marks are one word."""

MARK_BITS = MARKS.bit_length() - 1

AHEAD_ROWS = 64
"""Halves of rows that wait for their turn on the bus."""

DECAY = 3
"""A walk is expected to move a choice by ``1 - 2**-DECAY`` of what the one before moved it."""

NUMBER_BITS = 8
"""Bits of the number of a request, which is counted round and round: more requests than are ever under way."""

PROBED, FOUND = 1, 2
"""Clocks from the start of a turn until it is known which candidate is next, and whether its words are here."""

OPERANDS = FOUND + 1 + READ_LATENCY + 1
"""Clocks from the start of a turn to the operands of the evaluator."""

GUESS_CLOCKS = 3
"""Clocks in which the guess of the next state is made, before a turn's decision."""

PROBE = data.StructLayout({"u": WIDTH, "feasible": 1})
"""A candidate: its utility, feasible or not."""

_EXPONENT_BITS = 4


@dataclass(frozen=True)
class WalkParameters:
    """Climbs from a guess to the peak of ``O_i = U(W - X_i) + EV_i`` for every state that is marked.

    A lane's states are shared out among ``contexts`` walkers: of the bits of a walker's number, the low ones are the
    exogenous state, the others a part of the lane's points, in which the walker goes upwards. All walkers go round in a
    ring of ``clocks`` clocks, in which one evaluator makes one objective for each of them. A walker's guess is its
    state's last choice, moved by as much as that of the state before it moved; of its first state, by seven eighths of
    what the first one moved in the walk before, for moves die away from sweep to sweep. From there it steps up, then
    down, doubling its step while that helps, halving one that leads off the grid, until the objectives of both
    neighbours are known not to be better; which takes three evaluations where the guess is right and four where it is
    next to it. The lowest of equals wins.

    Parameters
    ----------
    build
        Of the engine.
    contexts
        Walkers: a power of two, at least the exogenous states of the build, rounded up to one.
    """

    build: SweepParameters
    contexts: int = 64

    def __post_init__(self) -> None:
        if self.contexts & (self.contexts - 1) or self.contexts < 1 << self.build.state_bits:
            raise ValueError(
                f"contexts must be a power of two of at least {1 << self.build.state_bits}, not {self.contexts}"
            )

    @property
    def context_bits(self) -> int:
        """Bits of the number of a walker."""
        return self.contexts.bit_length() - 1

    @property
    def part_bits(self) -> int:
        """Bits of the number of a part of the points."""
        return self.context_bits - self.build.state_bits

    @property
    def loaded(self) -> int:
        """Clocks from the start of a walker's turn until its next state has been looked for, and its choice read."""
        build = self.build
        point, state = Timed(Const(0, build.point_bits), READ_LATENCY + 2), Timed(Const(0, build.state_bits), 0)
        states = Const(0, build.state_bits + 1)
        position = position_of(Pipeline(multiplier=build.multiplier), build, point, states, state)
        return position.time + READ_LATENCY

    @property
    def evaluated(self) -> int:
        """Clocks from the start of a walker's turn to the objective of its candidate."""
        return OPERANDS + EvaluatorParameters(self.build.multiplier).latency

    @property
    def decided(self) -> int:
        """Clocks from the start of a walker's turn to what is decided of it."""
        return self.evaluated + max(ORDER_CLOCKS, 2)

    @property
    def guessed(self) -> int:
        """Clocks from the start of a walker's turn until the guess of its next state begins to be made."""
        return self.decided - GUESS_CLOCKS

    @property
    def clocks(self) -> int:
        """Clocks of a turn of the ring."""
        return max(self.contexts, self.decided + 1)

    @property
    def index_bits(self) -> int:
        """Bits of a walker's candidate, and of a move: one more than those of a grid index."""
        return self.build.index_bits + 1

    @property
    def walked_bits(self) -> int:
        """Bits of the point from which a walker looks for its next state, one behind the last one included."""
        return max(self.build.point_bits, self.part_bits, MARK_BITS) + 1

    @property
    def item(self) -> data.StructLayout:
        """A state: its choice before the walk, and its number in the lane."""
        return data.StructLayout({"choice": self.build.index_bits, "position": self.build.position_bits})

    @property
    def walker(self) -> data.StructLayout:
        """What goes round with a walker."""
        tag = self.build.row_bits + 1
        return data.StructLayout(
            {
                # The state, and the best candidate so far; its neighbours, where they are known, are not better.
                "active": 1,
                "item": self.item,
                "index": self.index_bits,
                "objective": OBJECTIVE_BITS,
                "here": PROBE,
                "below": PROBE,
                "above": PROBE,
                "below_known": 1,
                "above_known": 1,
                # The next probe: the guess itself, or 2**exponent below or above; the last one was better, with
                # `streak`.
                "first": 1,
                "down": 1,
                "exponent": _EXPONENT_BITS,
                "streak": 1,
                # A probe was not on the grid, and the step has been halved since; a state of this walk was found.
                "shrinks": 1,
                "begun": 1,
                # It has nothing to do any more.
                "over": 1,
                # By how far the last state moved; the state that waits; the point from which to look for one more.
                "shift": self.index_bits,
                "waiting": 1,
                "next": self.item,
                "point": self.walked_bits,
                # The lower and the upper half of a row that were asked for last, with a bit above for any; what number
                # they had; they came.
                "row0": tag,
                "row1": tag,
                "number0": NUMBER_BITS,
                "number1": NUMBER_BITS,
                "have0": 1,
                "have1": 1,
            }
        )


def position_of(p: Pipeline, build: SweepParameters, point: Timed, states: Value, state: Timed) -> Timed:
    """The number of a state in its lane: ``point`` times the ``states`` of a point, and the exogenous ``state``."""
    product = p.total(p.products(point, p.input(states, point.time)), build.position_bits)
    return p.compute(lambda a, b: (a + b)[: build.position_bits], product, p.delay(state, product.time - state.time))
