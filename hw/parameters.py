"""What is fixed when a machine is built. Everything else is written at run time."""

from __future__ import annotations

from dataclasses import dataclass

GRID_LIMIT = 65_536
"""Largest grid of any build."""

STATES_LIMIT = 16
"""Largest number of exogenous states of any build."""

RESULTS_LIMIT = 2**24
"""Most words of a build's value memory."""

BUS_WIDTHS = (64, 128, 256, 512)
"""Widths of the tables' bus, in bits."""


@dataclass(frozen=True)
class MachineParameters:
    """Sizes of a build of the assembly line.

    Parameters
    ----------
    grid
        Largest ``N_k``: a power of two from 4 to 65,536.
    states
        Largest ``N_z``: 1 to 16.
    results
        Words of the value and policy memories, at least ``grid * states`` (the default). More of them let the
        finite-horizon mode keep several ages.
    bus_bits
        Width of the tables' bus: 64, 128, 256 or 512.
    clock_hz
        Clock that the build is made for, in Hz, which register ``CLOCK_HZ`` reports; 0 where there is none.

    Raises
    ------
    ValueError
        A size out of range.
    """

    grid: int = GRID_LIMIT
    states: int = 4
    results: int = 0
    bus_bits: int = 64
    clock_hz: int = 0

    def __post_init__(self) -> None:
        if self.grid & (self.grid - 1) or not 4 <= self.grid <= GRID_LIMIT:
            raise ValueError(f"grid of a build must be a power of two from 4 to {GRID_LIMIT}, not {self.grid}")
        if not 1 <= self.states <= STATES_LIMIT:
            raise ValueError(f"states of a build must be from 1 to {STATES_LIMIT}, not {self.states}")
        if self.results == 0:
            object.__setattr__(self, "results", self.grid * self.states)
        if self.results < self.grid * self.states:
            raise ValueError(
                f"results of a build must be at least grid * states = {self.grid * self.states}, not {self.results}"
            )
        if self.results > RESULTS_LIMIT:
            raise ValueError(f"results of a build must be at most {RESULTS_LIMIT}, not {self.results}")
        if self.bus_bits not in BUS_WIDTHS:
            raise ValueError(f"bus_bits of a build must be 64, 128, 256 or 512, not {self.bus_bits}")
        if not 0 <= self.clock_hz < 2**32:
            raise ValueError(f"clock_hz of a build must be from 0 to {2**32 - 1}, not {self.clock_hz}")

    @property
    def index_bits(self) -> int:
        """Bits ``p`` of a grid index."""
        return self.grid.bit_length() - 1

    @property
    def stages(self) -> int:
        """Stages of the line, ``p - 1``."""
        return self.index_bits - 1
