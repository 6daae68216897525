"""Comparison of solutions of sovereign default."""

from __future__ import annotations

from typing import Any

import numpy as np


def same(found: Any, right: Any) -> None:
    """Check that two solutions have the same choices and prices, and values within their bounds."""
    assert found.success, found.message
    assert right.success, right.message
    np.testing.assert_array_equal(found.prices, right.prices)
    np.testing.assert_array_equal(found.policy, right.policy)
    np.testing.assert_array_equal(found.solution.tables.choice, right.solution.tables.choice)
    gap = np.abs(found.solution.value - right.solution.value).max()
    assert gap <= found.solution.error_bound + right.solution.error_bound
