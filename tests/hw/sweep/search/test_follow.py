"""Which points are listed while their searches go on, clock by clock, against searches that are made up."""

from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.patch import NOTES
from beltline.hw.sweep.search.follow import DECISION_CLOCKS, Follow
from beltline.hw.sweep.search.parameters import SearchParameters
from support.layouts import any_word, pack
from support.streams import Clocks

INPUTS = ("start", "force", "points", "last_state", "note_write", "note_row", "notes", "noted")
INPUTS += ("context", "mine", "beginning", "limit", "search", "search_later")

CASES = [
    # Two words in a part and empty places, or several parts in a word and a search in every place.
    (SearchParameters(SweepParameters(grid=256, states=4, lanes=1, slots=4), 32), 5),
    (SearchParameters(SweepParameters(grid=128, states=1, lanes=1, slots=4), 8), 5),
    (SearchParameters(SweepParameters(grid=64, states=3, lanes=2, slots=4), 64), 1),
    (SearchParameters(SweepParameters(grid=64, states=16, lanes=1, slots=4), 64), 4),
]


@dataclass
class Pass:
    """A pass: sizes, and for every search the point that it has reached in each of its turns."""

    points: int
    states: int
    force: bool
    notes: list[int]
    reached: list[list[int]]


def drawn(parameters: SearchParameters, part_shift: int, rng: random.Random) -> Pass:
    """Return a pass whose searches proceed with different speed, some of them not at all for many turns."""
    build = parameters.build
    most = build.grid // build.lanes
    points = rng.choice([most, rng.randint(1, most), 1])
    density = rng.choice([0.0, 0.1, 0.6, 1.0])
    reached = []
    for context in range(parameters.contexts):
        at = (context >> build.state_bits) << part_shift
        end, turns = at + (1 << part_shift), [at]
        pace = rng.choice([0.2, 0.5, 1.0])
        while at < end:
            at = min(end, at + (rng.choice([1, 1, 2, NOTES]) if rng.random() < pace else 0))
            turns.append(at)
        reached.append(turns)
    notes = [int(rng.random() < density) for _ in range(points)]
    return Pass(points, rng.randint(1, build.states), rng.random() < 0.3, notes, reached)


class Stimulus:
    """Columns of all inputs, and the clocks in which states are listed and the unit is busy."""

    def __init__(self, parameters: SearchParameters, part_shift: int, rng: random.Random) -> None:
        self.parameters, self.part_shift, self.rng = parameters, part_shift, rng
        hands = ("part_begin",) if parameters.build.hands else ()
        self.columns: dict[str, list[int]] = {name: [] for name in (*INPUTS, *hands)}
        self.listed: dict[int, tuple[int, int]] = {}
        self.busy: list[tuple[int, int]] = []
        self.later = 0

    @property
    def clock(self) -> int:
        return len(self.columns["start"])

    def add(self, one: Pass, begin: int | None = None, **given: int) -> None:
        """Add a clock; the pass began in clock ``begin``, if it has begun."""
        parameters, rng = self.parameters, self.rng
        bits, ring = parameters.build.state_bits, parameters.clocks
        turn = self.clock % ring
        context = turn % parameters.contexts
        part, state = context >> bits, context % (1 << bits)
        number = -1 if begin is None else (self.clock - begin - 1) // ring
        fields = any_word(parameters.search, rng)
        beginning = number == 0
        if begin is not None:
            turns = one.reached[context]
            reached = turns[min(number, len(turns) - 1)]
            active = not beginning and reached != turns[-1] and rng.random() < 0.6
            fields["active"] = int(active)
            fields["point"] = rng.randrange(1 << parameters.searched_bits) if active else reached
            if active:
                fields["item"]["position"] = reached * one.states + state
        if beginning and parameters.build.hands:
            # The search has begun with a state that it was handed, or is over.
            fields |= {"active": rng.randrange(2), "point": rng.randrange(1 << parameters.searched_bits)}
        search = pack(parameters.search, fields)
        row = {
            "force": one.force,
            "points": one.points,
            "last_state": one.states - 1,
            "context": context,
            "mine": turn < parameters.contexts and state < one.states,
            "beginning": beginning,
            "limit": (part + 1) << self.part_shift,
            "part_begin": part << self.part_shift,
            "search": search,
            "search_later": self.later,
            **given,
        }
        self.later = search
        for name, column in self.columns.items():
            column.append(int(row.get(name, 0)))

    def add_pass(self, one: Pass) -> None:
        for row in range(-(-one.points // NOTES)):
            word = sum(note << k for k, note in enumerate(one.notes[NOTES * row : NOTES * (row + 1)]))
            # Notes of points that the lane does not have are not looked at.
            word |= self.rng.getrandbits(NOTES) << len(one.notes[NOTES * row :]) & (1 << NOTES) - 1
            self.add(one, note_write=1, note_row=row, notes=word)
        for note in self.rng.sample(one.notes, one.points):
            self.add(one, noted=note)
        for _ in range(self.rng.randrange(self.parameters.clocks)):
            self.add(one)
        begin = self.clock
        # Which kind of pass it is, is known a clock later.
        self.add(one, start=1, force=self.rng.randrange(2))
        end = self.follow(one, begin)
        self.busy.append((begin + 1, end))
        while self.clock < end + self.rng.randint(1, 5):
            self.add(one, begin)

    def follow(self, one: Pass, begin: int) -> int:
        """Note when the points of each part are listed; return the first clock in which the unit is not busy."""
        parameters = self.parameters
        bits, ring = parameters.build.state_bits, parameters.clocks
        # The last point that is listed ends the pass; without any it ends after two clocks.
        end = begin + 3
        for part in range(parameters.contexts >> bits):
            # The clock of the first turn of the part's first search.
            clock = begin + 1 + ((part << bits) - begin - 1) % ring
            place = part << self.part_shift
            limit = min(one.points, place + (1 << self.part_shift))
            while True:
                clock += ring
                word = (place // NOTES + 1) * NOTES
                noted = [n for n in range(place, min(word, limit)) if one.force or one.notes[n]]
                decided = clock + (1 << bits) - 1 + DECISION_CLOCKS
                if not noted:
                    place = word
                elif all(self.passed(one, part << bits | s, clock + s, begin, noted[0]) for s in range(one.states)):
                    for s in range(one.states):
                        self.listed[decided + 1 + s] = noted[0], noted[0] * one.states + s
                    end = max(end, decided + 1 + one.states)
                    place = noted[0] + 1
                if place >= limit:
                    break
        return end

    def passed(self, one: Pass, context: int, clock: int, begin: int, point: int) -> bool:
        turns = one.reached[context]
        return turns[min((clock - begin - 1) // self.parameters.clocks, len(turns) - 1)] > point


@pytest.mark.gateware
@pytest.mark.parametrize(("parameters", "part_shift"), CASES, ids=lambda case: str(getattr(case, "contexts", case)))
def test_points_are_listed_when_all_their_searches_have_passed(
    clocks: Clocks, parameters: SearchParameters, part_shift: int
) -> None:
    rng = random.Random(parameters.contexts + part_shift)
    stimulus = Stimulus(parameters, part_shift, rng)
    for _ in range(16):
        stimulus.add_pass(drawn(parameters, part_shift, rng))
    found = clocks(Follow(parameters), stimulus.columns)
    assert {t for t, flag in enumerate(found["valid"]) if flag} == stimulus.listed.keys()
    for t, (point, position) in stimulus.listed.items():
        assert (found["point"][t], found["position"][t]) == (point, position), t
    busy = [0] * len(found["busy"])
    for begin, end in stimulus.busy:
        busy[begin:end] = [1] * (end - begin)
    assert found["busy"] == busy
    assert len(stimulus.listed) > 80
