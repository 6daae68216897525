"""The real business cycle model against its formulas at 40 digits, and parameters that it refuses."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import beltline as bl


@pytest.mark.parametrize(
    ("points", "changes"),
    [(1024, {}), (65_536, {}), (33, {"eta": 1.0}), (64, {"eta": 5.0, "alpha": 0.3, "delta": 0.02, "states": 3})],
)
def test_tables(points: int, changes: dict[str, float]) -> None:
    problem = bl.rbc(grid=points, **changes)  # type: ignore[arg-type]
    given = {"beta": 0.984, "eta": 2.0, "alpha": 0.35, "delta": 0.01, "rho": 0.95, "sigma": 0.005, "states": 4}
    given |= changes
    n = int(given["states"])
    assert problem.wealth.shape == problem.start.shape == (points, n)
    assert (problem.beta, problem.eta) == (given["beta"], given["eta"])
    with mpmath.workdps(40):
        beta, eta, alpha, delta, rho, sigma = (
            mpmath.mpf(given[name]) for name in ("beta", "eta", "alpha", "delta", "rho", "sigma")
        )
        half = 3 * sigma / mpmath.sqrt(1 - rho**2)
        z = [mpmath.exp(-half + 2 * half * s / (n - 1)) for s in range(n)]
        steady = [((1 / beta - 1 + delta) / (alpha * v)) ** (1 / (alpha - 1)) for v in z]
        low, high = mpmath.mpf(0.95) * steady[0], mpmath.mpf(1.05) * steady[-1]
        for i in (0, 1, points // 3, points - 1):
            k = low + (high - low) * i / (points - 1)
            assert problem.grid[i] == pytest.approx(float(k), rel=3e-15)
            for s in range(n):
                wealth = z[s] * k**alpha + (1 - delta) * k
                assert problem.wealth[i, s] == pytest.approx(float(wealth), rel=3e-15)
                c = z[s] * steady[s] ** alpha - delta * steady[s]
                utility = mpmath.log(c) if eta == 1 else c ** (1 - eta) / (1 - eta)
                assert problem.start[i, s] == pytest.approx(float(utility), rel=1e-14)


def test_headline_numbers() -> None:
    # kss(1) by hand: (0.02626.../0.35)^(-1/0.65); bounds as printed by an independent program to six digits.
    problem = bl.rbc()
    assert problem.points == 65_536
    assert problem.grid[[0, -1]] == pytest.approx([47.428927, 60.771831], abs=1e-6)
    steps = np.diff(problem.grid)
    assert np.ptp(steps) < 1e-13
    assert (problem.start == problem.start[0]).all()


def test_one_state_is_the_deterministic_model() -> None:
    problem = bl.rbc(grid=16, states=1)
    assert problem.labels == ("z = 1.0000",)
    assert problem.transition.tolist() == [[1.0]]


def test_facts_of_the_rbc() -> None:
    given = bl.rbc(grid=64, alpha=0.3, delta=0.1)
    assert given.output is not None
    assert given.marginal_wealth is not None
    assert given.shock_values is not None
    k, z = given.grid[:, None], given.shock_values
    np.testing.assert_allclose(given.output + 0.9 * k, given.wealth, rtol=1e-15)
    # Central differences, whose error is that of a step of 1/60 of the grid.
    slope = (given.wealth[2:] - given.wealth[:-2]) / (k[2:] - k[:-2])
    np.testing.assert_allclose(given.marginal_wealth[1:-1], slope, rtol=1e-5)
    assert given.labels[1] == f"z = {z[1]:.4f}"
    assert given.parameters == {"alpha": 0.3, "delta": 0.1, "rho": 0.95, "sigma": 0.005, "width": 3.0}
    assert (given.asset_name, given.shock_name) == ("capital", "productivity")
