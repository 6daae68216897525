"""The solvers in double precision, called through ``bl.solve``."""

from __future__ import annotations

import importlib
import re
from typing import Any

import numpy as np
import pytest

import beltline as bl
from beltline.gpu_ref import cpu
from beltline.gpu_ref.comparison import Confirmed
from beltline.gpu_ref.cuda import device as cuda_device
from beltline.gpu_ref.cuda import device_confirmation
from beltline.gpu_ref.cuda import solver as cuda
from beltline.gpu_ref.methods import METHODS
from beltline.host.solver import certificate
from beltline.host.solver.reference import BASELINES
from support.fakes import problem


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method: str) -> None:
    given = bl.rbc(grid=128)
    result, model = bl.solve(given, tol=1e-8, device="cpu", method=method), bl.solve(given, tol=1e-8, device="emulator")
    assert (result.success, result.status, result.device, result.method) == (True, "converged", "cpu", method)
    assert np.abs(result.value - model.value).max() <= result.error_bound + model.error_bound
    assert (result.policy == model.policy).all()
    assert result.error_bound < 1e-6
    assert result.value.shape == result.policy.shape == (128, 4)
    assert result.policy.dtype == np.int32
    assert list(result.timing) == ["open", "allocate", "load", "solve", "read", "verify"]


@pytest.mark.parametrize("confirms", [True, False])
def test_what_a_graphics_card_does_not_confirm_is_looked_at_on_the_processor(
    confirms: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    contractions: list[float | None] = []

    class Card:
        def __init__(self, *tables: object) -> None:
            assert len(tables) == 5

        def compare(self, V: object, value: object, policy: object, change: float) -> Confirmed | None:
            asked.append(change)
            return Confirmed(0.0005, 0.00025) if confirms else None

    def solve(*tables: Any, previous: bool, checked: bool, contraction: float | None, **more: Any) -> Any:
        assert not previous
        assert checked
        contractions.append(contraction)
        return cpu.solve(*tables, **more)

    for module in (cuda, cuda_device):
        monkeypatch.setattr(module, "available", lambda: "")
    monkeypatch.setattr(cuda, "solve", solve)
    monkeypatch.setattr(device_confirmation, "Confirmation", Card)
    given = bl.rbc(grid=64)
    small = bl.solve(given, tol=1e-6, device="gpu", method="warm")
    assert small.verified
    assert not asked, "a small problem is compared on the processor"
    monkeypatch.setattr(certificate, "GPU_COMPARES", 256)
    result = bl.solve(given, tol=1e-6, device="gpu", method="warm")
    assert result.success
    assert result.verified
    assert contractions == [None, pytest.approx(given.beta)]
    assert len(asked) == 1
    assert asked[0] == pytest.approx(given.beta * result.change)
    wanted = bl.solve(given, tol=1e-6, device="cpu", method="warm")
    assert result.residual == (0.0005 if confirms else wanted.residual)
    assert result.error_bound == (pytest.approx(0.00075 / (1 - given.beta)) if confirms else wanted.error_bound)


def test_a_change_that_rounding_leaves_is_a_success_that_says_so() -> None:
    grid = np.linspace(0.1, 5.0, 110)
    problem = bl.Problem(
        grid=grid, wealth=grid[:, None] + np.array([0.9, 1.1]), transition=[[0.9, 0.1], [0.1, 0.9]], beta=1 - 1e-9,
        eta=2.0, start=np.zeros((110, 2)),
    )  # fmt: skip
    result = bl.solve(problem, device="cpu", method="mpi", start="coarse", max_sweeps=2000)
    assert result.success
    assert result.verified
    assert re.match(
        r"Half the spread .* is \d\.\d+e-07 after \d+ sweeps, not below 1e-10\. More sweeps may not reduce it, as "
        r"values of up to 1e\+09 are rounded by up to 1\.\d+e-06 in double precision; the error bound includes this\.",
        result.message,
    )
    assert 1e-6 / (1.0 - problem.beta) < result.error_bound < 1e4
    assert re.search(
        r" With beta near 1 all values may be off by .*, and their differences by 0\.\d+\.$", result.message
    )


@pytest.mark.parametrize("method", BASELINES)
def test_published_methods_are_baselines(method: str) -> None:
    """The message names the function that solves by them."""
    given = bl.rbc(grid=16)
    with pytest.raises(bl.ProblemError, match=rf"^method '{re.escape(method)}' is a published baseline") as error:
        bl.solve(given, method=method)
    module, name = str(error.value).rsplit("call ", 1)[1].rsplit(".", 1)
    tables = given.grid, given.wealth, given.transition, given.start, given.beta, given.eta
    assert getattr(importlib.import_module(module), name)(*tables, 1e-3).converged


@pytest.mark.parametrize("method", ["monotone", "macqueen"])
def test_former_methods_lead_to_the_default(method: str) -> None:
    given = bl.rbc(grid=16)
    with pytest.warns(DeprecationWarning, match=rf"^method='{method}' is deprecated: leave method out") as warned:
        result = bl.solve(given, method=method)
    assert warned[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="deprecated"):
        bl.solve_many([given], method=method)
    with bl.open("cpu") as session, pytest.warns(DeprecationWarning, match="deprecated"):
        np.testing.assert_array_equal(session.solve(given, method=method).value, result.value)
    assert result.method == "mpi"


def test_ages_by_other_methods_are_refused() -> None:
    with pytest.raises(bl.ProblemError, match=r"^method of a problem with a horizon must be 'warm', not 'shift'$"):
        bl.solve(problem(30, 3, horizon=6), device="cpu", method="shift")


def test_what_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beltline.gpu_ref.memory.available", lambda: 2**28 + 1000)
    with pytest.raises(bl.ProblemError, match=r"^method 'warm' on 4,096 x 4 states needs 0\.00 GiB, more than"):
        bl.solve(bl.rbc(grid=4096), device="cpu", method="warm")
    # For less than a megabyte, the free memory is not checked.
    assert bl.solve(bl.rbc(grid=64), device="cpu").success


def test_without_a_graphics_card(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("beltline.gpu_ref.cuda.solver")
    monkeypatch.setattr(module, "available", lambda: "CUDA finds no device on this computer.")
    with pytest.raises(bl.DeviceError, match=r"^device 'gpu' cannot be used: CUDA finds no device on this computer\.$"):
        bl.solve(bl.rbc(grid=16), device="gpu")


@pytest.mark.parametrize("beta", [0.999, 0.9999, 1.0 - 1e-6])
def test_slow_methods_are_replaced_where_the_state_is_hardly_forgotten(beta: float) -> None:
    """Three permanent types, and two states that follow each other without chance."""
    grid = np.linspace(0.1, 20.0, 40)
    for chain in (np.eye(3), np.array([[0.0, 1.0], [1.0, 0.0]])):
        wealth = grid[:, None] + np.linspace(0.3, 2.0, chain.shape[0])
        given = bl.Problem(
            grid=grid, wealth=wealth, transition=chain, start=np.zeros(wealth.shape), beta=beta, eta=4.0
        )  # fmt: skip
        found = bl.solve(given, progress=False)
        assert found.success, found.message
        assert found.verified
        wanted = bl.solve(bl.from_discrete_dp(*bl.to_discrete_dp(given)), progress=False)
        gap = np.abs(found.value.ravel() - wanted.value.ravel()).max()
        assert gap <= found.error_bound + wanted.error_bound
        for method in ("warm", "shift"):
            named = bl.solve(given, device="cpu", method=method, progress=False)
            assert named.success, named.message
            if named.method == "brackets":
                assert f"Method 'brackets' replaced {method!r}, which had failed: " in named.message
        limited = bl.solve(given, device="cpu", method="warm", max_sweeps=5, progress=False)
        assert (limited.status, limited.sweeps) == ("sweep limit reached", 5)
