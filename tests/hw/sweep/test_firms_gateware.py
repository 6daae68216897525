"""Linear utility and negative dividends in gateware against the software model: every word, every clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.registers import LINEAR_BIT, Mode, Status
from support.alternatives import with_alternatives
from support.firms import FIRMS, SCALES, firm
from support.pairs import Pair, proving_pairs

pytestmark = pytest.mark.gateware

SIZES = [
    pytest.param((2, 32, 8)),
    pytest.param((1, 16, 8), marks=pytest.mark.slow),
    pytest.param((4, 64, 16), marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES, ids="{0[0]}-lanes".format)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    for one in proving_pairs(*request.param):
        assert one.device.read_register("ENGINE") >> LINEAR_BIT & 1
        yield one


def image_of(kind: str, seed: int, points: int) -> Image:
    scale = 1.0 if kind == "linear" else SCALES[seed % len(SCALES)]
    return product_image(firm(kind, seed, points, 1 if kind == "entry" else 2), 1e-4 * scale)


@pytest.mark.parametrize("kind", FIRMS)
def test_every_kind_after_every_sweep(pair: Pair, kind: str) -> None:
    build = pair.parameters
    for seed, grid in enumerate((build.grid, build.grid // 2 + 3, 7)):
        pair.run_to_proofs(image_of(kind, seed, grid))


@pytest.mark.parametrize("kind", FIRMS)
def test_to_the_end(pair: Pair, kind: str) -> None:
    done = pair.run(image_of(kind, 3, pair.parameters.grid - 3), 10_000)
    assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN


def test_linear_and_curved_utility_in_turn(pair: Pair) -> None:
    """The kind of utility is that of each run: nothing of the run before remains."""
    curved = product_image(with_alternatives("retirement", 1, pair.parameters.grid), 1e-4)
    linear = image_of("entry", 1, pair.parameters.grid)
    runs = [pair.run(image, 3) for image in (curved, linear, curved, linear)]
    assert np.array_equal(runs[0].v, runs[2].v)
    assert np.array_equal(runs[1].v, runs[3].v)


def test_random_tables(pair: Pair) -> None:
    """Any costs, cash on hand, values and candidates, of any size, with and without negative dividends."""
    rng = np.random.default_rng(11)
    seen = {"repaired": 0, "negative": 0, "infeasible": 0, "proven": 0}
    for seed in range(12):
        image = image_of("random firm", seed, int(rng.integers(7, pair.parameters.grid + 1)))
        assert image.groups is not None
        shape = image.start.shape
        size = 2 ** int(rng.integers(3, 61))
        words = {name: rng.integers(-size, size + 1, shape) for name in ("grid", "wealth", "start")}
        words["wealth"].sort(axis=0)
        constants = UtilityConstants.of(0.0, 40, 40, bool(seed % 3))
        if not constants.negative:
            words["grid"].sort(axis=0)
        groups = replace(image.groups, kappa=rng.integers(-size, size, shape[1]))
        given = replace(image, constants=constants, groups=groups, **words)
        first = pair.run(given, 1)
        done = pair.run(given, 4, Mode.CHOICES, first) if Status.INFEASIBLE not in first.status else first
        assert Status.SATURATED not in done.status
        seen["repaired"] += sum(one.searched for one in done.proven_by)
        seen["negative"] += bool((words["wealth"][:, None] - words["grid"][None] < 0).any() and constants.negative)
        seen["infeasible"] += Status.INFEASIBLE in done.status
        seen["proven"] += Status.PROVEN in done.status
    assert min(seen.values()) > 0, seen


def test_amounts_at_the_ends_of_the_range(pair: Pair) -> None:
    image = image_of("random firm", 0, pair.parameters.grid)
    assert image.groups is not None
    groups = replace(image.groups, kappa=0 * image.groups.kappa)
    given = replace(image, groups=groups, start=0 * image.start, transition=0 * image.transition)
    statuses = []
    for wealth, cost in (
        (0, -MAXIMUM),
        (MINIMUM + 1, 0),
        (MINIMUM, 0),
        (-2, MAXIMUM),
        (MINIMUM, MAXIMUM),
        (0, MAXIMUM),
        (0, 0),
        (1, -MAXIMUM),
        (MAXIMUM, MINIMUM),
    ):
        one = replace(given, wealth=0 * image.wealth + wealth, grid=0 * image.grid + cost)
        statuses.append(pair.run(one, 1).status & (Status.SATURATED | Status.INFEASIBLE))
    none = Status(0)
    wanted = [none, none, *[Status.INFEASIBLE] * 3, none, none, *[Status.SATURATED] * 2]
    assert statuses == wanted
