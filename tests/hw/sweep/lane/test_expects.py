"""Expected values of points from the check and from the patch, clock by clock, against exact sums."""

from __future__ import annotations

import random

import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.lane.expects import Expects
from beltline.hw.sweep.lane.parameters import SHIFT_CLOCKS, LaneParameters
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks, Trace

PARAMETERS = LaneParameters(SweepParameters(grid=64, states=3, lanes=2, slots=4))
BUILD = PARAMETERS.build
POINTS = BUILD.grid // BUILD.lanes
WORD = 1 << 64
RESULT_CLOCKS = PARAMETERS.expectation.latency + 2
"""Clocks from a point's last value to its first expectation, with a register before and one after the unit."""


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.5], ids=["a state a clock", "with gaps"])
def test_expected_values(clocks: Clocks, gaps: float) -> None:
    rng = random.Random(int(10 * gaps))
    trace = Trace(
        Expects(PARAMETERS), rng, go=0, weight_write=0, check_valid=0, patch_valid=0, weight_row=0, weight_column=0
    )
    # A value arrives some clocks after its flag.
    wanted, late, clock = trace.wanted, trace.late, trace.clock
    for number, (states, scale, half, patches) in enumerate(
        ((3, 3, 0, False), (3, 1, 1, True), (1, 2, 0, False), (2, 2, 1, True), (3, 8, 1, False))
    ):
        trace.idle |= {"states": states, "half": half}
        weights = [[rng.randrange(WORD) // max(1, states - scale + 1) for _ in range(states)] for _ in range(states)]
        if scale == 8:
            weights = [[WORD - 1] * states for _ in range(states)]
        for s in range(states):
            for k in range(states):
                clock(weight_write=255, weight_row=s, weight_column=k, data=weights[s][k])
        clock(go=1)
        points = list(range(POINTS))
        if patches:
            # The patch pass computes some of the points.
            points = sorted(rng.sample(points, POINTS // 2))
        for x in points:
            values = [rng.choice((MINIMUM, MAXIMUM, 0, -1, rng.randint(MINIMUM, MAXIMUM))) for _ in range(states)]
            if rng.random() < 0.3:
                values = [rng.choice((MINIMUM, MAXIMUM))] * states
            noted = 0
            for value in values:
                while rng.random() < gaps:
                    clock()
                now = trace.now
                late["read" if patches else "new", now + (READ_LATENCY if patches else SHIFT_CLOCKS)] = value
                if patches:
                    clock(patch_valid=1, patch_point=x)
                else:
                    noted |= int(rng.random() < 0.2)
                    clock(check_valid=1, check_point=x, check_note=noted)
            first = now + (READ_LATENCY if patches else SHIFT_CLOCKS) + RESULT_CLOCKS
            for s in range(states):
                exact = (sum(q * v for q, v in zip(weights[s], values, strict=True)) + WORD // 2) // WORD
                ev = min(max(exact, MINIMUM), MAXIMUM)
                wanted[first + s] = {
                    "word": x % ROW_WORDS,
                    "row": x // ROW_WORDS | s << BUILD.local_bits | (1 - half) << BUILD.local_bits + BUILD.state_bits,
                    "ev": ev % WORD,
                    "lost": int(ev != exact and not noted),
                }
        if number == 3:
            # A point that was not finished is dropped when the next pass begins.
            clock(patch_valid=1)
        for _ in range(PARAMETERS.settle + 5):
            clock()
    found = trace.check(clocks, "write")
    assert not any(flag for t, flag in enumerate(found["lost"]) if t not in wanted)
    lost = sum(result["lost"] for result in wanted.values())
    assert 0 < lost < len(wanted) // 2
