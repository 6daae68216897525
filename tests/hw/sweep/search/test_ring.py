"""Which local search has its turn, clock by clock."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.search.ring import Ring
from support.layouts import any_word, pack
from support.streams import Clocks

BUILD = SweepParameters(grid=128, states=3, lanes=1)


@pytest.mark.gateware
@pytest.mark.parametrize("contexts", [8, 128], ids=["places-of-nobody", "a-search-in-every-place"])
def test_turns_and_searches(clocks: Clocks, contexts: int) -> None:
    build = BUILD
    parameters = SearchParameters(build, contexts)
    layout, around = parameters.search, parameters.clocks
    assert around == (128 if contexts == 128 else parameters.decided + 1)
    rng = random.Random(contexts)
    columns: dict[str, list[int]] = {name: [] for name in ("restart", "start", "busy", "last_state", "part_shift")}
    starts = []
    for part_shift, last_state in ((4, 2), (0, 0), (7, 1), (3, 2), (6, 1)):
        # A restart as early as possible, then a whole pass, then some turns of another.
        quiet, length = rng.randint(2, 9), around + rng.randint(around, 2 * around)
        starts.append(len(columns["start"]) + quiet)
        for clock in range(quiet + length):
            busy = clock > quiet and (clock < quiet + length - 5 or rng.random() < 0.5)
            row = (clock == 0, clock == quiet, busy, last_state, part_shift)
            for column, word in zip(columns.values(), row, strict=True):
                column.append(int(word))
    count = len(columns["start"])
    given = [pack(layout, any_word(layout, rng)) for _ in range(count)]
    found = clocks(Ring(parameters), {**columns, "next": given})

    active = pack(layout, {"active": 1})
    turn = 0
    seen = 0
    for clock in range(count):
        at = {name: column[clock] for name, column in columns.items()}
        begins = any(start < clock <= start + around for start in starts)
        context = turn % contexts
        part, state = context >> build.state_bits, context % (1 << build.state_bits)
        assert found["context"][clock] == context, clock
        assert found["mine"][clock] == (turn < contexts and state <= at["last_state"]), clock
        assert found["beginning"][clock] == begins, clock
        assert found["limit"][clock] == (part + 1 << at["part_shift"]) % (1 << parameters.searched_bits + 1)
        if begins:
            wanted: int | None = pack(layout, {"point": part << at["part_shift"]})
        else:
            came = clock - (around - parameters.decided)
            wanted = given[came] if came >= 0 else None
        if wanted is not None:
            wanted = wanted if at["busy"] else wanted & ~active
            assert found["search"][clock] == wanted, clock
            seen += 1
        if clock:
            assert found["search_later"][clock] == found["search"][clock - 1], clock
        turn = 0 if at["restart"] else (turn + 1) % around
    assert seen > 4 * around
