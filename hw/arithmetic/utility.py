"""CRRA utility of consumption in fixed point; risk aversion and binary points are set at run time."""

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
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
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
    """Return ``(u, feasible, over)`` of one consumption ``c``, int64; for calls from compiled code only.

    ``words`` are those of :attr:`UtilityConstants.words`.
    """
    a, b_high, b_low, negative, log, shift, linear = words
    if linear:
        feasible = c > 0 or (negative and c > MINIMUM)
        return (c if feasible else np.int64(0)), feasible, False
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
    """Parameters of the CRRA utility of a signed 64-bit consumption ``c``.

    Formula: ``c**(1 - eta) / (1 - eta)``, and ``ln c`` at ``eta = 1``, computed as ``2**(a log2(C) + b)`` with the
    run-time constants of :class:`UtilityConstants`.

    The result has signed 64 bits and two flags. ``feasible`` is false where ``c <= 0`` or the utility is at or below
    ``-2**63``, so that the candidate cannot be the best. ``over`` is true where the utility is ``2**63`` or more; the
    result is then ``2**63 - 1``.

    The model also has linear utility, ``U = c`` without an error; ``feasible`` is then true where ``c > 0``, and with
    ``negative`` also where ``c > -2**63``. In gateware linear utility is part of
    :class:`beltline.hw.arithmetic.evaluator.Evaluator`, and not of this unit.

    Error, in units of value, for ``eta`` in [0.2, 10]: half a unit (one rounding to nearest, halves away from zero)
    plus ``|U|`` times ``ln 2 (|1 - eta| 2**-57.7 + 2**-57.4) + 2**-60.5``, which is less than ``2**-54.6 |U|`` even at
    ``eta = 10``. At ``eta = 1`` there are ``2**(value - 57)`` units more, with ``value`` fraction bits of value.

    Monotone: the result never falls as ``c`` rises, since logarithm, multiply-add, exponential and rounding are
    monotone.

    Parameters
    ----------
    multiplier
        The chip's multiplier. It changes the latency and no result.
    """

    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def latency(self) -> int:
        """Clocks from operand to result, 49 with ``DSP48E2``. A new operand enters in every clock."""
        return _latency(self.multiplier)

    def model(
        self, c: ArrayLike, constants: UtilityConstants
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the unit's results, bit by bit.

        Parameters
        ----------
        c
            int64, any shape: consumption, in units of amount.
        constants
            Constants of risk aversion and binary points.

        Returns
        -------
        u, feasible, over
            int64, bool and bool, of the shape of ``c``; ``u``, in units of value, is 0 where infeasible.
        """
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
"""Input ports for :class:`UtilityConstants`, by the names of its fields. Contract: they do not change while operands
are in the pipeline."""

LINEAR = {"linear": In(1)}
"""Input port for the remaining constant, where utility may be linear."""


def constant_ports(linear: bool) -> dict[str, wiring.Member]:
    """Return the input ports for :class:`UtilityConstants`; ``linear`` says whether utility may be linear."""
    return CONSTANTS | LINEAR if linear else CONSTANTS


@dataclass(frozen=True)
class UtilityPorts:
    """The signals of a datapath that carry :class:`UtilityConstants`. ``linear`` is None where utility never is."""

    a: Signal
    b: Signal
    negative: Signal
    log: Signal
    shift: Signal
    linear: Signal | None = None

    @classmethod
    def of(cls, component: object) -> UtilityPorts:
        """Return the ports of ``component`` that are named in :data:`CONSTANTS`, and in :data:`LINEAR` if it has it."""
        return cls(**{name: getattr(component, name) for name in CONSTANTS}, linear=getattr(component, "linear", None))

    @property
    def named(self) -> dict[str, Signal]:
        """The signals by the names of their ports."""
        ports = {name: getattr(self, name) for name in CONSTANTS}
        return ports if self.linear is None else ports | {"linear": self.linear}


def build(p: Pipeline, c: Timed, constants: UtilityPorts) -> tuple[Timed, Timed, Timed]:
    """Add the datapath to ``p``: from ``c``, signed 64 bits, to ``u``, ``feasible`` and ``over``.

    All three results have the same time. ``u``, signed 64 bits, is undefined where ``feasible`` is low.
    """
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
    # One adder rounds and negates, since -(t + r) = ~t + (1 - r) for a rounding bit r.
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
    """Computes the CRRA utility of consumption.

    Latency: ``parameters.latency`` clocks (49 with ``DSP48E2``). Throughput: one operand in every clock. Formula and
    error bound: :class:`UtilityParameters`. Contract: ``valid`` without ``ready``; the constants do not change while
    operands are in the pipeline.

    Attributes
    ----------
    a, b, negative, log, shift : in; 64, 72, 1, 1 and 6 bits
        Constants, see :class:`beltline.hw.arithmetic.utility_constants.UtilityConstants`.
    operand : in, signed 64 bits
        Consumption.
    operand_valid : in, 1 bit
        High in clocks with an operand.
    result : out, signed 64 bits
        Utility. Undefined where ``feasible`` is low.
    feasible : out, 1 bit
        Low where consumption is not positive or the utility is at or below ``-2**63``.
    over : out, 1 bit
        High where the utility is ``2**63`` or more; ``result`` is then ``2**63 - 1``.
    result_valid : out, 1 bit
        High in clocks with the result of an operand: ``operand_valid``, delayed by the latency.
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
