"""Parameters of a build of the machine. Everything else about a problem is written at run time."""

from __future__ import annotations

import enum
from dataclasses import dataclass, fields
from numbers import Integral

from beltline.hw.interface.registers import GENERAL_ENGINE, Engine

CLOCK_HZ = 250_000_000
"""Clock in Hz by which reports convert clocks to time: the target of the boards the machine is meant for.

Such times are modelled, not measured, until a build closes timing at this clock.
"""

GRID_LIMIT = 65_536
"""Largest grid of any build."""

STATES_LIMIT = 16
"""Largest number of exogenous states of a build with a multiplier of the expectation for each of them."""

GENERAL_STATES = (8, 128)
"""Fewest and most exogenous states of a general build, whose expectation takes its multipliers in turn."""

RESULTS_LIMIT = 2**24
"""Largest number of words in a build's value memory."""

BUS_WIDTHS = (64, 128, 256, 512)
"""Permitted widths of the tables' bus, in bits."""

FOLD_LIMIT = 15
"""Largest number of stages that one physical stage can serve: all stages of the largest build."""

EVALUATORS = (1, 2, 4)
"""Permitted numbers of evaluators in a physical stage."""

LANES_LIMIT = 256
"""Largest number of lanes of a sweep engine."""

ROW_WORDS = 8
"""Words of a row: neighbouring grid points in one exogenous state. Lanes read each other's tables by rows."""

SLOTS = 4
"""Lanes that share a row bus: clocks from one turn of a lane on its bus to the next.

A lane learns 3 clocks after its turn whether its request was taken, so it could not use a turn that comes earlier.
"""


def _power_of_two(number: int, least: int, most: int) -> bool:
    return number & (number - 1) == 0 and least <= number <= most


def check_lanes(lanes: int, grid: int) -> None:
    """Raise ``ValueError`` if a sweep engine cannot have this number of lanes, or this grid with them."""
    if not _power_of_two(lanes, 1, LANES_LIMIT):
        raise ValueError(f"lanes of a build must be a power of two from 1 to {LANES_LIMIT}, not {lanes}")
    least = ROW_WORDS * lanes
    if not _power_of_two(grid, least, GRID_LIMIT):
        raise ValueError(
            f"grid of a build with {lanes} lanes must be a power of two from {least} to {GRID_LIMIT}, not {grid}"
        )


def check_states(states: int, general: bool) -> None:
    """Raise ``ValueError`` if no build, or no general one, has this number of exogenous states."""
    least, most = GENERAL_STATES if general else (1, STATES_LIMIT)
    if not least <= states <= most:
        of = "a general build" if general else "a build"
        raise ValueError(f"states of {of} must be from {least} to {most}, not {states}")


class Multiplier(enum.Enum):
    """Multiplier of a chip, as the widths in bits of its unsigned operands. Larger products are built from several.

    Products do not depend on it; the latency of a datapath may.
    """

    DSP48E2 = (26, 17)
    """UltraScale and UltraScale+: 27 x 18 signed."""

    DSP48E1 = (24, 17)
    """7-series: 25 x 18 signed."""

    MULT18X18D = (17, 17)
    """ECP5: 18 x 18 signed."""

    @property
    def cascades(self) -> bool:
        """Whether each multiplier has an adder behind it, which adds the sum of the multiplier before it."""
        return self is not Multiplier.MULT18X18D

    @property
    def wide_luts(self) -> bool:
        """Whether the chip's LUTs have six inputs, not four.

        One is then a four-to-one multiplexer, a bit of 64 words of RAM, or a shift register.
        """
        return self is not Multiplier.MULT18X18D

    @property
    def word(self) -> int:
        """Contents of register ``MULTIPLIER``."""
        return self.value[0] | self.value[1] << 8

    @classmethod
    def of(cls, word: int) -> Multiplier:
        """Return the multiplier for contents ``word`` of register ``MULTIPLIER``.

        Raises
        ------
        ValueError
            ``word`` is not that of any multiplier.
        """
        for multiplier in cls:
            if multiplier.word == word:
                return multiplier
        raise ValueError(f"MULTIPLIER must be one of {', '.join(str(m.word) for m in cls)}, not {word}")


@dataclass(frozen=True)
class MachineParameters:
    """Sizes and options of a build.

    Parameters
    ----------
    grid
        Largest number of grid points ``N_k``: a power of two from 4 to 65,536.
    states
        Largest number of exogenous states ``N_z``: 1 to 16, or 8 to 128 with ``general``.
    results
        Words of the value and policy memories, at least ``grid * states``; 0 (the default) stands for
        ``grid * states``. With more words a run with a horizon can store several ages.
    bus_bits
        Width of the tables' bus in bits: 64, 128, 256 or 512.
    clock_hz
        Clock for which the build is made, in Hz, which register ``CLOCK_HZ`` reports; 0 for none.
    fold
        Number of stages of the assembly line that one physical stage serves in turn, from 1 (the default) to 15. With
        ``index_bits - 1`` or more there is one physical stage.
    evaluators
        Evaluators of a physical stage: 4 (the default), 2 or 1. A stage has three candidates, the last one four. With
        4, a physical stage that does not serve the last stage has three evaluators only.
    multiplier
        The chip's multiplier.
    engine
        The assembly line (the default) or the sweep engine. For the sweep engine ``states`` must be a power of two,
        ``results`` must be ``grid * states``, and ``fold`` and ``evaluators`` must have their defaults.
    lanes
        Lanes of a sweep engine: a power of two from 1 to 256, with at least ``ROW_WORDS`` grid points each.
    general
        Whether a sweep engine solves the general form: a cost of each candidate in each exogenous state, alternatives
        and taste shocks, bounds of each choice, and linear utility. Such a build has no shifts.

    Raises
    ------
    ValueError
        A value has a wrong type, a size is out of range, or an option is set without one that it requires.
    """

    grid: int = GRID_LIMIT
    states: int = 4
    results: int = 0
    bus_bits: int = 64
    clock_hz: int = 0
    fold: int = 1
    evaluators: int = 4
    multiplier: Multiplier = Multiplier.DSP48E2
    engine: Engine = Engine.ASSEMBLY_LINE
    lanes: int = 1
    general: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        if not _power_of_two(self.grid, 4, GRID_LIMIT):
            raise ValueError(f"grid of a build must be a power of two from 4 to {GRID_LIMIT}, not {self.grid}")
        check_states(self.states, self.general)
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
        if not 1 <= self.fold <= FOLD_LIMIT:
            raise ValueError(f"fold of a build must be from 1 to {FOLD_LIMIT}, not {self.fold}")
        if self.evaluators not in EVALUATORS:
            raise ValueError(f"evaluators of a build must be 1, 2 or 4, not {self.evaluators}")
        if self.is_sweep:
            self._check_sweep()
        elif self.lanes != 1:
            raise ValueError(f"lanes of a build of the assembly line must be 1, not {self.lanes}")
        elif self.general:
            raise ValueError("general of a build must be False for the assembly line, whose search assumes one peak")

    def _check_types(self) -> None:
        wanted: dict[type, tuple[type, str]] = {
            int: (Integral, "a whole number"),
            bool: (bool, "True or False"),
            Multiplier: (Multiplier, "a Multiplier"),
            Engine: (Engine, "an Engine"),
        }
        for field in fields(self):
            value, (kind, words) = getattr(self, field.name), wanted[type(field.default)]
            if not isinstance(value, kind) or (kind is Integral and isinstance(value, bool)):
                raise ValueError(f"{field.name} of a build must be {words}, not {value!r}")

    def _check_sweep(self) -> None:
        check_lanes(self.lanes, self.grid)
        if self.states & (self.states - 1):
            raise ValueError(f"states of a build of the sweep engine must be a power of two, not {self.states}")
        if self.results != self.grid * self.states:
            raise ValueError(
                f"results of a build of the sweep engine must be grid * states = {self.grid * self.states}, "
                f"not {self.results}"
            )
        for name in ("fold", "evaluators"):
            if getattr(self, name) != getattr(type(self), name):
                raise ValueError(
                    f"{name} of a build of the sweep engine must be {getattr(type(self), name)}, "
                    f"not {getattr(self, name)}"
                )

    @property
    def is_sweep(self) -> bool:
        """Whether the engine is the sweep engine.

        It has lanes, and its tables consist of a block for each (:class:`beltline.hw.interface.layout.Layout`). It
        proves its choices, and stores the values of one age: a run with a horizon has one sweep. The assembly line
        stores those of every age, and the host fills its table ``X`` up to the build's grid.
        """
        return self.engine is Engine.SWEEP

    @property
    def shifts(self) -> bool:
        """Whether ``MODE`` can ask for shifts, policy evaluation sweeps and sweeps without a proof."""
        return self.is_sweep and not self.general

    @property
    def matrices(self) -> int:
        """Matrices in window ``Q``. The second one of a sweep engine has weights of shifts, or groups."""
        return 1 + self.is_sweep

    @property
    def reported(self) -> dict[str, int]:
        """Contents of the registers that describe the build, by name."""
        return {
            "ENGINE": GENERAL_ENGINE if self.general else int(self.engine),
            "LANES": self.lanes,
            "FOLD": self.fold,
            "EVALUATORS": self.evaluators if not self.is_sweep else 1,
            "CLOCK_HZ": self.clock_hz,
            "GRID_MAX": self.grid,
            "STATES_MAX": self.states,
            "RESULTS_MAX": self.results,
            "MULTIPLIER": self.multiplier.word,
        }

    @property
    def index_bits(self) -> int:
        """Bits ``p`` of a grid index."""
        return self.grid.bit_length() - 1

    @property
    def stages(self) -> int:
        """Number of stages of the assembly line, ``p - 1``."""
        return self.index_bits - 1

    @property
    def folded(self) -> bool:
        """Whether a state passes a physical stage more than once."""
        return self.fold > 1 or self.evaluators < 4
