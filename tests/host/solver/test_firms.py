"""Problems with linear utility on machines: firms whose dividends may be negative."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import open_device
from beltline.host.solver.driver import Driver
from beltline.host.solver.product_image import product_image
from beltline.host.solver.product_reach import reach_of
from beltline.host.solver.products import products_of
from beltline.host.solver.verify_products import found_of, measure_products, rounding_of
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import LINEAR_BIT
from support.alternatives import with_alternatives
from support.costs import with_cost
from support.firms import FIRMS, SCALES, firm

BUILD = {"lanes": 2, "proof": 1, "costs": 1, "alternatives": 1}
EMULATOR = {"device": "emulator", **BUILD}


def tolerance(kind: str, seed: int) -> float:
    return 1e-6 * (1.0 if kind == "linear" else SCALES[seed % len(SCALES)])


def compared(found: Any, right: Any) -> int:
    """Check that values are the processor's within both bounds; return the number of choices that differ."""
    assert found.success, found.message
    assert right.success, right.message
    bound = found.error_bound + right.error_bound
    assert np.abs(found.value - right.value).max() <= bound
    able = np.isfinite(right.tables.values)
    assert np.array_equal(np.isfinite(found.tables.values), able)
    assert np.abs(found.tables.values[able] - right.tables.values[able]).max() <= 2.0 * bound
    return int((found.tables.policy != right.tables.policy).sum() + (found.tables.choice != right.tables.choice).sum())


def check(seeds: range, horizon: int | None) -> None:
    others = states = 0
    with bl.open("emulator", **BUILD) as device:
        for seed in seeds:
            for kind in FIRMS:
                given = firm(kind, seed, 20 + seed % 23, 1 + seed % 3, horizon)
                tol = tolerance(kind, seed)
                found = device.solve(given, tol=tol)
                assert found.verified
                others += compared(found, bl.solve(given, tol=tol))
                states += found.tables.policy.size
    print(f"{others} of {states:,} choices differ")
    assert others == 0


def test_the_emulator_finds_what_the_processor_finds() -> None:
    check(range(6), None)


def test_ages_are_those_of_the_processor() -> None:
    check(range(3), 4)


@pytest.mark.slow
def test_the_emulator_finds_what_the_processor_finds_in_many_problems() -> None:
    check(range(6, 60), None)
    check(range(3, 18), 5)


@pytest.mark.gateware
@pytest.mark.slow
def test_the_gateware_finds_what_the_emulator_finds() -> None:
    with bl.open("rtl", **BUILD) as gateware, bl.open("emulator", **BUILD) as model:
        for kind, horizon in (("entry", None), ("random firm", 3)):
            given = firm(kind, 0, 20, 2, horizon)
            found, wanted = (where.solve(given, tol=1e-3) for where in (gateware, model))
            assert found.success
            for ours, theirs in zip(found.tables, wanted.tables, strict=True):
                assert np.array_equal(ours, theirs)
            assert (found.sweeps, found.clocks) == (wanted.sweeps, wanted.clocks)


@pytest.mark.parametrize("kind", FIRMS)
@pytest.mark.parametrize("horizon", [None, 3])
def test_without_verification_the_proof_bounds_the_error(kind: str, horizon: int | None) -> None:
    given = firm(kind, 3, 30, 2, horizon)
    found, right = (bl.solve(given, tol=1e-6, verify=verify, **EMULATOR) for verify in (False, True))
    assert (found.success, found.verified) == (True, False)
    assert np.array_equal(found.value, right.value)
    # The second search has rounding errors of its own.
    assert right.error_bound - 1e-11 <= found.error_bound < 2.0 * right.error_bound + 1e-9


def test_problems_without_alternatives() -> None:
    """A plain problem, or one with a cost, is solved on such a build if its utility is linear."""
    for given in (bl.rbc(grid=24, states=2), with_cost("laffer", 1, 30)):
        for negative in (False, True):
            linear = replace(given, eta=0.0, negative=negative, marginal_wealth=None)
            assert compared(*(bl.solve(linear, tol=1e-6, **where) for where in (EMULATOR, {}))) == 0
        with pytest.raises(bl.ProblemError, match="supports only with the options lanes=, proof=1, costs=1 and altern"):
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


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("kind", FIRMS)
def test_values_stay_within_their_bounds(kind: str, horizon: int | None) -> None:
    for seed in range(6):
        given = firm(kind, seed, 20, 2, horizon)
        products = products_of(given)
        reach = reach_of([products], horizon)
        found = bl.solve(given, tol=tolerance(kind, seed))
        slack = found.error_bound + 1e-9 * reach.all
        assert reach.low - slack <= found.value.min() <= found.value.max() <= reach.high + slack
        assert np.abs(found.tables.values[np.isfinite(found.tables.values)]).max() <= reach.all + slack
        if given.negative:
            assert (np.abs(products.wealth[:, None] - products.cost) <= reach.all).all()


def test_fraction_bits() -> None:
    given = firm("entry", 0, 20, 2)
    found = bl.solve(given, tol=1e-4, **EMULATOR)
    assert found.value_bits == found.amount_bits
    for name in ("value_bits", "amount_bits"):
        few = bl.solve(given, tol=1e-4, **{name: 30}, **EMULATOR)
        assert (few.value_bits, few.amount_bits) == (30, 30)
        assert compared(few, found) == 0
    with pytest.raises(
        bl.ProblemError,
        match="^value_bits and amount_bits must be equal with eta = 0, where utility is an amount of the good, not 30 ",
    ):
        bl.solve(given, value_bits=30, amount_bits=31, **EMULATOR)
    with pytest.raises(bl.ProblemError, match="^amount_bits = 52 can overflow: the values of alternatives can reach "):
        bl.solve(firm("entry", 2, 20, 2), tol=1e3, amount_bits=52, **EMULATOR)


def test_what_a_machine_missed_is_found() -> None:
    given = firm("entry", 0, 30, 2)
    with bl.open("emulator", **BUILD) as device:
        done = device.run(device.prepare(given, None))
    image, change = done.work.image, done.run.norm * 2.0**-done.work.image.value_bits
    found = found_of(image, done.run.value, done.run.policy)
    assert measure_products(given, image, found, change).missed == ""
    policy = found.policy.copy()
    policy[0, 9, 1] += 1
    missed = measure_products(given, image, found._replace(policy=policy), change).missed
    assert "a choice of alternative 'run' better" in missed
    values = found.values.copy()
    values[0, 9, 1] += 1e-6
    missed = measure_products(given, image, found._replace(values=values), change).missed
    assert "the value of alternative 'run' wrong by 1e-06 at grid point 9, state 1" in missed


def test_older_builds_are_refused() -> None:
    """A build with alternatives that does not report linear utility solves problems with curved utility only."""
    device = open_device("emulator", MachineParameters(64, 8), **BUILD)
    read = device.read_register

    def older(name: str) -> int:
        return read(name) & ~(1 << LINEAR_BIT) if name == "ENGINE" else read(name)

    device.read_register = older  # type: ignore[method-assign]
    driver = Driver(device)
    sentence = (
        "device 'emulator' was built by an earlier version, without the linear utility that eta = 0 needs: build it "
        "again, or solve it with bl.solve(problem), on device 'cpu' or 'gpu'"
    )
    with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence) + "$"):
        driver.run(product_image(firm("entry", 0, 20, 2), 1e-4), 5)
    assert driver.run(product_image(with_alternatives("default", 1, 20, 2), 1e-4), 5).sweeps == 5
