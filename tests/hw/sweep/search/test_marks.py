"""Marks of states, written in table order and read back in words, against a table of flags."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.marks import MARKS_CLOCKS, Marks
from beltline.hw.sweep.search.parameters import MARKS
from support.streams import Clocks

BUILD = SweepParameters(grid=256, states=3, lanes=2)
POINT_BITS = BUILD.point_bits + 1
INPUTS = ("mark_valid", "mark_point", "mark_state", "mark", "points", "state", "point")
ALONE = tuple(f"{name}{part}" for name in ("set", "clear") for part in ("", "_point", "_state"))
"""Inputs that set and clear single marks."""


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.5])
def test_words_of_marks(clocks: Clocks, gaps: float) -> None:
    rng = random.Random(int(10 * gaps))
    most = BUILD.grid // BUILD.lanes
    columns: dict[str, list[int]] = {name: [] for name in INPUTS + ALONE}
    wanted: dict[int, int] = {}
    for points, states, share in ((most, 3, 0.5), (1, 1, 1.0), (MARKS, 2, 0.0), (MARKS + 1, 3, 1.0), (77, 3, 0.1)):
        flags = {(x, s): int(rng.random() < share) for x in range(points) for s in range(states)}
        words = {
            (first, s): sum(flags.get((first + k, s), 0) << k for k in range(MARKS))
            for first in range(0, points, MARKS)
            for s in range(states)
        }
        # The words whose last mark has been written.
        written: list[tuple[int, int]] = []

        def clock(
            given: dict[str, int],
            points: int = points,
            words: dict[tuple[int, int], int] = words,
            written: list[tuple[int, int]] = written,
        ) -> None:
            first, s = rng.choice(written) if written else (0, 0)
            if written:
                wanted[len(columns["mark"]) + MARKS_CLOCKS] = words[first, s]
            row = {"mark_valid": 0, "mark_point": rng.randrange(most), "mark_state": 0, "mark": rng.randrange(2)}
            row |= {"points": points, "state": s, "point": first + rng.randrange(MARKS)}
            row |= dict.fromkeys(ALONE, 0) | given
            for name, column in columns.items():
                column.append(row[name])

        # The lane's number of points is known a clock before its first mark.
        clock({})
        for (x, s), mark in flags.items():
            while rng.random() < gaps:
                clock({})
            clock({"mark_valid": 1, "mark_point": x, "mark_state": s, "mark": mark})
            if x % MARKS == MARKS - 1 or x == points - 1:
                written.append((x - x % MARKS, s))
        for _ in range(200):
            clock({})
        for _ in range(200):
            x, s, name = rng.randrange(points), rng.randrange(states), rng.choice(("set", "clear"))
            others = words[x - x % MARKS, s] & ~(1 << x % MARKS)
            clock({name: 1, f"{name}_point": x, f"{name}_state": s})
            # What is read in the clock of a write is not defined.
            del wanted[len(columns["mark"]) - 1 + MARKS_CLOCKS]
            words[x - x % MARKS, s] = others | (name == "set") << x % MARKS
            clock({})
    found = clocks(Marks(BUILD, POINT_BITS), columns)
    assert len(wanted) > 500
    for at, word in wanted.items():
        if at < len(columns["mark"]):
            assert found["word"][at] == word, at
