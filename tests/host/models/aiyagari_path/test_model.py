"""Aiyagari's economy after a shock: the market of each date by independent code, the report and the file."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

import beltline as bl
from beltline.host.models.equilibrium.search import MARKET_TOLERANCE

Array = NDArray[np.float64]

SMALL: dict[str, Any] = {"grid": 80, "states": 3, "sigma": 0.4, "high": 40.0, "periods": 120}


def solved(**parameters: Any) -> bl.TransitionPath:
    found: bl.TransitionPath = bl.solve(bl.aiyagari_path(**{**SMALL, **parameters}), progress=False)
    return found


@pytest.fixture(scope="module")
def path() -> bl.TransitionPath:
    return solved(shock=-0.02, persistence=0.8)


@pytest.fixture(scope="module")
def still() -> bl.TransitionPath:
    return solved(shock=0.0)


def test_the_market_clears_at_every_date(path: bl.TransitionPath) -> None:
    assert path.success, path.message
    assert (path.status, path.excess.shape) == ("solved", (121,))
    assert path.largest_excess <= MARKET_TOLERANCE
    # Independent code: households move to both points around a choice, and prices follow from capital.
    economy, (units, chain) = path.model.economy, path.model.economy.labour()
    grid, mass = path.assets, path.distribution[0]
    for date in range(120):
        present = float(grid @ mass.sum(axis=1))
        assert present == pytest.approx(path.capital[date], rel=MARKET_TOLERANCE)
        level = 1 - 0.02 * 0.8**date
        interest = 0.36 * level * path.capital[date] ** -0.64 - 0.08
        wage = 0.64 * level * path.capital[date] ** 0.36
        assert (path.interest[date], path.wage[date]) == pytest.approx((interest, wage), rel=1e-13)
        cash = (1 + interest) * grid[:, None] + wage * units
        eaten = float((mass * (cash - path.choice[date])).sum())
        # Output and undepreciated capital are consumed or saved.
        made = level * path.capital[date] ** 0.36 + 0.92 * path.capital[date]
        moved = np.zeros_like(mass)
        for s in range(3):
            for x in range(80):
                stored = path.choice[date, x, s]
                below = min(int(np.searchsorted(grid, stored, side="right")) - 1, 78)
                up = (stored - grid[below]) / (grid[below + 1] - grid[below])
                moved[below, s] += (1 - up) * mass[x, s]
                moved[below + 1, s] += up * mass[x, s]
        assert eaten + float(grid @ moved.sum(axis=1)) == pytest.approx(made, rel=MARKET_TOLERANCE)
        mass = moved @ chain
        assert path.distribution[date + 1] == pytest.approx(mass, abs=1e-13)
    assert economy.capital(path.final.interest) == pytest.approx(float(grid @ mass.sum(axis=1)), rel=1e-4)
    assert np.abs(path.resources).max() < MARKET_TOLERANCE


def test_choices_are_best_at_the_prices_of_the_path(path: bl.TransitionPath) -> None:
    units, chain = path.model.economy.labour()
    grid = path.assets
    for date in (0, 1, 30, 118):
        ahead = PchipInterpolator(grid, 0.96 * path.value[date + 1] @ chain.T, axis=0)
        fine = np.linspace(0.0, 40.0, 40_001)
        for x, s in ((0, 0), (0, 2), (25, 1), (60, 0), (79, 2)):
            cash = (1 + path.interest[date]) * grid[x] + path.wage[date] * units[s]
            there = fine[fine < cash]
            worth = -0.5 * (cash - there) ** -2 + ahead(there)[:, s]
            assert path.value[date, x, s] >= worth.max() - 1e-12
            assert path.value[date, x, s] == pytest.approx(worth.max(), abs=1e-5)
            assert path.choice[date, x, s] == pytest.approx(there[worth.argmax()], abs=2e-3)


def found_by_euler_equations(path: bl.TransitionPath) -> Array:
    """Return households' assets by date at the prices of ``path``, by the endogenous grid method."""
    (units, chain), grid = path.model.economy.labour(), path.assets
    rates, wages = np.append(path.interest, path.final.interest), np.append(path.wage, path.final.wage)
    cash = (1 + rates)[:, None, None] * grid[:, None] + wages[:, None, None] * units

    def before(eaten: Array, date: int, next_date: int) -> Array:
        wanted = (0.96 * (1 + rates[next_date]) * eaten**-3.0 @ chain.T) ** (-1 / 3)
        stored = [np.interp(cash[date, :, s], wanted[:, s] + grid, grid) for s in range(3)]
        return np.asarray(cash[date] - np.stack(stored, axis=1))

    eaten = 0.5 * cash[-1]
    for _ in range(1500):
        eaten = before(eaten, -1, -1)
    stored = np.empty((120, 80, 3))
    for date in reversed(range(120)):
        eaten = before(eaten, date, date + 1)
        stored[date] = cash[date] - eaten
    mass, present = path.distribution[0], []
    for date in range(120):
        present.append(float((mass * stored[date]).sum()))
        below = np.clip(np.searchsorted(grid, stored[date], side="right") - 1, 0, 78)
        up = (stored[date] - grid[below]) / np.diff(grid)[below]
        moved = np.zeros_like(mass)
        np.add.at(moved, (below, np.arange(3)), (1 - up) * mass)
        np.add.at(moved, (below + 1, np.arange(3)), up * mass)
        mass = moved @ chain
    return np.array(present)


def test_euler_equations_ask_for_the_same_capital(path: bl.TransitionPath, still: bl.TransitionPath) -> None:
    # The endogenous grid method interpolates linearly and the path with cubics, so long-run assets are slightly
    # smaller, with and without the shock; the effect of the shock is the same.
    moved = found_by_euler_equations(path) / found_by_euler_equations(still)
    wanted = np.append(path.capital[1:], path.final.capital) / np.append(still.capital[1:], still.final.capital)
    deepest = float(np.abs(wanted - 1).max())
    assert deepest > 0.005
    assert np.abs(moved - wanted).max() < 0.05 * deepest


def test_without_a_shock_nothing_moves(still: bl.TransitionPath) -> None:
    assert still.success, still.message
    assert len(still.steps) == 1
    assert still.capital == pytest.approx(np.full(120, still.initial.capital), rel=1e-14)
    assert still.largest_excess < 1e-8
    assert np.abs(still.distribution - still.distribution[0]).max() < 1e-8
    assert still.initial == still.final
    # The stationary economy is that whose choices are those of a fine grid.
    on_grid = bl.solve(bl.aiyagari(grid=800, states=3, sigma=0.4, high=40.0), tol=1e-7, device="cpu", progress=False)
    assert still.initial.interest == pytest.approx(on_grid.interest, abs=2e-4)


def test_a_shock_that_fades_and_what_it_does(path: bl.TransitionPath) -> None:
    before = path.initial
    # Capital of date 0 is given, so prices change only because productivity falls.
    assert path.capital[0] == before.capital
    assert path.output[0] / before.capital**0.36 == pytest.approx(0.98, rel=1e-12)
    assert path.wage[0] / before.wage == pytest.approx(0.98, rel=1e-5)
    assert path.interest[0] < before.interest
    deepest = int(path.capital.argmin())
    assert 3 < deepest < 15
    assert path.interest[deepest] > before.interest
    eaten = before.capital**0.36 - 0.08 * before.capital
    # Households smooth the shock: consumption falls by less than output.
    assert -0.02 < path.consumption[0] / eaten - 1 < 0
    assert path.capital[-1] == pytest.approx(before.capital, rel=1e-4)
    assert path.final == before
    assert path.euler_errors.shape == (119,)
    assert path.euler_errors.max() < 5e-3
    assert path.gini.shape == (121,)


def test_a_shock_for_good_leads_to_the_new_steady_state() -> None:
    found = solved(shock=0.02, persistence=1.0, periods=130)
    assert found.success, found.message
    # With this utility and no borrowing everything but the grid is proportional to output.
    assert found.final.capital / found.initial.capital == pytest.approx(1.02 ** (1 / 0.64), rel=2e-3)
    assert found.final.interest == pytest.approx(found.initial.interest, abs=1e-4)
    assert (np.diff(found.capital) > -1e-6).all()
    assert found.capital[-1] == pytest.approx(found.final.capital, rel=1e-4)
    assert np.abs(found.resources).max() < MARKET_TOLERANCE
    # The user passes the same prices by date.
    again = bl.aiyagari_path(**{**SMALL, "periods": 130}, productivity=[1.02])
    assert again.productivity == found.model.productivity
    assert again.after == found.model.after


def test_a_path_that_is_too_short_is_no_success() -> None:
    found = solved(shock=-0.02, persistence=0.8, periods=25)
    assert (found.success, found.status) == (False, "market not solved")
    assert re.fullmatch(
        r"After 25 dates the new steady state is not reached: the excess of capital is [-+][\d.e-]+, and at most "
        r"0\.0001 is allowed: raise the number of dates\.",
        found.message,
    )
    assert found.largest_excess <= MARKET_TOLERANCE < 1e-4 < abs(found.excess[-1])


def test_a_market_that_does_not_clear_is_no_success() -> None:
    found = bl.solve(bl.aiyagari_path(**{**SMALL, "periods": 40}), max_steps=1, progress=False)
    assert (found.success, found.status) == (False, "market not solved")
    assert re.match(
        r"After 2 steps the market of capital does not clear at date \d+: its excess is [-+][\d.e-]+,", found.message
    )


def test_a_grid_that_ends_too_early_is_no_success(tmp_path: Path) -> None:
    found = solved(grid=60, high=20.0, shock=1e-7, periods=8)
    assert found.at_top > 1e-3
    assert (found.success, found.status) == (False, "grid ends too early")
    assert found.message.startswith(f"At some date {found.at_top:.2%} of households choose the highest grid point, 20,")
    short = solved(grid=60, high=3.0, periods=5)
    assert (short.success, short.status) == (False, "market not solved")
    assert re.match(
        r"Just below 1/beta - 1 the supply of capital is [\d.]+ and demand [\d.]+: the grid ends too early, so raise",
        short.message,
    )
    assert np.isnan(short.capital).all()
    assert math.isnan(short.largest_excess)
    assert "market not solved: Just below" in str(short)
    again = bl.load(short.save(tmp_path / "a.npz"))
    assert str(again) == str(short)


def test_figures_show_the_tables(path: bl.TransitionPath) -> None:
    assert re.search(
        r"  market        largest excess supply [\d.e-]+ of demand, at date \d+ \(at most 1e-06", str(path)
    )
    capital, eaten, wage, rate = path.plot().axes
    assert capital.lines[0].get_ydata() == pytest.approx(100 * (path.capital / path.initial.capital - 1))
    assert (rate.lines[0].get_ydata() == 100 * path.interest).all()
    assert [len(axes.lines) for axes in (eaten, wage)] == [3, 2]
    dates, allowed, after = path.plot(kind="market").axes[0].lines
    assert (dates.get_ydata() == np.maximum(np.abs(path.excess[:-1]), np.finfo(float).tiny)).all()
    assert set(allowed.get_ydata()) == {1e-6}
    assert (list(after.get_xdata()), list(after.get_ydata())) == ([120], [abs(path.excess[-1])])


def test_progress_says_where_it_is() -> None:
    reported: list[str] = []
    bl.solve(bl.aiyagari_path(**{**SMALL, "periods": 30}), progress=reported.append)
    assert any(re.match(r"steady state, step \d+: interest = [\d.]+, excess of capital [-+]", s) for s in reported)
    assert any(re.match(r"path, step 1: largest excess [\d.e-]+", line) for line in reported)
