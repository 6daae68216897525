"""The rows of a lane as other lanes read them, clock by clock, against dictionaries of words."""

from __future__ import annotations

import random

import pytest

from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.lane.rows import Rows
from beltline.hw.sweep.parameters import HALF_WORDS, SweepParameters
from support.streams import Clocks

PARAMETERS = LaneParameters(SweepParameters(grid=64, states=3, lanes=2, slots=4))
BUILD = PARAMETERS.build
POINTS = BUILD.grid // BUILD.lanes
NAMES = ("half", "write", "word", "row", "ev", "x_write", "write_address", "data", "bank__address")


@pytest.mark.gateware
def test_rows_of_every_kind(clocks: Clocks) -> None:
    rng = random.Random(19)
    columns: dict[str, list[int]] = {name: [] for name in NAMES}
    # Expected values by half, state and point; the grid by point.
    expected: dict[tuple[int, int, int], int] = {}
    grid: dict[int, int] = {}
    every = [(half, s, x) for half in range(2) for s in range(BUILD.states) for x in range(POINTS)]
    count = len(every) + POINTS + 5000
    wanted: dict[int, list[int | None]] = {}
    reads_half, just_written = 0, None
    for clock in range(count):
        filling = clock < len(every) + POINTS
        if not filling and rng.random() < 0.01:
            reads_half = 1 - reads_half
        strobes = rng.choice((0, 255, rng.getrandbits(8)))
        point, data, ev = rng.randrange(POINTS), rng.getrandbits(64), rng.getrandbits(64)
        half, state, own = rng.choice(every)
        write = rng.randrange(2)
        if filling:
            write = int(clock < len(every))
            strobes, point = 255, clock - len(every)
            half, state, own = every[min(clock, len(every) - 1)]
        just_written = None
        if write:
            strobes, point = 0, 0
            expected[half, state, own] = ev
            just_written = half, state, own
        elif strobes:
            mask = sum(255 << 8 * byte for byte in range(8) if strobes >> byte & 1)
            grid[point] = grid.get(point, 0) & ~mask | data & mask
            just_written = (point,)
        # The address of a read: the row, the state, which half is requested, and whether there is a request.
        row, of_state = rng.randrange(POINTS // ROW_WORDS), rng.randrange(BUILD.states)
        upper, of_search = rng.randrange(2), rng.randrange(2)
        words: list[int | None] = []
        for k in range(ROW_WORDS):
            own_half = k // HALF_WORDS == upper
            key: tuple[int, ...] = (reads_half, of_state, ROW_WORDS * row + k)
            if of_search and not own_half:
                key = (ROW_WORDS * row + (k + HALF_WORDS) % ROW_WORDS,)
            table = grid if len(key) == 1 else expected
            word = table.get(key[0] if len(key) == 1 else key)  # type: ignore[call-overload]
            words.append(None if key == just_written else word)
        wanted[clock + READ_LATENCY] = words
        address = row | of_state << BUILD.local_bits | upper << BUILD.local_bits + BUILD.state_bits
        address |= of_search << BUILD.local_bits + BUILD.state_bits + 1
        of_row = own // ROW_WORDS | state << BUILD.local_bits | half << BUILD.local_bits + BUILD.state_bits
        given = (reads_half, write, own % ROW_WORDS, of_row, ev, strobes, point % POINTS, data, address)
        for name, number in zip(NAMES, given, strict=True):
            columns[name].append(number)
    found = clocks(Rows(PARAMETERS), columns)
    for t, words in wanted.items():
        if t < count:
            for k, word in enumerate(words):
                if word is not None:
                    assert found["bank__data"][t] >> 64 * k & (1 << 64) - 1 == word, (t, k)
