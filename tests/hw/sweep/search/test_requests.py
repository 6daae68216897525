"""The requests of a lane's local searches, clock by clock, against a list of pending ones."""

from __future__ import annotations

import random
from collections import deque

import pytest

from beltline.hw.memory.queue import DEEP_CLOCKS
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.row_buses import TAKEN_CLOCKS, RowBusesParameters
from beltline.hw.sweep.search.parameters import AHEAD_ROWS, NUMBER_BITS, SearchParameters
from beltline.hw.sweep.search.requests import Requests
from support.layouts import any_word, pack
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=256, states=3, lanes=2), 8)
BUILD = PARAMETERS.build
INPUTS = ("context", "probe", "lacks", "ahead", "near_row", "taken")
FIRST_CLOCKS = 5
"""Clocks until a request without others before it reaches the buses."""


@pytest.mark.gateware
@pytest.mark.parametrize(("asking", "taking"), [(0.1, 1.0), (1.0, 0.1)], ids=["few", "full"])
def test_requests_in_order(clocks: Clocks, asking: float, taking: float) -> None:
    rng = random.Random(asking)
    count = 3000
    rows = {name: [] for name in INPUTS} | {"search": []}  # type: dict[str, list[int]]
    # Each waiting request: its clock, its row, the half of the row, and the search that made it.
    waits: deque[tuple[int, int, int, int]] = deque()
    head: tuple[int, int, int, int] | None = None
    head_since = -DEEP_CLOCKS
    asked = refused = 0
    wanted = []
    places: dict[int, int] = {}
    behind = RowBusesParameters(BUILD, BUILD.inner_bits).latency - TAKEN_CLOCKS
    for clock in range(count):
        # In the last clocks no requests are made, so that all waiting ones are served.
        quiet = clock > count - 400
        lacks = int(not quiet and rng.random() < asking)
        ahead = int(not quiet and not lacks and rng.random() < asking / 4)
        fields = any_word(PARAMETERS.search, rng)
        given = {
            "context": rng.randrange(8),
            "probe": rng.randrange(256),
            "lacks": lacks,
            "ahead": ahead,
            "near_row": rng.randrange(32),
            "taken": int(head is not None and (quiet or rng.random() < taking)),
        }
        for name, word in given.items():
            rows[name].append(word)
        rows["search"].append(pack(PARAMETERS.search, fields))
        # The half-row of the probe, or, for a prefetch, the other half of a row.
        row, half = divmod(given["probe"] // 4, 2)
        if ahead:
            row, half = given["near_row"], 1 - half
        made = (lacks or ahead) and len(waits) < AHEAD_ROWS
        refused += (lacks or ahead) and not made
        if made:
            fields |= {f"row{half}": row + 32, f"number{half}": asked, f"have{half}": 0}
        result = {"asked": asked, "request": int(head is not None), "sent": pack(PARAMETERS.search, fields)}
        if head is not None:
            _, own_row, own_half, who = head
            result |= {"row": own_row, "inner": who % 4 | own_half << 2 | 1 << 3}
            if given["taken"]:
                places[clock + behind] = own_half | who << 1
        wanted.append(result)
        # A request becomes the head at the earliest FIRST_CLOCKS after it was made and DEEP_CLOCKS after the last head.
        if given["taken"]:
            head = None
        if head is None and waits and clock + 1 >= max(waits[0][0] + FIRST_CLOCKS, head_since + DEEP_CLOCKS):
            head, head_since = waits.popleft(), clock + 1
        if made:
            waits.append((clock, row, half, given["context"]))
        asked = (asked + made) % (1 << NUMBER_BITS)
    found = clocks(Requests(PARAMETERS), rows)
    for clock, result in enumerate(wanted):
        assert {name: found[name][clock] for name in result} == result, clock
    assert {clock: found["place"][clock] for clock in places if clock < count} == {
        clock: place for clock, place in places.items() if clock < count
    }
    assert not waits
    assert head is None
    assert (refused > 0) == (taking < 1 or asking > 1 / DEEP_CLOCKS)
