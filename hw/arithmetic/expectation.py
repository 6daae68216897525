"""Expected discounted values of all grid points and exogenous states, computed once in a sweep."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from amaranth.hdl import Array, Const, Module, Mux, Signal, Value, signed, unsigned
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
        return _total_latency(self, self.chain)

    @property
    def chain(self) -> int:
        """Most products that are added from multiplier to multiplier before LUTs add such sums: 1, 3 or 4.

        More than 1 only where the chip has adders for it, in a unit with a product of each state in every clock. The
        longest that takes no more clocks than 1.
        """
        if self.interval > 1 or self.states == 1 or not self.multiplier.cascades:
            return 1
        return next(chain for chain in _CHAINS if _total_latency(self, chain) <= _total_latency(self, 1))

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


def _build(p: Pipeline, values: list[Timed], row: list[Timed], interval: int, chain: int) -> tuple[Timed, Timed]:
    """Add the sum of products over ``interval`` clocks, rounded and saturated; returns it and whether it saturated.

    Chains of ``chain`` multipliers add their products one after the other.
    """
    pairs = list(zip(values, row, strict=True))
    chains = [pairs[first : first + chain] for first in range(0, len(pairs), chain)]
    terms = [term for products in chains for term in p.chained_products(products)]
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

_CHAINS = (4, 3, 1)
"""Lengths of chains to choose from, with the longest first."""


def _place(number: int, count: int, chain: int) -> int:
    """Return the place of multiplier ``number``, of ``count``, in its chain. All chains end at the same place."""
    size = min(chain, count - number // chain * chain)
    return min(chain, count) - size + number % chain


_EARLY = 2
"""Last place of a chain whose values are copied with the others."""


class _Point(NamedTuple):
    """The point that arrives.

    Parameters
    ----------
    last
        Its last column, ``N_z - 1``.
    gathered
        Its values so far, by column.
    column
        Column of the next value.
    complete
        High in the clock after its last value.
    """

    last: Signal
    gathered: list[Signal]
    column: Signal
    complete: Signal


class _Operands(NamedTuple):
    """Operands of the multipliers.

    Parameters
    ----------
    row, ends
        The row that is read, and whether its last products are read, at the time of ``ends``.
    values, weights
        Both operands of each multiplier.
    """

    row: Signal
    ends: Timed
    values: list[Timed]
    weights: list[Timed]


@functools.cache
def _total_latency(parameters: ExpectationParameters, chain: int) -> int:
    count = parameters.multipliers
    times = [_place(k, count, chain) + 1 if chain > 1 else _ROW_TIME for k in range(count)]
    values = [Timed(Signal(signed(WIDTH)), time) for time in times]
    row = [Timed(Signal(unsigned(FRACTION)), time) for time in times]
    return _build(Pipeline(multiplier=parameters.multiplier), values, row, parameters.interval, chain)[0].time


class Expectation(wiring.Component):
    """Computes expected discounted values from a stream of values.

    Values enter in table order, ``count`` of them for each grid point, at least ``interval`` clocks apart. After the
    last value of a point, its ``count`` expectations leave in the order of today's state, one in every ``interval``
    clocks.

    Latency: ``parameters.latency`` clocks from the last value of a point to its first expectation. Formula and error
    bound: :class:`ExpectationParameters`. Contract: ``valid`` without ``ready``; neither the weights nor ``count``
    change while values are in the pipeline.

    Where the chip has adders behind its multipliers, these add products of the same bits of up to 4 states
    (``parameters.chain``), and LUTs the sums of such chains. Such a unit does not wait for a complete point: each
    multiplier of a chain works on a row a clock after the one before, and the first in the clock of the last value.

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
        states = self.parameters.states
        bits = max(1, self.parameters.state_bits)
        last = Signal(bits)
        m.d.sync += last.eq(self.count - 1)

        # The values of a point are collected in `gathered`.
        gathered = [Signal(signed(WIDTH), reset_less=True, name=f"gathered{k}") for k in range(states)]
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

        at = _Point(last, gathered, column, complete)
        if self.parameters.chain > 1:
            row, ends, values, weights = self._in_chains(m, p, at)
        else:
            row, ends, values, weights = self._in_turns(m, p, at)
        ev, saturated = _build(p, values, weights, self.parameters.interval, self.parameters.chain)
        m.d.comb += [
            self.ev.eq(ev.value),
            self.ev_valid.eq(p.valid(ends, ev.time)),
            self.saturated.eq(saturated.value & self.ev_valid),
            self.ev_state.eq(p.delay(p.input(row, ends.time), ev.time - ends.time).value),
        ]
        return m

    def _weights(self, m: Module) -> Iterator[list[Signal]]:
        """Add the registers of the weights, and their writes; returns those of each column, by row.

        They are registers and not RAM: a whole row is read at once, and the table is small.
        """
        for k in range(self.parameters.states):
            cells = [Signal(FRACTION, reset_less=True, name=f"weight_{r}_{k}") for r in range(self.parameters.states)]
            for r, cell in enumerate(cells):
                with m.If((self.weight_row == r) & (self.weight_column == k)):
                    for byte in range(WORD_BYTES):
                        with m.If(self.weight_write[byte]):
                            part = slice(8 * byte, 8 * (byte + 1))
                            m.d.sync += cell[part].eq(self.weight_data[part])
            yield cells

    def _in_turns(self, m: Module, p: Pipeline, at: _Point) -> _Operands:
        """Multiply all values of a point at the same time, or in ``interval`` turns of neighbouring columns."""
        states, interval = self.parameters.states, self.parameters.interval
        count = self.parameters.multipliers
        # A complete point is copied to `point`, where it remains while its rows are computed.
        point = [Signal(signed(WIDTH), reset_less=True, name=f"point{k}") for k in range(states)]
        row = Signal.like(at.last)
        turn = Signal(range(interval))
        row_done = Signal()
        active = Signal()
        m.d.comb += row_done.eq(turn == interval - 1)
        with m.If(at.complete):
            m.d.sync += [row.eq(0), turn.eq(0), active.eq(1)]
            m.d.sync += [point[k].eq(at.gathered[k]) for k in range(states)]
        with m.Elif(active):
            m.d.sync += turn.eq(turn + 1)
            with m.If(row_done):
                m.d.sync += [row.eq(row + 1), turn.eq(0)]
                with m.If(row == at.last):
                    m.d.sync += active.eq(0)
        columns = [Mux(k < self.count, Array(cells)[row], 0) for k, cells in enumerate(self._weights(m))]
        values, weights = [], []
        for first in range(0, interval * count, interval):
            # Each multiplier computes the products of `interval` neighbouring columns, one after the other.
            own = range(first, min(first + interval, states))
            own_weights = [columns[k] for k in own] + [Const(0, FRACTION)] * (interval - len(own))
            values.append(p.register(Array(point[k] for k in own)[turn], _ROW_TIME - 1))
            weights.append(p.register(Array(own_weights)[turn], _ROW_TIME - 1))
        return _Operands(row, p.input(active & row_done, _ROW_TIME + interval - 2), values, weights)

    def _in_chains(self, m: Module, p: Pipeline, at: _Point) -> _Operands:
        """Multiply the values of a point one after the other, each place of a chain a clock after that before.

        The first place works on row 0 in the clock of the last value. Place ``c`` works on row ``r`` in the clock
        ``c + r`` after it.
        """
        states = self.parameters.states
        row, running, ends = Signal.like(at.last), Signal(), Signal()
        active = Signal()
        m.d.comb += [ends.eq(self.value_valid & (at.column == at.last)), active.eq(ends | running)]
        with m.If(active):
            m.d.sync += [row.eq(row + 1), running.eq(1)]
            with m.If(row == at.last):
                m.d.sync += [row.eq(0), running.eq(0)]
        late = Signal()
        m.d.sync += late.eq(at.complete)
        values, weights = [], []
        for k, cells in enumerate(self._weights(m)):
            place = _place(k, states, self.parameters.chain)
            # The next value of this column may arrive `k + 1` clocks after the last one of this point.
            point = Signal(signed(WIDTH), reset_less=True, name=f"point{k}")
            with m.If(late if place > _EARLY else at.complete):
                m.d.sync += point.eq(at.gathered[k])
            value: Value = point
            if place == 0:
                value = Mux(ends | at.complete, Mux(ends & (at.column == k), self.value, at.gathered[k]), point)
            elif place == 1:
                value = Mux(at.complete, at.gathered[k], point)
            of_row = p.delay(p.input(row), place)
            values.append(p.register(value.as_signed(), place))
            weights.append(p.register(Mux(k < self.count, Array(cells)[of_row.value], 0), place))
        return _Operands(row, p.input(active), values, weights)
