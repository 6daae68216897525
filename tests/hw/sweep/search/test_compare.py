"""Objectives of candidates and their order, against Python's integers around the utility's model."""

from __future__ import annotations

import random

import numpy as np
import pytest

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility import CONSTANTS, UtilityParameters
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.memory.ram import READ_LATENCY
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.sweep.search.compare import Compare
from beltline.hw.sweep.search.parameters import OPERANDS, SearchParameters
from support.streams import Clocks

PARAMETERS = SearchParameters(SweepParameters(grid=64, states=1, lanes=1, slots=4), 2)
WORD = 1 << 64


@pytest.mark.gateware
@pytest.mark.parametrize("eta", [1.0])
def test_order_with_the_best(clocks: Clocks, eta: float) -> None:
    rng = random.Random(int(eta))
    parameters, turns = PARAMETERS, 2500
    evaluated, decided = parameters.evaluated, parameters.decided
    constants = UtilityConstants.of(eta, 52, 44)
    positions = 1 << parameters.build.position_bits
    wealth = [rng.randrange(1 << 62) >> rng.randrange(60) for _ in range(positions)]
    at = [rng.randrange(positions) for _ in range(turns)]
    # Infeasible, just feasible, and anything; the padding of a small grid last.
    x = [
        rng.choice((wealth[p], wealth[p] + 1, max(wealth[p] - 1, 0), rng.randrange(wealth[p] + 2), MAXIMUM)) for p in at
    ]
    ev = [rng.choice((MINIMUM, MAXIMUM, 0, rng.randint(MINIMUM, MAXIMUM) >> rng.randrange(64))) for _ in range(turns)]
    consumption = np.array([max(wealth[p] - own, -1) for p, own in zip(at, x, strict=True)], dtype=np.int64)
    u, feasible, over = UtilityParameters().model(consumption, constants)
    objective = [int(a) + b for a, b in zip(u, ev, strict=True)]
    best = [rng.choice((o - 1, o, o + 1, o - (1 << 32), o + (1 << 32), rng.randrange(-WORD, WORD))) for o in objective]
    best = [min(max(o, -WORD), WORD - 1) for o in best]
    best_feasible = [rng.randrange(5) > 0 for _ in range(turns)]

    count = turns + decided + 1
    standing = {name: int(getattr(constants, name)) for name in CONSTANTS}
    standing |= {"a": constants.a % WORD, "b": constants.b % 2**72}
    names = ("position", "wealth_data", "ev", "x", "best", "best_feasible")
    columns = {name: [standing.get(name, 0)] * count for name in (*standing, *names)}
    for k in range(turns):
        columns["position"][k] = at[k]
        columns["wealth_data"][k + OPERANDS] = wealth[at[k]]
        columns["x"][k + OPERANDS] = x[k]
        columns["ev"][k + OPERANDS] = ev[k] % WORD
        columns["best"][k + evaluated] = best[k] % (2 * WORD)
        columns["best_feasible"][k + evaluated] = int(best_feasible[k])
    found = clocks(Compare(parameters), columns)
    seen = set()
    for k in range(turns):
        assert found["wealth_address"][k + OPERANDS - READ_LATENCY] == at[k]
        got = {name: found[name][k + decided] for name in ("feasible", "word_over", "rises", "keeps")}
        good = bool(feasible[k])
        rises = good and (not best_feasible[k] or objective[k] > best[k])
        keeps = best_feasible[k] and (not good or best[k] > objective[k])
        assert got["feasible"] == good, k
        if not over[k]:
            assert got == {"feasible": good, "word_over": 0, "rises": rises, "keeps": keeps}, k
            if good:
                assert found["objective"][k + decided] == objective[k] % (2 * WORD), k
                assert found["u"][k + decided] == int(u[k]) % WORD, k
        else:
            assert got["word_over"], k
        seen.add((good, best_feasible[k], rises, keeps))
    # Both feasible with either order and a tie; one of them; none.
    assert len(seen) == 6
