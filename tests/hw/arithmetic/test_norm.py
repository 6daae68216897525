"""The sup norm against Python's integers, clock by clock."""

from __future__ import annotations

import random

import numpy as np
import pytest

from beltline.hw.arithmetic.norm import Norm, NormParameters
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from support.streams import Segment, Stream

EXTREMES = [MINIMUM, MINIMUM + 1, -(2**32), -1, 0, 1, 2**32 - 1, 2**32, MAXIMUM - 1, MAXIMUM]


def word(rng: random.Random) -> int:
    bits = rng.randrange(64)
    return rng.choice([rng.choice(EXTREMES), rng.randint(-(2**bits), 2**bits - 1)])


def test_model() -> None:
    rng = random.Random(1)
    unit = NormParameters()
    for size in (1, 2, 50):
        for _ in range(200):
            pairs = [(word(rng), word(rng)) for _ in range(size)]
            after, before = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
            assert unit.model(after, before) == max(abs(a - b) for a, b in pairs)
    assert unit.model(np.zeros(0, np.int64), np.zeros(0, np.int64)) == 0
    assert unit.model(np.array([MAXIMUM]), np.array([MINIMUM])) == 2**64 - 1


def run_of_pairs(rng: random.Random, count: int, bits: int, rate: float) -> list[tuple[int, int, int, int]]:
    """Return rows ``after, before, valid, clear``: growing changes, which raise the maximum often, a pause, a clear."""
    rows = []
    for k in range(count):
        centre = rng.randint(-(2**62), 2**62 - 1)
        change = rng.choice([-1, 1]) * min(2**62, rng.randrange(max(1, (k + 1) << bits >> 3)) + rng.randrange(3))
        pair = (centre + change, centre) if rng.random() < 0.9 else (word(rng) >> rng.randrange(64), 0)
        rows.append((*pair, int(rng.random() < rate), 0))
    quiet = [(word(rng), word(rng), 0, 0) for _ in range(NormParameters().latency)]
    return [*rows, *quiet, (word(rng), word(rng), 0, 1)]


@pytest.mark.gateware
def test_gateware(stream: Stream) -> None:
    rng = random.Random(2)
    unit = NormParameters()
    rows = []
    for bits in (1, 20, 29, 32, 45, 60):
        for rate in (1.0, 0.5, 0.1):
            rows += run_of_pairs(rng, 150, bits, rate)
    # Differences that do not fit into 64 signed bits, then equal upper halves, so that the lower half decides.
    directed = [
        (MAXIMUM, MINIMUM, 1, 0),
        (MINIMUM, MAXIMUM, 1, 0),
        *[(0, 0, 0, 0)] * 7,
        (0, 0, 0, 1),
        (5 << 32, 0, 1, 0),
        ((5 << 32) + 7, 0, 1, 0),
        ((5 << 32) + 6, 0, 1, 0),
        (0, (5 << 32) + 8, 1, 0),
        (0, 0, 0, 0),
        ((5 << 32) + 9, 0, 1, 0),
        (0, 0, 0, 0),
    ]
    first_directed = len(rows)
    rows += directed
    after, before, valid, clear = (list(column) for column in zip(*rows, strict=True))
    found = stream(
        Norm(unit),
        {"after": [a % 2**64 for a in after], "before": [b % 2**64 for b in before], "valid": valid, "clear": clear},
        ["norm"],
        unit.latency,
        segments=[Segment(len(rows))],
        valid=None,
    )["norm"].tolist()
    compared = begin = 0
    for k in range(len(rows)):
        # A clear acts at the next clock, although a pair takes several.
        if k + unit.latency <= len(rows) and clear[k + unit.latency - 1]:
            begin = k + unit.latency - 1
        # With a valid pair in the next clock, the norm would already contain the upper half of that pair's change.
        if k + 1 == len(rows) or not valid[k + 1]:
            counting = [j for j in range(begin, k + 1) if valid[j]]
            assert found[k] == max((abs(after[j] - before[j]) for j in counting), default=0), k
            compared += 1
    assert compared > 1000
    # A change of the lower half alone appears in its own clock and not before.
    assert found[first_directed + len(directed) - 3] == (5 << 32) + 8
    assert found[first_directed + len(directed) - 2] == (5 << 32) + 9
