"""Rounds of a proof, and sizes and clocks of what a lane does in one."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import signed
from amaranth.lib import data

from beltline.hw.arithmetic.evaluator import OBJECTIVE_BITS, EvaluatorParameters
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import HALF_SHIFT, HALF_WORDS, SweepParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters

ROUNDS = 4
"""Rounds of odd points, and as many of even ones, after which choices that still move are found by divide and conquer.

A block of points whose walks ended on the wrong peak shrinks by two points in two rounds from its ends."""

PERIOD = 2 * ROUNDS + 1
"""Rounds of which the last one divides."""

LIMIT = 16 * PERIOD
"""Rounds after which nothing is proven."""

AHEAD_STATES = 8
"""States that are looked at before those ahead of them have asked for all their candidates."""

AHEAD_HALVES = 8
"""Halves of rows that wait for their turn on the bus."""

AHEAD_JOBS = 32
"""Brackets under way between their last request and their result: more than there ever are."""

BRACKET_CLOCKS = READ_LATENCY + 3
"""Clocks from a state's addresses to its bracket."""

CONTEST_CLOCKS = 9
"""Clocks from the last objective of half a row to the best of the bracket so far."""


def divides(number: int) -> bool:
    """Whether round ``number`` is one by divide and conquer."""
    return number % PERIOD == PERIOD - 1


def parity_of(number: int) -> int:
    """Whether round ``number`` looks at odd points."""
    return int(number % PERIOD % 2 == 0)


def may_end(number: int) -> bool:
    """Whether round ``number`` ends a proof where it moves no choice: another looked at the other points before."""
    return 0 < number % PERIOD < PERIOD - 1


@dataclass(frozen=True)
class ScanParameters:
    """Brackets of a lane's states, one after the other, and the lowest best candidate of each.

    A state a clock is looked at: its choice, and those of the points at a distance below and above it, give the bracket
    from the lowest to the highest of them. Where check and walk have compared all of it, it is passed over. The
    candidates of the others are fetched in halves of rows, over the lane's port to the buses, and go through its
    evaluator, ``HALF_WORDS`` clocks a half, where the port brings as many.

    Parameters
    ----------
    build
        Of the engine.
    """

    build: SweepParameters

    @property
    def fetch(self) -> int:
        """Clocks from ``taken`` to the half of a row."""
        return RowBusesParameters(self.build, self.build.inner_bits).latency - TAKEN_CLOCKS

    @property
    def evaluated(self) -> int:
        """Clocks from the half of a row to the objective of its last candidate."""
        return HALF_WORDS + 1 + EvaluatorParameters(self.build.multiplier).latency

    @property
    def behind(self) -> int:
        """Clocks from ``taken`` of the last half of a bracket to its result."""
        return self.fetch + self.evaluated + CONTEST_CLOCKS + 1

    @property
    def half_bits(self) -> int:
        """Bits of the number of half a row."""
        return self.build.index_bits - HALF_SHIFT

    @property
    def state(self) -> data.StructLayout:
        """A state: its number in the lane, its point there, its exogenous state."""
        build = self.build
        return data.StructLayout(
            {"position": build.position_bits, "point": build.point_bits, "state": build.state_bits}
        )

    @property
    def job(self) -> data.StructLayout:
        """A state, its choice, and its bracket."""
        bits = self.build.index_bits
        return data.StructLayout({"of": self.state, "own": bits, "lo": bits, "hi": bits})

    @property
    def half(self) -> data.StructLayout:
        """Half a row of a bracket: its number, and its first and its last word in the bracket, which begins or ends."""
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
