"""Tables by age in the software model: every value and choice of each age, against full search in fixed point."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.gpu_ref.general.form import Branch
from beltline.host.devices import open_device
from beltline.host.problem.problem import Problem
from beltline.host.solver.driver import Driver
from beltline.host.solver.fixed_point import Image
from beltline.host.solver.product_image import LOWEST, product_image
from beltline.host.solver.run import Run
from beltline.hw.arithmetic.numbers import MINIMUM
from beltline.hw.interface.groups import Mark
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Status
from support.ages import with_ages, with_cost_by_age
from support.alternatives import KINDS, FullSearch

AGES = 4
GENERAL = {"lanes": 2, "general": 1}


def ran(image: Image, **options: Any) -> Run:
    points, states = image.start.shape
    device = open_device("emulator", MachineParameters(1 << (points - 1).bit_length(), states), **options)
    return Driver(device).run(image, 1, horizon=AGES)


def check(problem: Problem, image: Image, run: Run) -> int:
    """Compare a run with full search at every age; return the number of choices among equals that differ."""
    value: NDArray[np.int64] = image.start
    ties = 0
    assert len(image.ages) == AGES
    assert Status.PROVEN in run.status
    for sweep, age in enumerate(reversed(range(AGES))):
        now = image.ages[age]
        check_tables(problem, now, age)
        assert now.groups is not None
        keeps = now.groups.has(Mark.KEEPS)
        # Tables of values of the next age; they do not enter the value after the last age.
        before = np.where(keeps, MINIMUM if age == AGES - 1 else tables_of_values(problem, now, age + 1), value)
        value, choices = FullSearch(now)(before)
        poor = (now.wealth <= now.grid[0]) | keeps
        assert np.array_equal(run.value[sweep][:, ~keeps], value[:, ~keeps]), age
        assert (run.value[sweep][poor & ~keeps] == MINIMUM).all()
        assert now.products is not None
        # The host may report another candidate of the same cost.
        stands = now.products.stands[run.policy[sweep], np.arange(choices.shape[1])]
        found = now.products.stands[np.maximum(choices, 0), np.arange(choices.shape[1])]
        ties += int(((stands != found) & ~poor).sum())
    return ties


def tables_of_values(problem: Problem, image: Image, age: int) -> NDArray[np.int64]:
    found = np.zeros(image.start.shape, np.int64)
    assert image.products is not None
    for d, one in enumerate(problem.alternatives):
        if one.value is not None:
            table = np.asarray(one.value)[age]
            cannot = np.isneginf(table)
            words = np.rint(np.where(cannot, 0.0, table) * 2.0**image.value_bits).astype(np.int64)
            found[:, image.products.of(d)] = np.where(cannot, LOWEST, words)
    return found


def check_tables(problem: Problem, image: Image, age: int) -> None:
    """Check that an image has the tables of an age."""
    products = image.products
    assert products is not None
    assert image.groups is not None
    for d, one in enumerate(problem.form.alternatives):
        if isinstance(one, Branch):
            tables, columns = one.at(age), products.of(d)
            wealth = np.rint(tables.wealth * 2.0**image.amount_bits).astype(np.int64)
            assert np.array_equal(image.wealth[:, columns], wealth)
            kappa = np.rint(tables.kappa * 2.0**image.value_bits).astype(np.int64)
            assert np.array_equal(image.groups.kappa[columns], kappa)
            inside = np.arange(problem.points)[:, None] >= tables.low[0]
            inside &= np.arange(problem.points)[:, None] <= tables.high[0]
            bounded = np.where(inside, tables.cost, np.inf)
            least = np.array([bounded[i:].min(axis=0) for i in range(problem.points)])
            cost = np.rint(np.minimum(least, tables.wealth.max(axis=0)) * 2.0**image.amount_bits).astype(np.int64)
            assert np.array_equal(image.grid[:, columns], cost)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", KINDS)
def test_every_age_is_full_searchs(kind: str, seed: int) -> None:
    problem = with_ages(kind, seed, 20, 2, AGES)
    image = product_image(problem, 1e-6)
    runs = [ran(image, **(GENERAL | more)) for more in ({}, {"lanes": 1}, {"lanes": 4})]
    assert check(problem, image, runs[0]) == 0
    for other in runs[1:]:
        assert np.array_equal(other.value, runs[0].value)
        assert np.array_equal(other.policy, runs[0].policy)


@pytest.mark.parametrize("seed", range(4))
def test_a_cost_by_age_is_full_searchs(seed: int) -> None:
    problem = with_cost_by_age(seed, 20, 2, AGES)
    image = product_image(problem, 1e-6)
    assert check(problem, image, ran(image, **GENERAL)) == 0
