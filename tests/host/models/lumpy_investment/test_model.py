"""Lumpy investment: against value iteration in plain NumPy, a closed form, and every (S,s) rule."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import beltline as bl
from beltline.host.models.lumpy_investment.model import MOMENTS
from docs.tables import lumpy_investment as lumpy_investment_tables
from docs.tables.lumpy_investment import by_cost, by_steps, tables
from support.paths import ROOT

Array = NDArray[np.float64]

SMALL: dict[str, Any] = {"steps": 2, "states": 3, "beta": 0.9, "low": 0.02, "high": 10.0}


def solved(**parameters: Any) -> bl.LumpyInvestmentResult:
    found: bl.LumpyInvestmentResult = bl.solve(bl.lumpy_investment(**parameters), progress=False)
    return found


@pytest.fixture(scope="module")
def firm() -> bl.LumpyInvestmentResult:
    return solved(**SMALL)


def grid(steps: int, delta: float, low: float, high: float) -> Array:
    """Return the grid, from ``low`` or just below to ``high``, computed from the top downwards."""
    found = [high]
    while found[-1] > low * (1 + 1e-9):
        found.append(high * (1 - delta) ** (len(found) / steps))
    return np.array(found[::-1])


def by_hand(firm: bl.LumpyInvestmentResult) -> tuple[Array, NDArray[np.bool_], NDArray[np.intp]]:
    """Return value, adjustment and target, by value iteration over all choices."""
    model = firm.model
    z, chain = model.chain
    k = grid(model.steps, model.delta, model.low, model.high)
    np.testing.assert_allclose(firm.capital, k, rtol=1e-13)
    scale = (1 / model.beta - 1 + model.delta) / model.alpha
    profit = scale * z * k[:, None] ** model.alpha
    stored = np.maximum(np.arange(k.size) - model.steps, 0)
    value = np.zeros_like(profit)
    for _ in range(400):
        ahead = model.beta * value @ chain.T
        keep = profit + ahead[stored]
        new = ahead - k[:, None]
        adjust = profit + (1 - model.delta) * k[:, None] - model.fixed + new.max(axis=0)
        value = np.maximum(keep, adjust)
    return value, adjust > keep, new.argmax(axis=0)


@pytest.mark.parametrize("more", [{}, {"fixed": 0.05, "steps": 3}, {"fixed": 0.2, "delta": 0.2, "rho": -0.3}])
def test_it_is_value_iteration_in_plain_numpy(more: dict[str, Any]) -> None:
    found = solved(**SMALL | more)
    assert found.solution.success
    value, adjusts, target = by_hand(found)
    assert np.abs(found.value - value).max() < 1e-7
    assert (found.adjusts == adjusts).all()
    assert 0.05 < adjusts.mean() < 0.99
    assert (found.target == found.capital[target]).all()


def test_without_a_fixed_cost_it_is_the_closed_form() -> None:
    found = solved(steps=16, states=5, fixed=0.0)
    assert found.success
    model, k = found.model, found.capital
    z, chain = model.chain
    # The value of k' net of its price; without fixed costs the value is linear in present capital.
    ahead = model.beta * (model.scale * (chain @ z) * k[:, None] ** 0.6 + 0.93 * k[:, None]) - k[:, None]
    worth = np.linalg.solve(np.eye(5) - model.beta * chain, ahead.max(axis=0))
    value = model.scale * z * k[:, None] ** 0.6 + 0.93 * k[:, None] + worth
    assert np.abs(found.value - value).max() < 1e-7
    assert (found.target == k[ahead.argmax(axis=0)]).all()
    smooth = (0.6 * 0.95 * model.scale * (chain @ z) / (1 - 0.95 * 0.93)) ** (1 / 0.4)
    np.testing.assert_allclose(found.target, smooth, rtol=math.log(1 / 0.93) / 16)


def test_without_shocks_it_is_the_best_of_all_rules() -> None:
    """Without shocks, the solution is the best of all rules "adjust to ``S`` every ``n`` periods"."""
    found = solved(steps=8, states=1, fixed=0.02)
    k, beta = found.capital, 0.95
    best, value, at, periods = -math.inf, 0.0, 0.0, 0
    for number in range(k.size // 3, k.size):
        for n in range(1, 60):
            path = k[number - 8 * np.arange(n + 1)] if number >= 8 * n else None
            if path is None:
                break
            # Profits of the periods after an adjustment; in the last of them the firm adjusts again.
            flow = beta ** np.arange(n) @ (found.model.scale * path[:n] ** 0.6)
            flow += beta ** (n - 1) * (0.93 * path[n - 1] - 0.02 - k[number])
            worth = flow / (1 - beta**n)
            if beta * worth - k[number] > best:
                best, value, at, periods = beta * worth - k[number], worth, k[number], n
    assert found.success
    assert found.target[0] == at
    start = int(np.searchsorted(k, at))
    assert found.value[start, 0] == pytest.approx(value, abs=1e-7)
    down = start - 8 * np.arange(periods)
    assert found.adjusts[down, 0].tolist() == [False] * (periods - 1) + [True]
    mass = found.distribution
    np.testing.assert_allclose(mass[down, 0], 1 / periods, rtol=1e-12)
    assert found.moments()["inaction"] == pytest.approx(1 - 1 / periods, rel=1e-12)
    assert k[down[-1]] < found.lower[0] <= k[down[-2]]


def test_names_are_consistent(firm: bl.LumpyInvestmentResult) -> None:
    assert firm.success
    assert firm.capital[-1] == 10.0
    assert 0.02 * 0.93**0.5 < firm.capital[0] <= 0.02
    assert (firm.lower < firm.target).all()
    assert (firm.target < firm.upper).all()
    assert (np.diff(firm.lower) > 0).all()
    for s in range(3):
        stored = (firm.capital >= firm.lower[s]) & (firm.capital <= firm.upper[s])
        assert (stored == ~firm.adjusts[:, s]).all()
    x, s = 30, 0
    assert firm.adjusts[x, s]
    rate = (firm.target[s] - 0.93 * firm.capital[x]) / firm.capital[x]
    assert firm.investment_rate[x, s] == pytest.approx(rate, rel=1e-13)
    assert (firm.investment_rate[~firm.adjusts] == 0).all()


def test_the_long_run(firm: bl.LumpyInvestmentResult) -> None:
    mass, chain = firm.distribution, firm.model.chain[1]
    size = mass.size
    step = np.zeros((size, size))
    for (x, s), ahead in np.ndenumerate(firm.policy):
        step[x * 3 + s, ahead * 3 : ahead * 3 + 3] = chain[s]
    wanted = np.linalg.matrix_power(step, 2**16)[0].reshape(mass.shape)
    np.testing.assert_allclose(mass, wanted, rtol=1e-9, atol=1e-12)
    moments = firm.moments()
    assert set(moments) == set(MOMENTS)
    # Investment equals depreciation.
    assert moments["aggregate_rate"] == pytest.approx(0.07, rel=1e-9)
    assert moments["inaction"] == pytest.approx(wanted[~firm.adjusts].sum(), rel=1e-9)
    rate = firm.investment_rate
    assert moments["spikes"] == pytest.approx(wanted[rate > 0.2].sum(), rel=1e-9)
    assert moments["mean_rate"] == pytest.approx((wanted * rate).sum(), rel=1e-9)
    # A pair of years is a state and its successor.
    pairs = np.einsum("xs,st->xst", wanted, chain)
    now, later = rate[:, :, None] * np.ones(3), rate[firm.policy][:, np.arange(3)[:, None], np.arange(3)]
    weights = pairs.ravel()
    both = np.cov(now.ravel(), later[:, :, :].ravel(), ddof=0, aweights=weights)
    assert moments["serial_correlation"] == pytest.approx(both[0, 1] / both[0, 0], rel=1e-6)
    assert moments["sd_rate"] == pytest.approx(math.sqrt(both[0, 0]), rel=1e-9)
    log = np.broadcast_to(np.log(firm.productivity), rate.shape)
    with_z = np.cov(rate.ravel(), log.ravel(), ddof=0, aweights=wanted.ravel())
    wanted_correlation = with_z[0, 1] / math.sqrt(with_z[0, 0] * with_z[1, 1])
    assert moments["productivity_correlation"] == pytest.approx(wanted_correlation, rel=1e-6)
    assert 0 < moments["negative_spikes"] <= moments["negative"] == pytest.approx(wanted[rate < 0].sum(), rel=1e-9)


def test_the_hazard_by_gap(firm: bl.LumpyInvestmentResult) -> None:
    found = firm.hazard()
    assert found.firms.sum() == pytest.approx(1, abs=1e-12)
    assert found.adjusts @ found.firms == pytest.approx(1 - firm.moments()["inaction"], rel=1e-9)
    periods = found.gap / math.log(1 / 0.93)
    np.testing.assert_allclose(periods, np.round(periods), rtol=0, atol=1e-9)
    assert (np.diff(periods) > 0.5).all()
    near = np.abs(found.gap + math.log(1 / 0.93)) < 1e-9
    # A firm that adjusted last year at the same productivity is one year's depreciation below its target, and waits.
    assert found.adjusts[near] == 0.0
    assert found.adjusts[0] == found.adjusts[-1] == 1.0
    away = np.log(0.93 * firm.capital[:, None] / firm.target)
    half = 0.5 * math.log(1 / 0.93)
    for gap, adjusts, firms in zip(found.gap, found.adjusts, found.firms, strict=True):
        here = (away >= gap - half - 1e-9) & (away < gap + half - 1e-9)
        assert firms == pytest.approx(firm.distribution[here].sum(), abs=1e-12)
        assert adjusts * firms == pytest.approx(firm.distribution[here & firm.adjusts].sum(), abs=1e-12)


def test_a_higher_cost_widens_the_band() -> None:
    found = [solved(**SMALL, fixed=fixed) for fixed in (0.0, 0.01, 0.1)]
    widths = [firm.upper[1] / firm.lower[1] for firm in found]
    assert widths == sorted(widths)
    inaction = [firm.moments()["inaction"] for firm in found]
    assert inaction[0] == 0.0
    assert inaction == sorted(inaction)


def test_a_grid_that_ends_too_early_is_no_success() -> None:
    for ends in ({"high": 1.0}, {"low": 0.9}):
        found = solved(**SMALL | ends)
        assert found.solution.success
        assert (found.success, found.status) == (False, "grid ends too early")
        assert found.message.startswith("Firms reach an end of the grid of capital, ")
        assert found.message.endswith("and might go beyond it: lower low or raise high.")


def test_the_sweep_limit_is_no_success() -> None:
    short = bl.solve(bl.lumpy_investment(**SMALL), max_sweeps=1, steps=0, progress=False)
    assert (short.success, short.status) == (False, "sweep limit reached")


def test_report_and_figures_show_the_tables(firm: bl.LumpyInvestmentResult) -> None:
    assert f"{firm.moments()['inaction']:.1%}" in str(firm)
    lines: list[str] = []
    bl.solve(firm.model, progress=lines.append)
    assert any(line.startswith("sweep ") for line in lines)
    axes = firm.plot(kind="band").axes[0]
    assert [list(line.get_ydata()) for line in axes.lines] == [list(firm.upper), list(firm.target), list(firm.lower)]
    axes, other = firm.plot(kind="hazard").axes
    assert set(axes.lines[0].get_ydata()) <= set(firm.hazard().adjusts)
    assert sum(bar.get_height() for bar in other.patches) == pytest.approx(1, abs=1e-4)
    drawn = firm.plot(kind="investment").axes[0].lines
    assert [line.get_label().split()[0] for line in drawn[:3]] == ["productivity"] * 3
    for s, line in enumerate(drawn[:3]):
        rates = dict(zip(firm.capital, 100 * firm.investment_rate[:, s], strict=True))
        shown = zip(line.get_xdata(), line.get_ydata(), strict=True)
        assert all(rates[k] == rate for k, rate in shown)
        assert line.get_xdata()[0] < firm.lower.min()
        assert line.get_xdata()[-1] > firm.upper.max()


def test_tables_are_those_of_the_model(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    by_steps([1, 2])
    by_cost([0.02])
    text = capsys.readouterr().out
    moments = solved(steps=2).moments()
    for key, name in MOMENTS.items():
        (row,) = re.findall(rf"^\| {re.escape(name)} \| [\d.-]+ \| ([\d.-]+) \| [\d.-]+ \|$", text, re.M)
        assert row == f"{moments[key]:.4f}"
    for name in ("by_steps", "by_cost", "by_both"):
        monkeypatch.setattr(lumpy_investment_tables, name, lambda device="cpu": print(f"on {device}"))
    tables("emulator")
    assert capsys.readouterr().out == (
        "On device cpu, as emulator does not solve this model.\n\non cpu\non cpu\n"
        "With a convex cost, on device cpu:\n\non cpu\n"
    )


def test_the_page_has_the_tables() -> None:
    page = (ROOT / "docs" / "lumpy-investment.md").read_text()
    for values in (lumpy_investment_tables.STEPS, lumpy_investment_tables.COSTS):
        assert f" | {' | '.join(f'{value:,g}' for value in values)} | plants |" in page
    mixed = (f"{fixed:g}, {convex:g}" for fixed, convex in lumpy_investment_tables.MIXED)
    assert f" | {' | '.join(mixed)} | plants |" in page
    for key, share in lumpy_investment_tables.PLANTS.items():
        rows = re.findall(rf"^\| {re.escape(MOMENTS[key])} \|.*\| ([\d.]+) \|$", page, re.M)
        assert rows == [f"{share:.3f}"] * 3
