"""Tauchen's chain against numerical integration of the normal density at 30 digits, Rouwenhorst's by its moments."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import beltline as bl
from beltline.host.problem.markov import rouwenhorst_by_age


@pytest.mark.parametrize(
    ("n", "rho", "sigma", "mean", "width"),
    [
        (4, 0.95, 0.005, 0.0, 3.0),
        (9, 0.99, 0.02058, 0.0, 1.5),
        (2, 0.0, 1.0, 2.0, 3.0),
        (5, -0.6, 0.3, -1.0, 2.0),
        (7, 0.9, 10.0, 0.0, 4.0),
    ],
)
def test_against_integration(n: int, rho: float, sigma: float, mean: float, width: float) -> None:
    grid, transition = bl.tauchen(n, rho, sigma, mean, width)
    with mpmath.workdps(30):
        r, sd = mpmath.mpf(rho), mpmath.mpf(sigma)
        half = width * sd / mpmath.sqrt(1 - r**2)
        points = [mean - half + 2 * half * i / (n - 1) for i in range(n)]
        step = points[1] - points[0]
        for i in range(n):
            assert abs(grid[i] - points[i]) <= 4e-16 * float(abs(mean) + half)
            centre = mean * (1 - r) + r * points[i]
            for j in range(n):
                low = (points[j] - step / 2 - centre) / sd if j > 0 else mpmath.mpf(-60)
                high = (points[j] + step / 2 - centre) / sd if j < n - 1 else mpmath.mpf(60)
                # The mass of an interval in the tail is nearly all at its end next to the centre.
                start, end = max(low, min(high, 0) - 20), min(high, max(low, 0) + 20)
                # Quadrature has an absolute error; divided by the largest density the error is relative.
                top = min(max(mpmath.mpf(0), start), end)
                exact = mpmath.npdf(top) * mpmath.quad(
                    lambda y, top=top: mpmath.exp((top - y) * (top + y) / 2),
                    mpmath.linspace(start, end, 3 + int(end - start)),
                )
                # Arguments in the tails are rounded in double precision: the relative error grows with their square.
                far = float(max(abs(low), abs(high)) if 0 < j < n - 1 else min(abs(low), abs(high)))
                assert transition[i, j] == pytest.approx(float(exact), rel=1e-15 * (20 + far**2), abs=1e-300)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9, 16, 101])
def test_rows_sum_to_one_and_nothing_is_negative(n: int) -> None:
    grid, transition = bl.tauchen(n, 0.95, 0.005)
    assert grid.shape == (n,)
    assert transition.shape == (n, n)
    assert np.abs(transition.sum(axis=1) - 1).max() <= 2.3e-16
    assert transition.min() >= 0
    assert np.allclose(transition, transition[::-1, ::-1], rtol=1e-12, atol=0)


def test_one_state_is_the_mean() -> None:
    grid, transition = bl.tauchen(1, 0.5, 0.1, mean=0.25)
    assert grid.tolist() == [0.25]
    assert transition.tolist() == [[1.0]]


@pytest.mark.parametrize(("n", "rho", "sigma"), [(2, 0.9, 0.1), (4, 0.95, 0.005), (7, -0.6, 1.0), (41, 0.999, 0.02)])
def test_rouwenhorst_has_the_moments_of_the_process(n: int, rho: float, sigma: float) -> None:
    grid, transition = bl.rouwenhorst(n, rho, sigma, mean=0.5)
    assert grid.shape == (n,)
    assert transition.min() >= 0
    assert np.abs(transition.sum(axis=1) - 1).max() <= 1e-15
    # In the long run states have the distribution of the number of heads of n - 1 fair coins.
    weights = np.array([mpmath.binomial(n - 1, heads) * mpmath.mpf(2) ** (1 - n) for heads in range(n)], dtype=float)
    assert weights @ transition == pytest.approx(weights, abs=1e-14)
    off = grid - 0.5
    variance = sigma**2 / (1 - rho**2)
    assert weights @ off == pytest.approx(0.0, abs=1e-13 * np.abs(off).max())
    assert weights @ off**2 == pytest.approx(variance, rel=1e-12)
    # Expectation and variance given today's state are those of the process in every state, not only on average.
    assert transition @ off == pytest.approx(rho * off, abs=1e-12 * np.abs(off).max())
    assert (weights * (transition @ off**2 - (rho * off) ** 2)).sum() == pytest.approx(sigma**2, rel=1e-9)


def test_rouwenhorst_of_one_and_two_states() -> None:
    assert [part.tolist() for part in bl.rouwenhorst(1, 0.5, 0.1, mean=0.25)] == [[0.25], [[1.0]]]
    grid, transition = bl.rouwenhorst(2, 0.5, 0.6)
    assert transition.tolist() == [[0.75, 0.25], [0.25, 0.75]]
    assert grid == pytest.approx([-0.6 / 0.75**0.5, 0.6 / 0.75**0.5], rel=1e-15)


@pytest.mark.parametrize(("n", "rho"), [(2, 1.0), (5, 1.0), (7, 0.9), (4, -0.5), (1, 1.0)])
def test_a_chain_by_age_has_the_moments_of_its_process(n: int, rho: float) -> None:
    sigma = np.array([0.3, 0.1, 0.2, 0.05, 0.4])
    grid, transition = rouwenhorst_by_age(n, rho, sigma)
    assert grid.shape == (5, n)
    assert transition.shape == (4, n, n)
    assert transition.sum(axis=2) == pytest.approx(1.0, rel=1e-14)
    weights = np.array([math.comb(n - 1, k) for k in range(n)]) / 2.0 ** (n - 1)
    variance = 0.0
    for age in range(5):
        variance = rho**2 * variance + sigma[age] ** 2
        if n > 1:
            assert weights @ grid[age] ** 2 == pytest.approx(variance, rel=1e-13)
        if age < 4:
            # Conditional mean and variance of the next age.
            mean = transition[age] @ grid[age + 1]
            assert mean == pytest.approx(rho * grid[age], abs=1e-14)
            spread = weights @ (transition[age] @ grid[age + 1] ** 2 - mean**2)
            if n > 1:
                assert spread == pytest.approx(sigma[age + 1] ** 2, rel=1e-12)
            weights = weights @ transition[age]


def test_a_chain_by_age_becomes_that_of_all_ages() -> None:
    grid, transition = rouwenhorst_by_age(5, 0.8, [0.2] * 200)
    wanted = bl.rouwenhorst(5, 0.8, 0.2)
    assert grid[-1] == pytest.approx(wanted[0], rel=1e-13)
    assert transition[-1] == pytest.approx(wanted[1], rel=1e-13)
