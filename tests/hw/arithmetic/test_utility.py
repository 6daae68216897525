"""The utility unit against a correctly rounded oracle (MPFR), and its gateware against its model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from amaranth.lib import wiring
from numpy.typing import NDArray

from beltline.hw.arithmetic.numbers import MAXIMUM
from beltline.hw.arithmetic.utility import CONSTANTS, Utility, UtilityParameters
from beltline.hw.arithmetic.utility_constants import A_FRACTION, B_FRACTION, UtilityConstants
from beltline.hw.interface.parameters import Multiplier
from beltline.sim.utility_error import ETAS, EXTREMES, FORMATS, operands, worst_error, worst_of
from support import gates
from support.streams import MULTIPLIERS, Segment, Stream

ALL_FORMATS = [*FORMATS, (0, 0), (0, 52), (52, 0)]
MODEL = UtilityParameters().model


@pytest.mark.parametrize("eta", ETAS)
def test_error_against_oracle(eta: float) -> None:
    worst = worst_of(eta)
    print(f"eta {eta:g}: {worst}")
    assert worst.operands > 125_000
    assert worst.wrong_flags == 0
    assert worst.allowed <= 0.52
    assert worst.proven <= 1


@pytest.mark.parametrize("eta", [2.0**-6, 0.2, 0.9876295538210846, 1.0, 1.0034207887234134, 1.0 + 2.0**-20, 7.3, 16.0])
def test_bounds_at_other_etas_and_of_small_amounts(eta: float) -> None:
    """Near ``eta`` 1 the rounding of ``b`` and the truncation of the product matter most; the error of small amounts is
    at most a unit of value or 2**-50 of utility, as the host assumes.
    """
    rng = np.random.default_rng(5)
    for amount, value in (*FORMATS, (51, 50), (60, 52), (79, 52), (90, 52), (90, 0)):
        worst = worst_error(operands(rng, 1000, eta, amount, value), eta, amount, value)
        assert worst.wrong_flags == 0
        assert worst.allowed <= 1 if amount >= 60 else worst.proven <= 1


def test_exact_rationals_for_eta_2() -> None:
    """With ``eta`` 2 utility is ``-1/c``, for which exact rationals are the oracle."""
    rng = np.random.default_rng(6)
    amount, value = 40, 52
    c = operands(rng, 20_000, 2.0, amount, value)
    c = c[c > 0]
    u, feasible, over = MODEL(c, UtilityConstants.of(2.0, amount, value))
    assert not over.any()
    for ci, ui, good in zip(c.tolist(), u.tolist(), feasible.tolist(), strict=True):
        numerator = 1 << (amount + value)
        if not good:
            assert numerator > ci * (2**63 - 2**10)
            continue
        error = abs(ui * ci + numerator)
        # The bound is half a unit plus 2**-55 of the utility; both sides are multiplied by c.
        assert error * 2**56 <= ci * 2**55 + numerator * 2


def test_one_has_its_exact_utility() -> None:
    """``U(1)`` is exactly ``1/(1 - eta)``, and 0 for the logarithm."""
    for eta in (0.5, 1.5, 2.0, 3.0, 5.0):
        u, feasible, _ = MODEL([1 << 40], UtilityConstants.of(eta, 40, 48))
        assert feasible.all()
        assert abs(int(u[0]) - round(Fraction(2**48) / (1 - Fraction(eta)))) <= 1
    for amount in (0, 30, 52):
        assert MODEL([1 << amount], UtilityConstants.of(1.0, amount, 52))[0].tolist() == [0]


@pytest.mark.parametrize("eta", ETAS)
def test_never_falls(eta: float) -> None:
    rng = np.random.default_rng(int(eta * 10) + 100)
    for amount, value in ALL_FORMATS:
        constants = UtilityConstants.of(eta, amount, value)
        c = operands(rng, 40_000, eta, amount, value)
        c = np.concatenate([c, thresholds(constants)])
        c = np.unique(c[c < 2**63 - 1])
        assert_rising(np.concatenate([c, c + 1]), constants)
        for start in np.exp2(rng.uniform(1, 62.9, 4)).astype(np.int64).tolist():
            assert_rising(start + np.arange(10_000), constants)


def thresholds(constants: UtilityConstants) -> NDArray[np.int64]:
    """Return the lowest consumptions with utilities of ``2**k`` and ``-2**k``, and their neighbours."""
    wanted = np.array([2**k for k in range(63)] + [-(2**k) for k in range(63)], dtype=np.int64)
    low, high = np.zeros(wanted.size, np.int64), np.full(wanted.size, 2**63 - 1)
    while (high - low > 1).any():
        middle = low + (high - low) // 2
        u, feasible, _ = MODEL(middle, constants)
        reached = feasible & (u >= wanted)
        low, high = np.where(reached, low, middle), np.where(reached, middle, high)
    return np.clip(high[:, None] + np.arange(-3, 4), 1, 2**63 - 3).reshape(-1)


def assert_rising(c: NDArray[np.int64], constants: UtilityConstants) -> None:
    c = np.sort(c)
    u, feasible, over = MODEL(c, constants)
    ranked = np.where(feasible, u, np.iinfo(np.int64).min)
    assert (np.diff(feasible.astype(int)) >= 0).all()
    assert (np.diff(over.astype(int)) >= 0).all()
    assert (ranked[1:] >= ranked[:-1]).all()


def test_infeasible() -> None:
    c = [-(2**63), -(2**62), -2, -1, 0]
    for eta in ETAS:
        u, feasible, over = MODEL(c, UtilityConstants.of(eta, 52, 52))
        assert (u.tolist(), feasible.any(), over.any()) == ([0] * len(c), False, False)
    # -2**63 / c: at the end of the range it is infeasible.
    u, feasible, over = MODEL([1, 2, 3, 4], UtilityConstants.of(2.0, 12, 51))
    assert feasible.tolist() == [False, True, True, True]
    assert (int(u[1]), int(u[3])) == (-(2**62), -(2**61))
    assert not over.any()


def test_over() -> None:
    # 2**53 sqrt(c) reaches 2**63 at c = 2**20.
    constants = UtilityConstants.of(0.5, 0, 52)
    u, feasible, over = MODEL([2**20 - 1, 2**20, 2**20 + 1, 2**63 - 1], constants)
    assert over.tolist() == [False, True, True, True]
    assert feasible.all()
    assert u[1:].tolist() == [MAXIMUM] * 3
    assert u[0] < MAXIMUM
    assert abs(int(u[0]) - 2**53 * math.sqrt(2**20 - 1)) < 2**63 * 2.0**-52


@pytest.mark.parametrize("eta", [*ETAS, 2.0**-6, 0.1, math.nextafter(1, 0), math.nextafter(1, 2), 16.0])
def test_constants(eta: float) -> None:
    for amount, value in ALL_FORMATS:
        constants = UtilityConstants.of(eta, amount, value)
        assert constants.log == (eta == 1)
        assert constants.negative == (eta > 1)
        assert constants.shift == 58 - value
        assert -(2**63) <= constants.a < 2**63
        assert -(2**71) <= constants.b < 2**71
        with gmpy2.context(gmpy2.get_context(), precision=200):
            if eta == 1:
                assert constants.a == gmpy2.rint(gmpy2.mul_2exp(gmpy2.const_log2(), A_FRACTION))
                exact = -gmpy2.mpfr(constants.a) * amount / 2**A_FRACTION
            else:
                assert Fraction(constants.a, 2**A_FRACTION) == 1 - Fraction(eta)
                power = 1 - gmpy2.mpfr(eta)
                exact = value - power * amount - gmpy2.log2(abs(power))
            assert abs(constants.b - gmpy2.mul_2exp(exact, B_FRACTION)) <= 0.5
        a, high, low, negative, log, shift, linear = constants.words
        assert (int(a), int(high) << 64 | int(low)) == (constants.a, constants.b % 2**128)
        assert (negative, log, int(shift)) == (constants.negative, constants.log, constants.shift)
        assert not linear


def test_linear_utility_is_consumption() -> None:
    c = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**62, 2**63 - 1]
    for negative, able in ((False, c[4:]), (True, c[1:])):
        constants = UtilityConstants.of(0.0, 41, 41, negative)
        u, feasible, over = MODEL(c, constants)
        assert u.tolist() == [word if word in able else 0 for word in c]
        assert feasible.tolist() == [word in able for word in c]
        assert not over.any()
        assert UtilityConstants.from_registers(constants.registers, linear=True) == constants
        # A build without linear utility ignores the bit.
        ignored = UtilityConstants.from_registers(constants.registers, linear=False)
        assert ignored == replace(constants, linear=False)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        *(((eta, 52, 48), f"eta must lie in [0, 16], not {eta!r}") for eta in (-0.5, 16.000001, math.inf, math.nan)),
        *(((2.0, bits, 48), f"fraction bits of amount must be from 0 to 90, not {bits}") for bits in (-1, 91)),
        *(((2.0, 48, bits), f"fraction bits of value must be from 0 to 52, not {bits}") for bits in (-1, 53)),
        ((0.0, 40, 41), "fraction bits of amount and value must be equal with eta = 0, not 40 and 41"),
        ((2.0, 40, 40, True), "eta must be 0 where consumption may be negative, not 2.0"),
    ],
)
def test_refusals(given: tuple[float, int, int], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        UtilityConstants.of(*given)


def compare(
    stream: Stream, design: wiring.Component | Mapping[str, str], multiplier: Multiplier, operands_each: int
) -> None:
    """Compare every ``eta`` in two formats, in one simulation whose constants change between operands."""
    rng = np.random.default_rng(7)
    unit = UtilityParameters(multiplier)
    columns, wanted, segments = [], [], []
    for eta in ETAS:
        for amount, value in ((52, 52), (0, 52)):
            constants = UtilityConstants.of(eta, amount, value)
            edges = thresholds(constants)
            c = np.concatenate(
                [operands(rng, operands_each, eta, amount, value), edges, np.array(EXTREMES, dtype=np.int64)]
            )
            rng.shuffle(c)
            columns.append(c)
            wanted.append(unit.model(c, constants))
            ports = {name: int(getattr(constants, name)) for name in CONSTANTS}
            ports |= {"a": constants.a % 2**64, "b": constants.b % 2**72}
            half = c.size // 2
            segments += [Segment(half, 0.0, ports), Segment(c.size - half, 0.4, ports)]
    c = np.concatenate(columns)
    assert c.size > 2 * len(ETAS) * operands_each
    found = stream(
        design,
        {"operand": c.view(np.uint64)},
        ["result", "feasible", "over"],
        unit.latency,
        segments=segments,
    )
    u, feasible, over = (np.concatenate(parts) for parts in zip(*wanted, strict=True))
    np.testing.assert_array_equal(found["feasible"], feasible)
    np.testing.assert_array_equal(found["over"], over)
    np.testing.assert_array_equal(found["result"].view(np.int64)[feasible], u[feasible])
    assert feasible.any()
    assert not feasible.all()
    assert over.any()


@pytest.mark.gateware
@pytest.mark.parametrize("operands_each", [800, pytest.param(5400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_gateware_equals_model(stream: Stream, multiplier: Multiplier, operands_each: int) -> None:
    compare(stream, Utility(UtilityParameters(multiplier)), multiplier, operands_each)


@pytest.mark.gateware
@pytest.mark.slow
def test_gates_equal_model(stream: Stream) -> None:
    """The netlist of 7-series cells that synthesis makes of the unit returns the model's bits."""
    unit = UtilityParameters(gates.MULTIPLIER)
    compare(stream, gates.gates(Utility(unit)), gates.MULTIPLIER, 300)
