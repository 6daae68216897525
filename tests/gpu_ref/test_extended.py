"""Compare solutions in extended precision with closed forms in exact and in arbitrary precision."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from beltline.gpu_ref.published import grid_search, iteration
from oracle import extended
from support.concave_problems import random_problem

pytestmark = pytest.mark.skipif(not extended.available(), reason="numpy.longdouble is a double here")

X = np.array([0.0, 0.5, 1.25])
Q = np.array([[0.75, 0.25], [0.5, 0.5]])


def rational(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a system of two linear equations exactly."""
    (a, b), (c, d) = matrix
    det = a * d - b * c
    return [(right[0] * d - b * right[1]) / det, (a * right[1] - c * right[0]) / det]


def test_wealth_that_does_not_depend_on_assets_is_consumed() -> None:
    # U(c) = -1/c is rational, and so is everything else.
    W = np.tile([2.0, 4.0], (3, 1))
    beta = 0.9375
    found = extended.solve(X, W, Q, beta, 2.0)
    b = Fraction(beta)
    chain = [[Fraction(q) for q in row] for row in Q.tolist()]
    system = [[Fraction(i == j) - b * chain[i][j] for j in range(2)] for i in range(2)]
    right = rational(system, [Fraction(-1, 2), Fraction(-1, 4)])
    for s in range(2):
        off = abs(Fraction(*found.value[0, s].as_integer_ratio()) - right[s])
        assert off <= Fraction(found.error)
    assert found.error < 1e-15
    assert (found.value == found.value[0]).all()


@pytest.mark.parametrize("eta", [0.3, 1.0, 2.0, 7.5])
def test_best_of_all_policies(eta: float) -> None:
    """The solution is the best of all policies of a small problem, each evaluated with 50 digits."""
    W = np.array([[0.25], [0.9], [1.5]])
    beta = 0.9
    best = [mpmath.mpf("-inf")] * 3
    with mpmath.workdps(50):
        for policy in itertools.product(range(3), repeat=3):
            c = [mpmath.mpf(W[x, 0]) - mpmath.mpf(X[p]) for x, p in enumerate(policy)]
            if min(c) <= 0:
                continue
            power = 1 - mpmath.mpf(eta)
            u = mpmath.matrix([mpmath.log(one) if eta == 1.0 else one**power / power for one in c])
            moves = mpmath.matrix(3, 3)
            for x, p in enumerate(policy):
                moves[x, p] = 1
            value = mpmath.lu_solve(mpmath.eye(3) - mpmath.mpf(beta) * moves, u)
            best = [max(old, new) for old, new in zip(best, value, strict=True)]
        found = extended.solve(X, W, np.eye(1), beta, eta)
        off = max(abs(mpmath.mpf(int(n)) / int(d) - right) for (n, d), right in zip(
            (one.as_integer_ratio() for one in found.value[:, 0]), best, strict=True
        ))  # fmt: skip
    assert off <= found.error
    assert found.error < 1e-14 * max(abs(float(one)) for one in best)


def test_ages_add_up() -> None:
    W = np.tile([2.0, 4.0], (3, 1))
    found = extended.solve_ages(X, W, Q, np.full((3, 2), 8.0), 0.5, 2.0, 3)
    value = [Fraction(8), Fraction(8)]
    for age in (2, 1, 0):
        ahead = [sum(Fraction(Q[s, t]) * value[t] for t in range(2)) / 2 for s in range(2)]
        value = [Fraction(-1, 2) + ahead[0], Fraction(-1, 4) + ahead[1]]
        for s in range(2):
            off = abs(Fraction(*found.value[age, 0, s].as_integer_ratio()) - value[s])
            assert off <= Fraction(found.error)


@pytest.mark.parametrize("seed", range(10))
def test_iteration_in_double_precision_is_within_its_bound(seed: int) -> None:
    problem = random_problem(np.random.default_rng(seed), 40)
    found = iteration.solve(*problem.arguments, 1e-9, sweep=grid_search.sweep)
    exact = extended.solve(problem.X, problem.W, problem.Q, problem.beta, problem.eta)
    assert exact.error < 1e-3 * found.error_bound
    assert exact.distance(found.value) <= found.error_bound
    # A later solution is near it too, and not by accident.
    wrong = found.value.copy()
    wrong[-1, 0] += 2.0 * found.error_bound + 1e-9
    assert exact.distance(wrong) > found.error_bound


def test_the_distance_of_a_nan_is_infinite() -> None:
    found = extended.Extended(np.zeros(2, np.longdouble), 0.25)
    assert found.distance([0.5, -1.0]) == 0.75
    assert found.distance([0.1, 0.1]) == 0.0
    assert found.distance([np.nan, 0.0]) == np.inf
