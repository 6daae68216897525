"""Builds for the multipliers of another chip return the same bits, with other latencies."""

from __future__ import annotations

import pytest

import beltline as bl
from beltline.host.devices import open_device
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.arithmetic.evaluator import EvaluatorParameters
from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.control.sequencer import SequencerParameters
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.line.clocks import run_clocks
from beltline.hw.line.line import LineParameters


def test_every_latency_is_that_of_the_builds_multiplier() -> None:
    known = MachineParameters(grid=16, states=6)
    other = MachineParameters(grid=16, states=6, multiplier=Multiplier.MULT18X18D)
    stages = other.stages
    evaluator, line, expectation, check = (
        after - before
        for before, after in (
            (EvaluatorParameters().latency, EvaluatorParameters(other.multiplier).latency),
            (LineParameters.of(known).latency, LineParameters.of(other).latency),
            (ExpectationParameters(6).latency, ExpectationParameters(6, other.multiplier).latency),
            (SequencerParameters(known).check, SequencerParameters(other).check),
        )
    )
    assert min(evaluator, expectation, check) > 0
    assert line == stages * evaluator
    sweeps = 7
    more = run_clocks(other, 16, 6, sweeps) - run_clocks(known, 16, 6, sweeps)
    assert more == check + expectation + sweeps * (line + expectation)


@pytest.mark.gateware
@pytest.mark.slow
def test_small_tiles_give_the_models_bits_and_clocks() -> None:
    parameters = MachineParameters(grid=4, states=2, multiplier=Multiplier.MULT18X18D)
    image = fixed_point(bl.rbc(grid=4, states=2), 1e-10)
    runs = []
    for name in ("rtl", "emulator"):
        device = open_device(name, parameters)
        try:
            runs.append(Driver(device).run(image, sweep_limit=5))
        finally:
            device.close()
    found, wanted = runs
    assert found.clocks == wanted.clocks == run_clocks(parameters, 4, 2, 5)
    assert (found.value == wanted.value).all()
    assert (found.policy == wanted.policy).all()
