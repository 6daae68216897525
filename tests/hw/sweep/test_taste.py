"""The unit that takes log-sums over groups, against its formula and against its model."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from beltline.hw.arithmetic.log_sum import ABSENT, LogSumParameters
from beltline.hw.arithmetic.log_sum_constants import TERMS, LogSumConstants
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.groups import NO_SHOCKS, Groups
from beltline.hw.sweep.taste import Taste, TasteParameters
from support.streams import Clocks

WORD = 1 << 64
NAMES = ("count", "clear", "begins", "ends", "slope", "unit", "lift", "value", "value_valid")


def test_log_sums_of_groups() -> None:
    """Each result is the log-sum over its group so far: of the last three values, and the largest of those before."""
    rng = np.random.default_rng(3)
    words = rng.integers(-(2**52), 2**52, (300, 9))
    words[rng.random(words.shape) < 0.2] = ABSENT
    constants = LogSumConstants.of(2.0**49, 0)
    unit, of_row = TasteParameters(9), LogSumParameters()
    for _ in range(10):
        begins = rng.random(9) < 0.3
        begins[0] = True
        ends = np.append(begins[1:], True)
        found, nothing, over = unit.model(words, constants, begins, ends)
        first = 0
        for s in range(9):
            first = s if begins[s] else first
            of_group = np.full((300, TERMS), ABSENT)
            last = words[:, max(first, s + 2 - TERMS) : s + 1]
            of_group[:, : last.shape[1]] = last
            of_group[:, -1] = words[:, first : s + 1 - last.shape[1]].max(axis=1, initial=ABSENT)
            assert np.array_equal(found[:, s], of_row.model(of_group, constants)[0])
        assert nothing == bool((found[:, ends] == ABSENT).any())
        assert not over
    assert unit.model(np.full((1, 9), MAXIMUM), constants, begins, ends)[2] == (not begins.all())


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.5], ids=["a value a clock", "with gaps"])
def test_gateware_of_the_unit(clocks: Clocks, gaps: float) -> None:
    """The unit returns the model's words after its latency, and after an aborted point, for constants in turn."""
    rng = random.Random(5)
    built = 8
    unit = TasteParameters(built)
    columns: dict[str, list[int]] = {name: [] for name in NAMES}
    wanted: dict[int, tuple[int, int]] = {}

    def clock(standing: dict[str, int], **given: int) -> None:
        row = {"clear": 0, "value_valid": 0, "value": rng.getrandbits(64)} | standing | given
        for name, column in columns.items():
            column.append(row[name])

    for states, scale in ((built, 2.0**50), (1, 2.0**50), (5, 0.0), (built, 2.0**61.9), (7, 3.7)):
        constants = LogSumConstants.of(scale, 0)
        standing = dict(zip(("slope", "unit", "lift"), constants.words, strict=True)) | {"count": states}
        begins = np.array([k == 0 or rng.random() < 0.4 for k in range(states)])
        ends = np.append(begins[1:], True)
        for name, flags in (("begins", begins), ("ends", ends)):
            standing[name] = sum(int(flag) << k for k, flag in enumerate(flags))
        for _ in range(2):
            clock(standing)
        # The aborted point is dropped.
        for _ in range(rng.randrange(states)):
            clock(standing, value_valid=1, value=MAXIMUM)
        clock(standing)
        clock(standing, clear=1)
        for _ in range(40):
            base, spread = rng.randint(MINIMUM // 2, MAXIMUM), rng.choice([1, 2**20, 2**50, 2**62])
            point = [MINIMUM if rng.random() < 0.3 else max(MINIMUM, base - rng.randrange(spread)) for _ in begins]
            found, _, _ = unit.model(np.array([point]), constants, begins, ends)
            for k, value in enumerate(point):
                while rng.random() < gaps:
                    clock(standing)
                word = int(found[0, k])
                wanted[len(columns["count"]) + unit.latency] = word % WORD, int(ends[k] and word == ABSENT)
                clock(standing, value_valid=1, value=value % WORD)
        for _ in range(unit.latency):
            clock(standing)
    clock(standing)
    seen = clocks(Taste(unit), columns)
    for now, (word, nothing) in wanted.items():
        assert (seen["largest"][now] % WORD, seen["nothing"][now]) == (word, nothing), now
        assert not seen["over"][now] or word == MAXIMUM
    valid = {now for now, flag in enumerate(seen["largest_valid"]) if flag}
    assert wanted.keys() <= valid
    assert len(valid - wanted.keys()) < built * 5


def test_constants_in_the_second_matrix() -> None:
    groups = Groups.single(3, 9)
    assert groups.shocks == NO_SHOCKS
    shocks = LogSumConstants.of(2.0**61.9, 0).words
    rows = replace(groups, shocks=shocks).rows(4)
    assert rows.shape == (3, 4)
    matrix = np.concatenate([rows, rows[:1]]).view(np.uint64)
    assert Groups.of(matrix, 3).shocks == shocks
    assert not groups.rows(4)[2].any()
    assert LogSumConstants.of_words(NO_SHOCKS) == LogSumConstants()
