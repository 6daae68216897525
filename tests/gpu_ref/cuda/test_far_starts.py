"""How the host code of a CUDA device handles distant starts, with NumPy in place of CuPy and without kernels."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda import exact_sweeps, sweeps
from beltline.gpu_ref.cuda.layout import layout
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.methods import Arguments, check_arguments, largest_before_shift
from oracle import bellman
from support.cuda_on_cpu import HostArray
from support.threads import one_thread

__all__ = ["one_thread"]


def of_device(table: Any) -> Any:
    return np.array(table).view(HostArray)


class NumpyExact(exact_sweeps.Exact):
    """Exact sweeps on the processor, in place of those of a device."""

    def __init__(self, problem: Arguments) -> None:
        self.cupy = SimpleNamespace(
            where=lambda *a: np.where(*a).view(HostArray), asarray=of_device, abs=np.abs, isfinite=np.isfinite
        )
        self.problem, self.states = problem, problem.W.shape[1]
        self.beta, self.Q = problem.beta, of_device(problem.Q)

    def maximise(self, V: Any) -> tuple[Any, Any]:
        one = self.problem
        value, policy = exact_sweep(one.X, one.W, one.Q, np.asarray(V), one.beta, one.eta)
        return of_device(value), of_device(policy)

    def evaluate(self, V: Any, policy: Any) -> Any:
        one = self.problem
        c = one.W - one.X[np.asarray(policy)]
        ahead = np.take_along_axis(one.beta * np.asarray(V) @ one.Q.T, np.asarray(policy, np.intp), axis=0)
        return of_device(c ** (1 - one.eta) / (1 - one.eta) + ahead)


def savings(points: int, method: str, start: float, **options: Any) -> Arguments:
    X = np.linspace(0.0, 20.0, points)
    W = 1.02 * X[:, None] + np.array([0.6, 1.4])
    Q = np.array([[0.9, 0.1], [0.1, 0.9]])
    V0 = np.full((points, 2), start)
    return check_arguments(X, W, Q, V0, 0.95, 2.0, 1e-8, 10_000, method, options)


def distance(given: Arguments, value: Any) -> float:
    return bellman.distance(bellman.simple(given.X, given.W, given.Q, given.beta, given.eta), value)


@pytest.mark.parametrize("start", [0.0, 1e16, -1e20])
@pytest.mark.parametrize("method", ["mpi", "shift", "warm"])
def test_bounds_hold_wherever_an_iteration_begins(method: str, start: float) -> None:
    given = savings(64, method, start)
    inner = 20 if method == "mpi" else 0
    exact = NumpyExact(given)
    found = exact_sweeps.iterate(exact, given, of_device(given.V0), 0, inner).solution(given)
    assert found.converged
    assert distance(given, found.value) <= found.error_bound < 1e-5 * max(1.0, abs(start) * 1e-14)
    if method != "warm":
        # Shifts lead near the solution at once; the solve is then repeated from there.
        assert found.error_bound < 1e-5


@pytest.mark.parametrize("start", [0.0, 1e10])
def test_largest_value_before_the_shift(start: float) -> None:
    given = savings(64, "shift", start)
    exact = NumpyExact(given)
    V = of_device(given.V0)
    for _ in range(40):
        value, _ = exact.maximise(V)
        residual, shift = exact.measure(value, V, given.rule)
        outcome = [0.0, residual, 0.0, 0.0, np.abs(V).max(), np.abs(value + shift - V).max(), 0.0]
        bound = sweeps.largest_before_shift([given.beta], np.array([outcome]))
        right = max(np.abs(V).max(), np.abs(value).max())
        change = float(np.abs(value - V).max())
        assert right <= bound[0] <= 5.0 * largest_before_shift(np.asarray(value + shift), change, given.Q, given.beta)
        V = value


def test_one_block_has_one_point_a_thread() -> None:
    assert [layout(points, 4, 1, 132).blocks for points in (256, 512, 513, 1024, 2048)] == [1, 1, 3, 4, 8]


@pytest.mark.parametrize("proof", ["none", "ends", "goes on for ever"])
@pytest.mark.parametrize("method", ["warm", "shift"])
@pytest.mark.parametrize("sound", [True, False])
def test_doubt_about_peaks_is_settled_whether_or_not_the_proof_succeeds(
    method: str, proof: str, sound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result is exact although a local search stopped after 5 sweeps, or wrongly reported convergence."""
    given = savings(64, method, 0.0)
    exact = NumpyExact(given)
    exact.cupy.array = exact.cupy.asarray
    V = of_device(given.V0)
    for _ in range(5):
        before, (V, policy) = V, exact.maximise(V)

    def prove(cupy: Any, problem: Arguments, start: Any, first: Any, sweeps: int) -> Any:
        if proof == "none":
            return None
        limited = problem._replace(max_sweeps=10_000 if proof == "ends" else sweeps + 3)
        return exact_sweeps.iterate(exact, limited, of_device(start), sweeps).solution(problem)

    monkeypatch.setattr(exact_sweeps, "Exact", lambda *arguments: exact)
    monkeypatch.setattr(exact_sweeps, "prove", prove)
    none = of_device(np.zeros(1))
    tables: Any = {
        **{key: [none] for key in ("X", "W", "Q")},
        "previous": [before],
        "V0": [of_device(given.V0)],
        "value": [V],
        "policy": [policy],
    }
    found = exact_sweeps.settle(exact.cupy, given, tables, 0, np.array([5.0, 0.0, float(sound), 1.0]))
    assert found.converged
    assert distance(given, found.value) <= found.error_bound
    assert found.exact_sweeps == found.maximising_sweeps - (4 if sound else 0)
