"""Retirement: against backward induction in plain NumPy, and against the closed form on finer and finer grids."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import beltline as bl
from docs.tables.retirement import Errors, late_probability

Array = NDArray[np.float64]

AGES = 6
SMALL: dict[str, Any] = {"grid": 80, "ages": AGES, "high": 160.0}


def solved(**parameters: Any) -> bl.RetirementResult:
    found: bl.RetirementResult = bl.solve(bl.retirement(**parameters), progress=False)
    return found


@pytest.fixture(scope="module")
def lives() -> bl.RetirementResult:
    return solved(**SMALL)


def by_hand(wealth: Array, taste: float, interest: float) -> dict[str, Array]:
    """Return values, consumption and probabilities by age, ``(T, N_M)``, by a search over all affordable choices."""
    points, gross = wealth.size, 1 + interest
    worker, retired = np.zeros(points), np.zeros(points)
    found: dict[str, list[Array]] = {name: [] for name in ("worker", "retired", "work_c", "rest_c", "retires")}
    for _ in range(AGES):
        with np.errstate(divide="ignore", invalid="ignore"):
            work_c = wealth[:, None] - (wealth - 20.0) / gross
            rest_c = wealth[:, None] - np.where(np.arange(points) > 0, wealth, 0.0) / gross
            work = np.where((work_c > 0) & (wealth >= 20), np.log(work_c) - 1.0 + 0.98 * worker, -np.inf)
            rest = np.where(rest_c > 0, np.log(rest_c) + 0.98 * retired, -np.inf)
        value = np.stack([work.max(axis=1), rest.max(axis=1)])
        found["work_c"].append(work_c[np.arange(points), work.argmax(axis=1)])
        found["rest_c"].append(rest_c[np.arange(points), rest.argmax(axis=1)])
        retired = value[1]
        worker = taste * np.logaddexp(*(value / taste)) if taste else value.max(axis=0)
        found["retires"].append(np.exp((value[1] - worker) / taste) if taste else (value[1] > value[0]).astype(float))
        found["worker"].append(worker)
        found["retired"].append(retired)
    return {name: np.array(tables[::-1]) for name, tables in found.items()}


@pytest.mark.parametrize(("taste", "interest"), [(0.0, 0.0), (0.05, 0.0), (0.3, 0.04)])
def test_it_is_backward_induction_in_plain_numpy(taste: float, interest: float) -> None:
    found = solved(**SMALL, taste=taste, interest=interest)
    assert found.success
    wanted = by_hand(found.wealth, taste, interest)
    for name, table in (
        ("worker", found.value),
        ("retired", found.retired_value),
        ("work_c", found.work_consumption),
        ("rest_c", found.retired_consumption),
        ("retires", found.retirement_probability),
    ):
        assert table.shape == (AGES, 80)
        np.testing.assert_allclose(table, wanted[name], rtol=0, atol=1e-11, err_msg=name)
    chance = wanted["retires"]
    mean = chance * wanted["rest_c"] + (1 - chance) * wanted["work_c"]
    np.testing.assert_allclose(found.consumption, mean, rtol=0, atol=1e-11)
    assert found.solution.error_bound < 1e-10


def test_the_error_falls_with_the_grid() -> None:
    found = [Errors.of(solved(grid=grid)) for grid in (500, 2_000, 8_000)]
    for coarse, fine in itertools.pairwise(found):
        # The error of values is about the square of a grid step, that of consumption and thresholds one step.
        assert fine.worker < coarse.worker / 6
        assert fine.retired < coarse.retired / 6
        assert fine.consumption < coarse.consumption / 2
        assert fine.threshold < coarse.threshold / 1.5
    assert found[-1].worker < 2e-4
    assert found[-1].retired < 2e-4


def test_names_are_consistent(lives: bl.RetirementResult) -> None:
    wealth, wage = lives.wealth, lives.model.wage
    assert wealth[lives.model.paid] == wage
    assert (wealth[0], wealth[-1]) == (0.1, 160.0)
    np.testing.assert_allclose(np.diff(np.log(wealth)), np.log(1600) / 79, rtol=0.05)
    assert (lives.value == np.maximum(lives.work_value, lives.retire_value)).all()
    assert (lives.retires == (lives.retire_value > lives.work_value)).all()
    assert (lives.retires == (lives.retirement_probability == 1)).all()
    assert (lives.consumption == np.where(lives.retires, lives.retired_consumption, lives.work_consumption)).all()
    # At the last age all are retired and consume everything; poor households save exactly nothing.
    assert lives.retires[-1].all()
    assert (lives.consumption[-1] == wealth).all()
    assert (lives.consumption[:-1, wealth < wage] == wealth[wealth < wage]).all()
    assert lives.threshold[-1] == 0.1
    assert (np.diff(lives.threshold) < 0).all()
    for age in range(AGES):
        assert (lives.retires[age] == (wealth >= lives.threshold[age])).all()
    assert lives.closed_form().threshold(1) == pytest.approx(lives.threshold[0], rel=0.1)


def test_small_taste_shocks_change_little(lives: bl.RetirementResult) -> None:
    shaken = solved(**SMALL, taste=1e-5)
    assert np.abs(shaken.value - lives.value).max() < 1e-5 * np.log(2) * AGES
    assert (shaken.retires == lives.retires).all()


def test_choice_probabilities_at_the_last_age_but_one() -> None:
    for taste in (0.05, 0.4):
        found = solved(grid=4_000, ages=3, taste=taste)
        rich = found.wealth >= 5.0
        exact = late_probability(found.wealth[rich], taste, 20.0, 1.0, 0.98)
        np.testing.assert_allclose(found.retirement_probability[1, rich], exact, rtol=0, atol=2e-5)
        assert 0.3 < found.retirement_probability[1, rich].max()


def test_there_is_no_closed_form_with_taste_shocks() -> None:
    with pytest.raises(bl.ProblemError, match=r"^with taste shocks there is no closed form, and taste is 0\.1$"):
        solved(**SMALL, taste=0.1).closed_form()


def test_a_grid_that_ends_too_early_is_no_success() -> None:
    found = solved(grid=80, ages=12, high=60.0, interest=0.1)
    assert found.solution.success
    assert (found.success, found.status) == (False, "grid ends too early")
    assert found.message == "Some people choose the highest wealth, 60, and might choose more: raise high."
    assert np.isnan(found.threshold[0])
    assert "retires       at age 1 at no wealth up to 60, at age 11 from a wealth of " in str(found)
    # Without interest no worker's wealth exceeds the grid, so a longer grid gives the same solution.
    short, long = solved(grid=800, ages=12, high=60.0), solved(grid=960, ages=12, high=400.0)
    assert short.success
    assert Errors.of(short).worker < 2 * Errors.of(long).worker < 0.02
    # With grid steps of 13 at the top the richest stay at the last point, though they would not save more.
    assert solved(grid=256, taste=0.1).success


def test_one_age() -> None:
    found = solved(grid=20, ages=1)
    assert found.success
    np.testing.assert_allclose(found.value[0], np.log(found.wealth), rtol=0, atol=1e-15)
    assert "retires       at age 1 from a wealth of 0.1\n" in str(found)


def test_a_machine_solves_what_the_processor_solves() -> None:
    model = bl.retirement(**SMALL)
    found, right = bl.solve(model, device="emulator"), bl.solve(model)
    assert found.success
    assert found.solution.clocks > 0
    assert "64-bit fixed point" in str(found)
    np.testing.assert_array_equal(found.solution.policy, right.solution.policy)
    np.testing.assert_array_equal(found.solution.choice, right.solution.choice)
    gap = np.abs(found.solution.value - right.solution.value).max()
    assert gap <= found.solution.error_bound + right.solution.error_bound


def test_progress_is_reported_by_age() -> None:
    lines: list[str] = []
    bl.solve(bl.retirement(**SMALL), progress=lines.append)
    assert lines[-2:] == ["age 6 of 6", "verifying by a second search"]
    assert len([line for line in lines if line.startswith("age ")]) == AGES


def test_figures_show_the_tables(lives: bl.RetirementResult) -> None:
    (axes,) = lives.plot(kind="consumption").axes
    assert [line.get_label() for line in axes.lines] == ["age 4", "age 3", "age 1"]
    assert (axes.lines[-1].get_ydata() == lives.consumption[0]).all()
    (axes,) = lives.plot(kind="threshold").axes
    grid, exact = axes.lines
    assert (grid.get_ydata() == lives.threshold).all()
    assert list(exact.get_ydata()) == [lives.closed_form().threshold(age) for age in range(1, AGES + 1)]
    shaken = solved(**SMALL, taste=0.1)
    (axes,) = shaken.plot(kind="probability").axes
    assert (axes.lines[-1].get_ydata() == shaken.retirement_probability[0]).all()
    assert len(shaken.plot(kind="threshold").axes[0].lines) == 1
