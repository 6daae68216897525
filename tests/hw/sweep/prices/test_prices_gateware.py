"""Prices of bonds in gateware against the software model: every word, every counter, every clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.host.solver.fixed_point import Image, fixed_point
from beltline.host.solver.machine_prices import with_machine_prices
from beltline.host.solver.product_image import product_image
from beltline.hw.interface.groups import Groups, Mark
from beltline.hw.interface.registers import LINEAR_BIT, PRICES_ENGINE, UPDATE_FIELD, Mode, Status
from support.alternatives import KINDS, with_alternatives
from support.costs import with_cost
from support.pairs import Pair, proving_pairs

pytestmark = pytest.mark.gateware

SIZES = [
    pytest.param((2, 32, 16, 4), id="2 lanes"),
    pytest.param((1, 16, 16, 8), id="1 lane", marks=pytest.mark.slow),
    pytest.param((4, 64, 32, 1), id="4 lanes", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    lanes, grid, states, multipliers = request.param
    for one in proving_pairs(lanes, grid, states, multipliers=multipliers, prices=True):
        assert one.device.read_register("ENGINE") == PRICES_ENGINE | multipliers << 8 | 1 << LINEAR_BIT
        yield one


def every(sweeps: int) -> int:
    """Return the bits of register ``MODE`` for updates after this number of sweeps."""
    return sweeps << UPDATE_FIELD.start


def economy(bonds: int, incomes: int = 5, tol: float = 1e-4) -> Image:
    model = bl.arellano(bonds=bonds, incomes=incomes)
    problem = model.problem()
    return with_machine_prices(problem, model.update, product_image(problem, tol), None, None, tol)


def test_economies_after_every_sweep(pair: Pair) -> None:
    """Gateware and model agree after every sweep, with lanes that are full, nearly empty or empty."""
    for bonds in (pair.parameters.grid - 1, pair.parameters.grid // 2 + 3 | 1, 7):
        image = economy(bonds)
        for sweeps, updates in ((3, 0), (1, 1), (2, 1), (3, 1), (8, 3), (4, 255)):
            done = pair.run(image, sweeps, every(updates))
            assert Status.PROVEN in done.status
            assert (done.updates > 0) == (0 < updates <= sweeps)


@pytest.mark.parametrize("updates", [1, 7, 255])
def test_economies_to_the_end(pair: Pair, updates: int) -> None:
    for bonds, incomes in ((pair.parameters.grid - 1, 5), (9, 7), (7, 1)):
        done = pair.run(economy(bonds, incomes), 10_000, every(updates))
        assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN
        assert done.updates > 0


def test_random_marks_and_faces(pair: Pair) -> None:
    """Gateware and model agree on words that no economy has: any groups and marks, and extreme payments."""
    rng = np.random.default_rng(7)
    build, updates = pair.parameters, 0
    for seed in range(8):
        points = int(rng.integers(7, build.grid + 1))
        image = product_image(with_alternatives(KINDS[seed % len(KINDS)], seed, points, 3), 1e-4)
        assert image.groups is not None
        states = image.start.shape[1]
        begins = rng.random(states) < 0.5
        begins[0] = True
        marks = begins * int(Mark.BEGINS) + np.append(begins[1:], True) * int(Mark.ENDS)
        for mark, chance in ((Mark.KEEPS, 0.1), (Mark.UNPAID, 0.5), (Mark.PRICED, 0.7)):
            marks = marks + (rng.random(states) < chance) * int(mark)
        groups = replace(image.groups, marks=marks, lowest=0 * marks, highest=0 * marks + points - 1)
        faces = rng.integers(-(2**51), 2**51, points)
        if seed % 2:
            faces = rng.choice(np.array([-(2**63), 2**63 - 1, 0, 1, -1]), points)
        # Values that are equal, and at which bonds are paid if one of the equal alternatives pays.
        start = rng.integers(-2, 3, image.start.shape) << 50
        odd = replace(image, groups=groups, faces=faces, start=start)
        for sweeps, number in ((1, 1), (4, 1), (6, 2)):
            updates += pair.run(odd, sweeps, every(number)).updates
    assert updates > 20


def test_a_run_after_another(pair: Pair) -> None:
    """A run with updates is not influenced by the run before it, which left stored choices and an update of costs."""
    image = economy(pair.parameters.grid - 3)
    first = pair.run(image, 5, every(1))
    stored = pair.run(image, 3, Mode.CHOICES | every(2), first)
    assert stored.updates > 0
    again = pair.run(image, 5, every(1))
    assert again.clocks == first.clocks
    # A run that begins at the last prices and values of another does not know that they belong together.
    ended = pair.run(image, 10_000, every(1))
    points, states = image.start.shape
    built = pair.parameters.states
    groups = Groups.of(ended.shift_weights.reshape(built, -1), states)
    settled = replace(image, groups=groups, grid=ended.x.reshape(-1, built)[:points, :states].copy())
    assert pair.run(settled, 2, Mode.CHOICES | every(1), ended).updates == 1


def test_without_prices_problems_keep_their_bits(pair: Pair) -> None:
    """Without updates, clocks and bits are those of a build that does not compute prices."""
    build = pair.parameters
    for image in (
        fixed_point(with_cost("laffer", 1, build.grid - 1, 3), 1e-6),
        product_image(with_alternatives("random", 2, build.grid - 1, 3), 1e-4),
    ):
        done = pair.run(image, 7)
        without = Pair(pair.device, replace(build, prices=False)).modelled(image, 7)
        assert np.array_equal(done.v, without.v)
        assert np.array_equal(done.policy, without.policy)
        assert done.clocks == without.clocks
