"""Comparison of results: of any with the oracle, and of machines with each other bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
from endurance.problems import exact, judged

from beltline.host.problem.problem import Problem

TOL = 1e-6


def check(given: Problem, found: Any) -> None:
    """Check values, bounds and choices of a result, of each alternative too, against the oracle."""
    ended = judged(given, found, exact(given))
    assert ended.end == "success", f"{ended.end} {ended.wrong}: {found.message}"


def same(one: Any, other: Any, *more: str) -> None:
    """Check that two results of machines have the same bits, outcome and bounds, and the same facts ``more``."""
    assert np.array_equal(one.value, other.value)
    assert np.array_equal(one.policy, other.policy)
    for name in ("success", "status", "message", "sweeps", "change", "residual", "error_bound", *more):
        assert getattr(one, name) == getattr(other, name), name
