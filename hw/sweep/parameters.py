"""Sizes and options of a build of the sweep engine."""

from __future__ import annotations

from dataclasses import dataclass

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.parameters import (
    GRID_LIMIT,
    ROW_WORDS,
    SLOTS,
    MachineParameters,
    Multiplier,
    check_lanes,
    check_states,
)
from beltline.hw.memory.ram import address_bits

ROW_SHIFT = ROW_WORDS.bit_length() - 1
"""``log2`` of ``ROW_WORDS``: grid point ``i`` is in row ``i >> ROW_SHIFT``."""

ROW_BITS = ROW_WORDS * WIDTH
"""Bits of a row."""

HALF_WORDS = ROW_WORDS // 2
"""Grid points of a half-row. A local search fetches the grid and the expected values of a half-row in one request."""

HALF_SHIFT = ROW_SHIFT - 1
"""``log2`` of ``HALF_WORDS``: grid point ``i`` is in half-row ``i >> HALF_SHIFT``."""

MULTIPLIERS = 4
"""Multipliers that the expectation of a general build takes in turn, each for a quarter of the exogenous states."""

SHARED_STATES = 4
"""Most exogenous states for each lane with which lanes share the brackets at the ends of the grid, in a general build
(:mod:`beltline.hw.sweep.scan.share`): each lane then has at most twice as many of these."""


@dataclass(frozen=True)
class SweepParameters:
    """Sizes of a build of the sweep engine.

    Parameters
    ----------
    grid
        Largest number of grid points ``N_k``: a power of two, at least ``ROW_WORDS * lanes`` and at most 65,536.
    states
        Largest number of exogenous states ``N_z``: 1 to 16, or 8 to 128 with ``general``.
    lanes
        Number of lanes: a power of two from 1 to 256. Lane ``l`` has the grid points ``l 2**c`` to
        ``(l + 1) 2**c - 1`` of a problem. ``2**c`` is the least power of two, and at least ``ROW_WORDS``, with which
        the lanes hold the whole grid.
    multiplier
        The chip's multiplier.
    general
        Whether the build solves the general form. Window ``X`` then has a cost ``G(x', s)`` for each candidate and
        exogenous state, in place of the grid ``x'``, and a lowest and a highest candidate of each state
        (:mod:`beltline.hw.interface.bounds`); the log-sum over each group of exogenous states is taken before the
        expectation (:mod:`beltline.hw.sweep.taste`), whose multipliers take turns (:mod:`beltline.hw.sweep.turns`);
        and there are no shifts.

    Raises
    ------
    ValueError
        A size is out of range.
    """

    grid: int = GRID_LIMIT
    states: int = 4
    lanes: int = 64
    multiplier: Multiplier = Multiplier.DSP48E2
    general: bool = False

    def __post_init__(self) -> None:
        check_lanes(self.lanes, self.grid)
        check_states(self.states, self.general)

    @classmethod
    def of(cls, machine: MachineParameters) -> SweepParameters:
        """Return the sizes of the sweep engine of ``machine``."""
        return cls(machine.grid, machine.states, machine.lanes, machine.multiplier, machine.general)

    @property
    def index_bits(self) -> int:
        """Bits of a grid index."""
        return self.grid.bit_length() - 1

    @property
    def row_bits(self) -> int:
        """Bits of a row number, ``index // ROW_WORDS``."""
        return self.index_bits - ROW_SHIFT

    @property
    def count_bits(self) -> int:
        """Bits of a number of exogenous states, at least 5."""
        return max(5, self.states.bit_length())

    @property
    def turn_bits(self) -> int:
        """Bits of a turn of the expectation's multipliers, of a general build."""
        return (self.states // MULTIPLIERS - 1).bit_length()

    def turns(self, states: int) -> int:
        """Return the turns of the expectation's multipliers for a problem with ``states`` exogenous states."""
        return -(-states // MULTIPLIERS) if self.general else 1

    @property
    def lane_bits(self) -> int:
        """Bits of a lane number, 0 for one lane."""
        return self.lanes.bit_length() - 1

    @property
    def local_bits(self) -> int:
        """Bits of a row number within its lane."""
        return self.row_bits - self.lane_bits

    @property
    def state_bits(self) -> int:
        """Bits of the number of an exogenous state, at least 1."""
        return max(1, (self.states - 1).bit_length())

    @property
    def cost_bits(self) -> int:
        """Bits of the exogenous state in a word address of window ``X``, below those of the point; 0 for a grid."""
        return (self.states - 1).bit_length() if self.general else 0

    @property
    def inner_bits(self) -> int:
        """Bits that say what is requested of a row.

        From the lowest bit on: the exogenous state; which half-row, 1 for the upper; and whether the request is for a
        half-row of both tables, as from local search and scan, and not for a row of expected values.
        """
        return self.state_bits + 2

    @property
    def point_bits(self) -> int:
        """Bits of a point number within its lane."""
        return self.local_bits + ROW_SHIFT

    @property
    def position_bits(self) -> int:
        """Bits of a state's position within its lane: ``point * N_z + s``, with the problem's ``N_z``."""
        return address_bits(self.grid // self.lanes * self.states)

    @property
    def buses(self) -> int:
        """Number of row buses."""
        return -(-self.lanes // SLOTS)

    def local_rows(self, grid: int) -> int:
        """Return the number of rows in each lane of a problem with ``grid`` points, a power of two.

        Row ``r`` of the problem is in lane ``r // local_rows(grid)``.
        """
        rows = 1
        while ROW_WORDS * rows * self.lanes < grid:
            rows *= 2
        return rows
