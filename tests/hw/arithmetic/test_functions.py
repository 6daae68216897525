"""Logarithm and exponential: error, monotony, and the gateware."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gmpy2
import numpy as np
import pytest
from amaranth.lib import wiring
from numpy.typing import NDArray

from beltline.hw.arithmetic import exp2, log2
from beltline.hw.arithmetic import polynomials as tables
from beltline.hw.arithmetic.exp2 import Exp2, Exp2Parameters
from beltline.hw.arithmetic.log2 import MANTISSA, OPERAND_BITS, Log2, Log2Parameters
from beltline.hw.interface.parameters import Multiplier
from support.streams import MULTIPLIERS, Stream

Operands = NDArray[np.int64]

EXTREMES = sorted({max(1, 2**k + d) for k in range(OPERAND_BITS) for d in (-2, -1, 0, 1, 2)} | {2**63 - 1, 2**63 - 2})
CELL = exp2.FRACTION - tables.EXP_FIRST - tables.EXP_SECOND


def log_operands(rng: np.random.Generator, count: int) -> Operands:
    drawn = np.exp2(rng.uniform(0, 62.99, count)).astype(np.int64)
    # The low bits of a double of this size are zeros.
    drawn |= rng.integers(0, 1 << 11, count) & (drawn - 1)
    return np.concatenate([drawn, np.array(EXTREMES, dtype=np.int64)])


def exp_operands(rng: np.random.Generator, count: int) -> Operands:
    """Return operands, a quarter of which have nearly all ones below the tables' bits, where truncation loses most."""
    tops = rng.integers(0, 1 << (exp2.FRACTION - CELL), count // 4) << CELL
    worst = tops | ((1 << CELL) - 1 - rng.integers(0, 1 << 16, tops.size))
    top = 1 << exp2.FRACTION
    extremes = np.array([0, 1, 2, top - 1, top - 2, *(1 << k for k in range(exp2.FRACTION))])
    return np.concatenate([rng.integers(0, top, count - tops.size), worst, extremes])


def log_edges() -> Operands:
    """Return the first mantissa, in 60 fraction bits, of each second-table cell within each first-table cell.

    In this octave the mantissa is the operand; lower octaves have a part of these, and higher ones are truncated to
    them.
    """
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
    # Every cell of the second table is 2**-20 wide: 512 to 1024 of them fit each of the 1024 cells of the first.
    assert 512 * 1024 < len(set(found)) < 1024 * 1024
    return np.unique(np.array(found, dtype=np.int64))[1:]


@dataclass(frozen=True)
class Function:
    """A function; its exact value and the largest error of an operand are in units of the result."""

    unit: Callable[..., wiring.Component]
    parameters: Callable[..., Any]
    operands: Callable[[np.random.Generator, int], Operands]
    edges: Callable[[], Operands]
    top: int
    exact: Callable[[int], Any]
    bound: Callable[[Operands], NDArray[np.float64]]


LOG = Function(
    Log2,
    Log2Parameters,
    log_operands,
    log_edges,
    2**63 - 1,
    lambda c: gmpy2.mul_2exp(gmpy2.log2(gmpy2.mpfr(c)), log2.FRACTION),
    # Half a unit of rounding, the error of the tables, and the truncation of a long mantissa.
    lambda c: 0.5 + 2.0**-3.5 + np.where(c < 2**61, 0, 2.0**-1.4),
)
EXP = Function(
    Exp2,
    Exp2Parameters,
    exp_operands,
    lambda: np.arange(1, 1 << (exp2.FRACTION - CELL)) << CELL,
    (1 << exp2.FRACTION) - 1,
    lambda f: gmpy2.mul_2exp(gmpy2.exp2(gmpy2.div_2exp(gmpy2.mpfr(f), exp2.FRACTION)), exp2.RESULT_FRACTION),
    lambda f: 2.0**exp2.RESULT_FRACTION * np.minimum(2.0**-60.2, 2.0**-60.5 * np.exp2(f * 2.0**-exp2.FRACTION)),
)
FUNCTIONS = pytest.mark.parametrize("function", [LOG, EXP], ids=["log2", "exp2"])


@FUNCTIONS
def test_error_against_oracle(function: Function) -> None:
    operands = function.operands(np.random.default_rng(1), 200_000)
    found = function.parameters().model(operands)
    with gmpy2.context(gmpy2.get_context(), precision=96):
        pairs = zip(operands.tolist(), found.tolist(), strict=True)
        error = np.array([float(word - function.exact(operand)) for operand, word in pairs])
    assert (np.abs(error) < function.bound(operands)).all()


def test_powers_of_two_are_exact() -> None:
    found = Log2Parameters().model([1 << k for k in range(OPERAND_BITS)])
    assert found.tolist() == [k << log2.FRACTION for k in range(OPERAND_BITS)]
    first, last = Exp2Parameters().model([0, EXP.top]).tolist()
    assert first == 1 << exp2.RESULT_FRACTION
    assert last < 2 << exp2.RESULT_FRACTION


@FUNCTIONS
def test_never_falls(function: Function) -> None:
    """Neither at any boundary of the tables, nor between neighbours, nor between any operands."""
    model, edges = function.parameters().model, function.edges()
    drawn = function.operands(np.random.default_rng(2), 1_000_000)
    drawn = drawn[drawn < function.top]
    for low, high in ((edges - 1, edges), (edges, edges + 1), (drawn, drawn + 1)):
        assert (model(low) <= model(high)).all()
    assert (np.diff(model(np.sort(drawn)).astype(np.int64)) >= 0).all()


@pytest.mark.gateware
@pytest.mark.parametrize("multiplier", MULTIPLIERS)
@FUNCTIONS
def test_gateware_equals_model(stream: Stream, function: Function, multiplier: Multiplier) -> None:
    rng = np.random.default_rng(3)
    edges = rng.choice(function.edges(), 3000)
    lower = edges >> rng.integers(0, 60, edges.size) if function is LOG else edges
    operands = np.concatenate([function.operands(rng, 14_000), edges - 1, edges, lower])
    rng.shuffle(operands)
    unit = function.parameters(multiplier)
    found = stream(function.unit(unit), {"operand": operands}, ["result"], unit.latency)
    np.testing.assert_array_equal(found["result"], unit.model(operands))
