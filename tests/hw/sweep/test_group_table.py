"""The registers with the groups of exogenous states, against the bytes that were written."""

from __future__ import annotations

import random

import pytest

from beltline.hw.interface.groups import Mark
from beltline.hw.sweep.group_table import GroupTable
from beltline.hw.sweep.parameters import SweepParameters
from support.streams import Clocks


@pytest.mark.gateware
def test_bytes_of_all_rows(clocks: Clocks) -> None:
    build = SweepParameters(2048, 8, 1, general=True)
    rng = random.Random(2048)
    count = 2_000
    rows = [rng.randrange(4) for _ in range(count)]
    columns = [rng.randrange(4) for _ in range(count)]
    strobes = [rng.choice((0, 255, 255, rng.randrange(256))) for _ in range(count)]
    data = [rng.getrandbits(64) for _ in range(count)]
    # In half of the words lowest and highest candidate are equal.
    data = [w & ~(65535 << 32) | (w >> 16 & 65535) << 32 if rng.random() < 0.5 else w for w in data]
    # Every word is written once before anything is compared.
    rows[:11], columns[:11] = [0, 1] * 4 + [2] * 3, [0, 0, 1, 1, 2, 2, 3, 3, 0, 1, 2]
    strobes[:11] = [255] * 11
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
        if t >= 11:
            constants = zip(("slope", "unit", "lift"), (63, 64, 6), strict=True)
            for column, (name, width) in enumerate(constants):
                assert found[name][t] == words[2, column] % 2**width, (t, name)
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
