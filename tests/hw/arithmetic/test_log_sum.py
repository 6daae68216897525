"""The log-sum unit against mpmath, its proven error bound, and its gateware against its model."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.hw.arithmetic.log_sum import ABSENT, LogSum, LogSumParameters
from beltline.hw.arithmetic.log_sum_constants import TERMS, LogSumConstants, log_sum_error
from beltline.hw.arithmetic.numbers import MAXIMUM
from beltline.hw.interface.parameters import Multiplier
from support.streams import MULTIPLIERS, Segment, Stream

UNITS = LogSumParameters()

SCALES = [2.0**-7, 0.7, 12345.678, 2.0**40, 0.1 * 2.0**52, 2.0**55.5, 2.0**56, 1.9 * 2.0**56, 2.0**57, 2.0**61.99]
"""Scales of shocks in units of value, with both ends of the range and of the lift."""


def operands(rng: np.random.Generator, scale: float, count: int) -> NDArray[np.int64]:
    """Return int64 ``(n, TERMS)``: close and far values, ties, absent ones, and exponents next to whole numbers."""
    largest = rng.integers(-(2**61), 2**61, count)
    near = rng.exponential(1.0, (count, TERMS)) * rng.choice([0.0, 0.01, 1.0, 5.0, 40.0], (count, TERMS))
    whole = rng.integers(0, 66, (count, TERMS)) * math.log(2.0)
    below = np.minimum(np.where(rng.random((count, TERMS)) < 0.7, near, whole) * scale, 2.0**61).astype(np.int64)
    values = largest[:, None] - below - rng.integers(-1, 2, (count, TERMS))
    values[rng.random((count, TERMS)) < 0.1] = ABSENT
    size = min(int(scale), 2**60)
    extremes = [
        [0, 0, 0, 0],
        [ABSENT] * TERMS,
        [ABSENT, ABSENT, -7, ABSENT],
        [ABSENT, ABSENT + 1, ABSENT, ABSENT],
        [ABSENT + 1] * TERMS,
        [MAXIMUM, ABSENT + 1, ABSENT + 1, ABSENT],
        [0, -size, -2 * size, -4 * size if size < 2**59 else -size],
        [-1, 0, 1, -2],
    ]
    return np.concatenate([values, np.array(extremes, np.int64)])


def exact(row: list[int], scale: float) -> mpmath.mpf:
    largest = max(row)
    terms = [mpmath.exp((mpmath.mpf(value) - largest) / scale) for value in row if value != ABSENT]
    return largest + scale * mpmath.log(mpmath.fsum(terms))


@pytest.mark.parametrize("scale", SCALES, ids="{:.3g}".format)
def test_error_against_oracle(scale: float) -> None:
    """Every result is within the proven bound, and is absent only if all values are."""
    values = operands(np.random.default_rng(1), scale, 4000)
    found, over = UNITS.model(values, LogSumConstants.of(scale, 0))
    worst, saturated = 0.0, 0
    with mpmath.workdps(60):
        for row, word, flag in zip(values.tolist(), found.tolist(), over.tolist(), strict=True):
            if max(row) == ABSENT:
                assert (word, flag) == (ABSENT, False)
                continue
            wanted = exact(row, mpmath.mpf(scale))
            saturated += flag
            if flag:
                assert word == MAXIMUM
                assert wanted > MAXIMUM - log_sum_error(scale, 1.0)
            else:
                worst = max(worst, abs(float(wanted - word)))
    print(f"scale {scale:.4g}: error {worst:.4f} units, {worst / log_sum_error(scale, 1.0):.3f} of the bound")
    assert worst <= log_sum_error(scale, 1.0)
    assert saturated <= 1


def test_format_of_values() -> None:
    """The scale is in units of utility; the same scale with more fraction bits has the same shocks."""
    one, other = LogSumConstants.of(0.25, 40), LogSumConstants.of(2.0**38, 0)
    assert one == other
    assert LogSumConstants.of_words(one.words) == one
    signed = [word - 2**64 if word >= 2**63 else word for word in one.words]
    assert LogSumConstants.of_words(signed) == one


def test_without_shocks_it_is_the_maximum() -> None:
    """With no shocks, or shocks below the resolution, results are exact maxima."""
    values = operands(np.random.default_rng(3), 2.0**50, 3000)
    for constants in (LogSumConstants(), LogSumConstants.of(0.0, 52), LogSumConstants.of(2.0**-7.01, 0)):
        assert constants == LogSumConstants()
        found, over = UNITS.model(values, constants)
        np.testing.assert_array_equal(found, values.max(axis=1))
        assert not over.any()


@pytest.mark.parametrize("scale", [0.0, 0.7, 2.0**50, 2.0**61])
def test_never_below_the_largest_value(scale: float) -> None:
    """A log-sum is at least the maximum, and equal to it where there is one value."""
    values = operands(np.random.default_rng(4), 2.0**50, 3000)
    constants = LogSumConstants.of(scale, 0)
    found, _ = UNITS.model(values, constants)
    assert (found >= values.max(axis=1)).all()
    values[:, 1:] = ABSENT
    np.testing.assert_array_equal(UNITS.model(values, constants)[0], values[:, 0])


@pytest.mark.parametrize(
    ("sigma", "value", "message"),
    [
        (-0.1, 0, "sigma must be a number from 0, not -0.1"),
        (math.inf, 0, "sigma must be a number from 0, not inf"),
        (1024.0, 52, r"sigma must be below 2\*\*62 units of value, and is 4.61169e\+18 of them"),
    ],
)
def test_scales_that_are_refused(sigma: float, value: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LogSumConstants.of(sigma, value)


@pytest.mark.gateware
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_gateware_equals_model(stream: Stream, multiplier: Multiplier) -> None:
    """The unit returns the model's words after its latency, values a clock and with gaps, for scales in turn."""
    rng = np.random.default_rng(5)
    unit = LogSumParameters(multiplier)
    parts, segments, wanted = [], [], []
    for scale in (0.0, *SCALES):
        values = operands(rng, scale or 2.0**50, 600)
        constants = LogSumConstants.of(scale, 0)
        words = dict(zip(("slope", "unit", "lift"), constants.words, strict=True))
        half = values.shape[0] // 2
        segments += [Segment(half, 0.0, words), Segment(values.shape[0] - half, 0.4, words)]
        parts.append(values)
        wanted.append(np.stack(unit.model(values, constants)))
    values = np.concatenate(parts).view(np.uint64)
    columns = {f"value{k}": values[:, k] for k in range(TERMS)}
    names = ["result", "over", "absent"]
    valid = ("values_valid", "result_valid")
    found = stream(LogSum(unit), columns, names, unit.latency, segments=segments, valid=valid)
    result, over = np.concatenate(wanted, axis=1)
    np.testing.assert_array_equal(found["result"].view(np.int64), result)
    np.testing.assert_array_equal(found["over"], over.astype(np.uint64))
    absent = (values.view(np.int64) == ABSENT).all(axis=1)
    np.testing.assert_array_equal(found["absent"], absent.astype(np.uint64))
    assert absent.sum() > 10
    assert over.any()
