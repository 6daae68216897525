"""The next marked state in each turn, against a search in a table of flags."""

from __future__ import annotations

import random
from typing import Any

import pytest

from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.marks import MARKS_CLOCKS
from beltline.hw.sweep.search.next_state import NextState
from beltline.hw.sweep.search.parameters import MARKS, PROBED, SearchParameters
from support.layouts import any_word, pack
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=256, states=3, lanes=2), 8)
GENERAL = SearchParameters(SweepParameters(grid=256, states=8, lanes=2, general=True), 16)
BUILD = PARAMETERS.build
MOST = BUILD.grid // BUILD.lanes


def result_of(flags: dict[tuple[int, int], int], given: dict[str, int], search: dict[str, Any]) -> dict[str, int]:
    """Return the result of a turn; it has no ``item`` if no state was found."""
    state, begin = given["context"] % given["built"], search["point"]
    end = min(given["points"], given["limit"])
    point, item = begin, None
    if given["mine"] and given["busy"] and not search["waiting"] and begin < end:
        word = range(begin, (begin // MARKS + 1) * MARKS)
        marked = next((x for x in word if given["force"] or flags.get((x, state), 0)), None)
        point = word.stop if marked is None else marked + 1
        if marked is not None and marked < end:
            item = marked
    found = {
        "hit": int(item is not None),
        "point": point,
        "exhausted": int(not given["mine"] or point >= end),
        "exogenous": state,
    }
    return found if item is None else found | {"at": item}


@pytest.mark.gateware
@pytest.mark.parametrize(
    ("points", "states", "part_shift", "share", "force", "cold"),
    [(MOST, 2, 6, 0.0, 1, 1), (77, 3, 6, 0.05, 0, 0), (5, 1, 2, 1.0, 0, 1), (13, 3, 3, 0.2, 0, 0)],
    ids=["forced", "sparse", "few", "parts-of-a-word"],
)
def test_searches(
    clocks: Clocks, points: int, states: int, part_shift: int, share: float, force: int, cold: int
) -> None:
    examine(clocks, PARAMETERS, points, states, part_shift, share, {"force": force, "cold": cold, "stored": 0})


@pytest.mark.gateware
@pytest.mark.parametrize(("cold", "stored"), [(1, 1), (1, 0), (0, 1)])
def test_stored_choices_are_used_in_a_cold_sweep(clocks: Clocks, cold: int, stored: int) -> None:
    examine(clocks, PARAMETERS, MOST, 3, 6, 0.0, {"force": 1, "cold": cold, "stored": stored})


@pytest.mark.gateware
def test_candidates_of_the_state_that_is_found(clocks: Clocks) -> None:
    examine(clocks, GENERAL, MOST, 3, 6, 0.0, {"force": 1, "cold": 1, "stored": 0})


def examine(
    clocks: Clocks,
    parameters: SearchParameters,
    points: int,
    states: int,
    part_shift: int,
    share: float,
    kind: dict[str, int],
) -> None:
    """Compare 2,500 turns of the unit with :func:`result_of`; ``kind`` has the flags of the pass."""
    cold = kind["cold"] and not kind["stored"]
    built = 1 << parameters.build.state_bits
    rng = random.Random(points + cold)
    loaded = parameters.loaded
    first_point = rng.choice((0, 128, 250))
    flags = {(x, s): int(rng.random() < share) for x in range(points) for s in range(states)}
    choices = [rng.randrange(BUILD.grid) for _ in range(MOST * built)]
    standing = {
        "points": points,
        "last_state": states - 1,
        **dict.fromkeys(("set", "set_point", "set_state"), 0),
        **kind,
        "first_point": first_point,
    }
    turns = 2500
    begin = len(flags) + 1
    count = begin + turns + loaded
    names = (*standing, "mark_valid", "mark_point", "mark_state", "mark", "busy", "context", "mine", "limit")
    cut = ("least", "most") if parameters.build.general else ()
    names += ("search", "search_later", "choice_data", *cut)
    columns = {name: [standing.get(name, 0)] * count for name in names}
    for clock, ((x, s), mark) in enumerate(flags.items()):
        for name, word in (("mark_valid", 1), ("mark_point", x), ("mark_state", s), ("mark", mark)):
            columns[name][clock] = word
    wanted = []
    clears = set[tuple[int, tuple[int, int]]]()
    for clock in range(begin, begin + turns):
        context = rng.randrange(parameters.contexts)
        part = context // built
        limit = part + 1 << part_shift
        search = any_word(parameters.search, rng)
        search["waiting"] = int(rng.random() < 0.2)
        search["point"] = rng.choice((rng.randint(part << part_shift, limit), limit - 1, limit, points - 1, points))
        given = standing | {
            "context": context,
            "limit": limit,
            "mine": int(context % built < states),
            "busy": 1,
            "built": built,
        }
        if rng.random() < 0.05:
            given["busy"] = 0
        # A mark is cleared when its state is found. What is read in the clock of a write is not defined.
        for cleared, state in [one for one in clears if one[0] < clock]:
            flags[state] = 0
            clears.remove((cleared, state))
        word = search["point"] // MARKS, context % built
        if any(cleared == clock and (x // MARKS, s) == word for cleared, (x, s) in clears):
            given["busy"] = 0
        at = rng.randrange(points), rng.randrange(states)
        free = not any(clock == cleared or at == state for cleared, state in clears)
        sets = not kind["force"] and free and (at[0] // MARKS, at[1]) != word
        for name, value in (("set", 1), ("set_point", at[0]), ("set_state", at[1])):
            columns[name][clock] = value * sets
        columns["busy"][clock + MARKS_CLOCKS] = given["busy"]
        for name in ("context", "limit", "mine"):
            columns[name][clock] = given[name]
        columns["search"][clock] = columns["search_later"][clock + PROBED] = pack(parameters.search, search)
        for name in ("choice_data", *cut):
            columns[name][clock + loaded] = rng.randrange(BUILD.grid)
        result = result_of(flags, given, search)
        if sets:
            flags[at] = 1
        if "at" in result:
            found_at = result.pop("at")
            if columns["busy"][clock]:
                clears.add((clock + MARKS_CLOCKS + 1, (found_at, context % built)))
            position = found_at * states + context % built
            columns["choice_data"][clock + loaded] = choices[position]
            choice = (first_point + found_at) % BUILD.grid if cold else choices[position]
            item = {"choice": choice, "position": position} | {name: columns[name][clock + loaded] for name in cut}
            result |= {"item": pack(parameters.item, item), "address": position}
        wanted.append(result)
    found = clocks(NextState(parameters), columns)
    hits = 0
    for clock, result in enumerate(wanted, begin):
        if "address" in result:
            hits += 1
            assert found["choice_address"][clock + loaded - READ_LATENCY] == result.pop("address"), clock
        assert {name: found[name][clock + loaded] for name in result} == result, clock
    assert hits > 50
