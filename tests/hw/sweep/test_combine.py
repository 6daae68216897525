"""The unit that takes the maximum over alternatives, clock by clock, against Python's integers."""

from __future__ import annotations

import random

import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.sweep.combine import NOTHING, Combine, CombineParameters
from support.streams import Clocks

WORD = 1 << 64
EXTREMES = (MINIMUM, MINIMUM, MINIMUM + 1, -(2**32) - 1, -(2**32), -1, 0, 1, 2**32 - 1, 2**32, MAXIMUM - 1, MAXIMUM)
NAMES = ("count", "clear", "begins", "ends", "value", "value_valid")


@pytest.mark.gateware
@pytest.mark.parametrize(("built", "gaps"), [(16, 0.0), (5, 0.5)])
def test_largest_of_groups(clocks: Clocks, built: int, gaps: float) -> None:
    """The unit returns the largest word of each group, for extremes and equal halves, and after an aborted point."""
    rng = random.Random(built)
    unit = CombineParameters(built)
    columns: dict[str, list[int]] = {name: [] for name in NAMES}
    wanted: dict[int, tuple[int, bool]] = {}

    def clock(standing: dict[str, int], **given: int) -> None:
        row = {"clear": 0, "value_valid": 0, "value": rng.getrandbits(64)} | standing | given
        for name, column in columns.items():
            column.append(row[name])

    nothings = 0
    for states in (built, 1, max(1, built - 1), built):
        for _ in range(6):
            begins = [k == 0 or rng.random() < 0.4 for k in range(states)]
            ends = [*begins[1:], True]
            bits = {"begins": begins, "ends": ends}
            standing = {name: sum(flag << k for k, flag in enumerate(flags)) for name, flags in bits.items()}
            standing["count"] = states
            for _ in range(2):
                clock(standing)
            # The aborted point is dropped.
            for _ in range(rng.randrange(states)):
                clock(standing, value_valid=1, value=MAXIMUM)
            clock(standing)
            clock(standing, clear=1)
            for _ in range(25):
                kind, base = rng.randrange(4), rng.randint(MINIMUM, MAXIMUM)
                best = 0
                for k in range(states):
                    if kind == 0:
                        value = rng.choice(EXTREMES)
                    elif kind == 1:
                        value = rng.randint(MINIMUM, MAXIMUM)
                    elif kind == 2:
                        value = base >> 32 << 32 | rng.randrange(4)
                    else:
                        value = MINIMUM if rng.random() < 0.8 else base
                    while rng.random() < gaps:
                        clock(standing)
                    best = value if begins[k] else max(best, value)
                    wanted[len(columns["count"]) + unit.latency] = best % WORD, ends[k] and best == NOTHING
                    nothings += ends[k] and best == NOTHING
                    clock(standing, value_valid=1, value=value % WORD)
        for _ in range(unit.latency):
            clock(standing)
    clock(standing)
    found = clocks(Combine(unit), columns)
    assert nothings > 10
    for now in range(len(columns["count"])):
        if now in wanted:
            largest, nothing = wanted[now]
            assert (found["largest"][now] % WORD, found["nothing"][now]) == (largest, int(nothing)), now
    seen = [now for now, valid in enumerate(found["largest_valid"]) if valid]
    broken_off = set(seen) - wanted.keys()
    assert wanted.keys() <= set(seen)
    assert len(broken_off) < len(wanted) / 5
