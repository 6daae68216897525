"""Shifts between sweeps in software, against Python's integers."""

from __future__ import annotations

import numpy as np
import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.shift import SCALE, ShiftParameters


def exact(change: list[int], weights: list[list[int]], q: list[list[int]]) -> tuple[list[int], list[int]]:
    def rounded(row: list[int], words: list[int]) -> int:
        return sum(w * v for w, v in zip(row, words, strict=True)) + (1 << 63) >> 64

    shift = [min(max(rounded(row, change), MINIMUM), MAXIMUM) << SCALE for row in weights]
    if any(not MINIMUM <= word <= MAXIMUM for word in shift):
        shift = [0] * len(shift)
    return shift, [rounded(row, shift) for row in q]


@pytest.mark.parametrize("states", [1, 2, 4, 16])
def test_shift_is_the_rounded_sum_or_nothing(states: int) -> None:
    rng = np.random.default_rng(states)
    parameters = ShiftParameters(SweepParameters(128, states, 1))
    nothing = 0
    for k in range(400):
        bits = int(rng.integers(1, 63))
        change = rng.integers(-(1 << bits), 1 << bits, states)
        if k % 10 == 0:
            change[:] = rng.choice([MINIMUM, MAXIMUM, 0, -1])
        # Rows of beta Q sum to less than 1.
        q = rng.dirichlet(np.ones(states), states) * rng.choice([0.5, 0.99, 1 - 2.0**-30])
        weights = np.linalg.solve(np.eye(states) - q, q) / 2**SCALE
        words = [np.floor(table * 2.0**64).clip(0, 2.0**64 - 4096).astype(np.uint64) for table in (weights % 1, q)]
        before, after = parameters.model(change, *words)
        wanted = exact(change.tolist(), *(table.tolist() for table in words))
        assert (before.tolist(), after.tolist()) == wanted
        nothing += not before.any()
    assert 0 < nothing < 200


def test_a_constant_change_is_shifted_to_its_limit() -> None:
    """A sweep that changes every value by d is shifted to the limit, V + d / (1 - beta)."""
    beta, change = 0.96, 1 << 40
    q = np.array([[int(beta * 2**64)]], dtype=object).astype(np.uint64)
    weights = np.array([[int(beta / (1 - beta) * 2 ** (64 - SCALE))]], dtype=object).astype(np.uint64)
    before, after = ShiftParameters(SweepParameters(128, 1, 1)).model(np.array([change]), weights, q)
    assert change + int(before[0]) == pytest.approx(change / (1 - beta), rel=1e-8)
    assert int(after[0]) == pytest.approx(beta * int(before[0]), rel=1e-9)
