"""Machines that list points for the expectation during the local search, against their software model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices.base import built_sizes
from beltline.host.devices.software_model import ModelDevice
from beltline.host.models.rbc import rbc
from beltline.host.solver.driver import run
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import OVERLAP_BIT, STEPS_FIELD, Command, Engine, Mode, Status
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from support.machines import opened
from support.pairs import Pair

# Parts of 4 words of points; words of 16 parts; lanes that share buses; one exogenous state; shifts by mid-points.
BUILDS = [
    MachineParameters(64, 4, lanes=2, engine=Engine.SWEEP),
    *(
        pytest.param(replace(build, engine=Engine.SWEEP), marks=pytest.mark.slow)
        for build in (
            MachineParameters(1_024, 4, lanes=1, engine=Engine.SWEEP),
            MachineParameters(256, 4, lanes=4, engine=Engine.SWEEP, slots=8),
            MachineParameters(128, 1, lanes=1, engine=Engine.SWEEP),
            MachineParameters(32, 16, lanes=2, engine=Engine.SWEEP),
            MachineParameters(128, 2, lanes=2, engine=Engine.SWEEP, midpoints=True),
        )
    ),
]


def _modelled(parameters: MachineParameters, image: Image, sweeps: int) -> SweepSoftwareMachine:
    machine = SweepSoftwareMachine(SweepParameters.of(parameters), logged=True)
    run(ModelDevice(machine, parameters), image, sweeps)
    return machine


def test_only_clocks_differ() -> None:
    """All sweeps have fewer clocks in which every state is searched, and all sweeps the same work."""
    image = fixed_point(rbc(grid=4_096), 1e-6)
    plain = MachineParameters(4_096, 4, engine=Engine.SWEEP, lanes=4)
    before, after = (_modelled(build, image, 10_000) for build in (plain, replace(plain, overlap=True)))
    assert np.array_equal(before.v, after.v)
    assert np.array_equal(before.policy, after.policy)
    assert (before.evaluations, before.norm, before.status) == (after.evaluations, after.norm, after.status)
    every = 4_096 * 4
    saved = {
        kind: {ours - theirs for ours, theirs, searched in zip(*clocks, strict=True) if (searched == every) == kind}
        for kind in (False, True)
        for clocks in [(before.sweep_clocks, after.sweep_clocks, before.searched)]
    }
    # Without overlap the patch takes a clock for each state of a lane, and for each word of notes.
    assert min(saved[True]) > every // 4 - 64
    assert max(saved[True]) < every // 4 + 64 + 64
    assert sum(before.sweep_clocks) - sum(after.sweep_clocks) > sum(before.sweep_clocks) // 20


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "option 'overlap' needs the sweep engine: pass lanes=, too"),
        (
            {"lanes": 2, "proof": 1},
            "option 'overlap' is for a sweep engine without proofs: leave out 'overlap' or 'proof'",
        ),
        ({"lanes": 2, "overlap": 2}, "overlap must be 0 or 1, not 2"),
    ],
)
def test_builds_that_cannot_be_are_refused(options: dict[str, int], sentence: str) -> None:
    with pytest.raises(bl.ProblemError) as caught:
        bl.solve(rbc(grid=16), device="emulator", **{"overlap": 1, **options})
    assert sentence in str(caught.value)
    for changed, reason in (
        ({"proof": True, "lanes": 2}, "with proof"),
        ({"engine": Engine.ASSEMBLY_LINE}, "for the assembly line"),
    ):
        with pytest.raises(ValueError, match=f"^overlap of a build must be False {reason}$"):
            replace(MachineParameters(32, 4, engine=Engine.SWEEP), overlap=True, **changed)
    with pytest.raises(ValueError, match="^overlap of a build must be False with proof$"):
        SweepParameters(32, 4, 2, proof=True, overlap=True)


def test_solve_with_the_option() -> None:
    plain, quick = (bl.solve(rbc(grid=256), device="emulator", lanes=4, overlap=given) for given in (0, 1))
    assert np.array_equal(plain.value, quick.value)
    assert np.array_equal(plain.policy, quick.policy)
    assert quick.success


@pytest.fixture(
    scope="module",
    params=BUILDS,
    ids=lambda build: f"{build.lanes}-lanes-{build.grid}x{build.states}{'-midpoints' if build.midpoints else ''}",
)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    parameters = replace(request.param, overlap=True)
    for device in opened(parameters):
        assert device.read_register("ENGINE") >> OVERLAP_BIT == 1
        assert built_sizes(device) == replace(parameters, results=parameters.grid * parameters.states)
        yield Pair(device, parameters)


@pytest.mark.gateware
@pytest.mark.parametrize("mode", [0, Mode.SHIFT | 2 << STEPS_FIELD.start, Mode.SHIFT | Mode.PEAKS])
def test_machine(pair: Pair, mode: int) -> None:
    """Each sweep of the beginning, and the end: sweeps without a check, with many marks, with few, and with none."""
    build = pair.parameters
    for grid in (build.grid, build.grid // 2 + 3):
        problem = replace(rbc(grid=grid, states=build.states), beta=0.7)
        image = fixed_point(problem, 1e-6)
        for sweeps in (1, 2, 3, 6):
            pair.run(image, sweeps, mode)
        assert pair.run(image, 10_000, mode).status == Status.DONE | Status.CONVERGED


@pytest.mark.gateware
@pytest.mark.parametrize("clocks", [700, 1_100, 1_500])
def test_a_reset_during_a_local_search_leaves_no_state(pair: Pair, clocks: int) -> None:
    """The first sweeps search every state: a reset leaves points of which some states are searched, and some listed."""
    image = fixed_point(rbc(grid=pair.parameters.grid, states=pair.parameters.states), 1e-10)
    pair.run(image, 1, 0)
    pair.device.write_register("SWEEP_LIMIT", 5)
    begin = pair.device.clocks_simulated
    pair.device.write_register("COMMAND", Command.RUN)
    while pair.device.clocks_simulated < begin + clocks:
        assert pair.device.read_register("STATUS") == Status.BUSY
    pair.device.write_register("COMMAND", Command.RESET)
    pair.run(image, 3, 0)


@pytest.mark.gateware
@pytest.mark.parametrize("seed", range(3))
def test_random_problems(pair: Pair, seed: int) -> None:
    """Values rise and fall, so that searches of a part take different times, and choices move in some states only."""
    rng = np.random.default_rng(50 + seed)
    for _ in range(2):
        image = pair.drawn(rng)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        for given in (image, replace(image, start=wild)):
            for sweeps in (2, 3, 7):
                pair.run(given, sweeps, 0)
