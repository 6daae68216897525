"""Starting values other than a problem's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref import starts
from beltline.gpu_ref.methods import stay_start
from beltline.gpu_ref.spectral import FEWEST, smooth_start
from beltline.host.problem.concavity import concave_majorant, first_convexity
from beltline.host.solver.prepare import start_value

SMOOTH = bl.rbc(grid=FEWEST, states=3)

KINKED = bl.aiyagari(grid=FEWEST + 100, states=3).problem(0.03)
"""A problem in which the borrowing limit often binds, where a cubic polynomial fits badly."""


def convex(problem: bl.Problem, value: np.ndarray) -> bool:
    return first_convexity(problem.grid, value, problem.wealth, problem.beta, problem.eta) is not None


def test_concave_starts_are_taken_as_they_are() -> None:
    tables = SMOOTH.grid, SMOOTH.wealth, SMOOTH.transition, SMOOTH.beta, SMOOTH.eta
    smooth = smooth_start(*tables, 1e-6, SMOOTH.start)
    assert smooth is not None
    assert np.array_equal(start_value(SMOOTH, "coarse", 1e-6), smooth.value)
    stays = stay_start(SMOOTH.grid, SMOOTH.wealth, SMOOTH.beta, SMOOTH.eta)
    assert np.array_equal(start_value(SMOOTH, "stay", 1e-6), stays)


def test_few_points_are_not_made_coarse() -> None:
    few = bl.rbc(grid=FEWEST - 1)
    assert np.array_equal(start_value(few, "coarse", 1e-6), start_value(few, "stay", 1e-6))


def test_what_kinks_bend_up_is_made_concave() -> None:
    given = replace(KINKED, wealth=np.maximum(KINKED.wealth, 3.0))
    drawn = starts.nearest(given.grid, given.wealth, given.transition, given.beta, given.eta, 1e-6, given.start)
    assert convex(given, drawn)
    found = start_value(given, "coarse", 1e-6)
    assert found is not None
    assert not convex(given, found)
    assert np.array_equal(found, concave_majorant(drawn, given.grid))


@pytest.mark.parametrize("lanes", [1, 16])
def test_shifts_from_a_coarse_start_solve_problems_with_kinks(lanes: int) -> None:
    plain = bl.solve(KINKED, tol=1e-6, lanes=lanes, device="emulator")
    found = bl.solve(KINKED, tol=1e-6, lanes=lanes, method="shift", start="coarse", device="emulator")
    assert found.success, found.message
    assert found.verified
    assert np.abs(found.value - plain.value).max() <= found.error_bound + plain.error_bound


def test_a_horizon_has_its_own_start() -> None:
    assert start_value(bl.life_cycle(grid=64, states=3, ages=4), "stay", 1e-6) is None


def test_who_cannot_stay_starts_from_a_part_of_the_grid() -> None:
    poor = replace(SMOOTH, wealth=np.tile(SMOOTH.grid[0] + 0.05 + 0.1 * SMOOTH.grid, (3, 1)).T)
    assert (poor.wealth <= poor.grid[:, None]).any()
    assert start_value(poor, "stay", 1e-6) is None
    drawn = start_value(poor, "coarse", 1e-6)
    assert drawn is not None
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize(
    "given",
    [
        bl.rbc(grid=300),
        bl.rbc(grid=1100, beta=0.8),
        KINKED,
        bl.aiyagari(grid=200, states=3).problem(0.03),
        replace(bl.rbc(grid=100), cost=bl.rbc(grid=100).grid),
        bl.hopenhayn_rogerson(grid=60, states=5).problem(),
    ],
    ids=["small", "smooth", "kinked", "limit", "cost", "alternatives"],
)
def test_a_guess_that_is_the_solution_takes_one_sweep(given: bl.Problem) -> None:
    solved = bl.solve(given, progress=False)
    again = bl.solve(replace(given, start=solved.value), progress=False)
    assert again.success
    assert solved.sweeps > again.sweeps == 1
    assert np.abs(again.value - solved.value).max() <= again.error_bound + solved.error_bound


@pytest.mark.parametrize("points", [200, FEWEST])
@pytest.mark.parametrize("method", ["mpi", "shift", None])
def test_a_bad_guess_costs_no_sweeps(points: int, method: str | None) -> None:
    given = bl.rbc(grid=points, states=3)
    bad = replace(given, start=np.sin(np.arange(3.0 * points)).reshape(points, 3))
    options = {} if method is None else {"method": method, "start": "coarse"}
    ours, theirs = (bl.solve(one, progress=False, **options) for one in (bad, given))
    assert ours.success
    assert ours.sweeps == theirs.sweeps


def test_a_default_start_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[np.ndarray] = []
    measured = starts._swept_spread
    monkeypatch.setattr(starts, "_swept_spread", lambda *tables: compared.append(tables[-1]) or measured(*tables))
    for given in (bl.rbc(grid=300), bl.aiyagari(grid=200, states=3).problem(0.03), bl.rbc(grid=FEWEST)):
        bl.solve(given, progress=False)
    assert not compared


def test_an_accelerator_begins_from_a_guess_that_is_nearer() -> None:
    given = bl.rbc(grid=64)
    guess = replace(given, start=bl.solve(given, progress=False).value)
    found = start_value(guess, "coarse", 1e-6)
    assert found is not None
    assert np.abs(found - guess.start).max() < 1e-9
    assert np.array_equal(start_value(guess, "stay", 1e-6), start_value(given, "stay", 1e-6))
