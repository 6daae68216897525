"""Bounds of each state's choice in the software model, against full search in fixed point."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.objective import INFEASIBLE
from beltline.hw.interface.groups import Mark
from beltline.hw.interface.registers import Status
from beltline.hw.sweep.software_proof import divide_all
from support.alternatives import FullSearch
from support.bounds import BOUNDED, SHAPES, bounded, bounds
from support.machines import begun, proving_machine

PROBLEMS, BLOCK = 300, 15
"""Number of random problems, and of those that a test tries."""

BLOCKS = [pytest.param(first, marks=[pytest.mark.slow] * (first > 0)) for first in range(0, PROBLEMS, BLOCK)]

ENOUGH = 8
"""Sweeps of a problem that are compared, besides the last one."""


def drawn(seed: int, most: int = 24) -> Image:
    """Return the image of a problem with up to ``most`` points."""
    rng = np.random.default_rng([21, seed])
    kind, points = BOUNDED[seed % len(BOUNDED)], int(rng.integers(8, most + 1))
    return product_image(bounded(kind, seed, points, 1 if kind == "firing" else int(rng.integers(1, 4))), 1e-4)


@pytest.mark.parametrize("first", BLOCKS)
def test_every_sweep_is_full_searchs(first: int) -> None:
    """Values and proven choices are those of full search in fixed point, whatever the number of lanes."""
    compared = 0
    for seed in range(first, first + BLOCK):
        image = drawn(seed)
        machines = [begun(proving_machine(image, lanes), image) for lanes in (1, 2, 4)]
        size, shape = image.start.size, image.start.shape
        full = FullSearch(image)
        keeps = image.groups.has(Mark.KEEPS) if image.groups is not None else np.zeros(shape[1], np.bool_)
        ended = False
        while not ended:
            before = machines[0].v[:size].reshape(shape).copy()
            ended = machines[0].step()
            for other in machines[1:]:
                assert other.step() == ended
            if not ended and machines[0].sweeps > ENOUGH:
                continue
            value, choices = full(before)
            able = (choices >= 0) & ~keeps
            for machine in machines:
                assert np.array_equal(machine.v[:size].reshape(shape), value), (seed, machine.sweeps)
                found = machine.policy[:size].reshape(shape)
                assert np.array_equal(found[able], choices[able]), (seed, machine.sweeps)
            compared += int(able.sum())
        assert machines[0].status & ~Status.INFEASIBLE == Status.DONE | Status.CONVERGED | Status.PROVEN, seed
    print(f"problems {first} to {first + BLOCK - 1}: {compared:,} choices compared")


def test_division_stays_within_bounds() -> None:
    """From any choices within bounds, divide and conquer evaluates and finds only candidates of each state's own."""
    cut = 0
    for seed in range(40):
        image = drawn(3 * seed + 1)
        if image.bounds is None:
            continue
        rng = np.random.default_rng(seed)
        rows, states = image.start.shape
        low, high = image.bounds
        choices = np.sort(rng.integers(0, rows, (rows, states)), axis=0).clip(low, high)
        ev = rng.integers(-(2**50), 2**50, (rows, states))
        tables = np.ascontiguousarray(image.grid.T), image.wealth, ev, image.constants.words, image.bounds
        for firsts in (True, False):
            before = choices.copy()
            lowest, highest = np.full((rows, states), -1), np.full((rows, states), -1)
            moved, flags = np.zeros((rows, states), np.bool_), np.zeros(rows, np.uint8)
            divide_all(*tables, 3, firsts, choices, lowest, highest, moved, flags)
            seen = lowest >= 0
            assert (lowest >= low)[seen].all()
            assert (highest <= high)[seen].all()
            assert (choices >= low).all()
            assert (choices <= high).all()
            cut += int((moved & (choices != before)).any())
    assert cut > 20


@pytest.mark.parametrize("shape", SHAPES)
def test_bounds_of_a_shape(shape: str) -> None:
    for seed in range(20):
        low, high = bounds(np.random.default_rng(seed), shape, 17, 3)
        assert low.shape == high.shape == (17, 3)
        assert (low <= high).all()
        assert (np.diff(low, axis=0) >= 0).all()
        assert (np.diff(high, axis=0) >= 0).all()
        assert low.min() >= 0
        assert high.max() <= 16


def test_the_kinds_have_what_they_are_for() -> None:
    """Bounds bind, in some problems in all states; some states have one candidate, or can afford nothing."""
    images = [drawn(seed) for seed in range(24)]
    by_x = [image for image in images if image.bounds is not None]
    assert len(by_x) > 18
    binding = single = poor = 0
    for image in by_x:
        machine = begun(proving_machine(image, 2), image)
        while not machine.step():
            pass
        found = machine.policy[: image.start.size].reshape(image.start.shape)
        assert image.bounds is not None
        low, high = image.bounds
        assert (found >= low).all()
        assert (found <= high).all()
        varies = (low != low[0]).any(axis=0) | (high != high[0]).any(axis=0)
        binding += ((found == low) | (found == high))[:, varies].mean() > 0.3
        single += bool((low == high)[:, varies].any())
        poor += bool((machine.cached[:, :, 1][:, varies] == INFEASIBLE).any())
    assert min(binding, single) > 4
    assert poor > 1
