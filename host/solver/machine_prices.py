"""Prices of bonds that a machine computes itself, between two sweeps of a run.

A machine built with ``prices`` knows from its values where bonds are paid, and computes the costs of borrowing from it
(:mod:`beltline.hw.sweep.prices.parameters`). The host gives it what a bond pays, and which states these are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from beltline.gpu_ref.general.form import Branch, Form
from beltline.gpu_ref.general.prices import BondPrices
from beltline.host.problem.arrays import Array
from beltline.host.problem.problem import Problem
from beltline.host.solver.fixed_point import RANGE, Image
from beltline.host.solver.product_image import product_image
from beltline.hw.interface.groups import Mark
from beltline.hw.interface.registers import UPDATE_FIELD

MOST_EVERY = (1 << UPDATE_FIELD.stop - UPDATE_FIELD.start) - 1
"""Largest number of sweeps after which a machine can be told to update prices."""


def unsupported(problem: Problem, update: Any) -> str:
    """Return why a machine cannot compute the prices of ``update`` itself, as a clause; empty if it can.

    Functions of this module are for problems that :func:`beltline.host.solver.products.check_products` accepts.
    """
    if not isinstance(update, BondPrices):
        return "update is not a BondPrices"
    form = problem.form
    if form.negative:
        return "consumption may be negative"
    if form.sigma > 0.0:
        return "there are taste shocks"
    repay, default = (form.alternatives[d] for d in update.numbers([one.name for one in form.alternatives]))
    if not isinstance(repay, Branch) or not isinstance(default, Branch) or repay.regime != default.regime:
        return f"{update.repay!r} and {update.default!r} are not two choices of one regime"
    tables = repay.at()
    if not (tables.mix == np.eye(form.shape[0])[repay.regime]).all():
        return f"{update.repay!r} may lead to another regime"
    if not (tables.beta == tables.beta[0]).all() or tables.beta[0] <= 0.0:
        return f"{update.repay!r} has no discount factor above 0 that is the same in every state"
    if (tables.low > 0).any() or (tables.high < problem.points - 1).any():
        return f"{update.repay!r} has bounds of x'"
    return ""


def with_machine_prices(
    problem: Problem, update: BondPrices, image: Image, value_bits: int | None, amount_bits: int | None, tol: float
) -> Image:
    """Return the image of a problem whose prices the machine computes.

    Parameters
    ----------
    problem, update
        A problem and its rule of prices, for which :func:`unsupported` is empty.
    image
        The problem at its first prices.
    value_bits, amount_bits, tol
        As of :func:`beltline.host.solver.product_image.product_image`.

    Raises
    ------
    ProblemError
        At some prices values or amounts can exceed the format.
    """
    assert image.products is not None
    form = image.products.form
    discounted = _discounted(form, update)
    safe = np.repeat(update.face[:, None], form.shape[2], axis=1) / (1.0 + update.interest)
    # At any prices, values are between those at the price of a safe bond and those of a bond without a price.
    ends = [
        product_image(problem, tol, value_bits, amount_bits, form.with_tables({update.repay: {"cost": cost}}), image)
        for cost in (safe, 0.0 * safe)
    ]
    values, amounts = (min(getattr(one, f"{of}_bits") for one in (image, *ends)) for of in ("value", "amount"))
    while float(np.abs(discounted).max()) * 2.0**amounts >= RANGE:
        amounts -= 1
    if (values, amounts) != (image.value_bits, image.amount_bits):
        image = product_image(problem, tol, values, amounts, form, image)
    products, groups = image.products, image.groups
    assert products is not None
    assert groups is not None
    repay, default = (products.of(d) for d in update.numbers([one.name for one in form.alternatives]))
    marks, highest = groups.marks.copy(), groups.highest.copy()
    marks[repay] |= int(Mark.PRICED)
    marks[default] |= int(Mark.UNPAID)
    highest[repay] = problem.points - 1
    faces = np.rint(np.ldexp(discounted, image.amount_bits)).astype(np.int64)
    return replace(image, groups=replace(groups, marks=marks, highest=highest), faces=faces)


def _discounted(form: Form, update: BondPrices) -> Array:
    """Return what a bond pays, ``(N_k,)``, over the discount factor and the return of a safe bond."""
    repay = form.alternatives[update.numbers([one.name for one in form.alternatives])[0]]
    assert isinstance(repay, Branch)
    found: Array = update.face / (float(repay.at().beta[0]) * (1.0 + update.interest))
    return found
