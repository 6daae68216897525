"""Shifts of the value between the sweeps of a sweep engine, and where they start."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_fakes import problem

import beltline as bl
from host.checks import ProblemError
from host.cli import main
from host.formats import fixed_point
from host.shifts import shift_weights
from hw.sweep.parameters import SweepParameters
from hw.sweep.shift import SCALE, ShiftParameters

GIVEN = bl.rbc(grid=1024, states=3)


@pytest.mark.parametrize("start", ["given", "stay", "coarse"])
def test_fewer_sweeps_to_the_same_choices(start: str) -> None:
    plain = bl.solve(GIVEN, tol=1e-8)
    result = bl.solve(GIVEN, tol=1e-8, method="shift", start=start, lanes=8)
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
    # c is a multiple of 2**SCALE; what a double leaves out is far less.
    assert np.abs(c - total).max() <= 2**SCALE
    assert np.abs(e - weights @ c).max() <= 2


@pytest.mark.parametrize("beta", [0.9999, 1.0, 1.01])
def test_no_weights_where_patience_is_too_great(beta: float) -> None:
    q = (np.array([[0.5, 0.5], [0.25, 0.75]]) * beta * 2.0**64).astype(np.uint64)
    shift_weights((np.array([[0.5, 0.5], [0.25, 0.75]]) * 0.9997 * 2.0**64).astype(np.uint64))
    with pytest.raises(
        ProblemError, match=r"^shifts need beta times the sums of transition's rows below 0\.999756, not "
    ):
        shift_weights(q)


def test_weights_move_with_the_transition() -> None:
    given = problem(40, 3)
    with bl.open("model", lanes=2) as device:
        first = device.solve(given, method="shift")
        assert {"Q", "MODE"} <= set(device.moved)
        assert device.solve(given, method="shift").sweeps == first.sweeps
        assert device.moved == ("V",)
        plain = device.solve(given)
        assert device.moved == ("Q", "V", "MODE")
        assert plain.sweeps > first.sweeps
        # The last value is one, whatever made it.
        assert device.solve(given, method="shift", start="last").sweeps <= 3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "warm", "lanes": 2}, "method can be chosen on the devices 'cpu' and 'gpu' only"),
        ({"method": "shift"}, "method 'shift' is for sweep engines, and device 'model' without lanes is none"),
        (
            {"method": "shift", "lanes": 2, "start": "late"},
            "start must be one of 'given', 'stay', 'coarse', not 'late'",
        ),
        ({"lanes": 2, "start": "stay"}, "device 'model' has no option 'start': it takes fold, evaluators, lanes"),
    ],
)
def test_what_is_no_method(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(bl.ProblemError, match="^" + re.escape(sentence) + "$"):
        bl.solve(problem(), **options)


def test_shifts_know_neither_ages_nor_checkpoints(tmp_path: Path) -> None:
    sentence = "^method 'shift' is for problems without a horizon, and for solves without a checkpoint$"
    with pytest.raises(bl.ProblemError, match=sentence):
        bl.solve(problem(horizon=3), lanes=2, method="shift")
    with pytest.raises(bl.ProblemError, match=sentence):
        bl.solve(problem(), lanes=2, method="shift", checkpoint=tmp_path / "saved.npz")
    assert not list(tmp_path.iterdir())


def test_assembly_line_that_is_open_shifts_nothing() -> None:
    with (
        bl.open("model") as session,
        pytest.raises(bl.ProblemError, match=r"^method 'shift' is for sweep engines, and device 'model' without lanes"),
    ):
        session.solve(problem(), method="shift")
    with bl.open("model") as session:
        session.solve(problem(), max_sweeps=1)
        assert session.device is not None
        with pytest.raises(bl.ProblemError, match=r"^method 'shift' is for sweep engines, and device 'model' is none$"):
            bl.solve(problem(), device=session.device, method="shift")


def test_problem_in_which_nobody_can_stay_starts_as_given() -> None:
    given = problem(40, 2)
    poor = replace(given, wealth=np.tile(given.grid[0] + 0.05 + 0.5 * given.grid, (2, 1)).T)
    assert (poor.wealth <= poor.grid[:, None]).any()
    with bl.open("model", lanes=2) as session:
        first = session.solve(poor, method="shift", start="stay")
        assert first.sweeps == session.solve(poor, method="shift").sweeps


def test_command_line_shifts(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", "--grid", "64", "--tol", "1e-3", "--option", "lanes=4", "--method", "shift"]
    assert main([*command, "--option", "start=stay"]) == 0
    assert "converged" in capsys.readouterr().out
