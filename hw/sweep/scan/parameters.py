"""Kinds of proof rounds, and sizes and clocks of a lane's scan."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import signed
from amaranth.lib import data

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS, EvaluatorParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS, SHARED_STATES, SweepParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters
from beltline.hw.sweep.trees import join_clocks

ROUNDS = 4
"""Rounds over odd points, and as many over even ones, before a round of divide and conquer.

If local searches ended on the wrong peak in a block of points, a round repairs only the ends of that block. So long
blocks need divide and conquer."""

PERIOD = 2 * ROUNDS + 2
"""Rounds from one division to the next, of which the last two divide: first points of lanes, then all other points."""

LIMIT = 16 * PERIOD
"""Rounds after which a proof ends without success."""

AHEAD_STATES = 8
"""States whose choices may be read before the states ahead of them have requested all their candidates."""

AHEAD_HALVES = 8
"""Requests for half-rows that can wait for the lane's turn on the bus."""

AHEAD_JOBS = 32
"""Brackets between their last request and their result: more than are ever in flight."""

BRACKET_CLOCKS = READ_LATENCY + 3
"""Clocks from a state's addresses to its bracket, in a build that is not general."""

SHARED_JOBS = 2 * SHARED_STATES
"""Most shared brackets that a lane evaluates."""

SHARED_CLOCKS = 3
"""Registers on the way of a bracket to the lane that evaluates it, in addition to the tree that joins all lanes: in its
own lane, outside the lanes, and in the other lane."""

CONTEST_CLOCKS = 9
"""Clocks from the last objective of half a row to the best candidate of the bracket so far."""


def divides(number: int) -> bool:
    """Return whether round ``number`` is one of the two of divide and conquer."""
    return number % PERIOD >= PERIOD - 2


def parity_of(number: int) -> int:
    """Return 1 if round ``number`` is over odd points, and 0 if it is over even points.

    Of a round that divides: 1 if it is over the first points of lanes, and 0 if it is over all other points.
    """
    return int(number % PERIOD % 2 == 0)


def may_end(number: int) -> bool:
    """Return whether a proof ends if round ``number`` moves no choice.

    It does if the round before looked at the other half of the points.
    """
    return 0 < number % PERIOD < PERIOD - 2


@dataclass(frozen=True)
class ScanParameters:
    """Parameters of a scan: evaluates the brackets of a lane's states, and finds the lowest best candidate of each.

    In every clock it reads the choices of one state and of the points at a distance below and above it; the bracket
    reaches from the lowest to the highest of the three. It skips a state if check or local search has compared the
    whole bracket. The candidates of the others are fetched in half-rows over the lane's port to the row buses, and pass
    through the evaluator of the local search, ``HALF_WORDS`` clocks a half-row if the bus delivers that fast.

    Parameters
    ----------
    build
        Sizes of the engine.
    """

    build: SweepParameters

    @property
    def fetch(self) -> int:
        """Clocks from ``taken`` to the half-row."""
        return RowBusesParameters(self.build, self.build.inner_bits).latency - TAKEN_CLOCKS

    @property
    def evaluated(self) -> int:
        """Clocks from the half-row to the objective of its last candidate."""
        return HALF_WORDS + 1 + EvaluatorParameters(self.build.multiplier).latency

    @property
    def result_latency(self) -> int:
        """Clocks from ``taken`` of the last half-row of a bracket to its result."""
        return self.fetch + self.evaluated + CONTEST_CLOCKS + 1

    @property
    def bracket_clocks(self) -> int:
        """Clocks from a state's addresses to its bracket, which the bounds of its choice cut in a clock."""
        return BRACKET_CLOCKS + self.build.general

    @property
    def half_bits(self) -> int:
        """Bits of the number of a half-row."""
        return self.build.index_bits - HALF_SHIFT

    @property
    def state(self) -> data.StructLayout:
        """A state: its number in the lane, its point in the lane, its exogenous state."""
        build = self.build
        return data.StructLayout(
            {"position": build.position_bits, "point": build.point_bits, "state": build.state_bits}
        )

    @property
    def job(self) -> data.StructLayout:
        """A state (``of``), its choice (``own``), and its bracket from ``lo`` to ``hi``, both included."""
        bits = self.build.index_bits
        return data.StructLayout({"of": self.state, "own": bits, "lo": bits, "hi": bits})

    @property
    def shared_clocks(self) -> int:
        """Clocks from the one in which a state is read until its shared bracket arrives."""
        return self.bracket_clocks + SHARED_CLOCKS + join_clocks(self.build)

    @property
    def shared(self) -> data.StructLayout:
        """A bracket on its way to the lane that evaluates it, with its state's cash on hand."""
        bits = self.build.index_bits
        words = {"state": self.build.state_bits, "own": bits, "lo": bits, "hi": bits, "wealth": WIDTH}
        return data.StructLayout(words)

    @property
    def half(self) -> data.StructLayout:
        """A half-row of a bracket.

        ``number`` is its number on the grid, ``low`` and ``high`` are its first and last word in the bracket; ``first``
        and ``last`` say whether the bracket begins and ends with it. ``position`` and ``state`` are those of the
        bracket's state.
        """
        return data.StructLayout(
            {
                "number": self.half_bits,
                "low": HALF_SHIFT,
                "high": HALF_SHIFT,
                "first": 1,
                "last": 1,
                "position": self.build.position_bits,
                "state": self.build.state_bits,
            }
        )

    @property
    def candidate(self) -> data.StructLayout:
        """The best of some candidates: its objective, its number, and whether there is one."""
        return data.StructLayout({"objective": signed(OBJECTIVE_BITS), "index": self.build.index_bits, "able": 1})
