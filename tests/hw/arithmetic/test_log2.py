"""The logarithm against MPFR, over every boundary of its tables, and its gateware against its model."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from numpy.typing import NDArray

from beltline.hw.arithmetic import polynomials as tables
from beltline.hw.arithmetic.log2 import FRACTION, MANTISSA, OPERAND_BITS, Log2, Log2Parameters
from beltline.hw.interface.parameters import Multiplier
from support.streams import MULTIPLIERS, Stream

EXTREMES = sorted({max(1, 2**k + d) for k in range(OPERAND_BITS) for d in (-2, -1, 0, 1, 2)} | {2**63 - 1, 2**63 - 2})


def operands(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    drawn = np.exp2(rng.uniform(0, 62.99, count)).astype(np.int64)
    # The low bits of a double of this size are zeros.
    drawn |= rng.integers(0, 1 << 11, count) & (drawn - 1)
    return np.concatenate([drawn, np.array(EXTREMES, dtype=np.int64)])


def boundaries() -> NDArray[np.int64]:
    """Return the first mantissa, in 60 fraction bits, of each second-table cell within each first-table cell."""
    found = []
    cell = 1 << (MANTISSA - tables.LOG_FIRST)
    for first, reciprocal in enumerate(tables.load().reciprocal):
        low = (1 << MANTISSA) + first * cell
        one = 1 << (MANTISSA + tables.RECIPROCAL_BITS)
        step = one >> tables.LOG_SECOND_STEP
        begin = -(-(low * reciprocal - one) // step)
        end = ((low + cell - 1) * reciprocal - one) // step
        found.append(low)
        found += [-(-(one + k * step) // reciprocal) for k in range(begin, end + 1)]
    return np.unique(np.array(found, dtype=np.int64))


def test_error_against_oracle() -> None:
    c = operands(np.random.default_rng(1), 200_000)
    found = Log2Parameters().model(c)
    with gmpy2.context(gmpy2.get_context(), precision=96):
        error = np.array(
            [
                float(word - gmpy2.mul_2exp(gmpy2.log2(gmpy2.mpfr(operand)), FRACTION))
                for operand, word in zip(c.tolist(), found.tolist(), strict=True)
            ]
        )
    # In units of 2**-58: half a unit of rounding, the error of the tables, and the truncation of a long mantissa.
    exact = c < 2**61
    bound = 0.5 + 2.0**-3.5 + np.where(exact, 0, 2.0**-1.4)
    assert (np.abs(error) < bound).all()
    print(f"log2: {np.abs(error[exact]).max():.4f} units of 2^-58 below 2^61, {np.abs(error[~exact]).max():.4f} above")


def test_powers_of_two_are_exact() -> None:
    found = Log2Parameters().model([1 << k for k in range(OPERAND_BITS)])
    assert found.tolist() == [k << FRACTION for k in range(OPERAND_BITS)]


def test_never_falls_at_any_boundary_of_the_tables() -> None:
    edges = boundaries()
    # Every cell of the second table is 2**-20 wide: 512 to 1024 of them fit each of the 1024 cells of the first.
    assert 512 * 1024 < edges.size < 1024 * 1024
    edges = edges[edges > 1 << MANTISSA]
    model = Log2Parameters().model
    # In this octave the mantissa is the operand; lower octaves have a part of these mantissas, and higher ones are
    # truncated to them.
    before, at, after = (model(edges + d) for d in (-1, 0, 1))
    assert (before <= at).all()
    assert (at <= after).all()


def test_never_falls_between_neighbours() -> None:
    c = operands(np.random.default_rng(2), 1_000_000)
    c = c[c < 2**63 - 1]
    model = Log2Parameters().model
    assert (model(c) <= model(c + 1)).all()
    ordered = np.sort(c)
    assert (np.diff(model(ordered).astype(np.int64)) >= 0).all()


@pytest.mark.gateware
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
def test_gateware_equals_model(stream: Stream, multiplier: Multiplier) -> None:
    rng = np.random.default_rng(3)
    edges = rng.choice(boundaries(), 3000)
    c = np.concatenate([operands(rng, 14_000), edges - 1, edges, edges >> rng.integers(0, 60, edges.size)])
    rng.shuffle(c)
    unit = Log2Parameters(multiplier)
    found = stream(Log2(unit), {"operand": c}, ["result"], unit.latency)
    np.testing.assert_array_equal(found["result"], unit.model(c))
