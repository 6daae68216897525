"""Two to the power of a fraction."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, Const
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, vectorize
from beltline.hw.arithmetic import polynomials as tables
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.unary import Unary
from beltline.hw.arithmetic.wide import add, multiply, shift_left, shift_right
from beltline.hw.interface.parameters import Multiplier

FRACTION = 58
"""Fraction bits of the operand, which is below 1."""

RESULT_FRACTION = 62
"""Fraction bits of the result, which lies in [1, 2)."""

_REST = FRACTION - tables.EXP_FIRST - tables.EXP_SECOND
_TOP_CUT = 15
_SQUARE_CUT = 22
_SUM_FRACTION = FRACTION + tables.C1_BITS
_SQUARE_SHIFT = _SUM_FRACTION - (2 * (FRACTION - _TOP_CUT) - _SQUARE_CUT + tables.C2_BITS)
_Q_CUT = _SUM_FRACTION - tables.TABLE_BITS
_Q_BITS = 44
_FACTOR_BITS = 44
_FACTOR_CUT = tables.TABLE_BITS + 1 - _FACTOR_BITS
_RESULT_CUT = tables.TABLE_BITS - RESULT_FRACTION
_SECOND_BITS = 54

_T = tables.load()
_EXP_FIRST = np.array(_T.exp_first, dtype=np.uint64)
_EXP_SECOND = np.array(_T.exp_second, dtype=np.uint64)
_C1 = np.uint64(_T.c1)
_C2 = np.uint64(_T.c2)


@njit(cache=True)
def exp2_word(f):  # type: ignore[no-untyped-def]
    """Return ``2**f`` with 62 fraction bits of one uint64 ``f`` with 58; for calls from compiled code only."""
    first = _EXP_FIRST[f >> np.uint64(FRACTION - tables.EXP_FIRST)]
    second = _EXP_SECOND[(f >> np.uint64(_REST)) & np.uint64((1 << tables.EXP_SECOND) - 1)]
    z = f & np.uint64((1 << _REST) - 1)
    factor = first + second + multiply(first, second)[0]
    top = z >> np.uint64(_TOP_CUT)
    square = (top * top) >> np.uint64(_SQUARE_CUT)
    q = shift_right(add(multiply(_C1, z), shift_left(_C2 * square, _SQUARE_SHIFT)), _Q_CUT)
    short = (factor >> np.uint64(_FACTOR_CUT)) | np.uint64(1 << (_FACTOR_BITS - 1))
    fraction = factor + shift_right(multiply(short, q), _FACTOR_BITS - 1)
    return np.uint64(1 << RESULT_FRACTION) | (fraction >> np.uint64(_RESULT_CUT))


@vectorize(["uint64(uint64)"], cache=True)
def _exp2_array(f):  # type: ignore[no-untyped-def]
    return exp2_word(f)


@dataclass(frozen=True)
class Exp2Parameters:
    """Parameters of the binary exponential ``2**f`` for ``f`` in [0, 1).

    ``f`` is unsigned with 58 fraction bits; the result has 1 integer and 62 fraction bits. Error: below ``2**-60.2``,
    and below ``2**-60.5`` times the result (derived in :mod:`beltline.hw.arithmetic.polynomials`). Monotone: the result
    never falls as ``f`` rises.

    Parameters
    ----------
    multiplier
        The chip's multiplier. It changes the latency and no result.
    """

    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def latency(self) -> int:
        """Clocks from operand to result, 14 with ``DSP48E2``. A new operand enters in every clock."""
        return _latency(self.multiplier)

    def model(self, f: ArrayLike) -> NDArray[np.uint64]:
        """Return the unit's results, bit by bit, for an array of integers below ``2**58``."""
        result: NDArray[np.uint64] = _exp2_array(np.asarray(f, dtype=np.uint64))
        return result


def build(p: Pipeline, f: Timed) -> Timed:
    """Add the datapath to ``p``: from ``f``, unsigned 58 bits, to ``2**f``, unsigned 63 bits."""
    first = p.lookup(f.map(lambda value: value[FRACTION - tables.EXP_FIRST :]), tables.TABLE_BITS, _T.exp_first)
    second = p.lookup(f.map(lambda value: value[_REST : FRACTION - tables.EXP_FIRST]), _SECOND_BITS, _T.exp_second)
    z = f.map(lambda value: value[:_REST])
    top = z.map(lambda value: value[_TOP_CUT:])
    square = p.total(p.products(top, top), 46).map(lambda value: value[_SQUARE_CUT:])
    c1 = Timed(Const(_T.c1, tables.C1_BITS), 0)
    c2 = Timed(Const(_T.c2, tables.C2_BITS), 0)
    q = p.total(
        [*p.products(z, c1), *(Term(t.value, t.shift + _SQUARE_SHIFT) for t in p.products(square, c2))],
        _Q_CUT + _Q_BITS,
    ).map(lambda value: value[_Q_CUT:])
    factor = p.total(
        [
            Term(first, tables.TABLE_BITS),
            Term(second, tables.TABLE_BITS),
            *p.products(first, second),
        ],
        2 * tables.TABLE_BITS,
    ).map(lambda value: value[tables.TABLE_BITS :])
    short = factor.map(lambda value: Cat(value[_FACTOR_CUT:], Const(1, 1)))
    width = tables.TABLE_BITS + _FACTOR_BITS - 1
    return p.total([Term(factor, _FACTOR_BITS - 1), *p.products(short, q)], width).map(
        lambda value: Cat(value[_FACTOR_BITS - 1 + _RESULT_CUT :], Const(1, 1))
    )


@functools.cache
def _latency(multiplier: Multiplier) -> int:
    return build(Pipeline(multiplier=multiplier), Timed(Const(0, FRACTION), 0)).time


class Exp2(Unary):
    """Computes two to the power of a fraction.

    Latency: ``parameters.latency`` clocks (14 with ``DSP48E2``). Throughput: one operand in every clock. Formula and
    error bound: :class:`Exp2Parameters`. Ports and contract: :class:`beltline.hw.arithmetic.unary.Unary`, with an
    operand of 58 bits and a result of 63.
    """

    def __init__(self, parameters: Exp2Parameters) -> None:
        self.parameters = parameters
        super().__init__(FRACTION, RESULT_FRACTION + 1, build, parameters.multiplier)
