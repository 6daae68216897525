"""Arellano's economy: against value iteration in plain NumPy, and against its stationary distribution."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import beltline as bl
from beltline.host.cli.main import main
from beltline.host.models.arellano import model
from beltline.host.models.arellano.business_cycle import DEFAULTED, MOMENTS, OUT, REPAID, _sample
from oracle import bellman

Array = NDArray[np.float64]

BONDS, INCOMES = 41, 7
SMALL: dict[str, Any] = {"bonds": BONDS, "incomes": INCOMES}


@pytest.fixture(scope="module")
def economy() -> bl.DefaultEconomy:
    found: bl.DefaultEconomy = bl.solve(bl.arellano(**SMALL), tol=1e-10, progress=False)
    return found


def by_hand() -> tuple[Array, Array, Array, NDArray[np.bool_], Array]:
    """Return income, chain, value of good standing, default set and prices, by independent value iteration."""
    half = 3 * 0.025 / math.sqrt(1 - 0.945**2)
    logs = np.linspace(-half, half, INCOMES)
    edges = np.concatenate([[-np.inf], (logs[:-1] + logs[1:]) / 2, [np.inf]])
    chain = np.diff(norm.cdf((edges - 0.945 * logs[:, None]) / 0.025), axis=1)
    income = np.exp(logs)
    long_run = np.linalg.matrix_power(chain, 5000)[0]
    out = np.minimum(income, 0.969 * (long_run @ income))
    bonds = np.linspace(-0.45, 0.45, BONDS)
    zero = BONDS // 2
    good, excluded = np.zeros((BONDS, INCOMES)), np.zeros(INCOMES)
    defaults, prices = np.zeros((BONDS, INCOMES), bool), np.full((BONDS, INCOMES), 1 / 1.017)
    for _ in range(700):
        ahead = 0.953 * good @ chain.T
        spent = income + bonds[:, None, None] - (prices * bonds[:, None])[None]
        with np.errstate(divide="ignore"):
            repay = np.where(spent > 0, -1 / spent + ahead, -np.inf).max(axis=1)
        default = -1 / out + 0.953 * chain @ (0.282 * good[zero] + 0.718 * excluded)
        defaults = default > repay
        good, excluded = np.maximum(repay, default), default
        prices = (1 - defaults @ chain.T) / 1.017
    return income, chain, good, defaults, prices


def test_it_is_value_iteration_in_plain_numpy(economy: bl.DefaultEconomy) -> None:
    income, chain, value, defaults, prices = by_hand()
    assert economy.success
    assert economy.income == pytest.approx(income, rel=1e-14)
    assert economy.model.chain[1] == pytest.approx(chain, abs=1e-14)
    gap = np.abs(economy.value - value).max()
    assert gap < 1e-8
    assert gap <= economy.solution.error_bound
    assert (economy.defaults == defaults).all()
    assert 0.1 < defaults.mean() < 0.5
    assert economy.prices == pytest.approx(prices, abs=1e-14)


def test_names_are_consistent(economy: bl.DefaultEconomy) -> None:
    bonds, income, defaults = economy.bonds, economy.income, economy.defaults
    assert bonds[economy.model.zero] == 0.0
    assert (economy.value == np.maximum(economy.repay_value, economy.default_value)).all()
    assert (defaults == (economy.repay_value < economy.default_value)).all()
    # Less debt is never worse; a country without debt never defaults, and its bonds have the safe price.
    assert (np.diff(defaults.astype(int), axis=0) <= 0).all()
    assert not defaults[bonds >= 0].any()
    assert economy.default_probability[bonds >= 0] == pytest.approx(0.0, abs=1e-15)
    assert economy.spreads[bonds >= 0] == pytest.approx(0.0, abs=1e-14)
    assert (np.diff(economy.prices, axis=0) >= 0).all()
    x, s = 15, 5
    assert economy.policy[x, s] >= 0
    chosen = economy.policy_values[x, s]
    assert chosen == bonds[economy.policy[x, s]]
    price = economy.prices[economy.policy[x, s], s]
    assert economy.consumption[x, s] == pytest.approx(income[s] + bonds[x] - price * chosen, rel=1e-15)
    assert economy.spreads[economy.policy[x, s], s] == pytest.approx(price**-4 - 1.017**4, rel=1e-13)
    assert (economy.policy[defaults] == -1).all()
    assert np.isnan(economy.policy_values[defaults]).all()
    assert (
        economy.consumption[defaults] == np.broadcast_to(economy.model.default_income, defaults.shape)[defaults]
    ).all()


def test_it_solves_the_problem_at_its_own_prices(economy: bl.DefaultEconomy) -> None:
    found = economy.solution
    problem = replace(found.problem, start=found.value)
    residual = float(np.abs(bellman.applied(problem.form, found.value) - found.value).max())
    assert found.verified
    assert abs(found.residual - residual) < 1e-12
    assert found.error_bound >= residual / (1 - economy.model.beta)
    again = bl.solve(problem, tol=1e-9, max_sweeps=1, progress=False)
    assert again.success
    assert again.residual < 2e-10
    assert (again.taken("default") == economy.defaults).all()


def test_values_are_measured_at_the_prices_that_are_returned() -> None:
    found = bl.solve(bl.arellano(**SMALL), max_sweeps=4, start="given", progress=False).solution
    assert found.price_change > 0.01
    assert found.verified
    form = found.problem.form
    residual = float(np.abs(bellman.applied(form, found.value) - found.value).max())
    assert found.residual == pytest.approx(residual, rel=1e-12)
    assert found.error_bound == pytest.approx(residual / (1 - form.modulus()), rel=1e-9)


def long_run(economy: bl.DefaultEconomy) -> dict[str, float]:
    """Return the moments under the stationary distribution of standing, bonds and income."""
    shape, size = economy.value.shape, economy.value.size
    chain, zero, back = economy.model.chain[1], economy.model.zero, economy.model.reentry
    number = np.arange(size).reshape(shape)
    step = np.zeros((size + shape[1], size + shape[1]))
    for (x, s), chosen in np.ndenumerate(economy.policy):
        if chosen >= 0:
            step[number[x, s], number[chosen]] = chain[s]
        else:
            step[number[x, s], number[zero]], step[number[x, s], size:] = back * chain[s], (1 - back) * chain[s]
    for s in range(shape[1]):
        step[size + s, number[zero]], step[size + s, size:] = back * chain[s], (1 - back) * chain[s]
    mass = np.linalg.matrix_power(step, 2**14)[number[zero, 0], :size].reshape(shape)
    repaid = ~economy.defaults
    weights = mass[repaid] / mass[repaid].sum()
    income = np.broadcast_to(economy.income, shape)
    spread = 100 * np.take_along_axis(economy.spreads, np.maximum(economy.policy, 0), axis=0)
    tables = {
        "spread": spread,
        "trade": (income - economy.consumption) / income,
        "consumption": np.log(economy.consumption),
        "output": np.log(income),
        "debt": -100 * economy.bonds[:, None] / income,
    }
    of = {name: table[repaid] for name, table in tables.items()}

    def covariance(one: str, other: str) -> float:
        return float(weights @ (of[one] * of[other]) - (weights @ of[one]) * (weights @ of[other]))

    def correlation(one: str, other: str) -> float:
        return covariance(one, other) / math.sqrt(covariance(one, one) * covariance(other, other))

    return {
        "mean_spread": float(weights @ of["spread"]),
        "sd_spread": math.sqrt(covariance("spread", "spread")),
        "mean_debt": float(weights @ of["debt"]),
        "default_rate": 400 * float(mass[economy.defaults].sum()),
        "relative_sd": math.sqrt(covariance("consumption", "consumption") / covariance("output", "output")),
        "spread_output": correlation("spread", "output"),
        "trade_output": correlation("trade", "output"),
        "consumption_output": correlation("consumption", "output"),
        "spread_consumption": correlation("spread", "consumption"),
    }


def test_moments_are_those_of_the_stationary_distribution(economy: bl.DefaultEconomy) -> None:
    exact = long_run(economy)
    assert exact["default_rate"] > 0.5
    one, other = (economy.moments(paths=60, periods=4000, burn_in=500, seed=seed) for seed in (0, 1))
    assert set(one.values) == set(MOMENTS) == set(exact)
    for name, value in exact.items():
        error = one.errors[name]
        assert 0 < error < 0.2 * abs(value) + 0.02, name
        assert abs(one.values[name] - value) < 4 * error, name
        assert abs(one.values[name] - other.values[name]) < 4 * math.hypot(error, other.errors[name]), name
    assert one.values != other.values
    assert one.values == economy.moments(paths=60, periods=4000, burn_in=500, seed=0).values
    assert str(one).startswith("Moments, Arellano's economy\n")
    assert str(one).endswith("60 paths of 4,000 quarters after 500 that were dropped, seed 0.")


def test_no_seed_moves_a_moment_beyond_its_standard_errors(economy: bl.DefaultEconomy) -> None:
    exact, seeds = long_run(economy), range(20)
    found = [economy.moments(paths=40, periods=1500, burn_in=300, seed=seed) for seed in seeds]
    for name, value in exact.items():
        off = np.array([(each.values[name] - value) / each.errors[name] for each in found])
        assert np.abs(off).max() < 4.5, name
        # Of 20 draws of a standard normal variable 19 are within 2 standard errors, and fewer than 15 hardly ever.
        assert (np.abs(off) < 2).sum() >= 15, name
        assert abs(off.mean()) < 3.5 / math.sqrt(len(seeds)), name


def test_a_smallest_debt_that_is_never_repaid_is_reported() -> None:
    coarse = bl.solve(bl.arellano(bonds=41, incomes=9, limit=100.0), tol=1e-6, progress=False)
    assert coarse.success
    assert coarse.moments(paths=2, periods=100).values["mean_debt"] == 0.0
    wanted = (
        " There is no borrowing, as even the smallest debt of the grid, 5, is not repaid at any income. If this debt is"
    )
    assert wanted in coarse.message
    assert wanted.split(",")[0] not in bl.solve(bl.arellano(bonds=61, incomes=9), tol=1e-6, progress=False).message


def test_standard_errors_are_those_of_many_seeds(economy: bl.DefaultEconomy) -> None:
    found = [economy.moments(paths=20, periods=400, seed=seed) for seed in range(60)]
    for name in ("mean_spread", "default_rate", "trade_output"):
        spread = np.std([moments.values[name] for moments in found], ddof=1)
        reported = np.mean([moments.errors[name] for moments in found])
        # The standard error of a standard deviation of 60 draws is 9%.
        assert reported == pytest.approx(spread, rel=0.35), name


def test_quarters_before_a_default(economy: bl.DefaultEconomy) -> None:
    what = np.array(
        [REPAID, REPAID, DEFAULTED, OUT, REPAID, REPAID, REPAID, DEFAULTED, REPAID, DEFAULTED, REPAID], np.int32
    )
    assert np.flatnonzero(_sample(what, None)).tolist() == [0, 1, 4, 5, 6, 8, 10]
    assert np.flatnonzero(_sample(what, 2)).tolist() == [0, 1, 5, 6]
    assert np.flatnonzero(_sample(what, 3)).tolist() == [4, 5, 6]
    whole, part = (economy.moments(paths=10, periods=2000, before_default=quarters) for quarters in (None, 8))
    assert part.quarters % 8 == 0
    assert 0 < part.quarters <= 8 * part.defaults < whole.quarters
    assert part.values["mean_spread"] > whole.values["mean_spread"]
    assert part.how.endswith("seed 0, of these the 8 quarters before a default.")


def test_without_risk_nothing_moves() -> None:
    certain = bl.solve(bl.arellano(bonds=41, incomes=1), tol=1e-8, progress=False)
    assert certain.success
    moments = certain.moments(paths=2, periods=50, burn_in=100)
    assert moments.values["default_rate"] == 0.0
    assert np.isnan([moments.values[name] for name in ("spread_output", "trade_output", "relative_sd")]).all()
    assert re.search(r"correlation of spread and output +- +-\n", str(moments))


def test_bonds_that_are_worth_nothing_have_no_finite_spread() -> None:
    # Default costs no income, so it is as good as repaying. Plain sweeps keep both values equal to the bit, and the
    # lowest of equal choices is taken, so all countries issue bonds that have no price.
    free = bl.solve(bl.arellano(**SMALL, share=2.0), tol=1e-4, steps=0, progress=False)
    with pytest.warns(UserWarning, match="^moments of a result that is not solved: grid ends too early$"):
        moments = free.moments(paths=3, periods=200)
    assert not math.isfinite(moments.values["mean_spread"])
    assert math.isfinite(moments.values["default_rate"])
    assert re.search(r"mean spread, percent per year +- +-\n", str(moments))


def test_a_grid_that_ends_too_early_is_no_success() -> None:
    found = bl.solve(bl.arellano(bonds=21, incomes=5, limit=0.05), progress=False)
    assert found.solution.success
    assert (found.success, found.status) == (False, "grid ends too early")
    assert found.message.endswith(
        "chooses an end of the grid of bonds, 0.05 on either side, and might choose bonds beyond it: raise limit."
    )


def test_prices_that_did_not_converge_are_no_success() -> None:
    found = bl.solve(bl.arellano(**SMALL), max_sweeps=4, progress=False)
    assert (found.success, found.status) == (False, "sweep limit reached")
    assert re.search(
        r"Prices changed by [\d.]+\. Values and prices that change together need not converge\.$", found.message
    )
    with pytest.warns(UserWarning, match="^moments of a result that is not solved: sweep limit reached$"):
        found.moments(paths=2, periods=20)
    patient = bl.solve(bl.arellano(**SMALL, beta=0.999), max_sweeps=300, steps=0, progress=False)
    assert patient.status == "sweep limit reached"
    assert patient.message.endswith("Raise max_sweeps: the prices have converged, so the values will.")


def test_the_report_says_which_prices(economy: bl.DefaultEconomy) -> None:
    text = str(economy)
    assert "the error bound is for these prices." in " ".join(text.split())
    assert re.search(r"  error bound   max \|V - V\*\| <= [\d.e-]+ at these prices", text)
    blind = bl.solve(bl.arellano(**SMALL), verify=False, progress=False)
    assert not blind.solution.verified
    assert "verify" not in blind.solution.timing
    assert "of the device, not verified" in str(blind)
    assert re.search(r"  error bound   max \|V - V\*\| <= [\d.e-]+ at the prices of the last sweep", str(blind))


def test_a_dataset_has_regimes(economy: bl.DefaultEconomy) -> None:
    pytest.importorskip("xarray")
    data = economy.to_xarray()
    np.testing.assert_array_equal(data["value"].sel(regime="good").values, economy.value)
    assert data["bonds"].attrs == {"long_name": "bonds B", "units": "units of bonds B"}
    assert data.attrs["interest"] == economy.model.interest


def test_figures_show_the_tables(economy: bl.DefaultEconomy) -> None:
    (axes,) = economy.plot(kind="default").axes
    assert (axes.collections[0].get_array().reshape(INCOMES, BONDS) == economy.defaults.T).all()
    (axes,) = economy.plot(kind="prices").axes
    low, high = axes.lines[:2]
    assert low.get_color() != high.get_color()
    assert low.get_linestyle() != high.get_linestyle()
    assert (low.get_ydata() < high.get_ydata()).any()
    assert not (low.get_ydata() > high.get_ydata()).any()
    (axes,) = economy.plot(kind="policy").axes
    assert np.isnan(axes.lines[0].get_ydata()).any()


def test_prices_of_another_economy_are_refused(economy: bl.DefaultEconomy, tmp_path: Path) -> None:
    other = replace(economy, solution=replace(economy.solution, prices=economy.prices[1:]))
    with pytest.raises(bl.ProblemError, match=r"array 'prices' has shape \(40, 7\), not \(41, 7\)"):
        bl.load(other.save(tmp_path / "a.npz"))


def test_what_the_command_line_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["solve", "arellano", "--bonds", "41", "--incomes", "7", "--tol", "1e-6"]
    for more, sentence in (
        (["--device", "emulator", "--option", "lanes=2"], "problem 'sovereign default' has alternatives, cost, which "),
        (["--device", "board"], "device must be one of 'auto', "),
        (["--checkpoint", str(tmp_path / "c.npz")], "checkpoint is not supported by device 'cpu': leave it out, "),
        (["--option", "slot=1"], "a problem of the general form has no option 'slot'"),
    ):
        assert main([*words, *more]) == 2
        assert capsys.readouterr().err.startswith(f"beltline solve: {sentence}")


def test_a_coarse_start_ends_where_the_given_one_does() -> None:
    country = bl.arellano(bonds=251, incomes=7)
    coarse, given = bl.solve(country, tol=1e-7), bl.solve(country, tol=1e-7, start="given", steps=0)
    np.testing.assert_array_equal(coarse.prices, given.prices)
    np.testing.assert_array_equal(coarse.defaults, given.defaults)
    gap = np.abs(coarse.solution.value - given.solution.value).max()
    assert gap <= coarse.solution.error_bound + given.solution.error_bound
    assert 3 * coarse.solution.sweeps < given.solution.sweeps
    assert "coarser grids" in coarse.solution.timing
    assert "coarser grids" not in given.solution.timing


def test_where_a_coarse_start_does_not_converge_the_given_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[bool] = []

    def solved(problem: bl.Problem, **options: Any) -> bl.Result:
        taken.append(bool(problem.start.any()))
        return bl.solve(problem, **options | ({"max_sweeps": 1} if taken[-1] else {}))  # type: ignore[return-value]

    monkeypatch.setattr(model, "solve", solved)
    economy = bl.arellano(bonds=205, incomes=7).solve(tol=1e-5)
    assert taken == [False, True, False]
    assert economy.solution.success
    assert "coarser grids" not in economy.solution.timing


def test_progress_is_reported() -> None:
    reported: list[str] = []
    bl.solve(bl.arellano(bonds=21, incomes=3), tol=1e-2, progress=reported.append)
    assert any(re.fullmatch(r"sweep \d+, largest change of V [\d.e+-]+", line) for line in reported)


def test_an_unknown_start_is_refused() -> None:
    with pytest.raises(bl.ProblemError, match="^start must be one of 'coarse', 'given', not 'stay'$"):
        bl.solve(bl.arellano(bonds=5, incomes=3), start="stay")


def test_prices_are_not_to_be_given() -> None:
    with pytest.raises(bl.ProblemError, match="^update must not be given: bond prices are those at which lenders "):
        bl.solve(bl.arellano(**SMALL), update=lambda last: last, progress=False)
