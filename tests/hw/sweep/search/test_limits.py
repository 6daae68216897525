"""The candidates of the search that has its turn, against lists."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.limits import Limits
from beltline.hw.sweep.search.parameters import PROBED, SearchParameters
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(64, 4, 1, 4, proof=True, costs=True, alternatives=True), 16)
BITS = PARAMETERS.build.index_bits


@pytest.mark.gateware
def test_candidates_of_every_search(clocks: Clocks) -> None:
    rng = random.Random(2)
    count, tail = 300, PARAMETERS.guessed
    sides = {"lowest": "least", "highest": "most"}
    limits = {name: [rng.randrange(64) for _ in range(4)] for name in sides}
    contexts = [rng.randrange(16) for _ in range(count)]
    columns = {name: [sum(word << BITS * s for s, word in enumerate(words))] for name, words in limits.items()}
    found = clocks(
        Limits(PARAMETERS),
        {"context": contexts + [0] * tail, **{name: column * (count + tail) for name, column in columns.items()}},
    )
    for k, context in enumerate(contexts):
        for name, side in sides.items():
            right = limits[name][context % 4]
            assert found[f"probed_{side}"][k + PROBED] == right, (k, side)
            assert found[f"guessed_{side}"][k + PARAMETERS.guessed] == right, (k, side)
