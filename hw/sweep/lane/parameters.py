"""Sizes, clocks and ports of a lane."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.utility import CONSTANTS
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.combine import CombineParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.row_buses import BankPort, RowBusesParameters, RowPort
from beltline.hw.sweep.walk.parameters import WalkParameters

SHIFT_CLOCKS = 3
"""Clocks that the shifts take between a result and its value."""

MOST_SHIFT = 1
"""A sweep in which all choices but one in ``2**MOST_SHIFT`` have moved is followed by one that checks none: what a
check saves is less than what it takes when the busiest walker has nearly all of its states to walk anyway."""

CONTEXTS = 64
"""Walkers of a lane: as many as an evaluation and what is decided from it take clocks, nearly."""


@dataclass(frozen=True)
class LaneParameters:
    """A lane: :mod:`beltline.hw.sweep.check`, :mod:`beltline.hw.sweep.walk.walk` and :mod:`beltline.hw.sweep.patch`
    over its own memories.

    A sweep is a check of all states; where some have lost their choice, a walk over these, and then new expectations
    for their points. Where there are no choices yet, or nearly all of them moved in the sweep before, nothing is
    checked, and all states are walked. A prologue makes the expectations of all points. The lane reads the expected
    values of one half of its memory (and other lanes read them there), and writes new ones to the other half.

    Parameters
    ----------
    build
        Of the engine.
    """

    build: SweepParameters

    @property
    def walk(self) -> WalkParameters:
        return WalkParameters(self.build, max(CONTEXTS, 1 << self.build.state_bits))

    @property
    def expectation(self) -> ExpectationParameters:
        return ExpectationParameters(self.build.states, self.build.multiplier)

    @property
    def combine(self) -> CombineParameters:
        """Of a build with alternatives."""
        return CombineParameters(self.build.states)

    @property
    def buses(self) -> RowBusesParameters:
        return RowBusesParameters(self.build, self.build.inner_bits)

    @property
    def ports(self) -> dict[str, wiring.Member]:
        """Of :class:`beltline.hw.sweep.lane.lane.Lane`."""
        build = self.build
        return {
            **CONSTANTS,
            "points": In(build.point_bits + 1),
            "count": In(build.position_bits + 1),
            "states": In(5),
            "last_index": In(build.index_bits),
            "first_point": In(build.index_bits),
            "part_shift": In(range(build.point_bits + 1)),
            "weight_write": In(WORD_BYTES),
            "weight_row": In(build.state_bits),
            "weight_column": In(build.state_bits),
            "x_write": In(WORD_BYTES),
            "wealth_write": In(WORD_BYTES),
            "value_write": In(WORD_BYTES),
            "write_address": In(build.position_bits),
            "data": In(WIDTH),
            "read_address": In(build.position_bits),
            "read_wealth": In(1),
            "read_policy": In(1),
            "word": Out(WIDTH),
            "go": In(1),
            "prologue": In(1),
            "cold": In(1),
            "fixed": In(1),
            "seek": In(1),
            "above": In(1),
            "half": In(1),
            "done": Out(1, init=1),
            "norm": Out(WIDTH),
            "shift_after": In(build.states * WIDTH),
            "shift_before": In(build.states * WIDTH),
            "sample_place": In(build.position_bits),
            "refers": In(1),
            "sample_valid": Out(1),
            "sample_state": Out(build.state_bits),
            "sample": Out(signed(WIDTH)),
            "retired": Out(1),
            "saturated": Out(1),
            "infeasible": Out(1),
            "other": Out(1),
            "fetch": Out(RowPort(build.row_bits, self.buses.inner_bits)),
            "bank": In(BankPort(self.buses.address_bits)),
            **(self._of_proof() if build.proof else {}),
            **({name: In(build.states) for name in ("begins", "ends", "keeps")} if build.alternatives else {}),
        }

    def _of_proof(self) -> dict[str, wiring.Member]:
        choices = self.build.index_bits << self.build.state_bits
        return {
            **{name: In(1) for name in ("values", "round", "finish", "divide", "odd")},
            "point_shift": In(range(self.build.point_bits + 1)),
            **{name: In(choices) for name in ("lower_last", "upper_first")},
            **{name: Out(choices) for name in ("first", "last")},
            **{name: Out(1) for name in ("met", "better", "crossed")},
        }

    @property
    def settle(self) -> int:
        """Clocks after which a state's value has come to the expectation unit and its point's expectations to rest.

        They count from the check's result, or from the state's read in a patch.
        """
        combines = self.combine.latency if self.build.alternatives else 0
        return max(READ_LATENCY, SHIFT_CLOCKS) + 1 + combines + self.expectation.latency + self.build.states + 2

    @property
    def cells(self) -> int:
        """States of the lane."""
        return self.build.grid // self.build.lanes * self.build.states

    @property
    def rows(self) -> int:
        """Rows of the lane's memory: two halves of expected values, then the grid, or the costs of each state."""
        build = self.build
        return ((2 << build.state_bits) + (build.states if build.costs else 1)) << build.local_bits
