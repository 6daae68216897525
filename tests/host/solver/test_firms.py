"""Problems with linear utility on machines: firms whose dividends may be negative."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.host.solver.complete import rounding_of
from beltline.host.solver.product_image import product_image, reach_of
from beltline.host.solver.products import products_of
from support.compared import check
from support.costs import with_cost
from support.firms import firm

BUILD = {"lanes": 2, "general": 1}
EMULATOR = {"device": "emulator", **BUILD}


def test_problems_without_alternatives() -> None:
    """A plain problem, or one with a cost, is solved on such a build if its utility is linear."""
    for given in (bl.rbc(grid=24, states=2), with_cost("laffer", 1, 30)):
        for negative in (False, True):
            linear = replace(given, eta=0.0, negative=negative, marginal_wealth=None)
            check(linear, bl.solve(linear, tol=1e-6, **EMULATOR))
        with pytest.raises(bl.ProblemError, match="supports only with the options lanes= and general=1: pass these"):
            bl.solve(linear, device="emulator", lanes=2)


def test_tables_of_negative_dividends() -> None:
    """Costs and start are the problem's own, and bounds are candidates."""
    given = firm("random firm", 3, 24, 2)
    image, products = product_image(given, 1e-6), products_of(given)
    for d, one in enumerate(given.form.alternatives):
        columns = products.of(d)
        tables = one.at()
        assert np.array_equal(products.cost[:, columns], tables.cost)
        assert image.groups is not None
        for found, bound in ((image.groups.lowest, tables.low), (image.groups.highest, tables.high)):
            assert np.array_equal(found[columns], bound[0])
        assert np.array_equal(products.stands[:, columns], np.arange(24)[:, None] + np.zeros((1, 2), int))
    assert (np.diff(image.grid, axis=0) < 0).any()
    assert image.value_bits == image.amount_bits
    # Utility has no error: what remains is that of two amounts, an expectation and kappa.
    found = bl.solve(given, tol=1e-6, **EMULATOR)
    rounding = rounding_of(given, image, found.tables)
    largest = np.abs(found.tables.values).max()
    assert rounding.max() <= 3.0 * image.value_unit + 2.01 * 2.0**-52 * largest


def test_candidates_out_of_bounds_are_within_the_range_of_numbers() -> None:
    given = firm("entry", 0, 20, 2)
    dear = np.append(np.asarray(given.alternatives[0].cost)[:-1], 1e9)
    run = replace(given.alternatives[0], cost=dear, high=18)
    products = products_of(replace(given, alternatives=[run, *given.alternatives[1:]]))
    assert reach_of([products], None).all >= np.abs(products.wealth[:, None] - products.cost).max() > 9e8


def test_fraction_bits() -> None:
    given = firm("entry", 0, 20, 2)
    found = bl.solve(given, tol=1e-4, **EMULATOR)
    assert found.value_bits == found.amount_bits
    large = firm("entry", 2, 20, 2)
    image = product_image(large, 1e3)
    assert image.value_bits == image.amount_bits < 40
    assert reach_of([products_of(large)], None).all * 2.0**image.value_bits < 2.0**62
    for name in ("value_bits", "amount_bits"):
        few = bl.solve(given, tol=1e-4, **{name: 30}, **EMULATOR)
        assert (few.value_bits, few.amount_bits) == (30, 30)
        check(given, few)
    with pytest.raises(
        bl.ProblemError,
        match="^value_bits and amount_bits must be equal with eta = 0, where utility is an amount of the good, not 30 ",
    ):
        bl.solve(given, value_bits=30, amount_bits=31, **EMULATOR)
    with pytest.raises(bl.ProblemError, match="^amount_bits = 52 can overflow: the values of alternatives can reach "):
        bl.solve(firm("entry", 2, 20, 2), tol=1e3, amount_bits=52, **EMULATOR)
