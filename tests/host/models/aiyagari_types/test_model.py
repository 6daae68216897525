"""Aiyagari's economy with several types of households: its market by Euler equations, and the assets of each type."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix, identity, kron
from scipy.sparse.linalg import spsolve

import beltline as bl

SMALL: dict[str, Any] = {"grid": 80, "states": 3, "sigma": 0.4, "high": 60.0}


def solved(**parameters: Any) -> bl.TypesEconomy:
    found: bl.TypesEconomy = bl.solve(bl.aiyagari_types(**{**SMALL, **parameters}), progress=False)
    return found


@pytest.fixture(scope="module")
def economy() -> bl.TypesEconomy:
    return solved(betas=[0.93, 0.955, 0.96], etas=[3.0, 2.0, 3.0], weights=[0.5, 0.3, 0.2])


def test_the_market_clears_and_shares_add_up(economy: bl.TypesEconomy) -> None:
    assert economy.success, economy.message
    present = [float(economy.assets @ mass.sum(axis=1)) for mass in economy.distribution]
    together = 0.5 * present[0] + 0.3 * present[1] + 0.2 * present[2]
    assert 0.36 * together**-0.64 - 0.08 == pytest.approx(economy.interest, abs=1e-7)
    assert economy.capital == pytest.approx(together, rel=1e-14)
    assert economy.wealth_shares == pytest.approx(np.array([0.5, 0.3, 0.2]) * present / together, rel=1e-13)
    assert economy.wealth_shares.sum() == pytest.approx(1.0, rel=1e-14)
    assert economy.distribution.sum(axis=(1, 2)) == pytest.approx(1.0, rel=1e-12)
    assert economy.households.sum() == pytest.approx(1.0, rel=1e-12)
    # Output is consumed, or replaces depreciated capital.
    eaten = economy.model.shares @ economy.consumption
    assert eaten == pytest.approx(economy.output - 0.08 * economy.capital, rel=1e-6)


def test_the_most_patient_types_hold_most(economy: bl.TypesEconomy) -> None:
    assert (np.diff(economy.mean_assets) > 0).all()
    assert economy.wealth_shares[0] < 0.5
    assert economy.wealth_shares[2] > 0.2
    assert economy.at_limit[0] > economy.at_limit[2]
    assert economy.interest < 1 / 0.96 - 1
    assert economy.gini > max(economy.ginis[1:])
    assert economy.model.names == ("beta 0.93, eta 3", "beta 0.955, eta 2", "beta 0.96, eta 3")


def test_euler_equations_of_each_kind_hold_the_same(economy: bl.TypesEconomy) -> None:
    # Each type at the interest rate of the economy, by the endogenous grid method on the same points.
    (units, chain), grid = economy.model.economy.labour(), economy.assets
    cash = (1 + economy.interest) * grid[:, None] + economy.wage * units
    for kind, (beta, eta) in enumerate([(0.93, 3.0), (0.955, 2.0), (0.96, 3.0)]):
        eaten = 0.5 * cash
        for _ in range(1500):
            wanted = (beta * (1 + economy.interest) * eaten**-eta @ chain.T) ** (-1 / eta)
            stored = np.stack([np.interp(cash[:, s], wanted[:, s] + grid, grid) for s in range(3)], axis=1)
            eaten = cash - stored
        below = np.clip(np.searchsorted(grid, stored, side="right") - 1, 0, 78)
        up = ((stored - grid[below]) / np.diff(grid)[below]).ravel()
        place = (below * 3 + np.arange(3)).ravel()
        ends = np.concatenate([place, place + 3]), np.tile(np.arange(240), 2)
        choice = csr_matrix((np.concatenate([1 - up, up]), ends), shape=(240, 240))
        moved = (kron(identity(80), chain.T) @ choice).tocsc()
        mass = np.ones(240)
        mass[1:] = spsolve((identity(240, format="csc") - moved)[1:, 1:], moved[1:, [0]].toarray().ravel())
        present = float(mass @ np.repeat(grid, 3) / mass.sum())
        assert economy.mean_assets[kind] == pytest.approx(present, rel=0.02)


def test_one_kind_is_aiyagaris_economy() -> None:
    one = solved(types=1, beta=0.96)
    three = solved(types=3, spread=0.0)
    still: bl.TransitionPath = bl.solve(bl.aiyagari_path(**SMALL, shock=0.0, periods=2), progress=False)
    assert one.success
    assert one.interest == pytest.approx(still.initial.interest, abs=1e-9)
    assert three.interest == pytest.approx(one.interest, abs=1e-9)
    assert three.wealth_shares == pytest.approx(1 / 3, rel=1e-8)
    assert three.gini == pytest.approx(one.gini, rel=1e-8)
    assert one.ginis[0] == pytest.approx(one.gini, rel=1e-12)


def test_one_type_has_no_spread() -> None:
    assert bl.aiyagari_types(types=1, beta=0.995).betas == (0.995,)


def test_kinds_by_their_spread() -> None:
    model = bl.aiyagari_types(types=5, beta=0.95, spread=0.02, eta=2.0)
    assert model.betas == pytest.approx([0.93, 0.94, 0.95, 0.96, 0.97], rel=1e-14)
    assert model.etas == (2.0,) * 5
    assert model.weights == pytest.approx((0.2,) * 5)
    assert model.economy.beta == model.betas[-1]
    assert model.names[0] == "beta 0.93"
    assert bl.aiyagari_types(betas=[0.95, 0.95], etas=[1.0, 5.0]).names == ("eta 1", "eta 5")


def test_a_grid_that_ends_too_early_is_no_success(tmp_path: Path) -> None:
    found = solved(grid=60, high=15.0, types=2, spread=0.005)
    assert (found.success, found.status) == (False, "grid ends too early")
    assert found.message.startswith(
        f"{found.at_top:.2%} of households choose the highest assets, 15, and at most 0.10%"
    )
    short = solved(grid=60, high=3.0, types=2)
    assert (short.success, short.status) == (False, "market not solved")
    assert short.message.startswith("Just below 1/beta - 1 of the most patient type the supply of capital is ")
    assert str(bl.load(short.save(tmp_path / "a.npz"))) == str(short)


def test_the_report_names_the_types(economy: bl.TypesEconomy) -> None:
    assert re.search(r"  type 3        beta 0\.96, eta 3: 20\.0% of households, [\d.]+% of wealth", str(economy))
