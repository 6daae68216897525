"""Expected discounted value, once for every state of a sweep."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Array, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numba import njit, prange
from numpy.typing import NDArray

from .numbers import MAXIMUM, MINIMUM, WIDTH
from .parameters import Multiplier
from .pipeline import Pipeline, Timed
from .wide import multiply_signed
from .windows import WORD_BYTES

FRACTION = 64
"""Fraction bits of ``beta Q``."""

_SUM_BITS = FRACTION + WIDTH + 5
_HALF_MASK = (1 << 32) - 1


@njit(cache=True, inline="always")
def _expectation_word(values, x, q, s):  # type: ignore[no-untyped-def]
    """``(ev, saturated)``: the sum of ``values[x, k] q[s, k] / 2**64``, rounded once.

    Up to 16 products can pass 128 bits, so the upper words are summed in two halves.
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
    """``EV(x', s) = sum_s' beta Q(s, s') V(x', s')`` for up to ``states`` exogenous states.

    ``V`` signed 64 bits, ``beta Q`` unsigned with 64 fraction bits; the sum is exact and rounded once, to nearest,
    halves up: error at most half a unit of value. A sum outside 64 bits is saturated and flagged.
    """

    states: int
    multiplier: Multiplier = Multiplier.DSP48E2

    @property
    def state_bits(self) -> int:
        return (self.states - 1).bit_length()

    @property
    def latency(self) -> int:
        """Clocks from the last value of a point to the first expectation of that point; one value a clock."""
        return _latency(self.states, self.multiplier)

    def model(self, values: NDArray[np.int64], q: NDArray[np.uint64]) -> tuple[NDArray[np.int64], bool]:
        """``EV`` to the bit, and whether any of it saturated.

        Parameters
        ----------
        values
            int64, ``(points, N_z)``.
        q
            uint64, ``(N_z, N_z)``: ``beta Q``, rows today's state.
        """
        ev = np.empty_like(values)
        flags = np.zeros(values.shape, np.bool_)
        _expectation_array(np.ascontiguousarray(values), np.ascontiguousarray(q), ev, flags)
        return ev, bool(flags.any())


def _build(p: Pipeline, values: list[Timed], row: list[Timed]) -> tuple[Timed, Timed]:
    """Sum of products, rounded and clamped."""
    terms = [term for value, weight in zip(values, row, strict=True) for term in p.products(value, weight)]
    total = p.total(terms, _SUM_BITS, constant=1 << (FRACTION - 1), signed=True)
    rounded = total.map(lambda value: value[FRACTION:].as_signed())
    outside = p.compute(lambda value: ~(value[WIDTH - 1 :].all() | ~value[WIDTH - 1 :].any()), rounded)
    held = p.delay(rounded, 1)
    ev = p.compute(
        lambda value, out: Mux(out, Mux(value[-1], MINIMUM, MAXIMUM), value[:WIDTH].as_signed()).as_signed(),
        held,
        outside,
    )
    return ev.map(lambda value: value[:WIDTH].as_signed()), p.delay(outside, 1)


_ROW_TIME = 3
"""Clocks from the last value of a point until it and the first row of weights stand at the multipliers."""


@functools.cache
def _latency(states: int, multiplier: Multiplier) -> int:
    values = [Timed(Signal(signed(WIDTH)), _ROW_TIME) for _ in range(states)]
    row = [Timed(Signal(unsigned(FRACTION)), _ROW_TIME) for _ in range(states)]
    return _build(Pipeline(multiplier=multiplier), values, row)[0].time


class Expectation(wiring.Component):
    """:class:`ExpectationParameters` in gateware. Fixed latency, no ready.

    Values enter in table order, ``count`` (the problem's ``N_z``) of them a point, at most one a clock. Once a point is
    complete its ``count`` expectations leave in as many clocks, in table order. ``weight_*`` writes ``beta Q``, with a
    bit of ``weight_write`` for each byte; neither it nor ``count`` may change while values are under way. ``clear``
    forgets a point that was begun.
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

        # Values gather, one a clock; a complete point moves on as a whole and stays for its rows.
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
        active = Signal()
        with m.If(complete):
            m.d.sync += [row.eq(0), active.eq(1)]
            m.d.sync += [point[k].eq(gathered[k]) for k in range(states)]
        with m.Elif(active):
            m.d.sync += row.eq(row + 1)
            with m.If(row == last):
                m.d.sync += active.eq(0)

        # Registers, not RAM: a row of every column is read at once, and the table is small.
        weights = []
        for k in range(states):
            cells = [Signal(FRACTION, reset_less=True, name=f"weight_{r}_{k}") for r in range(states)]
            for r, cell in enumerate(cells):
                with m.If((self.weight_row == r) & (self.weight_column == k)):
                    for byte in range(WORD_BYTES):
                        with m.If(self.weight_write[byte]):
                            part = slice(8 * byte, 8 * (byte + 1))
                            m.d.sync += cell[part].eq(self.weight_data[part])
            weights.append(p.register(Mux(k < self.count, Array(cells)[row], 0), _ROW_TIME - 1))
        values = [p.delay(p.input(value, _ROW_TIME - 1), 1) for value in point]
        ev, saturated = _build(p, values, weights)
        valid = p.input(active, _ROW_TIME - 1)
        m.d.comb += [
            self.ev.eq(ev.value),
            self.ev_valid.eq(p.valid(valid, ev.time)),
            self.saturated.eq(saturated.value & self.ev_valid),
            self.ev_state.eq(p.delay(p.input(row, _ROW_TIME - 1), ev.time - _ROW_TIME + 1).value),
        ]
        return m
