"""The choices at the ends of a lane and of its neighbours, clock by clock, against dictionaries."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.scan.borders import Borders
from support.streams import Clocks

BUILD = SweepParameters(grid=64, states=3, lanes=2)
BITS = BUILD.index_bits
INPUTS = ("write", "position", "choice", "points", "count", "states", "first_point", "last_index")
INPUTS += ("lower_last", "upper_first", "hold", "whole")
LIMITS = ("lowest", "highest")


@pytest.mark.gateware
@pytest.mark.parametrize("general", [False, True])
def test_ends_and_sides(clocks: Clocks, general: bool) -> None:
    rng = random.Random(9)
    build = replace(BUILD, states=8, general=True) if general else BUILD
    columns: dict[str, list[int]] = {name: [] for name in (*INPUTS, *(LIMITS if general else ()))}
    wanted: list[dict[tuple[str, int], int]] = []
    for points, states, first, last_index in (
        (32, 3, 0, 63),
        (32, 2, 32, 63),
        (9, 3, 32, 40),
        (1, 1, 0, 0),
        (32, 3, 0, 31),
    ):
        standing = {"points": points, "count": points * states, "states": states}
        standing |= {"first_point": first, "last_index": last_index}
        known: dict[tuple[str, int], int] = {}
        limits = {"lowest": [0] * states, "highest": [last_index] * states}
        if general:
            limits = {name: [rng.randrange(64) for _ in range(states)] for name in LIMITS}
            standing |= {name: sum(word << BITS * k for k, word in enumerate(limits[name])) for name in LIMITS}
        for clock in range(300):
            row = standing | {"hold": int(rng.random() < 0.3), "write": int(clock > 3 and rng.random() < 0.6)}
            row |= {"whole": int(rng.random() < 0.3)}
            row |= {name: rng.getrandbits(BITS << BUILD.state_bits) for name in ("lower_last", "upper_first")}
            at = rng.choice((0, points - 1, rng.randrange(points))) * states + rng.randrange(states)
            row |= {"position": at, "choice": rng.randrange(64)}
            wanted.append(dict(known))
            for name, column in columns.items():
                column.append(row[name])
            point, s = divmod(at, states)
            if row["write"]:
                known |= {("first", s): row["choice"]} if point == 0 else {}
                known |= {("last", s): row["choice"]} if point == points - 1 else {}
            if not row["hold"] and clock > 3:
                for k in range(states):
                    lower, upper = (row[name] >> BITS * k & 63 for name in ("lower_last", "upper_first"))
                    known["below", k] = limits["lowest"][k] if first == 0 or row["whole"] else lower
                    at_end = first + points == last_index + 1 or row["whole"]
                    known["above", k] = limits["highest"][k] if at_end else upper
    found = clocks(Borders(build), columns)
    seen = 0
    for t, words in enumerate(wanted):
        assert t < 5 or found["last_position"][t] == columns["count"][t - 1] - columns["states"][t - 1]
        for (name, s), word in words.items():
            assert found[name][t] >> BITS * s & 63 == word, (t, name, s)
            seen += 1
    assert seen > 5_000
