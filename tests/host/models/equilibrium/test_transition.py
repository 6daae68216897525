"""Paths of economies of any household: the markets of each date against independent Euler equations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE
from oracle import economies as oracle

CHAIN = np.array([[0.8, 0.2], [0.3, 0.7]])
UNITS = np.array([0.5, 1.5])
LABOUR = float(np.linalg.matrix_power(CHAIN, 200)[0] @ UNITS)
GRID = bl.grid_polynomial(0.0, 40.0, 80, 3.0)
BETA, ETA, ALPHA, DELTA = 0.94, 2.0, 0.33, 0.1
DATES = 70


def household(p: Any) -> bl.Problem:
    """Return a household that pays a tax on wages, which is returned as a transfer."""
    wealth = (1 + p.interest) * GRID[:, None] + (1 - p.tax) * p.wage * UNITS + p.transfer
    return bl.Problem(
        grid=GRID, wealth=wealth, transition=CHAIN, beta=BETA, eta=ETA, asset="assets a",
        marginal_wealth=np.full_like(wealth, 1 + p.interest),
    )  # fmt: skip


MARKETS = {
    "capital": lambda a, p: p.interest + DELTA - ALPHA * p.productivity * (a.assets / LABOUR) ** (ALPHA - 1),
    "labour": lambda a, p: p.wage - (1 - ALPHA) * p.productivity * (a.assets / LABOUR) ** ALPHA,
    "budget": lambda a, p: p.transfer - p.tax * p.wage * LABOUR,
}


def steady(**given: float) -> bl.MarketEquilibrium:
    found = bl.equilibrium(
        household, MARKETS, {"interest": 0.03, "wage": 1.0, "transfer": 0.1}, given={"productivity": 1.0, **given},
        bounds={"interest": (-DELTA, 1 / BETA - 1)}, method="egm", progress=False,
    )  # fmt: skip
    assert found.success, found.message
    return found


@pytest.fixture(scope="module")
def before() -> bl.MarketEquilibrium:
    return steady(tax=0.1)


@pytest.fixture(scope="module")
def path(before: bl.MarketEquilibrium) -> bl.MarketPath:
    # Productivity falls at date 3, which is announced at date 0.
    fall = np.where(np.arange(DATES) < 3, 1.0, 1 - 0.02 * 0.7 ** (np.arange(DATES) - 3.0))
    found = bl.transition(household, MARKETS, before, {"productivity": fall}, progress=False)
    assert found.success, found.message
    return found


def test_several_markets_clear_at_every_date(path: bl.MarketPath, before: bl.MarketEquilibrium) -> None:
    assert np.abs(path.excess[:, :-1]).max() <= MARKET_TOLERANCE
    prices, z = path.prices, path.given["productivity"]
    who = oracle.Household(GRID, CHAIN, BETA, ETA)
    start = before.prices
    rest = 1 + start["interest"], 0.9 * start["wage"] * UNITS + start["transfer"]
    income = 0.9 * prices["wage"][:, None] * UNITS + prices["transfer"][:, None]
    assets, spent = who.path(1 + prices["interest"], income, rest, before.distribution)
    assert path.aggregates["assets"] == pytest.approx(assets[:-1], rel=1e-7)
    assert path.aggregates["consumption"] == pytest.approx(spent, rel=1e-7)
    wanted = ALPHA * z * (assets[:-1] / LABOUR) ** (ALPHA - 1) - DELTA
    assert prices["interest"] == pytest.approx(wanted, abs=2e-6)
    # Output and undepreciated capital are consumed or saved.
    made = z * assets[:-1] ** ALPHA * LABOUR ** (1 - ALPHA) + (1 - DELTA) * assets[:-1]
    assert path.aggregates["consumption"] + path.aggregates["next_assets"] == pytest.approx(made, rel=1e-5)
    # The announcement moves saving before productivity moves.
    assert path.aggregates["next_assets"][0] > path.before["next_assets"] * 1.0005


def test_a_lasting_change_leads_to_the_new_steady_state(before: bl.MarketEquilibrium) -> None:
    after = steady(tax=0.2)
    found = bl.transition(household, MARKETS, before, {"tax": np.full(120, 0.2)}, after, progress=False)
    assert found.success, found.message
    assert found.aggregates["assets"][0] == pytest.approx(before.aggregates["assets"], rel=1e-12)
    assert found.aggregates["assets"][-1] == pytest.approx(after.aggregates["assets"], rel=1e-4)
    assert after.aggregates["assets"] < before.aggregates["assets"]


def test_without_a_shock_nothing_moves(before: bl.MarketEquilibrium) -> None:
    found = bl.transition(household, MARKETS, before, {"tax": np.full(10, 0.1)}, progress=False)
    assert (found.success, len(found.steps)) == (True, 1)
    assert found.prices["wage"] == pytest.approx(np.full(10, before.prices["wage"]), rel=1e-12)


def test_a_return_that_is_known_before() -> None:
    # Bonds in zero net supply (Huggett 1993): the return at date 0 was set a date before.
    grid = np.linspace(-1.0, 12.0, 200)

    def lender(p: Any) -> bl.Problem:
        wealth = (1 + p.interest) * grid[:, None] + p.income * UNITS
        return bl.Problem(
            grid=grid, wealth=wealth, transition=CHAIN, beta=BETA, eta=ETA, asset="assets a",
            marginal_wealth=np.full_like(wealth, 1 + p.interest),
        )  # fmt: skip

    def bonds(a: Any, _: Any) -> float:
        return float(a.assets)

    at = bl.equilibrium(
        lender, bonds, {"interest": 0.01}, given={"income": 1.0}, bounds={"interest": (-0.3, 1 / BETA - 1)},
        method="egm", progress=False,
    )  # fmt: skip
    assert at.success, at.message
    income = 1 - 0.02 * 0.6 ** np.arange(60)
    found = bl.transition(lender, bonds, at, {"income": income}, predetermined="interest", progress=False)
    assert found.success, found.message
    assert found.prices["interest"][0] == at.prices["interest"]
    assert np.abs(found.aggregates["assets"]).max() < MARKET_TOLERANCE
    # Without assets in the aggregate all income is consumed.
    assert found.aggregates["consumption"] == pytest.approx(income * LABOUR, rel=1e-5)
    # Income recovers, so households would borrow, and the rate rises.
    assert found.prices["interest"][1] > at.prices["interest"] + 0.005


def test_a_path_that_is_too_short_is_no_success(before: bl.MarketEquilibrium) -> None:
    found = bl.transition(household, MARKETS, before, {"productivity": 1 - 0.02 * 0.9 ** np.arange(15)}, progress=False)
    assert (found.success, found.status) == (False, "market not solved")
    assert re.match(r"After 15 dates the new steady state is not reached: the excess of ", found.message)


def test_a_market_that_does_not_clear_is_no_success(before: bl.MarketEquilibrium) -> None:
    found = bl.transition(
        household, MARKETS, before, {"productivity": 1 - 0.1 * 0.9 ** np.arange(40)}, max_steps=1, progress=False
    )
    assert (found.success, found.status) == (False, "market not solved")
    assert re.match(r"After 2 steps the market of \w+ does not clear at date \d+: its excess is ", found.message)


@pytest.mark.parametrize("suffix", ["npz", "nc"])
def test_a_file_has_everything(path: bl.MarketPath, suffix: str, tmp_path: Path) -> None:
    if suffix == "nc":
        pytest.importorskip("xarray")
        pytest.importorskip("h5py")
    again = bl.load(path.save(tmp_path / f"a.{suffix}"))
    assert again == path
    assert str(again) == str(path)


def test_the_report_and_the_figures(path: bl.MarketPath) -> None:
    assert re.search(r"\n  interest      0\.0\d+ before, 0\.0\d+ at date 0, farthest 0\.0\d+ at date \d+, ", str(path))
    assert len(path.plot().axes) == 3
    assert path.plot(kind="market").axes[0].lines


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"before": 3}, "before must be the result of bl.equilibrium, not 3"),
    ({"shocks": {}}, "shocks must be a dict of arrays by date, of names that are given, not {}"),
    ({"shocks": {"wage": np.ones(5)}}, "shocks has 'wage', and what is given is productivity, tax"),
    ({"shocks": {"tax": np.ones(1)}}, "shocks must have the same number of dates, 2 to 10000, not [1]"),
    ({"shocks": {"tax": np.ones(5), "productivity": np.ones(6)}}, "shocks must have the same number of dates"),
    ({"shocks": {"tax": [1.0, np.nan]}}, "shocks['tax'] must be finite"),
    ({"predetermined": "rate"}, "predetermined has 'rate', and the prices are interest, wage, transfer"),
    ({"max_steps": 0}, "max_steps must be a whole number from 1 to 10000, not 0"),
    ({"markets": MARKETS["capital"]}, "there must be one market for each price, and there are 1 markets"),
]


@pytest.mark.parametrize(("wrong", "sentence"), REFUSED, ids=[sentence for _, sentence in REFUSED])
def test_what_is_refused(before: bl.MarketEquilibrium, wrong: dict[str, Any], sentence: str) -> None:
    right = {"household": household, "markets": MARKETS, "before": before, "shocks": {"tax": np.full(5, 0.1)}}
    with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}"):
        bl.transition(**{**right, **wrong}, progress=False)
