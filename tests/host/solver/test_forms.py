"""Machines and the processor on random problems of every form, against brute force in extended precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from endurance.problems import attempted, exact

import beltline as bl
from beltline.host.solver.certificate import certified
from beltline.host.solver.complete import rounding_of
from beltline.host.solver.product_image import found_of, reach_of
from beltline.host.solver.products import products_by_age, products_of
from beltline.hw.interface.registers import Status
from support.ages import with_ages, with_cost_by_age
from support.alternatives import KINDS, with_alternatives
from support.bounds import BOUNDED, bounded
from support.costs import SHAPES, with_cost
from support.firms import FIRMS, firm

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


@pytest.mark.parametrize("name", FORMS)
def test_machines_solve_every_form_within_their_bounds(name: str) -> None:
    for seed in range(3):
        given = FORMS[name](seed, 18 + 3 * seed, 1 + seed % 3, 4 if seed % 2 else None)
        solution = exact(given)
        for way in ("general", "general not verified"):
            found = attempted(given, way, solution)
            assert found.end == "success", f"{way} {seed}: {found.end} {found.wrong}"
        aged = given.horizon is not None and "ages" in name
        reach = reach_of(products_by_age(given) if aged else [products_of(given)], given.horizon)
        slack = 1e-9 * max(abs(reach.low), abs(reach.high))
        assert reach.low - slack <= solution[0].min() <= solution[0].max() <= reach.high + slack


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
