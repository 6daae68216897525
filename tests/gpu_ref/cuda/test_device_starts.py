"""Starting values and largest values of a solve, on a CUDA device. Skipped, with the reason, without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref.cuda.device import available, cupy_module
from beltline.gpu_ref.cuda.device_tables import Tables
from beltline.gpu_ref.cuda.kernels import extremes_kernels
from beltline.gpu_ref.cuda.layout import Layout
from beltline.gpu_ref.cuda.start import Start
from beltline.gpu_ref.methods import Arguments, check_arguments, stay_start
from beltline.gpu_ref.starts import nested_start

pytestmark = pytest.mark.skipif(bool(available()), reason=available() or "there is a device")


def kinked(beta: float) -> Arguments:
    X = np.linspace(0.0, 30.0, 1100)
    W = np.repeat(((X + 0.01) ** 0.36 + 0.9 * X + 0.05)[:, None], 2, axis=1)
    Q = np.array([[0.9, 0.1], [0.1, 0.9]])
    return check_arguments(X, W, Q, np.zeros(W.shape), beta, 8.0, 1e-6, 10_000, "shift", {"start": "coarse"})


def on_device(problems: list[Arguments], previous: bool = False, start: Start | None = None) -> Tables:
    more = {} if start is None else start.tables()
    tables = Tables(cupy_module(), problems, Layout(32, 1, 1, 1, 1, problems[0].X.size), previous, True, more=more)
    tables.load()
    if start is not None:
        start.load(tables)
    return tables


def replaced(problems: list[Arguments], starts: list[Any]) -> tuple[Any, Any]:
    """Return starts and guesses of a batch after the test."""
    start = Start(cupy_module(), problems)
    tables = on_device(problems, start=start)
    tables["V0"].set(np.array(starts))
    tables["policy"].fill(1)
    start.replace_bad(tables)
    return tables["V0"].get(), tables["policy"].get()


def test_coarse_starts_far_from_any_solution_are_replaced() -> None:
    given = kinked(0.96)
    drawn = np.linspace(-1e12, 1e12, given.W.size).reshape(given.W.shape)
    V0, policy = replaced([given], [drawn])
    np.testing.assert_allclose(V0[0], stay_start(given.X, given.W, given.beta, given.eta), rtol=1e-13)
    assert (policy == 550).all()


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0, 8.0])
def test_starts_that_may_be_near_a_solution_are_used(eta: float) -> None:
    X = np.geomspace(1.0, 20.0, 1100)
    W = X[:, None] ** 0.36 + 0.9 * X[:, None] + np.array([0.3, 0.5])
    Q = np.array([[0.9, 0.1], [0.1, 0.9]])
    given = check_arguments(X, W, Q, np.zeros(W.shape), 0.96, eta, 1e-8, 10_000, "shift", {"start": "coarse"})
    drawn = nested_start(given.X, given.W, given.Q, given.beta, given.eta, given.epsilon, given.V0)
    V0, policy = replaced([given], [drawn])
    np.testing.assert_array_equal(V0[0], drawn)
    assert (policy == 1).all()


def test_each_problem_of_a_batch_is_checked_by_itself() -> None:
    far = kinked(0.96)
    batch = [far, *(far._replace(eta=eta) for eta in (1.0, 2.0)), far._replace(start="given")]
    near = [stay_start(one.X, one.W, one.beta, one.eta) for one in batch]
    drawn = np.linspace(-1e12, 1e12, far.W.size).reshape(far.W.shape)
    V0, policy = replaced(batch, [drawn, near[1], drawn, drawn])
    for i in (0, 2):
        np.testing.assert_allclose(V0[i], near[i], rtol=1e-13)
    np.testing.assert_array_equal(V0[1], near[1])
    np.testing.assert_array_equal(V0[3], drawn)
    assert [choices.min() for choices in policy] == [choices.max() for choices in policy] == [550, 1, 550, 1]


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("stored", [True, False])
def test_largest_values_of_each_problem(count: int, stored: bool) -> None:
    rng = np.random.default_rng(count)
    tables = on_device([kinked(0.96)] * count, stored)
    value, previous = rng.normal(size=(2, count, 1100, 2)) * 10.0 ** rng.integers(-3, 4, (2, count, 1, 1))
    value[0, 1099, 1] = previous[0, 0, 1] = np.nan
    previous[-1, 500, 0] = -np.inf
    policy = np.zeros(value.shape, np.int32)
    policy[1:2, 700, 1] = -1
    tables["policy"].set(policy)
    tables["value"].set(value)
    if stored:
        tables["previous"].set(previous)
    tables["outcome"].fill(0.0)
    extremes_kernels(0)[0]((3, min(count, 2)), (256,), (tables.rows, np.int32(count), np.int64(2200)))
    found = tables["outcome"].get()
    for i in range(count):
        steps = np.abs(value[i] - previous[i])
        wanted = [np.abs(table[np.isfinite(table)]).max() for table in (previous[i], steps)] if stored else [0.0, 0.0]
        largest = np.abs(value[i]).max() if np.isfinite(value[i]).all() else np.inf
        assert found[i].tolist() == [0.0] * 4 + [*wanted, largest, float(i == 1), 0.0, 0.0]


@pytest.mark.parametrize("states", [1, 2])
@pytest.mark.parametrize("start", ["stay", "coarse"])
def test_starts_of_checked_tables_are_those_of_tables_that_are_checked(start: str, states: int) -> None:
    """Whether every state can stay at its point is then found out on the device."""
    rng = np.random.default_rng(states)
    X = np.linspace(0.5, 30.0, 1100)
    Q = np.full((states, states), 1.0 / states)
    lowest = [1e-3, 0.0, -0.5, 1e-320, 2.0]
    batch, known = [], []
    for least in lowest:
        left = np.repeat(0.5 * np.abs(X - X[rng.integers(X.size)])[:, None], states, axis=1) + rng.random(states)
        left += least - left.min()
        problem = X, np.ascontiguousarray(X[:, None] + left), Q, rng.normal(size=left.shape), 0.9, 2.0
        for checked, group in ((False, known), (True, batch)):
            group.append(check_arguments(*problem, 1e-8, 100, "shift", {"start": start}, checked=checked))
    assert [one.start for one in batch] == [start] * 5
    assert not any(one.stays for one in batch)
    ready = Start(cupy_module(), batch)
    tables = on_device(batch, start=ready)
    assert (
        [one.start for one in ready.problems]
        == [one.start for one in known]
        == [start, "given", "given", "given", start]
    )
    assert tables["given"].get().tolist() == [0, 1, 1, 1, 0]
    for i in (1, 2, 3):
        np.testing.assert_array_equal(tables["V0"][i].get(), batch[i].V0)
