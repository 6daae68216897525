"""Sizes of a build."""

from __future__ import annotations

import re

import pytest

from beltline.hw.interface.parameters import GRID_LIMIT, STATES_LIMIT, MachineParameters


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


def test_results_too_few() -> None:
    message = "results of a build must be at least grid * states = 32, not 31"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MachineParameters(grid=16, states=2, results=31)
    assert MachineParameters(grid=16, states=2, results=99).results == 99
