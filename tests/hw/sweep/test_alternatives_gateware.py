"""Alternatives in gateware against the software model: every word, every counter, every clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from beltline.host.solver.fixed_point import fixed_point
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.numbers import MINIMUM
from beltline.hw.interface.registers import ALTERNATIVES_ENGINE, LINEAR_BIT, STEPS_FIELD, Mode, Status
from beltline.hw.sweep.combine import CombineParameters
from support.alternatives import KINDS, with_alternatives
from support.costs import with_cost
from support.pairs import Pair, assert_infeasible_as_a_group, proving_pairs

pytestmark = pytest.mark.gateware

SIZES = [
    pytest.param((2, 32, 8)),
    pytest.param((1, 16, 8), marks=pytest.mark.slow),
    pytest.param((4, 64, 16), marks=pytest.mark.slow),
    # Two row buses, on which lanes request rows of the same lane in the same clock.
    pytest.param((8, 64, 8), marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES, ids="{0[0]}-lanes".format)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    for one in proving_pairs(*request.param):
        assert one.device.read_register("ENGINE") == ALTERNATIVES_ENGINE | 1 << LINEAR_BIT
        yield one


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_after_every_sweep(pair: Pair, kind: str) -> None:
    """Gateware and model agree after every sweep, with lanes that are full, nearly empty or empty."""
    build = pair.parameters
    for seed, grid in enumerate((build.grid, build.grid // 2 + 3, 7)):
        image = product_image(with_alternatives(kind, seed, grid), 1e-4)
        for sweeps in (1, 2, 3, 9):
            done = pair.run(image, sweeps)
            assert Status.PROVEN in done.status


@pytest.mark.parametrize("kind", KINDS)
def test_to_the_end(pair: Pair, kind: str) -> None:
    image = product_image(with_alternatives(kind, 4, pair.parameters.grid - 3), 1e-4)
    done = pair.run(image, 10_000)
    assert done.status == Status.DONE | Status.CONVERGED | Status.PROVEN


@pytest.mark.parametrize("kind", ["default", "retirement"])
def test_a_run_begins_from_the_choices_of_the_last_one(pair: Pair, kind: str) -> None:
    """After costs have changed, a run from stored choices has the values and choices of one that begins without."""
    image = product_image(with_alternatives(kind, 3, pair.parameters.grid), 1e-4)
    # Costs that do not fall in x' still do not after a rise that grows with x'.
    rise = np.arange(image.grid.shape[0])[:, None] * round(2.0**-9 / image.amount_unit)
    dearer = replace(image, grid=np.where(image.grid < image.wealth.max(axis=0), image.grid + rise, image.grid))
    assert (np.diff(dearer.grid, axis=0) >= 0).all()
    runs = []
    for mode in (Mode(0), Mode.CHOICES):
        first = pair.run(image, 5)
        changed = pair.run(dearer, 1, mode, first)
        again = pair.run(dearer, 4, mode, changed)
        runs.append((changed, again, pair.run(image, 2, mode, again)))
    for cold, stored in zip(*runs, strict=True):
        assert Status.PROVEN in cold.status & stored.status
        np.testing.assert_array_equal(stored.policy, cold.policy)
        np.testing.assert_array_equal(stored.v, cold.v)
    assert runs[1][1].clocks < runs[0][1].clocks


def test_neither_shifts_nor_evaluation_steps(pair: Pair) -> None:
    image = product_image(with_alternatives("default", 2, pair.parameters.grid), 1e-3)
    plain, asked = (pair.run(image, 12, mode) for mode in (Mode(0), Mode.SHIFT | 3 << STEPS_FIELD.start))
    assert (plain.norm, plain.clocks) == (asked.norm, asked.clocks)


def test_groups_that_can_afford_nothing(pair: Pair) -> None:
    """The run ends as infeasible only if a whole group can afford nothing, also after a repair."""
    image = product_image(with_alternatives("retirement", 1, pair.parameters.grid), 1e-4)
    assert_infeasible_as_a_group(pair, image)
    start = image.start.copy()
    start[4] = MINIMUM
    assert pair.run(replace(image, start=start), 4).status == Status.DONE | Status.INFEASIBLE


def test_random_values_and_marks(pair: Pair) -> None:
    """Gateware and model agree on random groups, tables of values and added utilities that need divide and conquer."""
    rng = np.random.default_rng(5)
    build = pair.parameters
    searched = 0
    for seed in range(5):
        image = product_image(with_alternatives("random", seed, int(rng.integers(9, build.grid + 1))), 1e-4)
        assert image.groups is not None
        states = image.start.shape[1]
        begins = rng.random(states) < 0.5
        begins[0] = True
        marks = begins * 1 + np.append(begins[1:], True) * 2 + (rng.random(states) < 0.2) * 4
        groups = replace(image.groups, marks=marks.astype(np.int64), kappa=rng.integers(-(2**50), 2**50, states))
        wild = rng.integers(-(2**56), 2**56, image.start.shape)
        for sweeps in (1, 2, 5):
            done = pair.run(replace(image, start=wild, groups=groups), sweeps)
            searched += sum(one.searched for one in done.proven_by)
    assert searched > 0


def test_random_candidates(pair: Pair) -> None:
    """Gateware and model agree on any candidates of each state, from stored choices elsewhere and from none."""
    rng = np.random.default_rng(6)
    build = pair.parameters
    searched, divided, single = 0, 0, 0
    for seed in range(8):
        image = product_image(
            with_alternatives(KINDS[seed % len(KINDS)], seed, int(rng.integers(7, build.grid + 1))), 1e-4
        )
        assert image.groups is not None
        points, states = image.start.shape
        lowest = rng.integers(0, points, states)
        highest = rng.integers(lowest, points)
        lowest[rng.random(states) < 0.3] = 0
        highest[rng.random(states) < 0.3] = points - 1
        forced = rng.random(states) < 0.2
        highest[forced] = lowest[forced]
        single += int(forced.sum())
        few = replace(image, groups=replace(image.groups, lowest=lowest, highest=highest))
        wild = rng.integers(-(2**56), 2**56, image.start.shape)
        for start in (image.start, wild):
            before = pair.run(replace(image, start=start), 1)
            for sweeps, mode, after in ((1, Mode.CHOICES, before), (1, Mode(0), None), (4, Mode(0), None)):
                done = pair.run(replace(few, start=start), sweeps, mode, after)
                searched += sum(one.searched for one in done.proven_by)
                divided += sum(one.divided for one in done.proven_by)
                if Status.INFEASIBLE not in done.status:
                    choices = done.policy[: image.start.size].reshape(image.start.shape)
                    assert ((lowest <= choices) & (choices <= highest)).all()
    assert min(searched, divided, single) > 0


def test_additions_may_leave_the_range(pair: Pair) -> None:
    """A sum out of range is flagged if the state can afford a choice; else its value is the lowest number."""
    image = product_image(with_alternatives("default", 1, pair.parameters.grid), 1e-4)
    assert image.groups is not None
    poor = (image.wealth <= image.grid[0]).any(axis=0)
    assert poor.any()
    lowest = np.full(poor.size, -(2**62), np.int64)
    for kappa, raised in ((np.where(poor, lowest, 0), Status(0)), (2 * lowest, Status.SATURATED)):
        done = pair.run(replace(image, groups=replace(image.groups, kappa=kappa)), 1)
        if raised:
            assert Status.SATURATED in done.status
        value = done.v[: image.start.size].reshape(image.start.shape)
        assert (value[image.wealth <= image.grid[0]] == MINIMUM).all()


def test_without_alternatives_problems_keep_their_bits(pair: Pair) -> None:
    """Bits are those of a build without alternatives.

    A sweep also takes the clocks of the unit that takes maxima, and those of shared brackets if several lanes have
    points.
    """
    build = pair.parameters
    for grid in (build.grid - 1, 7):
        image = fixed_point(with_cost("laffer", 1, grid, 3), 1e-6)
        done = pair.run(image, 7)
        without = Pair(pair.device, replace(build, alternatives=False)).modelled(image, 7)
        assert np.array_equal(done.v, without.v)
        assert np.array_equal(done.policy, without.policy)
        if grid == 7:
            assert 0 < done.clocks - without.clocks <= 8 * CombineParameters(build.states).latency
