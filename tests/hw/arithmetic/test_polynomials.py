"""Generated tables, and the error budget of :mod:`beltline.hw.arithmetic.polynomials` over all their cells."""

from __future__ import annotations

from dataclasses import asdict

import mpmath
import pytest

from beltline.hw.arithmetic import exp2, log2
from beltline.hw.arithmetic import polynomials as tables
from beltline.hw.arithmetic.polynomials import (
    C1_BITS,
    C2_BITS,
    DEFICIT_BITS,
    EXP_FIRST,
    EXP_SECOND,
    K1_BITS,
    K2_BITS,
    LOG_FIRST,
    LOG_SECOND,
    LOG_SECOND_STEP,
    RECIPROCAL_BITS,
    TABLE_BITS,
)

ULP = mpmath.mpf(2) ** -TABLE_BITS
MANTISSA = log2.MANTISSA


@pytest.fixture(autouse=True)
def _digits():  # type: ignore[no-untyped-def]
    with mpmath.workdps(50):
        yield


def first_remainders(first: int) -> tuple[int, int]:
    """Return ``z1`` in 64 fraction bits at both ends of a cell of the first table."""
    cell = 1 << (MANTISSA - LOG_FIRST)
    low = (1 << MANTISSA) + first * cell
    reciprocal = tables.load().reciprocal[first]
    cut = MANTISSA + RECIPROCAL_BITS - TABLE_BITS
    return tuple((m * reciprocal >> cut) - (1 << TABLE_BITS) for m in (low, low + cell - 1))  # type: ignore[return-value]


def second_remainder(z1: int, deficit: int) -> int:
    """Return ``z2`` in 64 fraction bits."""
    return z1 - (deficit << (TABLE_BITS - DEFICIT_BITS)) - (z1 * deficit >> DEFICIT_BITS)


def test_stored_tables_are_the_generated_ones() -> None:
    assert asdict(tables.load()) == asdict(tables.generate())


def test_first_remainder_is_below_2_to_minus_9_6() -> None:
    ends = [first_remainders(first) for first in range(1 << LOG_FIRST)]
    assert min(low for low, _ in ends) >= 0
    assert max(high for _, high in ends) < mpmath.ldexp(mpmath.mpf(2) ** -9.6, TABLE_BITS)


def reached_second_cells() -> int:
    highest = max(first_remainders(first)[1] for first in range(1 << LOG_FIRST))
    return (highest >> (TABLE_BITS - LOG_SECOND_STEP)) + 1


def test_second_remainder_is_below_2_to_minus_19_6() -> None:
    assert reached_second_cells() <= 1 << LOG_SECOND
    step = 1 << (TABLE_BITS - LOG_SECOND_STEP)
    for second, deficit in enumerate(tables.load().deficit):
        assert second_remainder(second * step, deficit) >= 0
        highest = second_remainder((second + 1) * step - 1, deficit)
        assert highest < mpmath.ldexp(mpmath.mpf(2) ** -19.6, TABLE_BITS)


def extremes(error, reach, points: int = 400) -> tuple[mpmath.mpf, mpmath.mpf]:  # type: ignore[no-untyped-def]
    """Return bounds on a smooth ``error`` on ``[0, reach]`` that is at most cubic between the points used."""
    found = [error(reach * k / points) for k in range(points + 1)]
    # Between two of 400 points a cubic with these values changes by less than 1% of its size.
    slack = (max(found) - min(found)) / 100
    return min(found) - slack, max(found) + slack


def log_budget() -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return bounds on the error of the logarithm's sum before rounding, for mantissas of 60 fraction bits."""
    t = tables.load()
    first = [
        mpmath.ldexp(word, -TABLE_BITS) + mpmath.log(mpmath.ldexp(r, -RECIPROCAL_BITS), 2)
        for word, r in zip(t.log_first, t.reciprocal, strict=True)
    ]
    second = [
        mpmath.ldexp(word, -TABLE_BITS) + mpmath.log(1 - mpmath.ldexp(e, -DEFICIT_BITS), 2)
        for word, e in zip(t.log_second, t.deficit, strict=True)
    ]
    assert max(abs(e) for e in (*first, *second)) <= ULP / 2
    reach = mpmath.mpf(2) ** -19.6
    k1, k2 = mpmath.ldexp(t.k1, -K1_BITS), mpmath.ldexp(t.k2, -K2_BITS)
    quadratic = extremes(lambda z: k1 * z - k2 * z * z - mpmath.log(1 + z, 2), reach)
    assert max(map(abs, quadratic)) < mpmath.mpf(2) ** -63.4
    # Truncation lowers z1; truncation of the product that z2 subtracts raises z2. Both have 64 fraction bits.
    cut = ULP / mpmath.log(2)
    # A lower z2 in the square and a lower square raise the sum.
    square = k2 * (2 * reach * mpmath.ldexp(1, log2._TOP_CUT - TABLE_BITS))
    square += k2 * mpmath.ldexp(1, 2 * (log2._TOP_CUT - TABLE_BITS) + log2._SQUARE_CUT)
    assert square < mpmath.mpf(2) ** -63.6
    return min(first) + min(second) - cut + quadratic[0], max(first) + max(second) + cut + quadratic[1] + square


def test_log_budget() -> None:
    low, high = log_budget()
    print(f"log2 before rounding: from -2^{mpmath.log(-low, 2)} to 2^{mpmath.log(high, 2)}")
    assert max(-low, high) < mpmath.mpf(2) ** -61.5
    # The logarithms of neighbouring mantissas differ most at the bottom of the octave, and least at its top.
    closest = mpmath.log(2 / (2 - mpmath.ldexp(1, -MANTISSA)), 2)
    assert closest > mpmath.mpf(2) ** -60.5
    assert high - low < closest


def exp_budget() -> tuple[mpmath.mpf, mpmath.mpf, mpmath.mpf]:
    """Return the bounds on the error of ``2**f``, and the larger of both relative to the result."""
    t = tables.load()
    first = [
        mpmath.ldexp(word, -TABLE_BITS) + 1 - mpmath.power(2, mpmath.ldexp(j, -EXP_FIRST))
        for j, word in enumerate(t.exp_first)
    ]
    second = [
        mpmath.ldexp(word, -TABLE_BITS) + 1 - mpmath.power(2, mpmath.ldexp(j, -EXP_FIRST - EXP_SECOND))
        for j, word in enumerate(t.exp_second)
    ]
    assert max(abs(e) for e in (*first, *second)) <= ULP / 2
    reach = mpmath.ldexp(1, -EXP_FIRST - EXP_SECOND)
    c1, c2 = mpmath.ldexp(t.c1, -C1_BITS), mpmath.ldexp(t.c2, -C2_BITS)
    quadratic = extremes(lambda z: c1 * z + c2 * z * z - mpmath.power(2, z) + 1, reach)
    assert max(map(abs, quadratic)) < mpmath.mpf(2) ** -65.5
    square = c2 * 2 * reach * mpmath.ldexp(1, exp2._TOP_CUT - exp2.FRACTION)
    square += c2 * mpmath.ldexp(1, 2 * (exp2._TOP_CUT - exp2.FRACTION) + exp2._SQUARE_CUT)
    q = (quadratic[0] - square - ULP, quadratic[1])
    largest_q = c1 * reach + c2 * reach * reach
    short = largest_q * mpmath.ldexp(1, 1 - exp2._FACTOR_BITS)
    worst = [mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)]
    # Truncations: of the product of the tables, to its 44 bits, of the product with q, and of the result.
    cuts = ULP + short + ULP + mpmath.ldexp(1, -exp2.RESULT_FRACTION)
    for j in range(1 << EXP_FIRST):
        factor = mpmath.power(2, mpmath.ldexp(j, -EXP_FIRST))
        top = mpmath.power(2, mpmath.ldexp(j + 1, -EXP_FIRST))
        low = first[j] * (1 + mpmath.ldexp(1, -EXP_FIRST)) + factor * min(second) + top * q[0] - cuts
        high = abs(first[j]) * (1 + mpmath.ldexp(1, -EXP_FIRST)) + factor * max(second) + top * q[1]
        worst = [min(worst[0], low), max(worst[1], high), max(worst[2], -low / factor, high / factor)]
    return worst[0], worst[1], worst[2]


def test_exp_budget() -> None:
    low, high, relative = exp_budget()
    print(f"2^f: from -2^{mpmath.log(-low, 2)} to 2^{mpmath.log(high, 2)}, relative 2^{mpmath.log(relative, 2)}")
    assert max(-low, high) < mpmath.mpf(2) ** -60.2
    assert relative < mpmath.mpf(2) ** -60.5
    closest = mpmath.log(2) * mpmath.ldexp(1, -exp2.FRACTION)
    assert closest > mpmath.mpf(2) ** -58.6
    assert high - low < closest
