"""The order and the clocks in which a lane lists its states from the last point to the first."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.prices.descent import Descent
from beltline.hw.sweep.prices.parameters import POINT_CLOCKS
from support.streams import Clocks

BUILD = SweepParameters(64, 16, 2, proof=True, costs=True, alternatives=True, multipliers=4, prices=True)
NAMES = ("start", "points", "count", "states", "last_turn")


@pytest.mark.gateware
def test_from_the_last_point_to_the_first(clocks: Clocks) -> None:
    rng = random.Random(8)
    columns: dict[str, list[int]] = {name: [] for name in NAMES}
    wanted: dict[int, tuple[int, int]] = {}
    busy: set[int] = set()

    def clock(start: int, *standing: int) -> None:
        for name, number in zip(NAMES, (start, *standing), strict=True):
            columns[name].append(number)

    for points, states in ((32, 16), (1, 1), (8, 3), (3, 14), (1, 16), (2, 4), (5, 1), (32, 2)):
        turns = BUILD.turns(states)
        standing = points, points * states, states, turns - 1
        for _ in range(rng.randrange(2, 5)):
            clock(0, *standing)
        clock(1, *standing)
        now = begin = len(columns["start"])
        for point in reversed(range(points)):
            for state in range(states):
                wanted[now] = point * states + state, point
                last = now
                now += turns
            now += POINT_CLOCKS
        busy |= set(range(begin, last + 1))
        while len(columns["start"]) <= last + 1:
            clock(0, *standing)
    found = clocks(Descent(BUILD), columns)
    assert [t for t, flag in enumerate(found["valid"]) if flag] == list(wanted)
    assert {t for t, flag in enumerate(found["busy"]) if flag} == busy
    for t, (position, point) in wanted.items():
        assert (found["position"][t], found["point"][t]) == (position, point), t
