"""The unit that checks a cached choice, against Python's integers."""

from __future__ import annotations

import random

import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.sweep.peak import NEIGHBOURS, Peak, PeakParameters
from support.streams import Stream

EXTREMES = (MINIMUM, MINIMUM + 1, -1, 0, 1, MAXIMUM - 1, MAXIMUM)


def operands(rng: random.Random) -> tuple[list[int | None], list[int]]:
    kind = rng.randrange(4)
    if kind == 0:
        u, ev = ([rng.choice(EXTREMES) for _ in range(3)] for _ in range(2))
    elif kind == 1:
        u, ev = ([rng.randrange(MINIMUM, MAXIMUM + 1) for _ in range(3)] for _ in range(2))
    else:
        # Objectives nearly tie, as those of neighbours do, also where differences carry into the upper half.
        total = rng.choice((0, 1 << 32, -(1 << 32), 1 << 62, rng.randrange(-(1 << 62), 1 << 62)))
        u = [rng.randrange(-(1 << 61), 1 << 61) for _ in range(3)]
        ev = [total - a + rng.choice((-1, 0, 0, 1, 2)) for a in u]
    return [None if rng.random() < 0.15 else a for a in u], ev


@pytest.mark.gateware
def test_stays_and_value(stream: Stream) -> None:
    rng = random.Random(2)
    rows = [operands(rng) for _ in range(6000)]
    parameters = PeakParameters()
    columns: dict[str, list[int]] = {}
    for k, name in enumerate(NEIGHBOURS):
        columns[f"u_{name}"] = [rng.choice(EXTREMES) % 2**WIDTH if u[k] is None else u[k] % 2**WIDTH for u, _ in rows]
        columns[f"feasible_{name}"] = [int(u[k] is not None) for u, _ in rows]
        columns[f"ev_{name}"] = [ev[k] % 2**WIDTH for _, ev in rows]
    outputs = ["stays", "value", "outside"]
    found = stream(Peak(parameters), columns, outputs, parameters.latency, valid=None)
    kinds = set()
    for k, (u, ev) in enumerate(rows):
        stays, value, outside = parameters.model(u, ev)
        assert bool(found["stays"][k]) == stays, (u, ev)
        assert bool(found["outside"][k]) == outside, (u, ev)
        if u[1] is not None:
            assert int(found["value"][k]) == value % 2**WIDTH, (u, ev)
        kinds.add((stays, outside))
    assert len(kinds) == 4
