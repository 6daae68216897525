"""Fixed-latency datapaths: signals that know their clock, and adders and multipliers with short paths.

A :class:`Pipeline` builds a datapath that takes one operand a clock and never stalls. Every intermediate result is a
:class:`Timed`: a value and the clock, counted from the datapath's inputs, in which it stands. Operations align their
operands by themselves with shift registers, so a datapath's latency is read off its result and is written nowhere.

Between two registers there is at most a 32-bit carry behind two levels of LUTs (:meth:`Pipeline.total`), or four
levels of 3:2 compressors, or one of the chip's multipliers (:meth:`Pipeline.products`). Datapath registers
have no reset.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, ValueLike
from amaranth.lib.memory import Memory

from beltline.hw.interface.parameters import Multiplier

SEGMENT = 32
"""Longest carry of an adder, in bits."""

TILE_CLOCKS = 2
"""Registers behind a multiplier: its own product and output registers."""

COMPRESSIONS = 4
"""Levels of 3:2 compressors in one clock."""


@dataclass(frozen=True)
class Timed:
    """``value`` as it stands ``time`` clocks after the operands entered."""

    value: Value
    time: int

    @property
    def shape(self) -> Shape:
        return self.value.shape()

    def map(self, function: Callable[[Value], ValueLike]) -> Timed:
        """Wiring only (slices, concatenation, sign): the same clock."""
        return Timed(Value.cast(function(self.value)), self.time)


@dataclass(frozen=True)
class Term:
    """A summand ``(-1)**negative * value * 2**shift``."""

    value: Timed
    shift: int = 0
    negative: bool = False


class Pipeline:
    """Builds a datapath into ``m``, clocked by ``sync``; without a module, only counts clocks.

    Products are cut into tiles that the ``multiplier`` takes. Results do not depend on it; their clocks may.
    """

    def __init__(self, m: Module | None = None, multiplier: Multiplier = Multiplier.DSP48E2) -> None:
        self._m = m
        self._tile = multiplier.value
        self._delayed: dict[int, list[Signal]] = {}
        self._keep: list[Value] = []

    def _clocked(self, assignment: Any) -> None:
        if self._m is not None:
            self._m.d.sync += assignment

    def _wired(self, assignment: Any) -> None:
        if self._m is not None:
            self._m.d.comb += assignment

    def input(self, value: ValueLike, time: int = 0) -> Timed:
        """``value`` is there at clock ``time`` (a port, or a register driven elsewhere)."""
        return Timed(Value.cast(value), time)

    def register(self, value: ValueLike, time: int) -> Timed:
        """Register an expression of signals that stand at clock ``time``."""
        value = Value.cast(value)
        register = Signal(value.shape(), reset_less=True)
        self._clocked(register.eq(value))
        return Timed(register, time + 1)

    def delay(self, word: Timed, clocks: int) -> Timed:
        """``word``, ``clocks`` later. Delays of one signal share their registers."""
        assert clocks >= 0, f"cannot delay by {clocks} clocks"
        if clocks == 0 or isinstance(word.value, Const):
            return Timed(word.value, word.time + clocks)
        chain = self._delayed.setdefault(id(word.value), [])
        self._keep.append(word.value)
        while len(chain) < clocks:
            source = chain[-1] if chain else word.value
            register = Signal(word.shape, reset_less=True)
            self._clocked(register.eq(source))
            chain.append(register)
        return Timed(chain[clocks - 1], word.time + clocks)

    def valid(self, word: Timed, time: int) -> Value:
        """A flag as it stands at clock ``time``. Unlike data, flags are cleared by reset."""
        clocks = time - word.time
        if clocks == 0:
            return word.value
        flags = Signal(clocks)
        self._clocked(flags.eq(Cat(word.value, flags)))
        return flags[-1]

    def align(self, *words: Timed) -> tuple[tuple[Value, ...], int]:
        """The words' values at the first clock in which all of them can stand, and that clock."""
        time = max(word.time for word in words)
        return tuple(self.delay(word, time - word.time).value for word in words), time

    def compute(self, function: Callable[..., ValueLike], *words: Timed) -> Timed:
        """Align, apply a combinational function, register: one clock."""
        values, time = self.align(*words)
        return self.register(function(*values), time)

    def lookup(self, address: Timed, width: int, contents: Iterable[int]) -> Timed:
        """Read a ROM of ``width``-bit words: two clocks (synchronous read, output register)."""
        contents = list(contents)
        data = Signal(width)
        if self._m is not None:
            memory = Memory(shape=width, depth=len(contents), init=contents, attrs={"rom_style": "block"})
            self._m.submodules += memory
            port = memory.read_port()
            self._m.d.comb += [port.addr.eq(address.value), data.eq(port.data)]
        return self.register(data, address.time + 1)

    def products(self, a: Timed, b: Timed) -> list[Term]:
        """Exact product of two words as a few terms of :meth:`total`: ``TILE_CLOCKS`` clocks.

        Either operand may be signed. The operand pair is cut into the multiplier's tiles in the way that takes fewer
        of them, and tiles whose bits do not overlap share a term.
        """
        (left, right), time = self.align(a, b)
        if self._tiles(left, right) > self._tiles(right, left):
            left, right = right, left
        tiles: list[tuple[int, Value]] = []
        for left_offset, left_part in _cut(left, self._tile[0]):
            for right_offset, right_part in _cut(right, self._tile[1]):
                product = self.register(left_part * right_part, time)
                product = self.delay(product, TILE_CLOCKS - 1)
                tiles.append((left_offset + right_offset, product.value))
        return [Term(Timed(row, time + TILE_CLOCKS), offset) for offset, row in _pack(tiles)]

    def _tiles(self, left: Value, right: Value) -> int:
        return -(-len(left) // self._tile[0]) * -(-len(right) // self._tile[1])

    def total(self, terms: Iterable[Term], width: int, constant: int = 0, signed: bool = False) -> Timed:
        """Sum of ``terms`` and ``constant``, modulo ``2**width``.

        One clock where more than two summands must be compressed, one more from 10 summands on and another from 43 on;
        then one clock for a sum of at most 32 bits and two for a longer one.
        """
        terms = list(terms)
        values, time = self.align(*(term.value for term in terms))
        rows: list[Value] = []
        for term, value in zip(terms, values, strict=True):
            shifted = Cat(Const(0, term.shift), value)
            row = Signal(width)
            self._wired(row.eq(shifted.as_signed() if value.shape().signed else shifted))
            rows.append(~row if term.negative else row)
            constant += term.negative
        constant %= 2**width
        carry = 1 if len(rows) <= 2 and constant == 1 else 0
        if constant != carry:
            rows.append(Const(constant, width))
        level = 0
        while len(rows) > 2:
            if level == COMPRESSIONS:
                rows = [self._hold(row) for row in rows]
                time, level = time + 1, 0
            rows = self._compress(rows, width)
            level += 1
        if level:
            rows = [self._hold(row) for row in rows]
            time += 1
        result = self._add(rows, carry, width, time)
        return result.map(lambda value: value.as_signed()) if signed else result

    def _hold(self, value: Value) -> Value:
        return value if isinstance(value, Const) else self.register(value, 0).value

    def _compress(self, rows: list[Value], width: int) -> list[Value]:
        out: list[Value] = []
        for k in range(0, len(rows) - 2, 3):
            a, b, c = rows[k : k + 3]
            parity, majority = Signal(width), Signal(width)
            self._wired(parity.eq(a ^ b ^ c))
            self._wired(majority.eq(Cat(Const(0, 1), (a & b) | (a & c) | (b & c))))
            out += [parity, majority]
        return out + rows[len(rows) - len(rows) % 3 :]

    def _add(self, rows: list[Value], carry_in: int, width: int, time: int) -> Timed:
        if len(rows) == 1 and not carry_in:
            return self.register(rows[0], time)
        a, b = rows if len(rows) == 2 else (rows[0], Const(0, width))
        cuts = [(low, min(low + SEGMENT, width)) for low in range(0, width, SEGMENT)]
        sums = []
        for low, high in cuts:
            segment = Signal(high - low + 1, reset_less=True)
            self._clocked(segment.eq(a[low:high] + b[low:high] + (carry_in if low == 0 else 0)))
            sums.append(segment)
        if len(sums) == 1:
            return Timed(sums[0][:width], time + 1)
        parts: list[Value] = []
        carry: Value = Const(0, 1)
        for (low, high), segment in zip(cuts, sums, strict=True):
            part = Signal(high - low, reset_less=True)
            body = segment[:-1]
            self._clocked(part.eq(body + carry))
            parts.append(part)
            carry = segment[-1] | (body.all() & carry)
        return Timed(Cat(*parts), time + 2)


def either(choices: Iterable[tuple[Value, Value]]) -> Value:
    """The word whose flag is set, 0 where none is; at most one is."""
    return functools.reduce(operator.or_, (Mux(flag, word, 0) for flag, word in choices))


def _cut(value: Value, width: int) -> list[tuple[int, Value]]:
    """Parts of ``value`` of at most ``width`` bits with their offsets; the top one keeps the sign."""
    bits, signed = len(value), value.shape().signed
    parts = []
    for low in range(0, bits, width):
        part = value[low : min(low + width, bits)]
        parts.append((low, part.as_signed() if signed and low + width >= bits else part))
    return parts


def _pack(tiles: list[tuple[int, Value]]) -> list[tuple[int, Value]]:
    """Join tiles that do not overlap into rows ``(offset, value)``; a signed tile ends its row."""
    rows: list[tuple[int, Value, bool]] = []
    for offset, tile in sorted(tiles, key=lambda item: item[0]):
        for k, (start, row, open_ended) in enumerate(rows):
            gap = offset - start - len(row)
            if open_ended and gap >= 0:
                joined = Cat(row, Const(0, gap), tile)
                signed = tile.shape().signed
                rows[k] = (start, joined.as_signed() if signed else joined, not signed)
                break
        else:
            rows.append((offset, tile, not tile.shape().signed))
    return [(start, row) for start, row, _ in rows]
