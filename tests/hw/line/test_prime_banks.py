"""Memories of folded stages, clock by clock, against a plain array."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from beltline.hw.line.prime_banks import PrimeBanks, PrimeBanksParameters
from support.memories import SideBySide, stored
from support.streams import Segment, Stream

SIZES = [
    PrimeBanksParameters(5, 1, 1, 20),
    PrimeBanksParameters(6, 2, 2, lanes=8),
    PrimeBanksParameters(2, 1, 4),
    PrimeBanksParameters(13, 0, 4, 16),
]
WRITES = ("write", "write_place", "write_inner", "write_data")


def clock_by_clock(
    rng: random.Random, parameters: PrimeBanksParameters, count: int
) -> tuple[dict[str, list[int]], list[list[int | None]]]:
    """Return the inputs of each clock, and the words that its read must return (``None`` if undefined)."""
    places, inners, reads = 1 << parameters.place_bits, 1 << parameters.inner_bits, parameters.reads
    inputs = (*WRITES, "inner", *(f"place{j}" for j in range(reads)))
    columns: dict[str, list[int]] = {name: [] for name in inputs}
    cells: dict[tuple[int, int], int] = {}
    written: dict[tuple[int, int], int] = {}
    wanted: list[list[int | None]] = []
    every = [(place, inner) for place in range(places) for inner in range(inners)]
    # The larger memories are filled at their ends only.
    if len(every) > count // 2:
        every = every[: count // 8] + every[-count // 8 :]
    whole = (1 << parameters.lanes) - 1
    for clock in range(count):
        filling = clock < len(every)
        place, inner = every[clock] if filling else rng.choice(every)
        # A word is not written while a read of it is in progress.
        recent = {key for row in wanted_places(columns, clock, parameters) for key in row}
        write = filling or (rng.random() < 0.5 and (place, inner) not in recent)
        strobes = (whole if filling else rng.randint(0, whole)) if write else 0
        data = rng.getrandbits(parameters.width)
        if strobes:
            old = cells.get((place, inner), 0)
            cells[place, inner] = stored(old, data, strobes, parameters.width, parameters.lanes)
            written[place, inner] = clock
        distance = 1 << rng.randrange(parameters.place_bits)
        while (reads - 1) * distance >= places:
            distance //= 2
        start = rng.randrange(places - (reads - 1) * distance)
        if rng.random() < 0.7:
            # Most reads begin near written places.
            start = min(max(rng.choice(every)[0], 0), places - 1 - (reads - 1) * distance)
        read_inner = rng.randrange(inners)
        keys = [(start + j * distance, read_inner) for j in range(reads)]
        settled = [key in cells and written[key] + parameters.write_clocks <= clock for key in keys]
        wanted.append([cells[key] if fine else None for key, fine in zip(keys, settled, strict=True)])
        values = (strobes, place, inner, data, read_inner, *(key[0] for key in keys))
        for name, value in zip(inputs, values, strict=True):
            columns[name].append(value)
    return columns, wanted


def wanted_places(
    columns: dict[str, list[int]], clock: int, parameters: PrimeBanksParameters
) -> list[list[tuple[int, int]]]:
    """Return the words requested in the last clocks whose memories have not been read yet."""
    reads = range(parameters.reads)
    return [
        [(columns[f"place{j}"][k], columns["inner"][k]) for j in reads]
        for k in range(max(0, clock - parameters.latency), clock)
    ]


@pytest.mark.gateware
def test_places_a_power_of_two_apart(stream: Stream, with_shared: Callable[..., dict[str, str]]) -> None:
    rng = random.Random(3)
    count = 3000
    latency = max(parameters.latency for parameters in SIZES)
    operands: dict[str, list[int]] = {}
    expected = []
    for k, parameters in enumerate(SIZES):
        columns, wanted = clock_by_clock(rng, parameters, count)
        operands |= {f"{name}_{k}": column for name, column in columns.items()}
        expected.append(wanted)
    outputs = [f"word{j}_{k}" for k, parameters in enumerate(SIZES) for j in range(parameters.reads)]
    found = stream(
        with_shared(SideBySide([PrimeBanks(parameters) for parameters in SIZES])),
        operands,
        outputs,
        latency,
        segments=[Segment(count)],
        valid=None,
    )
    for k, (parameters, wanted) in enumerate(zip(SIZES, expected, strict=True)):
        ahead = latency - parameters.latency
        for j in range(parameters.reads):
            got = found[f"word{j}_{k}"].tolist()
            known = [clock for clock in range(ahead, count) if wanted[clock][j] is not None]
            assert len(known) > count // 20, (parameters, len(known))
            assert [got[clock - ahead] for clock in known] == [wanted[clock][j] for clock in known], (parameters, j)


@pytest.mark.parametrize("reads", [2, 4])
def test_no_two_places_of_a_read_share_a_bank_and_no_two_words_share_a_cell(reads: int) -> None:
    parameters = PrimeBanksParameters(9, 0, reads)
    places = 1 << parameters.place_bits
    cells = {(place % parameters.banks, place // reads) for place in range(places)}
    assert len(cells) == places
    assert max(row for _, row in cells) < 1 << parameters.row_bits
    for distance in (1 << bits for bits in range(parameters.place_bits)):
        for start in range(places - (reads - 1) * distance):
            assert len({(start + j * distance) % parameters.banks for j in range(reads)}) == reads
