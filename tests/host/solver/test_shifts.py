"""Shifts of the value between the sweeps of a sweep engine, and where they start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import beltline as bl
from beltline.host.problem.checks import ProblemError
from beltline.host.solver.fixed_point import fixed_point, shift_weights
from beltline.host.solver.session import Session
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.shift import SCALE, ShiftParameters
from support.fakes import problem

GIVEN = bl.rbc(grid=1024, states=3)


@pytest.mark.parametrize("start", ["given", "stay", "coarse"])
def test_fewer_sweeps_to_the_same_choices(start: str) -> None:
    plain = bl.solve(GIVEN, tol=1e-8, device="emulator")
    result = bl.solve(GIVEN, tol=1e-8, method="shift", start=start, lanes=8, device="emulator")
    assert result.success
    assert result.verified
    assert result.sweeps < plain.sweeps / 2
    assert result.change < 1e-8
    assert result.residual <= 1e-8
    assert (result.policy == plain.policy).all()
    assert np.abs(result.value - plain.value).max() <= result.error_bound + plain.error_bound


def test_weights_are_what_all_sweeps_to_come_add() -> None:
    q = fixed_point(problem(8, 4), 1e-9).transition
    d = np.array([1, -2, 3, 5], np.int64) << 40
    c, e = ShiftParameters(SweepParameters(8, 4, 1)).model(d, shift_weights(q), q)
    weights = q.astype(np.float64) * 2.0**-64
    term, total = d.astype(np.float64), np.zeros(4)
    for _ in range(400):
        term = weights @ term
        total += term
    # c is a multiple of 2**SCALE; the rounding error of a double is far smaller.
    assert np.abs(c - total).max() <= 2**SCALE
    assert np.abs(e - weights @ c).max() <= 2


@pytest.mark.parametrize("beta", [0.9999, 1.0, 1.01])
def test_no_weights_where_patience_is_too_great(beta: float) -> None:
    q = (np.array([[0.5, 0.5], [0.25, 0.75]]) * beta * 2.0**64).astype(np.uint64)
    shift_weights((np.array([[0.5, 0.5], [0.25, 0.75]]) * 0.9997 * 2.0**64).astype(np.uint64))
    with pytest.raises(
        ProblemError,
        match=r"^method 'shift' needs beta times the largest sum of a row .* below 0\.999756, not ",
    ):
        shift_weights(q)


def test_weights_move_with_the_transition() -> None:
    given = problem(40, 3)
    with bl.open("emulator", lanes=2) as device:
        first = device.solve(given, method="shift")
        assert {"Q", "MODE"} <= set(device.moved)
        assert device.solve(given, method="shift").sweeps == first.sweeps
        assert device.moved == ("V",)
        plain = device.solve(given)
        assert device.moved == ("Q", "V", "MODE")
        assert plain.sweeps > first.sweeps
        # start='last' takes the last value, computed by any method.
        assert device.solve(given, method="shift", start="last").sweeps <= 3


def test_shifts_know_neither_ages_nor_checkpoints(tmp_path: Path) -> None:
    sentence = "^method 'shift' is for problems without a horizon, and for solves without a checkpoint$"
    with pytest.raises(bl.ProblemError, match=sentence):
        bl.solve(problem(horizon=3), lanes=2, method="shift", device="emulator")
    with pytest.raises(bl.ProblemError, match=sentence):
        bl.solve(problem(), lanes=2, method="shift", checkpoint=tmp_path / "saved.npz", device="emulator")
    assert not list(tmp_path.iterdir())


def test_assembly_line_that_is_open_shifts_nothing() -> None:
    with (
        bl.open("emulator") as session,
        pytest.raises(
            bl.ProblemError, match=r"^method 'shift' needs the sweep engine: give device 'emulator' the option lanes="
        ),
    ):
        session.solve(problem(), method="shift")
    with bl.open("emulator") as session:
        session.solve(problem(), max_sweeps=1)
        assert session.device is not None
        with pytest.raises(
            bl.ProblemError, match=r"^method 'shift' needs a sweep engine, which device 'emulator' does not have$"
        ):
            bl.solve(problem(), device=session.device, method="shift")


def test_problem_without_affordable_staying_starts_as_given() -> None:
    given = problem(40, 2)
    poor = replace(given, wealth=np.tile(given.grid[0] + 0.05 + 0.5 * given.grid, (2, 1)).T)
    assert (poor.wealth <= poor.grid[:, None]).any()
    with bl.open("emulator", lanes=2) as session:
        first = session.solve(poor, method="shift", start="stay")
        assert first.sweeps == session.solve(poor, method="shift").sweeps


@pytest.mark.parametrize("workers", [None, 2])
def test_batch_shifts_as_one_solve_does(workers: int | None, tmp_path: Path) -> None:
    problems = [bl.rbc(grid=64, states=2, beta=beta) for beta in (0.9, 0.95, 0.97)]
    plain: dict[str, Any] = {"tol": 1e-6, "lanes": 2, "progress": False, "device": "emulator"}
    options = plain | {"method": "shift", "start": "coarse"}
    attempts = list(bl.solve_many(problems, workers=workers, store=tmp_path, **options))
    for given, attempt in zip(problems, attempts, strict=True):
        alone = bl.solve(given, **options)
        assert attempt.result is not None, attempt.error
        assert (attempt.result.value == alone.value).all()
        assert (attempt.result.policy == alone.policy).all()
        assert attempt.result.sweeps == alone.sweeps
    again = bl.solve_many(problems, store=tmp_path, **options)
    assert [attempt.stored for attempt in again] == [True] * 3
    # A result from another start, or without shifts, has another key.
    for other in (options | {"start": "stay"}, options | {"start": "given"}, plain):
        assert not any(attempt.stored for attempt in bl.solve_many(problems, store=tmp_path, **other))


def test_batch_on_a_line_shifts_nothing() -> None:
    with pytest.raises(bl.ProblemError, match=r"^method 'shift' needs the sweep engine: give device 'emulator' "):
        bl.solve_many([problem()], method="shift", device="emulator")
    with bl.open("emulator") as session:
        [attempt] = bl.solve_many([problem()], device=session, method="shift")
    assert str(attempt.error).startswith("method 'shift' needs the sweep engine: give device 'emulator' ")


def test_warm_batch_shifts_from_its_neighbours() -> None:
    problems = [bl.rbc(grid=256, states=2, beta=beta) for beta in (0.95, 0.9501, 0.9502)]
    ways = {
        name: list(bl.solve_many(problems, tol=1e-7, method="shift", lanes=4, device="emulator", **more))
        for name, more in {"cold": {}, "warm": {"warm": True}}.items()
    }
    sweeps = {name: [one.result.sweeps for one in way if one.result] for name, way in ways.items()}
    assert sweeps["warm"][0] == sweeps["cold"][0]
    assert all(warm < cold for warm, cold in zip(sweeps["warm"][1:], sweeps["cold"][1:], strict=True))


def test_household_that_ends_on_another_peak_is_solved_from_a_concave_value() -> None:
    model = bl.aiyagari(grid=128, states=3, sigma=0.4, high=40.0)
    starts: list[tuple[str, Any]] = []
    solve = Session.solve

    def spoiled(session: Session, given: bl.Problem, *arguments: Any, **more: Any) -> bl.Result:
        result = solve(session, given, *arguments, **more)
        if not more["verify"]:
            return result
        starts.append((more["start"], result))
        return replace(result, success=False, status="not verified") if more["start"] == "last" else result

    with mock.patch.object(Session, "solve", spoiled):
        found = bl.solve(model, tol=1e-7, lanes=4, progress=False, device="emulator")
    (warm, last), (cold, again) = starts
    assert (warm, cold) == ("last", "given")
    assert found.success
    assert found.household is again
    assert found.steps[-1].interest == found.steps[-2].interest
    assert np.array_equal(again.problem.start, bl.concave_majorant(last.value, last.problem.grid))
    # The value was written, as the machine did not have it, and few sweeps remained.
    assert "V" in found.steps[-1].moved
    assert again.sweeps < found.steps[0].sweeps / 2
    assert np.abs(again.value - last.value).max() <= again.error_bound + last.error_bound


def test_economy_shifts_to_the_same_market() -> None:
    model = bl.aiyagari(grid=128, states=3, sigma=0.4, high=40.0)
    plain = bl.solve(model, tol=1e-7, lanes=4, progress=False, device="emulator")
    found = bl.solve(model, tol=1e-7, lanes=4, method="shift", start="stay", progress=False, device="emulator")
    assert found.interest == pytest.approx(plain.interest, abs=1e-9)
    assert (found.household.policy == plain.household.policy).all()
    assert sum(step.sweeps for step in found.steps) < sum(step.sweeps for step in plain.steps)
    with pytest.raises(bl.ProblemError, match=r"^method 'shift' needs the sweep engine"):
        bl.solve(model, method="shift", device="emulator")
