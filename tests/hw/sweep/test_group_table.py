"""The registers with the groups of exogenous states, against the bytes that were written."""

from __future__ import annotations

import random

import pytest

from beltline.hw.interface.groups import Mark
from beltline.hw.sweep.group_table import GroupTable
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks


@pytest.mark.gateware
@pytest.mark.parametrize("grid", [2048])
def test_bytes_of_both_rows(clocks: Clocks, grid: int) -> None:
    build = SweepParameters(grid, 4, 1, proof=True, costs=True, alternatives=True)
    rng = random.Random(grid)
    count = 2_000
    rows = [rng.randrange(4) for _ in range(count)]
    columns = [rng.randrange(4) for _ in range(count)]
    strobes = [rng.choice((0, 255, 255, rng.randrange(256))) for _ in range(count)]
    data = [rng.getrandbits(64) for _ in range(count)]
    # In half of the words lowest and highest candidate are equal.
    data = [w & ~(65535 << 32) | (w >> 16 & 65535) << 32 if rng.random() < 0.5 else w for w in data]
    # Every word is written once before anything is compared.
    rows[:8], columns[:8], strobes[:8] = [0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3], [255] * 8
    found = clocks(GroupTable(build), {"row": rows, "column": columns, "write": strobes, "data": data})
    words = {(row, s): 0 for row in range(4) for s in range(4)}
    bits = build.index_bits
    forced = [False] * 4
    seen = 0
    for t in range(count):
        if t >= 9:
            assert [bool(found["forced"][t] >> s & 1) for s in range(4)] == forced, t
            seen += sum(forced)
        limits = [[words[1, s] >> shift & 2**bits - 1 for shift in (16, 32)] for s in range(4)]
        forced = [low == high for low, high in limits]
        if t >= 8:
            for s in range(4):
                mark = words[1, s]
                assert found["kappa"][t] >> 64 * s & 2**64 - 1 == words[0, s], (t, s)
                for flag, name in ((Mark.BEGINS, "begins"), (Mark.ENDS, "ends"), (Mark.KEEPS, "keeps")):
                    assert found[name][t] >> s & 1 == bool(mark & flag), (t, s, name)
                for name, shift in (("lowest", 16), ("highest", 32)):
                    assert found[name][t] >> bits * s & 2**bits - 1 == mark >> shift & 2**bits - 1, (t, s, name)
        kept = sum(255 << 8 * k for k in range(8) if not strobes[t] >> k & 1)
        word = words[rows[t], columns[t]]
        words[rows[t], columns[t]] = (word & kept) | (data[t] & ~kept)
    assert count < seen < 4 * count


@pytest.mark.gateware
def test_prices_replace_the_lowest_candidate(clocks: Clocks) -> None:
    """The lowest candidate that an update of prices finds takes the place of the written one, also for ``forced``."""
    build = SweepParameters(64, 4, 1, proof=True, costs=True, alternatives=True, multipliers=1, prices=True)
    rng = random.Random(3)
    count, begins = 500, 6
    marks = [Mark.PRICED, Mark.UNPAID, Mark.PRICED | Mark.BEGINS, Mark.KEEPS]
    highest = [rng.randrange(64) for _ in marks]
    lowest = [h if s % 2 else 0 for s, h in enumerate(highest)]
    states = [rng.randrange(4) for _ in range(count)]
    # In half of the clocks it is the highest candidate of the state.
    found = [highest[s] if rng.random() < 0.5 else rng.randrange(64) for s in states]
    valid = [int(t >= begins and rng.random() < 0.5) for t in range(count)]
    words = [int(mark) | low << 16 | high << 32 for mark, low, high in zip(marks, lowest, highest, strict=True)]
    outputs = clocks(
        GroupTable(build),
        {
            "row": [1] * count,
            "column": [*range(4), *[0] * (count - 4)],
            "write": [255] * 4 + [0] * (count - 4),
            "data": words + [0] * (count - 4),
            "least_valid": valid,
            "least_state": states,
            "least_index": found,
        },
    )
    forced = [low == high for low, high in zip(lowest, highest, strict=True)]
    seen = set()
    for t in range(begins, count):
        for s in range(4):
            assert outputs["lowest"][t] >> build.index_bits * s & 63 == lowest[s], (t, s)
            assert outputs["forced"][t] >> s & 1 == forced[s], (t, s)
            assert outputs["unpaid"][t] >> s & 1 == bool(marks[s] & Mark.UNPAID)
            assert outputs["priced"][t] >> s & 1 == bool(marks[s] & Mark.PRICED)
        seen.add(tuple(forced))
        forced = [low == high for low, high in zip(lowest, highest, strict=True)]
        if valid[t] and marks[states[t]] & Mark.PRICED:
            lowest[states[t]] = found[t]
    assert seen == {(a, True, b, True) for a in (False, True) for b in (False, True)}
