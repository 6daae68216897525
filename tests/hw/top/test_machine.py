"""The whole machine in gateware against the software model: every word, every counter, every clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.devices.rtl import RtlDevice
from beltline.host.models.rbc import rbc
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.control.sequencer import SequencerParameters
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import REGISTERS, Command, Mode, Refused, Status, Table
from beltline.hw.line.clocks import pass_clocks, run_clocks
from beltline.sim.cache import SimulationError
from support.machines import assert_all_agree, assert_same, opened, problem_of, software

pytestmark = pytest.mark.gateware

SMALL = MachineParameters(grid=64, states=5, results=64 * 4 * 1_353)
Built = tuple[RtlDevice, MachineParameters]

FOLDED = MachineParameters(64, 3, results=64 * 3 * 6, fold=2, evaluators=2)
"""Several physical stages, the last with one stage only, of two evaluators each."""

MORE = [
    MachineParameters(4, 1, results=24),
    MachineParameters(16, 16, results=1_536),
    MachineParameters(256, 4, results=256 * 4 * 6),
    # One evaluator for all stages.
    MachineParameters(32, 5, results=32 * 5 * 6, fold=15, evaluators=1, multiplier=Multiplier.MULT18X18D),
]


@pytest.fixture(
    scope="module",
    params=[SMALL, FOLDED, *(pytest.param(one, marks=pytest.mark.slow) for one in MORE)],
    ids=lambda one: f"{one.grid}x{one.states}-fold{one.fold}",
)
def built(request: pytest.FixtureRequest) -> Iterator[Built]:
    for device in opened(request.param):
        for register, value in (("FOLD", request.param.fold), ("EVALUATORS", request.param.evaluators)):
            assert device.read_register(register) == value
        yield device, request.param


@pytest.fixture(scope="module")
def small() -> Iterator[RtlDevice]:
    yield from opened(SMALL)


def test_rbc_64_points_after_each_of_many_sweeps_and_at_the_end(small: RtlDevice) -> None:
    image = fixed_point(rbc(grid=64), 1e-10)
    plain = Driver(small).run(image, 10_000)
    assert plain.status == Status.DONE | Status.CONVERGED
    assert_same(plain, Driver(software(SMALL)).run(image, 10_000))
    assert plain.sweeps > 1_000
    assert_all_agree(small, SMALL, image, 40)


def test_random_problems_after_every_sweep(built: Built) -> None:
    """Gateware and model agree on all sizes, kinds of grids and ``eta``, ties, infeasible states."""
    device, build = built
    rng = np.random.default_rng(1_000)
    sizes = [(2, 1), (2, build.states), (3, 1), (build.grid, 1), (build.grid, build.states)]
    sizes += [(int(rng.integers(2, build.grid + 1)), int(rng.integers(1, build.states + 1))) for _ in range(30)]
    for grid, states in sizes:
        assert_all_agree(device, build, fixed_point(problem_of(rng, grid, states), 1e-6), 6)


def test_random_values_follow_the_stages(built: Built) -> None:
    """Gateware and model agree without any concavity, as the model evaluates the same candidates as the line."""
    device, build = built
    rng = np.random.default_rng(5)
    for _ in range(8):
        image = fixed_point(problem_of(rng, build.grid - 1, min(3, build.states)), 1e-6)
        wild = rng.integers(-(2**58), 2**58, image.start.shape)
        if rng.random() < 0.5:
            wild = np.round(wild / 2**57).astype(np.int64) * 2**50
        assert_all_agree(device, build, replace(image, start=wild), 4)


def test_clocks_of_a_sweep(built: Built) -> None:
    """Runs of n and n + 1 sweeps differ by the clocks of a sweep."""
    device, build = built
    for grid, states in ((build.grid, build.states), (2, 1), (build.grid - 1, 1), (build.grid // 2 + 1, 1)):
        image = fixed_point(problem_of(np.random.default_rng(1), grid, states), 1e-9)
        clocks = [Driver(device).run(replace(image, epsilon=0), sweeps).clocks for sweeps in (1, 2, 3)]
        assert np.diff(clocks).tolist() == [pass_clocks(build, grid, states)] * 2
        assert clocks == [run_clocks(build, grid, states, sweeps) for sweeps in (1, 2, 3)]


def test_epsilon_is_strict(small: RtlDevice) -> None:
    """A run ends with the first sweep whose norm is below epsilon, and not with one that equals it."""
    image = fixed_point(rbc(grid=64), 1e-2)
    first = Driver(small).run(image, 10_000)
    assert first.status == Status.DONE | Status.CONVERGED
    equal = Driver(small).run(replace(image, epsilon=first.norm), 10_000)
    above = Driver(small).run(replace(image, epsilon=first.norm + 1), 10_000)
    assert equal.sweeps == first.sweeps + 1
    assert above.sweeps == first.sweeps
    at_limit = Driver(small).run(replace(image, epsilon=first.norm + 1), first.sweeps)
    assert at_limit.status == Status.DONE | Status.CONVERGED


def test_stop_ends_after_the_sweep(small: RtlDevice) -> None:
    image = replace(fixed_point(rbc(grid=64), 1e-6), epsilon=0)
    Driver(small).run(image, 1)
    small.write_block(Table.V, 0, image.start.reshape(-1))
    small.write_register("SWEEP_LIMIT", 2**32 - 1)
    small.write_register("COMMAND", Command.RUN)
    small.wait(0.05)
    small.write_register("COMMAND", Command.STOP)
    while not small.wait(1.0):
        pass
    assert Status(small.read_register("STATUS")) == Status.DONE | Status.STOPPED
    sweeps = small.read_register("SWEEPS")
    value = small.read_block(Table.V, 0, image.start.size)
    assert small.read_register("CLOCKS") == run_clocks(SMALL, 64, 4, sweeps)
    assert np.array_equal(value, Driver(software(SMALL)).run(image, sweeps).value.reshape(-1))


def test_reset_ends_at_once_and_leaves_the_machine_usable(built: Built) -> None:
    small, build = built
    image = replace(fixed_point(rbc(grid=build.grid, states=1), 1e-6), epsilon=0)
    Driver(small).run(image, 1)
    for _ in range(20):
        small.write_register("SWEEP_LIMIT", 2**32 - 1)
        small.write_register("COMMAND", Command.RUN)
        small.wait(0.002)
        small.write_register("COMMAND", Command.RESET)
        assert small.wait(1.0)
        assert not small.read_register("STATUS") & Status.BUSY
    assert_same(Driver(small).run(image, 3), Driver(software(build)).run(image, 3))


def test_writes_during_a_run_change_nothing(small: RtlDevice) -> None:
    image = replace(fixed_point(rbc(grid=64), 1e-6), epsilon=0)
    expected = Driver(small).run(image, 100)
    small.write_block(Table.V, 0, image.start.reshape(-1))
    small.write_register("COMMAND", Command.RUN)
    garbage = np.full(25, 12_345, np.int64)
    board, windows = small._board, small.windows()
    for table in (Table.X, Table.W, Table.Q, Table.V):
        with pytest.raises(SimulationError, match="refused a write .SLVERR.$"):
            board.write_block(windows.offset(table), garbage)
    for name in ("GRID", "UTILITY_A"):
        with pytest.raises(SimulationError, match="refused a write .SLVERR.$"):
            board.write_register(REGISTERS[name].offset, 7)
    assert small.read_register("STATUS") & Status.BUSY
    assert small.read_register("REFUSED") == Refused.REGISTER | Refused.TABLE
    while not small.wait(1.0):
        pass
    small.write_register("COMMAND", Command.RESET)
    assert small.read_register("REFUSED") == 0
    assert small.read_register("GRID") == 64
    assert np.array_equal(small.read_block(Table.V, 0, image.start.size), expected.value.reshape(-1))


@pytest.mark.parametrize(
    ("grid", "states", "limit", "mode"),
    [
        (1, 1, 1, Mode(0)),
        (0, 1, 1, Mode(0)),
        (65, 1, 1, Mode(0)),
        (2**31, 1, 1, Mode(0)),
        (64, 0, 1, Mode(0)),
        (64, 6, 1, Mode(0)),
        (64, 33, 1, Mode(0)),
        (64, 4, 0, Mode(0)),
        (64, 4, 1_354, Mode.HORIZON),
        (64, 5, 2**32 - 1, Mode.HORIZON),
    ],
)
def test_bad_configuration_is_refused(small: RtlDevice, grid: int, states: int, limit: int, mode: Mode) -> None:
    model = software(SMALL)
    before = small.read_block(Table.V, 0, 320)
    for device in (small, model):
        for name, value in (("GRID", grid), ("STATES", states), ("SWEEP_LIMIT", limit), ("MODE", int(mode))):
            device.write_register(name, value)
        device.write_register("COMMAND", Command.RUN)
        while not device.wait(1.0):
            pass
        assert Status(device.read_register("STATUS")) == Status.DONE | Status.BAD_CONFIGURATION
        assert device.read_register("CLOCKS") == SequencerParameters(SMALL).check
        assert device.read_register("SWEEPS") == 0
    assert np.array_equal(small.read_block(Table.V, 0, 320), before)


def test_saturation_and_infeasibility_end_the_run(built: Built) -> None:
    small, build = built
    image = fixed_point(problem_of(np.random.default_rng(9), build.grid - 1, build.states), 1e-9)
    weights = np.full_like(image.transition, 2**63)
    huge = replace(image, start=np.full_like(image.start, 2**63 - 1), transition=weights)
    low = replace(image, start=np.full_like(image.start, -(2**63)), transition=weights)
    steep = replace(image, constants=UtilityConstants.of(0.5, 0, 52))
    poor = replace(image, wealth=np.where(np.arange(build.grid - 1)[:, None] < 2, image.grid[0], image.wealth))
    overflow = replace(image, grid=image.grid - 2**62 - 2**61, wealth=image.wealth + 2**62)
    for bad, expected in (
        # A single weight is below 1.
        *[(bad, Status.SATURATED) for bad in (huge, low) if build.states > 1],
        (steep, Status.SATURATED),
        (poor, Status.INFEASIBLE),
        (overflow, Status.SATURATED),
    ):
        gateware, model = Driver(small).run(bad, 4), Driver(software(build)).run(bad, 4)
        assert expected in gateware.status
        assert_same(gateware, model)


def test_formats_and_utilities_change_at_run_time(small: RtlDevice) -> None:
    """One machine solves problems with many number formats and ``eta``, one after the other."""
    for eta in (0.2, 0.5, 1.0, 1.5, 2.0, 5.0, 10.0):
        for bits in (None, 30):
            image = fixed_point(rbc(grid=40, states=3, eta=eta), 1e-4, value_bits=bits, amount_bits=bits)
            assert_all_agree(small, SMALL, image, 5)
