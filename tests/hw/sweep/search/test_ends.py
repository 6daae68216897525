"""When a pass of local searches ends, clock by clock."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.ends import Ends
from beltline.hw.sweep.search.parameters import SearchParameters
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=64, states=1, lanes=1), 2)
INPUTS = ("start", "beginning", "over", "was_over", "idle")
CASES = ("at once", "idle", "late row", "slow", "rows come and go", "at once", "leftover")


@pytest.mark.gateware
def test_end_of_a_local_search(clocks: Clocks) -> None:
    rng = random.Random(1)
    places, decided = PARAMETERS.clocks, PARAMETERS.decided
    columns: dict[str, list[int]] = {name: [] for name in INPUTS}
    busy: list[int] = []
    for case in CASES:
        begun = len(busy)
        rounds = {"at once": 1, "leftover": 1}.get(case, 4)
        # The round in which each place of the ring becomes idle. The pass begins a clock after its start.
        last_round = [rng.randrange(rounds) for _ in range(places)]
        last_round[rng.randrange(places)] = rounds - 1
        last_over = max(begun + 1 + decided + place + last * places for place, last in enumerate(last_round))
        late = {"late row": 37, "slow": 1}.get(case, 0)
        # The clock in which all places are idle and no row is under way.
        ends = last_over + 2 + late
        for clock in range(begun, ends + 12):
            since = clock - (begun + 1 + decided)
            place, turn = since % places, since // places
            over = turn >= last_round[place]
            was_over = turn > last_round[place]
            if since < 0:
                # Turns that began before this pass are ignored. At its start all are over.
                over, was_over = clock == begun or case == "leftover" or rng.random() < 0.5, clock == begun
            idle = clock >= ends or (case in ("idle", "slow", "at once") and clock < ends - late)
            if case == "rows come and go":
                idle = clock >= ends or rng.random() < 0.7
            row = (clock == begun, begun < clock <= begun + places, over, was_over, idle)
            for name, word in zip(INPUTS, row, strict=True):
                columns[name].append(int(word))
            busy.append(int(begun < clock <= ends))
    found = clocks(Ends(PARAMETERS), columns)
    assert found["busy"] == busy
