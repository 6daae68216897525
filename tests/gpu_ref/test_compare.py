"""Which errors the comparison with an exact sweep reports, and which it tolerates."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.gpu_ref import exact_sweep
from beltline.gpu_ref.compare import compare
from beltline.gpu_ref.comparison import Allowed
from beltline.gpu_ref.random_problems import random_problem

CHANGE = 1e-6


def test_errors_above_the_tolerance_are_reported() -> None:
    tables = random_problem(np.random.default_rng(5), 40, 2).arguments
    value, policy = exact_sweep(*tables)
    right = compare(*tables, value, policy, Allowed(CHANGE))
    assert (right.missed, right.state) == (0, -1)
    assert right.residual <= right.rounding
    for off, missed in ((0.9, 0), (1.1, 1), (-1.1, 1)):
        other = value.copy()
        other[20, 1] += off * CHANGE
        found = compare(*tables, other, policy, Allowed(CHANGE))
        assert found.missed == missed
        assert abs(found.residual - abs(off) * CHANGE) <= right.rounding
        assert found.state == (41 if missed else -1)
    # The value is right, but the policy does not attain it.
    wrong = policy.copy()
    wrong[30, 0] = 0 if policy[30, 0] > 5 else policy[30, 0] + 5
    found = compare(*tables, value, wrong, Allowed(CHANGE))
    assert (found.missed, found.state) == (1, 60)
    assert found.amount > 2.0 * CHANGE


@pytest.mark.parametrize("seed", range(6))
def test_known_tables_are_compared_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tables = random_problem(rng, 700, 3).arguments
    value, policy = exact_sweep(*tables)
    for off in (0.0, 0.5 * CHANGE, 1e-3):
        other = value.copy()
        other[rng.integers(700), rng.integers(3)] += off
        found, known = (compare(*tables, other, policy, Allowed(CHANGE), checked=checked) for checked in (False, True))
        np.testing.assert_equal(known._asdict(), found._asdict())
        assert known.missed == (off > CHANGE)
    X, W, Q, V, beta, eta = tables
    V[300, 1] = np.nan
    with pytest.raises(ValueError, match=r"^V\[300, 1\] is nan, neither finite nor -inf$"):
        compare(X, W, Q, V, beta, eta, value, policy, Allowed(CHANGE), checked=True)
