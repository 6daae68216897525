"""Bounds of each state's choice in gateware against the software model: every word, every clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import product_image
from beltline.hw.interface.registers import BOUNDS_BIT, Mode, Status
from support.alternatives import with_alternatives
from support.bounds import BOUNDED, SHAPES, bounded, bounds
from support.pairs import Pair, proving_pairs

pytestmark = pytest.mark.gateware

SIZES = [
    pytest.param((2, 32, 8)),
    pytest.param((1, 16, 8), marks=pytest.mark.slow),
    pytest.param((4, 64, 16), marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES, ids="{0[0]}-lanes".format)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    for one in proving_pairs(*request.param, bounds=True):
        assert one.device.read_register("ENGINE") >> BOUNDS_BIT & 1
        yield one


def image_of(kind: str, seed: int, points: int) -> Image:
    return product_image(bounded(kind, seed, points, 1 if kind == "firing" else 2), 1e-4)


@pytest.mark.parametrize("kind", BOUNDED)
def test_every_kind_after_every_sweep(pair: Pair, kind: str) -> None:
    build = pair.parameters
    for seed, grid in enumerate((build.grid, build.grid // 2 + 3, 7)):
        pair.run_to_proofs(image_of(kind, seed, grid))


@pytest.mark.parametrize("kind", BOUNDED)
def test_to_the_end(pair: Pair, kind: str) -> None:
    done = pair.run(image_of(kind, 3, pair.parameters.grid - 3), 10_000)
    assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN


@pytest.mark.parametrize("shape", SHAPES)
def test_random_tables_and_bounds(pair: Pair, shape: str) -> None:
    """Any costs, cash on hand and values, with bounds of each shape, also from the choices of the last run."""
    rng = np.random.default_rng([12, SHAPES.index(shape)])
    repaired = 0
    for seed in range(4):
        image = image_of("any order", seed, int(rng.integers(7, pair.parameters.grid + 1)))
        assert image.groups is not None
        points, states = image.start.shape
        words = {name: rng.integers(-(2**20), 2**20, (points, states)) for name in ("grid", "wealth", "start")}
        sides = np.stack(bounds(rng, shape, points, states))
        groups = replace(image.groups, lowest=sides[0, 0], highest=sides[1, -1])
        given = replace(image, groups=groups, bounds=sides, **words)
        first = pair.run(given, 1)
        done = pair.run(given, 4, Mode.CHOICES, first)
        found = done.policy[: points * states].reshape(points, states)
        assert (found >= sides[0]).all()
        assert (found <= sides[1]).all()
        repaired += sum(one.searched for one in done.proven_by)
    assert repaired > 0 or shape in ("narrow", "single")


def test_runs_with_and_without_bounds_in_turn(pair: Pair) -> None:
    """Nothing of the bounds of the run before remains."""
    images = [
        product_image(with_alternatives("retirement", 1, pair.parameters.grid), 1e-4),
        image_of("any order", 1, pair.parameters.grid),
    ]
    runs = [pair.run(images[k % 2], 3) for k in range(4)]
    for k in range(2):
        assert np.array_equal(runs[k].v, runs[k + 2].v)
