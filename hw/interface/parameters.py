"""Parameters of a build of the machine. Everything else about a problem is written at run time."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from numbers import Integral

from beltline.hw.interface.features import FEATURES, EngineFeatures
from beltline.hw.interface.registers import (
    ALTERNATIVES_ENGINE,
    BOUNDS_BIT,
    COSTS_ENGINE,
    LINEAR_BIT,
    MIDPOINTS_ENGINE,
    OVERLAP_BIT,
    PRICES_ENGINE,
    PROVING_ENGINE,
    TASTE_ENGINE,
    Engine,
)

CLOCK_HZ = 250_000_000
"""Clock in Hz by which reports convert clocks to time: the target of the boards the machine is meant for.

Such times are modelled, not measured, until a build closes timing at this clock.
"""

GRID_LIMIT = 65_536
"""Largest grid of any build."""

STATES_LIMIT = 16
"""Largest number of exogenous states of a build with a multiplier of the expectation for each of them."""

TURNS_STATES_LIMIT = 128
"""Largest number of exogenous states of a build whose expectation takes its multipliers in turn."""

MULTIPLIERS_LIMIT = 64
"""Most multipliers that an expectation takes in turn."""

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

SLOTS = (4, 8)
"""Permitted clocks from one turn of a lane on its row bus to the next, which are also the lanes that share a bus.

The least is 4 because a lane learns 3 clocks after its turn whether its request was taken.
"""

FEW_LANES = 16
"""A machine with at most this number of lanes has one bus for every 4 lanes, a larger one has one for every 8, unless
its parameter ``slots`` is set."""


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


def check_states(states: int, multipliers: int) -> None:
    """Raise ``ValueError`` if no build has this number of exogenous states with these multipliers taken in turn."""
    limit = TURNS_STATES_LIMIT if multipliers else STATES_LIMIT
    if not 1 <= states <= limit:
        more = "" if multipliers else f", or with multipliers up to {TURNS_STATES_LIMIT}"
        raise ValueError(f"states of a build must be from 1 to {limit}{more}, not {states}")
    if multipliers and not _power_of_two(multipliers, 1, min(MULTIPLIERS_LIMIT, states - 1)):
        raise ValueError(
            f"multipliers of a build must be a power of two from 1 to {MULTIPLIERS_LIMIT} and below its {states} "
            f"states, not {multipliers}"
        )


def check_absent(name: str, reasons: Mapping[str, bool]) -> None:
    """Raise ``ValueError`` if no build can have option ``name``, for the first of ``reasons`` that holds."""
    for reason, holds in reasons.items():
        if holds:
            raise ValueError(f"{name} of a build must be False {reason}")


def taste_reasons(alternatives: bool, prices: bool, states: int) -> dict[str, bool]:
    """Return the reasons for which no build has taste shocks, and whether each holds."""
    few = f"with fewer than 4 states, here {states}"
    return {"without alternatives": not alternatives, "with prices": prices, few: states < 4}


def bounds_reasons(alternatives: bool, prices: bool, taste: bool) -> dict[str, bool]:
    """Return the reasons for which no build has bounds, and whether each holds. Bounds and taste were not tested
    together.
    """
    return {"without alternatives": not alternatives, "with prices": prices, "with taste": taste}


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
        Largest number of exogenous states ``N_z``: 1 to 16, and up to 128 with ``multipliers``.
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
    proof
        Whether a sweep engine proves the choices of its maximising sweeps (all, or some with ``Mode.SPARSE``).
    costs
        Whether a candidate has its own cost in each exogenous state, ``G(x', s)``. Requires ``proof``.
    alternatives
        Whether the maximum over groups of exogenous states is taken before the expectation. Requires ``costs`` and at
        least 2 ``states``.
    midpoints
        Whether a sweep engine's shifts follow from the smallest and the largest change of each exogenous state, which
        saves sweeps, and not from the change at the middle point of the grid. Excludes ``proof``.
    multipliers
        Multipliers of the expectation that are taken in turn, each for ``states / multipliers`` exogenous states: a
        power of two below ``states``. 0 (the default) for one multiplier for each exogenous state. Requires
        ``alternatives``.
    slots
        Lanes of a sweep engine that share a row bus, 4 or 8: a lane can fetch a row every ``slots`` clocks. 0 (the
        default) for 4 with up to ``FEW_LANES`` lanes, and 8 with more. No bit of a result depends on it.
    prices
        Whether a sweep engine computes the prices of bonds between sweeps, from the probability that they are paid.
        Requires ``multipliers``.
    taste
        Whether the alternatives may have taste shocks: the log-sum over groups of exogenous states takes the place of
        the maximum. Requires ``alternatives`` and at least 4 ``states``, and excludes ``prices``.
    bounds
        Whether each state of a sweep engine has a lowest and a highest candidate of its own. Requires ``alternatives``,
        and excludes ``prices``.
    overlap
        Whether a sweep engine computes the expected values of points during the local search of others, which saves
        clocks. No bit of a result depends on it. Excludes ``proof``.
    linear
        Whether a build with alternatives takes linear utility (``UtilityForm.LINEAR``). All that are generated do; a
        device that reports otherwise was generated by an earlier version. Other builds never do.

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
    proof: bool = False
    costs: bool = False
    alternatives: bool = False
    midpoints: bool = False
    multipliers: int = 0
    slots: int = 0
    prices: bool = False
    bounds: bool = False
    taste: bool = False
    linear: bool = True
    overlap: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        if not _power_of_two(self.grid, 4, GRID_LIMIT):
            raise ValueError(f"grid of a build must be a power of two from 4 to {GRID_LIMIT}, not {self.grid}")
        check_states(self.states, self.multipliers)
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
        if self.alternatives:
            own = "because each alternative has its own costs and its own state"
            check_absent(
                "alternatives", {f"without costs, {own}": not self.costs, f"with 1 state, {own}": self.states == 1}
            )
        for name in ("midpoints", "overlap"):
            if getattr(self, name):
                check_absent(name, {"for the assembly line": not self.features.lanes, "with proof": self.proof})
        if self.multipliers and not self.alternatives:
            raise ValueError(f"multipliers of a build must be 0 without alternatives, not {self.multipliers}")
        if self.prices and not self.multipliers:
            raise ValueError(
                "prices of a build must be False without multipliers, which compute them between two expectations"
            )
        if self.taste:
            check_absent("taste", taste_reasons(self.alternatives, self.prices, self.states))
        if self.bounds:
            check_absent("bounds", bounds_reasons(self.alternatives, self.prices, self.taste))
        if self.slots not in ((0, *SLOTS) if self.features.lanes else (0,)):
            raise ValueError(f"slots of a build must be 4, 8 or 0, and 0 for the assembly line, not {self.slots}")

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
    def features(self) -> EngineFeatures:
        """Features of the build's engine. A build with ``proof`` cannot look for other peaks."""
        features = FEATURES[self.engine]
        if not self.proof:
            return features
        features = replace(features, peaks=False, proofs=True, costs=self.costs)
        if not self.alternatives:
            return features
        kinds = {"prices": self.prices, "linear": self.linear, "bounds": self.bounds, "taste": self.taste}
        return replace(features, shifts=False, alternatives=True, **kinds)

    @property
    def reported(self) -> dict[str, int]:
        """Contents of the registers that describe the build, by name."""
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
        """Contents of register ``ENGINE``."""
        number = COSTS_ENGINE if self.costs else PROVING_ENGINE if self.proof else int(self.engine)
        if self.alternatives:
            number = TASTE_ENGINE if self.taste else PRICES_ENGINE if self.prices else ALTERNATIVES_ENGINE
        elif self.midpoints:
            number = MIDPOINTS_ENGINE
        flags = self.features.linear << LINEAR_BIT | self.features.bounds << BOUNDS_BIT | self.overlap << OVERLAP_BIT
        return number | self.multipliers << 8 | self.slots << 16 | flags

    @property
    def row_slots(self) -> int:
        """Lanes that share a row bus of a sweep engine, 4 or 8, also if ``slots`` is 0."""
        return self.slots or SLOTS[0 if self.lanes <= FEW_LANES else 1]

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
