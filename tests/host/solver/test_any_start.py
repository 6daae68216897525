"""Every device accepts any finite start: returned values, loops over ages, transition paths, and convex starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.host.problem.concavity import first_convexity
from support.fakes import BruteDevice

SAVINGS = bl.Problem(
    grid=bl.grid_polynomial(0.0, 20.0, 128, 3.0),
    wealth=1.03 * bl.grid_polynomial(0.0, 20.0, 128, 3.0)[:, None] + np.array([0.3, 1.0, 1.7]),
    transition=[[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]],  # type: ignore[arg-type]
    start=np.zeros((128, 3)),
    beta=0.9,
    eta=2.0,
    name="savings",
)
"""A problem with a borrowing limit that binds, so that values are not concave between grid points."""

DEVICES: dict[str, dict[str, Any]] = {
    "line": {"device": "emulator"},
    "folded line": {"device": "emulator", "fold": 2},
    "lanes": {"device": "emulator", "lanes": 8},
    "shift on lanes": {"device": "emulator", "lanes": 8, "method": "shift"},
    **{method: {"device": "cpu", "method": method} for method in ("warm", "mpi", "shift")},
}

STAGED = ("line", "folded line")

AGES = ("line", "folded line", "warm")
"""Methods that solve problems with a horizon."""


def convex(problem: bl.Problem) -> bool:
    return first_convexity(problem.grid, problem.start, problem.wealth, problem.beta, problem.eta) is not None


@pytest.fixture(scope="module")
def results() -> dict[str, bl.Result]:
    return {name: bl.solve(SAVINGS, tol=1e-6, progress=False, **where) for name, where in DEVICES.items()}


@pytest.mark.parametrize("name", DEVICES)
def test_results_of_every_device_are_starts_of_this_one(name: str, results: dict[str, bl.Result]) -> None:
    for other, before in results.items():
        assert before.success, before.message
        again = replace(SAVINGS, start=before.value)
        assert convex(again), other
        found = bl.solve(again, tol=1e-6, progress=False, **DEVICES[name])
        assert found.success, (other, found.message)
        assert found.verified
        assert found.method in ("", DEVICES[name].get("method"))
        assert np.abs(found.value - before.value).max() <= found.error_bound + before.error_bound
        assert found.sweeps < results[name].sweeps, other
        assert found.problem is again
        assert ("began from the least concave majorant of start" in found.message) == (name in STAGED)


def test_a_loaded_result_can_be_a_start(tmp_path: Path, results: dict[str, bl.Result]) -> None:
    again = replace(SAVINGS, start=results["line"].value)
    found = bl.solve(again, tol=1e-6, device="cpu", progress=False)
    loaded = bl.load(found.save(tmp_path / "a.npz"))
    assert (loaded.problem.start == again.start).all()
    assert bl.solve(loaded.problem, tol=1e-6, device="cpu", progress=False).sweeps == found.sweeps


@pytest.mark.parametrize("name", AGES)
def test_an_age_loop_is_a_horizon(name: str) -> None:
    ages = 12
    whole = bl.solve(replace(SAVINGS, horizon=ages), progress=False, **DEVICES[name])
    assert whole.success, whole.message
    following, bent = SAVINGS.start, 0
    for age in range(ages - 1, -1, -1):
        one = replace(SAVINGS, horizon=1, start=following)
        bent += convex(one)
        found = bl.solve(one, progress=False, **DEVICES[name])
        assert found.success, (age, found.message)
        # The value after the last age is part of the problem, and is never replaced.
        assert "majorant" not in found.message
        assert np.abs(found.value[0] - whole.value[age]).max() <= found.error_bound + whole.error_bound + 1e-9
        following = found.value[0]
    assert bent > 0


def test_an_unsuitable_value_after_the_last_age_is_refused() -> None:
    # A reward for final wealth causes two peaks: the start is kept, verification fails, 'cpu' solves it.
    prize = np.where(SAVINGS.grid > 1.0, 5.0, 0.0)[:, None] + np.zeros(3)
    problem = replace(SAVINGS, horizon=1, start=prize)
    for engine in ({}, {"fold": 2}):
        found = bl.solve(problem, device="emulator", progress=False, **engine)
        assert (found.success, found.status) == (False, "not verified")
        assert "device 'cpu' can" in found.message
        careless = bl.solve(problem, device="emulator", progress=False, verify=False, **engine)
        assert (careless.success, careless.verified) == (False, True)
        assert careless.error_bound < np.inf
    assert bl.solve(problem, device="cpu", progress=False).success


def test_the_machine_is_given_the_majorant() -> None:
    device = BruteDevice(128, 4)
    start = np.sin(SAVINGS.grid)[:, None] + np.zeros(3)
    found = bl.solve(replace(SAVINGS, start=start), device=device, tol=1e-3, max_sweeps=1, progress=False)
    best = bl.solve(
        replace(SAVINGS, start=bl.concave_majorant(start, SAVINGS.grid)), device="cpu", method="warm", max_sweeps=1,
        tol=1e-3, progress=False,
    )  # fmt: skip
    np.testing.assert_allclose(found.value, best.value, atol=1e-9)
