"""Sweeps proven by brackets of table problems on a CUDA device, and when they are tried first."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda import general_sweeps, proven_sweeps
from beltline.gpu_ref.cuda import solver as cuda
from beltline.gpu_ref.cuda.proven_sweeps import bends_up
from beltline.gpu_ref.published import grid_search
from beltline.gpu_ref.tables import Array
from oracle import bellman

gpu = pytest.mark.skipif(bool(cuda.available()), reason=cuda.available() or "there is a device")

GRID = np.linspace(0.0, 30.0, 600)
Q = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])


def bent(grid: Array = GRID) -> dict[str, Array]:
    concave = 1.02 * grid[:, None] + np.array([0.4, 1.0, 1.6])
    steps = np.random.default_rng(1).random((12, 3)).cumsum(axis=0)
    return {
        "floor": np.maximum(concave, 3.0),
        "increasing returns": concave + 0.02 * np.maximum(grid - 10.0, 0.0)[:, None] ** 1.3,
        "jumps": concave + steps[np.searchsorted(np.linspace(0.0, 30.0, 13)[1:-1], grid)],
        "a kink in one state": concave + np.array([0.0, 0.0, 0.5]) * np.maximum(grid - 20.0, 0.0)[:, None],
    }


@pytest.mark.parametrize("name", bent())
def test_kinks_and_jumps_upwards_are_seen(name: str) -> None:
    assert bends_up(GRID, bent()[name])


@pytest.mark.parametrize("points", [1, 2, 3, 40, 257, 5000])
def test_concave_wealth_is_taken_for_that(points: int) -> None:
    rng = np.random.default_rng(points)
    grid = np.sort(rng.uniform(0.1, 40.0, points)) if points != 257 else np.geomspace(1e-3, 1e3, points)
    for wealth in (1.03 * grid, grid**0.36 + 0.9 * grid, 1e8 + grid, np.minimum(grid, 5.0)):
        assert not bends_up(grid, wealth[:, None] + np.array([0.3, 2.0]))


def test_jumps_between_the_points_that_are_looked_at_are_seen() -> None:
    grid = np.linspace(0.0, 10.0, 20_000)
    wealth = grid[:, None] + np.zeros(2)
    wealth[12_345:, 1] += 0.5
    assert bends_up(grid, wealth)


BETA = 0.94


@functools.cache
def solution(name: str, eta: float) -> Array:
    value: Array = bellman.solution(bellman.simple(GRID, bent()[name], Q, BETA, eta), np.zeros((1, GRID.size, 3)))[0]
    return value


def check(found: Any, name: str, eta: float = 2.0, shifted: bool = False) -> None:
    """Compare the last sweep, whose values may be shifted, with full search, and the result with the solution."""
    value, policy = grid_search.sweep(GRID, bent()[name], Q, found.previous, BETA, eta)
    if not shifted:
        assert np.abs(value - found.value).max() <= 1e-13 * (1.0 + np.abs(value).max())
    assert (policy == found.policy).mean() > 0.999
    assert float(np.abs(found.value - solution(name, eta)).max()) <= found.error_bound < 1e-4


@gpu
@pytest.mark.parametrize("teams", [False, True])
@pytest.mark.parametrize("method", ["warm", "shift", "mpi"])
@pytest.mark.parametrize("name", bent())
def test_several_peaks_are_solved_and_every_sweep_is_exact(
    name: str, method: str, teams: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if teams:
        monkeypatch.setattr(general_sweeps, "ROWS_ALONE", 0)
        monkeypatch.setattr(general_sweeps, "ROWS", 64)
    wealth = bent()[name]
    rng = np.random.default_rng(3)
    for start in (np.zeros(wealth.shape), rng.normal(size=wealth.shape)):
        for eta in (1.0, 2.0, 3.5):
            found = cuda.solve(GRID, wealth, Q, start, BETA, eta, 1e-7, method=method)
            assert found.converged
            assert found.residual < 1e-7
            assert found.exact_sweeps == found.maximising_sweeps < found.sweeps
            assert set(found.seconds) == {"allocate", "load", "solve", "read"}
            check(found, name, eta)


@gpu
@pytest.mark.parametrize("teams", [False, True])
@pytest.mark.parametrize("name", [*bent(), "stairs", "random"])
def test_guesses_of_choices_on_large_grids_are_proven(name: str, teams: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sweeps are exact on large grids, also if peaks are narrower than the distance of the candidates that a guess
    evaluates.
    """
    monkeypatch.setattr(general_sweeps, "ROWS_ALONE", 0 if teams else 10_000)
    grid = np.linspace(0.0, 30.0, 6_000)
    if name == "stairs":
        wealth = 1.0 + np.floor(7.0 * grid)[:, None] / 7.0 + np.array([0.4, 1.0, 1.6])
    elif name == "random":
        jumps = np.random.default_rng(8).random((6_000, 3)) * (np.random.default_rng(9).random((6_000, 1)) < 0.02)
        wealth = 1.0 + 0.5 * grid[:, None] + jumps.cumsum(axis=0) * 0.2
    else:
        wealth = bent(grid)[name]
    for start in (np.zeros(wealth.shape), np.random.default_rng(3).normal(size=wealth.shape)):
        found = cuda.solve(grid, wealth, Q, start, BETA, 2.0, 1e-7, method="warm")
        assert found.converged
        assert found.exact_sweeps == found.maximising_sweeps
        value, policy = grid_search.sweep(grid, wealth, Q, found.previous, BETA, 2.0)
        assert np.abs(value - found.value).max() <= 1e-13 * (1.0 + np.abs(value).max())
        assert (policy == found.policy).mean() > 0.999


@gpu
@pytest.mark.parametrize(("method", "options"), [("warm", {}), ("mpi", {})])
@pytest.mark.parametrize("most", [1, 5, 60])
def test_the_limit_of_sweeps_is_obeyed(method: str, options: dict[str, int], most: int) -> None:
    wealth = bent()["jumps"]
    found = cuda.solve(GRID, wealth, Q, np.zeros(wealth.shape), BETA, 2.0, 1e-9, most, method, **options)
    assert not found.converged
    assert most - max(proven_sweeps.STEPS, 7) <= found.sweeps <= most
    assert found.residual >= 1e-9
    if method == "warm":
        value, _ = grid_search.sweep(GRID, wealth, Q, found.previous, BETA, 2.0)
        assert np.abs(value - found.value).max() <= 1e-12


@gpu
@pytest.mark.parametrize("method", ["mpi", "shift"])
def test_far_starts_end_within_the_limit_of_sweeps(method: str) -> None:
    """From a distant start, methods that shift values converge within a limit of sweeps that plain sweeps would
    exceed.
    """
    wealth = bent()["floor"]
    start = np.full(wealth.shape, 1e12)
    start[0] += 1.0
    found = cuda.solve(GRID, wealth, Q, start, BETA, 2.0, 1e-7, 700, method)
    assert found.converged
    check(found, "floor", shifted=True)


@gpu
def test_where_two_choices_alternate_another_search_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proven_sweeps, "MOST", 2)
    wealth = bent()["floor"]
    for method in ("warm", "shift", "mpi"):
        found = cuda.solve(GRID, wealth, Q, np.zeros(wealth.shape), BETA, 2.0, 1e-7, method=method)
        assert found.converged
        check(found, "floor", shifted=method != "warm")


@gpu
def test_states_that_can_afford_nothing_are_left_to_another_search() -> None:
    wealth = bent()["floor"].copy()
    wealth[:3, 0] = GRID[0]
    found = cuda.solve(GRID, wealth, np.eye(3), np.zeros(wealth.shape), BETA, 2.0, 0.0, 3)
    assert (found.policy[:3, 0] == -1).all()
    assert np.isneginf(found.value[:3, 0]).all()
