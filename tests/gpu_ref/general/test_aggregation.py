"""Corrections between policy evaluation steps: what they save, and that they are undone if they do not help."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref.general import Branch, Form, Outside, solve
from beltline.gpu_ref.general.operator import Operator, no_policy
from beltline.host.models.arellano.model import arellano
from oracle import bellman
from support.random_forms import random_form


def savings(states: int = 3, points: int = 40) -> Form:
    grid = np.linspace(0.1, 5.0, points)[:, None]
    rng = np.random.default_rng(0)
    wealth = 1.02 * grid + np.linspace(0.5, 1.5, states)
    chain = rng.dirichlet(np.ones(states), states)
    return Form((Branch("save", 0, wealth, np.repeat(grid, states, axis=1), chain, 0.97),), eta=2.0)


def test_an_error_that_is_constant_in_x_is_corrected_at_once() -> None:
    """If the value is off by one number per exogenous state, a single correction removes nearly all of it."""
    form = savings()
    exact = solve(form, tol=1e-12, steps=200)
    operator = Operator(form)
    shifted = exact.value + np.array([3.0, -1.0, 2.0])
    last = operator.sweep(np.ascontiguousarray(shifted.transpose(0, 2, 1)), no_policy(form))
    after = operator.evaluate(last.found, 4, step_tol=0.0)
    plain = operator.evaluate(last.found, 4)
    truth = exact.value.transpose(0, 2, 1)
    assert np.abs(after - truth).max() < 1e-9
    assert np.abs(plain - truth).max() > 0.5


@pytest.mark.parametrize("sigma", [0.0, 0.05])
def test_corrections_save_steps_and_change_no_solution(sigma: float) -> None:
    found = 0
    for seed in range(30):
        drawn = random_form(np.random.default_rng(seed))
        form = drawn.form
        if form.horizon is not None or (form.sigma > 0.0) != (sigma > 0.0) or form.modulus() > 0.99:
            continue
        tol = 1e-7 * max(1.0, float(np.abs(drawn.value).max()))
        here, there = (solve(form, tol=tol, steps=20, corrected=corrected) for corrected in (True, False))
        assert here.success == there.success
        assert np.abs(here.value - there.value).max() <= here.error_bound + there.error_bound
        found += 1
    assert found >= 3


def test_default_takes_fewer_sweeps() -> None:
    country = arellano(bonds=61, incomes=11)
    form = country.problem().form
    here, there = (solve(form, tol=1e-8, update=country.update, steps=20, corrected=one) for one in (True, False))
    assert here.success
    assert there.success
    assert here.sweeps < there.sweeps
    np.testing.assert_array_equal(here.policy, there.policy)
    assert np.abs(here.value - there.value).max() <= here.error_bound + there.error_bound


def test_corrections_count_alternatives_where_they_are_chosen() -> None:
    form = arellano(bonds=61, incomes=11).problem().form
    operator = Operator(form)
    last = operator.sweep(np.full((2, 11, 61), -20.0), no_policy(form))
    exact, few = operator.evaluate(last.found, 2000, step_tol=0.0), operator.evaluate(last.found, 20, step_tol=0.0)
    assert np.abs(few - exact).max() < 1e-3 * np.abs(last.found.value - exact).max()


def test_points_to_which_no_choice_leads_get_the_value_of_many_steps() -> None:
    """Only grid points that choices never leave are evaluated by steps; others follow from these."""
    form = savings(3, 400)
    operator = Operator(form)
    last = operator.sweep(np.zeros((1, 3, 400)), no_policy(form))
    assert np.unique(last.found.policy).size < 300
    few, many = operator.evaluate(last.found, 3000, step_tol=0.0), operator.evaluate(last.found, 3000)
    np.testing.assert_allclose(few, many, rtol=1e-12)


def test_a_correction_that_does_not_help_is_undone() -> None:
    form = savings(3, 7)
    operator = Operator(form)
    last = operator.sweep(np.zeros((1, 3, 7)), no_policy(form))
    plain = operator.evaluate(last.found, 9)
    operator.evaluate(last.found, 12, step_tol=0.0)
    operator._corrections[1][:] *= -1e-6
    undone = operator.evaluate(last.found, 12, step_tol=0.0)
    # One step, three steps that are undone, and the remaining ones.
    np.testing.assert_array_equal(undone, plain)


def test_steps_are_corrected_with_beta_near_1() -> None:
    grid = np.linspace(0.1, 5.0, 40)[:, None]
    form = Form((Branch("save", 0, 1.02 * grid + 0.5, grid, np.eye(1), 1.0 - 1e-8),), eta=2.0)
    operator = Operator(form)
    last = operator.sweep(np.zeros((1, 1, 40)), no_policy(form))
    plain, corrected = operator.evaluate(last.found, 7), operator.evaluate(last.found, 7, step_tol=0.0)
    changes = [np.abs(operator.sweep(value, last.found.policy).change) for value in (plain, corrected)]
    assert changes[1] < 0.8 * changes[0]


def test_steps_are_not_corrected_without_a_contraction() -> None:
    grid = np.linspace(0.1, 5.0, 7)[:, None]
    form = Form((Branch("save", 0, 1.02 * grid + 0.5, grid, np.eye(1), 1.0 - 1e-13),), eta=2.0)
    operator = Operator(form)
    last = operator.sweep(np.zeros((1, 1, 7)), no_policy(form))
    np.testing.assert_array_equal(operator.evaluate(last.found, 7, step_tol=0.0), operator.evaluate(last.found, 7))


def stopping(seed: int) -> Form:
    """Go, which leads to either regime, or stop in the first one; wait in the second."""
    rng = np.random.default_rng(seed)
    points, states = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    eta, beta = float(rng.choice([0.0, 0.0, 1.0, 2.0])), float(rng.choice([0.9, 0.99, 0.999]))
    X = np.sort(rng.uniform(0.0, 5.0, points))[:, None]

    def branch(name: str, regime: int) -> Branch:
        wealth = X + 0.1 + np.sort(rng.uniform(0.0, 5.0, (points, states)), axis=0)
        chain = rng.dirichlet(np.ones(states), states)
        return Branch(name, regime, wealth, X + np.zeros(states) - X[0], chain, beta, mix=rng.dirichlet(np.ones(2)))

    value = np.sort(rng.normal(size=(points, states)), axis=0) * (1.0 + 2.0 * (eta == 0.0)) / (1.0 - beta)
    value[rng.random(value.shape) < 0.3] = -np.inf
    return Form((branch("go", 0), Outside("stop", 0, value), branch("wait", 1)), eta=eta, negative=eta == 0.0)


def test_optimal_stopping_does_not_go_in_a_circle() -> None:
    """Corrections let the policy of the first problem go in a circle for ever, unless they are given up."""
    X, one = np.array([[0.0], [4.0]]), np.eye(1)
    go = Branch("go", 0, X + 1.0, X, one, 0.999, mix=[0.85, 0.15])
    wait = Branch("wait", 1, [[0.0], [7.0]], X, one, 0.999, mix=[0.5, 0.5])
    smallest = Form((go, Outside("stop", 0, [[2000.0], [-np.inf]]), wait), eta=0.0, negative=True)
    found = solve(smallest, steps=20, max_sweeps=100)
    assert found.success
    assert np.abs(found.value.ravel() - [2000.0, 2002.646190, 1997.638905, 2004.638905]).max() < 1e-6
    sweeps = 0
    for seed in range(200):
        form = stopping(seed)
        here = solve(form, tol=1e-7, steps=20, max_sweeps=1000)
        assert here.success, seed
        assert np.abs(bellman.applied(form, here.value) - here.value).max() < 1e-7
        sweeps += here.sweeps
    assert sweeps < 200 * 20
