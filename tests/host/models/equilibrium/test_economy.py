"""Economies of any household: prices against independent Euler equations, and messages where no price clears."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import beltline as bl
from beltline.host.models.equilibrium.households import _converged, choose_by_cubics
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE
from oracle import economies as oracle

CHAIN = np.array([[0.8, 0.2], [0.3, 0.7]])
UNITS = np.array([0.6, 1.4])
GRID = bl.grid_polynomial(0.0, 50.0, 150, 3.0)
BETA, ETA = 0.95, 2.0


def made(wealth: Any, grid: Any = GRID, beta: float = BETA, **more: Any) -> bl.Problem:
    return bl.Problem(grid=grid, wealth=wealth, transition=CHAIN, beta=beta, eta=ETA, asset="assets a", **more)


def saver(p: Any) -> bl.Problem:
    """Return a household that saves in capital, at an interest rate from which the wage follows."""
    capital = (0.36 / (p.interest + 0.08)) ** (1 / 0.64)
    wealth = (1 + p.interest) * GRID[:, None] + 0.64 * capital**0.36 * UNITS
    return made(wealth, marginal_wealth=np.full_like(wealth, 1 + p.interest))


def excess_supply(a: Any, p: Any) -> float:
    return float(a.assets / (0.36 / (p.interest + 0.08)) ** (1 / 0.64) - 1)


BOUNDS = {"interest": (-0.08, 1 / BETA - 1)}


@pytest.fixture(scope="module")
def economy() -> bl.MarketEquilibrium:
    return bl.equilibrium(saver, excess_supply, {"interest": 0.03}, bounds=BOUNDS, progress=False)


def wanted(points: int) -> tuple[float, float]:
    """Return rate and Gini coefficient of the same economy by the oracle."""
    household = oracle.Household(bl.grid_polynomial(0.0, 50.0, points, 3.0), CHAIN, BETA, ETA)
    masses = []

    def gap(rate: float) -> float:
        capital = (0.36 / (rate + 0.08)) ** (1 / 0.64)
        supply, mass = household.supply(1 + rate, 0.64 * capital**0.36 * UNITS)
        masses.append(mass)
        return supply / capital - 1

    rate = float(brentq(gap, 0.02, 1 / BETA - 1 - 1e-4, xtol=1e-12))
    gap(rate)
    return rate, oracle.gini(household.grid, masses[-1])


def test_one_price_is_that_of_euler_equations(economy: bl.MarketEquilibrium) -> None:
    assert economy.success, economy.message
    rate, unequal = wanted(600)
    assert economy.prices["interest"] == pytest.approx(rate, abs=6e-5)
    assert economy.gini == pytest.approx(unequal, abs=4e-3)
    assert abs(economy.excess["market"]) < 1e-9 < MARKET_TOLERANCE
    assert economy.household.success
    assert economy.household.verified
    # In a steady state the mean choice is the mean of assets; mass stays where it is.
    assert economy.aggregates["next_assets"] == pytest.approx(economy.aggregates["assets"], rel=1e-12)
    moves = oracle.Household(GRID, CHAIN, BETA, ETA).moves(economy.continuous_choice)
    assert economy.distribution.ravel() @ moves == pytest.approx(economy.distribution.ravel(), abs=1e-14)
    assert economy.distribution.sum() == pytest.approx(1.0, rel=1e-13)
    assert economy.tried.shape == (economy.steps, 1)


def test_the_endogenous_grid_method_is_that_of_the_oracle() -> None:
    found = bl.equilibrium(saver, excess_supply, {"interest": 0.03}, bounds=BOUNDS, method="egm", progress=False)
    assert found.success, found.message
    rate, unequal = wanted(150)
    assert found.prices["interest"] == pytest.approx(rate, abs=1e-9)
    assert found.gini == pytest.approx(unequal, abs=1e-7)


def test_the_guess_does_not_matter(economy: bl.MarketEquilibrium) -> None:
    for guess in (-0.05, 0.0525):
        found = bl.equilibrium(saver, excess_supply, {"interest": guess}, bounds=BOUNDS, progress=False)
        assert found.success, found.message
        assert found.prices["interest"] == pytest.approx(economy.prices["interest"], abs=1e-9)


def test_without_bounds_a_bracket_is_found() -> None:
    # The price of a dividend with which households together hold one share.
    grid = np.linspace(0.0, 12.0, 240)

    def household(p: Any) -> bl.Problem:
        return made((p.share + 0.05) / p.share * grid[:, None] * np.ones(2) + UNITS, grid, beta=0.93)

    found = bl.equilibrium(household, lambda a, p: a.assets - p.share, {"share": 0.2}, progress=False)
    assert found.success, found.message
    gross = 1 + 0.05 / found.prices["share"]
    supply, _ = oracle.Household(np.linspace(0.0, 12.0, 3000), CHAIN, 0.93, ETA).supply(gross, UNITS)
    assert found.prices["share"] == pytest.approx(supply, rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_several_prices_of_random_economies(seed: int) -> None:
    draws = np.random.default_rng(seed)
    alpha, delta, tax = draws.uniform(0.25, 0.4), draws.uniform(0.06, 0.1), draws.uniform(0.05, 0.2)

    def household(p: Any) -> bl.Problem:
        wealth = (1 + p.interest) * GRID[:, None] + (1 - p.tax) * p.wage * UNITS + p.transfer
        return made(wealth)

    labour = float(np.linalg.matrix_power(CHAIN, 200)[0] @ UNITS)
    markets = {
        "capital": lambda a, p: p.interest + delta - alpha * (a.assets / labour) ** (alpha - 1),
        "labour": lambda a, p: p.wage - (1 - alpha) * (a.assets / labour) ** alpha,
        "budget": lambda a, p: p.transfer - p.tax * p.wage * labour,
    }
    found = bl.equilibrium(
        household, markets, {"interest": 0.03, "wage": 1.0, "transfer": 0.1}, given={"tax": tax},
        bounds={"interest": (-delta, 1 / BETA - 1), "wage": (0.0, 10.0)}, progress=False,
    )  # fmt: skip
    assert found.success, found.message
    assert max(map(abs, found.excess.values())) < MARKET_TOLERANCE

    def gap(rate: float) -> float:
        capital = labour * (alpha / (rate + delta)) ** (1 / (1 - alpha))
        wage = (1 - alpha) * (capital / labour) ** alpha
        income = (1 - tax) * wage * UNITS + tax * wage * labour
        return oracle.Household(GRID, CHAIN, BETA, ETA).supply(1 + rate, income)[0] / capital - 1

    rate = float(brentq(gap, -0.02, 1 / BETA - 1 - 1e-4, xtol=1e-9))
    assert found.prices["interest"] == pytest.approx(rate, abs=1e-4)
    assert found.model.given == {"tax": tax}


def test_no_equilibrium_is_said() -> None:
    found = bl.equilibrium(
        saver, lambda a, _: a.assets + 1, {"interest": 0.03}, bounds={"interest": (-0.07, 0.05)}, progress=False
    )
    assert (found.success, found.status) == (False, "market not solved")
    assert re.fullmatch(
        r"No interest was found at which the market clears: its excess is above 0 at all \d+ that were tried, from "
        r"[\d.]+ at interest = -0\.06\d+ to [\d.]+ at 0\.0\d+\.",
        found.message,
    )
    assert ((found.tried > -0.07) & (found.tried < 0.05)).all()

    def household(p: Any) -> bl.Problem:
        return made(1.02 * GRID[:, None] + p.wage * UNITS + p.transfer)

    several = bl.equilibrium(
        household, {"first": lambda a, p: p.wage - 1, "second": lambda a, p: p.wage + a.assets},
        {"wage": 0.8, "transfer": 0.2}, bounds={"transfer": (0.0, 10.0)}, progress=False,
    )  # fmt: skip
    assert (several.success, several.status) == (False, "market not solved")
    assert several.message.startswith("The markets do not clear: after ")


def test_an_excess_that_jumps_is_said() -> None:
    found = bl.equilibrium(
        saver, lambda a, p: float(np.sign(a.assets - 4)), {"interest": 0.03}, bounds=BOUNDS, progress=False
    )
    assert (found.success, found.status) == (False, "market not solved")
    assert re.fullmatch(
        r"The market does not clear: at interest = 0\.0\d+ its excess jumps from [-+]1 to [-+]1, so that no interest "
        r"clears it\.",
        found.message,
    )


def test_a_grid_that_ends_too_early_is_no_success() -> None:
    grid = bl.grid_polynomial(0.0, 4.0, 60, 2.0)

    def household(p: Any) -> bl.Problem:
        return made((1 + p.interest) * grid[:, None] + UNITS, grid)

    found = bl.equilibrium(
        household, lambda a, _: a.assets - 3.0, {"interest": 0.03}, bounds={"interest": (-0.1, 0.08)}, progress=False
    )
    assert (found.success, found.status) == (False, "grid ends too early")
    assert found.message.startswith(f"{found.at_top:.2%} of households choose the highest assets, 4, and at most 0.10%")


def test_values_that_do_not_converge_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.host.models.equilibrium.households.MAX_STEPS", 1)
    found = bl.equilibrium(saver, excess_supply, {"interest": 0.03}, bounds=BOUNDS, progress=False)
    assert (found.success, found.status) == (False, "household not solved")
    assert found.message.startswith("At interest = 0.03 the values of choices between grid points do not converge: ")
    assert np.isnan(found.continuous_choice).all()
    assert "household not solved: At interest" in str(found)


def test_variables_of_the_user_have_means() -> None:
    def variables(p: Any, problem: bl.Problem, choice: Any) -> dict[str, Any]:
        return {"saved": choice - problem.grid[:, None], "poor": (problem.grid[:, None] < 1.0) & (choice >= 0.0)}

    found = bl.equilibrium(saver, excess_supply, {"interest": 0.03}, bounds=BOUNDS, variables=variables, progress=False)
    for wrong, sentence in (
        (lambda *_: 3, "variables must return a dict of tables by name, not 3"),
        (lambda *_: {"b": 3}, "what variables returns for 'b' must have shape (150, 2), not ()"),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
            bl.equilibrium(saver, excess_supply, {"interest": 0.03}, variables=wrong, progress=False)
    assert found.aggregates["saved"] == pytest.approx(0.0, abs=1e-12)
    assert found.aggregates["poor"] == pytest.approx(float(found.distribution[GRID < 1.0].sum()), rel=1e-13)


@pytest.mark.parametrize("suffix", ["npz", "nc"])
def test_a_file_has_everything(economy: bl.MarketEquilibrium, suffix: str, tmp_path: Path) -> None:
    if suffix == "nc":
        pytest.importorskip("xarray")
        pytest.importorskip("h5py")
    again = bl.load(economy.save(tmp_path / f"a.{suffix}"))
    assert again == economy
    assert str(again) == str(economy)


def test_the_report_and_the_figures(economy: bl.MarketEquilibrium) -> None:
    text = str(economy)
    assert f"prices        interest {economy.prices['interest']:.6g}" in text
    assert "(at most 1e-06 in absolute value)" in text
    assert economy.plot().axes
    assert economy.plot(kind="policy").axes


def test_progress_says_prices_and_excess() -> None:
    said: list[str] = []
    bl.equilibrium(saver, excess_supply, {"interest": 0.03}, bounds=BOUNDS, progress=said.append)
    assert any(re.fullmatch(r"steady state, step 2: interest = 0\.\d+, excess of market [-+][\d.e-]+", x) for x in said)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"household": 3}, "household must be a function of prices that returns a Problem, not 3"),
    ({"household": lambda p: 3}, "household must return a Problem, not 3"),
    (
        {"household": lambda p: made(1.02 * GRID[:, None] + UNITS, cost=2.0 * GRID), "method": "egm"},
        "method 'egm' needs one choice of x' that costs x', and problem has cost",
    ),
    (
        {"household": lambda p: made(1.02 * GRID[:, None] + UNITS, horizon=9)},
        "a household of an economy needs an infinite horizon, and this problem has 9 ages",
    ),
    (
        {
            "household": lambda p: made(
                1.02 * GRID[:, None] + UNITS,
                alternatives=[bl.Alternative(name="go"), bl.Alternative(name="stop", value=np.zeros((150, 2)))],
            )
        },
        "households of an economy live for ever, and 'stop' ends the problem",
    ),
    ({"markets": {}}, "markets must be a function of aggregates and prices, or a dict of them by name, not {}"),
    ({"markets": lambda a, p: "x"}, "markets['market'] must return a number, not 'x'"),
    ({"guess": {}}, "guess must have a first guess of at least one price, and is empty"),
    ({"guess": {"interest": "x"}}, "guess['interest'] must be a finite number, not 'x'"),
    ({"guess": {"interest": 0.03, "wage": 1.0}}, "there must be one market for each price, and there are 1 markets"),
    ({"guess": 0.03}, "guess must be a dict of numbers by name, not 0.03"),
    ({"guess": {"1": 0.03}}, "each name of guess must be a Python identifier, not '1'"),
    ({"bounds": {"rate": (0, 1)}}, "bounds has 'rate', and the prices are interest"),
    ({"bounds": {"interest": 3}}, "bounds['interest'] must be a pair of numbers, not 3"),
    (
        {"bounds": {"interest": (0.04, 0.05)}},
        "guess['interest'] must be above 0.04 and below 0.05, its bounds, not 0.03",
    ),
    ({"bounds": 3}, "bounds must be a dict of pairs of numbers by price, not 3"),
    ({"given": {"interest": 1.0}}, "'interest' is in given and is a price: it can be one of them only"),
    ({"variables": 3}, "variables must be a function of prices, problem and choices, or None, not 3"),
    ({"method": "vfi"}, "method must be one of 'cubics', 'egm', not 'vfi'"),
    ({"tol": 0}, "tol must be a number above 0, not 0"),
    ({"max_steps": 0}, "max_steps must be a whole number from 1 to 10000, not 0"),
    ({"progress": 3}, "progress must be"),
]


@pytest.mark.parametrize(("wrong", "sentence"), REFUSED, ids=[sentence for _, sentence in REFUSED])
def test_what_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    right = {"household": saver, "markets": excess_supply, "guess": {"interest": 0.03}, "progress": False}
    with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}"):
        bl.equilibrium(**{**right, **wrong})


def test_names_that_are_missing_are_named() -> None:
    with pytest.raises(bl.ProblemError, match=r"^prices, given and variables have no 'rate'; known are 'interest'$"):
        bl.equilibrium(lambda p: saver(p.rate), excess_supply, {"interest": 0.03}, progress=False)


def test_a_start_far_away_converges_to_the_same_choices(economy: bl.MarketEquilibrium) -> None:
    problem = economy.household.problem
    found, _, _ = _converged(problem, np.full(problem.wealth.shape, -30.0), choose_by_cubics, 1e-10)
    assert found.choice == pytest.approx(economy.continuous_choice, abs=1e-7)
