"""Comparison of results: of a machine with the processor's within both bounds, and of machines bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from beltline.host.problem.problem import Problem
from beltline.host.solver.complete import rounding_of
from beltline.host.solver.product_image import product_image

TOL = 1e-6


def compared(given: Problem, found: Any, right: Any) -> int:
    """Check that values equal the processor's within both bounds; return the number of choices that differ."""
    assert found.success, found.message
    assert right.success
    assert found.value.shape == right.value.shape
    bound = found.error_bound + right.error_bound
    assert np.abs(found.value - right.value).max() <= bound
    assert np.array_equal(np.isfinite(found.tables.values), np.isfinite(right.tables.values))
    able = np.isfinite(right.tables.values)
    apart = np.abs(found.tables.values[able] - right.tables.values[able])
    if (apart > bound).any():
        # The bound is for regimes. An alternative that leaves almost nothing to consume has a value of great size, in
        # which the rounding of cash on hand shows.
        image = product_image(given, TOL, found.value_bits, found.amount_bits)
        rounding = rounding_of(given, image, found.tables)
        assert (apart <= bound + 2.0 * rounding[able]).all()
    assert np.array_equal(found.tables.policy < 0, right.tables.policy < 0)
    assert (found.tables.probabilities.sum(axis=-3)[..., :, :] == len(given.regimes)).all()
    for name in given.regimes and [one.name for one in given.alternatives]:
        number = found.alternatives.index(name)
        assert np.array_equal(found.tables.probabilities[..., number, :, :] == 1.0, found.taken(name))
    return int((found.tables.policy != right.tables.policy).sum() + (found.tables.choice != right.tables.choice).sum())


def same(one: Any, other: Any, *more: str) -> None:
    """Check that two results of machines have the same bits, outcome and bounds, and the same facts ``more``."""
    assert np.array_equal(one.value, other.value)
    assert np.array_equal(one.policy, other.policy)
    for name in ("success", "status", "message", "sweeps", "change", "residual", "error_bound", *more):
        assert getattr(one, name) == getattr(other, name), name
