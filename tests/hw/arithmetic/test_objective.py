"""Objectives in 65 bits against Python's integers."""

from __future__ import annotations

import itertools
import random

import numpy as np

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.objective import clamped_word, is_above, objective_word

EXTREMES = [MINIMUM, MINIMUM + 1, -(2**62), -2, -1, 0, 1, 2, 2**62, MAXIMUM - 1, MAXIMUM]


def terms() -> list[tuple[int, int]]:
    rng = random.Random(1)
    drawn = [tuple(rng.randint(MINIMUM, MAXIMUM) >> rng.randrange(64) for _ in range(2)) for _ in range(300)]
    return [*itertools.product(EXTREMES, EXTREMES), *drawn]


def test_sums_and_cuts() -> None:
    outside = 0
    for a, b in terms():
        word = objective_word(np.int64(a), np.int64(b))
        assert 2 * int(word[0]) + int(word[1]) == a + b
        value, cut = clamped_word(word)
        assert int(value) == min(max(a + b, MINIMUM), MAXIMUM)
        assert cut == (int(value) != a + b)
        outside += cut
    assert outside > 20


def test_order_and_ties() -> None:
    sums = terms()[::7]
    ties = 0
    for (a, b), (c, d) in itertools.product(sums, sums):
        one, other = (objective_word(np.int64(left), np.int64(right)) for left, right in ((a, b), (c, d)))
        assert is_above(one, other) == (a + b > c + d)
        ties += a + b == c + d
    # There are ties besides each number with itself.
    assert ties > len(sums)
