"""Which local search has its turn, clock by clock."""

from __future__ import annotations

import random
from typing import Any

import pytest

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.handed import handed_layout
from beltline.hw.sweep.search.parameters import SearchParameters
from beltline.hw.sweep.search.ring import Ring
from support.layouts import any_word, pack
from support.streams import Clocks

BUILDS = {
    False: SweepParameters(grid=128, states=3, lanes=1, slots=4),
    True: SweepParameters(grid=256, states=3, lanes=2, slots=4),
}


def begun(word: dict[str, int]) -> dict[str, Any]:
    """Return what a new search has of the state that it is handed, but for its point."""
    beside = {"below_known": 0, "above_known": 0, "first": 1, "down": 0}
    if word["known"]:
        side = "below_known" if word["rises"] else "above_known"
        beside |= {side: 1, "first": 0, "down": 1 - word["rises"]}
    item = {name: word[name] for name in ("choice", "position")}
    # The half-row that was requested, and in which register it is.
    row, odd = divmod(word["half"], 2)
    beside |= {
        f"row{odd}": row | word["asked"] << word["row_bits"],
        "number0": word["number"],
        "number1": word["number"],
    }
    return beside | {"item": item, "index": word["index"], "objective": word["objective"]}


@pytest.mark.gateware
@pytest.mark.parametrize(
    ("contexts", "hands"), [(8, True), (128, False)], ids=["places-of-nobody", "a-search-in-every-place"]
)
def test_turns_and_searches(clocks: Clocks, contexts: int, hands: bool) -> None:
    build = BUILDS[hands]
    assert build.hands == hands
    parameters = SearchParameters(build, contexts)
    layout, around = parameters.search, parameters.clocks
    assert around == (128 if contexts == 128 else parameters.decided + 1)
    rng = random.Random(contexts)
    searches = [
        (4, 0, 0, 2, 255, 1),
        (0, 1, 1, 0, 200, 1),
        (7, 1, 0, 1, 201, 1),
        (3, 0, 1, 2, 17, 0),
        (6, 1, 1, 1, 0, 1),
    ]
    searches = [(*search[:4], search[4] % build.grid, search[5]) for search in searches]
    searches += [(5, 0, 0, 1, 77, 0)] if hands else []
    names = ("restart", "start", "busy", "last_state", "last_index", "part_shift", "seek", "above")
    columns: dict[str, list[int]] = {name: [] for name in (*names, *(("force",) if hands else ()))}
    aligns: dict[int, int] = {}
    restarts, starts = [], []
    for part_shift, seek, above, last_state, last_index, force in searches:
        standing = (last_state, last_index, part_shift, seek, above, *((force,) if hands else ()))
        # A restart as early as possible, then a whole pass, then some turns of another.
        quiet, length = rng.randint(2 if force else READ_LATENCY + 1, 9), around + rng.randint(around, 2 * around)
        restarts.append(len(columns["start"]))
        starts.append(len(columns["start"]) + quiet)
        if hands and not force:
            # Any search may be the first; after a restart, or alone.
            aligns[starts[-1] - READ_LATENCY] = rng.choice((0, 1, contexts - 1, rng.randrange(contexts)))
        for clock in range(quiet + length):
            busy = clock > quiet and (clock < quiet + length - 5 or rng.random() < 0.5)
            row = (clock == 0, clock == quiet, busy, *standing)
            for column, word in zip(columns.values(), row, strict=True):
                column.append(int(word))
    count = len(columns["start"])
    given = [pack(layout, any_word(layout, rng)) for _ in range(count)]
    handed = [any_word(handed_layout(parameters), rng) for _ in range(count)]
    offered = {"handed": [pack(handed_layout(parameters), word) for word in handed]} if hands else {}
    if hands:
        offered["align"] = [int(clock in aligns) for clock in range(count)]
        offered["first_context"] = [aligns.get(clock, rng.randrange(contexts)) for clock in range(count)]
    found = clocks(Ring(parameters), {**columns, "next": given, **offered})

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
            point = part << at["part_shift"]
            fresh: dict[str, Any] = {"point": point, "index": at["last_index"] if at["seek"] and at["above"] else 0}
            if hands and not at["force"]:
                word = handed[clock] | {"row_bits": build.row_bits}
                works = int(word["valid"] and found["mine"][clock])
                fresh = begun(word) | {"active": works, "over": 1 - works}
                fresh["point"] = word["point"] if word["valid"] else (1 << parameters.searched_bits) - 1
            wanted: int | None = pack(layout, fresh)
        else:
            came = clock - (around - parameters.decided)
            wanted = given[came] if came >= 0 else None
        if wanted is not None:
            wanted = wanted if at["busy"] else wanted & ~active
            assert found["search"][clock] == wanted, clock
            seen += 1
        if clock:
            assert found["search_later"][clock] == found["search"][clock - 1], clock
        if hands:
            assert found["part_begin"][clock] == (part << at["part_shift"]) % (1 << parameters.searched_bits)
            # A restart changes the turn of the next clock.
            after = (turn + READ_LATENCY) % around
            near = range(max(0, clock - READ_LATENCY), min(count, clock + READ_LATENCY))
            if not any(columns["restart"][other] or other in aligns for other in near):
                assert found["ahead"][clock] == after % contexts, clock
                if clock + READ_LATENCY < count:
                    assert found["ahead"][clock] == found["context"][clock + READ_LATENCY], clock
        turn = 0 if at["restart"] else (turn + 1) % around
        if clock in aligns:
            turn = (aligns[clock] - READ_LATENCY) % around
    assert seen > 4 * around
