"""Whatever a CUDA device confirms, the processor confirms, too. Skipped, with the reason, if there is no device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from beltline.gpu_ref import cpu
from beltline.gpu_ref.confirmation import confirmed as on_processor
from beltline.gpu_ref.cuda import solver
from beltline.gpu_ref.cuda.device import available, cupy_module
from beltline.gpu_ref.cuda.device_confirmation import Comparisons, Confirmation
from beltline.gpu_ref.tables import expectation
from beltline.gpu_ref.utility import crra_utility
from oracle import bellman
from support.concave_problems import random_problem
from support.proven_sweep import proven_sweep

pytestmark = pytest.mark.skipif(bool(available()), reason=available() or "there is a device")

ROUNDING = 1e-12
"""Relative tolerance: power and logarithm of the device differ from the C library's by a unit in the last place."""


def drawn(seed: int, points: int, states: int = 3, kind: str = "general") -> tuple[Any, ...]:
    return random_problem(np.random.default_rng(seed), points, states, kind=kind).arguments


def concave(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    X = np.geomspace(1.0, 20.0, 1100)
    W = X[:, None] ** 0.36 + 0.9 * X[:, None] + np.sort(rng.uniform(0.3, 0.8, 3))
    Q = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    return X, W, Q, np.zeros(W.shape), float(rng.uniform(0.9, 0.96)), float(rng.choice([0.5, 1.0, 2.0, 3.5]))


@pytest.mark.parametrize("kind", ["general", "ties"])
@pytest.mark.parametrize("points", [2, 30, 255, 256, 257, 1300])
def test_an_exact_sweep_is_confirmed_as_on_the_processor(points: int, kind: str) -> None:
    confirmed = 0
    for seed in range(12):
        X, W, Q, V, beta, eta = tables = drawn(seed, points, kind=kind)
        sweep = proven_sweep(*tables)
        if (sweep.policy < 0).any():
            continue
        found = Confirmation(X, W, Q, beta, eta).compare(V, sweep.value, sweep.policy, 0.0)
        other = on_processor(*tables, sweep.value, sweep.policy, 0.0)
        if found is None or other is None:
            continue
        confirmed += 1
        size = 1.0 + np.abs(sweep.value).max()
        assert abs(found.residual - other.residual) <= ROUNDING * size
        assert 0.9 * other.rounding <= found.rounding <= 4.0 * other.rounding + 1e-12 * size
    assert confirmed >= 4


def test_choices_of_the_sweep_before_are_repaired() -> None:
    repaired = 0
    for seed in range(20):
        X, W, Q, V, beta, eta = tables = drawn(seed, 700)
        sweep = proven_sweep(*tables)
        policy = sweep.policy.copy()
        rng = np.random.default_rng(seed)
        for x, s in zip(rng.integers(1, 699, 40), rng.integers(0, 3, 40), strict=True):
            policy[x, s] = policy[x - 1, s]
        found = Confirmation(X, W, Q, beta, eta).compare(V, sweep.value, policy, 1e9)
        if found is not None and (policy != sweep.policy).any():
            repaired += 1
            assert found.residual <= ROUNDING * (1.0 + np.abs(sweep.value).max())
    assert repaired > 10


@pytest.mark.parametrize("seed", range(12))
def test_faults_are_never_confirmed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, W, Q, V, beta, eta = tables = drawn(seed, 600)
    sweep = proven_sweep(*tables)
    card = Confirmation(X, W, Q, beta, eta)
    allowed = 1e-9
    for _ in range(10):
        value, policy = sweep.value.copy(), sweep.policy.copy()
        for _ in range(rng.integers(1, 4)):
            x, s = rng.integers(600), rng.integers(3)
            if rng.random() < 0.5:
                value[x, s] += rng.choice([1e-12, -1e-10, 1e-8, -1e-3, np.nan])
            else:
                policy[x, s] = policy[x, s] + rng.integers(-3, 4)
        own = np.clip(policy, 0, 599)
        with np.errstate(invalid="ignore"):
            chosen = crra_utility(W - X[own], eta) + expectation(Q, V, beta)[np.arange(3), own]
        wrong = (policy != own).any() | ~(np.abs(sweep.value - value) <= 1.01 * allowed).all()
        if wrong or (sweep.value - chosen > 2.01 * allowed).any():
            assert card.compare(V, value, policy, allowed) is None


@pytest.mark.parametrize("eta", [0.5, 1.0, 2.0, 6.0])
def test_the_bound_holds_of_a_solution_with_jumps(eta: float) -> None:
    """The bound holds and a wrong value is found where the brackets of jumps are wide, so that a whole warp searches
    each.
    """
    X = np.linspace(0.0, 50.0, 900)
    steps = np.random.default_rng(1).random((12, 3)).cumsum(axis=0)
    W = 1.02 * X[:, None] + np.array([0.4, 1.0, 1.6]) + steps[np.searchsorted(np.linspace(0.0, 50.0, 13)[1:-1], X)]
    Q = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    solution = cpu.solve(X, W, Q, np.zeros(W.shape), 0.95, eta, 1e-10)
    value, policy = solution.value, solution.policy
    found = Confirmation(X, W, Q, 0.95, eta).compare(value, value, policy, 1e-8)
    assert found is not None
    assert (found.residual + found.rounding) / 0.05 >= bellman.distance(bellman.simple(X, W, Q, 0.95, eta), value)
    assert np.diff(policy, axis=0).max() > 16
    value[400, 1] += 1e-6
    assert Confirmation(X, W, Q, 0.95, eta).compare(value, value, policy, 1e-8) is None


def test_tables_out_of_order_are_left_to_the_processor() -> None:
    X, W, Q, V, beta, eta = tables = drawn(0, 300)
    sweep = proven_sweep(*tables)
    W = W.copy()
    W[100, 1] = W[99, 1] - 1e-3
    assert Confirmation(X, W, Q, beta, eta).compare(V, sweep.value, sweep.policy, 1e9) is None


def test_problems_of_one_launch_are_compared_each_by_itself() -> None:
    """Some need repairs, some have a fault, and tolerances differ."""
    cupy, points, answers = cupy_module(), 600, []
    names, of_all = ("X", "W", "Q", "V", "value", "policy"), []
    numbers, allowances = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, W, Q, V, beta, eta = drawn(seed, points)
        sweep = proven_sweep(X, W, Q, V, beta, eta)
        value, policy = sweep.value.copy(), np.ascontiguousarray(sweep.policy)
        if seed % 3 == 1:
            for x in rng.integers(1, points, 30):
                policy[x] = policy[x - 1]
        if seed % 4 == 3:
            value[rng.integers(points), 1] += 1e-3
        allowed = np.inf if seed == 8 else 1e9 if seed % 3 == 1 else 1e-9
        answers.append(Confirmation(X, W, Q, beta, eta).compare(V, value, policy, allowed))
        of_all.append((X, W, Q, V, value, policy))
        numbers.append((beta, eta))
        allowances.append(allowed)
    assert {answer is None for answer in answers} == {True, False}
    tables = {name: [cupy.asarray(one[i]) for one in of_all] for i, name in enumerate(names)}
    cupy.cuda.get_current_stream().synchronize()
    comparisons = Comparisons(points, 3, numbers)
    places = {name: np.array([one.data.ptr for one in each], np.uint64) for name, each in tables.items()}
    comparisons.begin(places, allowances)
    for found, answer in zip(comparisons.end(), answers, strict=True):
        assert (found is None) == (answer is None)
        if found is not None and answer is not None:
            # A batch with several curvatures is compiled for any of them.
            # The device does not return repaired choices.
            answer = answer._replace(policy=None)
            assert found == pytest.approx(answer, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("method", ["warm", "shift"])
@pytest.mark.parametrize("count", [1, 5])
def test_a_solve_compares_the_result_that_it_returns(method: str, count: int) -> None:
    problems = [concave(seed) for seed in range(count)]
    moduli = [tables[4] for tables in problems]
    if count == 1:
        found = [solver.solve(*problems[0], 1e-9, method=method, contraction=moduli[0])]
    else:
        found = solver.solve_batch(problems, 1e-9, method=method, contractions=moduli)
    for (X, W, Q, _, beta, eta), one in zip(problems, found, strict=True):
        wanted = Confirmation(X, W, Q, beta, eta).compare(one.value, one.value, one.policy, beta * one.residual)
        assert one.compared is not None
        assert wanted is not None
        wanted = wanted._replace(policy=None)
        assert one.compared == (wanted if count == 1 else pytest.approx(wanted, rel=1e-12, abs=1e-13))
        assert one.complete


def test_faults_of_a_solve_are_not_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results that change after the last sweep, and tables that a solver has overwritten."""
    from beltline.gpu_ref.cuda import sweeps

    X, W, Q, V, beta, _ = concave(1)
    launch = sweeps._launch_sweeps
    place: dict[str, Any] = {}

    def faulty(given: Any, problems: Any, tables: Any, *rest: Any) -> None:
        if place["when"] == "before":
            tables[place["name"]][...] += place["by"]
        launch(given, problems, tables, *rest)
        if place["when"] == "after":
            tables[place["name"]][0, 500, 1] += place["by"]

    monkeypatch.setattr(sweeps, "_launch_sweeps", faulty)
    for when, name, by, right in (
        ("after", "value", 0.0, True), ("after", "value", 1e-6, False), ("after", "policy", 1, False),
        ("after", "W", 0.5, True), ("before", "W", 1e-3, False),
    ):  # fmt: skip
        place.update(when=when, name=name, by=by)
        found = solver.solve(X, W, Q, V, beta, 2.0, 1e-9, method="warm", contraction=beta)
        assert (found.compared is not None) == right, (when, name, by)
