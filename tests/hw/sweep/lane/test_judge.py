"""The results of a check with their points and states, clock by clock."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.lane.judge import Judge
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks

BUILD = SweepParameters(grid=256, states=5, lanes=2, slots=4)
WIDTHS = {"stays": 1, "outside": 1, "position": BUILD.position_bits, "value": 64, "old": 64}


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.5], ids=["a result a clock", "with gaps"])
def test_points_and_marks(clocks: Clocks, gaps: float) -> None:
    rng = random.Random(int(10 * gaps))
    names = ("go", "fixed", "last_state", "check_valid", *(f"check_{name}" for name in WIDTHS))
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
            row = {f"check_{name}": rng.getrandbits(bits) for name, bits in WIDTHS.items()}
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
                noted = (noted if state else 0) | (1 - own["stays"])
                own |= {"point": point, "state": state, "point_ends": int(state == states - 1), "note": noted}
                results[len(columns["go"])] = own
        # The last result leaves before the next pass begins.
        for _ in range(rng.randint(1, 3)):
            clock()
    found = clocks(Judge(BUILD), columns)
    any_mark = 0
    for t, valid in enumerate(found["valid"]):
        assert valid == (t in results), t
        assert found["any_mark"][t] == any_mark, t
        if valid:
            assert {name: found[name][t] for name in results[t]} == results[t], t
            any_mark |= 1 - results[t]["stays"]
        if columns["go"][t]:
            any_mark = 0
