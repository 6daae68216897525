"""The whole machine under cocotb, at its buses, against the software model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from beltline.gpu_ref.random_problems import random_problem
from beltline.host.devices.software_model import ModelDevice
from beltline.host.problem.problem import Problem
from beltline.host.solver.driver import run
from beltline.host.solver.fixed_point import PADDING, Image, fixed_point
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Table
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.line.model import LineSoftwareMachine
from beltline.hw.top.verilog import generate
from beltline.sim.cocotb_runner import run_bench
from beltline.sim.yosys import use_yosys

pytestmark = pytest.mark.gateware

PARAMETERS = MachineParameters(grid=16, states=3, results=150)


def image_of(grid: int, states: int) -> Image:
    drawn = random_problem(np.random.default_rng(grid + states), grid, states)
    problem = Problem(grid=drawn.X, wealth=drawn.W, transition=drawn.Q, start=drawn.V0, beta=drawn.beta, eta=drawn.eta)
    return replace(fixed_point(problem, 1e-6), epsilon=0)


def bench(tmp_path: Path, test: str, image: Image, sweeps: int, bus_bits: int, stalls: bool) -> Path:
    """Run one test of the bench with the tables and settings of ``image``; return the path of its results."""
    grid, states = image.start.shape
    parameters = replace(PARAMETERS, bus_bits=bus_bits)
    padded = np.full(parameters.grid, PADDING, np.int64)
    padded[:grid] = image.grid
    weights = np.zeros((states, parameters.states), np.uint64)
    weights[:, :states] = image.transition
    tables, results = tmp_path / "tables.npz", tmp_path / "results.npz"
    np.savez(tables, X=padded, W=image.wealth.reshape(-1), Q=weights.reshape(-1), V=image.start.reshape(-1))
    constants = image.constants
    windows = WindowParameters(parameters)
    use_yosys(print)
    run_bench(
        generate(parameters),
        "beltline.sim.benches.machine",
        top="beltline",
        tests=[test],
        blocks=["beltline_evaluator"],
        parameters={
            "tables": str(tables),
            "results": str(results),
            "words": grid * states,
            "sizes": [windows.words(table) for table in Table],
            "window_bits": windows.window_bits,
            "data_bits": bus_bits,
            "stalls": stalls,
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
        seed=bus_bits + stalls,
    )
    return results


@pytest.mark.parametrize(
    ("grid", "states", "sweeps", "bus_bits", "stalls"),
    [
        pytest.param(16, 3, 9, 64, False, marks=pytest.mark.slow),
        pytest.param(16, 3, 9, 64, True, marks=pytest.mark.slow),
        (11, 2, 4, 512, True),
    ],
)
def test_solve_at_the_buses(tmp_path: Path, grid: int, states: int, sweeps: int, bus_bits: int, stalls: bool) -> None:
    image = image_of(grid, states)
    results = bench(tmp_path, "solve", image, sweeps, bus_bits, stalls)
    expected = run(ModelDevice(LineSoftwareMachine(PARAMETERS)), image, sweeps)
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


@pytest.mark.parametrize(("bus_bits", "stalls"), [(512, True), pytest.param(64, False, marks=pytest.mark.slow)])
def test_races_lose_nothing(tmp_path: Path, bus_bits: int, stalls: bool) -> None:
    bench(tmp_path, "races", image_of(16, 3), 1, bus_bits, stalls)
