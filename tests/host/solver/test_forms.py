"""Machines and the processor on random problems of every form, against brute force in extended precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.problem.general import start_of
from beltline.host.solver.certificate import certified
from beltline.host.solver.complete import rounding_of
from beltline.host.solver.product_image import found_of, reach_of
from beltline.host.solver.products import products_by_age, products_of
from beltline.hw.interface.registers import Status
from oracle import bellman
from support.ages import with_ages, with_cost_by_age
from support.alternatives import KINDS, with_alternatives
from support.bounds import BOUNDED, bounded
from support.costs import SHAPES, with_cost
from support.firms import FIRMS, SCALES, firm

BUILD = {"lanes": 2, "general": 1}
TASTES = (0.3, 0.01, 30.0, 1e-7)


def shocked(kind: str, seed: int, points: int, states: int, horizon: int | None = None) -> bl.Problem:
    return with_alternatives(kind, seed, points, states, horizon, TASTES[seed % 4])


def aged(kind: str, seed: int, points: int, states: int, horizon: int | None) -> bl.Problem:
    make = with_cost_by_age if kind == "cost" else partial(with_ages, kind)
    return make(seed, points, max(2, states), horizon or 4)


Make = Callable[[int, int, int, int | None], bl.Problem]
FORMS: dict[str, Make] = {
    **{f"cost {shape}": partial(with_cost, shape) for shape in SHAPES},
    **{kind: partial(with_alternatives, kind) for kind in KINDS},
    **{f"taste {kind}": partial(shocked, kind) for kind in KINDS},
    **{kind: partial(firm, kind) for kind in FIRMS},
    **{kind: partial(bounded, kind) for kind in BOUNDED},
    "ages cost": partial(aged, "cost"),
    **{f"ages {kind}": partial(aged, kind) for kind in KINDS},
}


def tolerance(given: bl.Problem, seed: int) -> float:
    return 1e-6 * (SCALES[seed % len(SCALES)] if given.negative and given.name.startswith(FIRMS) else 1.0)


def off(given: bl.Problem, found: Any, exact: Any) -> int:
    """Check a result against the exact values; return the number of choices that lose more than its bound allows."""
    assert found.success, found.message
    form, after = given.form, np.asarray(start_of(given))
    tables = [table[None] if given.horizon is None else table for table in found.tables]
    values, ages = exact[None] if given.horizon is None else exact, range(given.horizon or 1)
    size = float(np.abs(values).max())
    bound = found.error_bound + 1e-15 * size
    assert np.abs(tables[0] - values).max() <= bound
    lost = 0
    for age in ages:
        V = exact if given.horizon is None else values[age + 1] if age + 1 < given.horizon else after
        chances = bellman.probabilities(form, V, age)
        _, of_each, policy, _, found_chances = (table[age] for table in tables)
        if given.taste:
            allowed = min(1.0, 4.0 * bound / given.taste) + 1e-12
            assert np.abs(found_chances - chances).max() <= allowed
        best = np.stack([bellman.objectives(form, d, V, age).max(axis=2) for d in range(len(form.alternatives))])
        for d, one in enumerate(form.alternatives):
            own = bellman.objectives(form, d, V, age)
            able = np.isfinite(best[d])
            assert np.array_equal(able, np.isfinite(of_each[d]))
            # In a value of great size, of hardly any consumption, the rounding of cash on hand shows.
            usual = able & (np.abs(best[d]) < 1e3 * size)
            assert np.abs(of_each[d] - best[d])[usual].max(initial=0.0) <= 2.0 * bound + 1e-9 * size
            if own.shape[2] > 1:
                assert ((policy[d] < 0) == ~able).all()
                chosen = np.take_along_axis(own, np.maximum(policy[d], 0)[:, :, None], axis=2)[:, :, 0]
            else:
                chosen = own[:, :, 0]
            mates = [best[e] for e, other in enumerate(form.alternatives) if other.regime == one.regime]
            top = best[d] if given.taste else np.max(mates, axis=0)
            taken = found_chances[d] > 0
            assert (able | ~taken).all()
            lost += int((top[taken] - chosen[taken] > 2.0 * bound).sum())
    return lost


@pytest.mark.parametrize("name", FORMS)
def test_errors_are_within_the_bounds_of_every_device(name: str) -> None:
    """Verified, unverified and in double precision; choices are the best within the bounds."""
    make = FORMS[name]
    lost = 0
    with bl.open("emulator", **BUILD) as device:
        for seed in range(5):
            given = make(seed, 18 + 3 * seed, 1 + seed % 3, 4 if seed % 2 else None)
            tol = tolerance(given, seed)
            exact = bellman.solution(given.form, start_of(given))
            measured, proven = (device.solve(given, tol=tol, verify=verify) for verify in (True, False))
            assert (measured.verified, proven.verified) == (True, False)
            assert np.array_equal(measured.value, proven.value)
            # The second search has rounding errors of its own.
            assert 0.999 * measured.error_bound - 1e-11 <= proven.error_bound
            # Of ages, the rounding of the poorest state counts.
            more = 99.0 * 2.0**-proven.value_bits + (0.01 if given.horizon is None else 10.0) * tol
            assert proven.error_bound < 2.0 * measured.error_bound + more
            lost += sum(off(given, one, exact) for one in (measured, proven, bl.solve(given, tol=tol)))
            aged = given.horizon is not None and "ages" in name
            ages = products_by_age(given) if aged else [products_of(given)]
            reach = reach_of(ages, given.horizon)
            low, high = reach.low, reach.high
            assert np.abs(proven.tables.values[np.isfinite(proven.tables.values)]).max() <= reach.all * (1 + 1e-9)
            for one in ages if given.negative else ():
                assert (np.abs(one.wealth[:, None] - one.cost) <= reach.all).all()
            slack = 1e-9 * max(abs(low), abs(high))
            assert low - slack <= exact.min() <= exact.max() <= high + slack
    assert lost == 0


@pytest.mark.parametrize("name", ["retirement", "taste retirement", "entry", "ages retirement"])
def test_what_a_machine_missed_is_found(name: str) -> None:
    """Wrong values, choices of ``x'``, alternatives and probabilities are named with their place."""
    make = FORMS[name]
    given = make(1 if name != "entry" else 0, 30, 2, None)
    with bl.open("emulator", **BUILD) as device:
        done = device.run(device.prepare(given, None))
    image, change = done.work.image, 0.0 if given.horizon else done.run.norm * 2.0**-done.work.image.value_bits
    found = found_of(image, done.run.value, done.run.policy)
    if given.horizon:
        # The first sweep is that of the last age.
        found = found._replace(**{part: table[::-1].copy() for part, table in found._asdict().items()})

    def missed_in(tables: Any) -> str:
        return certified(given, tables, change, image.products.form, rounding_of(given, image, tables)).missed

    assert missed_in(found) == ""
    assert rounding_of(given, image, found).max() < 1e-9
    first = given.alternatives[0].name
    for age in range(given.horizon or 1):

        def missed(part: str, edit: Callable[[Any], None], age: int = age) -> str:
            table = getattr(found, part).copy()
            edit(table[age] if given.horizon else table)
            said = missed_in(found._replace(**{part: table}))
            assert f", age {age + 1}" in said or not given.horizon
            return said

        def wrong(at: tuple[int, ...], by: Any) -> Callable[[Any], None]:
            return lambda table: table.__setitem__(at, table[at] + by)

        said = missed("values", wrong((0, 9, 1), 1e-6))
        assert f"the value of alternative '{first}' wrong by 1e-06 at grid point 9, state 1" in said
        for by in (1, 29 - (found.policy[age] if given.horizon else found.policy)[0, 9, 1]):
            assert f"a choice of alternative '{first}' better" in missed("policy", wrong((0, 9, 1), by))
        if given.taste:
            said = missed("probabilities", wrong((slice(0, 2), 9, 1), np.array([1e-6, -1e-6])))
            assert "probability" in said
    if not given.taste and not given.horizon:
        own = [d for d, one in enumerate(given.alternatives) if one.regime == given.alternatives[0].regime]
        choice, chances = found.choice.copy(), found.probabilities.copy()
        other = next(d for d in own if d != choice[0, 9, 1])
        chances[[choice[0, 9, 1], other], 9, 1] = 0.0, 1.0
        choice[0, 9, 1] = other
        found = found._replace(choice=choice, probabilities=chances)
        assert "better than the one that was chosen" in missed_in(found)


def test_a_run_that_was_not_proven_is_verified_all_the_same() -> None:
    for given in (with_cost("laffer", 1, 40), with_alternatives("exit", 2, 30, 2)):
        with bl.open("emulator", **BUILD) as device:
            work = device.prepare(given)
            done = device.run(work)
        unproven = replace(done.run, status=done.run.status & ~Status.PROVEN)
        options = replace(work.options, verify=False)
        assert replace(done, run=unproven, work=replace(work, options=options)).result().verified
