"""The headline problem on the software model, against double precision."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref import cpu
from beltline.gpu_ref.published import grid_search
from beltline.host.devices.software_model import ModelDevice
from beltline.host.models.rbc import rbc
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.arithmetic.numbers import Fixed
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Mode, Status
from beltline.hw.line.model import LineSoftwareMachine

TIE = 1e-12
"""Two candidates whose objectives differ by less are a tie in double precision, whose own error is some 1e-14."""


@pytest.mark.slow
def test_headline_problem_against_double_precision() -> None:
    problem = rbc(grid=65_536, states=4)
    image = fixed_point(problem, 1e-10)
    machine = LineSoftwareMachine(MachineParameters(65_536, 4))
    limit = Driver(ModelDevice(machine)).run(image, 1)
    assert limit.status == Status.DONE | Status.LIMIT

    machine.v[:] = image.start.reshape(-1)
    machine.start(65_536, 4, Mode(0), 10_000, image.epsilon, image.constants)
    previous = machine.v
    ended = False
    while not ended:
        previous = machine.v.copy()
        ended = machine.step()
    assert machine.status == Status.DONE | Status.CONVERGED
    assert abs(machine.sweeps - 1_353) <= 1
    assert machine.literal_sweeps == 0
    value_format = Fixed(image.value_bits)
    policy = machine.policy.reshape(65_536, 4)

    before = value_format.decode(previous).reshape(65_536, 4)
    tables = (problem.grid, problem.wealth, problem.transition)
    best, brute = grid_search.sweep(*tables, before, problem.beta, problem.eta)
    expected = problem.beta * before @ problem.transition.T
    points, states = np.nonzero(policy != brute)
    for x, s in zip(points.tolist(), states.tolist(), strict=True):
        choice = policy[x, s]
        reached = -1 / (problem.wealth[x, s] - problem.grid[choice]) + expected[choice, s]
        print(f"state ({x}, {s}): {choice}, full search {brute[x, s]}, {best[x, s] - reached:.2e} better")
        assert best[x, s] - reached < TIE
    print(f"{points.size} of {policy.size} choices differ from the full search")

    double = cpu.solve(*tables, problem.start, problem.beta, problem.eta, 1e-10, method="warm")
    assert double.sweeps == machine.sweeps
    gap = np.abs(value_format.decode(machine.v).reshape(65_536, 4) - double.value).max()
    print(f"{machine.sweeps} sweeps, largest gap of V to double precision {gap:.2e}")
    assert gap <= 1e-11
