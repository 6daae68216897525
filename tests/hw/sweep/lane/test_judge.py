"""The results of a check with their points and states, clock by clock."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.lane.judge import Judge
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks

BUILD = SweepParameters(grid=256, states=5, lanes=2, slots=4)
ALONE = SweepParameters(grid=128, states=5, lanes=1, slots=4)
WIDTHS = {"stays": 1, "outside": 1, "position": BUILD.position_bits, "value": 64, "old": 64}
HANDED = {"choice": BUILD.index_bits, "feasible": 1, "rises": 1, "below": 65, "above": 65}
"""Bits of what a check hands to the local search."""


def handed(row: dict[str, int]) -> dict[str, int]:
    """Return what a result that failed hands on: the better neighbour, if the choice is feasible."""
    choice, rises = row["check_choice"], row["check_rises"]
    step = (1 if rises else -1) if row["check_feasible"] else 0
    objective = row["check_above"] if rises else row["check_below"]
    begin = (choice + step) % BUILD.grid
    return {
        "choice": choice, "known": row["check_feasible"], "rises": rises, "begin": begin, "objective": objective,
    }  # fmt: skip


@pytest.mark.gateware
@pytest.mark.parametrize("build", [ALONE, BUILD], ids=["looking-for-states", "handed-states"])
@pytest.mark.parametrize("gaps", [0.0, 0.5], ids=["a result a clock", "with gaps"])
def test_points_and_marks(clocks: Clocks, gaps: float, build: SweepParameters) -> None:
    rng = random.Random(int(10 * gaps))
    widths = WIDTHS | (HANDED if build.hands else {})
    names = ("go", "fixed", "last_state", "check_valid", *(f"check_{name}" for name in widths))
    columns: dict[str, list[int]] = {name: [] for name in names}
    results: dict[int, dict[str, int]] = {}
    passes = (
        (128, 5, 0.1, 0),
        (128, 1, 0.0, 0),
        (1, 5, 1.0, 0),
        (77, 3, 0.5, 1),
        (60, 4, 0.01, 0),
    )
    for points, states, share, fixed in passes:
        standing = {"fixed": fixed, "last_state": states - 1}

        def clock(standing: dict[str, int] = standing, share: float = share, **given: int) -> dict[str, int]:
            row = {f"check_{name}": rng.getrandbits(bits) for name, bits in widths.items()}
            row |= {"go": 0, "check_valid": 0, "check_stays": int(rng.random() >= share)} | standing | given
            for name, column in columns.items():
                column.append(row[name])
            return row

        clock(go=1)
        noted = 0
        for point in range(points):
            for state in range(states):
                while rng.random() < gaps:
                    clock()
                row = clock(check_valid=1)
                own = {name: row[f"check_{name}"] for name in WIDTHS}
                own["stays"] |= fixed
                if build.hands:
                    own |= handed(row)
                noted = (noted if state else 0) | (1 - own["stays"])
                own |= {"point": point, "state": state, "point_ends": int(state == states - 1), "note": noted}
                results[len(columns["go"])] = own
        # The last result leaves before the next pass begins.
        for _ in range(rng.randint(1, 3)):
            clock()
    found = clocks(Judge(build), columns)
    any_mark = 0
    for t, valid in enumerate(found["valid"]):
        assert valid == (t in results), t
        assert found["any_mark"][t] == any_mark, t
        if valid:
            assert {name: found[name][t] for name in results[t]} == results[t], t
            any_mark |= 1 - results[t]["stays"]
        if columns["go"][t]:
            any_mark = 0
