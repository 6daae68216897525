"""Expected values with fewer multipliers than exogenous states, which take their products in turn."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from beltline.hw.arithmetic.expectation import FRACTION, ExpectationParameters, rounded_sum
from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.arithmetic.pipeline import Pipeline, Term, Timed
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.memory.ram import READ_LATENCY, Ram
from beltline.hw.sweep.parameters import MULTIPLIERS, SweepParameters

_SEGMENT = 24
"""Bits of a segment of the sums, which are added up without carries from one segment to the next."""

COLUMN_BITS = MULTIPLIERS.bit_length() - 1
"""Bits of the number of a multiplier."""

_PRODUCT_BITS = FRACTION + WIDTH


@dataclass(frozen=True)
class TurnsParameters:
    """Parameters of expected discounted values whose products take a few multipliers in turn.

    With ``M = MULTIPLIERS`` and ``N_z`` exogenous states of the problem, an expectation takes
    ``ceil(N_z / M)`` turns of a clock each. In turn ``t`` multiplier ``j`` has the product of state ``t M + j``. The
    numbers are those of :class:`beltline.hw.arithmetic.expectation.ExpectationParameters`: the sum is exact, and
    rounded once, so they depend neither on ``M`` nor on the order of the products.

    Parameters
    ----------
    build
        Sizes of the engine.
    """

    build: SweepParameters

    @property
    def depth(self) -> int:
        """Clocks from the last turn of an expectation to its result, 16 with 4 multipliers of UltraScale+."""
        return _depth(self)

    def model(self, values: NDArray[np.int64], q: NDArray[np.uint64]) -> tuple[NDArray[np.int64], bool]:
        """Return the unit's results, as of :meth:`beltline.hw.arithmetic.expectation.ExpectationParameters.model`."""
        return ExpectationParameters(self.build.states, self.build.multiplier).model(values, q)


def _sum(p: Pipeline, values: list[Timed], weights: list[Timed], first: Timed, turn_bits: int) -> tuple[Timed, Timed]:
    """Add the sum of products over all turns, of which ``first`` marks the first; returns it and if it saturated."""
    terms = [term for value, weight in zip(values, weights, strict=True) for term in p.products(value, weight)]
    width = _PRODUCT_BITS + len(values).bit_length()
    part = p.total(terms, width, signed=True)
    begins = p.delay(first, part.time - first.time).value
    segments: list[Term] = []
    for low in range(0, width, _SEGMENT):
        piece = part.value[low : low + _SEGMENT]
        if low + _SEGMENT >= width:
            piece = piece.as_signed()
        shape = (signed if piece.shape().signed else unsigned)(len(piece) + turn_bits)
        added = Signal(shape, reset_less=True, name=f"sum{low}")
        p.update(added, Mux(begins, 0, added) + piece)
        segments.append(Term(Timed(added, part.time + 1), low))
    total = p.total(segments, width + turn_bits, constant=1 << (FRACTION - 1), signed=True)
    return rounded_sum(p, total)


_READ = READ_LATENCY + 1
"""Clocks from the row and the turn to the operands of the multipliers."""


@functools.cache
def _depth(parameters: TurnsParameters) -> int:
    count = MULTIPLIERS
    values = [Timed(Signal(signed(WIDTH)), _READ) for _ in range(count)]
    weights = [Timed(Signal(unsigned(FRACTION)), _READ) for _ in range(count)]
    p = Pipeline(multiplier=parameters.build.multiplier)
    return _sum(p, values, weights, Timed(Signal(), 0), parameters.build.turn_bits)[0].time


class Turns(wiring.Component):
    """Computes expected discounted values from a stream of values, with its multipliers in turn.

    Values of a point enter in the order of their exogenous states, ``last_turn + 1`` clocks apart or more. After its
    last value, the expectations of the point leave in the order of today's state, one every ``last_turn + 1`` clocks.
    In the meantime the values of the next point may enter: those of two points are stored.

    Latency: 2 clocks from the last value of a point to the first turn of its first expectation; from the last turn of
    each, ``parameters.depth`` clocks to the expectation. Formula: :class:`TurnsParameters`. Contract: ``valid`` without
    ``ready``; neither weights, nor ``count``, nor ``last_turn`` change while values are in the unit.

    Attributes
    ----------
    count : in, ``count_bits``
        Number of exogenous states of the problem, ``N_z``.
    last_turn : in, ``turn_bits``
        ``ceil(N_z / M) - 1``.
    clear : in, 1 bit
        Discards the values of an incomplete point.
    weight_write : in, 8 bits
        Byte strobes of a write of ``beta Q``.
    weight_row, weight_column : in, ``state_bits``
        Today's and tomorrow's state of the weight to write.
    weight_data : in, 64 bits
        The weight, an unsigned fraction.
    value : in, signed 64 bits
        A value ``V(x', s')``.
    value_valid : in, 1 bit
        High in clocks with a value.
    tag : in, ``point_bits + 1``
        A mark of the point, read with its last value.
    ev : out, signed 64 bits
        The expectation ``EV(x', s)``.
    ev_state, ev_tag : out, ``state_bits`` and ``point_bits + 1``
        Its state ``s``, and the mark of its point.
    ev_valid : out, 1 bit
        High in clocks with an expectation.
    saturated : out, 1 bit
        High in clocks with an expectation that was saturated.
    active : out, 1 bit
        High in every turn of an expectation.
    """

    def __init__(self, parameters: TurnsParameters) -> None:
        self.parameters = parameters
        build = parameters.build
        super().__init__(
            {
                "count": In(build.count_bits),
                "last_turn": In(build.turn_bits),
                "clear": In(1),
                "weight_write": In(WORD_BYTES),
                "weight_row": In(build.state_bits),
                "weight_column": In(build.state_bits),
                "weight_data": In(FRACTION),
                "value": In(signed(WIDTH)),
                "value_valid": In(1),
                "tag": In(build.point_bits + 1),
                "ev": Out(signed(WIDTH)),
                "ev_state": Out(build.state_bits),
                "ev_tag": Out(build.point_bits + 1),
                "ev_valid": Out(1),
                "saturated": Out(1),
                "active": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build = self.parameters.build
        p = Pipeline(m, build.multiplier)
        log, bits, turn_bits = COLUMN_BITS, build.state_bits, build.turn_bits
        last = Signal(bits)
        m.d.sync += last.eq(self.count - 1)

        # Values are written to one bank while those of the point before are read from the other.
        column, bank, read_bank, complete = Signal(bits), Signal(), Signal(), Signal()
        tag, tagged = Signal(build.point_bits + 1), Signal(build.point_bits + 1)
        m.d.sync += complete.eq(0)
        with m.If(self.value_valid):
            m.d.sync += column.eq(column + 1)
            with m.If(column == last):
                m.d.sync += [column.eq(0), complete.eq(1), bank.eq(~bank), tagged.eq(self.tag)]
        with m.If(self.clear):
            m.d.sync += column.eq(0)

        row, turn = Signal(bits), Signal(turn_bits)
        ends = Signal()
        m.d.comb += ends.eq(turn == self.last_turn)
        with m.If(complete):
            m.d.sync += [row.eq(0), turn.eq(0), self.active.eq(1), read_bank.eq(~bank), tag.eq(tagged)]
        with m.Elif(self.active & ends):
            m.d.sync += [row.eq(row + 1), turn.eq(0)]
            with m.If(row == last):
                m.d.sync += self.active.eq(0)
        with m.Elif(self.active):
            m.d.sync += turn.eq(turn + 1)

        values, weights = [], []
        per_multiplier = build.states // MULTIPLIERS
        for number in range(MULTIPLIERS):
            m.submodules[f"values{number}"] = stored = Ram(WIDTH, 2 * per_multiplier)
            m.submodules[f"weights{number}"] = table = Ram(FRACTION, per_multiplier * build.states, WORD_BYTES)
            own_value, own_weight = (word[:log] == number for word in (column, self.weight_column))
            counts = p.register(Cat(Const(number, log), turn) < self.count, 0)
            m.d.comb += [
                stored.write.eq(self.value_valid & own_value),
                stored.write_address.eq(Cat(column[log:][:turn_bits], bank)),
                stored.write_data.eq(self.value),
                stored.read_address.eq(Cat(turn, read_bank)),
                table.write.eq(self.weight_write & own_weight.replicate(WORD_BYTES)),
                table.write_address.eq(Cat(self.weight_column[log:][:turn_bits], self.weight_row)),
                table.write_data.eq(self.weight_data),
                table.read_address.eq(Cat(turn, row)),
            ]
            of_turn = p.delay(counts, READ_LATENCY - counts.time).value
            values.append(p.register(stored.read_data.as_signed(), READ_LATENCY))
            weights.append(p.register(Mux(of_turn, table.read_data, 0), READ_LATENCY))
        ev, saturated = _sum(p, values, weights, p.input(turn == 0), turn_bits)
        m.d.comb += [
            self.ev.eq(ev.value),
            self.ev_valid.eq(p.valid(p.input(self.active & ends), ev.time)),
            self.saturated.eq(saturated.value & self.ev_valid),
            self.ev_state.eq(p.delay(p.input(row), ev.time).value),
            self.ev_tag.eq(p.delay(p.input(tag), ev.time).value),
        ]
        return m
