"""CRRA utility of an integer consumption, for every ``eta`` and every binary point."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import ArrayLike, NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic import exp2, log2
from beltline.hw.arithmetic.numbers import MAXIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.utility_constants import (
    A_BITS,
    A_FRACTION,
    B_BITS,
    B_FRACTION,
    SHIFT_BITS,
    UtilityConstants,
)
from beltline.hw.arithmetic.wide import add, multiply_signed
from beltline.hw.interface.parameters import Multiplier

_PRODUCT_CUT = A_FRACTION + log2.FRACTION - B_FRACTION
_FRACTION_MASK = (1 << exp2.FRACTION) - 1
_TOP_EXPONENT = WIDTH - 1


@njit(cache=True)
def utility_word(c, words):  # type: ignore[no-untyped-def]
    """``(u, feasible, over)`` of one consumption (compiled code only)."""
    a, b_high, b_low, negative, log, shift = words
    if c <= 0:
        return np.int64(0), False, False
    high, low = multiply_signed(a, log2.log2_word(np.uint64(c)))
    low = (high << np.uint64(64 - _PRODUCT_CUT)) | (low >> np.uint64(_PRODUCT_CUT))
    high = np.uint64(np.int64(high) >> np.int64(_PRODUCT_CUT))
    high, low = add((high, low), (b_high, b_low))
    if log:
        negative = np.int64(high) < 0
        magnitude = (~low) + np.uint64(1) if negative else low
    else:
        exponent = np.int64((high << np.uint64(64 - exp2.FRACTION)) | (low >> np.uint64(exp2.FRACTION)))
        if exponent >= _TOP_EXPONENT:
            return (np.int64(0), False, False) if negative else (np.int64(MAXIMUM), True, True)
        if exponent < -1:
            return np.int64(0), True, False
        magnitude = exp2.exp2_word(low & np.uint64(_FRACTION_MASK))
        shift = np.uint64(exp2.RESULT_FRACTION - exponent)
    if shift > 0:
        magnitude = (magnitude >> shift) + ((magnitude >> (shift - np.uint64(1))) & np.uint64(1))
    u = np.int64(magnitude)
    return (-u if negative else u), True, False


@njit(cache=True, parallel=True)
def _utility_array(c, words, u, feasible, over):  # type: ignore[no-untyped-def]
    for k in prange(c.size):
        u[k], feasible[k], over[k] = utility_word(c[k], words)


@dataclass(frozen=True)
class UtilityParameters:
    """CRRA utility of a signed 64-bit consumption, with run-time constants :class:`UtilityConstants`.

    Result: signed 64 bits, with flags ``feasible`` (false where ``c <= 0`` or the utility is at or below ``-2**63``: a
    candidate that can only lose) and ``over`` (the utility is ``2**63`` or more; the result is then ``2**63 - 1``).

    Error, in units of value, for ``eta`` in [0.2, 10]: half a unit (one rounding to nearest, halves away from zero)
    plus ``|U|`` times ``ln 2 (|1 - eta| 2**-57.7 + 2**-57.4) + 2**-60.5``, that is less than ``2**-54.6`` of ``|U|``
    even at ``eta = 10``; at ``eta = 1`` plus ``2**(value - 57)`` units. Never falls as ``c`` rises: the logarithm, the
    multiply-add, the exponential and the rounding each do not.
    """

    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def latency(self) -> int:
        """Clocks from operand to result; a new operand enters every clock."""
        return _latency(self.multiplier)

    def model(
        self, c: ArrayLike, constants: UtilityConstants
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """``(u, feasible, over)``, to the bit, for signed 64-bit consumptions; ``u`` is 0 where infeasible."""
        array = np.asarray(c, dtype=np.int64)
        flat = np.ascontiguousarray(array).reshape(-1)
        u = np.empty(flat.shape, np.int64)
        feasible = np.empty(flat.shape, np.bool_)
        over = np.empty(flat.shape, np.bool_)
        _utility_array(flat, constants.words, u, feasible, over)
        return u.reshape(array.shape), feasible.reshape(array.shape), over.reshape(array.shape)


CONSTANTS = {
    "a": In(A_BITS),
    "b": In(B_BITS),
    "negative": In(1),
    "log": In(1),
    "shift": In(SHIFT_BITS),
}
"""Ports that carry :class:`UtilityConstants`; they must not change while operands are under way."""


@dataclass(frozen=True)
class UtilityPorts:
    """The constants as signals inside a datapath."""

    a: Signal
    b: Signal
    negative: Signal
    log: Signal
    shift: Signal

    @classmethod
    def of(cls, component: object) -> UtilityPorts:
        """The members named in :data:`CONSTANTS` of a component."""
        return cls(**{name: getattr(component, name) for name in CONSTANTS})


def build(p: Pipeline, c: Timed, constants: UtilityPorts) -> tuple[Timed, Timed, Timed]:
    """The datapath: signed 64-bit ``c`` to ``u``, ``feasible`` and ``over``, all at the same clock."""
    positive = p.compute(lambda value: (~value[-1]) & value.any(), c)
    logarithm = log2.build(p, c.map(lambda value: value[: log2.OPERAND_BITS]))
    a = Timed(constants.a.as_signed(), logarithm.time)
    b = Timed(constants.b.as_signed(), logarithm.time)
    product = p.products(a, logarithm)
    b = Timed(b.value, product[0].value.time)
    exponent = p.total([Term(b, _PRODUCT_CUT), *product], _PRODUCT_CUT + B_BITS).map(
        lambda value: value[_PRODUCT_CUT:].as_signed()
    )
    integer = exponent.map(lambda value: value[exp2.FRACTION :].as_signed())
    mantissa = exp2.build(p, exponent.map(lambda value: value[: exp2.FRACTION]))

    negative = Timed(constants.negative, integer.time)
    fall = exponent.map(lambda value: value[-1])
    sign = p.compute(lambda f, n: Mux(constants.log, f, n), fall, negative)
    large = p.compute(lambda value: (value >= _TOP_EXPONENT) & ~constants.log, integer)
    small = p.compute(lambda value: (value < -1) & ~constants.log, integer)
    shift = p.compute(
        lambda value: Mux(constants.log, constants.shift, (exp2.RESULT_FRACTION - value)[:SHIFT_BITS]), integer
    )
    low = exponent.map(lambda value: value[:WIDTH])
    flipped = p.compute(lambda value, n: value ^ n.replicate(WIDTH), low, fall)
    log_magnitude = p.total([Term(flipped), Term(fall)], WIDTH)

    magnitude = p.compute(
        lambda log, exp, high: Mux(constants.log, log, Mux(high, MAXIMUM, exp)), log_magnitude, mantissa, large
    )
    shift = p.compute(lambda bits, high: Mux(high, 0, bits), shift, large)
    # -(t + r) = ~t + (1 - r) for a rounding bit r: one adder rounds and negates.
    shifted = p.compute(
        lambda value, bits, empty, n: Mux(empty, 0, Cat(Const(0, 1), value) >> bits) ^ n.replicate(WIDTH + 1),
        magnitude,
        shift,
        small,
        sign,
    )
    u = p.total(
        [Term(shifted.map(lambda value: value[1:])), Term(shifted.map(lambda value: value[0]))], WIDTH, signed=True
    )
    over = p.compute(lambda good, high, n: good & high & ~n, positive, large, sign)
    feasible = p.compute(lambda good, high, n: good & ~(high & n), positive, large, sign)
    time = u.time
    return u, p.delay(feasible, time - feasible.time), p.delay(over, time - over.time)


@functools.cache
def _latency(multiplier: Multiplier) -> int:
    ports = UtilityPorts(Signal(A_BITS), Signal(B_BITS), Signal(), Signal(), Signal(SHIFT_BITS))
    return build(Pipeline(multiplier=multiplier), Timed(Const(0, WIDTH), 0), ports)[0].time


class Utility(wiring.Component):
    """:class:`UtilityParameters` in gateware.

    Fixed latency, one operand a clock, no ready: valid comes out as it went in. Where ``feasible`` is low, ``u`` means
    nothing. The constants must not change while operands are under way.
    """

    def __init__(self, parameters: UtilityParameters) -> None:
        self.parameters = parameters
        super().__init__(
            {
                **CONSTANTS,
                "operand": In(WIDTH),
                "operand_valid": In(1),
                "result": Out(WIDTH),
                "feasible": Out(1),
                "over": Out(1),
                "result_valid": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.multiplier)
        u, feasible, over = build(p, p.input(self.operand), UtilityPorts.of(self))
        m.d.comb += [self.result.eq(u.value), self.feasible.eq(feasible.value), self.over.eq(over.value)]
        m.d.comb += self.result_valid.eq(p.valid(p.input(self.operand_valid), u.time))
        return m
