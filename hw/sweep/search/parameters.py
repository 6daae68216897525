"""Sizes, clocks and words of the local search, which all its units share."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Const, Module, Value
from amaranth.lib import data

from beltline.hw.arithmetic.decision import ORDER_CLOCKS
from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Timed
from beltline.hw.memory.ram import READ_LATENCY, delay_line
from beltline.hw.sweep.parameters import SweepParameters

MARKS = 16
"""Points whose marks, for one exogenous state, are in one word."""

MARK_BITS = MARKS.bit_length() - 1

AHEAD_ROWS = 64
"""Requests for half-rows that can wait for the lane's turn on the bus."""

DECAY = 3
"""The first choice of a search is expected to move by ``1 - 2**-DECAY`` of its move in the sweep before."""

NUMBER_BITS = 8
"""Bits of the number of a request, which counts modulo ``2**NUMBER_BITS``: more than requests ever in flight."""

PROBED, FOUND = 1, 2
"""Clocks from the start of a turn until its candidate is known, and until it is known whether the candidate's words
have arrived."""

OPERANDS = FOUND + 1 + READ_LATENCY + 1
"""Clocks from the start of a turn to the operands of the evaluator."""

GUESS_CLOCKS = 3
"""Clocks in which the guess of the next state is computed, just before the decision of a turn."""

PROBE = data.StructLayout({"u": WIDTH, "feasible": 1})
"""A candidate: its utility, and whether it is feasible."""

_EXPONENT_BITS = 4


@dataclass(frozen=True)
class SearchParameters:
    """Parameters of the local search: from a guess to the peak of ``O_i = U(W - X_i) + EV_i`` for every marked state.

    A lane's states are divided among ``contexts`` searches. The low bits of a search's number
    are its exogenous state; the other bits select a part of the lane's points, through which it proceeds upwards. The
    searches circulate in a ring of ``clocks`` clocks, and one evaluator computes one objective for each of them in a
    loop.

    A search guesses that a choice moves as far as that of the state before it; for its first state, seven eighths of
    what the first one moved in the sweep before, because moves become smaller from sweep to sweep. From the guess it
    steps upwards, then downwards. A step is doubled while it succeeds, and halved if it leads off the grid, until the
    objectives of both neighbours are known not to be better. That takes three evaluations if the guess is right, and
    four if it is off by one. Of equal candidates the lowest wins.

    Parameters
    ----------
    build
        Sizes of the engine.
    contexts
        Number of searches: a power of two, at least the number of exogenous states of the build.

    Raises
    ------
    ValueError
        ``contexts`` is not such a number.
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
        """Bits of the number of a search."""
        return self.contexts.bit_length() - 1

    @property
    def part_bits(self) -> int:
        """Bits of the number of a part of the points."""
        return self.context_bits - self.build.state_bits

    @property
    def loaded(self) -> int:
        """Clocks from the start of a turn until the search's next state is found, and its stored choice read."""
        build = self.build
        point, state = Timed(Const(0, build.point_bits), READ_LATENCY + 2), Timed(Const(0, build.state_bits), 0)
        states = Const(0, build.state_bits + 1)
        position = position_of(Pipeline(multiplier=build.multiplier), build, point, states, state)
        return position.time + READ_LATENCY

    @property
    def evaluated(self) -> int:
        """Clocks from the start of a turn to the objective of the candidate."""
        return OPERANDS + EvaluatorParameters(self.build.multiplier).latency

    @property
    def decided(self) -> int:
        """Clocks from the start of a turn to its decision."""
        return self.evaluated + max(ORDER_CLOCKS, 2)

    @property
    def guessed(self) -> int:
        """Clocks from the start of a turn until the guess of the next state begins to be computed."""
        return self.decided - GUESS_CLOCKS

    @property
    def joined(self) -> int:
        """Clocks from the start of a turn until the search takes its next state.

        In a RAM it waits as it was sent; in registers it waits with its next state, which takes fewer of them.
        """
        return self.guessed if self.build.multiplier.wide_luts else self.loaded

    @property
    def clocks(self) -> int:
        """Clocks from one turn of a search to its next one: the length of the ring."""
        return max(self.contexts, self.decided + 1)

    @property
    def index_bits(self) -> int:
        """Bits of a search's candidate, and of a move: one more than those of a grid index."""
        return self.build.index_bits + 1

    @property
    def searched_bits(self) -> int:
        """Bits of the point from which a search looks for its next state, up to one past the last point."""
        return max(self.build.point_bits, self.part_bits, MARK_BITS) + 1

    @property
    def item(self) -> data.StructLayout:
        """A state: its choice before the search, its number in the lane, and in a general build its candidates."""
        bits = self.build.index_bits
        cut = {"least": bits, "most": bits} if self.build.general else {}
        return data.StructLayout({"choice": bits, "position": self.build.position_bits, **cut})

    @property
    def search(self) -> data.StructLayout:
        """The record of a search, which circulates in the ring."""
        tag = self.build.row_bits + 1
        return data.StructLayout(
            {
                # The state, the best candidate so far, and its neighbours, which are not better where known.
                "active": 1,
                "item": self.item,
                "index": self.index_bits,
                "objective": OBJECTIVE_BITS,
                "here": PROBE,
                "below": PROBE,
                "above": PROBE,
                "below_known": 1,
                "above_known": 1,
                # The next candidate: the guess itself (`first`), or 2**exponent below or above. With `streak`, the
                # last candidate was better.
                "first": 1,
                "down": 1,
                "exponent": _EXPONENT_BITS,
                "streak": 1,
                # `shrinks`: a step led off the grid, and is halved. `begun`: a state of this pass is finished.
                "shrinks": 1,
                "begun": 1,
                # The search has no state, none waits, and none is left.
                "over": 1,
                # How far the last state moved; whether a state waits, and which; the next point to look at.
                "shift": self.index_bits,
                "waiting": 1,
                "next": self.item,
                "point": self.searched_bits,
                # Of the lower and the upper half-row requested last: the row, with a top bit if there is one; the
                # number of the request; whether it has arrived.
                "row0": tag,
                "row1": tag,
                "number0": NUMBER_BITS,
                "number1": NUMBER_BITS,
                "have0": 1,
                "have1": 1,
            }
        )


def position_of(p: Pipeline, build: SweepParameters, point: Timed, states: Value, state: Timed) -> Timed:
    """Compute the number of a state in its lane: ``point`` times ``states``, plus the exogenous ``state``."""
    product = p.total(p.products(point, p.input(states, point.time)), build.position_bits)
    return p.compute(lambda a, b: (a + b)[: build.position_bits], product, p.delay(state, product.time - state.time))


def delay_long(m: Module, p: Pipeline, build: SweepParameters, word: Timed, clocks: int) -> Timed:
    """Delay ``word`` by many clocks: in a RAM made of LUTs where they have six inputs, else in registers."""
    if not build.multiplier.wide_luts:
        return p.delay(word, clocks)
    return Timed(delay_line(m, word.value, len(word.value), clocks), word.time + clocks)
