"""Compare solutions of general problems with full search and closed forms."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.general import Branch, Form, Iterate, Outside, Prices, Solution, measured, solve
from beltline.gpu_ref.tables import Array
from beltline.host.problem.markov import tauchen
from oracle import bellman
from support.general_sweeps import sweep


def adjustment(*, sigma: float = 0.0) -> Form:
    """Return a problem with (S, s) bands: keep a durable that depreciates, or pay a fixed cost and adjust it."""
    grid = np.linspace(0.5, 8.0, 60)[:, None] + np.zeros((1, 2))
    chain = np.array([[0.8, 0.2], [0.3, 0.7]])
    stay = np.maximum(np.arange(60) - 2, 0)[:, None].repeat(2, axis=1)
    income = np.array([0.8, 1.3])
    keep = Branch(
        "keep", 0, wealth=0.3 * grid + income, cost=0.0 * grid, transition=chain, beta=0.93, low=stay, high=stay
    )
    adjust = Branch("adjust", 0, wealth=1.2 * grid + income - 0.4, cost=grid, transition=chain, beta=0.93)
    return Form((keep, adjust), 2.0, sigma)


@pytest.mark.parametrize("sigma", [0.0, 0.05])
def test_fixed_costs_of_adjustment(sigma: float) -> None:
    form = adjustment(sigma=sigma)
    found = solve(form, tol=1e-9)
    assert (found.success, found.status, found.searched) == (True, "converged", 0)
    V = np.asarray(form.start(), np.longdouble)
    for _ in range(found.sweeps):
        oracle = bellman.swept(form, V)
        V = oracle.value
    np.testing.assert_allclose(found.value, np.asarray(V, float), rtol=1e-13)
    np.testing.assert_array_equal(found.policy, oracle.policy)
    np.testing.assert_array_equal(found.choice, oracle.choice)
    np.testing.assert_allclose(found.probabilities, np.asarray(oracle.probabilities, float), rtol=1e-9)
    assert set(np.unique(found.choice)) == {0, 1}


@pytest.mark.parametrize("sigma", [0.0, 0.05])
def test_the_bound_holds_and_evaluation_steps_save_sweeps(sigma: float) -> None:
    form = adjustment(sigma=sigma)
    best = solve(form, tol=1e-12, steps=30)
    for steps in (0, 3, 40):
        found = solve(form, tol=1e-4, steps=steps)
        assert np.abs(found.value - best.value).max() <= found.error_bound + best.error_bound
        assert found.error_bound <= 1e-4 * 0.93 / 0.07 * 1.001
    assert 3 * best.sweeps < solve(form, tol=1e-12).sweeps


def arellano(bonds: int = 51, incomes: int = 11) -> tuple[Form, Any]:
    """Return quarterly sovereign default: the problem at the price without default, and the update of prices."""
    logs, chain = tauchen(incomes, 0.945, 0.025)
    y = np.exp(logs)
    long_run = np.linalg.matrix_power(chain, 10_000)[0]
    punished = np.minimum(y, 0.969 * long_run @ y)
    B = np.linspace(-0.45, 0.45, bonds)[:, None]
    zero, flat = bonds // 2, np.zeros((bonds, incomes))
    out: dict[str, Any] = {
        "wealth": punished + flat, "cost": flat, "transition": chain, "beta": 0.953, "mix": [0.282, 0.718],
        "low": zero, "high": zero,
    }  # fmt: skip
    repay = Branch("repay", 0, wealth=y + B, cost=B / 1.017 + flat, transition=chain, beta=0.953)
    form = Form((repay, Branch("default", 0, **out), Branch("excluded", 1, **out)), 2.0)

    def update(values: Array) -> Prices:
        default = (values[1] > values[0]).astype(float)
        q = (1.0 - default @ chain.T) / 1.017
        return Prices({"repay": {"cost": q * B}}, q)

    return form, update


def test_sovereign_default() -> None:
    form, update = arellano()
    found = solve(form, tol=1e-7, update=lambda last: update(last.values))
    assert found.success, found.message
    assert max(found.residual, found.price_change) < 1e-7
    assert found.searched == 0
    V = form.start()
    for _ in range(found.sweeps):
        oracle = bellman.swept(form, V)
        residual, V, last = float(np.abs(oracle.value - V).max()), oracle.value, form
        tables, prices = update(oracle.values)
        repay, *others = form.alternatives
        form = dataclasses.replace(form, alternatives=(dataclasses.replace(repay, **tables["repay"]), *others))
    np.testing.assert_allclose(found.value, np.asarray(V, float), rtol=1e-13)
    np.testing.assert_array_equal(found.policy, oracle.policy)
    np.testing.assert_array_equal(found.prices, prices)
    assert found.residual == pytest.approx(residual, abs=1e-13)
    repay = last.alternatives[0]
    assert isinstance(repay, Branch)
    np.testing.assert_array_equal(found.form.alternatives[0].at().cost, repay.cost)
    # A country with much debt defaults in bad times, and the revenue from more debt falls.
    defaults = found.choice[0] == 1
    assert 0.1 < defaults.mean() < 0.6
    assert (np.diff(repay.cost, axis=0) < 0.0).any()
    assert found.evaluations[50:].mean() < 8 * 51 * 11


def test_prices_that_never_settle_end_at_the_limit_and_invalid_tables_at_once() -> None:
    form, update = arellano(11, 3)
    moving = iter(range(1000))

    def alternating(last: Iterate) -> Prices:
        return update(last.values)._replace(prices=np.array([float(next(moving))]))

    found = solve(form, tol=1e-6, max_sweeps=500, update=alternating)
    assert (found.success, found.status, found.price_change) == (False, "sweep limit", 1.0)
    assert found.message.endswith("Prices changed by 1.")

    def broken(tables: Any, prices: Any = 1.0) -> Solution:
        return solve(form, update=lambda last: Prices(tables, prices))

    for found, sentence in (
        (broken({"repay": {"cost": np.full((11, 3), np.nan)}}), "alternative 'repay': cost[0, 0] is nan, not finite"),
        (broken({"pay": {}}), "there is no alternative 'pay': there are 'default', 'excluded', 'repay'"),
        (broken({"repay": {"price": 1}}), "alternative 'repay' has no table 'price'"),
        (broken({}, [1.0, np.nan]), "prices[1] is nan, not finite"),
    ):
        assert (found.success, found.status) == (False, "prices refused")
        assert found.message == f"After sweep 1: {sentence}"
        assert np.isfinite(found.value).all()


def test_the_limit_of_sweeps() -> None:
    found = solve(adjustment(), max_sweeps=7)
    assert (found.success, found.status, found.sweeps) == (False, "sweep limit", 7)
    assert found.message.startswith("After 7 sweeps the value still changed by ")
    assert found.residual > 1e-8
    assert np.isfinite(found.error_bound)
    best = solve(adjustment(), tol=1e-12)
    assert np.abs(found.value - best.value).max() <= found.error_bound


def test_a_tolerance_below_rounding_errors_is_named_as_the_reason() -> None:
    rng = np.random.default_rng(27)
    wealth = np.cumsum(rng.exponential(0.01, (12, 2)), axis=0) + 0.06
    chain = rng.dirichlet(np.ones(2), 2)
    cost = np.linspace(0.01, 0.2, 12)[:, None].repeat(2, axis=1)
    form = Form((Branch("a", 0, wealth, cost, chain, 0.5),), 10.0)
    found = solve(form, tol=1e-8, steps=20, max_sweeps=40)
    assert (found.success, found.status) == (True, "converged")
    assert found.sweeps < 40
    assert found.residual == np.spacing(np.abs(found.value).max())
    assert found.error_bound > 2.0 * found.residual
    found = solve(form, tol=1e-8, steps=20, max_sweeps=found.sweeps - 1)
    assert (found.success, found.status) == (False, "sweep limit")
    assert found.message == (
        f"After {found.sweeps} sweeps the value still changed by 1.53e-05, and tol is 1e-08. Values as large as "
        "7.07e+10 are rounded to multiples of 1.5e-05, so more sweeps may not change them by less: a larger tol is "
        "needed."
    )
    assert "More sweeps (max_sweeps) or a larger tol" in solve(form, tol=1e-8, max_sweeps=7).message
    assert solve(form, tol=1e-4, steps=20).success


@pytest.mark.parametrize("horizon", [None, 3])
def test_utility_that_overflows_is_no_success(horizon: int | None) -> None:
    grid = np.array([[0.0], [1.0]])
    form = Form((Branch("a", 0, 1e-60 + grid, grid, np.eye(1), 0.9),), 10.0, horizon=horizon)
    found = solve(form)
    assert (found.success, found.status, found.error_bound) == (False, "not finite", math.inf)
    assert "The value of regime 0 in state [0, 0] is -inf" in found.message
    assert found.message.startswith("At age 3: ") == (horizon == 3)
    assert found.value.shape[-3:] == (1, 2, 1)


def test_taste_shocks_do_not_overflow() -> None:
    numbers = {"a": 5e4, "b": 5e4, "c": -9e9}
    form = Form(tuple(Outside(name, 0, np.full((1, 1), v)) for name, v in numbers.items()), 1.0, 2.0)
    found = sweep(form, form.start(), np.full((3, 1, 1), -1, np.int32))
    assert found.value[0, 0, 0] == pytest.approx(5e4 + 2.0 * math.log(2.0), rel=1e-15)
    assert found.choice[0, 0, 0] == 0
    assert found.probabilities[:, 0, 0].tolist() == [0.5, 0.5, 0.0]


def test_an_alternative_far_from_the_best_does_not_widen_the_bound() -> None:
    grid = np.array([[0.0], [1.0]])
    for sigma, consumption in ((0.0, 1e-7), (1.0, 1e-7), (0.1, 1e-10), (1e-3, 1e-10)):
        poor = Branch("a", 0, consumption + grid, grid, np.eye(1), 0.9)
        form = Form((poor, Outside("b", 0, -grid)), 3.0, sigma)
        found = solve(form, tol=1e-12)
        assert found.values[0].min() < -4e13
        assert found.success
        assert found.error_bound < 1e-10
        quality = measured(form, found, found.residual)
        assert quality.missed == 0
        assert quality.error_bound < 1e-10


def test_a_wrong_probability_of_an_unlikely_alternative_is_found() -> None:
    """A wrong probability is found even though the value of that alternative may be off by far more than the scale of
    taste shocks.
    """
    grid = np.array([[0.0], [1.0]])
    poor = Branch("a", 0, 1e-10 + grid, grid, np.eye(1), 0.9, high=np.zeros((2, 1), np.int32))
    form = Form((poor, Outside("b", 0, -grid)), 3.0, 0.1)
    found = solve(form, tol=1e-12)
    assert found.values[0, 0, 0] < -4e19
    assert measured(form, found, found.residual).missed == 0
    probabilities = found.probabilities.copy()
    probabilities[:, 0, 0] = 1e-6, 1.0 - 1e-6
    assert measured(form, dataclasses.replace(found, probabilities=probabilities), found.residual).missed == 1


def test_the_first_of_equal_alternatives_is_taken() -> None:
    tables = {"a": [1.0, 2.0], "b": [2.0, 2.0], "c": [2.0, 0.0]}
    form = Form(tuple(Outside(name, 0, np.array(v)[:, None]) for name, v in tables.items()), 1.0)
    found = solve(form)
    assert found.choice[0, :, 0].tolist() == [1, 0]
    assert found.probabilities[:, :, 0].tolist() == [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
    assert found.success
    assert found.error_bound < 1e-15


def test_expected_value_of_a_mix_of_regimes() -> None:
    one = np.zeros((1, 1))
    wait = Branch("wait", 0, 1.0 + one, one, np.eye(1), 0.5, mix=[0.25, 0.75])
    found = solve(Form((wait, Outside("paid", 1, np.full((1, 1), 4.0))), 0.0), tol=1e-12)
    # v = 1 + .5 (.25 v + .75 4)
    assert found.value[0, 0, 0] == pytest.approx(2.5 / 0.875)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (None, "update must return Prices(tables, prices), not None"),
        (Prices(3, np.zeros(1)), "tables of update must be a mapping by name, not 3"),  # type: ignore[arg-type]
        (Prices({"a": 3}, np.zeros(1)), "tables of update for 'a' must be a mapping by name, not 3"),  # type: ignore
        (Prices({"a": {}}, "x"), "prices of update must be made of numbers, not 'x'"),  # type: ignore[arg-type]
        (Prices({"a": {}}, np.full(2, np.nan)), "prices[0] is nan, not finite"),
        (Prices({"b": {}}, np.zeros(1)), "there is no alternative 'b': there are 'a'"),
    ],
)
def test_an_invalid_update_is_refused_after_the_first_sweep(found: Any, sentence: str) -> None:
    grid = np.array([[0.0], [1.0]])
    solution = solve(Form((Branch("a", 0, 1.0 + grid, grid, np.eye(1), 0.9),), 2.0), update=lambda last: found)
    assert (solution.success, solution.status) == (False, "prices refused")
    assert solution.message == f"After sweep 1: {sentence}"
