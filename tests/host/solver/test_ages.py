"""Horizons with tables by age on machines: what is transferred, the number formats, refusals, and the guarantees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import open_device
from beltline.host.solver.driver import Driver
from beltline.host.solver.product_image import product_image
from beltline.host.solver.products import products_by_age
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Mode, Status, Table
from support.ages import with_ages, with_cost_by_age
from support.alternatives import KINDS, with_alternatives
from support.compared import TOL, check

BUILD = {"lanes": 2, "general": 1}
EMULATOR = {"device": "emulator", **BUILD}


def test_ages_that_were_not_reached_are_no_result() -> None:
    given = with_ages("exit", 1, 30, 2)
    with bl.open("emulator", **BUILD) as device:
        done = device.run(device.prepare(given))
    short = replace(
        done.run, value=done.run.value[:2], policy=done.run.policy[:2], sweeps=2, status=Status.DONE | Status.LIMIT
    )
    found, whole = replace(done, run=short).result(), done.result()
    assert not found.success
    assert np.array_equal(found.value, whole.value[2:])
    assert np.array_equal(found.tables.choice, whole.tables.choice[2:])


def written(given: bl.Problem) -> tuple[list[set[str]], list[bool]]:
    """Solve a problem; return what was written before each age, in the order of the runs, and if choices were kept."""
    image = product_image(given, 1e-6)
    points, states = image.start.shape
    device = open_device("emulator", MachineParameters(1 << (points - 1).bit_length(), states), **BUILD)
    moved: list[set[str]] = [set()]
    stored: list[bool] = []
    write_block, write_register = device.write_block, device.write_register
    matrix = 4 ** (states - 1).bit_length()

    def block(table: Table, first: int, words: Any) -> None:
        moved[-1].add("groups" if table is Table.Q and first >= matrix else table.name)
        write_block(table, first, words)

    def register(name: str, value: int) -> None:
        if name == "COMMAND" and value == 1:
            stored.append(bool(device.read_register("MODE") & Mode.CHOICES))
            moved.append(set())
        write_register(name, value)

    device.write_block, device.write_register = block, register  # type: ignore[method-assign]
    run = Driver(device).run(image, 1, horizon=given.horizon)
    assert run.sweeps == given.horizon
    return moved[:-1], stored


def test_only_tables_that_differ_are_transferred() -> None:
    points, states, ages = 20, 2, 4
    work = with_alternatives("retirement", 1, points, states, ages)
    every = {"X", "W", "Q", "groups", "V"}
    kept = [False, True, True, True]
    assert written(work) == ([every, set(), set(), set()], kept)
    kappa = np.linspace(-1.0, -0.4, ages)[:, None] * np.ones(states)
    alternatives = [replace(work.alternatives[0], kappa=kappa), *work.alternatives[1:]]
    assert written(replace(work, alternatives=alternatives)) == ([every, *[{"groups"}] * 3], kept)
    # Age 2 is the third to be solved.
    wealth = np.repeat(work.wealth[None], ages, axis=0)
    wealth[1] += 0.1
    alternatives = [*work.alternatives[:2], replace(work.alternatives[2], wealth=wealth)]
    assert written(replace(work, alternatives=alternatives)) == ([every, set(), {"W"}, {"W"}], kept)
    chain = np.repeat(work.transition[None], ages, axis=0)
    chain[:3] = np.eye(states)
    assert written(replace(work, transition=chain)) == ([every, {"Q"}, set(), set()], kept)
    leave = with_alternatives("exit", 1, points, states, ages)
    value = np.stack([np.asarray(leave.alternatives[1].value) + age for age in range(ages)])
    alternatives = [leave.alternatives[0], replace(leave.alternatives[1], value=value), leave.alternatives[2]]
    found, choices = written(replace(leave, alternatives=alternatives))
    assert choices == kept
    # The last two runs begin with the tables of values of ages 2 and 3; that of the last age is there from the start.
    assert found[1:] == [{"groups"}, {"V"}, {"V"}]


def test_number_formats_are_those_of_the_most_demanding_age() -> None:
    for kind in KINDS:
        given = with_ages(kind, 1, 20, 2)
        usual = product_image(given, TOL)
        d = next(d for d, one in enumerate(given.alternatives) if one.value is None)
        one = given.alternatives[d]
        kappa = np.zeros((4, 2))
        kappa[1] = -1e7
        wealth = np.array(given.form.alternatives[d].wealth)  # type: ignore[union-attr]
        wealth[2] += 1e5
        for change in ({"kappa": kappa}, {"wealth": wealth}):
            alternatives = [*given.alternatives[:d], replace(one, **change), *given.alternatives[d + 1 :]]
            other = replace(given, alternatives=alternatives)
            image = product_image(other, TOL)
            fewer = [getattr(image, bits) < getattr(usual, bits) for bits in ("value_bits", "amount_bits")]
            assert fewer[0] == ("kappa" in change)
            assert fewer[1] == ("wealth" in change)
            assert {(age.value_bits, age.amount_bits) for age in image.ages} == {(image.value_bits, image.amount_bits)}
            check(other, bl.solve(other, **EMULATOR))


def test_product_states_are_shared_only_if_they_are_equal_at_all_ages() -> None:
    given = with_ages("default", 1, 20, 2)
    assert products_by_age(given)[0].count == 2
    wealth = np.array(given.alternatives[2].wealth)
    wealth[3] *= 0.99
    other = replace(given, alternatives=[*given.alternatives[:2], replace(given.alternatives[2], wealth=wealth)])
    assert {one.count for one in products_by_age(other)} == {3}
    check(other, bl.solve(other, **EMULATOR))


def test_values_that_fall_are_refused_only_at_ages_that_they_enter() -> None:
    """A start that falls is fine unless a candidate is dominated at the last age, a table unless at the age before."""
    given = with_alternatives("exit", 1, 20, 2, 3)
    value = np.asarray(given.alternatives[1].value)
    value = np.sort(np.where(np.isfinite(value), value, -9.0), axis=0)
    flat = np.asarray(given.cost)[:, None] if given.cost is not None else given.grid[:, None]
    for age in range(3):
        # One candidate is dominated at this age.
        cost = np.repeat(np.repeat(flat, 2, axis=1)[None], 3, axis=0)
        cost[age, 4] = cost[age, 5] + 0.01
        for falling in range(3):
            table = np.repeat(value[None], 3, axis=0)
            table[falling] = table[falling, ::-1]
            alternatives = [
                replace(given.alternatives[0], cost=cost), replace(given.alternatives[1], value=table),
                given.alternatives[2],
            ]  # fmt: skip
            other = replace(given, alternatives=alternatives)
            if falling == age + 1:
                sentence = (
                    f"a machine needs values that do not fall in x, because a candidate of alternative 'stay' is "
                    f"dominated or below its bound at age {age + 1}, but a table of values falls from "
                )
                with pytest.raises(bl.ProblemError, match=f"^{sentence}.* at age {falling + 1}: solve it"):
                    bl.solve(other, **EMULATOR)
            else:
                check(other, bl.solve(other, **EMULATOR))
        alternatives = [replace(given.alternatives[0], cost=cost), given.alternatives[2]]
        other = replace(given, alternatives=alternatives, start=np.linspace(0.0, -1.0, 20)[:, None] * np.ones(2))
        if age == 2:
            with pytest.raises(bl.ProblemError, match="^start must not fall as the grid rises, .* at age 3, but it "):
                bl.solve(other, **EMULATOR)
        else:
            check(other, bl.solve(other, **EMULATOR))


def test_a_discount_factor_of_one_is_exact_enough() -> None:
    """A weight of exactly 1 is stored as the largest fraction below it."""
    given = with_alternatives("retirement", 1, 20, 2, 4)
    alternatives = [replace(one, beta=1.0, transition=np.eye(2)) for one in given.alternatives]
    other = replace(given, alternatives=alternatives)
    check(other, bl.solve(other, **EMULATOR))


def test_a_build_that_is_not_general_refuses_costs_by_age() -> None:
    cost = with_cost_by_age(1, 20, 2)
    device = open_device("emulator", MachineParameters(64, 8), lanes=2)
    with pytest.raises(bl.ProblemError, match="^the problem has costs of its choices, and the build of device 'emulat"):
        Driver(device).run(product_image(cost, 1e-4), 1, horizon=4)


def test_the_last_solution_is_no_value_after_the_last_age() -> None:
    """In a session, a problem with a horizon keeps its own start, with and without tables by age."""
    endless = with_alternatives("retirement", 1, 20, 2)
    with bl.open("emulator", **BUILD) as device:
        for given in (with_ages("retirement", 1, 20, 2), replace(endless, horizon=3)):
            device.solve(endless, tol=1e-3)
            found = device.solve(given, start="last")
            check(given, found)


def test_a_timeout_ends_between_ages() -> None:
    with pytest.raises(bl.DeviceTimeoutError, match="^the run on device 'emulator' took more than 1e-06 seconds and"):
        bl.solve(with_ages("random", 1, 20, 2), timeout=1e-6, **EMULATOR)


def test_ages_that_do_not_fit_into_the_memory_of_the_host_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**28 + 1000)
    with pytest.raises(
        bl.ProblemError, match=r"^a run of 9,000 ages of 50 x 2 states needs 0\.01 GiB, more than the 0\."
    ):
        bl.solve(bl.life_cycle(grid=50, states=2, ages=9000), device="emulator")
