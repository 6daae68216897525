"""Sizes of a build."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from beltline.hw.interface.parameters import GRID_LIMIT, STATES_LIMIT, MachineParameters, Multiplier
from beltline.hw.interface.registers import Engine


def test_headline() -> None:
    parameters = MachineParameters()
    assert (parameters.grid, parameters.states, parameters.results) == (65_536, 4, 262_144)
    assert (parameters.index_bits, parameters.stages) == (16, 15)


@pytest.mark.parametrize("bits", range(2, 17))
def test_every_grid(bits: int) -> None:
    parameters = MachineParameters(grid=1 << bits, states=STATES_LIMIT)
    assert (parameters.index_bits, parameters.stages) == (bits, bits - 1)
    assert parameters.results == STATES_LIMIT << bits


@pytest.mark.parametrize("grid", [0, 1, 2, 3, 5, 1000, 2 * GRID_LIMIT, -4])
def test_grid_out_of_range(grid: int) -> None:
    message = f"grid of a build must be a power of two from 4 to 65536, not {grid}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MachineParameters(grid=grid)


@pytest.mark.parametrize("states", [0, -1, 17])
def test_states_out_of_range(states: int) -> None:
    with pytest.raises(
        ValueError, match=f"^states of a build must be from 1 to 16, or with multipliers up to 128, not {states}$"
    ):
        MachineParameters(states=states)


@pytest.mark.parametrize("slots", [1, 2, 16, -4])
def test_lanes_of_a_bus_out_of_range(slots: int) -> None:
    for build in (MachineParameters(grid=64, engine=Engine.SWEEP, lanes=2), MachineParameters(grid=64)):
        with pytest.raises(ValueError, match=f"^slots of a build must be 4, 8 or 0, and 0 for the .* not {slots}$"):
            replace(build, slots=slots)
    with pytest.raises(ValueError, match="^slots of a build .* not 4$"):
        MachineParameters(grid=64, slots=4)


def test_lanes_of_a_bus_follow_from_all_lanes() -> None:
    build = MachineParameters(grid=1024, engine=Engine.SWEEP)
    assert [replace(build, lanes=lanes).row_slots for lanes in (1, 16, 32, 128)] == [4, 4, 8, 8]
    assert [replace(build, lanes=64, slots=slots).row_slots for slots in (4, 8)] == [4, 8]
    assert replace(build, lanes=64, slots=4).reported["ENGINE"] == Engine.SWEEP | 4 << 16
    assert replace(build, lanes=64).reported["ENGINE"] == Engine.SWEEP


def test_results_too_few() -> None:
    message = "results of a build must be at least grid * states = 32, not 31"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MachineParameters(grid=16, states=2, results=31)
    assert MachineParameters(grid=16, states=2, results=99).results == 99


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
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
    ],
)
def test_types(name: str, value: Any, wanted: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'{name} of a build must be {wanted}, not {value!r}')}$"):
        MachineParameters(**{name: value})


def test_whole_numbers_of_numpy() -> None:
    parameters = MachineParameters(grid=np.int64(64), states=np.uint8(2), multiplier=Multiplier.DSP48E1)
    assert (parameters.grid, parameters.results) == (64, 128)
