"""How the host code of a CUDA device handles distant starts, with NumPy in place of CuPy and without kernels."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.coarse import coarse_start
from beltline.gpu_ref.cuda import exact_sweeps, start, sweeps
from beltline.gpu_ref.cuda.layout import layout
from beltline.gpu_ref.cuda.start import replace_bad_starts
from beltline.gpu_ref.exact import exact_sweep
from beltline.gpu_ref.extended import solve as solve_extended
from beltline.gpu_ref.methods import Arguments, check_arguments, largest_before_shift, stay_start
from support.cuda_on_cpu import HostArray
from support.threads import one_thread

__all__ = ["one_thread"]


def of_device(table: Any) -> Any:
    return np.array(table).view(HostArray)


class NumpyExact(exact_sweeps.Exact):
    """Sweeps on the processor."""

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


@pytest.mark.parametrize("start", [0.0, 1e16, -1e20])
@pytest.mark.parametrize("method", ["mpi", "macqueen", "shift", "warm"])
def test_bounds_hold_wherever_an_iteration_begins(method: str, start: float) -> None:
    given = savings(64, method, start)
    inner = given.options.get("inner", 0)
    exact = NumpyExact(given)
    found = exact_sweeps.iterate(exact, given, of_device(given.V0), 0, inner).solution(given)
    true = solve_extended(given.X, given.W, given.Q, given.beta, given.eta).value
    assert found.converged
    assert float(np.abs(found.value - true).max()) <= found.error_bound < 1e-5 * max(1.0, abs(start) * 1e-14)
    if method != "warm":
        # Shifts lead near the solution at once; the solve is then repeated from there.
        assert found.error_bound < 1e-5


@pytest.mark.parametrize("method", ["macqueen", "shift"])
@pytest.mark.parametrize("start", [0.0, 1e10])
def test_largest_value_before_the_shift(method: str, start: float) -> None:
    given = savings(64, method, start)
    exact = NumpyExact(given)
    V = of_device(given.V0)
    for _ in range(40):
        value, _ = exact.maximise(V)
        residual, shift = exact.measure(value, V, given.rule)
        tables: Any = SimpleNamespace(problems=[given], previous=V[None], value=(value + shift).view(HostArray)[None])
        bound = sweeps._largest(exact.cupy, tables, np.array([residual]))
        right = max(np.abs(V).max(), np.abs(value).max())
        change = float(np.abs(value - V).max())
        assert right <= bound[0] <= 5.0 * largest_before_shift(np.asarray(value + shift), change, given.Q, given.beta)
        V = value


def kinked(beta: float) -> Arguments:
    X = np.linspace(0.0, 30.0, 1100)
    W = np.repeat(((X + 0.01) ** 0.36 + 0.9 * X + 0.05)[:, None], 2, axis=1)
    Q = np.array([[0.9, 0.1], [0.1, 0.9]])
    return check_arguments(X, W, Q, np.zeros(W.shape), beta, 8.0, 1e-6, 10_000, "shift", {"start": "coarse"})


def replaced(problems: list[Arguments], starts: list[Any]) -> tuple[Any, Any]:
    """Return starts and guesses of a batch after the check."""
    V0 = np.array(starts)
    policy = np.ones(V0.shape, np.int32)
    tables = np.array([one.X for one in problems]), np.array([one.W for one in problems])
    replace_bad_starts(np, problems, *tables, V0, policy)
    return V0, policy


def test_coarse_starts_far_from_any_solution_are_replaced() -> None:
    given = kinked(0.96)
    drawn = coarse_start(given.X, given.W, given.Q, given.beta, given.eta, given.epsilon)
    assert np.abs(drawn).max() > 1e10
    V0, policy = replaced([given], [drawn])
    np.testing.assert_allclose(V0[0], stay_start(given.X, given.W, given.beta, given.eta), rtol=1e-13)
    assert (policy == 550).all()


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0, 8.0])
def test_starts_that_may_be_near_a_solution_are_used(eta: float) -> None:
    X = np.geomspace(1.0, 20.0, 1100)
    W = X[:, None] ** 0.36 + 0.9 * X[:, None] + np.array([0.3, 0.5])
    Q = np.array([[0.9, 0.1], [0.1, 0.9]])
    given = check_arguments(X, W, Q, np.zeros(W.shape), 0.96, eta, 1e-8, 10_000, "shift", {"start": "coarse"})
    drawn = coarse_start(given.X, given.W, given.Q, given.beta, given.eta, given.epsilon)
    V0, policy = replaced([given], [drawn])
    np.testing.assert_array_equal(V0[0], drawn)
    assert (policy == 1).all()


@pytest.mark.parametrize("at_a_time", [1, 2**22])
def test_each_problem_of_a_batch_is_checked_by_itself(at_a_time: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start, "_AT_A_TIME", at_a_time)
    far = kinked(0.96)
    batch = [far, *(dataclasses.replace(far, eta=eta) for eta in (1.0, 2.0)), dataclasses.replace(far, start="given")]
    near = [stay_start(one.X, one.W, one.beta, one.eta) for one in batch]
    drawn = coarse_start(far.X, far.W, far.Q, far.beta, far.eta, far.epsilon)
    V0, policy = replaced(batch, [drawn, near[1], drawn, drawn])
    for i in (0, 2):
        np.testing.assert_allclose(V0[i], near[i], rtol=1e-13)
    np.testing.assert_array_equal(V0[1], near[1])
    np.testing.assert_array_equal(V0[3], drawn)
    assert [choices.min() for choices in policy] == [choices.max() for choices in policy] == [550, 1, 550, 1]


def test_one_block_has_one_point_a_thread() -> None:
    assert [layout(points, 4, 1, 132).blocks for points in (256, 512, 513, 1024, 2048)] == [1, 1, 3, 4, 8]


@pytest.mark.parametrize("proof", ["none", "ends", "goes on for ever"])
@pytest.mark.parametrize("method", ["warm", "shift"])
@pytest.mark.parametrize("sound", [True, False])
def test_doubt_about_peaks_is_settled_whether_or_not_the_proof_succeeds(
    method: str, proof: str, sound: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A local search stopped after 5 sweeps, or reported convergence that it had not reached."""
    given = savings(64, method, 0.0)
    exact = NumpyExact(given)
    exact.cupy.array = exact.cupy.asarray
    V = of_device(given.V0)
    for _ in range(5):
        before, (V, policy) = V, exact.maximise(V)

    def prove(cupy: Any, problem: Arguments, start: Any, first: Any, sweeps: int) -> Any:
        if proof == "none":
            return None
        limited = dataclasses.replace(problem, max_sweeps=10_000 if proof == "ends" else sweeps + 3)
        return exact_sweeps.iterate(exact, limited, of_device(start), sweeps).solution(problem)

    monkeypatch.setattr(exact_sweeps, "Exact", lambda *arguments: exact)
    monkeypatch.setattr(exact_sweeps, "prove", prove)
    none = of_device(np.zeros(1))
    tables: Any = SimpleNamespace(
        X=[none], W=[none], Q=[none], previous=[before], V0=[of_device(given.V0)], value=[V], policy=[policy]
    )
    found = exact_sweeps.settle(exact.cupy, given, tables, 0, np.array([5.0, 0.0, float(sound), 1.0]))
    true = solve_extended(given.X, given.W, given.Q, given.beta, given.eta).value
    assert found.converged
    assert float(np.abs(found.value - true).max()) <= found.error_bound
    assert found.exact_sweeps == found.maximising_sweeps - (4 if sound else 0)
