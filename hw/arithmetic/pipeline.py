"""Builder of fixed-latency datapaths: values with their times, and pipelined adders and multipliers.

A :class:`Pipeline` builds a datapath that takes a new operand in every clock and never stalls. Every intermediate
result is a :class:`Timed`: a value and the clock, counted from the datapath's inputs, in which it is valid. Operations
align their operands with shift registers. The latency of a datapath is the time of its result and need not be written
down anywhere.

The longest path between two registers is a 32-bit carry after two levels of LUTs (:meth:`Pipeline.total`), four levels
of 3:2 compressors, or one of the chip's multipliers (:meth:`Pipeline.products`) or the adder behind it
(:meth:`Pipeline.chained_products`). Datapath registers have no reset.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Shape, Signal, Value, ValueLike
from amaranth.lib.memory import Memory

from beltline.hw.interface.parameters import Multiplier

SEGMENT = 32
"""Longest carry chain of an adder, in bits."""

TILE_CLOCKS = 2
"""Registers after a multiplier: the chip's product register and output register."""

SHIFTED = 4
"""Shortest delay, in clocks, for which a LUT becomes a shift register."""

COMPRESSIONS = 4
"""Levels of 3:2 compressors in one clock."""


@dataclass(frozen=True)
class Timed:
    """A value of a datapath and its time.

    Attributes
    ----------
    value
        An Amaranth value.
    time
        Clocks from the datapath's operands to ``value``.
    """

    value: Value
    time: int

    @property
    def shape(self) -> Shape:
        """Width and signedness of the value."""
        return self.value.shape()

    def map(self, function: Callable[[Value], ValueLike]) -> Timed:
        """Apply ``function``, which only rewires (slices, concatenation, sign), without a register: the same time."""
        return Timed(Value.cast(function(self.value)), self.time)


@dataclass(frozen=True)
class Term:
    """A summand ``(-1)**negative * value * 2**shift`` of :meth:`Pipeline.total`."""

    value: Timed
    shift: int = 0
    negative: bool = False


class Pipeline:
    """Builds a datapath in the clock domain ``sync`` of a module.

    Parameters
    ----------
    m
        The module. Without one, only times are computed.
    multiplier
        The chip's multiplier: products are split into tiles of its size. Results do not depend on it, but latencies
        may. Without one, tiles are those of ``DSP48E2``, and the tools choose how to build delays.
    """

    def __init__(self, m: Module | None = None, multiplier: Multiplier | None = None) -> None:
        self._m = m
        self._wide_luts = multiplier is not None and multiplier.wide_luts
        self.multiplier = multiplier or Multiplier.DSP48E2
        self._tile = self.multiplier.value
        self._delayed: dict[int, list[Signal]] = {}
        self._keep: list[Value] = []

    def _clocked(self, assignment: Any) -> None:
        if self._m is not None:
            self._m.d.sync += assignment

    def _wired(self, assignment: Any) -> None:
        if self._m is not None:
            self._m.d.comb += assignment

    def input(self, value: ValueLike, time: int = 0) -> Timed:
        """Return an input of the datapath: a port, or a register that is driven elsewhere, valid at clock ``time``."""
        return Timed(Value.cast(value), time)

    def register(self, value: ValueLike, time: int) -> Timed:
        """Register an expression of signals that are valid at clock ``time``."""
        value = Value.cast(value)
        register = Signal(value.shape(), reset_less=True)
        self._clocked(register.eq(value))
        return Timed(register, time + 1)

    def update(self, register: Signal, value: ValueLike) -> None:
        """Assign ``value`` to a register of the caller's in every clock, as for a sum over several clocks."""
        self._clocked(register.eq(value))

    def delay(self, word: Timed, clocks: int) -> Timed:
        """Return ``word``, delayed by ``clocks`` clocks. All delays of one signal share their registers.

        Where LUTs can be shift registers, only delays of ``SHIFTED`` clocks or more are: for shorter ones flip-flops
        cost less.
        """
        assert clocks >= 0, f"clocks of a delay must be at least 0, not {clocks}"
        if clocks == 0 or isinstance(word.value, Const):
            return Timed(word.value, word.time + clocks)
        chain = self._delayed.setdefault(id(word.value), [])
        self._keep.append(word.value)
        while len(chain) < clocks:
            source = chain[-1] if chain else word.value
            register = Signal(word.shape, reset_less=True)
            self._clocked(register.eq(source))
            chain.append(register)
        if self._wide_luts:
            for register in chain:
                register.attrs.pop("shreg_extract", None)
                if len(chain) < SHIFTED:
                    register.attrs["shreg_extract"] = "no"
        return Timed(chain[clocks - 1], word.time + clocks)

    def valid(self, word: Timed, time: int) -> Value:
        """Return the flag ``word``, delayed until clock ``time``. Unlike data registers, these are cleared by reset."""
        clocks = time - word.time
        if clocks == 0:
            return word.value
        flags = Signal(clocks)
        self._clocked(flags.eq(Cat(word.value, flags)))
        return flags[-1]

    def align(self, *words: Timed) -> tuple[tuple[Value, ...], int]:
        """Return the words' values, delayed to the time of the latest of them, and that time."""
        time = max(word.time for word in words)
        return tuple(self.delay(word, time - word.time).value for word in words), time

    def compute(self, function: Callable[..., ValueLike], *words: Timed) -> Timed:
        """Align ``words``, apply a combinational function and register its result: one clock."""
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
        """Return the exact product of two words, as terms of :meth:`total` that add up to it: ``TILE_CLOCKS`` clocks.

        Either operand may be signed. The operands are split into tiles of the multiplier's size, with the order of
        operands that needs fewer tiles. Tiles whose bits do not overlap share a term.
        """
        return self.chained_products([(a, b)])

    def chained_products(self, pairs: Sequence[tuple[Timed, Timed]]) -> list[Term]:
        """Return the exact sum of products of two words, as terms of :meth:`total` that add up to it.

        The operands of each product are valid a clock after those of the one before, so that tiles of the same bits
        are added on their way from multiplier to multiplier, by the adders behind those of the chip (the cascades of
        DSP48E1 and DSP48E2) instead of LUTs. All products have operands of the same shapes; up to 16 fit such an adder
        of 48 bits. The terms are valid ``TILE_CLOCKS`` clocks after the operands of the last product.
        """
        bits = (len(pairs) - 1).bit_length()
        time = max(word.time for word in pairs[0])
        sums: list[tuple[int, Value]] = []
        for k, (a, b) in enumerate(pairs):
            (left, right), at = self.align(a, b)
            assert at == time + k, f"operands of a chain must be a clock apart, not valid at {time} and {at}"
            before, sums = sums, []
            for tile, (offset, product) in enumerate(self._cut_products(left, right)):
                total = self.register(product, at).value
                if before:
                    # The sum is as wide as that of all products.
                    total = _low(total + before[tile][1], len(total) + bits)
                sums.append((offset, self.register(total, at + 1).value))
        return [Term(Timed(row, at + TILE_CLOCKS), offset) for offset, row in _pack(sums)]

    def _cut_products(self, left: Value, right: Value) -> list[tuple[int, Value]]:
        """Return the products of the tiles of two words, each with the offset of its lowest bit."""
        if self._tiles(left, right) > self._tiles(right, left):
            left, right = right, left
        return [
            (left_offset + right_offset, left_part * right_part)
            for left_offset, left_part in _cut(left, self._tile[0])
            for right_offset, right_part in _cut(right, self._tile[1])
        ]

    def _tiles(self, left: Value, right: Value) -> int:
        """Return the number of multipliers for a product."""
        return -(-len(left) // self._tile[0]) * -(-len(right) // self._tile[1])

    def total(self, terms: Iterable[Term], width: int, constant: int = 0, signed: bool = False) -> Timed:
        """Return the sum of ``terms`` and ``constant``, modulo ``2**width``.

        Takes one clock for sums of at most 32 bits and two for longer ones, and before that one clock to compress more
        than 2 summands, two to compress more than 9, three to compress more than 42.
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
        """Register ``value`` unless it is a constant."""
        return value if isinstance(value, Const) else self.register(value, 0).value

    def _compress(self, rows: list[Value], width: int) -> list[Value]:
        """Add a level of 3:2 compressors: return two rows for every three."""
        out: list[Value] = []
        for k in range(0, len(rows) - 2, 3):
            a, b, c = rows[k : k + 3]
            parity, majority = Signal(width), Signal(width)
            self._wired(parity.eq(a ^ b ^ c))
            self._wired(majority.eq(Cat(Const(0, 1), (a & b) | (a & c) | (b & c))))
            out += [parity, majority]
        return out + rows[len(rows) - len(rows) % 3 :]

    def _add(self, rows: list[Value], carry_in: int, width: int, time: int) -> Timed:
        """Return the sum of one or two rows: segments of 32 bits in one clock, the carries between them in a second."""
        if len(rows) == 1 and not carry_in:
            return self.register(rows[0], time)
        a, b = rows if len(rows) == 2 else (rows[0], Const(0, width))
        cuts = [(low, min(low + SEGMENT, width)) for low in range(0, width, SEGMENT)]
        sums, passes = [], []
        for low, high in cuts:
            segment = Signal(high - low + 1, reset_less=True)
            self._clocked(segment.eq(a[low:high] + b[low:high] + (carry_in if low == 0 else 0)))
            sums.append(segment)
            # Whether a carry into the segment is a carry out of it; with LUTs of six inputs decided a clock before use.
            passes.append(segment[:-1].all())
            if self._wide_luts and 0 < low and high < width:
                passes[-1] = Signal(reset_less=True)
                self._clocked(passes[-1].eq((a[low:high] ^ b[low:high]).all()))
        if len(sums) == 1:
            return Timed(sums[0][:width], time + 1)
        parts: list[Value] = []
        carry: Value = Const(0, 1)
        for (low, high), segment, through in zip(cuts, sums, passes, strict=True):
            part = Signal(high - low, reset_less=True)
            self._clocked(part.eq(segment[:-1] + carry))
            parts.append(part)
            carry = segment[-1] | (through & carry)
        return Timed(Cat(*parts), time + 2)


def either(choices: Iterable[tuple[Value, Value]]) -> Value:
    """Return the word of the pair ``(flag, word)`` whose flag is set, or 0. Contract: at most one flag is set."""
    return functools.reduce(operator.or_, (Mux(flag, word, 0) for flag, word in choices))


def _cut(value: Value, width: int) -> list[tuple[int, Value]]:
    """Split ``value`` into parts ``(offset, part)`` of at most ``width`` bits; the top part has the sign of
    ``value``.
    """
    bits, signed = len(value), value.shape().signed
    parts = []
    for low in range(0, bits, width):
        part = value[low : min(low + width, bits)]
        parts.append((low, part.as_signed() if signed and low + width >= bits else part))
    return parts


def _low(value: Value, width: int) -> Value:
    """Return the lowest ``width`` bits of ``value``, with its sign, or ``value`` if it has no more."""
    if len(value) <= width:
        return value
    return value[:width].as_signed() if value.shape().signed else value[:width]


def _pack(tiles: list[tuple[int, Value]]) -> list[tuple[int, Value]]:
    """Join tiles that do not overlap into rows ``(offset, value)``. A signed tile must be the last one of its row."""
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
