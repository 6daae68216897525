"""New values of states, their changes and the norm, clock by clock, against Python's integers."""

from __future__ import annotations

import random

import pytest

from beltline.hw.arithmetic.norm import NormParameters
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.sweep.lane.parameters import SHIFT_CLOCKS, LaneParameters
from beltline.hw.sweep.lane.values import Values
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks, Trace

PARAMETERS = LaneParameters(SweepParameters(grid=64, states=3, lanes=2, slots=4))
STATES = PARAMETERS.build.states
WORD = 1 << 64
EXTREMES = (MINIMUM, MINIMUM + 1, -1, 0, 1, MAXIMUM - 1, MAXIMUM)
NORM_CLOCKS = SHIFT_CLOCKS + 1 + NormParameters().latency
SAMPLE_CLOCKS = SHIFT_CLOCKS + 3


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.5], ids=["a value a clock", "with gaps"])
def test_values_and_changes(clocks: Clocks, gaps: float) -> None:
    rng = random.Random(int(10 * gaps))

    def number() -> int:
        return rng.choice((*EXTREMES, rng.randint(MINIMUM, MAXIMUM) >> rng.randrange(64)))

    trace = Trace(Values(PARAMETERS), rng, go=0, check_valid=0, search_valid=0)
    clock, columns = trace.clock, trace.columns
    samples: dict[int, tuple[int, int]] = {}
    norms: dict[int, int] = {}
    norm = 0
    for seek, has_reference, size, mixed in ((0, 1, 64, 0), (0, 0, 20, 1), (1, 1, 64, 1), (0, 1, 3, 0), (0, 1, 64, 1)):
        after, before = ([number() >> 64 - size for _ in range(STATES)] for _ in range(2))
        place = rng.randrange(32) * STATES
        trace.idle |= {"seek": seek, "has_reference": has_reference, "sample_place": place}
        for name, words in (("shift_after", after), ("shift_before", before)):
            trace.idle[name] = sum(word % WORD << 64 * s for s, word in enumerate(words))
        clock(go=1)
        if not seek:
            norm = 0
        for position in rng.sample(range(96), 96):
            while rng.random() < gaps:
                clock()
            now, state = trace.now, position % STATES
            value, old = number(), number()
            if rng.random() < 0.5:
                old = min(max(value + rng.randint(-3, 3), MINIMUM), MAXIMUM)
            unit = rng.choice(("check", "search")) if mixed else "check"
            own = {"valid": 1, "state": state, "position": position, "value": value, "old": old}
            clock(**{f"{unit}_{name}": word for name, word in own.items()})
            new, was = (min(max(word, MINIMUM), MAXIMUM) for word in (value + after[state], old + before[state]))
            cut = new != value + after[state] or was != old + before[state]
            trace.wanted[now + SHIFT_CLOCKS] = {"place": position, "new": new % WORD, "beyond": int(cut)}
            norm = max(norm, abs(new - was))
            norms[now + NORM_CLOCKS] = norm
            if has_reference and position - state == place:
                samples[now + SAMPLE_CLOCKS] = state, (new - was) % WORD
        # The norm includes the last value before the next pass begins.
        for _ in range(NORM_CLOCKS):
            clock()
    found = trace.check(clocks, "written")
    assert found["retired"] == [0, *found["written"][:-1]]
    assert [t for t, flag in enumerate(found["sample_valid"]) if flag] == list(samples)
    for t, sample in samples.items():
        assert (found["sample_state"][t], found["sample"][t]) == sample, t
    # The halves of the norm change a clock apart, so it is compared only where no change is in progress.
    wanted, cleared = 0, 0
    for t, word in enumerate(found["norm"]):
        if t and columns["go"][t - 1] and not columns["seek"][t - 1]:
            wanted = 0
            cleared += 1
        wanted = norms.get(t, wanted)
        if norms.get(t + 1, wanted) == wanted:
            assert word == wanted, t
    assert cleared == 4
