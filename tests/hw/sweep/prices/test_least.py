"""Running minima in a lane and from lane to lane, clock by clock, against Python's integers."""

from __future__ import annotations

import random

import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.parameters import HALF_WORDS, SweepParameters
from beltline.hw.sweep.prices.least import Least
from beltline.hw.sweep.prices.parameters import LEAST_CLOCKS
from support.streams import Clocks

BUILD = SweepParameters(64, 16, 2, proof=True, costs=True, alternatives=True, multipliers=4, prices=True)
PARAMETERS = LaneParameters(BUILD)
WORD = 1 << 64
COSTS = (MINIMUM, MINIMUM + 1, -(2**32) - 1, -(2**32), -1, 0, 1, 2**32 - 1, 2**32, MAXIMUM - 1, MAXIMUM)
NAMES = ("storing", "points", "first_point", "priced", "valid", "state", "point", "cost")
NAMES += tuple(f"upper_{name}" for name in ("valid", "state", "cost", "index"))


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.4], ids=["a word a clock", "with gaps"])
def test_minima_of_a_lane_and_of_higher_lanes(clocks: Clocks, gaps: float) -> None:
    """Extremes, ties and equal halves, with full lanes, lanes of one point and lanes without points."""
    rng = random.Random(int(10 * gaps))
    columns: dict[str, list[int]] = {name: [] for name in NAMES}
    costs: dict[int, dict[str, int]] = {}
    chain: dict[int, dict[str, int]] = {}

    def clock(standing: dict[str, int], **given: int) -> None:
        row = {name: rng.getrandbits(64) for name in ("cost", "upper_cost")}
        row |= {"state": rng.randrange(16), "point": rng.randrange(32), "upper_state": rng.randrange(16)}
        row |= {"upper_index": rng.randrange(64), "valid": 0, "upper_valid": 0} | standing | given
        for name, column in columns.items():
            column.append(row[name] % WORD)

    def drawn(base: int) -> int:
        return rng.choice((rng.choice(COSTS), rng.randint(MINIMUM, MAXIMUM), base, base >> 32 << 32 | rng.randrange(3)))

    for points in (32, 1, 0, 8, 3, 0, 17):
        states = 16
        standing = {"points": points, "first_point": rng.choice((0, 32)), "priced": rng.getrandbits(16)}
        base = rng.randint(MINIMUM, MAXIMUM)
        table = [[drawn(base) for _ in range(states)] for _ in range(points)]
        above = [(MAXIMUM, rng.randrange(64)) if rng.random() < 0.2 else (drawn(base), 63) for _ in range(states)]
        for storing in (0, 1):
            standing["storing"] = storing
            for _ in range(LEAST_CLOCKS):
                clock(standing)
            for x in reversed(range(points)):
                for s in range(states):
                    while rng.random() < gaps:
                        clock(standing)
                    now = len(columns["cost"]) + LEAST_CLOCKS
                    if storing and standing["priced"] >> s & 1:
                        least = min([above[s][0]] + [table[y][s] for y in range(x, points)])
                        costs[now] = {
                            "word": (x + HALF_WORDS) % ROW_WORDS,
                            "row": x // ROW_WORDS | s << BUILD.local_bits | 2 << BUILD.local_bits + BUILD.state_bits,
                            "least": least % WORD,
                        }
                    clock(standing, valid=1, state=s, point=x, cost=table[x][s])
            for _ in range(LEAST_CLOCKS):
                clock(standing)
            if storing:
                continue
            for s in range(states):
                while rng.random() < gaps:
                    clock(standing)
                least, index = above[s]
                for x in reversed(range(points)):
                    if table[x][s] <= least:
                        least, index = table[x][s], standing["first_point"] + x
                now = len(columns["cost"]) + LEAST_CLOCKS
                chain[now] = {"lower_state": s, "lower_cost": least % WORD}
                if least != MAXIMUM:
                    chain[now]["lower_index"] = index
                clock(standing, upper_valid=1, upper_state=s, upper_cost=above[s][0], upper_index=above[s][1])
    for _ in range(LEAST_CLOCKS + 1):
        clock(standing)
    found = clocks(Least(PARAMETERS), columns)
    for flag, wanted in (("write", costs), ("lower_valid", chain)):
        assert [t for t, given in enumerate(found[flag]) if given] == list(wanted)
        for t, words in wanted.items():
            assert {name: found[name][t] % WORD for name in words} == words, (flag, t)
