"""Memory of a folded stage: reads one, two or four places in one clock, at distances of any power of two."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Const, Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.arithmetic.pipeline import Pipeline, Timed, either
from beltline.hw.memory.ram import READ_LATENCY, Ram

BANKS = {1: 1, 2: 3, 4: 5}
"""Number of banks by number of reads in a clock. An odd prime has no common factor with a distance of a power of
two."""

_CHUNK = 6
"""Bits of a place number whose remainder one LUT of six inputs computes."""


@dataclass(frozen=True)
class PrimeBanksParameters:
    """Parameters of a memory of ``2**place_bits`` places with ``2**inner_bits`` words each, in 1, 3 or 5 banks.

    A read returns words of ``reads`` places ``g, g + d, g + 2 d, ...``, where ``d`` is any power of two. Place ``i`` is
    in bank ``i % banks``; since the number of banks is odd, these places are in different banks. In its bank the place
    has row ``i // reads``, which needs no division: the ``reads`` places of a row are fewer than the banks, so they are
    in different ones. With 3 and 5 banks, a half and a quarter of the words are never used.

    Parameters
    ----------
    place_bits
        At least ``log2(reads)``.
    inner_bits
        Bits of the index of a word in its place; 0 for one word in a place.
    reads
        Reads in a clock: 1, 2 or 4.
    width
        Bits of a word.
    lanes
        Parts of a word with write enables of their own, see :class:`beltline.hw.memory.ram.Ram`.
    """

    place_bits: int
    inner_bits: int
    reads: int
    width: int = 64
    lanes: int = 1

    @property
    def banks(self) -> int:
        """Number of banks."""
        return BANKS[self.reads]

    @property
    def row_bits(self) -> int:
        """Bits of the row of a place in its bank."""
        return self.place_bits - (self.reads.bit_length() - 1)

    @property
    def select_clocks(self) -> int:
        """Clocks to compute the bank of a place."""
        return 0 if self.reads == 1 else max(2, -(-self.place_bits // _CHUNK))

    @property
    def latency(self) -> int:
        """Clocks from the places to their words, 3 with one read, else ``select_clocks + 5``."""
        return READ_LATENCY if self.reads == 1 else self.select_clocks + 1 + READ_LATENCY + 1

    @property
    def write_clocks(self) -> int:
        """Clocks from a write at the ports to the first clock in which a read of the word may be requested."""
        return 1 if self.reads == 1 else self.select_clocks + 2


class PrimeBanks(wiring.Component):
    """A memory with one write and one read of ``reads`` places in every clock, without bank conflicts.

    Latency: ``parameters.latency`` clocks from the places to the words. Contract: a read of a word must be requested at
    least ``parameters.write_clocks`` clocks after its write. The places of a read are ``g, g + d, g + 2 d, ...`` with a
    power of two ``d``.

    Attributes
    ----------
    write : in, ``lanes`` bits
        Write enables.
    write_place : in, ``place_bits`` bits
        Place of the word to write.
    write_inner : in, ``inner_bits`` bits, at least 1
        Its index in the place.
    write_data : in, ``width`` bits
        The word to write.
    inner : in, ``inner_bits`` bits, at least 1
        Index of the words to read in their places.
    place0, place1, place2, place3 : in, ``place_bits`` bits
        Places to read; there are ``reads`` of these ports.
    word0, word1, word2, word3 : out, ``width`` bits
        Their words.
    """

    def __init__(self, parameters: PrimeBanksParameters) -> None:
        self.parameters = parameters
        inner = max(1, parameters.inner_bits)
        super().__init__(
            {
                "write": In(parameters.lanes),
                "write_place": In(parameters.place_bits),
                "write_inner": In(inner),
                "write_data": In(parameters.width),
                "inner": In(inner),
                **{f"place{j}": In(parameters.place_bits) for j in range(parameters.reads)},
                **{f"word{j}": Out(parameters.width) for j in range(parameters.reads)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        p = Pipeline(m)
        parameters = self.parameters
        inner_bits, reads, clocks = parameters.inner_bits, parameters.reads, parameters.select_clocks
        low = reads.bit_length() - 1
        places = [getattr(self, f"place{j}") for j in range(reads)]
        inner = self.inner[:inner_bits]
        rams = [
            Ram(parameters.width, 1 << (parameters.row_bits + inner_bits), parameters.lanes)
            for _ in range(parameters.banks)
        ]
        m.submodules += rams
        if reads == 1:
            (ram,) = rams
            m.d.comb += [
                ram.write.eq(self.write),
                ram.write_address.eq(Cat(self.write_inner[:inner_bits], self.write_place)),
                ram.write_data.eq(self.write_data),
                ram.read_address.eq(Cat(inner, places[0])),
                self.word0.eq(ram.read_data),
            ]
            return m

        hits = [_one_hot(p, p.input(place), parameters.banks, clocks) for place in places]
        rows = [p.delay(p.input(Cat(inner, place[low:])), clocks).value for place in places]
        write_hit = _one_hot(p, p.input(self.write_place), parameters.banks, clocks)
        write_row = p.delay(p.input(Cat(self.write_inner[:inner_bits], self.write_place[low:])), clocks)
        write = p.delay(p.input(self.write), clocks)
        data = p.delay(p.input(self.write_data), clocks + 1)
        for bank, ram in enumerate(rams):
            # This register has no reset, so that a write that was accepted is carried out.
            strobes = p.register(write.value & write_hit[bank].replicate(parameters.lanes), clocks)
            m.d.comb += [ram.write.eq(strobes.value), ram.write_data.eq(data.value)]
            m.d.sync += [
                ram.write_address.eq(write_row.value),
                ram.read_address.eq(either(zip((hit[bank] for hit in hits), rows, strict=True))),
            ]
        for j, hit in enumerate(hits):
            late = p.delay(Timed(hit, clocks), 1 + READ_LATENCY).value
            words = ((late[bank], ram.read_data) for bank, ram in enumerate(rams))
            m.d.sync += getattr(self, f"word{j}").eq(either(words))
        return m


def _one_hot(p: Pipeline, place: Timed, banks: int, clocks: int) -> Value:
    """Return ``place % banks``, one bit a bank, ``clocks`` clocks after it; a clock takes one LUT of six inputs."""
    bits = len(place.value)
    remainders = []
    for start in range(0, bits, _CHUNK):
        part = place.map(lambda value, start=start: value[start : start + _CHUNK])  # type: ignore[misc]
        table = [(k << start) % banks for k in range(1 << len(part.value))]
        remainders.append(_table(p, part, table, 3))
    while len(remainders) > 2:
        both = Timed(Cat(remainders[0].value, remainders[1].value), remainders[0].time)
        summed = _table(p, both, [((k & 7) + (k >> 3)) % banks for k in range(64)], 3)
        remainders = [summed, *(p.delay(rest, 1) for rest in remainders[2:])]
    both = Timed(Cat(*(one.value for one in remainders)), remainders[0].time)
    flags = _table(p, both, [1 << ((k & 7) + (k >> 3)) % banks for k in range(1 << len(both.value))], banks)
    return p.delay(flags, place.time + clocks - flags.time).value


def _table(p: Pipeline, word: Timed, contents: list[int], width: int) -> Timed:
    """Return the entry ``word`` of a constant table of ``width``-bit words, one clock later."""
    return p.compute(lambda value: Array(Const(entry, width) for entry in contents)[value], word)
