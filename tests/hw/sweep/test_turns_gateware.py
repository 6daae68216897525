"""Expected values whose products take a few multipliers in turn: machines beside the software model, to the clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.host.solver.product_image import product_image
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import ALTERNATIVES_ENGINE, LINEAR_BIT, Status
from support.alternatives import with_alternatives
from support.costs import with_cost
from support.pairs import Pair, proving_pairs

pytestmark = pytest.mark.gateware

SIZES = [
    pytest.param((2, 32, 32, 4), id="32 states", marks=pytest.mark.slow),
    pytest.param((2, 32, 4, 1), id="4 states", marks=pytest.mark.slow),
    pytest.param((1, 16, 64, 8), id="64 states", marks=pytest.mark.slow),
    pytest.param((4, 32, 64, 16), id="64 states, 4 lanes", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    lanes, grid, states, multipliers = request.param
    for one in proving_pairs(lanes, grid, states, multipliers=multipliers):
        assert one.device.read_register("ENGINE") == ALTERNATIVES_ENGINE | multipliers << 8 | 1 << LINEAR_BIT
        yield one


def images(build: MachineParameters, tol: float) -> Iterator[Image]:
    """Yield problems with 1 product state, with as many as the build has, and with numbers between."""
    most = build.states
    for kind, each in (("default", 2), ("exit", 3), ("retirement", 3), ("random", 4)):
        for count in sorted({1, min(10, most // each), min(11, most // each), most // each} - {0}):
            for grid in (build.grid, build.grid // 2 + 3, 7):
                yield product_image(with_alternatives(kind, count + grid, grid, count), tol)


def test_every_problem_after_every_sweep(pair: Pair) -> None:
    for image in images(pair.parameters, 1e-4):
        for sweeps in (1, 2, 5):
            done = pair.run(image, sweeps)
            assert Status.PROVEN in done.status


def test_words_that_no_problem_has(pair: Pair) -> None:
    """Gateware and model agree if large values, and weights that add up to more than 1, saturate the expectations."""
    rng = np.random.default_rng(3)
    build = pair.parameters
    image = product_image(with_alternatives("default", 3, build.grid, build.states // 2), 1e-4)
    start = rng.integers(-(2**50), 2**50, image.start.shape)
    weights = rng.integers(0, 2**64, image.transition.shape, dtype=np.uint64)
    ends = [pair.run(replace(image, start=start, transition=weights), sweeps).status for sweeps in (1, 2, 20)]
    assert Status.SATURATED not in ends[0]
    assert Status.SATURATED in ends[-1]


def test_without_alternatives(pair: Pair) -> None:
    image = fixed_point(with_cost("laffer", 1, pair.parameters.grid - 1, min(3, pair.parameters.states)), 1e-6)
    assert Status.PROVEN in pair.run(image, 7).status
