"""The first failed state of each search, clock by clock, against a dictionary."""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.hdl import Shape

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import HALF_SHIFT, SweepParameters
from beltline.hw.sweep.search.handed import HANDED_CLOCKS, Handed, handed_layout, known_ports
from beltline.hw.sweep.search.parameters import NUMBER_BITS, SearchParameters
from support.layouts import unpack
from support.streams import Clocks

CASES = [
    # Several points in a part, one point in a part, and more turns than searches; the last has one exogenous state.
    (SearchParameters(SweepParameters(grid=256, states=4, lanes=2, slots=4), 16), 5, 0.4),
    (SearchParameters(SweepParameters(grid=128, states=3, lanes=8, slots=4), 64), 0, 0.0),
    (SearchParameters(SweepParameters(grid=64, states=1, lanes=2, slots=4), 4), 4, 0.4),
]


class Stimulus:
    """Columns of all inputs: passes of marks, each followed by the first turns of all searches."""

    def __init__(self, parameters: SearchParameters, rng: random.Random) -> None:
        self.parameters, self.rng = parameters, rng
        self.widths = {name: Shape.cast(member.shape).width for name, member in known_ports(parameters.build).items()}
        names = ("mark_valid", "mark_point", "mark_state", "mark", *self.widths, "part_shift")
        names += ("context", "mine", "beginning", "ahead", "asked", "last_index")
        self.columns: dict[str, list[int]] = {name: [] for name in names}
        self.states = 1

    def add(self, **given: int) -> dict[str, int]:
        """Add a clock, with random words on all ports that are not given."""
        parameters, build = self.parameters, self.parameters.build
        clock = len(self.columns["mark"])
        row = {name: self.rng.getrandbits(bits) for name, bits in self.widths.items()}
        row |= {"mark_point": self.rng.getrandbits(build.point_bits), "mark": self.rng.randrange(2), "mark_state": 0}
        turn = clock % parameters.clocks
        context, state_bits = turn % parameters.contexts, build.state_bits
        row |= {
            "mark_valid": 0,
            "context": context,
            "ahead": (clock + READ_LATENCY) % parameters.clocks % parameters.contexts,
            "mine": int(turn < parameters.contexts and context % (1 << state_bits) < self.states),
            "beginning": 0,
            "asked": self.rng.getrandbits(NUMBER_BITS),
            **given,
        }
        for name, column in self.columns.items():
            column.append(row[name])
        return row


def asked_for(row: dict[str, int]) -> int | None:
    """Return the candidate that a search evaluates first after the mark of this clock; ``None`` if off the grid."""
    step = (1 if row["mark_rises"] else -1) if row["mark_known"] else 0
    candidate = row["mark_begin"] + step
    return candidate if not step or 0 <= candidate <= row["last_index"] else None


@pytest.mark.gateware
@pytest.mark.parametrize(("parameters", "part_shift", "gaps"), CASES, ids=["parts", "points", "one-state"])
def test_first_failed_states(clocks: Clocks, parameters: SearchParameters, part_shift: int, gaps: float) -> None:
    rng = random.Random(part_shift)
    build, layout, around = parameters.build, handed_layout(parameters), parameters.clocks
    most = build.grid // build.lanes
    stimulus = Stimulus(parameters, rng)
    wanted: dict[int, dict[str, Any] | None] = {}
    requested: dict[int, tuple[int, int]] = {}
    counted: dict[int, tuple[int, int]] = {}
    given = off_grid = 0
    # In the first pass words are undefined. The second one is broken off, and the third one clears what it has left.
    for number, density in enumerate((0.0, 1.0, 0.0, 1.0, 0.3, 0.05, 0.6, 0.0, 0.1)):
        stimulus.states = build.states if number < 3 else rng.randint(1, build.states)
        standing = {"part_shift": part_shift, "last_index": rng.randrange(build.grid)}
        first: dict[int, dict[str, Any]] = {}
        points = most if number < 4 else rng.randint(1, most)
        for point in range(points):
            for state in range(stimulus.states):
                while rng.random() < gaps:
                    stimulus.add(**standing)
                mark = int(rng.random() < density)
                at = {"mark_valid": 1, "mark_point": point, "mark_state": state, "mark": mark}
                begin = rng.randint(0, standing["last_index"])
                at["mark_begin"] = rng.choice((0, begin, standing["last_index"]))
                row = stimulus.add(**standing, **at)
                context = point >> part_shift << build.state_bits | state
                if mark and context not in first:
                    candidate, clock = asked_for(row), len(stimulus.columns["mark"])
                    names = {"index": "begin", "objective": "objective", "choice": "choice", "position": "position"}
                    first[context] = {field: row[f"mark_{name}"] for field, name in names.items()}
                    first[context] |= {"known": row["mark_known"], "rises": row["mark_rises"]}
                    first[context] |= {"valid": 1, "point": point + 1, "clock": clock, "asked": 0}
                    if candidate is None:
                        off_grid += 1
                    else:
                        requested[clock] = candidate >> HALF_SHIFT, context
                        first[context] |= {"asked": 1, "half": candidate >> HALF_SHIFT}
        # The first turn that can begin with the last state.
        for _ in range(HANDED_CLOCKS - 1 + rng.choice((0, 0, 5))):
            stimulus.add(**standing)
        if number not in (0, 2):
            # In the second pass, which is broken off, states of the first may be counted.
            parts = [context >> build.state_bits for context in first]
            counted[len(stimulus.columns["mark"]) - 1] = len(first), min(parts, default=0) << build.state_bits
        for _ in range(0 if number == 1 else around):
            clock = len(stimulus.columns["mark"])
            row = stimulus.add(**standing, beginning=1)
            if row["mine"] and number > 2:
                wanted[clock] = first.get(row["context"])
                given += wanted[clock] is not None
        for _ in range(rng.randrange(2 * around)):
            stimulus.add(**standing)
    found = clocks(Handed(parameters), stimulus.columns)
    for clock, expected in wanted.items():
        word = unpack(layout, found["handed"][clock])
        if expected:
            expected["number"] = stimulus.columns["asked"][expected["clock"]]
            assert {name: word[name] for name in expected if name != "clock"} == {
                name: bits for name, bits in expected.items() if name != "clock"
            }, clock
        else:
            assert not word["valid"], clock
    assert given >= min(20, parameters.contexts)
    assert [clock for clock, ask in enumerate(found["ask"]) if ask] == sorted(requested)
    for clock, request in requested.items():
        assert (found["half"][clock], found["search"][clock]) == request, clock
    for clock, (count, context) in counted.items():
        assert found["count"][clock] == count, clock
        assert not count or found["first_context"][clock] == context, clock
    assert off_grid > 2 or parameters.contexts == 4
