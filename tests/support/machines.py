"""Helpers for tests of whole machines: the gateware beside the software model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

import numpy as np
import pytest

from beltline.host.devices.rtl import RtlDevice, open_rtl
from beltline.host.devices.software_model import ModelDevice
from beltline.host.problem.problem import Problem
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import Image
from beltline.host.solver.run import Run
from beltline.hw.arithmetic.numbers import MAXIMUM
from beltline.hw.control.software_machine import SoftwareMachine
from beltline.hw.interface.bounds import words_of
from beltline.hw.interface.parameters import GENERAL_STATES, MachineParameters
from beltline.hw.interface.registers import Mode
from beltline.hw.line.model import LineSoftwareMachine
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import ROW_WORDS, SweepParameters
from support.concave_problems import random_problem


def opened(parameters: MachineParameters) -> Iterator[RtlDevice]:
    device = open_rtl(parameters, print)
    yield device
    device.close()


def software(parameters: MachineParameters, stage_by_stage: bool = False) -> ModelDevice:
    return ModelDevice(LineSoftwareMachine(parameters, stage_by_stage))


def assert_same(a: Run, b: Run, clocks_error: float = 0.0) -> None:
    """Assert that two runs have the same bits, status and counters, sweep by sweep; clocks up to a relative error."""
    assert (a.status, a.sweeps, a.states_done, a.norm) == (b.status, b.sweeps, b.states_done, b.norm)
    assert a.clocks == pytest.approx(b.clocks, rel=clocks_error)
    for name in ("value", "policy"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.shape == right.shape
        assert np.array_equal(left, right), f"{name} differs first at {np.argwhere(left != right)[0]}"


def assert_all_agree(device: RtlDevice, parameters: MachineParameters, image: Image, sweeps: int) -> Run:
    """Assert that gateware, stage-by-stage model and fast path agree after every sweep, all of which are stored with a
    horizon.
    """
    gateware = Driver(device).run(image, sweeps, horizon=sweeps)
    fast = Driver(software(parameters)).run(image, sweeps, horizon=sweeps)
    assert_same(gateware, fast)
    assert_same(fast, Driver(software(parameters, stage_by_stage=True)).run(image, sweeps, horizon=sweeps))
    return gateware


def problem_of(rng: np.random.Generator, grid: int, states: int) -> Problem:
    drawn = random_problem(rng, grid, states)
    return Problem(
        grid=drawn.X, wealth=drawn.W, transition=drawn.Q, start=drawn.V0, beta=drawn.beta, eta=drawn.eta, horizon=6
    )


def proving_machine(
    image: Image,
    lanes: int = 2,
    contexts: int = 64,
    general: bool = True,
    *,
    logged: bool = False,
) -> SweepSoftwareMachine:
    """Return the software model of the smallest sweep engine that takes an image."""
    points, states = image.start.shape
    grid = max(ROW_WORDS * lanes, 1 << (points - 1).bit_length())
    built = max(GENERAL_STATES[0] if general else 1, 1 << (states - 1).bit_length())
    build = SweepParameters(grid, built, lanes, general=general)
    return SweepSoftwareMachine(build, contexts, logged)


def fill_grid(machine: SoftwareMachine, image: Image) -> None:
    """Write the image's grid, or what its points cost in each exogenous state."""
    grid, states = image.start.shape
    if isinstance(machine, SweepSoftwareMachine) and machine.build.general:
        costs = image.grid if image.grid.ndim == 2 else image.grid[:, None]
        table = machine.x.reshape(-1, machine.build.states)
        table[:grid, :states] = costs
    else:
        machine.x[:grid] = image.grid


def fill_groups(machine: SweepSoftwareMachine, image: Image) -> None:
    """Write the candidates of each state into a general build, and which states belong together; each is alone where
    the image has no groups.
    """
    if machine.bounds is not None:
        rows = image.every_group.rows(machine.build.states).view(np.uint64)
        machine.shift_weights[: rows.size] = rows.ravel()
        words = words_of(image.candidates)
        machine.bounds[: words.size] = words.ravel()


Machine = TypeVar("Machine", bound=SoftwareMachine)


def begun(machine: Machine, image: Image, horizon: bool = False, sweep_limit: int = 10_000, mode: int = 0) -> Machine:
    """Return the machine with the image's tables, after the prologue."""
    grid, states = image.start.shape
    stride = math.isqrt(machine.q.size)
    machine.x[:] = MAXIMUM
    fill_grid(machine, image)
    machine.w[: grid * states] = image.wealth.ravel()
    machine.q.reshape(stride, stride)[:states, :states] = image.transition
    machine.v[: grid * states] = image.start.ravel()
    if isinstance(machine, SweepSoftwareMachine):
        fill_groups(machine, image)
    mode = Mode(mode) | (Mode.HORIZON if horizon else Mode(0))
    machine.start(grid, states, mode, sweep_limit, image.epsilon, image.constants)
    return machine
