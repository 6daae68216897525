"""Solutions of the oracle against closed forms in exact and in arbitrary precision."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from oracle import bellman

pytestmark = pytest.mark.skipif(bellman.EPS > 1e-18, reason="numpy.longdouble is a double here")

X = np.array([0.0, 0.5, 1.25])
Q = np.array([[0.75, 0.25], [0.5, 0.5]])
NEAR = Fraction(1, 10**17)
"""Largest relative error of what follows."""


@pytest.mark.parametrize("eta", [0.3, 1.0, 2.0, 7.5])
def test_best_of_all_policies(eta: float) -> None:
    """The solution is the best of all policies of a small problem, each evaluated with 50 digits."""
    W = np.array([[0.25], [0.9], [1.5]])
    beta = 0.9
    best = [mpmath.mpf("-inf")] * 3
    found, error = bellman.solution_with_error(bellman.simple(X, W, np.eye(1), beta, eta), np.zeros((1, 3, 1)))
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
        for one, right, allowed in zip(found.flat, best, error.flat, strict=True):
            n, d = map(int, one.as_integer_ratio())
            assert abs(mpmath.mpf(n) / d - right) <= allowed < 1e-15 * max(1.0, abs(float(right)))


def test_ages_add_up() -> None:
    # U(c) = -1/c is rational, and so is everything else.
    W = np.tile([2.0, 4.0], (3, 1))
    found = bellman.solution(bellman.simple(X, W, Q, 0.5, 2.0, 3), np.full((1, 3, 2), 8.0))
    value = [Fraction(8), Fraction(8)]
    for age in (2, 1, 0):
        ahead = [sum(Fraction(Q[s, t]) * value[t] for t in range(2)) / 2 for s in range(2)]
        value = [Fraction(-1, 2) + ahead[0], Fraction(-1, 4) + ahead[1]]
        for s in range(2):
            assert abs(Fraction(*found[age, 0, 0, s].as_integer_ratio()) - value[s]) <= NEAR * abs(value[s])


def test_distances() -> None:
    W = np.tile([2.0, 4.0], (3, 1))
    form = bellman.simple(X, W, Q, 0.9375, 2.0)
    exact = bellman.solution(form, np.zeros(form.shape))[0]
    assert bellman.distance(form, exact) == 0.0
    exact[2, 1] += 0.25
    assert bellman.distance(form, exact) == pytest.approx(0.25, rel=1e-12)
    exact[0, 0] = np.nan
    assert bellman.distance(form, exact) == np.inf
