"""Parameters of a build: what follows from them, and which are refused with which sentence."""

from __future__ import annotations

import re
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
GENERAL = SWEEP | {"states": 8, "general": True}

BAD: list[tuple[dict[str, Any], str]] = [
    *(
        ({"grid": n}, f"grid of a build must be a power of two from 4 to 65536, not {n}")
        for n in (0, 2, 1000, 131_072, -4)
    ),
    *(({"states": n}, f"states of a build must be from 1 to 16, not {n}") for n in (0, -1, 17)),
    *((GENERAL | {"states": n}, f"states of a general build must be from 8 to 128, not {n}") for n in (1, 4, 256)),
    (SWEEP | {"lanes": 3}, "lanes of a build must be a power of two from 1 to 256, not 3"),
    (SWEEP | {"lanes": 16}, "grid of a build with 16 lanes must be a power of two from 128 to 65536, not 64"),
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
            ("general", 1, "True or False"),
            ("general", None, "True or False"),
            ("multiplier", "DSP48E2", "a Multiplier"),
            ("multiplier", (26, 17), "a Multiplier"),
            ("engine", 2, "an Engine"),
            ("engine", "SWEEP", "an Engine"),
        )
    ),
    (
        {"grid": 64, "states": 8, "general": True},
        "general of a build must be False for the assembly line, whose search ",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), BAD, ids=lambda of: str(of) if isinstance(of, dict) else "")
def test_builds_that_cannot_be(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
        MachineParameters(**given)
    if given.get("engine") is Engine.SWEEP:
        with pytest.raises(ValueError, match=f"^{re.escape(sentence)}"):
            SweepParameters(**{name: value for name, value in given.items() if name != "engine"})


@pytest.mark.parametrize("sizes", [SWEEP, GENERAL, GENERAL | {"states": 128}], ids=str)
def test_a_device_reports_its_build(sizes: dict[str, Any]) -> None:
    build = MachineParameters(**sizes)
    assert built_sizes(ModelDevice(SweepSoftwareMachine(SweepParameters.of(build)), build)) == build
    assert build.shifts != build.general


@pytest.mark.parametrize("bits", range(2, 17))
def test_every_grid(bits: int) -> None:
    parameters = MachineParameters(grid=1 << bits, states=STATES_LIMIT)
    assert (parameters.index_bits, parameters.stages) == (bits, bits - 1)
    assert parameters.results == STATES_LIMIT << bits


def test_whole_numbers_of_numpy() -> None:
    parameters = MachineParameters(grid=np.int64(64), states=np.uint8(2), multiplier=Multiplier.DSP48E1)
    assert (parameters.grid, parameters.results) == (64, 128)
