"""What is fixed when a machine is built. Everything else is written at run time."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from beltline.hw.interface.features import FEATURES, EngineFeatures
from beltline.hw.interface.registers import ALTERNATIVES_ENGINE, COSTS_ENGINE, PROVING_ENGINE, Engine

CLOCK_HZ = 250_000_000
"""The clock at which reports turn clocks into time: that of the boards the machine is meant for. A model, not a
measurement, until a build closes timing there."""

GRID_LIMIT = 65_536
"""Largest grid of any build."""

STATES_LIMIT = 16
"""Largest number of exogenous states of any build."""

RESULTS_LIMIT = 2**24
"""Most words of a build's value memory."""

BUS_WIDTHS = (64, 128, 256, 512)
"""Widths of the tables' bus, in bits."""

FOLD_LIMIT = 15
"""Most stages of the line that one physical stage can serve: all of the largest build."""

EVALUATORS = (1, 2, 4)
"""Evaluators of a physical stage."""

LANES_LIMIT = 256
"""Most lanes of a sweep engine. A VU47P holds 64 of the largest build."""

ROW_WORDS = 8
"""Words of a row, the unit in which lanes fetch tables of each other: neighbouring grid points of one state."""


def _power_of_two(number: int, least: int, most: int) -> bool:
    return number & (number - 1) == 0 and least <= number <= most


def check_lanes(lanes: int, grid: int) -> None:
    """Raise ``ValueError`` where a sweep engine cannot have so many lanes, or so few grid points for them."""
    if not _power_of_two(lanes, 1, LANES_LIMIT):
        raise ValueError(f"lanes of a build must be a power of two from 1 to {LANES_LIMIT}, not {lanes}")
    least = ROW_WORDS * lanes
    if not _power_of_two(grid, least, GRID_LIMIT):
        raise ValueError(
            f"grid of a build with {lanes} lanes must be a power of two from {least} to {GRID_LIMIT}, not {grid}"
        )


class Multiplier(enum.Enum):
    """What a chip's multipliers take, as unsigned operand widths: the tiles that products are cut into.

    The value of a product does not depend on it; the latency of a datapath may.
    """

    DSP48E2 = (26, 17)
    """UltraScale and UltraScale+: 27 x 18 signed."""

    DSP48E1 = (24, 17)
    """7-series: 25 x 18 signed."""

    MULT18X18D = (17, 17)
    """ECP5: 18 x 18 signed."""

    @property
    def word(self) -> int:
        """What register ``MULTIPLIER`` reads of it."""
        return self.value[0] | self.value[1] << 8

    @classmethod
    def of(cls, word: int) -> Multiplier:
        """The multiplier of which the register reads ``word``.

        Raises
        ------
        ValueError
            There is none.
        """
        for multiplier in cls:
            if multiplier.word == word:
                return multiplier
        raise ValueError(f"MULTIPLIER must be one of {', '.join(str(m.word) for m in cls)}, not {word}")


@dataclass(frozen=True)
class MachineParameters:
    """Sizes of a build.

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
    fold
        Stages of the line that one physical stage serves in turn: 1 (the default) for a physical stage each, up to 15;
        with ``index_bits - 1`` or more there is one physical stage.
    evaluators
        Evaluators of a physical stage: 4 (the default), 2 or 1. A stage has three candidates and the last one four.
        With 4, a physical stage that does not serve the last stage has only the three that it needs.
    multiplier
        What the chip multiplies with.
    engine
        The assembly line (the default), or the sweep engine: ``states`` is then 1, 2, 4, 8 or 16, ``results`` is
        ``grid * states``, and ``fold`` and ``evaluators`` are the defaults.
    lanes
        Of a sweep engine: a power of two from 1 to 256, with at least ``ROW_WORDS`` points of the grid each.
    proof
        Of a sweep engine: whether every sweep proves its choices.
    costs
        Of a sweep engine with ``proof``: whether a choice has a cost of its own in each exogenous state, ``G(x', s)``.
    alternatives
        Of a sweep engine with ``costs`` and at least 2 ``states``: whether it takes the maximum over groups of
        exogenous states before the expectation.

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
    fold: int = 1
    evaluators: int = 4
    multiplier: Multiplier = Multiplier.DSP48E2
    engine: Engine = Engine.ASSEMBLY_LINE
    lanes: int = 1
    proof: bool = False
    costs: bool = False
    alternatives: bool = False

    def __post_init__(self) -> None:
        if not _power_of_two(self.grid, 4, GRID_LIMIT):
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
        if not 1 <= self.fold <= FOLD_LIMIT:
            raise ValueError(f"fold of a build must be from 1 to {FOLD_LIMIT}, not {self.fold}")
        if self.evaluators not in EVALUATORS:
            raise ValueError(f"evaluators of a build must be 1, 2 or 4, not {self.evaluators}")
        if not isinstance(self.multiplier, Multiplier):
            raise ValueError(f"multiplier of a build must be a Multiplier, not {self.multiplier!r}")
        if not isinstance(self.engine, Engine):
            raise ValueError(f"engine of a build must be an Engine, not {self.engine!r}")
        if self.features.lanes:
            self._check_sweep()
        elif self.lanes != 1:
            raise ValueError(f"lanes of a build of the assembly line must be 1, not {self.lanes}")
        elif self.proof:
            raise ValueError("proof of a build must be False for the assembly line, whose search assumes one peak")
        if self.costs and not self.proof:
            raise ValueError(
                "costs of a build must be False without proof, because with costs objectives have many peaks"
            )
        if self.alternatives and not (self.costs and self.states > 1):
            raise ValueError(
                "alternatives of a build must be False without costs, or with 1 state, because each alternative has "
                "its own costs and its own state"
            )

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
    def features(self) -> EngineFeatures:
        """What the engine can do; a build that proves its choices does not look for other peaks."""
        features = FEATURES[self.engine]
        if not self.proof:
            return features
        features = replace(features, peaks=False, proofs=True, costs=self.costs)
        return replace(features, shifts=False, alternatives=True) if self.alternatives else features

    @property
    def reported(self) -> dict[str, int]:
        """What the registers of a build read that tell what it is, by their names."""
        return {
            "ENGINE": self._engine,
            "LANES": self.lanes,
            "FOLD": self.fold,
            "EVALUATORS": self.evaluators if self.features.folds else 1,
            "CLOCK_HZ": self.clock_hz,
            "GRID_MAX": self.grid,
            "STATES_MAX": self.states,
            "RESULTS_MAX": self.results,
            "MULTIPLIER": self.multiplier.word,
        }

    @property
    def _engine(self) -> int:
        """What register ``ENGINE`` reads."""
        if self.alternatives:
            return ALTERNATIVES_ENGINE
        return COSTS_ENGINE if self.costs else PROVING_ENGINE if self.proof else int(self.engine)

    @property
    def index_bits(self) -> int:
        """Bits ``p`` of a grid index."""
        return self.grid.bit_length() - 1

    @property
    def stages(self) -> int:
        """Stages of the line, ``p - 1``."""
        return self.index_bits - 1

    @property
    def folded(self) -> bool:
        """Whether a state needs a physical stage more than once."""
        return self.fold > 1 or self.evaluators < 4
