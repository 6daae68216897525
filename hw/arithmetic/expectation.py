"""Expected discounted values of all grid points and exogenous states, computed once in a sweep."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.compiled import njit, prange
from beltline.hw.arithmetic.numbers import MAXIMUM, MINIMUM, WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.arithmetic.wide import multiply_signed
from beltline.hw.interface.parameters import Multiplier
from beltline.hw.interface.windows import WORD_BYTES

FRACTION = 64
"""Fraction bits of ``beta Q``."""

_SUM_BITS = FRACTION + WIDTH + 5
_HALF_MASK = (1 << 32) - 1


@njit(cache=True, inline="always")
def _expectation_word(values, x, q, s):  # type: ignore[no-untyped-def]
    """Return ``(ev, saturated)``: the sum over ``k`` of ``values[x, k] q[s, k] / 2**64``, rounded once.

    A sum of up to 16 products can exceed 128 bits, so the upper words are summed in two halves.
    """
    low = np.uint64(1 << (FRACTION - 1))
    carries = np.int64(0)
    middle = np.int64(0)
    top = np.int64(0)
    for k in range(values.shape[1]):
        product_high, product_low = multiply_signed(values[x, k], q[s, k])
        low += product_low
        carries += np.int64(low < product_low)
        middle += np.int64(product_high & np.uint64(_HALF_MASK))
        top += np.int64(product_high) >> np.int64(32)
    middle += carries
    top += middle >> np.int64(32)
    middle &= np.int64(_HALF_MASK)
    if top >= 2**31:
        return np.int64(MAXIMUM), True
    if top < -(2**31):
        return np.int64(MINIMUM), True
    return (top << np.int64(32)) | middle, False


@njit(cache=True, parallel=True)
def _expectation_array(values, q, ev, flags):  # type: ignore[no-untyped-def]
    for x in prange(values.shape[0]):
        for s in range(values.shape[1]):
            ev[x, s], flags[x, s] = _expectation_word(values, x, q, s)


@dataclass(frozen=True)
class ExpectationParameters:
    """Parameters of the expected discounted value ``EV(x', s) = sum_s' beta Q(s, s') V(x', s')``.

    ``V`` is signed with 64 bits, ``beta Q`` unsigned with 64 fraction bits. The sum is exact and is rounded once, to
    nearest, halves up: error at most half a unit of value. A sum outside of signed 64 bits is saturated and flagged.

    Parameters
    ----------
    states
        Largest number of exogenous states.
    multiplier
        The chip's multiplier.
    interval
        Least number of clocks from one value to the next, and clocks for each expectation: 1, 2 or 4. The unit has
        ``states / interval`` multipliers of 64 x 64 bits, rounded up.
    """

    states: int
    multiplier: Multiplier = Multiplier.DSP48E2
    interval: int = 1

    @property
    def state_bits(self) -> int:
        """Bits of the number of an exogenous state."""
        return (self.states - 1).bit_length()

    @property
    def latency(self) -> int:
        """Clocks from the last value of a grid point to its first expectation, 11 for 4 states and interval 1."""
        return _latency(self)

    @property
    def multipliers(self) -> int:
        """Number of 64 x 64-bit products in a clock."""
        return -(-self.states // self.interval)

    def model(self, values: NDArray[np.int64], q: NDArray[np.uint64]) -> tuple[NDArray[np.int64], bool]:
        """Return the unit's results, bit by bit.

        Parameters
        ----------
        values
            int64, ``(points, N_z)``: the value function, in units of value.
        q
            uint64, ``(N_z, N_z)``, unit ``2**-64``: ``beta Q``; a row belongs to today's state.

        Returns
        -------
        ev, saturated
            int64, ``(points, N_z)``, in units of value, and whether any of them was saturated.
        """
        ev = np.empty_like(values)
        flags = np.zeros(values.shape, np.bool_)
        _expectation_array(np.ascontiguousarray(values), np.ascontiguousarray(q), ev, flags)
        return ev, bool(flags.any())


def _build(p: Pipeline, values: list[Timed], row: list[Timed], interval: int) -> tuple[Timed, Timed]:
    """Add the sum of products over ``interval`` clocks, rounded and saturated; returns it and whether it saturated."""
    terms = [term for value, weight in zip(values, row, strict=True) for term in p.products(value, weight)]
    half = 1 << (FRACTION - 1)
    if interval == 1:
        total = p.total(terms, _SUM_BITS, constant=half, signed=True)
    else:
        part = p.total(terms, _SUM_BITS, signed=True)
        # The parts of a sum leave the multipliers one after the other; the earlier ones are delayed to meet the last.
        last = part.time + interval - 1
        parts = [p.delay(Timed(part.value, last - wait), wait) for wait in range(interval)]
        total = p.total([Term(word) for word in parts], _SUM_BITS, constant=half, signed=True)
    return rounded_sum(p, total)


def rounded_sum(p: Pipeline, total: Timed) -> tuple[Timed, Timed]:
    """Add what drops the fraction of a sum, to which half a unit was added, and saturates it.

    Returns the expectation, and whether it was saturated.
    """
    rounded = total.map(lambda value: value[FRACTION:].as_signed())
    outside = p.compute(lambda value: ~(value[WIDTH - 1 :].all() | ~value[WIDTH - 1 :].any()), rounded)
    unclamped = p.delay(rounded, 1)
    ev = p.compute(
        lambda value, out: Mux(out, Mux(value[-1], MINIMUM, MAXIMUM), value[:WIDTH].as_signed()).as_signed(),
        unclamped,
        outside,
    )
    return ev.map(lambda value: value[:WIDTH].as_signed()), p.delay(outside, 1)


_ROW_TIME = 3
"""Clocks from the last value of a grid point until its values and the first row of weights are at the multipliers."""


@functools.cache
def _latency(parameters: ExpectationParameters) -> int:
    count = parameters.multipliers
    values = [Timed(Signal(signed(WIDTH)), _ROW_TIME) for _ in range(count)]
    row = [Timed(Signal(unsigned(FRACTION)), _ROW_TIME) for _ in range(count)]
    return _build(Pipeline(multiplier=parameters.multiplier), values, row, parameters.interval)[0].time


class Expectation(wiring.Component):
    """Computes expected discounted values from a stream of values.

    Values enter in table order, ``count`` of them for each grid point, at least ``interval`` clocks apart. After the
    last value of a point, its ``count`` expectations leave in the order of today's state, one in every ``interval``
    clocks.

    Latency: ``parameters.latency`` clocks from the last value of a point to its first expectation. Formula and error
    bound: :class:`ExpectationParameters`. Contract: ``valid`` without ``ready``; neither the weights nor ``count``
    change while values are in the pipeline.

    Attributes
    ----------
    count : in, 5 bits
        Number of exogenous states of the problem, ``N_z``.
    clear : in, 1 bit
        Discards the values of an incomplete point.
    weight_write : in, 8 bits
        Byte strobes of a write of ``beta Q``.
    weight_row, weight_column : in, ``state_bits`` bits, at least 1
        Today's and tomorrow's state of the weight to write.
    weight_data : in, 64 bits
        The weight, an unsigned fraction.
    value : in, signed 64 bits
        A value ``V(x', s')``.
    value_valid : in, 1 bit
        High in clocks with a value.
    ev : out, signed 64 bits
        The expectation ``EV(x', s)``.
    ev_state : out, ``state_bits`` bits, at least 1
        Its state ``s``.
    ev_valid : out, 1 bit
        High in clocks with an expectation.
    saturated : out, 1 bit
        High in clocks with an expectation that was saturated.
    """

    def __init__(self, parameters: ExpectationParameters) -> None:
        self.parameters = parameters
        bits = max(1, parameters.state_bits)
        super().__init__(
            {
                "count": In(5),
                "clear": In(1),
                "weight_write": In(WORD_BYTES),
                "weight_row": In(bits),
                "weight_column": In(bits),
                "weight_data": In(FRACTION),
                "value": In(signed(WIDTH)),
                "value_valid": In(1),
                "ev": Out(signed(WIDTH)),
                "ev_state": Out(bits),
                "ev_valid": Out(1),
                "saturated": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m, self.parameters.multiplier)
        states, interval = self.parameters.states, self.parameters.interval
        count = self.parameters.multipliers
        bits = max(1, self.parameters.state_bits)
        last = Signal(bits)
        m.d.sync += last.eq(self.count - 1)

        # The values of a point are collected in `gathered`. A complete point is copied to `point`, where it remains
        # while its rows are computed.
        gathered = [Signal(signed(WIDTH), reset_less=True, name=f"gathered{k}") for k in range(states)]
        point = [Signal(signed(WIDTH), reset_less=True, name=f"point{k}") for k in range(states)]
        column = Signal(bits)
        complete = Signal()
        m.d.sync += complete.eq(0)
        with m.If(self.value_valid):
            for k in range(states):
                with m.If(column == k):
                    m.d.sync += gathered[k].eq(self.value)
            with m.If(column == last):
                m.d.sync += [column.eq(0), complete.eq(1)]
            with m.Else():
                m.d.sync += column.eq(column + 1)
        with m.If(self.clear):
            m.d.sync += column.eq(0)

        row = Signal(bits)
        turn = Signal(range(interval))
        row_done = Signal()
        active = Signal()
        m.d.comb += row_done.eq(turn == interval - 1)
        with m.If(complete):
            m.d.sync += [row.eq(0), turn.eq(0), active.eq(1)]
            m.d.sync += [point[k].eq(gathered[k]) for k in range(states)]
        with m.Elif(active):
            m.d.sync += turn.eq(turn + 1)
            with m.If(row_done):
                m.d.sync += [row.eq(row + 1), turn.eq(0)]
                with m.If(row == last):
                    m.d.sync += active.eq(0)

        # The weights are in registers, not in RAM: a whole row is read at once, and the table is small.
        columns = []
        for k in range(states):
            cells = [Signal(FRACTION, reset_less=True, name=f"weight_{r}_{k}") for r in range(states)]
            for r, cell in enumerate(cells):
                with m.If((self.weight_row == r) & (self.weight_column == k)):
                    for byte in range(WORD_BYTES):
                        with m.If(self.weight_write[byte]):
                            part = slice(8 * byte, 8 * (byte + 1))
                            m.d.sync += cell[part].eq(self.weight_data[part])
            columns.append(Mux(k < self.count, Array(cells)[row], 0))
        values, weights = [], []
        for first in range(0, interval * count, interval):
            # Each multiplier computes the products of `interval` neighbouring columns, one after the other.
            own = range(first, min(first + interval, states))
            own_weights = [columns[k] for k in own] + [Const(0, FRACTION)] * (interval - len(own))
            values.append(p.register(Array(point[k] for k in own)[turn], _ROW_TIME - 1))
            weights.append(p.register(Array(own_weights)[turn], _ROW_TIME - 1))
        ev, saturated = _build(p, values, weights, interval)
        valid = p.input(active & row_done, _ROW_TIME + interval - 2)
        m.d.comb += [
            self.ev.eq(ev.value),
            self.ev_valid.eq(p.valid(valid, ev.time)),
            self.saturated.eq(saturated.value & self.ev_valid),
            self.ev_state.eq(p.delay(p.input(row, valid.time), ev.time - valid.time).value),
        ]
        return m
