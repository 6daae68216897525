"""A successful result is within its bound for any problem and start. Each case failed in an earlier version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref import cpu
from beltline.gpu_ref.methods import Solution
from beltline.gpu_ref.starts import nearer
from beltline.host.solver.fixed_point import amount_fraction_bits, fixed_point
from oracle import bellman
from support.fakes import convex_kink

STATES = 5
INCOMES = np.exp(np.linspace(-0.5, 0.5, STATES))


def savings(points: int, floor: float = 0.0, **changes: Any) -> bl.Problem:
    """Return a savings problem at 3 %, with an income floor that makes wealth kinked and values convex."""
    grid = np.linspace(0.0, 20.0, points)
    incomes = 0.3 * INCOMES if floor else INCOMES
    facts: dict[str, Any] = {
        "grid": grid,
        "wealth": np.maximum(1.03 * grid[:, None] + incomes, floor),
        "transition": 0.8 * np.eye(STATES) + 0.2 / STATES,
        "start": np.zeros((points, STATES)),
        "beta": 0.96,
        "eta": 2.0,
    }
    return bl.Problem(**facts | changes)


def kinked(beta: float) -> bl.Problem:
    """Return a smooth problem with a steep value at low wealth, where polynomials on a coarse grid are inaccurate."""
    grid = np.linspace(0.0, 20.0, 1100)
    wealth = ((grid + 0.01) ** 0.36 + 0.9 * grid + 0.05)[:, None]
    return bl.Problem(
        grid=grid, wealth=wealth, transition=np.eye(1), start=np.zeros(wealth.shape), beta=beta, eta=8.0
    )  # fmt: skip


def trusted(result: bl.Result) -> bool:
    given = result.problem
    after = 0.0 if given.horizon is None else given.start
    return bellman.distance(given.form, result.value, after) <= result.error_bound


@pytest.mark.parametrize("given", [savings(300, floor=1.0), convex_kink(4.0)])
def test_search_for_one_peak_is_verified_where_there_may_be_more(given: bl.Problem) -> None:
    result = bl.solve(given, tol=1e-8, verify=False, device="emulator")
    assert trusted(result)
    assert result.error_bound < np.inf
    assert result.verified
    assert result.message.endswith("so the result was verified although verify is False.")


def test_search_for_one_peak_has_a_bound_where_it_is_proven() -> None:
    result = bl.solve(bl.rbc(grid=64), tol=1e-8, verify=False, device="emulator")
    assert trusted(result)
    assert result.error_bound < 1e-6
    assert "bound" not in result.message


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("start", [1e20, -1e12, 1e6])
@pytest.mark.parametrize("method", ["mpi", "shift"])
def test_far_starts_leave_no_trace(method: str, start: float, verify: bool) -> None:
    given = savings(300)
    given = replace(given, start=np.full(given.start.shape, start))
    result = bl.solve(given, tol=1e-8, device="cpu", method=method, verify=verify)
    assert result.success
    assert result.method == method
    assert trusted(result)
    assert result.error_bound < 1e-6


def test_a_steep_value_has_a_good_start_too() -> None:
    given = kinked(0.995)
    results = {
        start: bl.solve(given, tol=1e-6, device="cpu", method="shift", start=start, verify=False)
        for start in ("given", "coarse")
    }
    assert all(result.success and trusted(result) for result in results.values())
    assert results["coarse"].sweeps <= results["given"].sweeps


def test_coarse_start_of_a_sweep_engine_is_checked() -> None:
    given = kinked(0.96)
    plain, coarse = (
        bl.solve(given, tol=1e-6, lanes=4, method="shift", start=start, device="emulator")
        for start in ("given", "coarse")
    )
    assert plain.success
    assert coarse.success
    assert coarse.sweeps <= plain.sweeps


def test_a_nearer_start_is_taken() -> None:
    given = bl.rbc(grid=128, states=3)
    tables = given.grid, given.wealth, given.transition, given.beta, given.eta
    right = bellman.solution(given.form, np.zeros(given.form.shape))[0].astype(np.float64)
    assert nearer(*tables, given.start, right)
    # Levels of the value may differ between exogenous states by any amount: a shift corrects that.
    assert nearer(*tables, given.start, right + np.array([5.0, -3.0, 0.0]))
    assert not nearer(*tables, right, given.start)
    assert not nearer(*tables, given.start, np.full(right.shape, np.nan))


@pytest.mark.parametrize("method", ["mpi", "shift"])
@pytest.mark.parametrize("wrong", ["value", "sweeps", "policy"])
def test_what_fails_falls_back(wrong: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = savings(64)
    solve = cpu.solve

    def failing(*arguments: Any, method: str, **more: Any) -> Solution:
        found = solve(*arguments, method=method, **more)
        if method == "warm":
            return found
        if wrong == "value":
            return replace(found, value=found.value + np.linspace(0.0, 1.0, given.points)[:, None])
        if wrong == "policy":
            return replace(found, policy=np.full_like(found.policy, -1))
        return replace(found, residual=1.0, converged=False, sweeps=10_000)

    monkeypatch.setattr(cpu, "solve", failing)
    result = bl.solve(given, tol=1e-8, device="cpu", method=method)
    assert result.success
    assert result.method == "warm"
    assert f"Method 'warm' replaced {method!r}, which had failed: " in result.message
    assert trusted(result)
    # A small limit of sweeps, which suffices for a warm start.
    few = bl.solve(given, tol=1e-8, device="cpu", method=method, max_sweeps=result.sweeps)
    assert few.success
    assert few.method == "warm"
    # Too few sweeps for any start.
    none = bl.solve(given, tol=1e-8, device="cpu", method=method, max_sweeps=20)
    assert not none.success
    assert none.method == method


@pytest.mark.parametrize("floor", [0.0, 1.0])
def test_ages_have_a_bound(floor: float) -> None:
    result = bl.solve(savings(256, floor, horizon=12), device="cpu", verify=False)
    assert result.success
    assert trusted(result)
    assert result.error_bound > 0.0
    assert result.error_bound < 1e-9


@pytest.mark.parametrize("rise", [10.0, 1e3, 1e5])
def test_shifts_of_steep_starts_stay_in_range(rise: float) -> None:
    given = savings(300, beta=0.99, wealth=1.005 * np.linspace(0, 20, 300)[:, None] + INCOMES)
    given = replace(given, start=np.tile(np.linspace(0, rise, 300)[:, None], (1, STATES)))
    result = bl.solve(given, tol=1e-8, lanes=2, method="shift", device="emulator")
    assert result.success, result.message
    assert "Plain sweeps" not in result.message
    assert trusted(result)


def test_shifts_that_fail_give_way_to_plain_sweeps() -> None:
    given = savings(300, beta=0.99, wealth=1.005 * np.linspace(0, 20, 300)[:, None] + INCOMES)
    given = replace(given, start=np.tile(np.linspace(0, 1e5, 300)[:, None], (1, STATES)))
    plain = bl.solve(given, tol=1e-6, lanes=2, value_bits=45, device="emulator")
    result = bl.solve(given, tol=1e-6, lanes=2, method="shift", value_bits=45, device="emulator")
    assert plain.success
    assert result.success
    assert " Plain sweeps replaced shifted ones, which had failed: A value left the range" in result.message
    assert (result.value == plain.value).all()


@pytest.mark.parametrize("eta", [0.5, 1.0])
@pytest.mark.parametrize("tol", [1e-8, 1e-11])
def test_small_amounts_are_resolved(eta: float, tol: float) -> None:
    grid = np.linspace(0.0, 4e-9, 200)
    wealth = 1.02 * grid[:, None] + np.array([0.8e-9, 1e-9, 1.3e-9])
    given = bl.Problem(
        grid=grid, wealth=wealth, transition=np.full((3, 3), 1 / 3), start=np.zeros((200, 3)), beta=0.96, eta=eta
    )
    result = bl.solve(given, tol=tol, device="emulator")
    assert result.success
    assert result.residual <= tol
    assert trusted(result)
    # If it is not, the message says so.
    rough = bl.solve(given, tol=tol, amount_bits=40, device="emulator")
    assert "rounding an amount by a unit moves the utility of the poorest" in rough.message


def test_amounts_have_the_bits_of_their_doubles() -> None:
    assert [amount_fraction_bits(x) for x in (1e4, 1.0, 0.5, 0.49, 0.25, 1e-9, 1e-40)] == [48, 52, 52, 53, 53, 81, 90]
    image = fixed_point(savings(20), 1e-8)
    assert image.note == ""
