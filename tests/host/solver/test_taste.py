"""Problems with taste shocks on machines: values and probabilities, their bounds, and what is refused."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.solver.checkpoint import _key
from beltline.host.solver.options import SolveOptions
from beltline.host.solver.product_image import product_image
from beltline.host.solver.product_reach import reach_of
from beltline.host.solver.products import products_of
from beltline.host.solver.verify_products import found_of, measure_products, rounding_of
from beltline.hw.arithmetic.log_sum_constants import LogSumConstants, log_sum_error
from beltline.hw.arithmetic.numbers import MINIMUM
from beltline.hw.interface.groups import NO_SHOCKS
from beltline.hw.interface.registers import Status
from support.alternatives import KINDS, with_alternatives
from support.compared import TOL

BUILD = {"lanes": 2, "proof": 1, "costs": 1, "alternatives": 1, "taste": 1}
EMULATOR = {"device": "emulator", **BUILD}
SCALES = (0.3, 0.01, 4.0, 1e-7)


def compared(given: bl.Problem, found: Any, right: Any) -> int:
    """Check values and probabilities against the processor's; return the number of choices that differ."""
    assert found.success, found.message
    bound = found.error_bound + right.error_bound
    assert np.abs(found.value - right.value).max() <= bound
    assert np.array_equal(np.isfinite(found.tables.values), np.isfinite(right.tables.values))
    # A probability moves by at most half of what the difference of two values moves, in scales of the shocks.
    allowed = min(1.0, 4.0 * bound / given.taste)
    assert np.abs(found.tables.probabilities - right.tables.probabilities).max() <= allowed + 1e-12
    totals = found.tables.probabilities.sum(axis=-3)
    assert np.abs(totals - len(given.regimes)).max() < 1e-12
    return int((found.tables.policy != right.tables.policy).sum() + (found.tables.choice != right.tables.choice).sum())


@pytest.mark.parametrize("horizon", [None, 4])
def test_the_emulator_finds_what_the_processor_finds(horizon: int | None) -> None:
    states = others = 0
    with bl.open("emulator", **BUILD) as device:
        for seed in range(4):
            for kind in KINDS:
                given = with_alternatives(kind, seed, 20 + seed % 23, 1 + seed % 4, horizon, SCALES[seed])
                found, right = device.solve(given, tol=TOL), bl.solve(given, tol=TOL)
                assert found.verified
                others += compared(given, found, right)
                states += found.tables.policy.size
    print(f"{others} of {states:,} choices differ")
    assert others <= states / 2000


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", [None, 3])
def test_without_verification_the_proof_bounds_the_error(kind: str, horizon: int | None) -> None:
    given = with_alternatives(kind, 2, 30, 2, horizon, 0.4)
    found, right = (bl.solve(given, tol=TOL, verify=verify, **EMULATOR) for verify in (False, True))
    assert (found.success, found.verified) == (True, False)
    assert np.array_equal(found.value, right.value)
    assert right.error_bound <= found.error_bound < 2.0 * right.error_bound + 1e-9


@pytest.mark.parametrize("multipliers", [0, 4])
@pytest.mark.parametrize("interest", [0.0, 0.05])
def test_retirement(multipliers: int, interest: float) -> None:
    """Retirement with shocks is solved age by age on an emulator that the model chooses, or on one with turns."""
    model = bl.retirement(grid=400, ages=20, taste=0.1, interest=interest)
    options = BUILD | {"multipliers": multipliers} if multipliers else {}
    found, right = model.solve(device="emulator", **options), model.solve()
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
    found, right = bl.solve(given, **EMULATOR), bl.solve(given)
    assert compared(given, found, right) == 0


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


def test_wrong_probabilities_are_found() -> None:
    given = with_alternatives("retirement", 1, 30, 2, taste=0.3)
    with bl.open("emulator", **BUILD) as device:
        done = device.run(device.prepare(given))
    image, change = done.work.image, done.run.norm * 2.0**-done.work.image.value_bits
    found = found_of(image, done.run.value, done.run.policy)
    assert measure_products(given, image, found, change).missed == ""
    chances = found.probabilities.copy()
    chances[:2, 9, 1] = chances[:2, 9, 1] + np.array([1e-6, -1e-6])
    assert "probability" in measure_products(given, image, found._replace(probabilities=chances), change).missed


def test_rounding_includes_the_log_sum() -> None:
    given = with_alternatives("retirement", 1, 30, 2, taste=0.3)
    image = product_image(given, TOL)
    run = bl.solve(given, tol=TOL, **EMULATOR)
    found = found_of(image, image.start, np.zeros_like(image.start))
    assert run.value_bits == image.value_bits
    without = replace(image, products=replace(image.products, form=replace(image.products.form, sigma=0.0)))
    more = rounding_of(given, image, found) - rounding_of(given, without, found)
    assert more == pytest.approx(log_sum_error(0.3, image.value_unit), rel=1e-3)


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_values_stay_within_their_bounds(kind: str, horizon: int | None) -> None:
    for seed in range(4):
        given = with_alternatives(kind, seed, 20, 2, horizon, (0.2, 30.0)[seed % 2])
        reach = reach_of([products_of(given)], horizon)
        found = bl.solve(given, tol=1e-8)
        assert reach.low - 1e-9 <= found.value.min() <= found.value.max() <= reach.high + 1e-9
        assert np.abs(found.tables.values[np.isfinite(found.tables.values)]).max() <= reach.all + 1e-9
        assert reach.all >= given.taste


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
    # A machine computes a terminal value exactly if it has not to make up a difference.
    assert (np.isneginf(products_of(replace(given, start=np.zeros((2, 20, 2)))).start[:, 1::2])).all()


def test_equal_alternatives_of_a_regime_both_count() -> None:
    """Regimes do not share product states if one of them has an alternative twice, which changes a log-sum."""
    given = with_alternatives("default", 1, 20, 2, taste=0.5)
    twice = replace(given.alternatives[1], name="default again")
    more = replace(given, alternatives=[*given.alternatives, twice])
    assert products_of(replace(more, taste=0.0)).count == 2
    assert products_of(more).count == 4
    assert compared(more, bl.solve(more, tol=TOL, **EMULATOR), bl.solve(more, tol=TOL)) == 0


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
    assert compared(given, found, right) <= given.wealth.size / 100


def five() -> bl.Problem:
    grid = np.linspace(0.0, 4.0, 16)
    names = "abcde"
    alternatives = [bl.Alternative(name=name, kappa=-0.1 * k) for k, name in enumerate(names)]
    return bl.Problem(
        grid=grid, wealth=1.0 + grid[:, None], transition=[[1.0]], start=np.zeros((16, 1)), beta=0.8, eta=1.0,
        alternatives=alternatives, taste=0.3, name="five",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "options", "sentence"),
    [
        (
            five(),
            EMULATOR,
            "a machine takes taste shocks to at most 4 alternatives of a regime, and problem 'five' has 5: solve it",
        ),
        (
            with_alternatives("exit", 1, 20, 2, taste=0.25),
            {**EMULATOR, "taste": 0},
            "problem 'exit 1' has taste = 0.25, which device 'emulator' supports only with the option taste=1: pass "
            "it, too, or solve it",
        ),
        (
            with_alternatives("exit", 1, 20, 2, taste=0.25),
            {"device": "emulator", "lanes": 2, "taste": 1},
            "option 'taste' is for a sweep engine with alternatives: pass alternatives=1, too",
        ),
        (
            with_alternatives("exit", 1, 20, 2, taste=0.25),
            {**EMULATOR, "multipliers": 2, "prices": 1},
            "option 'taste' excludes 'prices': leave out one of them",
        ),
        (
            replace(five(), taste=0.0),
            EMULATOR,
            "device 'emulator' was built for taste shocks, with at most 4 alternatives of a regime, and the "
            "problem has 5: solve it",
        ),
        (five(), {**EMULATOR, "taste": 2}, "taste must be 0 or 1, not 2"),
        *(
            (
                replace(five(), alternatives=five().alternatives[:2], low=np.arange(16) // 4),
                {**EMULATOR, **more},
                "problem 'five' has taste = 0.3 and bounds of x' that depend on x, which no device of the accelerator "
                "supports together: solve it",
            )
            for more in ({"taste": 1}, {"taste": 0, "bounds": 1})
        ),
    ],
)
def test_refusals(given: bl.Problem, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence)):
        bl.solve(given, **options)


def test_a_device_without_shocks_refuses_them() -> None:
    plain = {name: value for name, value in BUILD.items() if name != "taste"}
    with bl.open("emulator", **plain) as device:
        device.solve(with_alternatives("exit", 1, 20, 2), tol=1e-3)
        opened = device._driver.device
        sentence = "device 'emulator' was built without taste shocks, which the problem has: solve it"
        with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence)):
            bl.solve(with_alternatives("exit", 1, 20, 2, taste=0.2), device=opened)


@pytest.mark.gateware
def test_the_gateware_finds_what_the_emulator_finds() -> None:
    model = bl.retirement(grid=16, ages=3, taste=0.2)
    found, wanted = (model.solve(device=name, **BUILD | {"lanes": 1}) for name in ("rtl", "emulator"))
    for ours, theirs in zip(found.solution.tables, wanted.solution.tables, strict=True):
        assert np.array_equal(ours, theirs)
    assert found.solution.clocks == wanted.solution.clocks
