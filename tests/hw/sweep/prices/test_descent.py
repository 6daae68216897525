"""The order and the clocks in which a lane lists its states from the last point to the first."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.prices.descent import Descent
from beltline.hw.sweep.prices.parameters import POINT_CLOCKS
from support.streams import Clocks, Trace

BUILD = SweepParameters(64, 16, 2, proof=True, costs=True, alternatives=True, multipliers=4, prices=True)


@pytest.mark.gateware
def test_from_the_last_point_to_the_first(clocks: Clocks) -> None:
    rng = random.Random(8)
    trace = Trace(Descent(BUILD), rng, start=0)
    busy: set[int] = set()
    for points, states in ((32, 16), (1, 1), (8, 3), (3, 14), (1, 16), (2, 4), (5, 1), (32, 2)):
        turns = BUILD.turns(states)
        trace.idle |= {"points": points, "count": points * states, "states": states, "last_turn": turns - 1}
        for _ in range(rng.randrange(2, 5)):
            trace.clock()
        trace.clock(start=1)
        now = begin = trace.now
        for point in reversed(range(points)):
            for state in range(states):
                trace.wanted[now] = {"position": point * states + state, "point": point}
                last = now
                now += turns
            now += POINT_CLOCKS
        busy |= set(range(begin, last + 1))
        while trace.now <= last + 1:
            trace.clock()
    found = trace.check(clocks, "valid")
    assert {t for t, flag in enumerate(found["busy"]) if flag} == busy
