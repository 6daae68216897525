"""Where the local search of the next state starts, against Python's integers."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.guess import Guess
from beltline.hw.sweep.search.parameters import GUESS_CLOCKS, SearchParameters
from support.streams import Segment, Stream

PARAMETERS = SearchParameters(SweepParameters(grid=64, states=1, lanes=1), 2)


GENERAL = SearchParameters(SweepParameters(64, 8, 1, general=True), 8)


def word(index: int, choice: int, waits: int, shift: int, parameters: SearchParameters = PARAMETERS) -> int:
    layout = parameters.search
    item = {"choice": choice, "position": 0}
    given = {"index": index, "item": item, "next": {"choice": waits, "position": 3}, "shift": shift & 0x7F}
    return layout.const(given).as_value().value


@pytest.mark.gateware
@pytest.mark.parametrize("top", [63, 20])
def test_guesses_and_moves(stream: Stream, top: int) -> None:
    rng = random.Random(top)
    ends = (0, top)
    cases = [(i, c, w, s) for i in ends for c in ends for w in ends for s in (-64, -1, 0, 1, 63)]
    cases += [(*(rng.randint(0, top) for _ in range(3)), rng.randint(-64, 63)) for _ in range(400)]
    found = stream(
        Guess(PARAMETERS),
        {"search": [word(*case) for case in cases]},
        ["move", "begin_done", "begin_idle"],
        GUESS_CLOCKS,
        valid=None,
        segments=[Segment(len(cases), constants={"last_index": top, "exact": 0})],
    )
    for k, (index, choice, waits, shift) in enumerate(cases):
        move = index - choice
        begins = [min(max(waits + by, 0), top) for by in (move, shift)]
        assert [int(found[name][k]) for name in ("move", "begin_done", "begin_idle")] == [move & 0x7F, *begins], k


@pytest.mark.gateware
@pytest.mark.parametrize("exact", [0, 1])
def test_guesses_among_the_candidates_of_a_state(stream: Stream, exact: int) -> None:
    """In a general build every turn has candidates of its own, also where the stored choice is not among them."""
    rng = random.Random(exact)
    cases = [(*(rng.randint(0, 63) for _ in range(3)), rng.randint(-64, 63)) for _ in range(1000)]
    limits = [sorted((rng.choice((0, rng.randint(0, 63))), rng.choice((63, rng.randint(0, 63))))) for _ in cases]
    bottoms, tops = zip(*limits, strict=True)
    found = stream(
        Guess(GENERAL),
        {"search": [word(*case, GENERAL) for case in cases], "least": list(bottoms), "most": list(tops)},
        ["move", "begin_done", "begin_idle"],
        GUESS_CLOCKS,
        valid=None,
        segments=[Segment(len(cases), constants={"last_index": 63, "exact": exact})],
    )
    for k, ((index, choice, waits, shift), (bottom, top)) in enumerate(zip(cases, limits, strict=True)):
        move = index - choice
        begins = [min(max(waits + (0 if exact else by), bottom), top) for by in (move, shift)]
        assert [int(found[name][k]) for name in ("move", "begin_done", "begin_idle")] == [move & 0x7F, *begins], k
