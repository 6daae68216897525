"""Responses by date: against brute force, and those of Krusell and Smith's economy by independent Euler equations."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import beltline as bl
from beltline.host.models.equilibrium.sequence import Rest
from beltline.host.models.equilibrium.setup import setup_of
from beltline.host.models.equilibrium.transition import respond
from oracle import economies as oracle

ALPHA, DELTA, BETA = 0.11, 0.025, 0.98
"""Of the example economy of Auclert, Bardoczy, Rognlie and Straub (2021): log utility, quarterly, BETA near theirs."""

PERIODS = 80


def chain_of() -> tuple[Any, Any]:
    """Return the labour of the example, an AR(1) in logs of persistence .966 and deviation .5, with mean 1."""
    levels, chain = bl.rouwenhorst(3, 0.966, 0.5 * np.sqrt(1 - 0.966**2))
    weights = np.linalg.matrix_power(chain, 10_000)[0]
    return np.exp(levels) / (weights @ np.exp(levels)), chain


UNITS, CHAIN = chain_of()
GRID = bl.grid_polynomial(0.0, 200.0, 120, 4.0)


def prices_of(capital: Any, productivity: Any) -> tuple[Any, Any]:
    output = productivity * capital**ALPHA
    return ALPHA * output / capital - DELTA, (1 - ALPHA) * output


def household(p: Any) -> bl.Problem:
    interest, wage = prices_of(p.capital, p.productivity)
    wealth = (1 + interest) * GRID[:, None] + wage * UNITS
    return bl.Problem(
        grid=GRID, wealth=wealth, transition=CHAIN, beta=BETA, eta=1.0, asset="assets a",
        marginal_wealth=np.full_like(wealth, 1 + interest),
    )  # fmt: skip


def market(a: Any, p: Any) -> float:
    return float(a.assets / p.capital - 1)


def solved(method: str) -> bl.MarketEquilibrium:
    # At the capital of the lower bound the interest rate is 1/beta - 1.
    low = (ALPHA / (1 / BETA - 1 + DELTA)) ** (1 / (1 - ALPHA))
    found = bl.equilibrium(
        household, market, {"capital": 1.1 * low}, given={"productivity": 1.0}, method=method, progress=False,
        bounds={"capital": (low, 20.0)},
    )  # fmt: skip
    assert found.success, found.message
    return found


@pytest.fixture(scope="module", params=["cubics", "egm"])
def economy(request: pytest.FixtureRequest) -> bl.MarketEquilibrium:
    return solved(request.param)


def test_responses_are_those_of_small_changes(economy: bl.MarketEquilibrium) -> None:
    dates = 12
    found = bl.sequence_jacobian(household, market, economy, dates, predetermined="capital")
    given = economy.model.given
    setup = setup_of(household, market, ("capital",), given, None, economy.model.method)
    rest = Rest.of(setup, economy)
    still = np.full((1, dates), economy.prices["capital"])
    for name in ("capital", "productivity"):
        for date in (0, 1, 7, 11):
            ends = []
            for step in (1e-6, -1e-6):
                level, shock = still.copy(), np.ones(dates)
                (level[0] if name == "capital" else shock)[date] += step
                ends.append(respond(setup, rest, rest, {"productivity": shock}, level))
            for each in ("assets", "consumption", "next_assets"):
                wanted = (ends[0].aggregates[each] - ends[1].aggregates[each])[:-1] / 2e-6
                assert found.household[each][name][:, date] == pytest.approx(wanted, abs=2e-6), (each, name, date)
            gap = (ends[0].excess - ends[1].excess)[0, :-1] / 2e-6
            assert found.market[name][:, date] == pytest.approx(gap, abs=2e-6)


def oracle_responses(economy: bl.MarketEquilibrium) -> tuple[Any, Any, Any]:
    """Return, by brute force with independent Euler equations, responses of assets at each date to the interest rate
    and the wage at each date, and of capital in equilibrium to productivity.
    """
    (capital,) = economy.prices.values()
    who = oracle.Household(GRID, CHAIN, BETA, 1.0)
    rate, wage = prices_of(capital, 1.0)
    _, mass = who.supply(1 + rate, wage * UNITS)
    found = np.zeros((2, PERIODS, PERIODS))
    for k, size in enumerate((1e-7, 1e-7)):
        for date in range(PERIODS):
            ends = []
            for step in (size, -size):
                rates, wages = np.full(PERIODS, rate), np.full(PERIODS, wage)
                (rates, wages)[k][date] += step
                assets, _ = who.path(1 + rates, wages[:, None] * UNITS, (1 + rate, wage * UNITS), mass)
                ends.append(assets[:-1])
            found[k, :, date] = (ends[0] - ends[1]) / (2 * size)
    return found[0], found[1], capital


def test_the_published_example() -> None:
    # The economy of section 2 of the paper, whose formulas the oracle evaluates: the endogenous grid method and
    # lotteries on the same points, all derivatives by brute force, and the linear system H_K dK = -H_Z dZ.
    economy = solved("egm")
    by_rate, by_wage, capital = oracle_responses(economy)
    found = bl.sequence_jacobian(household, market, economy, PERIODS, predetermined="capital")
    rate_of = ALPHA * capital ** (ALPHA - 1), ALPHA * (ALPHA - 1) * capital ** (ALPHA - 2)
    wage_of = (1 - ALPHA) * capital**ALPHA, (1 - ALPHA) * ALPHA * capital ** (ALPHA - 1)
    by_shock, by_capital = (by_rate * rate_of[k] + by_wage * wage_of[k] for k in range(2))
    assert found.household["assets"]["productivity"] == pytest.approx(by_shock, abs=1e-6)
    assert found.household["assets"]["capital"] == pytest.approx(by_capital, abs=1e-6)
    shock = 0.01 * 0.9 ** np.arange(PERIODS)
    wanted = np.zeros(PERIODS)
    wanted[1:] = np.linalg.solve(np.eye(PERIODS)[1:, 1:] - by_capital[1:, 1:], (by_shock @ shock)[1:])
    responses = found.responses({"productivity": shock})
    assert responses["capital"] == pytest.approx(wanted, abs=1e-6)
    assert responses["assets"] == pytest.approx(wanted, abs=1e-6)
    assert np.abs(wanted).max() > 1e-2


def test_a_small_shock_moves_the_economy_as_its_linear_response() -> None:
    economy = solved("egm")
    dates = 250
    found = bl.sequence_jacobian(household, market, economy, dates, predetermined="capital")
    shock = 0.8 ** np.arange(dates)
    path = bl.transition(
        household, market, economy, {"productivity": 1 + 1e-4 * shock}, predetermined="capital", progress=False
    )
    assert path.success, path.message
    wanted = found.responses({"productivity": shock})
    for name, moved in (path.prices | path.aggregates).items():
        level = {**economy.prices, **economy.aggregates}[name]
        assert (moved - level) / 1e-4 == pytest.approx(wanted[name], abs=3e-3 * np.abs(wanted["capital"]).max()), name


def test_the_steady_state_is_that_of_the_oracle() -> None:
    who = oracle.Household(GRID, CHAIN, BETA, 1.0)

    def gap(capital: float) -> float:
        rate, wage = prices_of(capital, 1.0)
        return who.supply(1 + rate, wage * UNITS)[0] / capital - 1

    low = (ALPHA / (1 / BETA - 1 + DELTA)) ** (1 / (1 - ALPHA))
    assert solved("egm").prices["capital"] == pytest.approx(float(brentq(gap, 1.001 * low, 12.0, xtol=1e-10)), abs=1e-7)


def test_what_is_refused(economy: bl.MarketEquilibrium) -> None:
    found = bl.sequence_jacobian(household, market, economy, 4, predetermined=("capital",))
    assert "of            output" not in str(found)
    assert "Responses in sequence space" in str(found)
    for shocks, sentence in (
        ({"wage": np.zeros(4)}, "shocks has 'wage', and what is given is productivity"),
        ({"productivity": np.zeros(3)}, "shocks['productivity'] must have shape (4,), not (3,)"),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
            found.responses(shocks)
    for wrong, sentence in (
        ({"at": 3}, "at must be the result of bl.equilibrium, not 3"),
        ({"periods": 1}, "periods must be a whole number from 2 to 10000, not 1"),
        ({"predetermined": "wage"}, "predetermined has 'wage', and the prices are capital"),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}"):
            bl.sequence_jacobian(**{"household": household, "markets": market, "at": economy, "periods": 4, **wrong})
    # Without it, capital of date 0, which no market determines, makes the equations singular.
    wanted = economy.aggregates["assets"]
    with pytest.raises(bl.ProblemError, match=r"^the markets of all dates do not determine the prices of all dates: "):
        bl.sequence_jacobian(household, lambda a, p: a.assets - wanted, economy, 4).responses(
            {"productivity": np.ones(4)}
        )


def test_functions_of_another_economy_are_refused(economy: bl.MarketEquilibrium) -> None:
    """Responses of other functions than those of the steady state would be numbers of no economy."""

    def impatient(p: Any) -> bl.Problem:
        return replace(household(p), beta=0.9)

    def own(p: Any, problem: bl.Problem, choice: Any) -> Any:
        return {"own": choice}

    for wrong, sentence in (
        ({"markets": lambda a, p: a.assets - 3.0}, "markets must be those with which at was found: the excess of "),
        ({"markets": lambda a, p: np.nan}, "markets must be those with which at was found: the excess of market is"),
        ({"household": impatient}, "household and variables must be those with which at was found: "),
        ({"variables": own}, "household and variables must be those with which at was found: own is "),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}"):
            bl.sequence_jacobian(**{"household": household, "markets": market, "at": economy, "periods": 4, **wrong})
