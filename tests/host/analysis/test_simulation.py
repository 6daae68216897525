"""Paths, stationary distributions, moments and impulse responses, against dense linear algebra and plain loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.policy import refined
from beltline.host.analysis.stationary import _between_ends
from beltline.host.results.variables import variables
from support.fakes import problem


def solved(grid: int = 512, tol: float = 1e-8, **options: Any) -> bl.Result:
    return bl.solve(bl.rbc(grid=grid, **options), tol=tol, device="cpu", progress=False)


@pytest.fixture(scope="module")
def rbc() -> bl.Result:
    return solved()


@pytest.fixture(scope="module")
def small() -> bl.Result:
    """Return a model with depreciation and shocks so large that the policy changes even on a small grid."""
    return solved(60, states=3, delta=0.9, sigma=0.2, rho=0.5, width=1.5)


def chain(result: bl.Result) -> np.ndarray:
    """Return the transition matrix of the joint state, as a dense array."""
    given = result.problem
    size = given.points * given.states
    dense = np.zeros((size, size))
    for x in range(given.points):
        for s in range(given.states):
            for t in range(given.states):
                to = result.policy[x, s] * given.states + t
                dense[x * given.states + s, to] += given.transition[s, t]
    return dense


def dense_distribution(result: bl.Result) -> np.ndarray:
    values, vectors = np.linalg.eig(chain(result).T)
    assert (np.abs(values - 1) < 1e-9).sum() == 1
    vector = vectors[:, np.argmin(np.abs(values - 1))].real
    return (vector / vector.sum()).reshape(result.policy.shape)


def test_stationary_distribution_is_the_eigenvector(small: bl.Result) -> None:
    mass = bl.stationary_distribution(small)
    # The distributions from both starts agree to 1e-12; the eigenvector has rounding errors of its own.
    np.testing.assert_allclose(mass, dense_distribution(small), atol=1e-9)
    # As on a large grid.
    np.testing.assert_allclose(_between_ends(small.problem, small.policy), mass, atol=1e-9)
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(mass.sum(axis=0), chain_distribution(small.problem.transition), atol=1e-12)


def test_exact_moments_are_those_of_the_dense_chain(small: bl.Result) -> None:
    weights, dense = dense_distribution(small).ravel(), chain(small)
    found = bl.moments(small)
    assert found.names == ("output", "consumption", "investment", "capital", "productivity")
    given = small.problem
    k, z = np.repeat(given.grid, given.states), np.tile(given.shock_values, given.points)
    output = z * k**0.35
    series = {"output": output, "capital": k, "productivity": z}
    series["investment"] = small.choice.ravel() - (1 - 0.9) * k
    series["consumption"] = output - series["investment"]
    gap_y = output - weights @ output
    for name, values in series.items():
        mean = weights @ values
        gap = values - mean
        variance = weights @ gap**2
        assert found.mean[name] == pytest.approx(mean, rel=1e-8)
        assert found.std[name] == pytest.approx(np.sqrt(variance), rel=1e-7)
        assert found.autocorrelation[name] == pytest.approx(weights @ (gap * (dense @ gap)) / variance, abs=1e-7)
        with_output = weights @ (gap * gap_y) / np.sqrt(variance * (weights @ gap_y**2))
        assert found.correlation[name] == pytest.approx(with_output, abs=1e-7)


def test_simulated_moments_approach_the_exact_ones(small: bl.Result) -> None:
    exact, simulated = bl.moments(small), bl.moments(small, "simulation", periods=400_000)
    for name in exact.names:
        # 400,000 periods with a correlation below 0.9 are worth 20,000 independent ones: 1% exceeds their noise.
        assert simulated.mean[name] == pytest.approx(exact.mean[name], rel=0.01)
        assert simulated.std[name] == pytest.approx(exact.std[name], rel=0.02)
        assert simulated.autocorrelation[name] == pytest.approx(exact.autocorrelation[name], abs=0.01)
        assert simulated.correlation[name] == pytest.approx(exact.correlation[name], abs=0.01)


def test_simulated_moments_are_those_of_the_path(rbc: bl.Result) -> None:
    path = bl.simulate(rbc, periods=500, burn_in=10, seed=3)
    found = bl.moments(rbc, "simulation", periods=500, burn_in=10, seed=3)
    for name, series in path.series.items():
        assert found.mean[name] == pytest.approx(series.mean())
        assert found.std[name] == pytest.approx(series.std(), abs=1e-12)
    series, output = path.series["capital"], path.series["output"]
    assert found.correlation["capital"] == pytest.approx(np.corrcoef(series, output)[0, 1])
    gap = series - series.mean()
    assert found.autocorrelation["capital"] == pytest.approx((gap[1:] * gap[:-1]).sum() / (gap**2).sum())


def test_path_follows_policy_and_chain(rbc: bl.Result) -> None:
    path = bl.simulate(rbc, periods=4000, burn_in=0, seed=1, start=(3, 2))
    assert (path.points[0], path.states[0]) == (3, 2)
    draws = np.random.default_rng(1).random(4000)
    for t in range(3999):
        assert path.points[t + 1] == rbc.policy[path.points[t], path.states[t]]
        row = np.cumsum(rbc.problem.transition[path.states[t]])
        assert path.states[t + 1] == np.flatnonzero(draws[t] < row)[0]
    capital, productivity = path.series["capital"], path.series["productivity"]
    np.testing.assert_array_equal(capital, rbc.problem.grid[path.points])
    np.testing.assert_allclose(path.series["output"], productivity * capital**0.35, rtol=1e-15)
    spent = path.series["consumption"] + path.series["investment"]
    np.testing.assert_allclose(spent, path.series["output"], rtol=1e-14)
    accumulated = 0.99 * capital[:-1] + path.series["investment"][:-1]
    np.testing.assert_allclose(accumulated, capital[1:], rtol=1e-13)


def test_seed_and_burn_in(rbc: bl.Result) -> None:
    whole = bl.simulate(rbc, periods=300, burn_in=0, seed=5)
    later = bl.simulate(rbc, periods=200, burn_in=100, seed=5)
    np.testing.assert_array_equal(whole.points[100:], later.points)
    assert (bl.simulate(rbc, periods=300, burn_in=0, seed=6).states != whole.states).any()


def lotteries(result: bl.Result) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the dense transition matrix of the joint state for choices off the grid, and the tables of a period."""
    given = result.problem
    chosen = refined(given, result.value, result.policy)
    size = given.points * given.states
    dense = np.zeros((size, size))
    for x in range(given.points):
        for s in range(given.states):
            weights = np.zeros(given.points)
            upper = min(max(int(np.searchsorted(given.grid, chosen[x, s])), 1), given.points - 1)
            low, high = given.grid[upper - 1], given.grid[upper]
            weights[upper] = (chosen[x, s] - low) / (high - low)
            weights[upper - 1] = 1 - weights[upper]
            # The mean of the lottery over two grid points is the choice.
            assert weights @ given.grid == pytest.approx(chosen[x, s], rel=1e-14)
            dense[x * given.states + s] = np.outer(weights, given.transition[s]).ravel()
    assert given.output is not None
    consumption = given.wealth - chosen
    return dense, variables(given, consumption) | {"consumption": consumption, "investment": given.output - consumption}


@pytest.mark.parametrize(("state", "to"), [(None, None), (None, 2), (1, None), (2, 0)])
def test_impulse_response_is_that_of_the_dense_chain(small: bl.Result, state: int | None, to: int | None) -> None:
    response = bl.impulse_response(small, state, to, periods=12)
    assert (response.state, response.to) == (state, 2 if (state, to) == (1, None) else to)
    mass = dense_distribution(small)
    dense, tables = lotteries(small)
    begin = mass if state is None else np.where(np.arange(3) == state, mass, 0.0)
    begin = begin / begin.sum()
    shocked = np.zeros_like(begin)
    for s in range(3):
        shocked[:, min(s + 1, 2) if response.to is None else response.to] += begin[:, s]
    for now, paths in ((begin, response.baseline), (shocked, response.shocked)):
        flat = now.ravel()
        for t in range(12):
            for name in response.names:
                assert paths[name][t] == pytest.approx(flat @ tables[name].ravel(), rel=1e-8)
            flat = flat @ dense
    assert response.difference("capital")[0] == pytest.approx(0, abs=1e-12)
    percent = 100 * (response.shocked["output"] / response.baseline["output"] - 1)
    np.testing.assert_allclose(response.percent("output"), percent, atol=1e-12)


@pytest.mark.parametrize("grid", [256, 1024, 4096])
def test_default_response_is_no_staircase(grid: int) -> None:
    """The default response is smooth, although choices on the grid would move the mass by whole grid steps."""
    result = solved(grid)
    response = bl.impulse_response(result)
    investment, consumption, capital = map(response.percent, ("investment", "consumption", "capital"))
    # The largest fall in one period as a share of the whole fall; an even fall would have 1 / 199.
    assert (np.diff(investment) < 0).all()
    assert -np.diff(investment).min() < 0.04 * np.ptp(investment)
    # Consumption rises to a single peak that is below that of output; the response of capital starts at 0.
    peak = int(consumption.argmax())
    assert (np.diff(consumption[: peak + 1]) > 0).all()
    assert (np.diff(consumption[peak:]) < 0).all()
    assert consumption[0] < response.percent("output")[0] < investment[0]
    assert abs(capital[0]) < 1e-10


def test_default_response_settles_as_the_grid_gets_finer() -> None:
    fine, *coarse = (bl.impulse_response(solved(grid)).percent("investment") for grid in (16_384, 4096, 1024, 256))
    gaps = [float(np.abs(each - fine).max() / np.ptp(fine)) for each in coarse]
    assert gaps == sorted(gaps)
    assert gaps[0] < 0.01


def test_impulse_response_dies_out(small: bl.Result) -> None:
    for state in (2, None):
        response = bl.impulse_response(small, state=state, to=0, periods=200)
        assert response.percent("productivity")[0] < -10
        for name in response.names:
            assert abs(response.percent(name)[-1]) < 1e-6


def test_reports(rbc: bl.Result) -> None:
    moments, response = str(bl.moments(rbc)).splitlines(), str(bl.impulse_response(rbc)).splitlines()
    assert moments[0] == "Moments of RBC, 512 grid points x 4 states"
    assert " ".join(moments[1].split()) == "mean standard dev. autocorrelation with output"
    assert moments[-1].strip() == "Exact: expectations under the stationary distribution of the policy on the grid."
    simulated = repr(bl.moments(rbc, "simulation", periods=1000, seed=7)).splitlines()
    assert simulated[-1].strip() == "Simulated: 1,000 periods after 1,000 that were dropped, seed 7."
    assert response[0] == "Response to one state up in productivity z of RBC, 512 grid points x 4 states"
    stepped = str(bl.impulse_response(rbc, state=1)).splitlines()
    assert stepped[0] == "Response to a change from z = 0.9841 to z = 1.0161 of RBC, 512 grid points x 4 states"
    assert " ".join(response[1].split()) == "period 0 1 4 8 20 40 80 160"
    assert response[5].split()[:2] == ["capital", "0.000%"]


def test_without_output_and_shock_values() -> None:
    given = bl.rbc(grid=256, states=3, delta=0.9, sigma=0.2, rho=0.5)
    plain = replace(given, output=None, shock_values=None, asset="x", shock="s", labels=())
    result = bl.solve(plain, tol=1e-8, device="cpu", progress=False)
    found = bl.moments(result)
    assert found.names == ("consumption", "x")
    assert found.reference == "consumption"
    assert found.correlation["consumption"] == pytest.approx(1)
    assert bl.impulse_response(result).title.startswith("Response to one state up in s of RBC")
    assert bl.impulse_response(result, 1).title.startswith("Response to a change from state 1 to state 2 of RBC")


def test_what_does_not_move_has_no_correlation() -> None:
    found = bl.moments(solved(65, states=1, delta=1.0))
    assert found.std["productivity"] == found.std["capital"] == 0
    assert np.isnan(found.autocorrelation["capital"])
    assert np.isnan(found.correlation["output"])
    assert str(found).splitlines()[2].split()[-2:] == ["-", "-"]


def test_long_run_that_depends_on_the_start() -> None:
    sentence = (
        "on this grid of 16 points the long run depends on the start: the mean of capital k is {} from the lowest "
        "point and {} from the highest, so use a finer grid"
    )
    pattern = "^" + sentence.format(r"4\d\.\d+", r"60\.\d+") + "$"
    with pytest.raises(bl.ProblemError, match=pattern):
        bl.stationary_distribution(solved(16))


def test_chain_of_separate_groups() -> None:
    given = replace(bl.rbc(grid=64, states=2), transition=np.eye(2))
    result = bl.solve(given, tol=1e-6, device="cpu", progress=False)
    sentence = "transition has more than one stationary distribution: its states fall into separate groups"
    with pytest.raises(bl.ProblemError, match="^" + sentence + "$"):
        bl.stationary_distribution(result)


def test_state_that_is_left_for_good() -> None:
    given = replace(bl.rbc(grid=64, states=2, delta=0.9), transition=np.array([[0.5, 0.5], [0.0, 1.0]]))
    result = bl.solve(given, tol=1e-6, device="cpu", progress=False)
    sentence = "state 0 has probability 0 in the stationary distribution: the chain leaves it and never returns"
    with pytest.raises(bl.ProblemError, match="^" + sentence + "$"):
        bl.impulse_response(result, state=0)


def test_one_state_has_no_impulse() -> None:
    sentence = "an impulse response needs at least 2 exogenous states, and this problem has 1"
    with pytest.raises(bl.ProblemError, match="^" + sentence + "$"):
        bl.impulse_response(solved(64, states=1))


def test_horizon_is_refused() -> None:
    result = bl.solve(problem(16, 2, horizon=3), device="cpu", progress=False)
    for call, what in (
        (bl.simulate, "a simulation"),
        (bl.stationary_distribution, "a stationary distribution"),
        (bl.moments, "a table of moments"),
        (bl.impulse_response, "an impulse response"),
    ):
        sentence = f"{what} needs an infinite horizon, and this problem has 3 ages"
        with pytest.raises(bl.ProblemError, match="^" + sentence + "$"):
            call(result)


def test_unsolved_result_is_reported() -> None:
    result = bl.solve(bl.rbc(grid=256), tol=1e-8, max_sweeps=3, device="cpu", progress=False)
    assert not result.success
    for call, what in (
        (bl.simulate, "a simulation"),
        (bl.moments, "a table of moments"),
        (bl.impulse_response, "an impulse response"),
    ):
        with pytest.warns(UserWarning, match=f"^{what} of a result that is not solved: sweep limit reached$") as lines:
            found = call(result)
        assert len(lines) == 1
        assert lines[0].filename == __file__
    assert str(found).splitlines()[0].endswith("(sweep limit reached)")


def test_state_without_a_choice_is_refused(rbc: bl.Result) -> None:
    policy = rbc.policy.copy()
    policy[4, 1] = -1
    infeasible = replace(rbc, policy=policy, success=False, status="infeasible")
    sentence = "a simulation needs a choice in every state, and this result is infeasible"
    with pytest.raises(bl.ProblemError, match="^" + sentence + "$"):
        bl.simulate(infeasible)
