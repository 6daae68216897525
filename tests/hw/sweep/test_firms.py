"""Linear utility and negative dividends in the software model, against full search in fixed point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import product_image
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.registers import Status
from support.firms import SCALES, firm
from support.machines import begun, proving_machine


def image_of(kind: str, seed: int, points: int = 24, states: int = 2) -> Image:
    scale = 1.0 if kind == "linear" else SCALES[seed % len(SCALES)]
    return product_image(firm(kind, seed, points, states), 1e-4 * scale)


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
