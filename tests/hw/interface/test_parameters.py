"""Parameters of a build: what follows from them, and which are refused with which sentence."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from beltline.host.devices.base import built_sizes
from beltline.host.devices.software_model import ModelDevice
from beltline.hw.interface.parameters import STATES_LIMIT, MachineParameters, Multiplier
from beltline.hw.interface.registers import Engine
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters

SWEEP: dict[str, Any] = {"grid": 64, "states": 4, "engine": Engine.SWEEP, "lanes": 2}
PROOF = SWEEP | {"proof": True}
COSTS = PROOF | {"costs": True}
GENERAL = COSTS | {"alternatives": True}
TURNS = GENERAL | {"states": 32, "multipliers": 4}
STATES = "states of a build must be from 1 to 16, or with multipliers up to 128, not"
FEW = "multipliers of a build must be a power of two from 1 to 64 and below its"

BAD: list[tuple[dict[str, Any], str]] = [
    *(
        ({"grid": n}, f"grid of a build must be a power of two from 4 to 65536, not {n}")
        for n in (0, 2, 1000, 131_072, -4)
    ),
    *(({"states": n}, f"{STATES} {n}") for n in (0, -1, 17)),
    (SWEEP | {"slots": 16}, "slots of a build must be 4"),
    ({"slots": 4}, "slots of a build "),
    ({"grid": 16, "states": 2, "results": 31}, "results of a build must be at least grid * states = 32, not 31"),
    *(
        ({name: value}, f"{name} of a build must be {wanted}, not {value!r}")
        for name, value, wanted in (
            ("grid", "256", "a whole number"),
            ("grid", 256.0, "a whole number"),
            ("states", None, "a whole number"),
            ("results", [16], "a whole number"),
            ("clock_hz", 1e8, "a whole number"),
            ("lanes", True, "a whole number"),
            ("multipliers", "4", "a whole number"),
            ("slots", None, "a whole number"),
            ("proof", 2, "True or False"),
            ("proof", 1, "True or False"),
            ("overlap", "yes", "True or False"),
            ("linear", None, "True or False"),
            ("multiplier", "DSP48E2", "a Multiplier"),
            ("multiplier", (26, 17), "a Multiplier"),
            ("engine", 2, "an Engine"),
            ("engine", "SWEEP", "an Engine"),
        )
    ),
    ({"grid": 64, "proof": True}, "proof of a build must be False for the assembly line, whose search "),
    (SWEEP | {"costs": True}, "costs of a build must be False without proof"),
    (PROOF | {"alternatives": True}, "alternatives of a build must be False without costs"),
    (GENERAL | {"states": 1}, "alternatives of a build must be False with 1 state"),
    (COSTS | {"taste": True}, "taste of a build must be False without alternatives"),
    (GENERAL | {"taste": True, "states": 2}, "taste of a build must be False with fewer than 4 states, here 2"),
    (TURNS | {"taste": True, "prices": True}, "taste of a build must be False with prices"),
    (GENERAL | {"prices": True}, "prices of a build must be False without multipliers"),
    (TURNS | {"multipliers": 0}, "states of a build must be from 1 to 16, or with multipliers up to 128"),
    (TURNS | {"states": 256}, "states of a build must be from 1 to 128, not 256"),
    (TURNS | {"multipliers": 3}, f"{FEW} 32 "),
    (TURNS | {"states": 4}, f"{FEW} 4 states, not 4"),
    (COSTS | {"states": 8, "multipliers": 4}, "multipliers of a build must be 0 without alternatives"),
    *(
        case
        for kind in ("overlap", "midpoints")
        for case in (
            (PROOF | {kind: True}, f"{kind} of a build must be False with proof"),
            ({"grid": 64, kind: True}, f"{kind} of a build must be False for the assembly line"),
        )
    ),
]


@pytest.mark.parametrize(("given", "sentence"), BAD, ids=lambda of: str(of) if isinstance(of, dict) else "")
def test_builds_that_cannot_be(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        MachineParameters(**given)
    if given.get("engine") is Engine.SWEEP:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
            SweepParameters(**{name: value for name, value in given.items() if name != "engine"})


@pytest.mark.parametrize(
    "kinds",
    [
        PROOF,
        COSTS,
        GENERAL | {"bounds": True},
        GENERAL | {"linear": False},
        GENERAL | {"taste": True},
        TURNS | {"states": 128},
        TURNS | {"prices": True},
        SWEEP | {"overlap": True, "midpoints": True},
        SWEEP | {"slots": 8},
    ],
    ids=str,
)
def test_a_device_reports_its_build(kinds: dict[str, Any]) -> None:
    build = MachineParameters(**kinds)
    assert built_sizes(ModelDevice(SweepSoftwareMachine(SweepParameters.of(build)), build)) == build
    assert build.features.alternatives == bool(kinds.get("alternatives"))
    assert build.features.shifts != build.features.alternatives


@pytest.mark.parametrize("bits", range(2, 17))
def test_every_grid(bits: int) -> None:
    parameters = MachineParameters(grid=1 << bits, states=STATES_LIMIT)
    assert (parameters.index_bits, parameters.stages) == (bits, bits - 1)
    assert parameters.results == STATES_LIMIT << bits


def test_lanes_of_a_bus_follow_from_all_lanes() -> None:
    build = MachineParameters(grid=1024, engine=Engine.SWEEP)
    assert [replace(build, lanes=lanes).row_slots for lanes in (1, 16, 32, 128)] == [4, 4, 8, 8]
    assert [replace(build, lanes=64, slots=slots).row_slots for slots in (4, 8)] == [4, 8]


def test_whole_numbers_of_numpy() -> None:
    parameters = MachineParameters(grid=np.int64(64), states=np.uint8(2), multiplier=Multiplier.DSP48E1)
    assert (parameters.grid, parameters.results) == (64, 128)
