"""Problems with alternatives on machines: their tables, the problems refused, and the guarantees of results."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import open_device
from beltline.host.solver.checkpoint import _key
from beltline.host.solver.driver import Driver
from beltline.host.solver.product_image import LOWEST, product_image
from beltline.host.solver.product_reach import reach_of
from beltline.host.solver.products import products_of
from beltline.host.solver.verify_products import found_of, measure_products, rounding_of
from beltline.hw.interface.groups import Mark
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Status
from support.alternatives import KINDS, with_alternatives
from support.compared import TOL, compared
from support.costs import with_cost

BUILD = {"lanes": 2, "proof": 1, "costs": 1, "alternatives": 1}
EMULATOR = {"device": "emulator", **BUILD}


def check(seeds: range, horizon: int | None) -> None:
    """Check that choices differ from the processor's in few states, in which both have the same value within
    the bound.
    """
    states = others = 0
    with bl.open("emulator", **BUILD) as device:
        for seed in seeds:
            for kind in KINDS:
                given = with_alternatives(kind, seed, 20 + seed % 23, 1 + seed % 4, horizon)
                found = device.solve(given, tol=TOL)
                assert found.verified
                others += compared(given, found, bl.solve(given, tol=TOL))
                states += found.tables.policy.size
    print(f"{others} of {states:,} choices differ")
    assert others <= states / 2000


def test_the_emulator_finds_what_the_processor_finds() -> None:
    check(range(4), None)


def test_ages_are_those_of_the_processor() -> None:
    check(range(1, 3), 4)


@pytest.mark.slow
def test_the_emulator_finds_what_the_processor_finds_in_many_problems() -> None:
    check(range(4, 54), None)
    check(range(3, 18), 5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("horizon", [None, 3])
def test_without_verification_the_proof_bounds_the_error(kind: str, horizon: int | None) -> None:
    given = with_alternatives(kind, 2, 30, 2, horizon)
    found, right = (bl.solve(given, tol=TOL, verify=verify, **EMULATOR) for verify in (False, True))
    assert (found.success, found.verified) == (True, False)
    assert np.array_equal(found.value, right.value)
    # The change over all alternatives times the largest discount factor is at least the residual of the best one.
    assert right.error_bound <= found.error_bound < 2.0 * right.error_bound + 1e-9
    with bl.open("emulator", **BUILD) as device:
        work = device.prepare(given)
        done = device.run(work)
        unproven = replace(done, run=replace(done.run, status=done.run.status & ~Status.PROVEN))
        unproven = replace(unproven, work=replace(work, options=replace(work.options, verify=False)))
        result = unproven.result()
        assert result.verified
        assert "The choices of the last sweep are not proven" in result.message


@pytest.mark.gateware
@pytest.mark.slow
def test_the_gateware_finds_what_the_emulator_finds() -> None:
    with bl.open("rtl", **BUILD) as gateware, bl.open("emulator", **BUILD) as model:
        for kind, horizon in (("default", None), ("exit", 3)):
            given = with_alternatives(kind, 1, 20, 2, horizon)
            found, wanted = (where.solve(given, tol=1e-3) for where in (gateware, model))
            assert found.success
            for ours, theirs in zip(found.tables, wanted.tables, strict=True):
                assert np.array_equal(ours, theirs)
            assert (found.sweeps, found.clocks) == (wanted.sweeps, wanted.clocks)
            assert "counted by the gateware in simulation" in found.clocks_source


def test_product_states_of_a_default() -> None:
    given = with_alternatives("default", 1, 20, 2)
    products = products_of(given)
    # Default and exclusion have the same tables, so they share a product state. It is the first of the group, as the
    # only alternative in exclusion, and repayment is the second.
    assert products.place.tolist() == [1, 0, 0]
    begins, ends = products.borders()
    assert begins.tolist() == [True, False] * 2
    assert ends.tolist() == [True, True] * 2
    weights = products.weights().astype(np.float64) * 2.0**-64
    back = given.alternatives[1].chances()["good"]  # type: ignore[attr-defined]
    q = given.beta * given.transition
    # Repayment leads to the good regime, whose maximum is complete at the second state; default leads to both regimes.
    assert weights[1::2, 1::2] == pytest.approx(q, rel=1e-15)
    assert weights[0::2, 1::2] == pytest.approx(back * q, rel=1e-15)
    assert weights[0::2, 0::2] == pytest.approx((1.0 - back) * q, rel=1e-15)
    assert not weights[1::2, 0::2].any()
    # A forced choice: lower candidates have the same cost, and higher ones are not affordable.
    choice = int(given.alternatives[1].choice)  # type: ignore[attr-defined]
    assert (products.cost[: choice + 1, 0::2] == 0.0).all()
    assert (products.cost[choice + 1 :, 0::2] >= products.wealth[:, 0::2].max(axis=0)).all()
    assert (products.stands[: choice + 1, 0::2] == choice).all()


def test_a_shared_product_state_begins_from_the_lower_regime() -> None:
    """The running maximum over a group yields both regimes' start values, unless the lower regime's are higher."""
    given = with_alternatives("default", 1, 20, 2)
    good, excluded = np.zeros((20, 2)), np.full((20, 2), -3.0)
    for starts, places in (((good, excluded), [1, 0, 0]), ((excluded, good), [0, 1, 2])):
        begun = replace(given, start=np.stack(starts))
        products = products_of(begun)
        assert products.place.tolist() == places
        assert np.array_equal(products.best(products.start), begun.start)
        found, right = (bl.solve(begun, tol=TOL, max_sweeps=900, **where) for where in (EMULATOR, {}))
        assert compared(begun, found, right) == 0


def test_tables_of_values_come_first_and_keep_their_values() -> None:
    given = with_alternatives("exit", 1, 20, 2)
    image = product_image(given, 1e-6)
    assert image.products is not None
    assert image.groups is not None
    assert image.last_groups is not None
    assert image.products.place.tolist() == [1, 0, 2]
    assert image.groups.marks.tolist() == [5, 0, 2] * 2
    # In the last age tables of values do not enter the value after it.
    assert image.last_groups.marks.tolist() == [5, 1, 0] * 2
    table = np.asarray(given.alternatives[1].value)  # type: ignore[attr-defined]
    own = image.start[:, image.products.of(1)]
    assert (own[np.isneginf(table)] == LOWEST).all()
    assert np.ldexp(own[np.isfinite(table)].astype(float), -image.value_bits) == pytest.approx(
        table[np.isfinite(table)]
    )


def test_a_table_of_values_counts_for_nothing_after_the_last_age() -> None:
    """A table of values does not raise the value after the last age, but can be chosen at earlier ages."""
    given = with_alternatives("exit", 0, 20, 2, 3)
    alternatives = list(given.alternatives)
    alternatives[1] = bl.Alternative(name="leave", value=np.full((20, 2), 50.0))
    given = replace(given, alternatives=alternatives, start=np.full((20, 2), -1.0))
    found, right = (bl.solve(given, **where) for where in (EMULATOR, {}))
    assert compared(given, found, right) == 0
    assert found.taken("leave")[:2].all()


@pytest.mark.parametrize("horizon", [None, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_values_stay_within_their_bounds(kind: str, horizon: int | None) -> None:
    for seed in range(6):
        given = with_alternatives(kind, seed, 20, 2, horizon)
        products = products_of(given)
        reach = reach_of([products], horizon)
        found = bl.solve(given, tol=1e-8)
        assert reach.low - 1e-9 <= found.value.min() <= found.value.max() <= reach.high + 1e-9
        assert np.abs(found.tables.values[np.isfinite(found.tables.values)]).max() <= reach.all + 1e-9


def test_what_a_machine_missed_is_found() -> None:
    """Verification finds a wrong value, a wrong choice of x' and a wrong choice of an alternative."""
    given = with_alternatives("retirement", 1, 30, 2)
    with bl.open("emulator", **BUILD) as device:
        done = device.run(device.prepare(given))
    image, change = done.work.image, done.run.norm * 2.0**-done.work.image.value_bits
    found = found_of(image, done.run.value, done.run.policy)
    assert measure_products(given, image, found, change).missed == ""
    assert rounding_of(given, image, found).max() < 1e-9
    values = found.values.copy()
    values[0, 9, 1] += 1e-6
    missed = measure_products(given, image, found._replace(values=values), change).missed
    assert "the value of alternative 'work' wrong by 1e-06 at grid point 9, state 1" in missed
    # A candidate that is affordable, and one that is not.
    for index in (3 if found.policy[0, 9, 1] > 8 else 11, 29):
        policy = found.policy.copy()
        policy[0, 9, 1] = index
        missed = measure_products(given, image, found._replace(policy=policy), change).missed
        assert "a choice of alternative 'work' better" in missed
    choice, chances = found.choice.copy(), found.probabilities.copy()
    other = 1 - choice[0, 9, 1]
    choice[0, 9, 1] = other
    chances[[other, 1 - other], 9, 1] = 1.0, 0.0
    missed = measure_products(given, image, found._replace(choice=choice, probabilities=chances), change).missed
    assert "better than the one that was chosen" in missed


def test_single_alternatives_with_bounds_and_discounts_of_their_own() -> None:
    """Problems of the general form without named alternatives may have bounds and several discount factors."""
    given = with_cost("kink", 1, 40)
    for change in ({"low": 3, "high": 30}, {"beta": np.array([0.9, 0.8, 0.85])}, {"cost": None, "high": 20}):
        general = replace(given, **change)
        found, right = (bl.solve(general, tol=TOL, **where) for where in (EMULATOR, {}))
        assert compared(general, found, right) == 0
        assert found.policy.shape == (40, 3)


def test_problems_without_alternatives_keep_their_bits(tmp_path: Path) -> None:
    for given in (bl.rbc(grid=64, states=3), with_cost("laffer", 1, 40)):
        # With a checkpoint every sweep is proven in either build.
        plain, other = (
            bl.solve(given, tol=TOL, max_sweeps=40, device="emulator", checkpoint=tmp_path / name, **build)
            for name, build in ((f"{given.name}-plain.npz", BUILD | {"alternatives": 0}), (f"{given.name}.npz", BUILD))
        )
        assert type(plain) is type(other)
        assert np.array_equal(plain.value, other.value)
        assert np.array_equal(plain.policy, other.policy)


def test_only_what_changes_is_moved_and_the_last_solution_is_a_start() -> None:
    given = with_alternatives("default", 1, 30, 2)
    with bl.open("emulator", **BUILD) as device:
        first = device.solve(given, tol=TOL)
        again = device.solve(given, tol=TOL, start="last")
        assert again.sweeps <= 3
        assert np.abs(first.value - again.value).max() <= first.error_bound + again.error_bound
        device.solve(replace(given, beta=given.beta * 0.999), tol=TOL)
        assert device.moved == ("Q", "V")
    exits = with_alternatives("exit", 1, 30, 2)
    with bl.open("emulator", **BUILD) as device:
        first = device.solve(exits, tol=TOL)
        again = device.solve(exits, tol=TOL, start="last", value_bits=first.value_bits - 3)
        assert again.success
        assert again.sweeps <= 3
        for other in (with_alternatives("default", 1, 30, 3), with_cost("kink", 1, 30, 6)):
            with pytest.raises(
                bl.ProblemError, match="^start='last' needs a problem with the same alternatives and reg"
            ):
                device.solve(other, tol=TOL, start="last")


def test_a_solve_resumes_from_its_checkpoint(tmp_path: Path) -> None:
    given, path = with_alternatives("exit", 2, 30, 2), tmp_path / "so-far.npz"
    whole = bl.solve(given, tol=TOL, **EMULATOR)
    assert not bl.solve(given, tol=TOL, max_sweeps=7, checkpoint=path, **EMULATOR).success
    other = replace(given, alternatives=[replace(given.alternatives[0], kappa=0.01), *given.alternatives[1:]])
    with pytest.raises(bl.ProblemError, match="belongs to another problem, tolerance or number format"):
        bl.solve(other, tol=TOL, checkpoint=path, **EMULATOR)
    resumed = bl.solve(given, tol=TOL, checkpoint=path, **EMULATOR)
    assert np.array_equal(whole.value, resumed.value)
    assert np.array_equal(whole.tables.choice, resumed.tables.choice)
    assert whole.sweeps == resumed.sweeps


def test_a_checkpoint_has_a_key_of_all_groups() -> None:
    image = product_image(with_alternatives("default", 2, 30, 2), TOL)
    groups = image.groups
    assert groups is not None
    others = [
        replace(image, groups=replace(groups, **{name: getattr(groups, name) + 1}))
        for name in ("kappa", "marks", "lowest", "highest")
    ]
    assert len({_key(one) for one in (image, *others)}) == 5


def test_results_are_stored(tmp_path: Path) -> None:
    found = bl.solve(with_alternatives("default", 1, 20, 2), tol=1e-4, **EMULATOR)
    for name in ("found.npz", "found.nc"):
        assert str(bl.load(found.save(tmp_path / name))) == str(found)
    assert "64-bit fixed point" in str(found)
    assert "taken" in str(found)


def test_a_start_that_falls() -> None:
    given = with_alternatives("default", 1, 20, 2)
    falling = replace(given, start=np.linspace(0.0, -1.0, 20)[:, None] * np.ones(2))
    found = bl.solve(falling, tol=TOL, **EMULATOR)
    assert "the solve began from its running maximum" in found.message
    assert compared(given, found, bl.solve(given, tol=TOL)) == 0
    with pytest.raises(
        bl.ProblemError, match="^start must not fall as the grid rises, because a candidate of alternative "
    ):
        bl.solve(replace(falling, horizon=3), **EMULATOR)


def changed(given: bl.Problem, number: int, **new: Any) -> bl.Problem:
    alternatives = list(given.alternatives)
    alternatives[number] = replace(alternatives[number], **new)
    return replace(given, alternatives=alternatives)


def refused() -> list[tuple[bl.Problem, str]]:
    default, work, leave = (with_alternatives(kind, 1, 20, 2) for kind in ("default", "retirement", "exit"))
    rising = np.arange(20)[:, None].repeat(2, axis=1)
    falls = np.asarray(leave.alternatives[1].value)[::-1]  # type: ignore[attr-defined]
    poor = np.asarray(work.wealth).copy()
    poor[0] = np.nextafter(0.0, 1.0)
    return [
        (
            replace(work, taste=0.1),
            "problem 'retirement 1' has taste = 0.1, which device 'emulator' supports only with the option taste=1: "
            "pass it, too, or solve it",
        ),
        (
            changed(work, 0, low=rising, cost=-rising.astype(float)),
            "a machine takes bounds of x' that depend on x only if costs do not fall in x' or consumption may be "
            "negative, and cost of alternative 'work' falls in state 0: solve it",
        ),
        (
            changed(work, 0, low=rising, wealth=40.0 + rising),
            "problem 'retirement 1' has bounds of x' that depend on x, which device 'emulator' supports only with the "
            "option bounds=1: pass it, too, or solve it",
        ),
        (
            changed(replace(work, horizon=2), 0, beta=1.02, transition=np.eye(2)),
            "a machine takes beta times the probability of a state up to 1, and alternative 'work' has 1.02 with beta "
            "= 1.02: solve it",
        ),
        (
            changed(changed(leave, 1, value=falls), 0, low=2),
            "a machine needs values that do not fall in x, because a candidate of alternative 'stay' is dominated or "
            "below its bound, but a table of values falls from",
        ),
        (
            with_alternatives("default", 1, 20, 9),
            "3 alternatives, of which 2 differ, in 9 exogenous states take 18 states of a machine, more than the 16 "
            "that the largest build can hold: give multipliers=4, with which builds hold 128, or solve it",
        ),
        (
            changed(work, 1, wealth=poor),
            "wealth of alternative 'retire' exceeds its lowest cost by so little at grid point 0, state 0, that the "
            "difference is rounded to zero with amount_bits = ",
        ),
        (default, ""),
    ]


@pytest.mark.parametrize("number", range(6))
def test_refusals(number: int) -> None:
    given, sentence = refused()[number]
    with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence)):
        bl.solve(given, **EMULATOR)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"device": "emulator", "lanes": 2, "proof": 1, "costs": 1},
            "problem 'default 1' has alternatives, which device 'emulator' supports only with the options lanes=, "
            "proof=1, costs=1 and alternatives=1: pass these, or solve it",
        ),
        (
            {"device": "rtl"},
            "problem 'default 1' has alternatives, which device 'rtl' supports only with the options lanes=,",
        ),
        (
            {**EMULATOR, "costs": 0},
            "option 'alternatives' is for a sweep engine that takes costs: pass lanes=, proof=1 and costs=1 too",
        ),
        ({**EMULATOR, "alternatives": 2}, "alternatives must be 0 or 1, not 2"),
        (
            {**EMULATOR, "method": "shift"},
            "method 'shift' does not support problems with alternatives: leave method out",
        ),
        ({**EMULATOR, "value_bits": 52, "tol": 1e-4}, "value_bits = 52 can overflow: the values of alternatives can "),
    ],
)
def test_which_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    given = with_alternatives("default", 1, 20, 2)
    if "value_bits" in options:
        given = replace(given, start=np.full((20, 2), -1e6))
    with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence)):
        bl.solve(given, **options)


def test_a_session_says_what_it_does_not_take() -> None:
    given = with_alternatives("default", 1, 20, 2)
    with (
        bl.open("emulator", **BUILD) as device,
        pytest.raises(bl.ProblemError, match="^start of a problem with alternatives must be 'given' or 'last', not "),
    ):
        device.solve(given, start="coarse")
    device = open_device("emulator", MachineParameters(64, 8), lanes=2, proof=1, costs=1)
    with pytest.raises(bl.ProblemError, match="^device 'emulator' was built without alternatives, which the problem"):
        Driver(device).run(product_image(given, 1e-4), 5)
    with (
        bl.open("emulator", **BUILD) as session,
        pytest.raises(
            bl.ProblemError, match="^method 'shift' needs a sweep engine without alternatives, which device "
        ),
    ):
        session.solve(bl.rbc(grid=64, states=3), method="shift")


def test_marks_and_images_belong_together() -> None:
    image = product_image(with_alternatives("default", 1, 20, 2), 1e-4)
    assert image.groups is not None
    assert image.groups.has(Mark.BEGINS)[0]
    assert image.groups.has(Mark.ENDS)[-1]
    assert image.last_groups is not None
    assert np.array_equal(image.last_groups.marks, image.groups.marks)
