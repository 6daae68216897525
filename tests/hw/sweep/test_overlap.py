"""Machines that list points for the expectation during the local search, against their software model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from beltline.host.devices.software_model import ModelDevice
from beltline.host.models.rbc import rbc
from beltline.host.solver.driver import run
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine
from beltline.hw.sweep.model import SweepSoftwareMachine
from beltline.hw.sweep.parameters import SweepParameters


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
