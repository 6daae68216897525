"""The state of a local search in the pipeline: fields of dictionaries, every port in its clock."""

from __future__ import annotations

import random
from typing import Any

import pytest

from beltline.hw.interface.parameters import Multiplier
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.course import Course
from beltline.hw.sweep.search.parameters import FOUND, SearchParameters
from support.layouts import any_word, pack
from support.streams import MULTIPLIERS, Clocks


@pytest.mark.gateware
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_searches_in_their_order(clocks: Clocks, multiplier: Multiplier) -> None:
    rng = random.Random(9)
    build = SweepParameters(grid=128, states=3, lanes=1, multiplier=multiplier)
    parameters, turns = SearchParameters(build, 8), 1500
    assert (parameters.joined == parameters.loaded) == (multiplier is Multiplier.MULT18X18D)
    widths = {
        "probe": build.index_bits,
        "found": 1,
        "nowhere": 1,
        "hit": 1,
        "point": parameters.searched_bits,
        "exhausted": 1,
        "exogenous": build.state_bits,
        "used": 1,
        "move": parameters.index_bits,
    }
    times = dict.fromkeys(widths, parameters.loaded) | {"probe": FOUND, "found": FOUND, "nowhere": FOUND}
    count = turns + parameters.decided + 1
    columns = {name: [0] * count for name in (*widths, "item", "sent")}
    sent: list[dict[str, Any]] = []
    given: list[dict[str, int]] = []
    for turn in range(turns):
        search, item = any_word(parameters.search, rng), any_word(parameters.item, rng)
        words = {name: rng.choice((0, (1 << bits) - 1, rng.getrandbits(bits))) for name, bits in widths.items()}
        columns["sent"][turn + FOUND] = pack(parameters.search, search)
        columns["item"][turn + parameters.loaded] = pack(parameters.item, item)
        for name, word in words.items():
            columns[name][turn + times[name]] = word
        search["point"] = words["point"]
        if words["hit"]:
            search |= {"waiting": 1, "next": item}
        if words["used"]:
            search["shift"] = words["move"]
        sent.append(search)
        given.append(words)
    found = clocks(Course(parameters), columns)
    for turn, (search, words) in enumerate(zip(sent, given, strict=True)):
        word = pack(parameters.search, search)
        assert found["guesses"][turn + parameters.guessed] == word, turn
        assert found["compares"][turn + parameters.evaluated] == word, turn
        assert found["decides"][turn + parameters.decided] == word, turn
        assert found["old_address"][turn + parameters.decided + 1 - READ_LATENCY] == search["item"]["position"], turn
        for name in ("probe", "found", "nowhere", "exhausted", "exogenous"):
            assert found[f"decides_{name}"][turn + parameters.decided] == words[name], (turn, name)
        beside = search["exponent"] == 0 and search["above_known" if search["down"] else "below_known"]
        last = (words["found"] or words["nowhere"]) and not search["first"] and beside
        assert found["decides_last"][turn + parameters.decided] == int(bool(last)), turn
