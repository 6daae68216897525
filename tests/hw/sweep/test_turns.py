"""Expected values whose products take a few multipliers in turn: what a build can be, and its software model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import smallest_build
from beltline.host.devices.made import made
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.expectation import ExpectationParameters
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.parameters import GENERAL_STATES, MachineParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.turns import TurnsParameters
from support.alternatives import FullSearch, with_alternatives
from support.machines import begun, proving_machine


@pytest.mark.parametrize("states", [20, 33, 128])
def test_sums_of_many_products_are_exact(states: int) -> None:
    rng = np.random.default_rng(states)
    unit = TurnsParameters(SweepParameters(64, 128, 2, general=True))
    values = rng.integers(MINIMUM, MAXIMUM, (6, states), dtype=np.int64)
    values[0], values[1] = MAXIMUM, MINIMUM
    weights = rng.integers(0, 2**64, (states, states), dtype=np.uint64)
    weights[1] >>= np.uint64(8)
    ev, saturated = unit.model(values, weights)
    for x in range(6):
        for s in range(states):
            exact = sum(int(v) * int(q) for v, q in zip(values[x], weights[s], strict=True))
            assert ev[x, s] == min(max((2 * exact + 2**64) // 2**65, MINIMUM), MAXIMUM)
    assert saturated
    assert not unit.model(values, weights >> np.uint64(8))[1]
    assert ExpectationParameters(states).state_bits == (states - 1).bit_length()


@pytest.mark.parametrize(("kind", "states"), [("default", 10), ("exit", 11)])
def test_every_sweep_is_full_searchs(kind: str, states: int) -> None:
    """20 and 33 product states have the bits of full search."""
    image = product_image(with_alternatives(kind, 2, 17, states), 1e-4)
    search = FullSearch(image)
    assert image.start.shape[1] == {"default": 20, "exit": 33}[kind]
    machine = begun(proving_machine(image), image)
    for _ in range(3):
        before = machine.v[: image.start.size].reshape(image.start.shape).copy()
        value, _ = search(before)
        machine.step()
        assert np.array_equal(machine.v[: image.start.size].reshape(image.start.shape), value)


def test_builds_of_a_size() -> None:
    given = with_alternatives("default", 1, 20, 10)
    build = smallest_build(given, 2, 2, general=True)
    assert (build.grid, build.states, build.general) == (32, 32, True)
    assert made(build, None, None, 2, 1) == build
    assert made(MachineParameters(16, 2), None, None, 2, 1).states == GENERAL_STATES[0]


def test_a_solve_with_many_states() -> None:
    """A problem with 11 exogenous states, which are 33 of the machine, is solved between smaller ones in one
    session.
    """
    with bl.open("emulator", lanes=2, general=1) as session:
        for kind, states in (("default", 2), ("exit", 11), ("default", 3)):
            given = with_alternatives(kind, 2, 20, states)
            found: Any = session.solve(given, tol=1e-5)
            right: Any = bl.solve(given, tol=1e-5)
            assert found.success, found.message
            assert np.array_equal(found.policy, right.policy)
            assert np.abs(found.value - right.value).max() <= found.error_bound + right.error_bound
