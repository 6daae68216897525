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

PARAMETERS = SearchParameters(SweepParameters(grid=256, states=3, lanes=2, slots=4), 8)
PROVING = SearchParameters(SweepParameters(grid=256, states=3, lanes=2, slots=4, proof=True), 8)
BOUNDED = SearchParameters(
    SweepParameters(grid=256, states=3, lanes=2, slots=4, proof=True, costs=True, alternatives=True, bounds=True),
    8,
)
BUILD = PARAMETERS.build
MOST = BUILD.grid // BUILD.lanes


def result_of(flags: dict[tuple[int, int], int], given: dict[str, int], search: dict[str, Any]) -> dict[str, int]:
    """Return the result of a turn; it has no ``item`` if no state was found."""
    state, begin = given["context"] % 4, search["point"]
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
    examine(clocks, PARAMETERS, points, states, part_shift, share, {"force": force, "cold": cold})


@pytest.mark.gateware
@pytest.mark.parametrize(("cold", "stored"), [(1, 1), (1, 0), (0, 1)])
def test_stored_choices_are_used_in_a_cold_sweep(clocks: Clocks, cold: int, stored: int) -> None:
    idle = dict.fromkeys(("set", "set_point", "set_state"), 0)
    examine(clocks, PROVING, MOST, 3, 6, 0.0, idle | {"force": 1, "cold": cold, "stored": stored})


@pytest.mark.gateware
def test_candidates_of_the_state_that_is_found(clocks: Clocks) -> None:
    idle = dict.fromkeys(("set", "set_point", "set_state"), 0)
    examine(clocks, BOUNDED, MOST, 3, 6, 0.0, idle | {"force": 1, "cold": 1, "stored": 0})


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
    cold = kind["cold"] and not kind.get("stored", 0)
    rng = random.Random(points + cold)
    loaded = parameters.loaded
    first_point = rng.choice((0, 128, 250))
    flags = {(x, s): int(rng.random() < share) for x in range(points) for s in range(states)}
    choices = [rng.randrange(BUILD.grid) for _ in range(MOST * BUILD.states)]
    standing = {
        "points": points,
        "last_state": states - 1,
        **kind,
        "first_point": first_point,
    }
    turns = 2500
    begin = len(flags) + 1
    count = begin + turns + loaded
    names = (*standing, "mark_valid", "mark_point", "mark_state", "mark", "busy", "context", "mine", "limit")
    cut = ("least", "most") if parameters.build.bounds else ()
    names += ("search", "search_later", "choice_data", *cut)
    columns = {name: [standing.get(name, 0)] * count for name in names}
    for clock, ((x, s), mark) in enumerate(flags.items()):
        for name, word in (("mark_valid", 1), ("mark_point", x), ("mark_state", s), ("mark", mark)):
            columns[name][clock] = word
    wanted = []
    for clock in range(begin, begin + turns):
        context = rng.randrange(parameters.contexts)
        part = context >> BUILD.state_bits
        limit = part + 1 << part_shift
        search = any_word(parameters.search, rng)
        search["waiting"] = int(rng.random() < 0.2)
        search["point"] = rng.choice((rng.randint(part << part_shift, limit), limit - 1, limit, points - 1, points))
        given = standing | {"context": context, "limit": limit, "mine": int(context % 4 < states), "busy": 1}
        if rng.random() < 0.05:
            given["busy"] = 0
        columns["busy"][clock + MARKS_CLOCKS] = given["busy"]
        for name in ("context", "limit", "mine"):
            columns[name][clock] = given[name]
        columns["search"][clock] = columns["search_later"][clock + PROBED] = pack(parameters.search, search)
        for name in ("choice_data", *cut):
            columns[name][clock + loaded] = rng.randrange(BUILD.grid)
        result = result_of(flags, given, search)
        if "at" in result:
            at = result.pop("at")
            position = at * states + context % 4
            columns["choice_data"][clock + loaded] = choices[position]
            choice = (first_point + at) % BUILD.grid if cold else choices[position]
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
