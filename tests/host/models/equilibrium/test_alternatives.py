"""Economies of households with a fixed cost, taste shocks and regimes: distribution, responses and paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.models.equilibrium.sequence import Rest
from beltline.host.models.equilibrium.setup import setup_of
from beltline.host.models.equilibrium.transition import respond

ALPHA, DELTA, BETA, TASTE = 0.33, 0.08, 0.95, 0.02
CHAIN = np.array([[0.9, 0.1], [0.1, 0.9]])
UNITS = np.array([0.7, 1.3])
GRID = bl.grid_polynomial(0.0, 60.0, 160, 3.0)
LOW = (ALPHA / (1 / BETA - 1 + DELTA)) ** (1 / (1 - ALPHA))
BOUNDS = {"demand": (LOW, 30.0)}


def incomes(p: Any) -> Any:
    output = p.productivity * p.demand**ALPHA
    return (ALPHA * output / p.demand - DELTA) * GRID[:, None] + (1 - ALPHA) * output * UNITS


def made(wealth: Any, **more: Any) -> bl.Problem:
    tables = {"grid": GRID, "wealth": wealth, "transition": CHAIN, "asset": "capital k"}
    return bl.Problem(**tables | {"beta": BETA, "eta": 2.0} | more)


def fixed_cost(p: Any) -> bl.Problem:
    """Return a household whose capital is illiquid: to save or dissave costs ``p.fixed``."""
    cash = incomes(p) + GRID[:, None]
    keep = bl.Alternative(name="keep", choice=np.arange(GRID.size))
    return made(cash, taste=TASTE, alternatives=[keep, bl.Alternative(name="adjust", wealth=cash - p.fixed)])


def durable(p: Any) -> bl.Problem:
    """Return a household with savings and a durable good, small or large, whose size is the regime."""

    def trade(own: float, new: float) -> bl.Alternative:
        paid = 0.0 if own == new else 0.6 * own - new
        return bl.Alternative(
            name=f"{own:g} to {new:g}", regime=f"{own:g}", leads_to=f"{new:g}", kappa=0.045 * np.log(new),
            wealth=incomes(p) + GRID[:, None] + paid - 0.05 * new,
        )  # fmt: skip

    return made(
        incomes(p) + GRID[:, None],
        taste=TASTE,
        alternatives=[trade(own, new) for own in (0.3, 1.0) for new in (0.3, 1.0)],
    )


def market(a: Any, p: Any) -> float:
    return float(a.capital / p.demand - 1)


def solved(household: Any) -> bl.MarketEquilibrium:
    given = {"productivity": 1.0, "fixed": 0.05}
    found = bl.equilibrium(household, market, {"demand": 1.05 * LOW}, bounds=BOUNDS, given=given, progress=False)
    assert found.success, found.message
    return found


HOUSEHOLDS = {"fixed cost": fixed_cost, "durable": durable}


@pytest.fixture(scope="module", params=HOUSEHOLDS)
def case(request: pytest.FixtureRequest) -> tuple[Any, bl.MarketEquilibrium]:
    return HOUSEHOLDS[request.param], solved(HOUSEHOLDS[request.param])


def test_the_distribution_is_that_of_an_independent_simulation(case: tuple[Any, bl.MarketEquilibrium]) -> None:
    _, found = case
    problem, people, periods, dropped = found.household.problem, 3000, 900, 600
    names = [one.name for one in problem.alternatives]
    regimes = list(dict.fromkeys(one.regime for one in problem.alternatives))
    of = np.array([regimes.index(one.regime) for one in problem.alternatives])
    to = np.array([regimes.index(next(iter(one.chances()))) for one in problem.alternatives])
    random, choice, taken = np.random.default_rng(5), found.continuous_choice, np.asarray(found.probability)
    x, s, r = np.full(people, 4.0), np.zeros(people, int), np.zeros(people, int)
    points, counts = np.empty((periods - dropped, people)), np.zeros(len(names))
    for t in range(periods):
        # Assets are any numbers; probabilities and choices are linear between grid points.
        below = np.clip(np.searchsorted(GRID, x, side="right") - 1, 0, GRID.size - 2)
        share = (x - GRID[below]) / (GRID[below + 1] - GRID[below])

        def at(table: Any, d: Any, share: Any = share, below: Any = below, s: Any = s) -> Any:
            both = table[d, below, s], table[d, below + 1, s]
            # Where a choice is impossible at one of the two points, the other one is taken.
            return np.where(np.isnan(both[0]), both[1], np.where(np.isnan(both[1]), both[0],
                            (1 - share) * both[0] + share * both[1]))  # fmt: skip

        chances = np.stack([np.where(of[d] == r, at(taken, d), 0.0) for d in range(len(names))])
        d = (np.cumsum(chances, axis=0) <= random.random(people) * chances.sum(axis=0)).sum(axis=0)
        if t >= dropped:
            points[t - dropped] = x
            counts += np.bincount(d, minlength=len(names))
        x, r = at(choice, d), to[d]
        s = (random.random(people) >= CHAIN[s, 0]).astype(int)
    # People are independent of each other, periods are not.
    error = points.mean(axis=0).std() / np.sqrt(people)
    mean = found.aggregates["capital"]
    assert points.mean() == pytest.approx(mean, abs=4 * error + 0.005 * mean)
    mass = found.distribution.reshape(-1, *problem.wealth.shape).sum(axis=(0, 2))
    assert points.std() == pytest.approx(np.sqrt(mass @ GRID**2 - mean**2), rel=0.05)
    shares = np.array([found.aggregates[name] for name in names])
    assert counts / counts.sum() == pytest.approx(shares, abs=0.01)
    assert shares.min() > 1e-4
    assert found.aggregates["next_capital"] == pytest.approx(mean, rel=1e-10)


def test_responses_are_those_of_small_changes(case: tuple[Any, bl.MarketEquilibrium]) -> None:
    household, economy = case
    dates = 9
    found = bl.sequence_jacobian(household, market, economy, dates, predetermined="demand")
    setup = setup_of(household, market, ("demand",), economy.model.given, None, "cubics")
    rest = Rest.of(setup, economy)
    for name, date in (("demand", 0), ("demand", 5), ("productivity", 2), ("fixed", 3)):
        ends = []
        for step in (1e-5, -1e-5):
            level = np.full((1, dates), economy.prices["demand"])
            shock = {each: np.full(dates, at) for each, at in economy.model.given.items()}
            (level[0] if name == "demand" else shock[name])[date] += step
            ends.append(respond(setup, rest, rest, shock, level))
        for each in economy.aggregates:
            wanted = (ends[0].aggregates[each] - ends[1].aggregates[each])[:-1] / 2e-5
            assert found.household[each][name][:, date] == pytest.approx(wanted, rel=1e-4, abs=1e-5), (each, name, date)
        gap = (ends[0].excess - ends[1].excess)[0, :-1] / 2e-5
        assert found.market[name][:, date] == pytest.approx(gap, rel=1e-4, abs=1e-5)


def test_a_path_after_a_small_shock_is_the_linear_response(
    case: tuple[Any, bl.MarketEquilibrium], tmp_path: Path
) -> None:
    household, economy = case
    fall = 0.8 ** np.arange(200)
    path = bl.transition(
        household, market, economy, {"productivity": 1 - 1e-4 * fall}, predetermined="demand", progress=False
    )
    assert path.success, path.message
    wanted = bl.sequence_jacobian(household, market, economy, 200, predetermined="demand").responses(
        {"productivity": -fall}
    )
    for name, moved in (path.prices | path.aggregates).items():
        change = (moved - (economy.prices | economy.aggregates)[name]) / 1e-4
        assert change == pytest.approx(wanted[name], abs=5e-3 * np.abs(wanted["consumption"]).max()), name
    for made in (path, economy):
        assert bl.load(made.save(tmp_path / "a.npz")) == made
        assert made.plot().axes
    assert path.at_top < 1e-6


def test_a_trivial_feature_changes_nothing() -> None:
    def simple(p: Any) -> bl.Problem:
        return made(incomes(p) + GRID[:, None])

    def regimes(p: Any) -> bl.Problem:
        leads = {"a": 0.5, "b": 0.5}
        both = [bl.Alternative(name=name, regime=name, leads_to=leads) for name in leads]
        return made(incomes(p) + GRID[:, None], alternatives=both)

    one, other = solved(simple), solved(regimes)
    assert other.prices["demand"] == pytest.approx(one.prices["demand"], rel=1e-9)
    assert other.distribution.sum(axis=0) == pytest.approx(one.distribution, abs=1e-9)
    assert other.aggregates["a"] == pytest.approx(0.5, abs=1e-12)
    assert other.gini == pytest.approx(one.gini, abs=1e-8)
    assert other.at_top == pytest.approx(one.at_top, abs=1e-12)
