"""Convex costs of adjustment: against value iteration in plain NumPy, a closed form, the general form, and limits."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import beltline as bl
from beltline.host.models.lumpy_investment.model import MOMENTS
from docs.tables.lumpy_investment import by_both

Array = NDArray[np.float64]

SMALL: dict[str, Any] = {"steps": 2, "states": 3, "beta": 0.9, "low": 0.02, "high": 10.0, "fixed": 0.01, "convex": 0.2}


def solved(**parameters: Any) -> bl.LumpyInvestmentResult:
    found: bl.LumpyInvestmentResult = bl.solve(bl.lumpy_investment(**parameters), progress=False)
    return found


@pytest.fixture(scope="module")
def firm() -> bl.LumpyInvestmentResult:
    return solved(**SMALL)


def by_hand(firm: bl.LumpyInvestmentResult) -> tuple[Array, NDArray[np.bool_], NDArray[np.intp]]:
    """Return value, adjustment and next capital, by value iteration over all choices."""
    model, k = firm.model, firm.capital
    z, chain = model.chain
    profit = (1 / model.beta - 1 + model.delta) / model.alpha * z * k[:, None] ** model.alpha
    stored = np.maximum(np.arange(k.size) - model.steps, 0)
    spent = k - (1 - model.delta) * k[:, None]
    cost = spent + model.fixed + model.convex / 2 * (spent / k[:, None]) ** 2 * k[:, None]
    value = np.zeros_like(profit)
    for _ in range(400):
        ahead = model.beta * value @ chain.T
        keep = profit + ahead[stored]
        choices = profit[:, :, None] - cost[:, None, :] + ahead.T[None]
        adjust = choices.max(axis=2)
        value = np.maximum(keep, adjust)
    adjusts = adjust > keep + 1e-10
    return value, adjusts, np.where(adjusts, choices.argmax(axis=2), stored[:, None])


@pytest.mark.parametrize("more", [{}, {"fixed": 0.0, "convex": 1.0}, {"fixed": 0.2, "convex": 0.02, "rho": -0.3}])
def test_it_is_value_iteration_in_plain_numpy(more: dict[str, Any]) -> None:
    found = solved(**SMALL | more)
    assert found.solution.success
    value, adjusts, policy = by_hand(found)
    assert np.abs(found.value - value).max() < 1e-7
    assert found.solution.error_bound < 1e-6
    assert (found.adjusts == adjusts).all()
    assert (found.policy == policy).all()
    assert 0.02 < adjusts.mean() < 0.99


def test_without_a_convex_cost_both_forms_agree() -> None:
    general = solved(**SMALL | {"convex": 0.0})
    discrete = bl.solve(general.model.discrete_problem(), tol=1e-9, progress=False)
    assert np.abs(general.value - discrete.value).max() < 1e-7
    assert (general.policy == discrete.policy).all()
    tiny = solved(**SMALL | {"convex": 1e-12})
    assert (tiny.policy == general.policy).all()
    assert (tiny.target == general.target).all()
    assert tiny.moments() == pytest.approx(general.moments(), rel=1e-9)
    assert tiny.hazard().adjusts == pytest.approx(general.hazard().adjusts, rel=1e-9)


def test_without_shocks_and_fixed_cost_capital_converges_to_the_euler_equation() -> None:
    """Capital converges to the solution of the Euler equation

    ``1 + g delta = beta (a alpha k**(alpha - 1) + (1 - delta) (1 + g delta) + g delta**2 / 2)``.
    """
    found = solved(steps=8, states=1, fixed=0.0, convex=2.0, high=3.0)
    assert found.success
    model = found.model
    g, d, beta = 2.0, 0.07, 0.95
    marginal = ((1 + g * d) / beta - (1 - d) * (1 + g * d) - g * d**2 / 2) / (model.scale * model.alpha)
    rest = marginal ** (1 / (model.alpha - 1))
    # A choice between two grid points stays at either, so the long run depends a little on the start.
    for start in (0.2, 2.9):
        x = int(np.searchsorted(found.capital, start))
        for _ in range(500):
            x = int(found.policy[x, 0])
        assert found.policy[x, 0] == x
        assert found.capital[x] == pytest.approx(rest, rel=0.02)
        assert found.investment_rate[x, 0] == pytest.approx(d, rel=1e-9)


def test_a_convex_cost_makes_investment_smooth() -> None:
    """As in Cooper and Haltiwanger, convex costs make investment rates persistent, and fixed costs make firms wait."""
    more = {"states": 5, "steps": 3, "high": 20.0}
    found = [solved(**more, fixed=0.01, convex=convex) for convex in (0.0, 0.05, 0.5)]
    moments = [each.moments() for each in found]
    assert [each["sd_rate"] for each in moments] == sorted((each["sd_rate"] for each in moments), reverse=True)
    lasting = [each["serial_correlation"] for each in moments]
    assert lasting == sorted(lasting)
    assert lasting[0] < 0 < lasting[2]
    smooth = solved(**more, fixed=0.0, convex=0.5).moments()
    assert smooth["inaction"] < 0.2 < moments[2]["inaction"]
    for each in moments:
        assert each["aggregate_rate"] == pytest.approx(0.07, rel=1e-9)


def test_the_target_is_the_choice_without_costs(firm: bl.LumpyInvestmentResult) -> None:
    worth = firm.model.beta * firm.value @ firm.model.chain[1].T - firm.capital[:, None]
    assert (firm.target == firm.capital[worth.argmax(axis=0)]).all()
    rates = firm.investment_rate
    for s in range(3):
        below = firm.adjusts[:, s] & (firm.capital < firm.lower[s])
        reached = firm.capital[firm.policy[below, s]]
        # A firm that adjusts closes only a part of the gap.
        assert (reached < firm.target[s]).all()
        assert (rates[below, s] > 0).all()


def test_a_dataset_has_capital_and_productivity(firm: bl.LumpyInvestmentResult) -> None:
    assert ", target " in str(firm)
    dataset = firm.to_xarray()
    assert (dataset.endogenous == firm.capital).all()
    assert (dataset.exogenous == firm.productivity).all()
    assert (dataset.value == firm.value).all()


def test_files_that_no_solve_wrote(firm: bl.LumpyInvestmentResult, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    policy = firm.solution.policy.copy()
    policy[3, 1] = 173
    other = replace(firm, solution=replace(firm.solution, policy=policy))
    wanted = "endogenous state 3, exogenous state 1 has no action 173, which its policy chooses"
    with pytest.raises(bl.ProblemError, match="^" + re.escape(wanted)):
        bl.load(other.save(path))


def test_refusals() -> None:
    model = bl.lumpy_investment(**SMALL)
    with pytest.raises(
        bl.ProblemError, match="^lumpy investment with a convex cost is solved on device 'cpu', not on 'gpu'$"
    ):
        bl.solve(model, device="gpu")
    with pytest.raises(
        bl.ProblemError, match="^the general form has no cost that depends on both .* convex is 0.2: use disc"
    ):
        model.problem()
    with pytest.raises(bl.ProblemError, match="^a discrete problem is solved by method 'policy_iteration', not by "):
        bl.solve(model, method="mpi")
    for wrong in (-0.1, math.inf, math.nan):
        with pytest.raises(bl.ProblemError, match=f"^convex must be a number from 0, not {wrong}$"):
            bl.lumpy_investment(convex=wrong)
    short = bl.solve(model, max_sweeps=1, progress=False)
    assert (short.success, short.status) == (False, "sweep limit reached")
    ends = solved(**SMALL | {"high": 1.0})
    assert (ends.success, ends.status) == (False, "grid ends too early")


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    by_both([(0.01, 0.0), (0.01, 0.2)], 2)
    text = capsys.readouterr().out
    assert text.startswith("| fixed, convex cost | 0.01, 0 | 0.01, 0.2 | plants |")
    moments = solved(steps=2, convex=0.2).moments()
    for key, name in MOMENTS.items():
        (cell,) = re.findall(rf"^\| {re.escape(name)} \| [\d.-]+ \| ([\d.-]+) \| [\d.-]+ \|$", text, re.M)
        assert cell == f"{moments[key]:.4f}"
