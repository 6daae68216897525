"""Half-rows as they arrive and are read, clock by clock, against a dictionary."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import HALF_WORDS, ROW_BITS, SweepParameters
from beltline.hw.sweep.search.halves import UNLOAD_CLOCKS, Halves
from beltline.hw.sweep.search.parameters import FOUND, NUMBER_BITS, OPERANDS, SearchParameters
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=256, states=3, lanes=2, slots=4), 8)
WORD = (1 << 64) - 1


@pytest.mark.gateware
@pytest.mark.parametrize("gaps", [0.0, 0.7], ids=["back-to-back", "with gaps"])
def test_words_of_halves(clocks: Clocks, gaps: float) -> None:
    rng = random.Random(int(10 * gaps))
    count = 3000
    names = ("valid", "data", "place", "context", "probe")
    columns: dict[str, list[int]] = {name: [] for name in names}
    held: dict[tuple[int, int, int], tuple[int, int]] = {}
    # The words that will be written, by clock.
    due: dict[int, tuple[tuple[int, int, int], tuple[int, int]]] = {}
    arrived, arrivals = [], 0
    wanted: dict[int, tuple[int, int]] = {}
    free = 0
    for clock in range(count):
        arrivals += clock - UNLOAD_CLOCKS - 1 in range(count) and columns["valid"][clock - UNLOAD_CLOCKS - 1]
        arrived.append(arrivals % (1 << NUMBER_BITS))
        valid = clock >= free and rng.random() >= gaps
        data = rng.choice((0, (1 << ROW_BITS) - 1, rng.getrandbits(ROW_BITS), rng.getrandbits(ROW_BITS)))
        half, context = rng.randrange(2), rng.randrange(8)
        if valid:
            free = clock + UNLOAD_CLOCKS
            for k in range(HALF_WORDS):
                words = [data >> 64 * (HALF_WORDS * upper + k) & WORD for upper in range(2)]
                due[clock + 1 + k] = (context, half, k), (words[half], words[1 - half])
        # A search reads what was written before this clock; a half written in the same clock must not be read.
        choice = [key for key in held if clock + 1 not in due or due[clock + 1][0] != key]
        key = rng.choice(choice) if choice else (0, 0, 0)
        if clock in due:
            held[due[clock][0]] = due[clock][1]
            if rng.random() < 0.3 and not (clock + 1 in due and due[clock + 1][0] == due[clock][0]):
                # The word is read in the clock after its write.
                key = due[clock][0]
        if key in held:
            wanted[clock + OPERANDS - FOUND] = held[key]
        probe = rng.randrange(32) << 3 | key[1] << 2 | key[2]
        for name, word in zip(names, (int(valid), data, half | context << 1, key[0], probe), strict=True):
            columns[name].append(word)
    found = clocks(Halves(PARAMETERS), columns)
    assert found["arrived"] == arrived
    assert arrivals > (1 << NUMBER_BITS if gaps == 0 else 100)
    for clock, words in wanted.items():
        if clock < count:
            assert (found["ev"][clock], found["x"][clock]) == words, clock
