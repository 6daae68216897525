"""The best of a bracket's candidates, against sorting, clock by clock."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.scan.contest import Contest
from beltline.hw.sweep.scan.parameters import CONTEST_CLOCKS, ScanParameters
from support.streams import Clocks

PARAMETERS = ScanParameters(SweepParameters(grid=256, states=1, lanes=1, slots=4))
INPUTS = ("objective", "able", "number", "first", "last", "ends")
EXTREMES = (-(2**64), -(2**64) + 1, -(2**32), -1, 0, 1, 2**32 - 1, 2**32, 2**64 - 1)


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.3], ids=["back to back", "with gaps"])
def test_the_lowest_of_the_best_wins(clocks: Clocks, gaps: float) -> None:
    rng = random.Random(int(10 * gaps))
    columns: dict[str, list[int]] = {name: [] for name in INPUTS}
    wanted: dict[int, int | None] = {}

    def clock(**given: int) -> None:
        for name, column in columns.items():
            # Data between halves are ignored.
            anything = (
                0 if name == "ends" else rng.randrange(2) if name != "objective" else rng.choice(EXTREMES) % 2**65
            )
            column.append(given.get(name, anything))

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
                clock(objective=objective % 2**65, able=int(able), **(ends if word == 3 else {}))
            if half == halves - 1:
                wanted[len(columns["ends"]) - 1 + CONTEST_CLOCKS] = min(candidates)[1] if candidates else None
            while rng.random() < gaps:
                clock()
    for _ in range(CONTEST_CLOCKS + 1):
        clock()
    found = clocks(Contest(PARAMETERS), columns)
    assert [t for t, done in enumerate(found["done"]) if done] == sorted(wanted)
    for t, index in wanted.items():
        assert found["any"][t] == (index is not None), t
        assert index is None or found["index"][t] == index, t
    assert len(set(wanted.values())) > 50
