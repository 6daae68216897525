"""Which errors the comparison with an exact sweep reports, and which it tolerates."""

from __future__ import annotations

import numpy as np

from beltline.gpu_ref import exact_sweep
from beltline.gpu_ref.compare import Allowed, compare
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
