"""Banked memories, clock by clock, against a plain array."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from beltline.hw.line.banks import BANKS, Banks, BanksParameters
from support.memories import SideBySide, stored
from support.streams import Segment, Stream

SIZES = [BanksParameters(1, 0), BanksParameters(1, 1, 20), BanksParameters(2, 0, lanes=8), BanksParameters(8, 3)]
INPUTS = ("write", "write_place", "write_inner", "write_data", "h", "inner")
WORDS = tuple(f"word{j}" for j in range(BANKS))


def clock_by_clock(
    rng: random.Random, parameters: BanksParameters, count: int
) -> tuple[dict[str, list[int]], list[list[int | None]]]:
    """Return the inputs of each clock, and the four words that its read must return (``None``: never written)."""
    places, inners = BANKS * parameters.rows, 1 << parameters.inner_bits
    cells: dict[tuple[int, int], int] = {}
    columns: dict[str, list[int]] = {name: [] for name in INPUTS}
    wanted: list[list[int | None]] = []
    every = [(place, inner) for place in range(places) for inner in range(inners)]
    sweep = [(h, inner) for h in range(0, places, BANKS) for inner in range(inners)]
    just_read: set[tuple[int, int]] = set()
    for clock in range(count):
        # First every word is written; at the end every word is read back, without further writes.
        filling, checking = clock < len(every), clock >= count - len(sweep)
        place, inner = every[clock] if filling else rng.choice(every)
        write = filling or (not checking and rng.random() < 0.6 and (place, inner) not in just_read)
        data = rng.getrandbits(parameters.width)
        h, read_inner = sweep[clock - count] if checking else (rng.randrange(places - BANKS + 1), rng.randrange(inners))
        whole = (1 << parameters.lanes) - 1
        strobes = (whole if filling else rng.randint(0, whole)) if write else 0
        if strobes:
            old = cells.get((place, inner), 0)
            cells[place, inner] = stored(old, data, strobes, parameters.width, parameters.lanes)
        # Words are fetched in the next clock, in which none of them may be written.
        just_read = {(h + j, read_inner) for j in range(BANKS)}
        wanted.append([cells.get((h + j, read_inner)) for j in range(BANKS)])
        for name, value in zip(INPUTS, (strobes, place, inner, data, h, read_inner), strict=True):
            columns[name].append(value)
    return columns, wanted


@pytest.mark.gateware
def test_four_neighbours(stream: Stream, with_shared: Callable[..., dict[str, str]]) -> None:
    rng = random.Random(2)
    count = 3000
    operands: dict[str, list[int]] = {}
    expected = []
    for k, parameters in enumerate(SIZES):
        columns, wanted = clock_by_clock(rng, parameters, count)
        operands |= {f"{name}_{k}": column for name, column in columns.items()}
        expected.append(wanted)
    outputs = [f"{name}_{k}" for k in range(len(SIZES)) for name in WORDS]
    latency = SIZES[0].latency
    assert {parameters.latency for parameters in SIZES} == {latency}
    found = stream(
        with_shared(SideBySide([Banks(parameters) for parameters in SIZES])),
        operands,
        outputs,
        latency,
        segments=[Segment(count)],
        valid=None,
    )
    for k, wanted in enumerate(expected):
        for j, name in enumerate(WORDS):
            known = [clock for clock in range(count) if wanted[clock][j] is not None]
            assert len(known) > count // 2
            got = found[f"{name}_{k}"].tolist()
            assert [got[clock] for clock in known] == [wanted[clock][j] for clock in known], (SIZES[k], j)
