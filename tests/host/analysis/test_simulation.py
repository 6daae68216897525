"""Paths, stationary distributions, moments and impulse responses, against dense linear algebra and plain loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.analysis.chain import chain_distribution
from beltline.host.analysis.long_run import stationary_of
from beltline.host.analysis.policy import policy_of
from beltline.host.analysis.stationary import stationary_mass
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


@pytest.fixture(params=["grid", "continuous"])
def choices(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def chosen(result: bl.Result, choices: str) -> np.ndarray:
    return result.choice if choices == "grid" else bl.refine(result).choice


def chain(result: bl.Result, choices: str) -> np.ndarray:
    """Return the transition matrix of the joint state, as a dense array."""
    given, choice = result.problem, chosen(result, choices)
    size = given.points * given.states
    dense = np.zeros((size, size))
    for x in range(given.points):
        for s in range(given.states):
            weights = np.zeros(given.points)
            upper = min(max(int(np.searchsorted(given.grid, choice[x, s])), 1), given.points - 1)
            low, high = given.grid[upper - 1], given.grid[upper]
            weights[upper] = (choice[x, s] - low) / (high - low)
            weights[upper - 1] = 1 - weights[upper]
            # The mean of the lottery over two grid points is the choice.
            assert weights @ given.grid == pytest.approx(choice[x, s], rel=1e-14)
            dense[x * given.states + s] = np.outer(weights, given.transition[s]).ravel()
    return dense


def dense_distribution(result: bl.Result, choices: str) -> np.ndarray:
    values, vectors = np.linalg.eig(chain(result, choices).T)
    assert (np.abs(values - 1) < 1e-9).sum() == 1
    vector = vectors[:, np.argmin(np.abs(values - 1))].real
    return (vector / vector.sum()).reshape(result.policy.shape)


def tables_of(result: bl.Result, choices: str) -> dict[str, np.ndarray]:
    given = result.problem
    consumption = given.wealth - chosen(result, choices)
    assert given.output is not None
    return variables(given, consumption) | {"consumption": consumption, "investment": given.output - consumption}


def test_stationary_distribution_is_the_eigenvector(small: bl.Result, choices: str) -> None:
    mass = bl.stationary_distribution(small, choices)
    # The last pass moves less than 1e-13; the eigenvector has rounding errors of its own.
    np.testing.assert_allclose(mass, dense_distribution(small, choices), atol=1e-9)
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(mass.sum(axis=0), chain_distribution(small.problem.transition), atol=1e-12)


def test_passes_end_where_linear_equations_do() -> None:
    """Also with alternatives, regimes and taste shocks, for which the order of the grid says less."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        result = bl.solve(of_two_kinds(rng, taste=0.1 * (seed % 2)), progress=False)
        policy = policy_of(bl.refine(result))
        solved_by_elimination, unique = stationary_of(policy.matrix())
        if unique:
            assert solved_by_elimination is not None
            found = stationary_mass(policy)
            np.testing.assert_allclose(found.ravel(), solved_by_elimination, atol=1e-11)
            np.testing.assert_allclose(policy.forward(found), found, atol=1e-13)


def of_two_kinds(rng: np.random.Generator, taste: float) -> bl.Problem:
    """Return a problem of people with and without work, who may lose and look for it."""
    grid, states = bl.grid_polynomial(0.0, 8.0, 40, 2.0), 3
    transition = rng.dirichlet(np.ones(states), states)
    income = rng.uniform(0.5, 1.5, states)
    rest = 1.01 * grid[:, None] + np.full(states, 0.3)
    return bl.Problem(
        grid=grid, wealth=rest, transition=transition / transition.sum(axis=1, keepdims=True), beta=0.93, eta=1.5,
        taste=taste,
        alternatives=[
            bl.Alternative(name="work", regime="job", leads_to={"job": 0.9, "none": 0.1}, wealth=rest + income,
                           kappa=-0.2),
            bl.Alternative(name="quit", regime="job", leads_to="none"),
            bl.Alternative(name="search", regime="none", leads_to={"job": 0.5, "none": 0.5}, kappa=-0.05),
            bl.Alternative(name="rest", regime="none", leads_to="none"),
        ],
    )  # fmt: skip


def test_exact_moments_are_those_of_the_dense_chain(small: bl.Result, choices: str) -> None:
    weights, dense = dense_distribution(small, choices).ravel(), chain(small, choices)
    found = bl.moments(small, choices=choices, of={"log k": lambda known: np.log(known["capital"])})
    assert found.names == ("output", "consumption", "investment", "capital", "productivity", "log k")
    given = small.problem
    k, z = np.repeat(given.grid, given.states), np.tile(given.shock_values, given.points)
    output = z * k**0.35
    series = {"output": output, "capital": k, "productivity": z, "log k": np.log(k)}
    series["investment"] = chosen(small, choices).ravel() - (1 - 0.9) * k
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


def test_another_chain_that_really_happens(small: bl.Result) -> None:
    """Moments under ``physical`` are those of the problem's policy with that chain, which makes no choices."""
    happens = np.array([[0.2, 0.5, 0.3], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2]])
    dense = np.zeros((180, 180))
    for x in range(60):
        for s in range(3):
            dense[3 * x + s, 3 * small.policy[x, s] : 3 * small.policy[x, s] + 3] = happens[s]
    weights = np.full(180, 1 / 180) @ np.linalg.matrix_power(dense, 2000)
    mass = bl.stationary_distribution(small, "grid", happens)
    np.testing.assert_allclose(mass.ravel(), weights, atol=1e-12)
    mean = bl.moments(small, choices="grid", physical=happens).mean["capital"]
    assert mean == pytest.approx(weights @ np.repeat(small.problem.grid, 3), rel=1e-12)
    assert bl.moments(small, choices="grid").mean["capital"] != pytest.approx(mean, rel=1e-3)
    path = bl.simulate(small, agents=4000, periods=40, physical=happens, choices="grid")
    assert path.series["capital"].mean() == pytest.approx(mean, rel=0.01)
    with pytest.raises(bl.ProblemError, match="^rows of physical must be probabilities that sum to 1, but row 0 sums"):
        bl.moments(small, physical=happens * 2)


def test_variables_that_are_none_are_refused(small: bl.Result) -> None:
    for of, sentence in (
        ({"a": lambda known: known["nothing"]}, "there is no variable 'nothing': there are 'output', 'consumption', "),
        ({"a": np.ones(3)}, r"of\['a'\] must have shape \(60, 3\), or that of what its function gets, not \(3,\)"),
        ({"a": np.full((60, 3), np.nan)}, r"of\['a'\] must be finite, but its value\[0, 0, 0\] is nan"),
        (3, "of must be a mapping of names to functions or arrays, not 3"),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{sentence}"):
            bl.moments(small, of=of)  # type: ignore[arg-type]
    with pytest.raises(bl.ProblemError, match="^choices is for a Problem: a model of class Aiyagari has its own$"):
        bl.solve(bl.aiyagari(grid=30), choices="continuous")
    with pytest.raises(bl.ProblemError, match="^agents must be a whole number from 1 to "):
        bl.simulate(small, agents=0)


def test_a_panel_has_the_stationary_distribution(small: bl.Result) -> None:
    """Many people who begin in the long run stay in it, and each moves by the lottery of a choice."""
    panel = bl.simulate(small, agents=20_000, periods=8, seed=4)
    assert panel.points.shape == panel.series["capital"].shape == (20_000, 8)
    exact = bl.moments(small)
    for name, table in panel.series.items():
        error = exact.std[name] / np.sqrt(20_000)
        assert np.abs(table.mean(axis=0) - exact.mean[name]).max() < 5 * error
    choice = bl.refine(small).choice[panel.points, panel.states]
    ahead = small.problem.grid[panel.points[:, 1:]]
    assert np.abs(ahead - choice[:, :-1]).max() < np.diff(small.problem.grid).max()
    assert (ahead - choice[:, :-1]).mean() == pytest.approx(0.0, abs=1e-4)
    frame = panel.to_frame()
    assert frame.shape == (160_000, 11)
    np.testing.assert_array_equal(frame["capital"].to_numpy().reshape(panel.points.shape), panel.series["capital"])


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
        batches = series.reshape(20, 25).mean(axis=1)
        assert found.error[name] == pytest.approx(batches.std(ddof=1) / np.sqrt(20))
    series, output = path.series["capital"], path.series["output"]
    assert found.correlation["capital"] == pytest.approx(np.corrcoef(series, output)[0, 1])
    gap = series - series.mean()
    assert found.autocorrelation["capital"] == pytest.approx((gap[1:] * gap[:-1]).sum() / (gap**2).sum())


def test_path_follows_policy_and_chain(rbc: bl.Result) -> None:
    path = bl.simulate(rbc, periods=4000, burn_in=0, seed=1, start=(3, 2), choices="grid")
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


@pytest.mark.parametrize(("state", "to"), [(None, None), (None, 2), (1, None), (2, 0)])
def test_impulse_response_is_that_of_the_dense_chain(
    small: bl.Result, state: int | None, to: int | None, choices: str
) -> None:
    response = bl.impulse_response(small, state, to, periods=12, choices=choices)
    assert (response.state, response.to) == (state, 2 if (state, to) == (1, None) else to)
    mass = dense_distribution(small, choices)
    dense, tables = chain(small, choices), tables_of(small, choices)
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
    assert max(gaps) < 1e-3


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
    exact = "Exact: expectations under the stationary distribution, choices between grid points."
    assert moments[-1].strip() == exact
    assert str(bl.moments(rbc, choices="grid")).splitlines()[-1].strip() == exact.replace(
        "between grid", "on the grid"
    ).replace("grid points.", "grid.")
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
    found = bl.moments(solved(65, states=1, delta=1.0), choices="grid")
    assert found.std["productivity"] == found.std["capital"] == 0
    assert np.isnan(found.autocorrelation["capital"])
    assert np.isnan(found.correlation["output"])
    assert str(found).splitlines()[2].split()[-2:] == ["-", "-"]


def test_long_run_that_depends_on_the_start() -> None:
    """On a coarse grid people stay at several points; between them the long run is unique."""
    result = solved(16)
    sentence = "the long run depends on the start: several groups of states are never left; use a finer grid"
    with pytest.raises(bl.ProblemError, match="^" + sentence + "$"):
        bl.stationary_distribution(result, "grid")
    assert bl.moments(result).mean["capital"] == pytest.approx(bl.moments(solved(2048)).mean["capital"], rel=1e-3)


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
        (bl.stationary_distribution, "a stationary distribution"),
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
