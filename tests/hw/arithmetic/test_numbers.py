"""Number formats against gmpy2: exact rationals, rounded once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, Fixed, encode_fraction

FRACTIONS = (0, 1, 20, 48, 52, 62)
CORNERS = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
    1.7976931348623157e308,
    -1.7976931348623157e308,
    math.inf,
    -math.inf,
    2.0**63,
    math.nextafter(2.0**63, 0),
    -(2.0**63),
    math.nextafter(-(2.0**63), -math.inf),
]


def nearest(value: float, fraction: int) -> int:
    """Return ``value * 2**fraction`` rounded to nearest, ties to even, by exact arithmetic."""
    exact = gmpy2.mpq(value) * 2**fraction
    below = exact.numerator // exact.denominator
    rest = 2 * (exact - below)
    return int(below + (rest > 1 or (rest == 1 and below % 2 == 1)))


def near_range(rng: np.random.Generator, count: int, fraction: int) -> NDArray[np.float64]:
    """Return doubles of every size that this format distinguishes, ties, and the limits of the range."""
    any_size = np.ldexp(rng.uniform(-2, 2, count), rng.integers(-fraction - 8, 66 - fraction, count))
    ties = np.ldexp(rng.integers(-(2**20), 2**20, count) + 0.5, -fraction)
    beside = np.concatenate([np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)])
    borders = np.ldexp([2.0**63, -(2.0**63)], -fraction)
    around = np.concatenate([np.nextafter(borders, 0), borders, np.nextafter(borders, np.copysign(np.inf, borders))])
    return np.concatenate([any_size, ties, beside, around])


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_convert_rounds_correctly_and_saturates(fraction: int) -> None:
    values = near_range(np.random.default_rng(fraction), 4000, fraction)
    fixed, saturated = Fixed(fraction).convert(values)
    assert fixed.dtype == np.int64
    assert saturated.any()
    assert not saturated.all()
    for value, found, flag in zip(values.tolist(), fixed.tolist(), saturated.tolist(), strict=True):
        wanted = nearest(value, fraction)
        assert found == min(max(wanted, MINIMUM), MAXIMUM), value
        assert flag == (not MINIMUM <= wanted <= MAXIMUM), value


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_convert_corners(fraction: int) -> None:
    fixed, saturated = Fixed(fraction).convert(CORNERS)
    for value, found, flag in zip(CORNERS, fixed.tolist(), saturated.tolist(), strict=True):
        if math.isinf(value):
            assert (found, flag) == (MAXIMUM if value > 0 else MINIMUM, True)
        else:
            wanted = nearest(value, fraction)
            assert (found, flag) == (min(max(wanted, MINIMUM), MAXIMUM), not MINIMUM <= wanted <= MAXIMUM)


@given(st.integers(MINIMUM, MAXIMUM), st.integers(0, 62))
def test_decode_any_word(word: int, fraction: int) -> None:
    with gmpy2.context(gmpy2.get_context(), precision=53):
        wanted = float(gmpy2.mpfr(gmpy2.mpq(word, 2**fraction)))
    assert float(Fixed(fraction).decode(word)) == wanted


@pytest.mark.parametrize("fraction", FRACTIONS)
def test_round_trips(fraction: int) -> None:
    rng = np.random.default_rng(fraction)
    kind = Fixed(fraction)
    exact = rng.integers(-(2**53), 2**53, 20_000)
    assert (kind.encode(kind.decode(exact)) == exact).all()
    wide = rng.integers(MINIMUM, MAXIMUM, 20_000, endpoint=True)
    again, saturated = kind.convert(kind.decode(wide))
    assert not saturated[wide < 2**63 - 512].any()
    # Half a unit in the last place of a double of 2**62 to 2**63.
    assert np.abs((again - wide)[~saturated]).max() <= 512


def test_fractions() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate(
        [
            rng.uniform(0, 1, 5000),
            np.exp2(-rng.uniform(0, 70, 5000)),
            np.ldexp(rng.integers(0, 1000, 1000) + 0.5, -64),
            [0.0, -0.0, 5e-324, 2.0**-65, math.nextafter(2.0**-65, 1), math.nextafter(1.0, 0)],
        ]
    )
    found = encode_fraction(values)
    assert found.dtype == np.uint64
    assert found.tolist() == [nearest(value, 64) for value in values.tolist()]
    assert int(found[-1]) == 2**64 - 2**11


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: Fixed(-1), ValueError, "fraction bits must be from 0 to 62, not -1"),
        (lambda: Fixed(63), ValueError, "fraction bits must be from 0 to 62, not 63"),
        (lambda: Fixed(48).convert([1.0, math.nan]), ValueError, "values must be numbers, but entry 1 is NaN"),
        (lambda: Fixed(48).encode(math.nan), ValueError, "values must be numbers, but entry 0 is NaN"),
        (
            lambda: Fixed(48).encode([[1.0, 32767.0], [32768.0, -1e300]]),
            OverflowError,
            "32768.0 does not fit 64 bits with 48 fraction bits",
        ),
        (lambda: Fixed(0).encode(-math.inf), OverflowError, "-inf does not fit 64 bits with 0 fraction bits"),
        *(
            (
                lambda bad=bad: encode_fraction([0.5, bad, 3.0]),
                ValueError,
                f"beta Q must lie in [0, 1), but entry 1 is {bad!r}",
            )
            for bad in (1.0, -5e-324, math.nan, math.inf, -math.inf)
        ),
    ],
)
def test_refusals(call: Callable[[], object], kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=f"^{re.escape(sentence)}$"):
        call()
