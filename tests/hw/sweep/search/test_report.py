"""The result that a local search reports for a state, against Python's integers."""

from __future__ import annotations

import random

import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.parameters import PROBE, SearchParameters
from beltline.hw.sweep.search.report import Report
from support.layouts import any_word, pack
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=256, states=3, lanes=2, slots=4), 8)
OBJECTIVES = (MAXIMUM, MAXIMUM + 1, MINIMUM, MINIMUM - 1, 0, -1, -(1 << 64), (1 << 64) - 1)
WORD = 1 << 64


@pytest.mark.gateware
def test_reports(clocks: Clocks) -> None:
    rng = random.Random(13)
    layout = PARAMETERS.search
    names = ("busy", "seek", "known", "done", "nowhere", "exogenous", "word_over")
    columns: dict[str, list[int]] = {name: [] for name in (*names, "old", "candidate")}
    wanted = []
    for _ in range(4000):
        old, candidate = any_word(layout, rng), any_word(PROBE, rng)
        if rng.random() < 0.5:
            old["index"] = old["item"]["choice"]
        objective = rng.choice((*OBJECTIVES, rng.randrange(-WORD, WORD)))
        old["objective"] = objective % (2 * WORD)
        given = {name: rng.randrange(2) for name in names} | {"exogenous": rng.randrange(3)}
        given["busy"] = int(rng.random() < 0.8)
        for name, word in given.items():
            columns[name].append(word)
        columns["old"].append(pack(layout, old))
        columns["candidate"].append(pack(PROBE, candidate))
        here = old["here"]
        around = (candidate, here, old["above"]) if old["down"] else (old["below"], here, candidate)
        counts, moved = given["busy"] and not given["seek"], old["index"] != old["item"]["choice"]
        cut = min(max(objective, MINIMUM), MAXIMUM)
        result = {
            "valid": counts and given["done"],
            "other": given["busy"] and given["seek"] and given["done"] and moved and here["feasible"],
            "position": old["item"]["position"],
            "state": given["exogenous"],
            "choice": old["index"] % 256,
            "moved": moved,
            "cached": sum(p["u"] << 64 * k | p["feasible"] << 192 + k for k, p in enumerate(around)),
            "value": (cut if here["feasible"] else MINIMUM) % WORD,
            "infeasible": not here["feasible"],
            "outside": here["feasible"] and cut != objective,
            "over": counts and given["known"] and given["word_over"] and not given["nowhere"],
        }
        wanted.append({name: int(word) for name, word in result.items()})
    found = clocks(Report(PARAMETERS), columns)
    for k, result in enumerate(wanted[:-1]):
        assert {name: column[k + 1] for name, column in found.items()} == result, k
