"""The results of a check with their points and states, clock by clock."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.lane.judge import Judge
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks, Trace

BUILD = SweepParameters(grid=256, states=5, lanes=2, slots=4)
ALONE = SweepParameters(grid=128, states=5, lanes=1, slots=4)


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
    trace = Trace(Judge(build), rng, go=0, check_valid=0)
    passes = (
        (128, 5, 0.1, 0),
        (128, 1, 0.0, 0),
        (1, 5, 1.0, 0),
        (77, 3, 0.5, 1),
        (60, 4, 0.01, 0),
    )
    for points, states, share, fixed in passes:
        trace.idle |= {"fixed": fixed, "last_state": states - 1}

        def clock(share: float = share, **given: int) -> dict[str, int]:
            return trace.clock(check_stays=int(rng.random() >= share), **given)

        clock(go=1)
        noted = 0
        for point in range(points):
            for state in range(states):
                while rng.random() < gaps:
                    clock()
                row = clock(check_valid=1)
                own = {name: row[f"check_{name}"] for name in ("stays", "outside", "position", "value", "old")}
                own["stays"] |= fixed
                if build.hands:
                    own |= handed(row)
                noted = (noted if state else 0) | (1 - own["stays"])
                own |= {"point": point, "state": state, "point_ends": int(state == states - 1), "note": noted}
                trace.wanted[trace.now] = own
        # The last result leaves before the next pass begins.
        for _ in range(rng.randint(1, 3)):
            clock()
    found = trace.check(clocks, "valid")
    any_mark = 0
    for t, go in enumerate(trace.columns["go"]):
        assert found["any_mark"][t] == any_mark, t
        any_mark = 0 if go else any_mark | (1 - trace.wanted[t]["stays"] if t in trace.wanted else 0)
