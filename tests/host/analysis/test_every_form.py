"""The tools after a solve take results of every form of a problem: costs, alternatives, regimes, ages, programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from support.alternatives import with_alternatives
from support.costs import with_cost

Array = Any


def solved(problem: Any, **options: Any) -> bl.Result:
    result: bl.Result = bl.solve(problem, progress=False, **options)
    assert result.success
    return result


def dense(result: bl.Result) -> tuple[Array, Array]:
    """Return the Markov matrix of the pairs of state and alternative, and consumption in them; loops over all."""
    problem, tables = result.problem, result.tables
    branches = problem.form.alternatives
    regimes, points, states = tables.value.shape
    size = (len(branches), points, states)
    step, consumption = np.zeros((*size, *size)), np.zeros(size)
    for d, branch in enumerate(branches):
        for x in range(points):
            for s in range(states):
                chosen = tables.policy[d, x, s]
                if chosen < 0:
                    continue
                consumption[d, x, s] = branch.wealth[x, s] - branch.cost[chosen, s]
                for r in range(regimes):
                    for t in range(states):
                        for e, other in enumerate(branches):
                            if other.regime == r:
                                chance = branch.mix[r] * branch.transition[s, t] * tables.probabilities[e, chosen, t]
                                step[d, x, s, e, chosen, t] += chance
    count = int(np.prod(size))
    return step.reshape(count, count), consumption


@pytest.fixture(scope="module", params=["costs", "retirement", "default", "taste"])
def result(request: pytest.FixtureRequest) -> bl.Result:
    if request.param == "costs":
        return solved(with_cost("jumps", 3, 20))
    if request.param == "taste":
        return solved(replace(with_alternatives("retirement", 3, 20), taste=0.2))
    return solved(with_alternatives(request.param, 5, 20))


def test_a_cost_that_is_the_choice_itself_changes_nothing() -> None:
    problem = bl.rbc(grid=64)
    plain = solved(problem)
    for cost in (problem.grid, np.repeat(problem.grid[:, None], 4, 1)):
        found = solved(replace(problem, cost=cost))
        assert not found.problem.general
        assert (found.value.tobytes(), found.policy.tobytes()) == (plain.value.tobytes(), plain.policy.tobytes())
        assert bl.moments(found).mean == bl.moments(plain).mean


def test_shapes_and_names(result: bl.Result) -> None:
    problem = result.problem
    here = (problem.points, problem.states)
    regimes = len(problem.regimes)
    shape = here if regimes == 1 else (regimes, *here)
    assert result.value.shape == result.policy.shape == result.choice.shape == result.consumption.shape == shape
    assert set(result.by_alternative) == set(result.alternatives)
    for name, one in result.by_alternative.items():
        assert one.value.shape == one.policy.shape == one.probability.shape == result.taken(name).shape == here
    best = np.stack([one.value for one in result.by_alternative.values()])
    if result.alternative is None:
        assert (best[0] == result.value).all()
        return
    for r, regime in enumerate(problem.regimes):
        own = [d for d, one in enumerate(problem.alternatives) if one.regime == regime]
        taken = (result.alternative if regimes == 1 else result.alternative[r])[..., None]
        assert (np.array(own)[best[own].argmax(axis=0)] == taken[..., 0]).all()


def test_long_run_and_moments_are_those_of_the_dense_chain(result: bl.Result) -> None:
    step, consumption = dense(result)
    tables, branches = result.tables, result.problem.form.alternatives
    ends = any(((tables.policy[d] < 0) & (tables.probabilities[d] > 0)).any() for d in range(len(branches)))
    if ends:
        with pytest.raises(bl.ProblemError, match="ends the problem"):
            bl.stationary_distribution(result, "grid")
        return
    values, vectors = np.linalg.eig(step.T)
    unit = np.flatnonzero(np.abs(values - 1) < 1e-9)
    if unit.size > 1:
        with pytest.raises(bl.ProblemError, match="depends on the start"):
            bl.stationary_distribution(result, "grid")
        return
    mass = np.real(vectors[:, unit[0]])
    mass /= mass.sum()
    by_state = np.zeros(tables.value.shape)
    for d, branch in enumerate(branches):
        by_state[branch.regime] += mass.reshape(consumption.shape)[d]
    assert bl.stationary_distribution(result, "grid") == pytest.approx(by_state.reshape(result.value.shape), abs=1e-9)
    found = bl.moments(result, choices="grid")
    flat = consumption.ravel()
    mean = mass @ flat
    assert found.mean["consumption"] == pytest.approx(mean, rel=1e-9)
    assert found.std["consumption"] == pytest.approx(np.sqrt(mass @ (flat - mean) ** 2), rel=1e-6)
    ahead = mass @ ((flat - mean) * (step @ (flat - mean)))
    assert found.autocorrelation["consumption"] == pytest.approx(ahead / found.std["consumption"] ** 2, rel=1e-6)
    path = bl.simulate(result, 40_000, choices="grid")
    assert path.series["consumption"].mean() == pytest.approx(mean, abs=0.05 * abs(mean) + 0.02)
    if result.problem.states > 1:
        response = bl.impulse_response(result, periods=5, choices="grid")
        assert response.baseline["consumption"] == pytest.approx(np.full(5, mean), rel=1e-9)
    assert 0 <= bl.gini(replace(result, problem=replace(result.problem, grid=result.problem.grid + 10.0))) < 1
    assert result.transitions().shape == (result.value.size, result.value.size)
    assert np.asarray(result.transitions().sum(axis=1)) == pytest.approx(1)


def test_lives_with_alternatives_and_income_by_age() -> None:
    grid, wage = np.linspace(0.0, 6.0, 40), np.array([1.0, 2.0, 1.5, 0.5])
    wealth = 1.02 * grid[None, :, None] + wage[:, None, None] * np.array([0.8, 1.2])
    problem = bl.Problem(
        grid=grid, wealth=wealth, transition=[[0.9, 0.1], [0.1, 0.9]], start=np.zeros((40, 2)), beta=0.95, eta=2.0,
        horizon=4,
    )  # fmt: skip
    result = solved(problem)
    lives = bl.life_paths(result, people=500, choices="grid")
    assert lives.points.shape == (500, 4)
    spent = lives.series["consumption"]
    for age in range(4):
        x, s = lives.points[:, age], lives.states[:, age]
        chosen = result.policy[age, x, s]
        assert spent[:, age] == pytest.approx(wealth[age, x, s] - grid[chosen])
        if age < 3:
            assert (lives.points[:, age + 1] == chosen).all()
    retiring = solved(with_alternatives("retirement", 3, 20, horizon=5))
    lives = bl.life_paths(retiring, people=200, choices="grid")
    regime = np.array([retiring.problem.regimes.index(one.regime) for one in retiring.problem.alternatives])
    there = lives.points >= 0
    assert (regime[lives.alternatives[there]] == lives.regimes[there]).all()
    age, person = 1, np.flatnonzero(there[:, 1])
    at = (lives.alternatives[person, age], lives.points[person, age], lives.states[person, age])
    assert (retiring.tables.probabilities[age][at] > 0).all()


def test_a_discrete_program_has_a_long_run() -> None:
    reward, chance = [[5, 10], [-1, -np.inf]], [[(0.5, 0.5), (0, 1)], [(0.25, 0.75), (0.5, 0.5)]]
    result = solved(bl.from_discrete_dp(reward, chance, 0.95))
    step = result.transitions().toarray()
    mass = bl.stationary_distribution(result)
    assert mass @ step == pytest.approx(mass)
    for call in (bl.moments, bl.simulate, bl.gini, bl.euler_errors, bl.refine):
        with pytest.raises(bl.ProblemError, match="discrete"):
            call(result)
    # A third state without an action is not in the long run, and no age has one.
    wider = np.zeros((3, 2, 3))
    wider[:2, :, :2], wider[2] = chance, np.eye(3)[2]
    wide = [*reward, [-np.inf, -np.inf]], wider, 0.95
    np.testing.assert_array_equal(bl.stationary_distribution(solved(bl.from_discrete_dp(*wide))), [*mass, 0.0])
    with pytest.raises(bl.ProblemError, match="a Markov matrix needs an infinite horizon, and this problem has 2 ages"):
        bl.stationary_distribution(solved(bl.from_discrete_dp(*wide, horizon=2)))


def test_figures_of_every_form(result: bl.Result) -> None:
    several = len(result.regimes) > 1
    for kind, sentence in (("policy", ""), ("consumption", "is for one regime" if several else "")):
        if sentence:
            with pytest.raises(bl.ProblemError, match=sentence):
                result.plot(kind=kind)
        else:
            assert result.plot(kind=kind).axes
    assert result.plot().axes
    refined = bl.refine(result)
    assert set(refined.to_xarray().data_vars) >= {"refined_choice", "refined_value", "lower", "upper"}
    assert "between grid points of" in str(refined)
    if several:
        with pytest.raises(bl.ProblemError, match="is for one regime"):
            refined.plot()
    else:
        assert refined.plot().axes


def test_first_order_conditions_name_what_is_in_the_way(result: bl.Result) -> None:
    sentence = "^an Euler equation error needs a single choice of x' that costs x', and .* has "
    with pytest.raises(bl.ProblemError, match=sentence):
        bl.euler_errors(result)
