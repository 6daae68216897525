"""Compare Euler-equation iteration with FITPACK, with its own equation, and with value function iteration."""

import numpy as np
import pytest
from scipy.interpolate import RectBivariateSpline

from beltline.gpu_ref import cpu
from beltline.gpu_ref.krusell_smith.euler_iteration import slope_matrix, spline_weights
from beltline.host.models.krusell_smith.model import krusell_smith
from support.households import LAW, household


@pytest.mark.parametrize("means", [4, 7])
def test_weights_and_slopes_are_the_spline_of_fitpack(means):
    x, m = 200 * np.linspace(0, 1, 50) ** 3, np.linspace(30, 50, means)
    values = np.sqrt(5 + x)[:, None] * np.log(m)
    at_x, at_m = np.random.default_rng(0).uniform(0, 200, 300), 41.3
    table = values @ spline_weights(m, np.array(at_m))
    i = np.clip(np.searchsorted(x, at_x, side="right") - 1, 0, x.size - 2)
    h, slopes = np.diff(x)[i], slope_matrix(x) @ table
    t = (at_x - x[i]) / h
    found = (
        (1 + 2 * t) * (1 - t) ** 2 * table[i]
        + t * t * (3 - 2 * t) * table[i + 1]
        + h * t * (1 - t) ** 2 * slopes[i]
        - h * t * t * (1 - t) * slopes[i + 1]
    )
    assert np.abs(found / RectBivariateSpline(x, m, values)(at_x, at_m, grid=False) - 1).max() < 1e-12


@pytest.mark.parametrize(("eta", "means"), [(1.0, 4), (2.0, 5)])
def test_the_policy_solves_its_equation(eta, means):
    economy = krusell_smith(eta=eta, means=means, points=60, top=200.0, power=4.0)
    solved = household(economy)
    assert solved.converged
    assert solved.change < 1e-8
    k, means_, policy = economy.grid, economy.mean_grid, solved.policy
    wealth = economy.wealth(k).reshape(policy.shape)
    ahead = economy.ahead(LAW)
    gross, income = economy.gross(ahead), economy.income(ahead).reshape(-1, 2, 4)
    splines = [RectBivariateSpline(k, means_, policy[:, :, s]) for s in range(4)]
    bound = 0
    for i in range(means_.size):
        for s in range(4):
            a, right = s // 2, 0.0
            chosen = policy[:, i, s]
            for then in range(4):
                later = np.clip(splines[then](chosen, ahead[i, a], grid=False), 0, k[-1])
                c = gross[i, a, then // 2] * chosen + income[i, a, then] - later
                right = right + economy.transition[s, then] * gross[i, a, then // 2] * c**-eta
            c = wealth[:, i, s] - chosen
            error = (economy.beta * right) ** (-1 / eta) - c
            interior = (chosen > 0) & (chosen < k[-1])
            assert np.abs(error[interior]).max() < 1e-7
            # A household constrained at 0 would consume more if it could borrow.
            assert (error[chosen == 0] > -1e-7).all()
            bound += (chosen == 0).sum()
    assert bound > 0


def test_it_is_the_policy_of_value_iteration():
    # With constant prices the household has two states, and its tables need no interpolation in K.
    work = np.array([[0.6, 0.4], [0.05, 0.95]])
    economy = krusell_smith(
        spread=0.0, unemployment=(0.07, 0.07), transition=np.kron([[0.875, 0.125], [0.125, 0.875]], work),
        points=80, top=60.0, power=2.0, high=45.0, beta=0.97,
    )  # fmt: skip
    policy = household(economy, np.array([[np.log(35.0), 0.0]] * 2)).policy[:, 1]
    assert economy.mean_grid[1] == 35
    assert np.abs(policy[:, :2] - policy[:, 2:]).max() < 1e-12
    fine = np.linspace(0, 60, 6001)
    W = economy.wealth(fine)[:, 1, 0]
    found = cpu.solve(fine, W, work, np.zeros_like(W), 0.97, 1.0, 1e-8, method="mpi")
    assert found.converged
    for e in range(2):
        exact = np.interp(economy.grid, fine, fine[found.policy[:, e]])
        assert np.abs(exact - policy[:, e]).max() < 0.015


def test_the_limit_of_iterations_is_reported():
    seen = []
    solved = household(krusell_smith(points=30), max_iterations=120, progress=lambda done, change: seen.append(done))
    assert not solved.converged
    assert solved.iterations == 120
    assert solved.change > 1e-8
    assert seen == [50, 100]
