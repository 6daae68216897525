"""The first moves of local searches from one pass to the next, against a list of integers."""

from __future__ import annotations

import random

import pytest

from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.moves import FirstMoves
from beltline.hw.sweep.search.parameters import FOUND, SearchParameters
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=64, states=3, lanes=1, slots=4), 8)


@pytest.mark.gateware
def test_moves_are_remembered_and_die_away(clocks: Clocks) -> None:
    rng = random.Random(5)
    parameters = PARAMETERS
    loaded, decided, around = parameters.loaded, parameters.decided, parameters.clocks
    assert around > decided
    bits = parameters.index_bits
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    remembered: dict[int, int] = {}
    names = ("cold", "context", "beginning", "context_later", "first", "first_move")
    searches = [(1, 1.0), (0, 1.0), (0, 0.0), (0, 0.5), (1, 0.3), (0, 0.0), (0, 1.0), (0, 1.0)]
    turns = 3
    length = (turns + 1) * around
    columns = {name: [0] * (length * len(searches)) for name in names}
    wanted: dict[int, int] = {}
    used: set[int] = set()
    for number, (cold, share) in enumerate(searches):
        begin = number * length
        at_first = dict(remembered)
        firsts = {c: rng.randrange(turns) for c in range(parameters.contexts) if rng.random() < share}
        for clock in range(begin, begin + length):
            columns["cold"][clock] = cold
            columns["first_move"][clock] = rng.getrandbits(bits)
        for turn in range(turns):
            for place in range(around):
                clock = begin + turn * around + place
                context = place % parameters.contexts
                columns["context"][clock] = columns["context_later"][clock + FOUND] = context
                columns["beginning"][clock] = int(turn == 0)
                if turn == 0:
                    used.add(clock + loaded)
                    if cold or context in at_first:
                        wanted[clock + loaded] = 0 if cold else at_first[context]
                if place < parameters.contexts and firsts.get(context) == turn:
                    move = rng.choice((least, most, -1, 0, 1, 7, 8, -8, -9, rng.randint(least, most)))
                    columns["first"][clock + decided] = 1
                    columns["first_move"][clock + decided] = move % (1 << bits)
                    # Seven eighths of the move are remembered, rounded up, or 0 in a sweep without former choices.
                    remembered[context] = 0 if cold else move - move // 8
    found = clocks(FirstMoves(parameters), columns)
    assert {t for t, flag in enumerate(found["used"]) if flag} == used
    assert len(wanted) > 300
    for t, move in wanted.items():
        assert found["move"][t] == move % (1 << bits), t
