"""The order of rounds, and when a proof ends, clock by clock."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.scan.parameters import LIMIT, PERIOD, ROUNDS, divides, may_end, parity_of
from beltline.hw.sweep.scan.rounds import Rounds
from support.streams import Clocks

GUARD = 5
INPUTS = ("begin", "proves", "met", "moved", "crossed")


@pytest.mark.gateware
@pytest.mark.parametrize("general", [False, True])
def test_rounds_until_none_moves(clocks: Clocks, general: bool) -> None:
    rng = random.Random(3)
    shares, sparse = general, not general
    columns: dict[str, list[int]] = {name: [] for name in (*INPUTS, "share" if general else "skips")}
    wanted: list[dict[str, int | None]] = []
    standing: dict[str, int | None] = {"divide": None, "odd": None, "proven": 0}
    if shares:
        standing |= {"sharing": 0, "confirmed": 0}
    if sparse:
        standing |= {"repaired": 0}

    def clock(go: int = 0, finish: int = 0, **given: int) -> None:
        for name, column in columns.items():
            # Outputs of lanes are ignored until all lanes have finished.
            column.append(given.get(name, 0 if name in ("begin", "met") else rng.randrange(2)))
        wanted.append({"go": go, "finish": finish, **standing})

    def wait(met: int) -> None:
        for _ in range(GUARD):
            clock(met=met)
        for _ in range(rng.randrange(4)):
            clock()

    near = range(2 * ROUNDS - 1, 2 * ROUNDS + 4)
    for moves in (0, 1, 2, 3, *near, 30, LIMIT, LIMIT + 9, None, 1):
        share = int(shares and moves != 3)
        skips = sparse and moves in (2, 3)
        clock(begin=1, proves=int(moves is not None), share=share, skips=int(skips))
        standing["proven"] = 0
        if sparse and moves is not None:
            standing["repaired"] = 0
        if skips:
            wait(0)
            clock(finish=1, met=1)
            continue
        if moves is None:
            for _ in range(20):
                clock(met=1)
            continue
        # A choice moves in the first ``moves`` rounds. A proof ends after a round in which none has moved.
        crossed = rng.randrange(2)
        number = since = 0
        if shares:
            standing["confirmed"] = 0
        wait(0)
        moved = 0
        if share:
            # Brackets at the ends, which are confirmed if none has a better candidate.
            clock(go=1, met=1)
            standing |= {"sharing": 1, "divide": 0, "odd": 0}
            wait(0)
            moved = rng.randrange(2)
        while True:
            if number and not moved and since >= 2:
                ends, proven = True, not crossed
            else:
                ends, proven = number == LIMIT, False
            if ends:
                clock(finish=1, met=1, moved=moved, crossed=crossed)
                standing["proven"] = int(proven)
                if sparse:
                    standing["repaired"] = int(moves > 0)
                break
            # What lanes answer before the first round is of the sweep before.
            clock(go=1, met=1, moved=rng.randrange(2) if sparse and not number else moved, crossed=crossed)
            if sparse and number:
                standing["repaired"] = int(moves > 0)
            if share and not number:
                standing |= {"sharing": 0, "confirmed": 1 - moved}
            divide = number % (2 * ROUNDS + 2) >= 2 * ROUNDS
            since = 0 if divide else since + 1
            firsts = number % (2 * ROUNDS + 2) == 2 * ROUNDS
            number += 1
            standing["divide"] = int(divide)
            standing["odd"] = int(firsts) if divide else since % 2
            moved = int(number <= moves)
            wait(rng.randrange(2))
        for _ in range(rng.randrange(3)):
            clock(met=1)
    found = clocks(Rounds(GUARD, general), columns)
    for t, row in enumerate(wanted):
        for name in row:
            assert row[name] is None or found[name][t] == row[name], (t, name)
    assert 0 < sum(found["confirmed" if general else "repaired"]) < len(wanted)
    assert sum(found["go"]) > 2 * LIMIT


def test_rounds_and_the_model_agree() -> None:
    """Rounds take odd and even points four times, then divide and conquer in two; no first round of a kind ends a
    proof.
    """
    kinds = [*[("odd", False), ("even", True)], *[("odd", True), ("even", True)] * (ROUNDS - 1)]
    kinds += [("firsts", False), ("others", False)]
    assert len(kinds) == PERIOD
    for number, (kind, ends) in enumerate(kinds * 3):
        assert divides(number) == (kind in ("firsts", "others"))
        assert may_end(number) == ends
        assert parity_of(number) == (kind in ("odd", "firsts"))
