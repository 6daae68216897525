"""The best of a bracket's candidates, against sorting, clock by clock."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.scan.contest import Contest
from beltline.hw.sweep.scan.parameters import CONTEST_CLOCKS, ScanParameters
from support.streams import Clocks, Trace

PARAMETERS = ScanParameters(SweepParameters(grid=256, states=1, lanes=1))
EXTREMES = (-(2**64), -(2**64) + 1, -(2**32), -1, 0, 1, 2**32 - 1, 2**32, 2**64 - 1)


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.3], ids=["back to back", "with gaps"])
def test_the_lowest_of_the_best_wins(clocks: Clocks, gaps: float) -> None:
    rng = random.Random(int(10 * gaps))
    trace = Trace(Contest(PARAMETERS), rng, ends=0)
    lowest_best = set[int | None]()

    def clock(**given: int) -> None:
        # Data between halves are ignored.
        trace.clock(**{"objective": rng.choice(EXTREMES)} | given)

    for _ in range(400):
        share, spread = rng.choice((0.0, 0.3, 1.0)), rng.choice((1, 3, 2**64 - 1))
        lowest, halves = rng.randrange(56), rng.choice((1, 1, 2, 7))
        candidates: list[tuple[int, int]] = []
        for half in range(halves):
            for word in range(4):
                objective, able = rng.choice((*EXTREMES, *[rng.randint(-spread, spread)] * 9)), rng.random() < share
                number = lowest + half
                if able:
                    candidates.append((-objective, 4 * number + word))
                ends = {"number": number, "first": int(half == 0), "last": int(half == halves - 1), "ends": 1}
                clock(objective=objective, able=int(able), **(ends if word == 3 else {}))
            if half == halves - 1:
                at, best = trace.now - 1 + CONTEST_CLOCKS, min(candidates, default=None)
                trace.wanted[at] = {"any": int(best is not None)} | ({"index": best[1]} if best else {})
                lowest_best.add(best and best[1])
            while rng.random() < gaps:
                clock()
    for _ in range(CONTEST_CLOCKS + 1):
        clock()
    trace.check(clocks, "done")
    assert len(lowest_best) > 50
