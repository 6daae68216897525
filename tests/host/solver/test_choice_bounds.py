"""Bounds of ``x'`` that depend on ``x`` on the host's side: tables, refusals, and solutions beside the processor's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices.base import built_sizes
from beltline.host.devices.software_model import ModelDevice, open_model
from beltline.host.solver.driver import Driver
from beltline.host.solver.product_image import product_image
from beltline.host.solver.run import _key
from beltline.hw.interface.bounds import bounds_of, words_of
from beltline.hw.interface.layout import Layout
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Engine, Table
from beltline.hw.interface.windows import WindowParameters
from support.bounds import bounded

BUILD: dict[str, Any] = {"lanes": 2, "general": 1}

KINDS: dict[str, Any] = {"engine": Engine.SWEEP, "general": True}


def test_tables_of_the_image() -> None:
    """The machine's candidates are the bounds of each state; those of all points together mark forced states."""
    problem = bounded("firing", 0, 30)
    image = product_image(problem, 1e-6)
    assert image.products is not None
    assert image.groups is not None
    assert image.bounds is not None
    for d, one in enumerate(problem.form.alternatives[:4]):
        columns = image.products.of(d)
        low, high = one.low, one.high  # type: ignore[union-attr]
        assert np.array_equal(image.bounds[:, :, columns], np.stack([low, high]))
    assert np.array_equal(image.groups.lowest, image.bounds[0, 0])
    assert np.array_equal(image.groups.highest, image.bounds[1, -1])
    assert _key(image) != _key(replace(image, bounds=image.bounds.clip(0, 28)))
    plain = replace(problem.alternatives[0], low=None)
    others = [replace(one, low=None, high=None) for one in problem.alternatives[1:4]]
    without = replace(problem, alternatives=[plain, *others, problem.alternatives[4]])
    assert product_image(without, 1e-6).bounds is None


def test_costs_that_fall_within_bounds() -> None:
    """A cost that falls beyond all bounds does not matter; within those of any point it is refused."""
    problem = bounded("rising costs", 0, 12)
    first, *others = problem.alternatives
    high = np.full((12, problem.states), 6)
    high[-1] = 8
    cost = np.repeat(np.linspace(0.0, 0.3, 12)[:, None], problem.states, axis=1)
    for falls, refused in ((10, False), (8, True), (7, True)):
        table = cost.copy()
        table[falls] -= 0.2
        given = replace(problem, alternatives=(replace(first, cost=table, low=None, high=high), *others))
        if refused:
            with pytest.raises(bl.ProblemError, match="^a machine takes bounds of x' that depend on x only if"):
                bl.solve(given, device="emulator", **BUILD)
        else:
            found, right = (bl.solve(given, **options) for options in ({"device": "emulator", **BUILD}, {}))
            assert found.success
            np.testing.assert_array_equal(found.tables.policy, right.tables.policy)


def test_words_and_windows() -> None:
    rng = np.random.default_rng(3)
    sides = np.sort(rng.integers(0, 2**16, (2, 20, 3)), axis=0)
    assert np.array_equal(bounds_of(words_of(sides)), sides)
    build = MachineParameters(128, 8, lanes=4, **KINDS)
    assert WindowParameters(build).words(Table.X) == 2 * 128 * 8
    for grid in (20, 33, 128):
        layout = Layout(build, grid, 3)
        moved = [(one.window - 1024, one.table, one.count) for one in layout.bounds]
        assert moved == [(one.window, one.table, one.count) for one in layout.blocks(Table.W)]


def test_a_device_with_bounds_takes_problems_without() -> None:
    """Nothing of the bounds of the problem before remains, and only tables that differ are written."""
    build = MachineParameters(32, 16, lanes=2, **KINDS)
    device = open_model(build, lanes=2, general=1)
    assert isinstance(device, ModelDevice)
    assert built_sizes(device) == build
    driver = Driver(device)
    image = product_image(bounded("firing", 0, 30), 1e-6)
    free = replace(image, bounds=None)
    runs = [driver.run(one, 200) for one in (image, free, image, image)]
    assert not np.array_equal(runs[0].policy, runs[1].policy)
    for k in (2, 3):
        assert np.array_equal(runs[0].policy, runs[k].policy)
        assert np.array_equal(runs[0].value, runs[k].value)
    assert "X" in runs[1].moved
    assert "X" not in runs[3].moved
