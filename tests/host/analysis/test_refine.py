"""Choices between grid points: against closed forms, dense meshes, and finer grids of the same problem."""

from __future__ import annotations

import gc
import itertools
import re
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

import beltline as bl
from beltline.gpu_ref.utility import crra_utility
from beltline.host.analysis.between import Between, monotone_cubics, straight
from beltline.host.analysis.cells import best_in_cell
from beltline.host.analysis.grid_error import bounds, concave_wealth
from beltline.host.analysis.refine import answer_of
from docs.tables.refine import closed, savings
from support.random_problems import random_problem

Array = NDArray[np.float64]


def solved(problem: bl.Problem, tol: float = 1e-10) -> bl.Result:
    result = bl.solve(problem, tol=tol, device="cpu", method="warm", progress=False)
    assert result.success, result.message
    return result


def brock_mirman(problem: bl.Problem) -> Array:
    """Return the value of the policy ``k' = alpha beta z k**alpha``: ``E(s) + alpha / (1 - alpha beta) ln k``."""
    alpha, beta = problem.parameters["alpha"], problem.beta
    assert problem.shock_values is not None
    log_z, slope = np.log(problem.shock_values), alpha / (1 - alpha * beta)
    flow = np.log(1 - alpha * beta) + log_z + beta * slope * (np.log(alpha * beta) + log_z)
    constant = np.linalg.solve(np.eye(problem.states) - beta * problem.transition, flow)
    return np.asarray(constant + slope * np.log(problem.grid)[:, None])


def drawn(rng: np.random.Generator, points: int, states: int, jumps: bool = True) -> bl.Problem:
    """Return a problem with an uneven grid, kinks and jumps in wealth, and a start that is not concave and may fall."""
    grid = np.cumsum(rng.exponential(1.0, points)) / points
    wealth = grid[0] + 0.02 + np.cumsum(rng.exponential(1.0, (points, states)) ** (3 if jumps else 1), axis=0) / points
    value = np.cumsum(rng.normal(0.6, 1.0, (points, states)) * rng.exponential(1.0, (points, 1)), axis=0)
    transition = rng.dirichlet(np.ones(states), states)
    eta = float(rng.choice([0.3, 1.0, 2.0, 5.5]))
    return bl.Problem(
        grid=grid, wealth=wealth, transition=transition / transition.sum(axis=1, keepdims=True),
        start=rng.choice([0.05, 1.0, 20.0]) * value / points, beta=0.9, eta=eta,
    )  # fmt: skip


@pytest.mark.parametrize("pieces", ["cubics", "lines"])
@pytest.mark.parametrize("seed", range(30))
def test_choices_are_the_best_of_a_dense_mesh(seed: int, pieces: str) -> None:
    """None of 400 points per cell is better than a choice, whose value is right, both by SciPy's interpolation."""
    problem = drawn(np.random.default_rng(seed), points=9 + seed % 14, states=1 + seed % 3)
    operator = Between(problem, pieces=monotone_cubics if pieces == "cubics" else straight)
    found = operator.improve(problem.start[None])
    value, choice = found.value[0], found.choice[0]
    grid, ahead = problem.grid, problem.beta * problem.start @ problem.transition.T
    mesh = np.unique(np.concatenate([np.linspace(a, b, 401) for a, b in itertools.pairwise(grid)]))
    assert (np.diff(choice, axis=0) >= -1e-9).all()
    assert ((choice >= grid[0]) & (choice <= grid[-1]) & (choice < problem.wealth)).all()
    for s in range(problem.states):
        ev = (
            PchipInterpolator(grid, ahead[:, s])
            if pieces == "cubics"
            else lambda y, s=s: np.interp(y, grid, ahead[:, s])
        )
        size = np.abs(ahead[:, s]).max() + 1.0
        for x in range(problem.points):
            best = (crra_utility(problem.wealth[x, s] - mesh, problem.eta) + ev(mesh)).max()
            own = float(crra_utility(problem.wealth[x, s] - choice[x, s], problem.eta) + ev(choice[x, s]))
            scale = size + abs(own)
            assert value[x, s] == pytest.approx(own, abs=1e-12 * scale)
            assert value[x, s] >= best - 1e-12 * scale


@pytest.mark.parametrize("seed", range(48))
def test_choices_of_alternatives_are_the_best_of_a_dense_mesh(seed: int) -> None:
    """Also with costs that rise and fall, bounds, another chain and discount factor, and linear utility."""
    rng = np.random.default_rng(seed)
    given = drawn(rng, points=9 + seed % 7, states=1 + seed % 3)
    if seed % 3 == 2:
        # Neither the cost nor what follows rises: choices need not.
        given = replace(given, start=given.start[::-1])
    low = np.sort(rng.integers(0, 3, given.points))
    chain = rng.dirichlet(np.ones(given.states), given.states)
    linear = seed % 4 == 3
    cost = given.grid + (0.3 + seed % 5) * rng.normal(size=given.points).cumsum() / given.points
    problem = replace(
        given, eta=0.0 if linear else given.eta, negative=linear, taste=0.3 * (seed % 2),
        alternatives=[
            bl.Alternative(name="first", cost=cost),
            bl.Alternative(name="second", low=np.repeat(low[:, None], given.states, 1), high=given.points - 2,
                           transition=chain / chain.sum(axis=1, keepdims=True), beta=0.8, kappa=-0.1,
                           wealth=given.wealth + given.grid[-1]),
            bl.Alternative(name="third", value=np.full(given.wealth.shape, -1e3)),
        ],
    )  # fmt: skip
    value = problem.start[None]
    found, grid = Between(problem).improve(value), problem.grid
    mesh = np.unique(np.concatenate([np.linspace(a, b, 201) for a, b in itertools.pairwise(grid)]))
    for d, one in enumerate(problem.form.alternatives[:2]):
        tables: Any = one.at()
        ahead = tables.beta * (problem.start @ tables.transition.T) + tables.kappa
        for s, x in itertools.product(range(problem.states), range(problem.points)):
            ev = PchipInterpolator(grid, ahead[:, s])

            def objective(y: Array, ev: Any = ev, tables: Any = tables, x: int = x, s: int = s) -> Array:
                spent = tables.wealth[x, s] - np.interp(y, grid, tables.cost[:, s])
                return np.asarray((spent if linear else crra_utility(spent, problem.eta)) + ev(y))

            # Of a cell whose lower point cannot be afforded only the other point is a choice, if its cost is lower.
            room = linear | (tables.wealth[x, s] > tables.cost[:, s])
            open_ = room[np.maximum(np.searchsorted(grid, mesh, "right") - 1, 0)] | np.isin(mesh, grid)
            inside = mesh[(mesh >= grid[tables.low[x, s]]) & (mesh <= grid[tables.high[x, s]]) & open_]
            best, own = objective(inside).max(), found.values[d, x, s]
            scale = np.abs(ahead).max() + 1.0 + np.abs(own if np.isfinite(own) else 0.0)
            if np.isfinite(own):
                assert own == pytest.approx(float(objective(found.choice[d, x, s])), abs=1e-11 * scale)
                assert grid[tables.low[x, s]] - 1e-12 <= found.choice[d, x, s] <= grid[tables.high[x, s]] + 1e-12
            assert own >= best - 1e-11 * scale
    total = found.probability.sum(axis=0)
    assert total == pytest.approx(np.ones(total.shape))


def test_a_result_is_refined_once_and_then_forgotten() -> None:
    """Several analyses share one refinement, which does not keep the result in memory."""
    result = solved(savings(60))
    first, again = answer_of(result, None), answer_of(result, None)
    assert first.policies is again.policies
    assert answer_of(first, "grid") is result
    gone = weakref.ref(result)
    del result, first, again
    gc.collect()
    assert gone() is None


def test_values_too_large_for_the_tolerance_converge_to_rounding() -> None:
    given = savings(60)
    problem = replace(given, grid=given.grid * 1e-8, wealth=given.wealth * 1e-8)
    result = bl.solve(problem, progress=False)
    assert np.abs(result.value).max() > 1e8
    found = bl.refine(result, tol=1e-12)
    assert found.success == result.success
    assert found.change <= found.tol


@pytest.mark.parametrize(("room", "inside"), [(2.0, 1), (1.05, 2)])
def test_two_peaks_of_one_cell_are_both_looked_at(room: float, inside: int) -> None:
    """If ``EV`` rises, falls and rises steeply in a cell, the higher of the two peaks is found, whichever it is."""
    sides = set()
    for cube in (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0):
        value, at = best_in_cell(room, 1.0, 1.0, 1.0, 0.0, 1.5, -6.0, cube)
        t = np.linspace(0.0, 1.0, 100_001)
        objective = np.log(room - t) + t * (1.5 + t * (-6.0 + t * cube))
        assert objective.max() <= value <= objective.max() + 1e-8
        assert np.log(room - at) + at * (1.5 + at * (-6.0 + at * cube)) == pytest.approx(value, abs=1e-14)
        peaks = np.flatnonzero((objective[1:-1] > objective[:-2]) & (objective[1:-1] >= objective[2:])).size
        if peaks == inside and (inside == 2 or objective[-1] > objective[-2]):
            sides.add(at > 0.5)
    assert sides == {False, True}, "both peaks must have been the better one"


@pytest.mark.parametrize("eta", [0.4, 1.0, 3.0])
def test_a_choice_is_affordable_where_everything_is_saved(eta: float) -> None:
    """If the continuation value is so steep that nearly everything is saved, the choice is still affordable."""
    grid = np.linspace(0.0, 1.0, 21)
    problem = bl.Problem(
        grid=grid, wealth=grid[:, None] + 1e-9, transition=np.eye(1), start=1e12 * grid[:, None], beta=0.9, eta=eta
    )
    found = Between(problem).improve(problem.start[None])
    assert (problem.wealth - found.choice > 0).all()
    assert np.isfinite(found.value).all()


def test_closed_form() -> None:
    """With log utility and full depreciation, consumption is far closer to its known share than on the grid."""
    off = []
    for points in (65, 257):
        problem = closed(points)
        result = solved(problem)
        found = bl.refine(result)
        exact = (1 - problem.parameters["alpha"] * problem.beta) * problem.output
        off.append(np.abs(found.consumption / exact - 1).mean())
        stairs = np.abs((problem.wealth - result.choice) / exact - 1).mean()
        assert found.success
        assert found.status == "converged"
        assert stairs > 100 * off[-1]
        # The bounds hold for the value in closed form, and are of the right order.
        true = brock_mirman(problem)
        assert found.proof == "concave"
        assert (found.lower <= true).all()
        assert (true <= found.upper).all()
        assert np.abs(found.value - true).max() <= found.value_error
        assert np.abs(result.value - true).max() <= found.grid_error <= 15 * np.abs(result.value - true).max()
    assert off[0] > 10 * off[1], "a step of a quarter must cut the error by more than 10"


def test_bounds_close_with_the_square_of_the_step() -> None:
    widths = []
    for points in (65, 257, 1025):
        found = bl.refine(solved(bl.rbc(grid=points)))
        assert found.success
        widths.append(float((found.upper - found.lower).max()))
    assert widths[0] > 10 * widths[1] > 100 * widths[2]


def finer(problem: bl.Problem, times: int) -> bl.Problem:
    """Return the same problem on a grid with ``times`` as many intervals, with wealth interpolated linearly."""
    places = np.arange(problem.points)
    at = np.linspace(0.0, problem.points - 1, times * (problem.points - 1) + 1)

    def lines(table: Array) -> Array:
        return np.stack([np.interp(at, places, column) for column in table.T], axis=1)

    grid = np.interp(at, places, problem.grid)
    grid[::times] = problem.grid
    wealth = lines(problem.wealth)
    wealth[::times] = problem.wealth
    return replace(problem, grid=grid, wealth=wealth, start=lines(problem.start))


@pytest.mark.parametrize("seed", range(24))
def test_bounds_hold_of_finer_grids(seed: int) -> None:
    """The value on a finer grid is at most ``upper``, and its own bounds overlap those of the coarse grid."""
    given = random_problem(seed, points=24, horizon=False)
    result = bl.solve(given.problem, tol=given.tol, device="cpu", progress=False)
    found = bl.refine(result, max_steps=20)
    times = 8
    fine = finer(given.problem, times)
    better = bl.solve(fine, tol=given.tol, device="cpu", progress=False)
    assert result.success
    assert better.success
    assert found.proof == ("concave" if concave_wealth(given.problem) else "monotone")
    least = better.value[::times] - better.error_bound
    assert (least <= found.upper).all()
    above = bounds(fine, better.value, better.error_bound, better.value).upper[::times]
    assert (found.lower <= above).all()
    assert (found.lower <= found.upper).all()
    assert np.abs(better.value[::times] - result.value).max() <= found.grid_error + better.error_bound


def test_concave_bounds_of_any_table_hold() -> None:
    """Bounds hold however far the first table is from the solution; only their width depends on that."""
    problem = closed(65)
    result, true = solved(problem), brock_mirman(problem)
    rng = np.random.default_rng(5)
    for size in (1e-3, 1.0, 100.0):
        near = true + size * rng.normal(size=true.shape)
        found = bounds(problem, result.value, result.error_bound, near)
        assert (found.lower <= true).all()
        assert (true <= found.upper).all()


def test_bounds_of_what_no_double_can_hold_are_infinite() -> None:
    """If the marginal utility of the poorest overflows, bounds are infinite and not NaN."""
    grid = np.linspace(0.0, 1.0, 9)
    problem = bl.Problem(
        grid=grid, wealth=1.02 * grid[:, None] + 1e-170, transition=np.eye(1), start=np.zeros((9, 1)), beta=0.9, eta=2.0
    )
    result = bl.solve(problem, device="cpu", method="warm", progress=False)
    found = bounds(problem, result.value, result.error_bound, result.value)
    assert found.proof == "concave"
    assert not np.isnan(found.lower).any()
    assert not np.isnan(found.upper).any()
    assert (found.lower <= found.upper).all()


def test_binding_constraint() -> None:
    """Where the borrowing limit binds, the choice is exactly the lowest point; above, saving rises continuously."""
    result = solved(savings(257))
    found = bl.refine(result)
    assert found.success
    poorest = found.choice[:, 0]
    binds = poorest == 0.0
    assert 3 < binds.sum() < 200
    assert (np.diff(binds.astype(int)) <= 0).all()
    first = int(binds.sum())
    assert 0 < poorest[first] < 2 * (result.problem.grid[first] - result.problem.grid[first - 1])
    # A bound household would save less if it could: its Euler equation requires more consumption.
    error = bl.euler_errors(found)
    assert np.isnan(error[binds, 0]).mean() > 0.9
    assert not np.isnan(error[first + 1 :, 0]).any()
    # The top is left out: there the end of the grid limits the choice.
    stairs = np.abs(np.diff(result.problem.wealth - result.choice, 2, axis=0))[:200].max()
    assert np.abs(np.diff(found.consumption, 2, axis=0))[:200].max() < stairs / 5


def test_jump_of_wealth() -> None:
    """With a subsidy above a wealth threshold, many households save exactly the threshold."""
    grid = np.linspace(0.0, 4.0, 161)
    wealth = 1.02 * grid[:, None] + 0.5 + 0.6 * (grid[:, None] >= 2.0)
    problem = bl.Problem(grid=grid, wealth=wealth, transition=np.eye(1), start=np.zeros((161, 1)), beta=0.93, eta=2.0)
    found = bl.refine(solved(problem))
    assert found.proof == "monotone"
    assert (np.diff(found.choice, axis=0) >= -1e-12).all()
    # A search by brute force over a dense mesh, with the value that was found, gives no better choice.
    ahead = PchipInterpolator(grid, problem.beta * found.value[:, 0])
    mesh = np.linspace(0.0, 4.0, 64_001)
    for x in range(0, 161, 4):
        objective = crra_utility(wealth[x, 0] - mesh, 2.0) + ahead(mesh)
        own = float(crra_utility(wealth[x, 0] - found.choice[x, 0], 2.0) + ahead(found.choice[x, 0]))
        assert own >= objective.max() - 1e-8
    # Many households below choose the threshold itself, where linear and cubic interpolation agree.
    assert (np.abs(found.choice - 2.0) < 0.026).sum() >= 5


def test_euler_errors_are_those_of_the_definition() -> None:
    result = solved(bl.rbc(grid=65, states=3))
    found = bl.refine(result)
    problem, error = found.problem, bl.euler_errors(found)
    assert problem.marginal_wealth is not None
    for x, s in ((0, 1), (20, 0), (40, 2), (63, 1)):
        y, total = found.choice[x, s], 0.0
        for t in range(3):
            brings = np.interp(y, problem.grid, problem.marginal_wealth[:, t])
            consumed = np.interp(y, problem.grid, found.consumption[:, t])
            total += problem.transition[s, t] * brings * consumed**-problem.eta
        expected = 1 - (problem.beta * total) ** (-1 / problem.eta) / found.consumption[x, s]
        assert error[x, s] == pytest.approx(expected, abs=1e-13)
    assert np.nanmax(np.abs(error)) < np.nanmax(np.abs(bl.euler_errors(result))) / 100


def test_what_does_not_settle_is_no_success() -> None:
    result = solved(bl.rbc(grid=65))
    found = bl.refine(result, max_steps=1)
    assert not found.success
    assert found.status == "sweep limit reached"
    assert re.fullmatch(
        r"The values still change by \S+ after 1 steps: pass a larger max_steps or tol, or solve on a finer grid\.",
        found.message,
    )
    assert found.change > found.tol
    full = bl.refine(result)
    # Bounds hold for any table.
    assert (found.lower <= full.upper).all()
    assert (full.lower <= found.upper).all()


def test_an_unsolved_result_is_reported() -> None:
    result = bl.solve(bl.rbc(grid=65), max_sweeps=3, device="cpu", method="warm", progress=False)
    with pytest.warns(UserWarning, match=r"^a refinement of a result that is not solved: sweep limit reached$"):
        found = bl.refine(result, tol=1e-9)
    assert not found.success
    assert found.status == "sweep limit reached"
    assert found.message.startswith("The values converged, but the result on the grid is not solved: ")


def test_report_dataset_and_figure(tmp_path: Path) -> None:
    pytest.importorskip("xarray")
    found = bl.refine(solved(bl.rbc(grid=65, states=2)))
    text = str(found)
    assert text.startswith("Choices between grid points of RBC, 65 grid points x 2 states\n  status        converged: ")
    assert f"max |V - V*| <= {found.error_bound:.3g}" in text
    assert f"max |V - V^c| <= {found.grid_error:.3g}" in text
    assert max(map(len, text.splitlines())) <= 118
    data = found.to_xarray()
    assert data["refined_choice"].dims == ("capital", "state")
    np.testing.assert_array_equal(data["upper"].values, found.upper)
    assert "checksum" not in data.attrs
    assert found.plot(tmp_path / "refined.png").axes[0].get_title() == "Consumption"
    assert (tmp_path / "refined.png").stat().st_size > 10_000
    with pytest.raises(bl.ProblemError, match=r"gif"):
        found.plot(tmp_path / "refined.gif")


def test_bad_input() -> None:
    result = solved(bl.rbc(grid=16), tol=1e-6)
    for arguments, sentence in (
        ({"tol": 0}, "tol must be a number above 0, not 0"),
        ({"tol": "small"}, "tol must be a number above 0, not 'small'"),
        ({"max_steps": 0}, "max_steps must be a whole number from 1 to 10000, not 0"),
        ({"max_steps": 2.5}, "max_steps must be a whole number from 1 to 10000, not 2.5"),
    ):
        with pytest.raises(bl.ProblemError, match=f"^{re.escape(sentence)}$"):
            bl.refine(result, **arguments)  # type: ignore[arg-type]
    with pytest.raises(bl.ProblemError, match=r"^result must be a Result, not 3$"):
        bl.refine(3)  # type: ignore[arg-type]
    ages = bl.solve(bl.life_cycle(grid=32, states=3, ages=4), device="cpu", progress=False)
    for name, value in (("tol", 1e-6), ("max_steps", 3)):
        sentence = f"{name} needs an infinite horizon, and this problem has 4 ages"
        with pytest.raises(bl.ProblemError, match=f"^{sentence}$"):
            bl.refine(ages, **{name: value})  # type: ignore[arg-type]
    for choices in ("grid", "continuous"):
        with pytest.raises(bl.ProblemError, match="^choices must be one of 'continuous', 'grid', not 'lines'"):
            bl.moments(result if choices == "grid" else bl.refine(result), choices="lines")


def test_two_grid_points() -> None:
    """The smallest grid, of one cell, is refined although the cell has no neighbour."""
    grid = np.array([0.0, 1.0])
    problem = bl.Problem(
        grid=grid, wealth=grid[:, None] + [[0.4, 1.3]], transition=np.full((2, 2), 0.5), start=np.zeros((2, 2)),
        beta=0.9, eta=2.0,
    )  # fmt: skip
    found = bl.refine(solved(problem))
    assert (found.consumption > 0).all()
    assert (found.lower <= found.upper).all()
    fine = solved(finer(problem, 64))
    assert (fine.value[::64] - fine.error_bound <= found.upper).all()
