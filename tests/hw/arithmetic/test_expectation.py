"""The expectation unit against exact sums of Python's integers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from beltline.hw.arithmetic.expectation import Expectation, ExpectationParameters
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.interface.parameters import Multiplier
from beltline.sim.cocotb_runner import run_bench
from support.streams import Enclosed

Matrix = list[list[int]]

ALL = 2**64 - 1


def expected(values: list[int], row: list[int]) -> tuple[int, bool]:
    """Return ``floor(sum / 2**64 + 1/2)``, limited to 64 bits, and whether it had to be saturated."""
    exact = sum(value * weight for value, weight in zip(values, row, strict=True))
    rounded = (2 * exact + 2**64) // 2**65
    return min(max(rounded, MINIMUM), MAXIMUM), not MINIMUM <= rounded <= MAXIMUM


def weights(rng: random.Random, size: int) -> Matrix:
    """Return rows like those of ``beta Q``, or rows that no problem has: random words, all ones, powers of 2."""
    kind = rng.randrange(4)
    if kind == 0:
        rows = [[rng.random() for _ in range(size)] for _ in range(size)]
        return [[int(0.98 * weight / sum(row) * 2**64) for weight in row] for row in rows]
    if kind == 1:
        return [[rng.getrandbits(64) for _ in range(size)] for _ in range(size)]
    if kind == 2:
        return [[ALL] * size for _ in range(size)]
    return [[rng.choice([0, 1, 2**63, 2**62, 3 << 62]) for _ in range(size)] for _ in range(size)]


def values(rng: random.Random, count: int) -> list[int]:
    kind = rng.randrange(5)
    if kind == 0:
        return [rng.choice([MINIMUM, MINIMUM + 1, -1, 0, 1, MAXIMUM - 1, MAXIMUM]) for _ in range(count)]
    if kind == 1:
        return [rng.choice([MAXIMUM, MINIMUM])] * count
    if kind == 2:
        # Sums of exactly half a unit, with weights of 2**62 and 2**63.
        return [rng.randint(-5, 5) for _ in range(count)]
    return [rng.randint(MINIMUM, MAXIMUM) >> rng.randrange(64) for _ in range(count)]


def test_rounding_and_saturation_of_the_oracle() -> None:
    half = 2**63
    assert [expected([v], [half])[0] for v in (-3, -2, -1, 0, 1, 2, 3)] == [-1, -1, 0, 0, 1, 1, 2]
    assert expected([MAXIMUM, MAXIMUM], [ALL, 1]) == (MAXIMUM, False)
    assert expected([MAXIMUM, MAXIMUM, 1], [ALL, 2, half]) == (MAXIMUM, True)
    assert expected([MINIMUM, MINIMUM], [ALL, 1]) == (MINIMUM, False)
    assert expected([MINIMUM, MINIMUM], [ALL, 2]) == (MINIMUM, False)
    assert expected([MINIMUM, MINIMUM], [ALL, 3]) == (MINIMUM, True)


@pytest.mark.parametrize("states", [1, 2, 3, 4, 7, 16])
def test_model(states: int) -> None:
    rng = random.Random(states)
    unit = ExpectationParameters(states)
    flagged = 0
    for _ in range(100):
        q = weights(rng, states)
        points = [values(rng, states) for _ in range(8)]
        ev, saturated = unit.model(np.array(points, dtype=np.int64), np.array(q, dtype=np.uint64))
        wanted = [[expected(point, row) for row in q] for point in points]
        assert ev.tolist() == [[word for word, _ in point] for point in wanted]
        assert saturated == any(flag for point in wanted for _, flag in point)
        flagged += saturated
    assert states == 1 or 0 < flagged < 100


def test_chains_are_as_long_as_they_take_no_more_clocks() -> None:
    chains = {2: 4, 3: 4, 4: 4, 5: 3, 6: 3, 7: 4, 8: 4, 9: 4, 16: 4}
    for multiplier in (Multiplier.DSP48E2, Multiplier.DSP48E1):
        units = {states: ExpectationParameters(states, multiplier) for states in chains}
        assert {states: unit.chain for states, unit in units.items()} == chains
    # No chain without a sum, with products in turns, or without adders behind the multipliers.
    for unit in (
        ExpectationParameters(1),
        ExpectationParameters(4, interval=2),
        ExpectationParameters(4, Multiplier.MULT18X18D),
    ):
        assert unit.chain == 1


def cases(rng: random.Random, states: int) -> list[dict[str, Any]]:
    found = []
    for count in [*range(1, states + 1), *(rng.randint(1, states) for _ in range(8))]:
        for gaps in (0.0, 0.5):
            # Rows and columns that this problem does not use contain words that must be ignored.
            q = weights(rng, states)
            order = [(row, column, q[row][column]) for row in range(states) for column in range(states)]
            rng.shuffle(order)
            found.append(
                {
                    "count": count,
                    "weights": order,
                    "values": [word for _ in range(30) for word in values(rng, count)],
                    "gaps": gaps,
                    "cleared": values(rng, rng.randrange(count)),
                }
            )
    return found


@pytest.mark.gateware
@pytest.mark.parametrize(
    ("states", "multiplier", "interval"),
    [
        (1, Multiplier.DSP48E2, 1),
        # Chains of 2, 3 and 4 multipliers; of 3 and then 2.
        (2, Multiplier.DSP48E2, 1),
        (3, Multiplier.DSP48E2, 1),
        (4, Multiplier.DSP48E2, 1),
        (5, Multiplier.DSP48E2, 1),
        # This many states are also tested in a whole machine: tests/hw/top/test_machine.py.
        pytest.param(16, Multiplier.DSP48E2, 1, marks=pytest.mark.slow),
        # Chains of 4, 4 and 1.
        pytest.param(9, Multiplier.DSP48E2, 1, marks=pytest.mark.slow),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in ((3, Multiplier.DSP48E1, 1), (5, Multiplier.DSP48E1, 2), (2, Multiplier.MULT18X18D, 4))
        ),
        (6, Multiplier.DSP48E2, 4),
    ],
)
def test_gateware(states: int, multiplier: Multiplier, interval: int, tmp_path: Path) -> None:
    rng = random.Random(states)
    unit = ExpectationParameters(states, multiplier, interval)
    every = cases(rng, states)
    stimulus = [
        {**case, "values": [v % 2**64 for v in case["values"]], "cleared": [v % 2**64 for v in case["cleared"]]}
        for case in every
    ]
    (tmp_path / "cases.json").write_text(json.dumps(stimulus))
    run_bench(
        Enclosed(Expectation(unit)),
        "beltline.sim.benches.expectation",
        parameters={
            "cases": str(tmp_path / "cases.json"),
            "results": str(tmp_path / "results.json"),
            "latency": unit.latency,
            "interval": interval,
        },
    )
    results = json.loads((tmp_path / "results.json").read_text())
    high = low = 0
    for case, found in zip(every, results, strict=True):
        count = case["count"]
        q = [[0] * count for _ in range(count)]
        for row, column, word in case["weights"]:
            if row < count and column < count:
                q[row][column] = word
        points = [case["values"][k : k + count] for k in range(0, len(case["values"]), count)]
        wanted = [(*expected(point, q[state]), state) for point in points for state in range(count)]
        assert found == [[word % 2**64, state, int(flag)] for word, flag, state in wanted]
        ev, saturated = ExpectationParameters(count).model(np.array(points), np.array(q, dtype=np.uint64))
        assert ev.reshape(-1).tolist() == [word for word, _, _ in wanted]
        assert saturated == any(flag for _, flag, _ in wanted)
        high += sum(flag and word > 0 for word, flag, _ in wanted)
        low += sum(flag and word < 0 for word, flag, _ in wanted)
    assert states == 1 or min(high, low) > 10
