"""A simulated sweep engine beside its software model, run by run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from beltline.host.devices.base import built_sizes
from beltline.host.devices.rtl import RtlDevice
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.hw.interface.layout import Layout
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Command, Engine, Mode, Status, Table
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.shift import SCALE
from support.machines import fill_grid, fill_groups, opened, problem_of


def paired(lanes: int, grid: int, states: int, general: bool = False) -> Iterator[Pair]:
    """Yield a simulated sweep engine beside its model, and close it afterwards."""
    parameters = MachineParameters(grid, states, engine=Engine.SWEEP, lanes=lanes, general=general)
    for device in opened(parameters):
        assert built_sizes(device) == parameters
        yield Pair(device, parameters)


def assert_infeasible_as_a_group(pair: Pair, image: Image) -> None:
    """Assert that a run of retirement is infeasible only where each alternative of a regime can afford nothing."""
    assert image.products is not None
    work, retire = (image.products.of(d)[0] for d in (0, 1))
    for states, raised in (((work,), Status(0)), ((retire,), Status(0)), ((work, retire), Status.INFEASIBLE)):
        poor = image.wealth.copy()
        poor[:3, list(states)] = image.grid[0, list(states)]
        assert pair.run(replace(image, wealth=poor), 4).status & Status.INFEASIBLE == raised


def shift_weights(image: Image) -> np.ndarray:
    """Return ``beta Q (I - beta Q)^-1 / 2**SCALE`` with 64 fraction bits."""
    q = image.transition.astype(np.float64) * 2.0**-64
    return np.rint(np.ldexp(np.linalg.solve(np.eye(q.shape[0]) - q, q), 64 - SCALE)).astype(np.uint64)


@dataclass
class Pair:
    """The gateware of a sweep engine, its software model, and their comparison."""

    device: RtlDevice
    parameters: MachineParameters

    def layout(self, grid: int, states: int) -> Layout:
        return Layout(self.parameters, grid, states)

    def loaded(self, image: Image, after: SweepSoftwareMachine | None = None) -> SweepSoftwareMachine:
        """Return the model with the tables of an image, but with the values and choices that the run ``after`` left."""
        build = self.parameters
        grid, states = image.start.shape
        work = grid * states
        software = SweepSoftwareMachine(SweepParameters.of(build), logged=True)
        fill_grid(software, image)
        software.w[:work] = image.wealth.ravel()
        software.v[:work] = image.start.ravel()
        software.q.reshape(build.states, -1)[:states, :states] = image.transition
        if build.general:
            fill_groups(software, image)
        else:
            software.shift_weights.reshape(build.states, -1)[:states, :states] = shift_weights(image)
        if after is not None:
            software.v[:], software.policy[:] = after.v, after.policy
        return software

    def modelled(self, image: Image, sweeps: int, mode: int = 0) -> SweepSoftwareMachine:
        """Run the model alone to its end, and return it."""
        software = self.loaded(image)
        software.start(*image.start.shape, Mode(mode), sweeps, image.epsilon, image.constants)
        while not software.step():
            pass
        return software

    def run(
        self, image: Image, sweeps: int, mode: int = 0, after: SweepSoftwareMachine | None = None
    ) -> SweepSoftwareMachine:
        """Run gateware and model to their end, compare them, and return the model.

        With ``after``, the model of the last run, the device keeps the values and choices of that run.
        """
        device = self.device
        grid, states = image.start.shape
        layout = self.layout(grid, states)
        software = self.loaded(image, after)
        tables = {Table.X: software.x, Table.W: software.w} | ({Table.V: software.v} if after is None else {})
        for table, words in tables.items():
            for block in layout.blocks(table):
                part = words[block.table : block.table + block.count]
                device.write_block(table, block.window, np.ascontiguousarray(part))
        if software.bounds is not None:
            for block in layout.bounds:
                part = software.bounds[block.table : block.table + block.count]
                device.write_block(Table.X, block.window, part)
        both = np.concatenate([software.q, software.shift_weights])
        device.write_block(Table.Q, 0, both.view(np.int64))
        constants = image.constants
        for name, value in {
            "MODE": mode,
            "GRID": grid,
            "STATES": states,
            "SWEEP_LIMIT": sweeps,
            "EPSILON": image.epsilon,
            **constants.registers,
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
        assert seen["CLOCKS"] == pytest.approx(software.clocks, rel=0.02)
        if Status.BAD_CONFIGURATION in software.status:
            return software
        # Before its first sweep a device has the choices of the run before.
        for table, wanted in ((Table.V, software.v), (Table.POLICY, software.policy))[: 1 + (software.sweeps > 0)]:
            for block in layout.blocks(table):
                read = device.read_block(table, block.window, block.count)
                assert np.array_equal(read, wanted[block.table : block.table + block.count]), table.name
        assert seen["NORM"] == software.norm
        return software

    def run_to_proofs(self, image: Image) -> None:
        """Run gateware and model for several numbers of sweeps; each run must end proven."""
        for sweeps in (1, 2, 3, 9):
            assert Status.PROVEN in self.run(image, sweeps).status

    def drawn(self, rng: np.random.Generator) -> Image:
        """Draw a problem of a size that fits."""
        grid, states = (
            int(rng.integers(low, high + 1)) for low, high in ((2, self.parameters.grid), (1, self.parameters.states))
        )
        return fixed_point(problem_of(rng, grid, states), 1e-6)
