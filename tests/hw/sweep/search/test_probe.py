"""The candidate of every turn, and whether its words have arrived, against integers and sets of half-rows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from beltline.hw.sweep.parameters import HALF_WORDS, SweepParameters
from beltline.hw.sweep.search.parameters import FOUND, NUMBER_BITS, PROBED, SearchParameters
from beltline.hw.sweep.search.probe import Probe
from support.layouts import any_word, pack
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=64, states=1, lanes=1), 2)
GENERAL = SearchParameters(SweepParameters(64, 8, 1, general=True), 8)
BUILD = PARAMETERS.build
NUMBERS = 1 << NUMBER_BITS


def search(rng: random.Random, top: int, arrived: int, parameters: SearchParameters = PARAMETERS) -> dict[str, Any]:
    """Return a search at a random candidate, in most cases near the half-rows that it has."""
    fields = any_word(parameters.search, rng)
    index = rng.choice((0, 1, top, rng.randint(0, top)))
    near = max(0, index // (2 * HALF_WORDS) + rng.choice((-1, 0, 0, 1)))
    rows = [rng.choice((near, near, rng.randrange(8))) % 8 for _ in range(2)]
    fields |= {
        "active": int(rng.random() < 0.9),
        "index": index,
        "first": rng.randrange(2),
        "exponent": rng.randint(0, BUILD.index_bits),
    }
    for half in range(2):
        asked = rng.random() < 0.9
        fields[f"row{half}"] = (rows[half] | 1 << BUILD.row_bits) if asked else 0
        fields[f"have{half}"] = int(asked and rng.random() < 0.5)
        # The number of requests under way never reaches that of the next one.
        fields[f"number{half}"] = (arrived - rng.choice((0, 1, 2, NUMBERS // 2, rng.randint(-63, 64)))) % NUMBERS
    return fields


def wanted(fields: dict[str, Any], top: int, arrived: int, limits: tuple[int, int] | None = None) -> dict[str, int]:
    bottom, highest = limits or (0, top)
    step = 0 if fields["first"] else 2 ** fields["exponent"]
    j = fields["index"] + (-step if fields["down"] else step)
    on_grid = bottom <= j <= highest
    rows = {half: fields[f"row{half}"] - 8 if fields[f"row{half}"] else None for half in range(2)}
    came = {
        half
        for half in range(2)
        if rows[half] is not None
        and (fields[f"have{half}"] or (arrived - fields[f"number{half}"] - 1) % NUMBERS < NUMBERS // 2)
    }
    row, half = divmod(j // HALF_WORDS, 2)
    asked = rows[half] == row
    found = bool(fields["active"] and on_grid and asked and half in came)
    result = {
        "found": int(found),
        "lacks": int(fields["active"] and on_grid and not asked),
        "nowhere": int(fields["active"] and not on_grid),
        "ahead": 0,
    }
    if on_grid:
        result["probe"] = j
    beside = {k // HALF_WORDS for k in (j - 1, j + 1) if 0 <= k <= top} - {j // HALF_WORDS}
    if found and fields["first"] and beside:
        near_row, near_half = divmod(beside.pop(), 2)
        if rows[near_half] != near_row:
            result |= {"ahead": 1, "near_row": near_row}
    result |= {f"have{half}": int(fields[f"have{half}"] or half in came) for half in range(2)}
    return result


@pytest.mark.gateware
@pytest.mark.parametrize(("top", "general"), [(63, False), (36, False), (4, True)])
def test_candidates_and_cached_rows(clocks: Clocks, top: int, general: bool) -> None:
    rng = random.Random(top)
    parameters = GENERAL if general else PARAMETERS
    count = 4000
    # Rows that have arrived, as the second clock of a search sees them.
    arrived = [rng.randrange(NUMBERS) for _ in range(count + FOUND)]
    searches = [search(rng, top, arrived[k + PROBED], parameters) for k in range(count)]
    words = [pack(parameters.search, fields) for fields in searches]
    contexts = [rng.randrange(2) for _ in range(count)]
    tail = [0] * FOUND
    limits: list[tuple[int, int] | None] = [None] * count
    sides = {}
    if general:
        # A search is at one of its candidates.
        of = [(rng.randint(0, fields["index"]), rng.randint(fields["index"], top)) for fields in searches]
        limits = list(of)
        sides = {
            name: [0] * PROBED + [pair[k] for pair in of] + [0] * (FOUND - PROBED)
            for k, name in enumerate(("least", "most"))
        }
    found = clocks(
        Probe(parameters),
        {
            **sides,
            "last_index": [top] * (count + FOUND),
            "context": contexts + tail,
            "search": words + tail,
            "search_later": [0] * PROBED + words + [0] * (FOUND - PROBED),
            "arrived": arrived,
        },
    )
    seen = set()
    for k, fields in enumerate(searches):
        expected = wanted(fields, top, arrived[k + PROBED], limits[k])
        for half in range(2):
            fields[f"have{half}"] = expected.pop(f"have{half}")
        got = {name: found[name][k + FOUND] for name in expected}
        assert got == expected, (k, fields)
        assert found["seen"][k + FOUND] == pack(parameters.search, fields), k
        assert found["context_later"][k + FOUND] == contexts[k]
        seen |= {name for name in ("found", "lacks", "nowhere", "ahead") if expected[name]}
    assert seen == {"found", "lacks", "nowhere", "ahead"}
