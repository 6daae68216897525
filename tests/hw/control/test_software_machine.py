"""The software models of both engines end a run by the same rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.control.software_machine import SoftwareMachine
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Status
from beltline.hw.line.model import LineSoftwareMachine
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters
from support.machines import begun

IMAGE = fixed_point(rbc(grid=64, states=3), 1e-2)

MACHINES = pytest.mark.parametrize(
    "made",
    [
        lambda: LineSoftwareMachine(MachineParameters(64, 3)),
        lambda: LineSoftwareMachine(MachineParameters(64, 3), stage_by_stage=True),
        lambda: SweepSoftwareMachine(SweepParameters(64, 3, 4)),
    ],
    ids=["line", "stages", "lanes"],
)


def to_the_end(machine: SoftwareMachine) -> SoftwareMachine:
    while not machine.step():
        pass
    return machine


@MACHINES
def test_epsilon_is_strict(made: Callable[[], SoftwareMachine]) -> None:
    """A run ends with the first sweep whose norm is below epsilon, and not with one that equals it."""
    first = to_the_end(begun(made(), IMAGE))
    assert first.status & ~Status.PROVEN == Status.DONE | Status.CONVERGED
    assert first.sweeps > 1
    equal = to_the_end(begun(made(), replace(IMAGE, epsilon=first.norm)))
    above = to_the_end(begun(made(), replace(IMAGE, epsilon=first.norm + 1)))
    assert equal.sweeps == first.sweeps + 1
    assert above.sweeps == first.sweeps
    at_limit = to_the_end(begun(made(), replace(IMAGE, epsilon=first.norm + 1), sweep_limit=first.sweeps))
    assert at_limit.status == first.status


def test_a_horizon_ends_at_its_last_age() -> None:
    """A finite horizon ends at its last age, even if values of successive ages hardly differ."""
    machine = LineSoftwareMachine(MachineParameters(64, 3, 3 * 64 * 3))
    to_the_end(begun(machine, replace(IMAGE, epsilon=2**64 - 1), True, 3))
    assert (machine.sweeps, machine.status) == (3, Status.DONE | Status.LIMIT)
