"""What is fixed when a sweep engine is built."""

from __future__ import annotations

from dataclasses import dataclass

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.parameters import (
    GRID_LIMIT,
    ROW_WORDS,
    STATES_LIMIT,
    MachineParameters,
    Multiplier,
    check_lanes,
)
from beltline.hw.memory.ram import address_bits

ROW_SHIFT = ROW_WORDS.bit_length() - 1

ROW_BITS = ROW_WORDS * WIDTH

HALF_WORDS = ROW_WORDS // 2
"""Words of half a row, as a walk fetches them: of the grid and of expected values at once."""

HALF_SHIFT = ROW_SHIFT - 1

SLOTS = (4, 8)
"""Clocks between two turns of a lane on its bus. A lane knows after 3 clocks whether its request was taken."""

FEW_LANES = 16
"""Up to so many lanes a machine has a bus for every four of them."""


@dataclass(frozen=True)
class SweepParameters:
    """Sizes of a build of the sweep engine.

    Parameters
    ----------
    grid
        Largest ``N_k``: a power of two, at least ``ROW_WORDS`` a lane and at most 65,536.
    states
        Largest ``N_z``: 1 to 16.
    lanes
        A power of two from 1 to 256. Lane ``l`` has the grid points ``l 2**c`` to ``(l + 1) 2**c - 1`` of a problem,
        with ``2**c`` the least power of two, and at least ``ROW_WORDS``, for which the lanes hold the grid.
    slots
        Lanes that take turns on a bus, 4 or 8. A lane can fetch a row of ``ROW_WORDS`` words every ``slots`` clocks.
    multiplier
        What the chip multiplies with.
    proof
        Whether every sweep that maximises is proven: :mod:`beltline.hw.sweep.proof`.
    costs
        Whether rows have a cost ``G(x', s)`` for each exogenous state, in place of ``x'``; with ``proof`` only.
    alternatives
        Whether the maximum over groups of exogenous states is taken before the expectation
        (:mod:`beltline.hw.sweep.combine`); with ``costs`` and at least 2 ``states`` only. There are no shifts then.

    Raises
    ------
    ValueError
        A size out of range.
    """

    grid: int = GRID_LIMIT
    states: int = 4
    lanes: int = 64
    slots: int = ROW_WORDS
    multiplier: Multiplier = Multiplier.DSP48E2
    proof: bool = False
    costs: bool = False
    alternatives: bool = False

    def __post_init__(self) -> None:
        check_lanes(self.lanes, self.grid)
        if not 1 <= self.states <= STATES_LIMIT:
            raise ValueError(f"states of a build must be from 1 to {STATES_LIMIT}, not {self.states}")
        if self.slots not in SLOTS:
            raise ValueError(f"slots of a build must be 4 or 8, not {self.slots}")
        if self.costs and not self.proof:
            raise ValueError("costs of a build must be False without proof")
        if self.alternatives and not (self.costs and self.states > 1):
            raise ValueError("alternatives of a build must be False without costs, or with 1 state")

    @classmethod
    def of(cls, machine: MachineParameters) -> SweepParameters:
        """The sweep engine of a machine."""
        slots = SLOTS[0] if machine.lanes <= FEW_LANES else SLOTS[1]
        sizes = machine.grid, machine.states, machine.lanes, slots
        return cls(*sizes, machine.multiplier, machine.proof, machine.costs, machine.alternatives)

    @property
    def index_bits(self) -> int:
        """Bits of a grid index."""
        return self.grid.bit_length() - 1

    @property
    def row_bits(self) -> int:
        """Bits of the number of a row, ``index // ROW_WORDS``."""
        return self.index_bits - ROW_SHIFT

    @property
    def lane_bits(self) -> int:
        return self.lanes.bit_length() - 1

    @property
    def local_bits(self) -> int:
        """Bits of the number of a row in its lane."""
        return self.row_bits - self.lane_bits

    @property
    def state_bits(self) -> int:
        """Bits of an exogenous index, at least one."""
        return max(1, (self.states - 1).bit_length())

    @property
    def cost_bits(self) -> int:
        """Bits of the exogenous index in an address of window ``X``, below the point."""
        return (self.states - 1).bit_length() if self.costs else 0

    @property
    def inner_bits(self) -> int:
        """Bits of what is asked of a row: the exogenous state, then which half a walk asks for, and whether it asks."""
        return self.state_bits + 2

    @property
    def point_bits(self) -> int:
        """Bits of the number of a point in its lane."""
        return self.local_bits + ROW_SHIFT

    @property
    def position_bits(self) -> int:
        """Bits of the number of a state in its lane, the point times the problem's ``N_z`` and the state."""
        return address_bits(self.grid // self.lanes * self.states)

    @property
    def buses(self) -> int:
        return -(-self.lanes // self.slots)

    def local_rows(self, grid: int) -> int:
        """Rows a lane of a problem of so many grid points, as a power of two; also what says whose a row is."""
        rows = 1
        while ROW_WORDS * rows * self.lanes < grid:
            rows *= 2
        return rows
