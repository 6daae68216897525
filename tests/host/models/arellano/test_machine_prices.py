"""Sovereign default on machines that compute the prices themselves: the result is that of prices from the host."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.cli.main import main
from beltline.host.problem.problem import Problem
from beltline.host.solver.moving_prices import MOST_EVERY, unsupported, with_machine_prices
from beltline.host.solver.product_image import product_image
from support.default_solutions import same

BUILD = {"lanes": 2, "proof": 1, "costs": 1, "alternatives": 1, "multipliers": 4}
COUNTRY = bl.arellano(bonds=61, incomes=7)
TOL = 1e-4


@pytest.mark.parametrize("start", ["coarse", "given"])
def test_a_machine_finds_the_processors_prices(start: str) -> None:
    # On this grid all iterations find the same of several sets of prices.
    country = replace(COUNTRY, bonds=69)
    found = bl.solve(country, tol=1e-7, device="emulator", prices=1, start=start)
    same(found, bl.solve(country, tol=1e-7, start=start))
    assert found.solution.verified
    assert found.solution.price_change == 0.0
    assert found.solution.residual < 1e-7


@pytest.mark.parametrize("every", [1, 3, 10])
def test_sweeps_and_prices_are_those_of_updates_by_the_host(every: int) -> None:
    """With the host in the loop, runs of as many sweeps have the same sweeps, choices and prices, in more clocks."""
    problem = COUNTRY.problem()
    options: dict[str, Any] = {"tol": TOL, "update": COUNTRY.update, "update_every": every, "device": "emulator"}
    found, right = (bl.solve(problem, **options, **BUILD, prices=prices) for prices in (1, 0))
    assert found.success, found.message
    assert found.sweeps == right.sweeps
    for name in ("prices", "policy", "choice"):
        np.testing.assert_array_equal(getattr(found, name), getattr(right, name))
    gap = np.abs(found.value - right.value).max()
    assert gap <= 2.0**-40
    assert found.clocks < right.clocks


@pytest.mark.parametrize(
    "options", [{"device": "cpu"}, {"device": "emulator", **BUILD}, {"device": "emulator", **BUILD, "prices": 1}]
)
def test_the_problem_of_a_result_has_its_last_prices(options: dict[str, Any]) -> None:
    found: Any = bl.solve(COUNTRY.problem(), tol=1e-7, update=COUNTRY.update, **options)
    assert found.success, found.message
    assert found.problem.name == COUNTRY.problem().name
    again: Any = bl.solve(found.problem, tol=1e-9, device="cpu")
    assert np.abs(again.value - found.value).max() <= again.error_bound + found.error_bound
    cost = found.prices * COUNTRY.grid[:, None]
    np.testing.assert_allclose(found.problem.alternatives[0].cost, cost, atol=1e-7)


def test_a_session_has_the_tables_of_the_next_problem() -> None:
    """The host knows that the machine has written its costs, and writes those of the next problem."""
    other = bl.arellano(bonds=61, incomes=7, beta=0.9)
    with bl.open("emulator", **BUILD, prices=1) as session:
        found = []
        for country in (COUNTRY, other, COUNTRY, COUNTRY):
            found.append(session.solve(country.problem(), tol=TOL, update=country.update))
            assert {"X", "Q", "V"} <= set(session.moved)
        fixed = session.solve(COUNTRY.problem(found[0].prices), tol=TOL)
    for name in ("prices", "policy", "value", "clocks"):
        for again in found[2:]:
            np.testing.assert_array_equal(getattr(again, name), getattr(found[0], name))
    assert (found[1].prices != found[0].prices).any()
    right: Any = bl.solve(COUNTRY.problem(found[0].prices), tol=TOL, device="emulator", **BUILD)
    np.testing.assert_array_equal(fixed.policy, right.policy)
    np.testing.assert_array_equal(fixed.value, right.value)


def test_a_run_that_does_not_converge() -> None:
    found: Any = bl.solve(COUNTRY, device="emulator", prices=1, start="given", max_sweeps=25, update_every=7)
    assert (found.success, found.status, found.solution.sweeps) == (False, "sweep limit reached", 25)
    assert found.message.startswith("After 25 sweeps the value still changed by ")
    assert "Values and prices that change together need not converge" in found.message
    assert found.solution.price_change == math.inf
    assert not found.solution.verified


def test_without_verification_the_proof_bounds_the_error() -> None:
    found, right = (bl.solve(COUNTRY, tol=TOL, device="emulator", prices=1, verify=verify) for verify in (False, True))
    assert (found.success, found.solution.verified) == (True, False)
    assert right.solution.error_bound <= found.solution.error_bound < 3.0 * right.solution.error_bound
    np.testing.assert_array_equal(found.policy, right.policy)


def _with(**changes: Any) -> Problem:
    """Return the country's problem with other tables of the alternative "repay"."""
    problem = COUNTRY.problem()
    repay, *others = problem.alternatives
    return replace(problem, alternatives=(replace(repay, **changes), *others))


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (COUNTRY.problem(), ""),
        (_with(high=50), "'repay' has bounds of x'"),
        (_with(low=1), "'repay' has bounds of x'"),
        (_with(leads_to={"good": 0.9, "excluded": 0.1}), "'repay' may lead to another regime"),
        (
            _with(beta=np.linspace(0.9, 0.95, 7)),
            "'repay' has no discount factor above 0 that is the same in every state",
        ),
    ],
)
def test_problems_whose_prices_the_host_updates(problem: Problem, why: str) -> None:
    """Where a machine cannot compute prices, the host does."""
    assert unsupported(problem, COUNTRY.update) == why
    options: dict[str, Any] = {"tol": 1e-2, "update": COUNTRY.update, "update_every": 4, "device": "emulator"}
    found, right = (bl.solve(problem, **options, **BUILD, prices=prices) for prices in (1, 0))
    assert found.success, found.message
    np.testing.assert_array_equal(found.prices, right.prices)


def test_other_rules_of_prices_stay_with_the_host() -> None:
    rule = COUNTRY.update
    assert unsupported(COUNTRY.problem(), lambda last: rule(last)) == "update is not a BondPrices"
    odd = bl.BondPrices("repay", "excluded", COUNTRY.grid, 0.017)
    assert unsupported(COUNTRY.problem(), odd) == "'repay' and 'excluded' are not two choices of one regime"
    found = bl.solve(COUNTRY.problem(), tol=1e-2, update=lambda last: rule(last), device="emulator", **BUILD, prices=1)
    assert found.success, found.message


def test_formats_hold_the_values_of_all_prices() -> None:
    """Values have room for those at the price of a safe bond and at a price of 0, whatever the first prices are."""
    # With the largest debt, the lowest income leaves next to nothing to consume if bonds have no price.
    tiny = bl.arellano(bonds=61, incomes=7, limit=float(COUNTRY.chain[0][0]) - 1e-6)
    first = tiny.problem()
    image = product_image(first, TOL)
    found = with_machine_prices(first, tiny.update, image, None, None, TOL)
    ends = [product_image(tiny.problem(price), TOL) for price in (np.full((61, 7), 1 / 1.017), np.zeros((61, 7)))]
    assert found.value_bits == min(one.value_bits for one in ends) < image.value_bits


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"multipliers": 0}, "option 'prices' is for a sweep engine that takes its multipliers in turn: pass multipl"),
        ({"prices": 2}, "prices must be 0 or 1, not 2"),
        (
            {"update": COUNTRY.update, "update_every": MOST_EVERY + 1},
            "update_every must be at most 255 on a device that computes prices itself, not 256",
        ),
    ],
)
def test_what_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(bl.ProblemError, match="^" + sentence):
        bl.solve(COUNTRY.problem(), device="emulator", **BUILD | {"prices": 1} | options)


def test_a_machine_has_a_state_less_for_problems() -> None:
    """The words of the last state are what bonds pay, so a machine of 128 states takes 127."""
    with pytest.raises(bl.ProblemError, match="take 128 states of a machine, more than the 127 that the largest build"):
        bl.solve(bl.arellano(bonds=9, incomes=64), device="emulator", prices=1)


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["solve", "arellano", "--bonds", "61", "--incomes", "7", "--tol", "1e-4", "--device", "emulator"]
    assert main([*words, "--option", "prices=1"]) == 0
    assert "last change 0 (tolerance 0.0001)" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.gateware
def test_the_gateware_solves_to_the_emulators_bits() -> None:
    country = bl.arellano(bonds=31, incomes=5)
    options: dict[str, Any] = {"tol": 1e-4, "update": country.update, **BUILD, "prices": 1}
    found, model = (bl.solve(country.problem(), device=device, **options) for device in ("rtl", "emulator"))
    assert found.success, found.message
    assert found.verified
    for name in ("value", "values", "policy", "choice", "prices"):
        np.testing.assert_array_equal(getattr(found, name), getattr(model, name))
    assert (found.sweeps, found.clocks) == (model.sweeps, model.clocks)
