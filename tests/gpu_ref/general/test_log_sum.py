"""Compare bounds of log-sums with every corner of the possible values, in 60 decimal digits."""

from __future__ import annotations

import decimal
import functools
import itertools
from decimal import Decimal

import numpy as np
import pytest

from beltline.gpu_ref.general.log_sum import growth, log_sum_error
from beltline.gpu_ref.tables import Array

EXACT = decimal.Context(prec=60, Emin=-(10**12), Emax=10**12)
LOWEST = Decimal("-1e9")
"""Lower exponents are replaced by this one: with 60 digits their exponentials do not change a sum of 1."""


def exponentials(values: list[Decimal], sigma: Decimal) -> list[Decimal]:
    top = max(values)
    return [EXACT.exp(max(LOWEST, EXACT.divide(EXACT.subtract(v, top), sigma))) for v in values]


def exact(values: list[Decimal], sigma: Decimal) -> Decimal:
    total = functools.reduce(EXACT.add, exponentials(values, sigma))
    return EXACT.add(max(values), EXACT.multiply(sigma, EXACT.ln(total)))


def bound(values: Array, errors: Array, sigma: float) -> float:
    below = values - values.max()
    grown = sum(growth(*pair, sigma) for pair in zip(below, errors, strict=True))
    total = float(np.exp(below / sigma).sum())
    return float(log_sum_error(grown, total, float((below + errors).max()), values.size, sigma))


def drawn(rng: np.random.Generator) -> tuple[Array, Array, float]:
    count = int(rng.integers(1, 5))
    sigma = 10.0 ** rng.uniform(-8.0, 2.0)
    values = rng.normal(size=count) * 10.0 ** rng.uniform(-3.0, 3.0)
    if rng.random() < 0.5:
        values = values.max() - sigma * rng.exponential(10.0 ** rng.uniform(-2.0, 3.0), count)
    if rng.random() < 0.2:
        values[-1] = values[0]
    errors = sigma * rng.random(count) * 10.0 ** rng.uniform(-12.0, 4.0, count)
    errors[rng.random(count) < 0.2] = 0.0
    return values, errors, sigma


DIRECTED = [
    ([0.3, -1e15], [1e-16, 434.0], 0.01),
    ([0.3, -1e300], [1e-16, 1e285], 0.01),
    ([0.0, 0.0], [0.0, 0.0], 1.0),
    ([5.0], [2.0], 1e-300),
    ([1.0, 1.0, 1.0], [1e300, 0.0, 0.0], 1e-3),
    ([1.0, 0.0], [1e-15, 1.0], 1e-3),
    ([1.0, 0.0], [1e-15, 1.5], 1e-3),
    ([-1e5, -1e5 - 1e-9], [1e-11, 1e-11], 1e-9),
]


def cases() -> list[tuple[Array, Array, float]]:
    rng = np.random.default_rng(11)
    directed = [(np.array(values), np.array(errors), sigma) for values, errors, sigma in DIRECTED]
    return directed + [drawn(rng) for _ in range(150)]


@pytest.mark.parametrize("number", range(len(cases())))
def test_every_corner_is_within_the_bounds_which_are_tight(number: int) -> None:
    values, errors, sigma = cases()[number]
    here = [Decimal(float(v)) for v in values]
    scale = Decimal(sigma)
    centre, farthest = exact(here, scale), Decimal(0)
    for signs in itertools.product((-1, 1), repeat=len(here)):
        corner = [
            EXACT.add(v, EXACT.multiply(Decimal(sign), Decimal(float(error))))
            for v, error, sign in zip(here, errors, signs, strict=True)
        ]
        farthest = max(farthest, abs(EXACT.subtract(exact(corner, scale), centre)))
    limit = bound(values, errors, sigma)
    assert farthest <= Decimal(limit)
    assert limit <= 1.01 * float(farthest) + 1e-50 * (1.0 + abs(float(centre)))


def test_alternatives_that_cannot_be_taken_have_no_effect() -> None:
    assert growth(-np.inf, 1e300, 1.0) == 0.0
