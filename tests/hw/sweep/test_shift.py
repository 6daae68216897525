"""Shifts between sweeps: software against Python's integers, the unit against software, clock by clock."""

from __future__ import annotations

import random

import numpy as np
import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.shift import SCALE, Shift, ShiftParameters
from support.streams import Clocks


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


def joined(words: list[int]) -> int:
    return sum((word % (1 << WIDTH)) << WIDTH * s for s, word in enumerate(words))


@pytest.mark.gateware
@pytest.mark.parametrize("largest", [4, pytest.param(16, marks=pytest.mark.slow)])
def test_unit_as_software_model(clocks: Clocks, largest: int) -> None:
    """Outputs change by ``clear`` or during ``busy``, in the exact clock; samples in any order."""
    build = SweepParameters(128, largest, 1)
    parameters, rng = ShiftParameters(build), random.Random(largest)
    names = (
        "sample_valid",
        "sample_state",
        "sample",
        "clear",
        "start",
        "states",
        "weight_write",
        "q_write",
        "row",
        "column",
        "data",
    )
    columns: dict[str, list[int]] = {name: [] for name in names}
    # What is expected in some clocks: the flag `busy`, and both outputs.
    flags: dict[int, int] = {}
    outputs: dict[int, tuple[int, int]] = {}

    def clock(states: int, **given: int) -> int:
        noise = {
            "sample": rng.getrandbits(WIDTH),
            "sample_state": rng.randrange(states),
            "data": rng.getrandbits(WIDTH),
        }
        for name, column in columns.items():
            column.append((dict.fromkeys(columns, 0) | noise | {"states": states} | given)[name])
        return len(columns["states"]) - 1

    for states in sorted({1, largest // 2, largest - 1, largest}):
        q = np.array([[rng.getrandbits(60) for _ in range(states)] for _ in range(states)], dtype=np.uint64)
        weights = np.array([[rng.getrandbits(63) for _ in range(states)] for _ in range(states)], dtype=np.uint64)
        for table, name in ((weights, "weight_write"), (q, "q_write")):
            for row in range(states):
                for column in range(states):
                    clock(states, row=row, column=column, data=int(table[row, column]), **{name: 255})
        t = clock(states, clear=1)
        outputs[t + 1] = 0, 0
        for bits in (62, 40, 51, 45):
            change = np.array([rng.choice((-1, 1)) * rng.getrandbits(bits) for _ in range(states)])
            order = rng.sample(range(states), states)
            for s in order:
                for _ in range(rng.choice((0, 0, 3))):
                    clock(states)
                t = clock(states, sample_valid=1, sample_state=s, sample=int(change[s]) % (1 << WIDTH))
            needed = parameters.clocks(states)
            before, after = (joined(words.tolist()) for words in parameters.model(change, weights, q))
            t = clock(states, start=1)
            flags |= {t: 0, t + 1: 1, t + needed: 1, t + needed + 1: 0}
            for _ in range(needed + 1):
                clock(states)
            outputs[t + needed + 1] = before, after
            clock(states)
            outputs[clock(states)] = before, after
    found = clocks(Shift(parameters), columns)
    assert {t: found["busy"][t] for t in flags} == flags
    assert {t: (found["before"][t], found["after"][t]) for t in outputs} == outputs
    assert len(set(outputs.values())) > 8
