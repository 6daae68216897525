"""The software model of the sweep engine, against that of the assembly line on objectives with one peak."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from beltline.host.devices.software_model import ModelDevice
from beltline.host.models.rbc import rbc
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.objective import INFEASIBLE
from beltline.hw.arithmetic.utility import UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Mode, Status
from beltline.hw.line.model import LineSoftwareMachine
from beltline.hw.sweep.engine import quiet_clocks
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import ROW_WORDS, SweepParameters
from support.machines import begun, problem_of

LANES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def build_of(grid: int, states: int, lanes: int) -> SweepParameters:
    built = ROW_WORDS * lanes
    while built < grid:
        built *= 2
    return SweepParameters(built, states, lanes)


def assert_same(line: LineSoftwareMachine, sweep: SweepSoftwareMachine, image: Image) -> None:
    work = image.start.size
    assert (line.status, line.sweeps, line.norm) == (sweep.status & ~Status.PROVEN, sweep.sweeps, sweep.norm)
    assert np.array_equal(line.v[:work], sweep.v[:work])
    assert np.array_equal(line.policy[:work], sweep.policy[:work])


@pytest.mark.parametrize("lanes", [1, 8, 64])
@pytest.mark.parametrize(("grid", "states"), [(64, 3), (256, 4)])
def test_rbc_is_the_assembly_lines_after_every_sweep(grid: int, states: int, lanes: int) -> None:
    image = fixed_point(rbc(grid=grid, states=states), 1e-10)
    line = begun(LineSoftwareMachine(MachineParameters(grid, states)), image)
    sweep = begun(SweepSoftwareMachine(build_of(grid, states, lanes)), image)
    ended = False
    while not ended:
        ended = line.step()
        assert sweep.step() == ended
        assert_same(line, sweep, image)
    assert line.status == Status.DONE | Status.CONVERGED
    assert line.literal_sweeps == 0
    assert sweep.searched[0] == grid * states
    assert sweep.searched[-1] == 0
    assert len(sweep.evaluations) == line.sweeps
    # The candidates are a choice and its neighbours, one of which may be off the grid.
    compared = zip(sweep.searched, sweep.evaluations, strict=True)
    assert all(2 * searched <= made for searched, made in compared)


def peaked(image: Image, start: np.ndarray) -> bool:
    """Return whether every objective of a sweep from the values ``start`` has a single peak."""
    states = start.shape[1]
    weights = image.transition.astype(object)
    ev = (start.astype(object) @ weights.T + 2**63) // 2**64
    for s, wealth in itertools.product(range(states), range(start.shape[0])):
        u, feasible, over = UtilityParameters().model(image.wealth[wealth, s] - image.grid, image.constants)
        assert not over.any()
        objectives = [int(a) + int(b) for a, b, able in zip(u, ev[:, s], feasible, strict=True) if able]
        top = objectives.index(max(objectives)) if objectives else 0
        if any((a < b) != (k < top) for k, (a, b) in enumerate(itertools.pairwise(objectives))):
            return False
    return True


@pytest.mark.parametrize("seed", range(8))
def test_random_concave_problems_are_the_assembly_lines(seed: int) -> None:
    rng = np.random.default_rng(600 + seed)
    sweeps = 0
    for k in range(20):
        lanes = int(rng.choice(LANES))
        grid = int(rng.integers(2, 100)) if k % 2 else int(rng.integers(2, max(3, lanes)))
        states = int(rng.integers(1, 17 if k % 4 == 0 else 5))
        image = fixed_point(problem_of(rng, grid, states), 1e-6)
        build = build_of(grid, max(states, int(rng.integers(1, 17))), lanes)
        line = begun(LineSoftwareMachine(MachineParameters(max(4, build.grid), states)), image)
        contexts = int(rng.choice([c for c in (16, 64, 128) if c >= 1 << build.state_bits]))
        sweep = begun(SweepSoftwareMachine(build, contexts), image)
        for _ in range(6):
            start = line.v[: grid * states].reshape(grid, states).copy()
            proven = line.literal_sweeps
            line.step()
            sweep.step()
            if line.literal_sweeps > proven and not peaked(image, start):
                break
            assert_same(line, sweep, image)
            sweeps += 1
    assert sweeps > 60


def test_cached_utilities_are_those_of_the_choice_and_its_neighbours() -> None:
    image = fixed_point(rbc(grid=64, states=3), 1e-10)
    sweep = begun(SweepSoftwareMachine(SweepParameters(64, 3, 4)), image)
    for _ in range(30):
        sweep.step()
    for x, s in itertools.product(range(64), range(3)):
        for k, j in enumerate(sweep.policy.reshape(64, 3)[x, s] + np.arange(-1, 2)):
            able = False
            if 0 <= j < 64:
                u, able, _ = UtilityParameters().model(image.wealth[x, s] - image.grid[j], image.constants)
            assert sweep.cached[x, s, k] == (u if able else INFEASIBLE)


def test_a_log_without_room_is_made_again() -> None:
    """Clocks and results do not depend on the room for evaluations in the log, with which a sweep begins."""
    image = fixed_point(rbc(grid=256, states=3), 1e-8)
    machines = [begun(SweepSoftwareMachine(SweepParameters(256, 4, 8), logged=True), image) for _ in range(2)]
    ended = False
    while not ended:
        machines[1]._capacity = 1
        ended = machines[0].step()
        assert machines[1].step() == ended
        assert machines[0].clocks == machines[1].clocks
        for name in ("v", "policy", "cached"):
            assert np.array_equal(getattr(machines[0], name), getattr(machines[1], name)), name


def test_a_state_that_can_afford_nothing_ends_the_run_as_on_the_assembly_line() -> None:
    image = fixed_point(rbc(grid=64, states=3), 1e-10)
    # The host refuses this: cash on hand below the grid's first point.
    image.wealth[:5, 1] = image.grid[0] - np.arange(5)
    line = begun(LineSoftwareMachine(MachineParameters(64, 3)), image)
    sweep = begun(SweepSoftwareMachine(SweepParameters(64, 3, 2)), image)
    assert line.step()
    assert sweep.step()
    assert sweep.status & Status.INFEASIBLE
    assert_same(line, sweep, image)


@pytest.mark.parametrize("start", [MAXIMUM - 5, MINIMUM + 5])
def test_values_out_of_range_end_the_run_as_on_the_assembly_line(start: int) -> None:
    image = fixed_point(rbc(grid=64, states=1), 1e-10)
    machines = (
        LineSoftwareMachine(MachineParameters(64, 1), stage_by_stage=True),
        SweepSoftwareMachine(SweepParameters(64, 1, 4)),
    )
    for machine in machines:
        begun(machine, image)
        machine.v[:64] = start
        # With a weight of nearly one the expectation is nearly the value, and utility takes it out of range.
        machine.q[0] = 2**64 - 1
        machine.start(64, 1, Mode(0), 10, 0, UtilityConstants.of(0.5 if start > 0 else 2.0, 40, 44))
        assert machine.step()
    assert machines[0].status == Status.DONE | Status.SATURATED
    assert_same(*machines, image)


def test_a_horizon_of_one_sweep_is_done_and_a_longer_one_is_refused() -> None:
    image = fixed_point(rbc(grid=64, states=3), 1e-10)
    line = begun(LineSoftwareMachine(MachineParameters(64, 3)), image, True, 1)
    sweep = begun(SweepSoftwareMachine(SweepParameters(64, 3, 4)), image, True, 1)
    assert line.step()
    assert sweep.step()
    assert sweep.status == Status.DONE | Status.LIMIT | Status.PROVEN
    assert_same(line, sweep, image)
    assert begun(sweep, image, True, 2).status == Status.DONE | Status.BAD_CONFIGURATION
    assert sweep.step()
    assert sweep.sweeps == 0


def test_a_run_starts_without_guesses_and_stops_on_request() -> None:
    image = fixed_point(rbc(grid=64, states=3), 1e-10)
    sweep = begun(SweepSoftwareMachine(SweepParameters(64, 3, 4)), image)
    for _ in range(40):
        sweep.step()
    first = sweep.evaluations
    begun(sweep, image)
    for _ in range(39):
        assert not sweep.step()
    sweep.stop()
    assert sweep.step()
    assert sweep.status == Status.DONE | Status.STOPPED | Status.PROVEN
    assert sweep.evaluations == first


@pytest.mark.parametrize(("lanes", "grid", "states"), [(1, 256, 2), (4, 1024, 4), (8, 1024, 4)])
def test_a_sweep_in_which_nothing_moves_takes_what_the_formula_says(lanes: int, grid: int, states: int) -> None:
    """If no choice moves, a sweep takes about the clocks of the formula, which assumes that each state stays."""
    parameters = MachineParameters(grid=grid, states=states, engine=Engine.SWEEP, lanes=lanes)
    machine = SweepSoftwareMachine(SweepParameters.of(parameters), logged=True)
    Driver(ModelDevice(machine, parameters)).run(fixed_point(rbc(grid=grid, states=states), 1e-6), 2000)
    quiet = [n for n, one in enumerate(machine.proven_by) if not one.rounds and not machine.searched[n]]
    clocks, formula = machine.sweep_clocks[quiet[-1]], quiet_clocks(parameters)
    assert abs(clocks - formula) <= 0.02 * clocks
    assert 0 < formula - grid * states // lanes < 100
