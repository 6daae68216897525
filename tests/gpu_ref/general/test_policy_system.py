"""Policies evaluated by linear systems where steps take too long, and how fast an iteration converges."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.general import Branch, Form, Outside, policy_system, solve
from beltline.gpu_ref.general.operator import Operator, no_policy
from beltline.gpu_ref.general.pace import RECENT, SLOW, SLOW_SWEEPS, Pace, rounding
from beltline.gpu_ref.general.solve import SYSTEM_SWEEPS
from beltline.gpu_ref.tables import Array


def default(sigma: float) -> Form:
    """Two regimes, of which the second returns to the first by chance; discount factors by state; a table of values."""
    rng = np.random.default_rng(4)
    grid = np.linspace(0.1, 3.0, 12)[:, None]
    chain = np.array([[0.7, 0.3, 0.0], [0.0, 0.6, 0.4], [0.2, 0.0, 0.8]])
    wealth = 1.1 * grid + np.array([0.4, 0.7, 1.0])
    return Form(
        (
            Branch("stay", 0, wealth, grid + np.zeros(3), chain, [0.9, 0.95, 0.8], mix=0),
            Branch("leave", 0, wealth - 0.2, grid + np.zeros(3), chain, 0.9, mix=1, kappa=0.1),
            Branch("out", 1, wealth - 0.3, grid + np.zeros(3), chain, 0.92, mix=[0.25, 0.75], low=0, high=0),
            Outside("end", 1, rng.normal(-8.0, 1.0, (12, 3))),
        ),
        eta=2.0,
        sigma=sigma,
    )


def swept(form: Form, V: Array) -> tuple[Operator, Any]:
    operator = Operator(form)
    return operator, operator.sweep(V, no_policy(form))


def in_order(V: Array) -> Array:
    """Return a value, ``(N_r, N_z, N_k)``, in the order of a system."""
    return V.transpose(2, 0, 1).ravel()


@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_the_system_is_the_derivative_of_a_sweep(sigma: float) -> None:
    form = default(sigma)
    rng = np.random.default_rng(1)
    V = np.sort(rng.normal(-8.0, 1.0, (2, 3, 12)), axis=2)
    operator, last = swept(form, V)
    system = policy_system.policy_system(operator._packed, last.found, sigma)
    assert system.shape == (72, 72)
    direction = rng.normal(size=V.shape)
    step = 1e-6
    ahead, behind = (swept(form, V + sign * step * direction)[1].found.value for sign in (1.0, -1.0))
    wanted = in_order(direction) - in_order((ahead - behind) / (2.0 * step))
    np.testing.assert_allclose(system @ in_order(direction), wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_a_solved_policy_has_the_value_of_many_steps(sigma: float) -> None:
    """With taste shocks the policy is one of fixed probabilities."""
    form = default(sigma)
    V = np.full((2, 3, 12), -8.0)
    operator, last = swept(form, V)
    found = operator.solve(last.found, V, 1e-13)
    assert found is not None
    system = policy_system.policy_system(operator._packed, last.found, sigma)
    value = in_order(last.found.value)
    reward = value - (in_order(V) - system @ in_order(V))
    for _ in range(2000):
        value = reward + value - system @ value
    np.testing.assert_allclose(in_order(found), value, rtol=1e-12)
    if sigma == 0.0:
        assert (found >= last.found.value - 1e-12).all() == (last.found.value >= V).all()


def test_a_system_that_is_too_large_is_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    form = default(0.0)
    operator, last = swept(form, np.zeros((2, 3, 12)))
    monkeypatch.setattr(policy_system, "ENTRIES", 100)
    assert operator.solve(last.found, np.zeros((2, 3, 12)), 1e-12) is None


def replacement(ages: int, beta: float, taste: float = 0.0, states: int = 1) -> bl.Problem:
    """A machine earns less as it ages; it must be used or replaced. Ages follow each other without any chance."""
    rng = np.random.default_rng(ages)
    older = np.minimum(np.arange(ages) + 1, ages - 1)[:, None].repeat(states, axis=1)
    earned = (3.0 - 2.0 * np.arange(ages) / ages)[:, None] + 0.2 * rng.normal(size=states)
    chain = rng.dirichlet(np.ones(states), states)
    return bl.Problem(
        grid=np.arange(float(ages)), wealth=earned, transition=chain, start=np.zeros((ages, states)), beta=beta,
        eta=0.0, cost=np.zeros(ages), negative=True, taste=taste,
        alternatives=[
            bl.Alternative(name="use", low=older, high=older),
            bl.Alternative(name="replace", wealth=np.full((ages, states), -5.0), low=0, high=0),
        ],
    )  # fmt: skip


@pytest.mark.parametrize("beta", [0.999, 0.9999, 1.0 - 1e-6, 1.0 - 1e-8])
@pytest.mark.parametrize("ages", [40, 700])
def test_a_cycle_without_chance_is_solved_in_few_sweeps(ages: int, beta: float) -> None:
    given = replacement(ages, beta)
    found = bl.solve(given, device="cpu", progress=False)
    assert found.success, found.message
    assert found.verified
    assert found.sweeps < 30
    exact = bl.solve(bl.from_discrete_dp(*bl.to_discrete_dp(given)), progress=False)
    assert np.abs(found.value.ravel() - exact.value.ravel()).max() <= found.error_bound + exact.error_bound
    # Rounding allows no more.
    assert found.error_bound < max(1e-9, 20.0 * np.finfo(float).eps * np.abs(found.value).max()) / (1.0 - beta)


def test_taste_shocks_and_exogenous_states_are_solved_in_few_sweeps() -> None:
    given = replacement(200, 0.9999, taste=0.1, states=3)
    found = bl.solve(given, device="cpu", progress=False)
    assert found.success, found.message
    assert found.sweeps < 30
    slow = solve(given.form, tol=1e-6, steps=20, max_sweeps=30, corrected=False)
    assert slow.status == "sweep limit"
    assert "about " in slow.message


def test_beta_near_1_is_solved_where_the_state_is_forgotten() -> None:
    grid = np.linspace(0.0, 20.0, 200)
    wealth = grid[:, None] + np.array([0.5, 1.5])
    chain = np.array([[0.9, 0.1], [0.1, 0.9]])
    given = bl.Problem(
        grid=grid, wealth=wealth, transition=chain, start=np.zeros((200, 2)), beta=1.0 - 1e-7, eta=2.0, high=199
    )  # fmt: skip
    found = bl.solve(given, device="cpu", progress=False)
    assert found.success, found.message
    assert found.sweeps < 100
    assert "rounding errors of double precision allow no better" in found.message


def test_systems_that_fail_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[float] = []

    def fails(self: Operator, found: Any, V: Array, step_tol: float) -> None:
        calls.append(step_tol)

    monkeypatch.setattr(Operator, "solve", fails)
    found = solve(replacement(40, 0.999).form, tol=1e-8, steps=20, max_sweeps=60)
    assert 2 <= len(calls) <= 2 + 60 // SYSTEM_SWEEPS
    assert found.status == "sweep limit"


def test_systems_that_save_no_sweeps_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices that move by a point of the grid in each sweep are slow with any evaluation."""
    simple = bl.rbc(grid=256)
    given = dataclasses.replace(simple, cost=np.repeat(simple.grid[:, None], 4, axis=1))
    systems: list[int] = []
    changes: list[float] = []
    system = policy_system.policy_system
    monkeypatch.setattr(policy_system, "policy_system", lambda *all: (systems.append(len(changes)), system(*all))[1])
    found = solve(given.form, tol=1e-8, steps=20, progress=lambda _, change: changes.append(change))
    assert found.success
    in_vain = sum(changes[sweep] > SLOW * changes[sweep - 1] for sweep in systems)
    assert 1 <= in_vain <= 2 + found.sweeps // SYSTEM_SWEEPS
    assert len(systems) < found.sweeps // 2


def test_systems_are_not_solved_without_evaluation_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Operator, "solve")
    assert solve(replacement(40, 0.999).form, tol=1e-8, steps=0, max_sweeps=60).status == "sweep limit"


def test_the_pace_of_an_iteration() -> None:
    value = np.full((1, 2, 5), 1000.0)
    pace = Pace()
    assert pace.more(1e-10) is None
    for change in (1.0, 0.5, 0.25):
        pace.add(change)
    assert not pace.slow
    assert pace.more(0.25 / 2**7) == 7
    for _ in range(SLOW_SWEEPS):
        pace.add(0.24)
    assert pace.slow
    assert not pace.rounded(value, value)
    pace.add(1e-3)
    assert not pace.slow
    for _ in range(SLOW_SWEEPS + 1):
        assert not pace.rounded(value, value)
        pace.add(rounding(value))
    assert pace.rounded(value, value)
    assert not pace.rounded(value / 1e3, value / 1e3)
    # A large value does not hide what is left in another, for a while.
    large = np.where(np.arange(5) == 3, 1e12, value)
    assert not pace.rounded(large, large + 1e-6 * (np.arange(5) == 0))
    assert pace.rounded(large, large + 1e-6 * (np.arange(5) == 3))
    assert pace.stalled
    pace.add(0.5 * rounding(value))
    assert not pace.stalled
    # Only the last sweeps count for the estimate.
    for change in 0.9 ** np.arange(50.0):
        pace.add(float(change))
    assert pace.more(0.9**59) == 10
    assert len(pace._changes) == RECENT + 1
    pace.add(2.0)
    assert pace.more(1e-10) is None
