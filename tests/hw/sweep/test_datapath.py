"""The sweep engine in gateware against its software model: every word, every counter, every clock, in every mode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from beltline.host.devices.rtl import RtlDevice
from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.hw.interface.layout import Layout
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import HELD, Command, Engine, Mode, Status, Table
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.shift import SCALE
from support.machines import opened, problem_of

pytestmark = pytest.mark.gateware

BUILDS = {
    lanes: MachineParameters(grid=grid, states=states, engine=Engine.SWEEP, lanes=lanes)
    for lanes, grid, states in ((1, 32, 1), (2, 16, 4), (4, 64, 4))
}


@pytest.fixture(scope="module", params=BUILDS, ids="{}-lanes".format)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    parameters = BUILDS[request.param]
    for device in opened(parameters):
        yield Pair(device, parameters)


def shift_weights(image: Image) -> np.ndarray:
    """``beta Q (I - beta Q)^-1 / 2**SCALE`` with 64 fraction bits."""
    q = image.transition.astype(np.float64) * 2.0**-64
    return np.rint(np.ldexp(np.linalg.solve(np.eye(q.shape[0]) - q, q), 64 - SCALE)).astype(np.uint64)


@dataclass
class Pair:
    """The gateware, and what must be the same."""

    device: RtlDevice
    parameters: MachineParameters

    def run(self, image: Image, sweeps: int, mode: int = 0) -> SweepSoftwareMachine:
        """Both to their end, and compared; the model is returned."""
        build, device = self.parameters, self.device
        grid, states = image.start.shape
        layout = Layout(build, grid, states)
        work = grid * states
        software = SweepSoftwareMachine(SweepParameters.of(build), logged=True)
        software.x[:grid] = image.grid
        software.w[:work] = image.wealth.ravel()
        software.v[:work] = image.start.ravel()
        for name, words in (("q", image.transition), ("shift_weights", shift_weights(image))):
            getattr(software, name).reshape(build.states, -1)[:states, :states] = words
        tables = {Table.X: software.x, Table.W: software.w, Table.V: software.v}
        for table, words in tables.items():
            for block in layout.blocks(table):
                part = words[block.table : block.table + block.count]
                device.write_block(table, block.window, np.ascontiguousarray(part))
        both = np.concatenate([software.q, software.shift_weights])
        device.write_block(Table.Q, 0, both.view(np.int64))
        constants = image.constants
        for name, value in {
            "MODE": mode,
            "GRID": grid,
            "STATES": states,
            "SWEEP_LIMIT": sweeps,
            "EPSILON": image.epsilon,
            "UTILITY_A": constants.a,
            "UTILITY_B": constants.b,
            "UTILITY_FORM": int(constants.negative) | int(constants.log) << 1 | constants.shift << 8,
        }.items():
            device.write_register(name, value)
        device.write_register("COMMAND", int(Command.RUN))
        software.start(grid, states, Mode(mode), sweeps, image.epsilon, constants)
        while not software.step():
            pass
        while not device.wait(0.5):
            assert device.read_register("CLOCKS") < 2 * software.clocks + 1_000
        seen = {name: device.read_register(name) for name in ("SWEEPS", "STATES_DONE", "NORM", "CLOCKS")}
        assert Status(device.read_register("STATUS")) == software.status
        assert (seen["SWEEPS"], seen["STATES_DONE"]) == (software.sweeps, software.states_done)
        assert seen["CLOCKS"] == software.clocks
        if Status.BAD_CONFIGURATION in software.status:
            return software
        for table, wanted in ((Table.V, software.v), (Table.POLICY, software.policy)):
            for block in layout.blocks(table):
                read = device.read_block(table, block.window, block.count)
                assert np.array_equal(read, wanted[block.table : block.table + block.count]), table.name
        assert seen["NORM"] == software.norm
        return software

    def drawn(self, rng: np.random.Generator) -> Image:
        """A problem of a size that fits."""
        grid, states = (
            int(rng.integers(low, high + 1)) for low, high in ((2, self.parameters.grid), (1, self.parameters.states))
        )
        return fixed_point(problem_of(rng, grid, states), 1e-6)


def test_random_problems_after_every_sweep(pair: Pair) -> None:
    rng = np.random.default_rng(pair.parameters.lanes)
    for _ in range(12):
        image = pair.drawn(rng)
        for sweeps in range(1, 6):
            pair.run(image, sweeps)


def test_rbc_to_the_end(pair: Pair) -> None:
    build = pair.parameters
    image = fixed_point(rbc(grid=build.grid, states=build.states), 1e-8)
    done = pair.run(image, 10_000)
    assert done.status == Status.DONE | Status.CONVERGED
    assert done.walked[-1] == 0


def test_wild_values_follow_the_walk(pair: Pair) -> None:
    """No concavity at all: which maximum is found depends on where a walk begins, so the model must walk alike."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        image = pair.drawn(rng)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        for sweeps in (1, 2, 4):
            pair.run(replace(image, start=wild), sweeps)


@pytest.mark.parametrize(
    "mode", [Mode.SHIFT, Mode.SHIFT | 3 << HELD.start, 2 << HELD.start], ids=["shift", "both", "held"]
)
def test_shifts_and_held_sweeps(pair: Pair, mode: int) -> None:
    """Each sweep of the beginning, and the end, which is a plain sweep whose norm is below epsilon."""
    build = pair.parameters
    image = fixed_point(rbc(grid=build.grid // 2 + 3, states=build.states), 1e-6)
    for sweeps in (1, 2, 3, 4, 5, 6, 9):
        pair.run(image, sweeps, mode)
    done = pair.run(image, 10_000, mode)
    assert done.status == Status.DONE | Status.CONVERGED


def test_other_peaks_are_found(pair: Pair) -> None:
    """Behind the last sweep, whatever ends it, and with shifts; a single peak is not taken for more."""
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
