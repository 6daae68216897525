"""Sizes, latencies and ports of a lane."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.arithmetic.log_sum import CONSTANTS
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.utility import constant_ports
from beltline.hw.interface.bounds import USED_BYTES
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.row_buses import BankPort, RowBusesParameters, RowPort
from beltline.hw.sweep.scan.parameters import ScanParameters
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.taste import TasteParameters
from beltline.hw.sweep.turns import TurnsParameters

SHIFT_CLOCKS = 3
"""Clocks from a result of check or local search to its value, with its shift added."""

MOST_SHIFT = 1
"""If at least the fraction ``1 - 2**-MOST_SHIFT`` of a lane's choices moved, its next sweep has no check. The search
with the most states then has nearly all of them anyway, so a check would save less than it takes."""

CONTEXTS = 64
"""Searches that share a lane's evaluator: about as many as the clocks of an evaluation and of the decision after it."""


@dataclass(frozen=True)
class LaneParameters:
    """Parameters of a lane: check, local search and patch over memories of its own.

    The units are :mod:`beltline.hw.sweep.check`, :mod:`beltline.hw.sweep.search.local_search` and
    :mod:`beltline.hw.sweep.patch`.

    A sweep checks all states. If some fail, a local search finds their new choices, and a patch computes the expected
    values of their points again. If there are no stored choices yet, or at least half of them moved in the sweep
    before, all states are searched without a check. A prologue computes the expected values of all points. The lane and
    other lanes read expected values from one half of its row memory; new ones are written to the other half.

    Parameters
    ----------
    build
        Sizes of the engine.
    """

    build: SweepParameters

    @property
    def search(self) -> SearchParameters:
        """Parameters of the local search."""
        return SearchParameters(self.build, max(CONTEXTS, 1 << self.build.state_bits))

    @property
    def expectation(self) -> ExpectationParameters:
        """Parameters of the expectation unit."""
        return ExpectationParameters(self.build.states, self.build.multiplier)

    @property
    def turns(self) -> TurnsParameters:
        """Parameters of the expectation unit of a general build, which takes its multipliers in turn."""
        return TurnsParameters(self.build)

    @property
    def taste(self) -> TasteParameters:
        """Parameters of the log-sum over alternatives of a general build."""
        return TasteParameters(self.build.states, self.build.multiplier)

    @property
    def buses(self) -> RowBusesParameters:
        """Parameters of the row buses."""
        return RowBusesParameters(self.build, self.build.inner_bits)

    @property
    def ports(self) -> dict[str, wiring.Member]:
        """Ports of :class:`beltline.hw.sweep.lane.lane.Lane`, which describes them."""
        build = self.build
        return {
            **constant_ports(build.general),
            "points": In(build.point_bits + 1),
            "count": In(build.position_bits + 1),
            "states": In(build.count_bits),
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
            "half": In(1),
            "done": Out(1, init=1),
            "norm": Out(WIDTH),
            "shift_after": In(build.states * WIDTH),
            "shift_before": In(build.states * WIDTH),
            "sample_place": In(build.position_bits),
            "has_reference": In(1),
            "sample_valid": Out(1),
            "sample_state": Out(build.state_bits),
            "sample": Out(signed(WIDTH)),
            "retired": Out(1),
            "saturated": Out(1),
            "infeasible": Out(1),
            "fetch": Out(RowPort(build.row_bits, self.buses.inner_bits)),
            "bank": In(BankPort(self.buses.address_bits)),
            **self._of_proof(),
            **(self._of_groups() if build.general else {}),
        }

    def _of_proof(self) -> dict[str, wiring.Member]:
        """Return the ports of the proof of a sweep."""
        choices = self.build.index_bits << self.build.state_bits
        return {
            **{name: In(1) for name in ("values", "stored", "round", "finish", "divide", "odd")},
            "point_shift": In(range(self.build.point_bits + 1)),
            **{name: In(choices) for name in ("lower_last", "upper_first")},
            **{name: Out(choices) for name in ("first", "last")},
            **{name: Out(1) for name in ("met", "better", "crossed")},
        }

    def _of_groups(self) -> dict[str, wiring.Member]:
        """Return the ports that only a general build has."""
        choices = self.build.index_bits << self.build.state_bits
        bracket = ScanParameters(self.build).shared.size
        return {
            **{name: In(self.build.states) for name in ("begins", "ends", "keeps", "forced")},
            **{name: In(choices) for name in ("lowest", "highest")},
            **CONSTANTS,
            "bounds_write": In(USED_BYTES),
            **{name: In(1) for name in ("sharing", "confirmed", "given")},
            "sent": Out(1),
            "sent_bracket": Out(bracket),
            "given_bracket": In(bracket),
        }

    @property
    def settle(self) -> int:
        """Clocks to wait after a state's result, before the lane may be done (2 clocks later).

        They count from the result of the check, or from the clock in which the patch reads the state. In a general
        build they count from the last turn of the point's last expectation.

        When a lane is done, the sequencer decides a clock after the trees of :mod:`beltline.hw.sweep.trees`, and the
        next pass begins 3 clocks after them. So the flags of the last expected value, which the lane collects, are in
        time, and that value has been written before any lane reads it.
        """
        if self.build.general:
            return self.turns.depth + 3
        return max(READ_LATENCY, SHIFT_CLOCKS) + 1 + self.expectation.latency + self.build.states

    @property
    def to_turns(self) -> int:
        """Clocks from the one in which the patch reads a point's last state to the one before the first turn.

        Only for a general build.
        """
        return READ_LATENCY + 1 + self.taste.latency + 1

    @property
    def cells(self) -> int:
        """States that the tables of a lane hold."""
        return self.build.grid // self.build.lanes * self.build.states

    @property
    def rows(self) -> int:
        """Rows of the row memory: two halves of expected values, then the grid or each state's costs."""
        build = self.build
        return ((2 << build.state_bits) + (build.states if build.general else 1)) << build.local_bits
