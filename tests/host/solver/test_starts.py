"""Starting values other than a problem's own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref.coarse import FEWEST, coarse_start
from beltline.gpu_ref.methods import stay_start
from beltline.gpu_ref.spectral import smooth_start
from beltline.host.problem.concavity import concave_majorant, first_convexity
from beltline.host.solver.starts import start_value

SMOOTH = bl.rbc(grid=FEWEST, states=3)

KINKED = bl.aiyagari(grid=FEWEST + 100, states=3).problem(0.03)
"""A problem in which the borrowing limit often binds, where a cubic polynomial fits badly."""


def coarse(problem: bl.Problem) -> np.ndarray:
    return coarse_start(problem.grid, problem.wealth, problem.transition, problem.beta, problem.eta, 1e-6)


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
    # The problem's start is so far from the solution that the interpolated coarse solution is closer.
    given = replace(KINKED, start=np.full(KINKED.start.shape, 1.0) * np.linspace(0.0, 1e6, KINKED.points)[:, None])
    drawn = coarse(given)
    assert convex(given, drawn)
    found = start_value(given, "coarse", 1e-6)
    assert found is not None
    assert not convex(given, found)
    assert (found >= drawn - 1e-9 * np.abs(drawn).max()).all()
    assert np.abs(found - concave_majorant(drawn, given.grid)).max() == 0.0


def test_staying_is_the_start_where_the_coarse_one_is_no_nearer() -> None:
    found = start_value(KINKED, "coarse", 1e-6)
    assert np.array_equal(found, start_value(KINKED, "stay", 1e-6))


@pytest.mark.parametrize("lanes", [1, 16])
def test_shifts_from_a_coarse_start_solve_problems_with_kinks(lanes: int) -> None:
    plain = bl.solve(KINKED, tol=1e-6, lanes=lanes, device="emulator")
    found = bl.solve(KINKED, tol=1e-6, lanes=lanes, method="shift", start="coarse", device="emulator")
    assert found.success, found.message
    assert found.verified
    assert np.abs(found.value - plain.value).max() <= found.error_bound + plain.error_bound


def test_a_horizon_has_its_own_start() -> None:
    assert start_value(bl.life_cycle(grid=64, states=3, ages=4), "stay", 1e-6) is None


def test_who_cannot_stay_has_no_start() -> None:
    poor = replace(SMOOTH, wealth=np.tile(SMOOTH.grid[0] + 0.05 + 0.1 * SMOOTH.grid, (3, 1)).T)
    assert (poor.wealth <= poor.grid[:, None]).any()
    assert start_value(poor, "coarse", 1e-6) is None
