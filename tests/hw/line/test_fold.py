"""Machines with a folded line return the software model's bits in the number of clocks of the formula."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.devices.rtl import RtlDevice
from beltline.host.models.rbc import rbc
from beltline.host.solver.driver import run
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.parameters import EVALUATORS, MachineParameters, Multiplier
from beltline.hw.interface.registers import Command, Status
from beltline.hw.line.clocks import line_of, pass_clocks, run_clocks
from beltline.hw.line.fold import FoldedLineParameters
from beltline.hw.line.line import LineParameters
from support.machines import assert_all_agree, assert_same, opened, problem_of, software

BUILDS = [
    # Several physical stages, the last with one stage only, of two evaluators each; one evaluator for all stages.
    MachineParameters(64, 3, results=64 * 3 * 6, fold=2, evaluators=2),
    pytest.param(
        MachineParameters(32, 5, results=32 * 5 * 6, fold=15, evaluators=1, multiplier=Multiplier.MULT18X18D),
        marks=pytest.mark.slow,
    ),
]


def name_of(build: MachineParameters) -> str:
    return f"fold {build.fold}, evaluators {build.evaluators}"


@pytest.fixture(scope="module", params=BUILDS, ids=name_of)
def build(request: pytest.FixtureRequest) -> MachineParameters:
    parameters: MachineParameters = request.param
    return parameters


@pytest.fixture(scope="module")
def device(build: MachineParameters) -> Iterator[RtlDevice]:
    yield from opened(build)


@pytest.mark.gateware
def test_random_problems_after_every_sweep(device: RtlDevice, build: MachineParameters) -> None:
    rng = np.random.default_rng(build.grid)
    for _ in range(12):
        grid, states = int(rng.integers(2, build.grid + 1)), int(rng.integers(1, build.states + 1))
        assert_all_agree(device, build, fixed_point(problem_of(rng, grid, states), 1e-6), 6)
    for grid, states in ((2, 1), (2, build.states), (build.grid, 1), (build.grid, build.states)):
        assert_all_agree(device, build, fixed_point(problem_of(rng, grid, states), 1e-6), 6)


@pytest.mark.gateware
def test_random_values_follow_the_stages(device: RtlDevice, build: MachineParameters) -> None:
    """Gateware and model agree on values that are not concave, where any other search would have another result."""
    rng = np.random.default_rng(6)
    for _ in range(6):
        image = fixed_point(problem_of(rng, build.grid - 3, build.states), 1e-6)
        wild = rng.integers(-(2**58), 2**58, image.start.shape)
        if rng.random() < 0.5:
            wild = np.round(wild / 2**57).astype(np.int64) * 2**50
        assert_all_agree(device, build, replace(image, start=wild), 4)


@pytest.mark.gateware
def test_to_convergence(device: RtlDevice, build: MachineParameters) -> None:
    image = fixed_point(rbc(grid=build.grid, states=build.states), 1e-6)
    gateware = run(device, image, 10_000)
    assert gateware.status == Status.DONE | Status.CONVERGED
    assert_same(gateware, run(software(build), image, 10_000))


@pytest.mark.gateware
def test_errors_end_the_run(device: RtlDevice, build: MachineParameters) -> None:
    image = fixed_point(problem_of(np.random.default_rng(9), 15, 3), 1e-9)
    huge = replace(image, start=np.full_like(image.start, 2**63 - 1), transition=np.full((3, 3), 2**63, np.uint64))
    steep = replace(image, constants=UtilityConstants.of(0.5, 0, 52))
    poor = replace(image, wealth=np.where(np.arange(15)[:, None] < 2, image.grid[0], image.wealth))
    overflow = replace(image, grid=image.grid - 2**62 - 2**61, wealth=image.wealth + 2**62)
    for bad, expected in (
        (huge, Status.SATURATED),
        (steep, Status.SATURATED),
        (poor, Status.INFEASIBLE),
        (overflow, Status.SATURATED),
    ):
        gateware = run(device, bad, 4)
        assert expected in gateware.status
        assert_same(gateware, run(software(build), bad, 4))


@pytest.mark.gateware
def test_a_reset_in_mid_run_leaves_the_machine_usable(device: RtlDevice, build: MachineParameters) -> None:
    image = replace(fixed_point(rbc(grid=build.grid, states=2), 1e-6), epsilon=0)
    expected = run(software(build), image, 3)
    for _ in range(10):
        run(device, image, 1)
        device.write_register("SWEEP_LIMIT", 2**32 - 1)
        device.write_register("COMMAND", Command.RUN)
        device.wait(0.002)
        device.write_register("COMMAND", Command.RESET)
        assert device.wait(1.0)
        assert_same(run(device, image, 3), expected)


@pytest.mark.gateware
def test_clocks_of_a_sweep(device: RtlDevice, build: MachineParameters) -> None:
    """Two runs of n and n + 1 sweeps differ by the clocks of a sweep, with a full last round and one of one state."""
    members = FoldedLineParameters.of(build).round_states
    counts = {members, members + 1, 2 * members, build.grid * build.states}
    for grid in {count for count in counts if 2 <= count <= build.grid} | {2, build.grid - 1, build.grid}:
        image = replace(fixed_point(problem_of(np.random.default_rng(1), grid, 1), 1e-9), epsilon=0)
        clocks = [run(device, image, sweeps).clocks for sweeps in (1, 2, 3)]
        assert np.diff(clocks).tolist() == [pass_clocks(build, grid, 1)] * 2
        assert clocks == [run_clocks(build, grid, 1, sweeps) for sweeps in (1, 2, 3)]


@pytest.mark.gateware
def test_registers_report_the_fold(device: RtlDevice, build: MachineParameters) -> None:
    model = software(build)
    for register, value in (("FOLD", build.fold), ("EVALUATORS", build.evaluators)):
        assert device.read_register(register) == model.read_register(register) == value


@pytest.mark.parametrize(("evaluators", "clocks"), [(1, 3 * 10 + 1), (2, 2 * 10), (4, 10)])
def test_clocks_of_a_state(evaluators: int, clocks: int) -> None:
    """The clocks of a state are those of docs/assembly-line.md, for one physical stage that does ten stages' work."""
    line = FoldedLineParameters(11, 4, 15, evaluators)
    assert len(line.stages) == 1
    assert line.round_clocks == clocks * line.round_states
    assert line.interval == 4 // evaluators
    whole = line.round_states * 100
    assert line.last_exit(whole + line.round_states) - line.last_exit(whole) == line.round_clocks


@pytest.mark.parametrize("fold", [1, 2, 3, 7, 15])
@pytest.mark.parametrize("evaluators", EVALUATORS)
def test_every_stage_is_served_once_and_tables_sit_once(fold: int, evaluators: int) -> None:
    line = FoldedLineParameters(16, 4, fold, evaluators)
    assert [number for stage in line.stages for number in stage.stages] == list(range(1, 16))
    assert max(len(stage.stages) for stage in line.stages) == fold
    assert line.round_clocks == line.round_states * max(stage.round_slots for stage in line.stages)
    words = [stage.grid_memory.banks << stage.grid_memory.row_bits for stage in line.stages]
    assert words[-1] == 65_536 * {1: 1, 2: 1.5, 4: 1.25}[evaluators]
    assert sum(words) <= 2 * words[-1]


@pytest.mark.parametrize("fold", [1, 2, 3, 7, 15])
@pytest.mark.parametrize("evaluators", EVALUATORS)
def test_a_place_is_read_after_it_was_written_and_no_later_than_need_be(fold: int, evaluators: int) -> None:
    """A state's next place, written ``decided`` clocks after its last slot, is read in the first possible round."""
    for stage in FoldedLineParameters(16, 4, fold, evaluators).stages:
        slots = [stage.slots(number) for number in stage.stages[:-1]]
        spare = [stage.least_round * count - (count - 1 + stage.decided) for count in slots]
        assert all(clocks > 0 for clocks in spare)
        assert not slots or min(spare) <= min(slots)


def test_a_fold_of_one_is_the_assembly_line() -> None:
    assert isinstance(line_of(MachineParameters(fold=1, evaluators=4)), LineParameters)
    assert isinstance(line_of(MachineParameters(fold=2)), FoldedLineParameters)
    assert isinstance(line_of(MachineParameters(evaluators=2)), FoldedLineParameters)
