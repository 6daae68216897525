"""Compare the error bounds of all solvers in double precision with errors in extended precision."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref import cpu
from beltline.gpu_ref.methods import largest_value, modulus, shifts, sweep_rounding
from beltline.gpu_ref.published import iteration
from oracle import bellman
from support.concave_problems import random_problem

precise = pytest.mark.skipif(bellman.EPS > 1e-18, reason="numpy.longdouble is a double here")


@precise
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_counts_rounding(seed: int) -> None:
    """The bound covers rounding, which is all that remains once values no longer change."""
    X, W, Q, V0, beta, eta = random_problem(np.random.default_rng(seed), 30).arguments
    found = cpu.solve(X, W, Q, V0, beta, eta, 0.0, 5000)
    assert found.residual <= 1e-13 * largest_value(found.value)
    assert 0.0 < bellman.distance(bellman.simple(X, W, Q, beta, eta), found.value) <= found.error_bound


@precise
def test_the_bound_adds_up_all_sweeps_to_come() -> None:
    X, W, Q, V0, _, eta = random_problem(np.random.default_rng(3), 30).arguments
    beta = 0.98
    found = iteration.solve(X, W, Q, np.full(V0.shape, 1e3), beta, eta, 1e-3)
    distance = bellman.distance(bellman.simple(X, W, Q, beta, eta), found.value)
    assert 20.0 * found.residual < distance <= found.error_bound


@precise
@pytest.mark.parametrize("seed", range(6))
def test_a_sweep_rounds_no_more_than_its_bound(seed: int) -> None:
    X, W, Q, V0, beta, eta = random_problem(np.random.default_rng(seed), 30).arguments
    value, _, _ = cpu.solve_ages(X, W, Q, V0, beta, eta, 1)
    distance = bellman.distance(bellman.simple(X, W, Q, beta, eta, 1), value, V0)
    largest = max(largest_value(V0), largest_value(value))
    assert 0.0 < distance <= sweep_rounding(largest, Q.shape[0], eta)


def test_shifts_are_the_sum_of_all_sweeps_to_come() -> None:
    Q = np.array([[0.7, 0.3], [0.1, 0.9]])
    middle = np.array([1.0, -2.0])
    total, term = np.zeros(2), middle
    for _ in range(2000):
        term = 0.95 * Q @ term
        total += term
    assert shifts(middle, Q, 0.95) == pytest.approx(total, rel=1e-12)


def test_the_modulus_is_that_of_the_largest_row() -> None:
    assert modulus(np.array([[0.5, 0.4], [0.5, 0.6]]), 0.5) == pytest.approx(0.55)
    assert modulus(np.array([[0.5, 0.6], [0.5, 0.4]]), 0.5) == pytest.approx(0.55)
