"""Binary logarithm of an integer."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Cat, Const, Mux, Value
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, vectorize
from beltline.hw.arithmetic import polynomials as tables
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.unary import Unary
from beltline.hw.arithmetic.wide import add, leading_zeros, multiply, shift_left, shift_right, subtract
from beltline.hw.interface.parameters import Multiplier

OPERAND_BITS = 63
"""Width of the operand, unsigned."""

FRACTION = 58
"""Fraction bits of the result, which has 6 integer bits."""

MANTISSA = 60
"""Fraction bits of the mantissa."""

_CUT = tables.RECIPROCAL_BITS + MANTISSA - tables.TABLE_BITS
_DEFICIT_SHIFT = tables.TABLE_BITS - tables.DEFICIT_BITS
_CELL = tables.TABLE_BITS - tables.LOG_SECOND_STEP
_FIRST_BITS = 55
_SECOND_BITS = 45
_TOP_CUT = 19
_SQUARE_CUT = 25
_SUM_FRACTION = tables.TABLE_BITS + tables.K1_BITS
_SQUARE_SHIFT = _SUM_FRACTION - (2 * (tables.TABLE_BITS - _TOP_CUT) - _SQUARE_CUT + tables.K2_BITS)
_ROUND = _SUM_FRACTION - FRACTION

_T = tables.load()
_RECIPROCAL = np.array(_T.reciprocal, dtype=np.uint64)
_LOG_FIRST = np.array(_T.log_first, dtype=np.uint64)
_DEFICIT = np.array(_T.deficit, dtype=np.uint64)
_LOG_SECOND = np.array(_T.log_second, dtype=np.uint64)
_K1 = np.uint64(_T.k1)
_K2 = np.uint64(_T.k2)


@njit(cache=True)
def log2_word(c):  # type: ignore[no-untyped-def]
    """Return ``log2(c)`` of a uint64 from 1 to 2**63 - 1, in 58 fraction bits; for calls from compiled code only."""
    zeros = leading_zeros(c)
    mantissa = (c << zeros) >> np.uint64(63 - MANTISSA)
    first = (mantissa >> np.uint64(MANTISSA - tables.LOG_FIRST)) & np.uint64((1 << tables.LOG_FIRST) - 1)
    z1 = shift_right(multiply(mantissa, _RECIPROCAL[first]), _CUT)
    second = z1 >> np.uint64(_CELL)
    deficit = _DEFICIT[second]
    z2 = z1 - (deficit << np.uint64(_DEFICIT_SHIFT)) - shift_right(multiply(z1, deficit), tables.DEFICIT_BITS)
    top = z2 >> np.uint64(_TOP_CUT)
    square = (top * top) >> np.uint64(_SQUARE_CUT)
    total = add(shift_left(_LOG_FIRST[first], tables.K1_BITS), shift_left(_LOG_SECOND[second], tables.K1_BITS))
    total = add(total, multiply(_K1, z2))
    total = subtract(total, shift_left(_K2 * square, _SQUARE_SHIFT))
    total = add(total, (np.uint64(0), np.uint64(1 << (_ROUND - 1))))
    return ((np.uint64(63) - zeros) << np.uint64(FRACTION)) + shift_right(total, _ROUND)


@vectorize(["uint64(uint64)"], cache=True)
def _log2_array(c):  # type: ignore[no-untyped-def]
    return log2_word(c)


@dataclass(frozen=True)
class Log2Parameters:
    """Parameters of the binary logarithm ``log2(c)`` of an unsigned 63-bit integer ``c >= 1``.

    The result is unsigned, with 6 integer and 58 fraction bits. Error: below ``2**-59 + 2**-61.5`` for ``c < 2**61``
    (rounding to nearest plus the error of tables and polynomial, see :mod:`beltline.hw.arithmetic.polynomials`), and
    ``2**-59.4`` more for larger ``c``, whose mantissa is cut to 60 bits. Exact at powers of two. Monotone: the result
    never falls as ``c`` rises.

    Parameters
    ----------
    multiplier
        The chip's multiplier. It changes the latency and no result.
    """

    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def latency(self) -> int:
        """Clocks from operand to result, 26 with ``DSP48E2``. A new operand enters in every clock."""
        return _latency(self.multiplier)

    def model(self, c: ArrayLike) -> NDArray[np.uint64]:
        """Return the unit's results, bit by bit, for an array of integers from 1 to ``2**63 - 1``."""
        result: NDArray[np.uint64] = _log2_array(np.asarray(c, dtype=np.uint64))
        return result


def build(p: Pipeline, c: Timed) -> Timed:
    """Add the datapath to ``p``: from ``c``, unsigned 63 bits, to its logarithm, unsigned 64 bits.

    The result for ``c = 0`` is undefined.
    """
    word, exponent = _normalise(p, c)
    mantissa = word.map(lambda value: value[63 - MANTISSA :])
    first = mantissa.map(lambda value: value[MANTISSA - tables.LOG_FIRST : MANTISSA])
    reciprocal = p.lookup(first, tables.RECIPROCAL_BITS + 1, _T.reciprocal)
    log_first = p.lookup(first, tables.TABLE_BITS, _T.log_first)
    z1 = p.total(p.products(mantissa, reciprocal), _CUT + _FIRST_BITS).map(lambda value: value[_CUT:])
    second = z1.map(lambda value: value[_CELL:])
    deficit = p.lookup(second, 13, _T.deficit)
    log_second = p.lookup(second, 56, _T.log_second)
    z2 = p.total(
        [
            Term(z1, tables.DEFICIT_BITS),
            Term(deficit, tables.TABLE_BITS, negative=True),
            *(Term(t.value, t.shift, negative=True) for t in p.products(z1, deficit)),
        ],
        tables.DEFICIT_BITS + _SECOND_BITS,
        constant=(1 << tables.DEFICIT_BITS) - 1,
    ).map(lambda value: value[tables.DEFICIT_BITS :])
    top = z2.map(lambda value: value[_TOP_CUT:])
    square = p.total(p.products(top, top), 51).map(lambda value: value[_SQUARE_CUT:])
    k1 = Timed(Const(_T.k1, tables.K1_BITS + 1), 0)
    k2 = Timed(Const(_T.k2, tables.K2_BITS), 0)
    return p.total(
        [
            Term(exponent, _SUM_FRACTION),
            Term(log_first, tables.K1_BITS),
            Term(log_second, tables.K1_BITS),
            *p.products(z2, k1),
            *(Term(t.value, t.shift + _SQUARE_SHIFT, negative=True) for t in p.products(square, k2)),
        ],
        _SUM_FRACTION + 6,
        constant=1 << (_ROUND - 1),
    ).map(lambda value: value[_ROUND:])


def _normalise(p: Pipeline, c: Timed) -> tuple[Timed, Timed]:
    """Shift ``c`` left until bit 63 is set.

    Takes three clocks, with two bits of the distance in each. Where a LUT is a four-to-one multiplexer
    (:attr:`Multiplier.wide_luts`), it shifts by both bits at once.

    Returns
    -------
    word, exponent
        The shifted word, 64 bits, and ``floor(log2(c))``, 6 bits.
    """
    word = c.map(lambda value: Cat(value, Const(0, 1)))
    exponent: Timed = Timed(Const(0, 0), c.time)
    for high, low in ((32, 16), (8, 4), (2, 1)):
        shift = _shift_twice if p.multiplier.wide_luts else _shift_in_turn
        word_value, bits = shift(word.value, high, low)
        time = word.time
        word = p.register(word_value, time)
        exponent = p.register(Cat(*bits, exponent.value), time)
    return word, exponent


def _shift_in_turn(word: Value, high: int, low: int) -> tuple[Value, tuple[Value, Value]]:
    """Shift ``word`` left by ``high`` if its top ``high`` bits are 0, then by ``low`` likewise.

    Returns the shifted word, and whether it was not shifted by ``low``, and by ``high``.
    """
    bits = []
    for distance in (high, low):
        empty = ~word[64 - distance :].any()
        word = Mux(empty, Cat(Const(0, distance), word[: 64 - distance]), word)
        bits.append(~empty)
    return word, (bits[1], bits[0])


def _shift_twice(word: Value, high: int, low: int) -> tuple[Value, tuple[Value, Value]]:
    """Return what :func:`_shift_in_turn` does: the bits that decide on ``low`` are looked at before and after the shift
    by ``high``.
    """
    stays = word[64 - high :].any()
    stays_low = Mux(stays, word[64 - low :].any(), word[64 - high - low : 64 - high].any())
    shifted = Array(Cat(Const(0, distance), word[: 64 - distance]) for distance in (high + low, high, low, 0))
    return shifted[Cat(stays_low, stays)], (stays_low, stays)


@functools.cache
def _latency(multiplier: Multiplier) -> int:
    return build(Pipeline(multiplier=multiplier), Timed(Const(0, OPERAND_BITS), 0)).time


class Log2(Unary):
    """Computes the binary logarithm of an unsigned 63-bit integer.

    Latency: ``parameters.latency`` clocks (26 with ``DSP48E2``). Throughput: one operand in every clock. Formula and
    error bound: :class:`Log2Parameters`. Ports and contract: :class:`beltline.hw.arithmetic.unary.Unary`, with an
    operand of 63 bits and a result of 64, of which 58 are fraction. The result for operand 0 is undefined.
    """

    def __init__(self, parameters: Log2Parameters) -> None:
        self.parameters = parameters
        super().__init__(OPERAND_BITS, 64, build, parameters.multiplier)
