"""Problems with taste shocks on machines: values and probabilities, their bounds, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.host.solver.complete import rounding_of
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.product_image import found_of, product_image
from beltline.host.solver.products import products_of
from beltline.host.solver.run import _key
from beltline.hw.arithmetic.log_sum_constants import LogSumConstants, log_sum_error
from beltline.hw.arithmetic.numbers import MINIMUM
from beltline.hw.interface.groups import NO_SHOCKS
from beltline.hw.interface.registers import Status
from support.alternatives import with_alternatives
from support.compared import TOL, check

BUILD = {"lanes": 2, "general": 1}
EMULATOR = {"device": "emulator", **BUILD}


@pytest.mark.parametrize("interest", [0.0, 0.05])
def test_retirement(interest: float) -> None:
    """Retirement with shocks is solved age by age on an emulator that the model chooses."""
    model = bl.retirement(grid=400, ages=20, taste=0.1, interest=interest)
    found, right = model.solve(device="emulator"), model.solve()
    assert found.solution.success
    bound = found.solution.error_bound + right.solution.error_bound
    assert bound < 1e-9
    assert np.abs(found.value - right.value).max() <= bound
    gap = np.abs(found.retirement_probability - right.retirement_probability).max()
    assert gap <= 4.0 * bound / 0.1
    assert 0.05 < found.retirement_probability[5].max() < 0.999


def test_tables_by_age() -> None:
    given = with_alternatives("retirement", 1, 24, 2, 3, 0.3)
    alternatives = list(given.alternatives)
    wealth = np.asarray(alternatives[0].wealth)
    aged = np.stack([wealth, 1.2 * wealth, 0.9 * wealth])
    alternatives[0] = replace(alternatives[0], wealth=aged)
    given = replace(given, alternatives=alternatives)
    check(given, bl.solve(given, **EMULATOR))


@pytest.mark.parametrize("name", ["slope", "unit"])
def test_wrong_constants_are_found(name: str) -> None:
    """If the machine takes other log-sums, verification does not confirm its values."""
    given = with_alternatives("retirement", 1, 30, 2, taste=0.3)
    with bl.open("emulator", **BUILD) as device:
        work = device.prepare(given, SolveOptions(tol=1e-9))
        image = work.image
        constants = LogSumConstants.of(0.3, image.value_bits)
        assert image.groups.shocks == constants.words
        wrong = replace(constants, **{name: round(getattr(constants, name) * (1 + 1e-3))})
        for words, success in ((constants.words, True), (wrong.words, False)):
            groups = replace(image.groups, shocks=words)
            done = device.run(replace(work, image=replace(image, groups=groups)))
            result = replace(done, work=work).result()
            assert result.success == success, result.message


def test_rounding_includes_the_log_sum() -> None:
    given = with_alternatives("retirement", 1, 30, 2, taste=0.3)
    image = product_image(given, TOL)
    run = bl.solve(given, tol=TOL, **EMULATOR)
    found = found_of(image, image.start, np.zeros_like(image.start))
    assert run.value_bits == image.value_bits
    without = replace(image, products=replace(image.products, form=replace(image.products.form, sigma=0.0)))
    more = rounding_of(given, image, found) - rounding_of(given, without, found)
    assert more == pytest.approx(log_sum_error(0.3, image.value_unit), rel=1e-3, abs=0.0)


def test_log_sums_of_the_start_are_those_of_the_problem() -> None:
    """One alternative of a regime starts from its value and the others add nothing, or what two regimes differ by."""
    given = with_alternatives("default", 1, 20, 2, taste=0.5)
    higher = np.linspace(0.0, 2.0, 20)[:, None] + np.zeros(2)
    for good, excluded in ((higher, 0.0 * higher), (0.0 * higher, 0.0 * higher), (higher + 9.0, higher)):
        begun = replace(given, start=np.stack([good, excluded]))
        products = products_of(begun)
        assert products.place.tolist() == [1, 0, 0]
        assert products.best(products.start) == pytest.approx(np.asarray(begun.start), abs=1e-14)
        words = product_image(begun, TOL).start
        assert (words[np.isneginf(products.start)] == MINIMUM).all()
    # Two alternatives of a regime that shares no product state.
    begun = replace(with_alternatives("retirement", 1, 20, 2, taste=0.5), start=np.stack([higher, 0.0 * higher]))
    products = products_of(begun)
    assert products.best(products.start) == pytest.approx(np.asarray(begun.start), abs=1e-14)
    # A machine computes a terminal value exactly if it has not to make up a difference.
    assert (np.isneginf(products_of(replace(given, start=np.zeros((2, 20, 2)))).start[:, 1::2])).all()


def test_equal_alternatives_of_a_regime_both_count() -> None:
    """Regimes do not share product states if one of them has an alternative twice, which changes a log-sum."""
    given = with_alternatives("default", 1, 20, 2, taste=0.5)
    twice = replace(given.alternatives[1], name="default again")
    more = replace(given, alternatives=[*given.alternatives, twice])
    assert products_of(replace(more, taste=0.0)).count == 2
    assert products_of(more).count == 4
    check(more, bl.solve(more, tol=TOL, **EMULATOR))


def test_the_last_solution_is_a_start() -> None:
    for kind in ("default", "exit"):
        given = with_alternatives(kind, 1, 30, 2, taste=0.2)
        with bl.open("emulator", **BUILD) as device:
            first = device.solve(given, tol=TOL)
            again = device.solve(given, tol=TOL, start="last")
            assert again.sweeps <= 3
            assert np.abs(first.value - again.value).max() <= first.error_bound + again.error_bound
            assert device.solve(given, tol=TOL, start="last", value_bits=first.value_bits - 3).sweeps <= 3
            # A problem without shocks after one with them has a maximum again.
            plain = replace(given, taste=0.0)
            found = device.solve(plain, tol=TOL)
            assert np.array_equal(found.value, bl.solve(plain, tol=TOL, **EMULATOR).value)


def test_a_checkpoint_has_a_key_of_the_scale() -> None:
    image = product_image(with_alternatives("default", 2, 30, 2, taste=0.5), TOL)
    assert image.groups is not None
    other, none = (replace(image, groups=replace(image.groups, shocks=words)) for words in ((1, 2, 3), NO_SHOCKS))
    assert len({_key(one) for one in (image, other, none)}) == 3


def test_tiny_and_huge_scales() -> None:
    """Shocks below the resolution leave a maximum, and a large scale takes fraction bits from the values."""
    given = with_alternatives("retirement", 1, 30, 2, taste=1e-18)
    image = product_image(given, TOL)
    assert image.groups is not None
    assert image.groups.shocks == NO_SHOCKS
    large = replace(given, taste=1e6)
    assert product_image(large, 1e-3).value_bits < image.value_bits
    found, right = (bl.solve(large, tol=1e-3, **where) for where in (EMULATOR, {}))
    assert np.abs(found.value - right.value).max() <= found.error_bound + right.error_bound
    assert Status.SATURATED.name not in found.message
    assert math.isfinite(found.error_bound)


def test_prices_that_move() -> None:
    """The host updates prices between runs, to those of the processor."""
    economy = bl.arellano(bonds=31, incomes=3)
    given = replace(economy.problem(), taste=0.02)
    found, right = (bl.solve(given, update=economy.update, tol=1e-7, **where) for where in (EMULATOR, {}))
    assert found.success
    assert np.array_equal(found.prices, right.prices)
    assert np.abs(found.value - right.value).max() <= found.error_bound + right.error_bound
