"""Sweep engines without proofs: gateware and software model agree in bits, status and clocks, sweep by sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.devices.base import built_sizes
from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import STEPS_FIELD, Command, Engine, Mode, Status
from support.machines import opened
from support.pairs import Pair

pytestmark = pytest.mark.gateware


def built(lanes: int, grid: int, states: int, slots: int = 0, **kinds: bool) -> MachineParameters:
    return MachineParameters(grid, states, engine=Engine.SWEEP, lanes=lanes, slots=slots, **kinds)


def name_of(build: MachineParameters) -> str:
    kinds = "".join(f"-{kind}" for kind in ("overlap", "midpoints") if getattr(build, kind))
    return f"{build.lanes}-lanes-{build.grid}x{build.states}-{build.row_slots}-slots{kinds}"


BUILDS = [built(8, 64, 4), built(2, 64, 4, overlap=True)]
# One lane or state; lanes that share buses in fours or eights; words of 16 parts; lanes without a point.
MORE = [built(1, 32, 1), built(4, 64, 4), *(built(2, 64, 2, slots) for slots in (4, 8)), built(256, 4096, 2)]
MORE += [built(lanes, 16 * lanes, 2) for lanes in (16, 32, 64, 128)]
MORE += [built(lanes, grid, states, midpoints=True) for lanes, grid, states in ((1, 32, 1), (2, 16, 4), (4, 64, 4))]
MORE += [built(1, 1_024, 4, overlap=True), built(4, 256, 4, 8, overlap=True), built(2, 32, 16, overlap=True)]
MORE += [built(1, 128, 1, overlap=True), built(2, 128, 2, overlap=True, midpoints=True)]


@pytest.fixture(
    scope="module", params=[*BUILDS, *(pytest.param(build, marks=pytest.mark.slow) for build in MORE)], ids=name_of
)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    for device in opened(request.param):
        assert built_sizes(device) == request.param
        yield Pair(device, request.param)


STEPS = 2 << STEPS_FIELD.start


@pytest.mark.parametrize(
    "mode", [Mode(0), Mode.SHIFT, Mode.SHIFT | STEPS, STEPS, Mode.SHIFT | Mode.PEAKS], ids=lambda mode: f"mode{mode:#x}"
)
def test_each_sweep_of_the_beginning_and_the_end(pair: Pair, mode: int) -> None:
    """Sweeps without a check, with many marks, with few, and with none; the last is a plain one below epsilon."""
    build = pair.parameters
    for grid in (build.grid, build.grid // 2 + 3):
        image = fixed_point(replace(rbc(grid=grid, states=build.states), beta=0.7), 1e-6)
        for sweeps in (1, 2, 3, 6):
            pair.run(image, sweeps, mode)
        done = pair.run(image, 10_000, mode)
        assert done.status == Status.DONE | Status.CONVERGED
        assert done.searched[-1] == 0


def test_random_problems(pair: Pair) -> None:
    """Values rise and fall, so that results depend on where searches start, and one state can afford nothing."""
    rng = np.random.default_rng(50)
    for number in range(3):
        image = pair.drawn(rng)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        for given in (image, replace(image, start=wild)):
            for sweeps in (1, 2, 3, 7):
                pair.run(given, sweeps)
        image.wealth[number] = image.grid[0]
        pair.run(image, 2)


def test_other_peaks_are_found(pair: Pair) -> None:
    """The search after the last sweep reports other peaks where they exist, and only there and if it is requested."""
    rng = np.random.default_rng(11)
    found = set()
    for _ in range(6):
        image = pair.drawn(rng)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        found.add(pair.run(replace(image, start=wild), 2, Mode.PEAKS).status)
    assert found >= {Status.DONE | Status.LIMIT | Status.PEAKS}
    assert pair.run(replace(image, start=wild), 1).status == Status.DONE | Status.LIMIT


def test_a_configuration_that_cannot_be(pair: Pair) -> None:
    image = pair.drawn(np.random.default_rng(2))
    for sweeps, status in ((2, Status.BAD_CONFIGURATION), (1, Status.LIMIT)):
        assert pair.run(image, sweeps, int(Mode.HORIZON)).status == Status.DONE | status


@pytest.mark.parametrize("clocks", [700, 1_100, 1_500])
def test_a_reset_during_a_local_search_leaves_no_state(pair: Pair, clocks: int) -> None:
    """The first sweeps search every state: a reset leaves points of which some states are searched, and some listed."""
    image = fixed_point(rbc(grid=pair.parameters.grid, states=pair.parameters.states), 1e-10)
    pair.run(image, 1)
    pair.device.write_register("SWEEP_LIMIT", 5)
    begin = pair.device.clocks_simulated
    pair.device.write_register("COMMAND", Command.RUN)
    while pair.device.clocks_simulated < begin + clocks:
        pair.device.read_register("STATUS")
    pair.device.write_register("COMMAND", Command.RESET)
    pair.run(image, 3)
