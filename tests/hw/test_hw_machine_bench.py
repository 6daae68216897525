"""The whole machine under cocotb, at its own ports, against the software model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gpu_ref.random_problems import random_problem
from host.devices.model import ModelDevice
from host.driver import run
from host.formats import PADDING, fixed_point
from host.problem import Problem
from hw.model import SoftwareMachine
from hw.parameters import MachineParameters
from hw.verilog import generate
from sim.bench import run_bench
from sim.yosys import use_yosys

pytestmark = pytest.mark.gateware

PARAMETERS = MachineParameters(grid=16, states=3)


@pytest.mark.parametrize(
    ("grid", "states", "sweeps", "gaps"), [(16, 3, 4, 0.0), (16, 3, 4, 0.3), (11, 2, 5, 0.3), (5, 1, 6, 0.0)]
)
def test_solve_at_the_ports(tmp_path: Path, grid: int, states: int, sweeps: int, gaps: float) -> None:
    drawn = random_problem(np.random.default_rng(grid + states), grid, states)
    problem = Problem(grid=drawn.X, wealth=drawn.W, transition=drawn.Q, start=drawn.V0, beta=drawn.beta, eta=drawn.eta)
    image = replace(fixed_point(problem, 1e-6), epsilon=0)
    padded = np.full(PARAMETERS.grid, PADDING, np.int64)
    padded[:grid] = image.grid
    weights = np.zeros((states, PARAMETERS.states), np.uint64)
    weights[:, :states] = image.transition
    tables, results = tmp_path / "tables.npz", tmp_path / "results.npz"
    np.savez(
        tables,
        X=padded.view(np.uint64),
        W=image.wealth.reshape(-1).view(np.uint64),
        Q=weights.reshape(-1),
        V=image.start.reshape(-1).view(np.uint64),
    )
    constants = image.constants
    use_yosys(print)
    run_bench(
        generate(PARAMETERS),
        "sim.benches.machine",
        top="beltline",
        blocks=["beltline_evaluator"],
        parameters={
            "tables": str(tables),
            "results": str(results),
            "words": grid * states,
            "gaps": gaps,
            "settings": {
                "GRID": grid,
                "STATES": states,
                "SWEEP_LIMIT": sweeps,
                "EPSILON": 0,
                "UTILITY_A": constants.a % 2**64,
                "UTILITY_B": constants.b % 2**72,
                "UTILITY_FORM": int(constants.negative) | int(constants.log) << 1 | constants.shift << 8,
            },
        },
    )
    expected = run(ModelDevice(SoftwareMachine(PARAMETERS)), image, sweeps)
    with np.load(results) as seen:
        assert np.array_equal(seen["V"].view(np.int64).reshape(grid, states), expected.value)
        assert np.array_equal(seen["POLICY"].astype(np.int64).reshape(grid, states), expected.policy)
        for name, value in {
            "STATUS": int(expected.status),
            "CLOCKS": expected.clocks,
            "SWEEPS": expected.sweeps,
            "STATES_DONE": expected.states_done,
            "NORM": expected.norm,
        }.items():
            assert int(seen[name]) == value, name
