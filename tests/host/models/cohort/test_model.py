"""A cohort: against backward induction in plain NumPy, a closed form, Euler equations, and simulated lives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import beltline as bl
from beltline.host.models.cohort.published import EDUCATION, SURVIVAL
from docs.tables.cohort import Euler

Array = NDArray[np.float64]

SMALL: dict[str, Any] = {
    "grid": 60, "states": 3, "first": 60, "retirement": 63, "last": 66, "high": 300.0, "bequest": 5.0,
}  # fmt: skip
"""A cohort with four years of work, three of retirement, and nine states of income."""


def solved(**parameters: Any) -> bl.CohortResult:
    found: bl.CohortResult = bl.solve(bl.cohort(**parameters), progress=False)
    return found


@pytest.fixture(scope="module")
def people() -> bl.CohortResult:
    return solved(**SMALL, survival=[0.9, 0.95, 0.8, 0.99, 0.7, 0.6])


def test_it_is_backward_induction_in_plain_numpy(people: bl.CohortResult) -> None:
    model, grid = people.model, people.assets
    survival = [0.9, 0.95, 0.8, 0.99, 0.7, 0.6, 0.0]
    # Loops over age, state and choice; only incomes and the chain are taken from the model.
    left = 5.0 * -1.0 / (20.0 + 1.02 * grid)
    ahead = np.zeros((60, 9))
    for age in reversed(range(7)):
        chain = model.chain[age] if age < 6 else np.eye(9)
        after = 0.96 * (survival[age] * ahead @ chain.T + (1 - survival[age]) * left[:, None])
        value, chosen = np.empty((60, 9)), np.empty((60, 9), int)
        for x in range(60):
            for s in range(9):
                eaten = 1.02 * grid[x] + model.incomes[age, s] - grid
                worth = np.where(eaten > 0, -1.0 / np.where(eaten > 0, eaten, 1.0), -np.inf) + after[:, s]
                chosen[x, s], value[x, s] = worth.argmax(), worth.max()
        assert (people.policy[age] == chosen).all()
        np.testing.assert_allclose(people.value[age], value, rtol=1e-13)
        ahead = value
    assert people.success
    assert people.solution.verified


def test_incomes_follow_profile_chain_and_pension() -> None:
    model = bl.cohort(**SMALL)
    assert model.incomes.shape == (7, 9)
    # The middle state has the income of the profile, then the pension; extreme states have the extreme shocks.
    profile = np.exp(0.530339 + 0.16818 * 60 - 0.00323371 * 60**2 + 0.000019704 * 60**3)
    assert model.incomes[0, 4] == pytest.approx(profile, rel=1e-12)
    assert model.incomes[4:, 4] == pytest.approx(0.68212 * model.incomes[3, 4], rel=1e-12)
    spread = np.sqrt(2 * 0.0106 * 4)
    assert np.log(model.incomes[3, 8] / model.incomes[3, 4]) == pytest.approx(spread + np.sqrt(3 * 0.0738), rel=1e-12)
    assert np.log(model.incomes[4, 6:] / model.incomes[4, 4]) == pytest.approx(spread, rel=1e-12)
    assert model.chain.sum(axis=2) == pytest.approx(1.0, rel=1e-14)
    assert (model.chain[3:] == np.eye(9)).all()
    assert model.beginning == pytest.approx(np.kron([0.25, 0.5, 0.25], [1 / 6, 2 / 3, 1 / 6]), rel=1e-14)


def test_the_variance_of_log_income_is_that_of_the_process(people: bl.CohortResult) -> None:
    found = people.paths().log_variance["income"]
    work = 0.0106 * np.arange(1, 5) + 0.0738
    assert found[:4] == pytest.approx(work, rel=1e-11)
    assert found[4:] == pytest.approx(0.0106 * 4, rel=1e-11)


def test_the_cohort_is_that_of_simulated_people(people: bl.CohortResult) -> None:
    random, many = np.random.default_rng(5), 200_000
    chain, paths = people.model.chain, people.paths()
    x, lives = np.zeros(many, int), np.ones(many, bool)
    s = random.choice(9, many, p=people.model.beginning)
    left: list[Array] = []
    for age in range(7):
        here = lives.nonzero()[0]
        assert people.alive[age] == pytest.approx(here.size / many, abs=4 * np.sqrt(0.25 / many))
        for name, table in (("assets", people.assets[x]), ("consumption", people.consumption[age, x, s])):
            error = 4 * table[here].std() / np.sqrt(here.size) + 1e-12
            assert paths.mean[name][age] == pytest.approx(table[here].mean(), abs=error), (name, age)
            ranks = (table[here][:, None] <= paths.percentiles[name][:, age]).mean(axis=0)
            assert (ranks >= np.array([0.1, 0.5, 0.9]) - 0.006).all()
        x = people.policy[age, x, s]
        dies = lives & (random.random(many) >= (people.model.survival[age] if age < 6 else 0.0))
        left.append(1.02 * people.assets[x[dies]])
        lives &= ~dies
        if age < 6:
            s = (chain[age].cumsum(axis=1)[s] <= random.random(many)[:, None]).sum(axis=1).clip(max=8)
    everybody = np.concatenate(left)
    assert everybody.size == many
    assert people.mean_bequest == pytest.approx(everybody.mean(), abs=4 * everybody.std() / np.sqrt(many))


def test_mass_adds_up_to_survival(people: bl.CohortResult) -> None:
    assert people.distribution.shape == (7, 60, 9)
    assert people.alive == pytest.approx(np.cumprod([1, 0.9, 0.95, 0.8, 0.99, 0.7, 0.6]), rel=1e-13)
    # Income is consumed or saved.
    mean = people.paths().mean
    assert mean["consumption"] + mean["saving"] == pytest.approx(mean["income"] + 0.02 * mean["assets"], rel=1e-12)
    # Those who die have the same distribution of wealth as those who survive.
    assert np.diff(mean["assets"]) == pytest.approx(mean["saving"][:-1], rel=1e-12)


def test_eating_a_cake_with_log_utility_and_survival() -> None:
    # With almost no income the share of wealth consumed depends on survival and the weight of bequests alone.
    survival = np.array([0.95, 0.7, 0.9, 0.5])
    found = solved(
        grid=3000, states=1, first=30, retirement=30, last=34, eta=1.0, bequest=2.0, luxury=1e-9, income=[1e-9],
        survival=survival, transitory=0.0, high=100.0, power=2.0,
    )  # fmt: skip
    assert found.solution.success
    lives, weight, level = np.append(survival, 0.0), 0.0, 0.0
    rich = slice(600, None)
    wealth = 1.02 * found.assets[rich]
    for age in reversed(range(5)):
        # V = weight ln W + level one age later, and 2 ln(1.02 a') at death: shares are 1 and 0.96 times their weights.
        saved = 0.96 * (lives[age] * weight + (1 - lives[age]) * 2.0)
        constant = 0.96 * (lives[age] * level + (lives[age] * weight + (1 - lives[age]) * 2.0) * np.log(1.02))
        level = constant - np.log(1 + saved) + saved * np.log(saved / (1 + saved))
        weight = 1 + saved
        steps = np.diff(found.assets)[rich.start - 1 :]
        assert (np.abs(found.consumption[age, rich, 0] - wealth / weight) <= steps).all()
        np.testing.assert_allclose(found.value[age, rich, 0], weight * np.log(wealth) + level, atol=2e-4)


def test_choices_between_grid_points_have_the_same_means() -> None:
    more = {**SMALL, "last": 70, "survival": SURVIVAL[40:50]}
    exact = Euler.of(bl.cohort(**{**more, "grid": 500}))
    gaps = []
    for grid in (100, 400):
        mean = solved(**{**more, "grid": grid}).paths().mean
        gaps.append([np.abs(mean[name] - exact.mean(name)).max() for name in ("consumption", "assets")])
    assert exact.mean("consumption").min() > 5
    assert gaps[1][0] < 0.05
    assert gaps[1][1] < 0.1
    assert gaps[1][1] < gaps[0][1] / 2


def test_a_wish_to_leave_something_is_heeded(people: bl.CohortResult) -> None:
    more = solved(**{**SMALL, "bequest": 50.0}, survival=people.model.survival)
    less = solved(**{**SMALL, "bequest": 0.0}, survival=people.model.survival)
    assert less.mean_bequest < people.mean_bequest < more.mean_bequest
    # Without a bequest motive everything is consumed at the last age.
    assert (less.policy[-1] == 0).all()
    assert less.at_limit[-1] == pytest.approx(1.0, rel=1e-14)
    assert people.at_limit[-1] < 1
    # Bequests are a luxury: if their weight is small, the poorest leave nothing and the richest do.
    little = solved(**{**SMALL, "bequest": 1.0}, survival=people.model.survival)
    assert little.policy[-1, 0, 0] == 0
    assert little.policy[-1, -1, 0] > 0


def test_a_grid_that_ends_too_early_is_no_success() -> None:
    found = solved(**{**SMALL, "high": 5.0})
    assert found.solution.success
    assert (found.success, found.status) == (False, "grid ends too early")
    assert re.fullmatch(
        r"In [\d.]+% of all years of life the highest assets, 5, are chosen, and at most 0\.10% are allowed: "
        r"raise high\.",
        found.message,
    )


def test_incomes_and_survival_of_ones_own() -> None:
    model = bl.cohort(first=20, retirement=22, last=24, income=[1, 2, 3], survival=[1.0, 0.5, 0.9, 0.2])
    assert (model.income, model.survival) == ((1.0, 2.0, 3.0), (1.0, 0.5, 0.9, 0.2))
    assert bl.cohort(education="college").replacement == 0.9389
    assert bl.cohort(education="college", replacement=0.5).replacement == 0.5
    assert len(bl.cohort().survival) == 79
    # The income profile has a hump, which is higher and later with more schooling.
    peaks = {name: 20 + process.published(20, 65).argmax() for name, process in EDUCATION.items()}
    assert 35 <= peaks["no high school"] <= peaks["high school"] < peaks["college"] <= 55
    at_fifty = [process.published(50, 50)[0] for process in EDUCATION.values()]
    assert at_fifty == sorted(at_fifty)


def test_a_machine_solves_what_the_processor_solves(people: bl.CohortResult) -> None:
    """With 20 product states, whose wealth and transitions differ at each age."""
    found = bl.solve(people.model, device="emulator", progress=False)
    assert found.success, found.message
    assert np.array_equal(found.policy, people.policy)
    assert np.abs(found.value - people.value).max() <= found.solution.error_bound + people.solution.error_bound
    assert np.allclose(found.distribution, people.distribution, rtol=0.0, atol=1e-15)
    assert "on device emulator" in str(found)


def test_shares_out_of_range(people: bl.CohortResult) -> None:
    with pytest.raises(bl.ProblemError, match=r"^shares must be from 0 to 1, not 1\.5$"):
        people.paths([0.5, 1.5])


def test_report_and_figures_show_the_paths(people: bl.CohortResult) -> None:
    assert re.search(r"\n  bequests      mean [\d.]+ of the whole cohort\n", str(people))
    assert str(people.paths()).startswith("Paths of a cohort, ages 60 to 66, 60 grid points\n  age             ")
    left, right = people.plot().axes
    assert (left.lines[1].get_ydata() == people.paths().mean["consumption"]).all()
    assert (right.lines[0].get_ydata() == people.paths().mean["assets"]).all()
