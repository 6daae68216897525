"""Logarithm of a sum of exponentials of a few values: the value of a choice with extreme-value shocks."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic import exp2, log2
from beltline.hw.arithmetic.log_sum_constants import (
    LIFT_BITS,
    SLOPE_BITS,
    SLOPE_FRACTION,
    TERMS,
    UNIT_BITS,
    UNIT_FRACTION,
    LogSumConstants,
)
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.wide import add, multiply, shift_right, subtract
from beltline.hw.interface.parameters import Multiplier

ABSENT = MINIMUM
"""Stands for a missing value: its exponential is 0."""

_SUM_FRACTION = 60
"""Fraction bits of the sum of exponentials, which lies in [1, ``TERMS``]."""

_CUT = SLOPE_FRACTION - exp2.FRACTION
"""Bits of the product of difference and slope that are dropped."""

_FAR = _SUM_FRACTION
"""Largest number of halvings after which a bit of an exponential may be left."""

_RESULT_CUT = log2.FRACTION + UNIT_FRACTION
"""Fraction bits of the product of logarithm and ``unit``."""

_EXPONENT_BITS = WIDTH + SLOPE_BITS + 1 - _CUT
"""Bits of the binary exponent of an exponential, which is negative."""


@njit(cache=True)
def _exponential(difference, slope, lift):  # type: ignore[no-untyped-def]
    """Return ``exp(-difference / S)`` in ``_SUM_FRACTION`` fraction bits, uint64 each."""
    if lift > 0 and difference >> (np.uint64(64) - lift):
        return np.uint64(0)
    product = subtract((np.uint64(0), np.uint64(0)), multiply(difference << lift, slope))
    halvings = -(np.int64(product[0]) >> np.int64(exp2.FRACTION + _CUT - 64))
    if halvings > _FAR:
        return np.uint64(0)
    fraction = shift_right(product, _CUT) & np.uint64((1 << exp2.FRACTION) - 1)
    return exp2.exp2_word(fraction) >> np.uint64(halvings + exp2.RESULT_FRACTION - _SUM_FRACTION)


@njit(cache=True)
def log_sum_word(values, slope, unit, lift):  # type: ignore[no-untyped-def]
    """Return ``(log-sum, over)`` of int64 ``values``, ``(TERMS,)``; for calls from compiled code only.

    ``slope``, ``unit`` and ``lift`` are those of :class:`LogSumConstants`, uint64 each.
    """
    at = 0
    for k in range(1, TERMS):
        at = k if values[k] > values[at] else at
    best = values[at]
    total = np.uint64(1 << _SUM_FRACTION)
    for k in range(TERMS):
        if k != at and values[k] != ABSENT:
            total += _exponential(np.uint64(best) - np.uint64(values[k]), slope, lift)
    orders = log2.log2_word(total) - np.uint64(_SUM_FRACTION << log2.FRACTION)
    word = np.uint64(best >> np.int64(64 - _RESULT_CUT)), np.uint64(best) << np.uint64(_RESULT_CUT)
    word = add(add(word, multiply(orders, unit)), (np.uint64(0), np.uint64(1 << (_RESULT_CUT - 1))))
    result = np.int64(shift_right(word, _RESULT_CUT))
    if np.int64(word[0]) >> np.int64(_RESULT_CUT) != result >> np.int64(63):
        return np.int64(MAXIMUM), True
    return result, False


@njit(cache=True, parallel=True)
def _log_sums(values, slope, unit, lift, found, over):  # type: ignore[no-untyped-def]
    for i in prange(values.shape[0]):
        found[i], over[i] = log_sum_word(values[i], slope, unit, lift)


@dataclass(frozen=True)
class LogSumParameters:
    """Parameters of the log-sum of ``TERMS`` values ``v_d``, signed 64 bits in units of value.

    Formula: ``m + S log(sum over d of exp((v_d - m) / S))``, where ``m`` is the largest value and ``S`` the scale of
    the shocks in units of value. It is computed as ``m + S ln 2 log2(1 + sum of 2**-((m - v_d) / (S ln 2)))``, in which
    the sum is over all values but one that is the largest. A value :data:`ABSENT` adds nothing, and neither does one
    whose exponential is below ``2**-60``. If all are absent, so is the result.

    Widths: differences have 64 bits; binary exponents 58 fraction bits, rounded down; exponentials 60 fraction bits,
    cut; logarithms 58 fraction bits; the result is rounded once to signed 64 bits, halves upwards. A result of
    ``2**63`` or more is saturated, and flagged.

    Error, in units of value: below ``3/4 + 2**-56 S``. The parts, with ``r`` for the relative error of ``slope``
    (:class:`LogSumConstants`), and ``y`` for an exponent:

    - An exponential is off by ``ln 2 (y r + 2**-58) + 2**-60.5`` of itself, and by a cut of ``2**-60``. Since
      ``y 2**-y`` is below 0.531, and three exponentials are at most 3/4 of the sum, which is at least 1, the natural
      logarithm of the sum is off by at most ``1.4 * 2**-58 + 1.11 r``.
    - The logarithm itself is off by ``2**-58``, times ``ln 2``.
    - These two add up to less than ``2**-56``, as ``r < 2**-57.4`` for ``S`` from ``2**57`` on, and are multiplied by
      ``S``. (For smaller ``S`` they are below ``2**-56.8``.)
    - The error of ``unit``, an eighth, is multiplied by a logarithm of at most 2; rounding adds half a unit.

    With constants 0 the result is the maximum, without error.

    Parameters
    ----------
    multiplier
        The chip's multiplier. It changes the latency and no result.
    """

    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def latency(self) -> int:
        """Clocks from the values to the result, 66 with ``DSP48E2``. New values enter in every clock."""
        return _latency(self.multiplier)

    def model(
        self, values: NDArray[np.int64], constants: LogSumConstants
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the unit's results, bit by bit.

        Parameters
        ----------
        values
            int64, ``(n, TERMS)``, in units of value.
        constants
            Constants of the scale of the shocks.

        Returns
        -------
        found, over
            int64 and bool, ``(n,)``: the log-sums, and which of them are saturated.
        """
        found, over = np.empty(values.shape[0], np.int64), np.empty(values.shape[0], np.bool_)
        words = (np.uint64(word) for word in constants.words)
        _log_sums(np.ascontiguousarray(values), *words, found, over)
        return found, over


CONSTANTS = {"slope": In(SLOPE_BITS), "unit": In(UNIT_BITS), "lift": In(LIFT_BITS)}
"""Input ports for :class:`LogSumConstants`. Contract: they do not change while values are in the pipeline."""


def _larger(p: Pipeline, a: Timed, b: Timed) -> tuple[Timed, Timed]:
    """Return the larger and the smaller of two values."""
    less = p.total([Term(a), Term(b, negative=True)], WIDTH + 1, signed=True).map(lambda value: value[-1])
    return (
        p.compute(lambda low, x, y: Mux(low, y, x).as_signed(), less, a, b),
        p.compute(lambda low, x, y: Mux(low, x, y).as_signed(), less, a, b),
    )


def _add_exponential(p: Pipeline, best: Timed, other: Timed, slope: Value, lift: Value) -> Timed:
    """Add the exponential of ``(other - best) / S`` to ``p``: unsigned, ``_SUM_FRACTION`` fraction bits."""
    absent = p.compute(lambda value: value == ABSENT, other)
    word = p.total([Term(best), Term(other, negative=True)], WIDTH)
    lost = Timed(Const(0, 1), word.time)
    for high in (5, 3, 1):
        value, gone = word.value, lost.value
        for bit in (high, high - 1):
            distance = 1 << bit
            gone = gone | (lift[bit] & value[WIDTH - distance :].any())
            value = Mux(lift[bit], Cat(Const(0, distance), value[: WIDTH - distance]), value)
        time = word.time
        word, lost = p.register(value, time), p.register(gone, time)
    product = p.products(word, Timed(slope, word.time))
    exponent = p.total([Term(term.value, term.shift, negative=True) for term in product], _CUT + _EXPONENT_BITS).map(
        lambda value: value[_CUT:]
    )
    power = exp2.build(p, exponent.map(lambda value: value[: exp2.FRACTION]))
    whole = exponent.map(lambda value: value[exp2.FRACTION :].as_signed())
    nothing = p.compute(lambda halvings, *flags: (halvings < -_FAR) | flags[0] | flags[1], whole, absent, lost)
    more = exp2.RESULT_FRACTION - _SUM_FRACTION
    halvings = p.compute(lambda value: (more - value)[:LIFT_BITS], whole)
    return p.compute(lambda value, bits, none: Mux(none, 0, value >> bits), power, halvings, nothing).map(
        lambda value: value[: _SUM_FRACTION + 1]
    )


def build(p: Pipeline, values: list[Timed], slope: Value, unit: Value, lift: Value) -> tuple[Timed, Timed, Timed]:
    """Add the datapath to ``p``: from ``TERMS`` values, signed 64 bits each and valid at the same time, to the log-sum.

    Returns
    -------
    result, over, absent
        Signed 64 bits; whether it is saturated; and whether all values are :data:`ABSENT`. All have the same time.
    """
    first, second = (_larger(p, *values[k : k + 2]) for k in (0, 2))
    best, middle = _larger(p, first[0], second[0])
    others = [_add_exponential(p, best, other, slope, lift) for other in (middle, first[1], second[1])]
    total = p.total([Term(other) for other in others], log2.OPERAND_BITS, constant=1 << _SUM_FRACTION)
    # The sum is from 1 to 4, so that the two lowest integer bits are those of its logarithm.
    orders = log2.build(p, total).map(lambda value: value[: log2.FRACTION + 2])
    product = p.products(orders, Timed(unit, orders.time))
    width = WIDTH + 1
    word = p.total(
        [Term(best, _RESULT_CUT), *product], _RESULT_CUT + width, constant=1 << (_RESULT_CUT - 1), signed=True
    ).map(lambda value: value[_RESULT_CUT:])
    over = word.map(lambda value: value[-1] ^ value[-2])
    result = p.compute(lambda value, flag: Mux(flag, MAXIMUM, value[:WIDTH]).as_signed(), word, over)
    absent = p.compute(lambda value: value == ABSENT, best)
    return result, p.delay(over, 1), p.delay(absent, result.time - absent.time)


@functools.cache
def _latency(multiplier: Multiplier) -> int:
    constants = (Signal(member.shape) for member in CONSTANTS.values())
    values = [Timed(Signal(signed(WIDTH)), 0) for _ in range(TERMS)]
    return build(Pipeline(multiplier=multiplier), values, *constants)[0].time


class LogSum(wiring.Component):
    """Computes the log-sum of ``TERMS`` values.

    Latency: ``parameters.latency`` clocks (66 with ``DSP48E2``). Throughput: new values in every clock. Formula, widths
    and error bound: :class:`LogSumParameters`. Contract: ``valid`` without ``ready``; the constants do not change while
    values are in the pipeline.

    Attributes
    ----------
    slope, unit, lift : in; 63, 64 and 6 bits
        Constants, see :class:`beltline.hw.arithmetic.log_sum_constants.LogSumConstants`.
    value0, value1, value2, value3 : in, signed 64 bits
        The values, in units of value.
    values_valid : in, 1 bit
        High in clocks with values.
    result : out, signed 64 bits
        The log-sum, in units of value.
    over : out, 1 bit
        High where the log-sum is ``2**63`` or more; ``result`` is then ``2**63 - 1``.
    absent : out, 1 bit
        High where all values are :data:`ABSENT`.
    result_valid : out, 1 bit
        High in clocks with a result.
    """

    def __init__(self, parameters: LogSumParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                **CONSTANTS,
                **{f"value{k}": In(signed(WIDTH)) for k in range(TERMS)},
                "values_valid": In(1),
                "result": Out(signed(WIDTH)),
                "over": Out(1),
                "absent": Out(1),
                "result_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.multiplier)
        values = [p.input(getattr(self, f"value{k}")) for k in range(TERMS)]
        result, over, absent = build(p, values, self.slope, self.unit, self.lift)
        m.d.comb += [self.result.eq(result.value), self.over.eq(over.value), self.absent.eq(absent.value)]
        m.d.comb += self.result_valid.eq(p.valid(p.input(self.values_valid), result.time))
        return m
