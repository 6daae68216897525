"""Brackets that the bounds of each state's choice cut, clock by clock, against plain Python."""

from __future__ import annotations

import itertools
import random

import pytest

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.scan.brackets import Brackets
from beltline.hw.sweep.scan.parameters import BRACKET_CLOCKS, ScanParameters
from support.layouts import pack
from support.streams import Clocks

BUILD = SweepParameters(grid=64, states=8, lanes=1, general=True)
PARAMETERS = ScanParameters(BUILD)
SETS = 3

POINTS, STATES = 6, 2
"""So few that no state waits for room in the queue, in a round over odd or even points."""

Sides = tuple[int, int, int]
"""A state's own choice, and the choices of the points below and above."""


def drawn(rng: random.Random, gentle: bool) -> tuple[list[int], list[int], list[int]]:
    """Return choices, lowest and highest candidates of a lane's points; ``gentle``: choices rise by a point at most."""
    choices, least, most = [rng.randrange(8, 20)], [], []
    for _ in range(POINTS - 1):
        choices.append(choices[-1] + (rng.randrange(2) if gentle else rng.choice((0, 1, 2, 8))))
    for choice in choices:
        # Bounds may lie at the choice itself, and do not fall.
        least.append(max([choice - rng.choice((0, 0, 1, 3, 30)), *least, 0]))
        most.append(max([choice + rng.choice((0, 0, 1, 3, 30)), *most]))
    return choices, [min(pair) for pair in zip(least, choices, strict=True)], [min(word, 63) for word in most]


def bracket(sides: Sides, least: int, most: int, divide: bool) -> tuple[int, int] | None:
    """Return the bracket of a state, or None if none of it must be evaluated."""
    own, below, above = sides
    below, above = max(below, least), min(above, most)
    lo, hi = sorted((below, above)) if divide else (min(below, own, above), max(below, own, above))
    if (lo == own == hi) if divide else (own - lo <= 1 and hi - own <= 1):
        return None
    return lo, hi


@pytest.mark.gateware
def test_bounds_cut_brackets(clocks: Clocks) -> None:
    rng = random.Random(5)
    names = ("start", "divide", "odd", "write", "points", "states", "last_state", "point_shift", "last_position")
    names += ("below", "above", "own", "below_data", "above_data", "pop", "result", "forced", "least", "most")
    names += ("sharing", "confirmed", "at_begin", "at_end", "received", "received_job")
    columns: dict[str, list[int]] = {name: [] for name in names}
    wanted: list[tuple[int, list[int]]] = []
    seen = {"cut": 0, "whole": 0, "skipped": 0, "ends": 0, "hidden": 0}
    for number in range(160):
        tables = [drawn(rng, number % 3 == 0) for _ in range(STATES)]
        smooth = False
        # The same choices in two rounds: if all steps are gentle, the second one reads only the ends.
        for odd in (number % 2, 1 - number % 2):
            base, length = len(columns["start"]), 60
            rows: list[dict[str, int]] = [
                {"points": POINTS, "states": STATES, "last_state": STATES - 1, "point_shift": 3, "odd": odd}
                | {"last_position": (POINTS - 1) * STATES, "forced": 0}
                | {"below": 0, "above": sum(63 << BUILD.index_bits * s for s in range(STATES))}
                for _ in range(length)
            ]
            rows[0]["start"] = 1
            points = list(range(odd, POINTS, 2))
            if smooth:
                points = [point for point in points if point in (0, POINTS - 1)]
                seen["ends"] += 1
            jobs, steep = [], False
            for k, (point, s) in enumerate(itertools.product(points, range(STATES))):
                choices, least, most = tables[s]
                below = choices[point - 1] if point else 0
                above = choices[point + 1] if point + 1 < POINTS else 63
                sides = choices[point], below, above
                clock = SETS + k
                data = {"own": sides[0], "below_data": below, "above_data": above}
                rows[clock + READ_LATENCY] |= data | {"least": least[point], "most": most[point]}
                inner = [side for side, at in ((below, point), (above, point + 1 - POINTS)) if at]
                near = all(-1 <= side - choices[point] <= 1 for side in inner)
                steep |= not near
                found = bracket(sides, least[point], most[point], False)
                seen["hidden"] += not near and found is None
                seen["cut" if bracket(sides, 0, 63, False) != found else "whole"] += 1
                if found is None:
                    seen["skipped"] += 1
                    continue
                of = {"position": point * STATES + s, "point": point, "state": s}
                jobs.append(pack(PARAMETERS.job, {"of": of, "own": choices[point], "lo": found[0], "hi": found[1]}))
                rows[clock + BRACKET_CLOCKS + 1 + 2]["pop"] = 1
                rows[clock + BRACKET_CLOCKS + 1 + 4]["result"] = 1
            smooth = smooth or not steep
            wanted.append((base, jobs))
            if odd != number % 2:
                rows[-1]["write"] = 1
            for row in rows:
                for name, column in columns.items():
                    column.append(row.get(name, 0))
    found = clocks(Brackets(PARAMETERS), columns)
    for base, jobs in wanted:
        pops = [k for k in range(base, base + 60) if columns["pop"][k]]
        assert [found["job"][k] for k in pops] == jobs, base
        assert all(found["valid"][k] for k in pops)
        assert sum(found["valid"][base : base + 60]) == len(jobs), base
        assert not found["busy"][base + 59]
        assert not any(found["crossed"][base : base + 60])
    assert min(seen.values()) > 10, seen
