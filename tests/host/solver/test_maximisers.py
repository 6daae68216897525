"""Choices of a verified result are the best ones at its value, as a search over all candidates finds them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.general.form import Branch
from beltline.host.problem.general import start_of
from oracle import bellman
from support.batches import career, firm
from support.fakes import problem

TIED = 2.0**-48
"""Share of the largest value by which tied objectives may differ."""


def losses(given: bl.Problem, result: Any) -> tuple[float, int]:
    """Return the most that a choice loses, and the number of states whose choice is not the first of the best."""
    form = given.form
    value, _, policy, taken, chances = result.tables
    ages = 1 if given.horizon is None else given.horizon
    if given.horizon is None:
        value, policy = value[None], policy[None]
    worst, other = 0.0, 0
    for age in range(ages):
        V = value[age] if given.horizon is None else value[age + 1] if age + 1 < ages else start_of(given)
        found = bellman.swept(form, V, age)
        other += int((found.policy != policy[age]).sum())
        for d, one in enumerate(form.alternatives):
            if not isinstance(one, Branch):
                continue
            assert ((policy[age, d] < 0) == (found.policy[d] < 0)).all()
            own, rows = bellman.objectives(form, d, V, age), policy[age, d] >= 0
            ours = np.take_along_axis(own, np.maximum(policy[age, d], 0)[:, :, None], axis=2)[:, :, 0]
            worst = max(worst, float((found.values[d] - ours)[rows].max(initial=0.0)))
        if result.alternative is not None and not given.taste:
            choice = taken if given.horizon is None else taken[age]
            best = found.values[choice, np.arange(given.points)[:, None], np.arange(given.states)]
            worst = max(worst, float((found.value - best).max()))
            other += int((choice != found.choice).sum())
            probabilities = chances if given.horizon is None else chances[age]
            for d, one in enumerate(form.alternatives):
                np.testing.assert_array_equal(probabilities[d], choice[one.regime] == d)
    return worst, other


RANDOM = problem(300, 3)
PROBLEMS: dict[str, tuple[bl.Problem, dict[str, Any]]] = {
    "rough": (bl.rbc(grid=256), {"tol": 1e-4}),
    "fine": (bl.rbc(grid=1024), {"tol": 1e-6}),
    "kinked": (bl.aiyagari(grid=200, states=3).problem(0.03), {"tol": 1e-3}),
    "shift": (replace(RANDOM, beta=0.8), {"tol": 1e-2}),
    "warm": (RANDOM, {"tol": 1e-2, "method": "warm"}),
    "limit": (bl.rbc(grid=256), {"max_sweeps": 60, "method": "warm"}),
    "ages": (problem(40, 3, horizon=6), {}),
    "cost": (replace(bl.rbc(grid=200), cost=0.999 * bl.rbc(grid=200).grid), {"tol": 1e-3}),
    "alternatives": (firm(3), {"tol": 1e-2, "steps": 0}),
    "general ages": (career(3), {}),
    "emulator": (bl.rbc(grid=128), {"tol": 1e-3, "device": "emulator"}),
    "emulator, ages": (problem(40, 3, horizon=6), {"device": "emulator"}),
    "emulator, cost": (
        replace(bl.rbc(grid=64), cost=1.001 * bl.rbc(grid=64).grid),
        {"tol": 1e-3, "device": "emulator", "lanes": 4, "general": 1},
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_choices_of_a_verified_result_are_the_best_at_its_value(name: str) -> None:
    given, options = PROBLEMS[name]
    result = bl.solve(given, progress=False, **options)
    assert result.verified
    assert result.success == (name != "limit")
    worst, other = losses(given, result)
    assert worst <= TIED * np.abs(result.value).max()
    # Ties of computed objectives are rare.
    assert other <= 0.001 * result.policy.size


def test_without_verification_choices_are_those_of_the_last_sweep() -> None:
    """Otherwise the tests above would show nothing."""
    for given, tol in ((bl.rbc(grid=256), 1e-4), (bl.rbc(grid=1024), 1e-6)):
        result = bl.solve(given, tol=tol, verify=False, progress=False)
        assert losses(given, result)[1] > 10


@pytest.mark.parametrize("seed", range(3))
def test_actions_of_a_discrete_problem_are_the_best_at_its_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R, Q = rng.normal(size=(60, 20)), rng.dirichlet(np.full(60, 0.1), size=(60, 20))
    result = bl.solve(bl.from_discrete_dp(R=R, Q=Q, beta=0.95), tol=20.0, progress=False)
    objectives = R + 0.95 * Q @ result.value
    own = np.take_along_axis(objectives, result.policy[:, None], axis=1)[:, 0]
    assert result.verified
    assert (objectives.max(axis=1) - own).max() <= TIED * np.abs(result.value).max()
