"""Linear utility and negative dividends in the software model, against full search in fixed point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.groups import Mark
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import LINEAR_BIT, Engine, Mode, Status
from support.alternatives import FullSearch
from support.firms import FIRMS, SCALES, firm
from support.machines import begun, proving_machine


def image_of(kind: str, seed: int, points: int = 24, states: int = 2) -> Image:
    scale = 1.0 if kind == "linear" else SCALES[seed % len(SCALES)]
    return product_image(firm(kind, seed, points, states), 1e-4 * scale)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", FIRMS)
def test_every_sweep_is_full_searchs(kind: str, seed: int) -> None:
    """Values and choices of all product states are those of full search; none of them is not affordable by mistake."""
    image = image_of(kind, seed)
    assert image.groups is not None
    assert image.constants.linear
    assert image.value_bits == image.amount_bits
    negative = image.constants.negative
    assert negative == (kind != "linear")
    search, machines = FullSearch(image), [begun(proving_machine(image, lanes), image) for lanes in (1, 2, 4)]
    poor = image.wealth <= image.grid[0]
    ended, sweeps = False, 0
    work = image.start.size
    while not ended and sweeps < 30:
        before = machines[0].v[:work].reshape(image.start.shape).copy()
        value, choices = search(before)
        for machine in machines:
            ended = machine.step()
            assert np.array_equal(machine.v[:work].reshape(value.shape), value), machine.sweeps
            found = machine.policy[:work].reshape(value.shape)
            assert ((found == choices) | (poor & (not negative))).all(), machine.sweeps
            assert Status.INFEASIBLE not in machine.status
            assert not ended or Status.PROVEN in machine.status
        sweeps += 1
    assert sweeps > 3
    assert not negative or (value[:, ~image.groups.has(Mark.KEEPS)] > MINIMUM).all()


def test_the_kinds_have_what_they_are_for() -> None:
    """Some dividends are negative, zero and positive; some costs and values fall; some bounds and choices differ."""
    images = [image_of(kind, seed) for kind in FIRMS[:2] for seed in range(12)]
    earned = [image.wealth[:, None, :] - image.grid[None] for image in images]
    assert all((one < 0).any() and (one > 0).any() for one in earned)
    assert any((one == 0).any() for one in earned)
    assert sum((np.diff(image.grid, axis=0) < 0).any() for image in images) > 6
    assert sum((np.diff(image.start, axis=0) < 0).any() for image in images) > 6
    assert any((np.diff(image.wealth, axis=0) < 0).any() for image in images)
    products = [image.products for image in images]
    assert sum((one.low > 0).any() for one in products if one is not None) > 3
    assert sum((one.high < 23).any() for one in products if one is not None) > 3
    assert sum(one.keeps.any() for one in products if one is not None) > 3


def test_amounts_at_the_ends_of_the_range() -> None:
    """A dividend of -2**63 or less is infeasible, one of 2**63 or more ends the run, and none else is a limit."""
    image = image_of("random firm", 0)
    cheapest = np.zeros_like(image.grid)
    for wealth, cost, status in (
        (0, -MAXIMUM, Status(0)),
        (MINIMUM + 1, 0, Status(0)),
        (MINIMUM, 0, Status.INFEASIBLE),
        (-2, MAXIMUM, Status.INFEASIBLE),
        (-1, MAXIMUM, Status.INFEASIBLE),
        (0, MAXIMUM, Status(0)),
        (1, -MAXIMUM, Status.SATURATED),
        (MAXIMUM, MINIMUM, Status.SATURATED),
    ):
        given = replace(
            image,
            wealth=0 * image.wealth + wealth,
            grid=cheapest + cost,
            start=0 * image.start,
            transition=0 * image.transition,
        )
        assert given.groups is not None
        given = replace(given, groups=replace(given.groups, kappa=0 * given.groups.kappa))
        machine = begun(proving_machine(given, 2), given, sweep_limit=1)
        machine.step()
        assert machine.status & (Status.SATURATED | Status.INFEASIBLE) == status, (wealth, cost)
        if not status:
            assert (machine.v[: image.start.size] == wealth - cost).all()


def test_without_negative_dividends_only_a_positive_one_is_feasible() -> None:
    image = image_of("random firm", 0)
    assert image.groups is not None
    groups = replace(image.groups, kappa=0 * image.groups.kappa)
    given = replace(image, grid=0 * image.grid, start=0 * image.start, transition=0 * image.transition, groups=groups)
    for wealth, negative, feasible in ((0, True, True), (-5, True, True), (0, False, False), (1, False, True)):
        constants = UtilityConstants.of(0.0, image.amount_bits, image.amount_bits, negative)
        one = replace(given, wealth=0 * image.wealth + wealth, constants=constants)
        machine = begun(proving_machine(one, 1), one, sweep_limit=1)
        machine.step()
        assert (Status.INFEASIBLE not in machine.status) == feasible
        assert not feasible or (machine.v[: image.start.size] == wealth).all()


def test_builds_with_alternatives_have_linear_utility() -> None:
    kinds = {"engine": Engine.SWEEP, "lanes": 2, "proof": True, "costs": True}
    build = MachineParameters(64, 4, alternatives=True, **kinds)  # type: ignore[arg-type]
    assert build.features.linear
    assert build.reported["ENGINE"] == 5 | 1 << LINEAR_BIT
    older = replace(build, linear=False)
    assert not older.features.linear
    assert older.reported["ENGINE"] == 5
    without = MachineParameters(64, 4, **kinds)  # type: ignore[arg-type]
    assert not without.features.linear
    assert without.reported["ENGINE"] == 4


def test_choices_of_the_last_run_are_a_start() -> None:
    image = image_of("entry", 0, 40)
    runs = []
    for mode in (Mode(0), Mode.CHOICES):
        machine = proving_machine(image, 2)
        machine.policy[: image.start.size] = np.random.default_rng(3).integers(0, 40, image.start.size)
        begun(machine, image)
        machine.start(*image.start.shape, mode, 6, image.epsilon, image.constants)
        while not machine.step():
            pass
        runs.append((machine.v.copy(), machine.policy[: image.start.size].copy(), machine.status))
    assert np.array_equal(runs[0][0], runs[1][0])
    assert np.array_equal(runs[0][1], runs[1][1])
    assert runs[0][2] == runs[1][2]
