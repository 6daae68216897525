"""Tables of costs in gateware against the software model: every word, every counter, every clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.models.rbc import rbc
from beltline.host.solver.fixed_point import fixed_point
from beltline.hw.interface.registers import COSTS_ENGINE, STEPS_FIELD, Mode, Status
from support.costs import SHAPES, with_cost
from support.pairs import Pair, proving_pairs
from support.peaks import FullSearch, savings

pytestmark = pytest.mark.gateware

SIZES = [
    pytest.param((2, 32, 4)),
    pytest.param((1, 16, 1)),
    pytest.param((4, 64, 8), marks=pytest.mark.slow),
    pytest.param((16, 128, 2), marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES, ids="{0[0]}-lanes".format)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    for one in proving_pairs(*request.param, alternatives=False):
        assert one.device.read_register("ENGINE") == COSTS_ENGINE
        yield one


@pytest.mark.parametrize("shape", SHAPES)
def test_costs_of_every_shape_after_every_sweep(pair: Pair, shape: str) -> None:
    """Gateware and model agree, and choose as full search does, in all kinds of lanes and with unused states."""
    build = pair.parameters
    for seed, (grid, states) in enumerate(((build.grid, 4), (build.grid - 5, 3), (build.grid // 2 + 1, 2), (7, 1))):
        image = fixed_point(with_cost(shape, seed, grid, min(states, build.states)), 1e-6)
        runs = [pair.run(image, sweeps) for sweeps in (1, 2, 5, 6)]
        assert all(Status.PROVEN in done.status for done in runs)
        words = runs[-2].v, runs[-1].policy
        last, choices = (table[: image.start.size].reshape(image.start.shape) for table in words)
        assert np.array_equal(choices, FullSearch(image)(last, choices).choices)


def test_random_values_and_costs(pair: Pair) -> None:
    """Gateware and model agree where local searches end on any of many peaks, and rounds use divide and conquer."""
    rng = np.random.default_rng(5)
    divided = 0
    for seed in range(6):
        grid, states = int(rng.integers(2, pair.parameters.grid + 1)), int(rng.integers(1, pair.parameters.states + 1))
        image = fixed_point(with_cost("random", seed, grid, states), 1e-6)
        wild = np.round(rng.integers(-(2**58), 2**58, image.start.shape) / 2**57).astype(np.int64) * 2**50
        for sweeps in (1, 2, 4):
            done = pair.run(replace(image, start=wild), sweeps)
            divided += sum(one.divided for one in done.proven_by)
    assert divided > 0


def test_whole_solve_with_shifts_and_evaluation_steps(pair: Pair) -> None:
    build = pair.parameters
    image = fixed_point(with_cost("laffer", 1, build.grid - 3, build.states), 1e-5)
    for mode in (Mode(0), Mode.SHIFT, Mode.SHIFT | 3 << STEPS_FIELD.start):
        done = pair.run(image, 10_000, mode)
        assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN


def test_without_costs_of_their_own_problems_keep_their_bits(pair: Pair) -> None:
    """Problems in which costs equal the grid have the bits and clocks of the model without costs."""
    build = pair.parameters
    plain = Pair(pair.device, replace(build, costs=False))
    for given in (rbc(grid=build.grid - 1, states=build.states), savings("jumps", 1, build.grid, build.states)):
        image = fixed_point(given, 1e-6)
        done, without = pair.run(image, 7), plain.modelled(image, 7)
        assert done.clocks == without.clocks
        assert np.array_equal(done.v, without.v)
        assert np.array_equal(done.policy, without.policy)


def test_costs_that_no_state_can_afford(pair: Pair) -> None:
    image = fixed_point(with_cost("kink", 1, pair.parameters.grid, pair.parameters.states), 1e-6)
    image.wealth[:3, 0] = image.grid[0, 0]
    assert pair.run(image, 3).status == Status.DONE | Status.INFEASIBLE
