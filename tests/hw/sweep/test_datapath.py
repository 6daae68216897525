"""The sweep engine in gateware against its software model: every word, every counter, every clock, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import STEPS_FIELD, Engine, Mode, Status
from support.machines import opened
from support.pairs import Pair

pytestmark = pytest.mark.gateware

BUILDS = {
    lanes: MachineParameters(grid=grid, states=states, engine=Engine.SWEEP, lanes=lanes)
    for lanes, grid, states in ((1, 32, 1), (2, 16, 4), (4, 64, 4))
}


PARAMS = [pytest.param(lanes, marks=pytest.mark.slow if lanes == 2 else ()) for lanes in BUILDS]


@pytest.fixture(scope="module", params=PARAMS, ids="{}-lanes".format)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    parameters = BUILDS[request.param]
    for device in opened(parameters):
        yield Pair(device, parameters)


def test_random_problems_after_every_sweep(pair: Pair) -> None:
    rng = np.random.default_rng(pair.parameters.lanes)
    for _ in range(8):
        image = pair.drawn(rng)
        for sweeps in range(1, 6):
            pair.run(image, sweeps)


def test_rbc_to_the_end(pair: Pair) -> None:
    build = pair.parameters
    image = fixed_point(rbc(grid=build.grid, states=build.states), 1e-8)
    done = pair.run(image, 10_000)
    assert done.status == Status.DONE | Status.CONVERGED
    assert done.searched[-1] == 0


def test_random_values_follow_the_local_search(pair: Pair) -> None:
    """Gateware and model agree on values that are not concave, where results depend on where searches start."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        image = pair.drawn(rng)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        for sweeps in (1, 2, 4):
            pair.run(replace(image, start=wild), sweeps)


@pytest.mark.parametrize(
    "mode",
    [Mode.SHIFT, Mode.SHIFT | 3 << STEPS_FIELD.start, 2 << STEPS_FIELD.start],
    ids=["shift", "both", "steps"],
)
def test_shifts_and_evaluation_steps(pair: Pair, mode: int) -> None:
    """Gateware and model agree in each of the first sweeps, and at the end, a plain sweep with a norm below epsilon."""
    build = pair.parameters
    image = fixed_point(rbc(grid=build.grid // 2 + 3, states=build.states), 1e-6)
    for sweeps in (1, 2, 3, 4, 5, 6, 9):
        pair.run(image, sweeps, mode)
    done = pair.run(image, 10_000, mode)
    assert done.status == Status.DONE | Status.CONVERGED


def test_other_peaks_are_found(pair: Pair) -> None:
    """The search after the last sweep reports other peaks where they exist, with shifts, too, and only there."""
    build, rng = pair.parameters, np.random.default_rng(11)
    image = fixed_point(rbc(grid=build.grid - 3, states=build.states), 1e-6)
    for mode in (Mode.PEAKS, Mode.PEAKS | Mode.SHIFT):
        for sweeps in (1, 2, 5):
            assert pair.run(image, sweeps, mode).status == Status.DONE | Status.LIMIT
        assert pair.run(image, 10_000, mode).status == Status.DONE | Status.CONVERGED
    found = set()
    for _ in range(8):
        image = pair.drawn(rng)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        for sweeps in (1, 3):
            found.add(pair.run(replace(image, start=wild), sweeps, Mode.PEAKS).status)
    assert found >= {Status.DONE | Status.LIMIT | Status.PEAKS}
    found.add(pair.run(replace(image, start=wild), 1).status)
    assert Status.DONE | Status.LIMIT in found


def test_a_configuration_that_cannot_be(pair: Pair) -> None:
    image = pair.drawn(np.random.default_rng(2))
    done = pair.run(image, 2, int(Mode.HORIZON))
    assert done.status == Status.DONE | Status.BAD_CONFIGURATION
    one = pair.run(image, 1, int(Mode.HORIZON))
    assert one.status == Status.DONE | Status.LIMIT
