"""The objective of a candidate, against plain integers with the utility's software model, which has its own oracle."""

from __future__ import annotations

import random

import numpy as np
import pytest

from beltline.hw.arithmetic.evaluator import Evaluator, EvaluatorParameters, consumption_word
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM
from beltline.hw.arithmetic.utility import UtilityParameters, constant_ports
from beltline.hw.arithmetic.utility_constants import UtilityConstants
from beltline.hw.interface.parameters import Multiplier
from support.streams import MULTIPLIERS, Segment, Stream

EXTREMES = [MINIMUM, MINIMUM + 1, MINIMUM // 2, -1, 0, 1, 2, 2**62, MAXIMUM - 1, MAXIMUM]

Operand = tuple[int, int, int]
"""Operands ``wealth``, ``x`` and ``ev``."""


def operands(rng: random.Random, count: int) -> list[Operand]:
    found = [(wealth, x, ev) for wealth in EXTREMES for x in EXTREMES for ev in (MINIMUM, 0, MAXIMUM)]
    while len(found) < count:
        bits = rng.randint(1, 63)
        consumption = rng.randint(-(2 ** (bits - 3)) if bits > 3 else 0, 2**bits)
        x = rng.randint(MINIMUM, MAXIMUM) >> rng.randrange(64)
        wealth = min(max(x + consumption, MINIMUM), MAXIMUM)
        if rng.random() < 0.1:
            wealth, x = rng.randint(MINIMUM, MAXIMUM), rng.randint(MINIMUM, MAXIMUM)
        if rng.random() < 0.05:
            # The padding of a grid that is smaller than the build.
            x = MAXIMUM
        found.append((wealth, x, rng.randint(MINIMUM, MAXIMUM) >> rng.randrange(64)))
    rng.shuffle(found)
    return found


def wanted(rows: list[Operand], constants: UtilityConstants) -> list[tuple[int | None, bool, bool]]:
    """Return the objective (``None`` where it is not valid), ``feasible`` and ``over``."""
    consumption = [wealth - x for wealth, x, _ in rows]
    # Consumption of more than 63 bits: only the flag is specified, not the objective.
    clipped = np.array([min(max(c, MINIMUM), MAXIMUM) for c in consumption], dtype=np.int64)
    u, feasible, over = UtilityParameters().model(clipped, constants)
    return [
        (None, True, True) if c > MAXIMUM else (int(ui) + ev if good and not high else None, bool(good), bool(high))
        for (_, _, ev), c, ui, good, high in zip(rows, consumption, u, feasible, over, strict=True)
    ]


def test_consumption_model() -> None:
    assert consumption_word(np.int64(-3), np.int64(MAXIMUM)) == (MINIMUM, False)
    for wealth, x, _ in operands(random.Random(1), 20_000):
        found, excess = consumption_word(np.int64(wealth), np.int64(x))
        assert excess == (wealth - x > MAXIMUM)
        if not excess:
            assert found == wealth - x or (found < 0 and wealth - x < MINIMUM)


@pytest.mark.parametrize("multiplier", Multiplier)
def test_times(multiplier: Multiplier) -> None:
    unit = EvaluatorParameters(multiplier)
    # Two clocks for a difference of 65 bits before the utility, and two for the sum after it.
    assert unit.ev_time == 2 + UtilityParameters(multiplier).latency
    assert unit.latency == unit.ev_time + 2


@pytest.mark.gateware
@pytest.mark.parametrize("linear", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_gateware(stream: Stream, multiplier: Multiplier, linear: bool) -> None:
    rng = random.Random(2)
    unit = EvaluatorParameters(multiplier, linear)
    assert unit.latency == EvaluatorParameters(multiplier).latency
    rows: list[Operand] = []
    expected = []
    segments = []
    constants_of: list[UtilityConstants] = []
    used = [UtilityConstants.of(*one) for one in ((2.0, 52, 52), (1.0, 52, 52), (0.5, 0, 52), (5.0, 30, 40))]
    if linear:
        used[1:1] = [UtilityConstants.of(0.0, 40, 40, negative) for negative in (True, False)]
    for constants in used:
        part = operands(rng, 1000)
        rows += part
        constants_of += [constants] * len(part)
        expected += wanted(part, constants)
        ports = {name: int(getattr(constants, name)) for name in constant_ports(linear)}
        # Linear utility does not depend on the constants of curved utility, which may be too large.
        curved = used[-2] if constants.linear else constants
        ports |= {"a": curved.a % 2**64, "b": curved.b % 2**72}
        segments += [Segment(len(part) // 2, 0.0, ports), Segment(len(part) - len(part) // 2, 0.4, ports)]
    words = {
        name: [word % 2**64 for word in column]
        for name, column in zip(("wealth", "x", "ev"), zip(*rows, strict=True), strict=True)
    }
    found = stream(
        Evaluator(unit),
        words,
        ["objective", "feasible", "over"],
        unit.latency,
        segments=segments,
        valid=None,
        late={"ev": unit.ev_time},
    )
    seen = {"padding": 0, "excess": 0, "over": 0, "infeasible": 0, "wide": 0}
    for k, (row, (objective, feasible, over)) in enumerate(zip(rows, expected, strict=True)):
        wealth, x, _ = row
        assert bool(found["over"][k]) == over, (k, row)
        if wealth - x > MAXIMUM:
            seen["excess"] += 1
            continue
        assert bool(found["feasible"][k]) == feasible, (k, row)
        if objective is not None:
            assert int(found["objective"][k]) == objective % 2**65, (k, row)
            seen["wide"] += not MINIMUM <= objective <= MAXIMUM
        seen["over"] += over
        seen["infeasible"] += not feasible
        if x == MAXIMUM and wealth < MAXIMUM and not constants_of[k].negative * constants_of[k].linear:
            assert not feasible
            seen["padding"] += wealth < 0
    assert min(seen.values()) > 20, seen
