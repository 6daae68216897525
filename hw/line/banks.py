"""Memory of a search stage: reads four neighbouring places in one clock."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.memory.ram import READ_LATENCY, Ram

BANKS = 4
"""Number of banks."""


@dataclass(frozen=True)
class BanksParameters:
    """Parameters of a memory of ``4 * rows`` places with ``2**inner_bits`` words each.

    A place is the memory of one grid point. Place ``i`` is in bank ``i % 4``, so that the places ``h`` to ``h + 3`` of
    a read are in different banks.

    Parameters
    ----------
    rows
        Places in each bank, a power of two.
    inner_bits
        Bits of the index of a word in its place; 0 for one word in a place.
    width
        Bits of a word.
    lanes
        Parts of a word with write enables of their own, see :class:`beltline.hw.memory.ram.Ram`.
    """

    rows: int
    inner_bits: int
    width: int = 64
    lanes: int = 1

    @property
    def place_bits(self) -> int:
        """Bits of the number of a place."""
        return (BANKS * self.rows - 1).bit_length()

    @property
    def latency(self) -> int:
        """Clocks from ``h`` to the four words, 5. A new read enters in every clock."""
        return READ_LATENCY + 2


class Banks(wiring.Component):
    """A memory with one write and one read of four neighbouring places in every clock, without bank conflicts.

    Latency: 5 clocks from ``h`` to the words. Contract: a word must not be written in the clock after its read was
    requested, in which the RAM reads it.

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
    h : in, ``place_bits`` bits
        First of the four places to read, at most ``4 * rows - 4``.
    inner : in, ``inner_bits`` bits, at least 1
        Index of the words to read in their places.
    word0, word1, word2, word3 : out, ``width`` bits
        The words of places ``h`` to ``h + 3``.
    """

    def __init__(self, parameters: BanksParameters) -> None:
        self.parameters = parameters
        inner = max(1, parameters.inner_bits)
        super().__init__(
            {
                "write": In(parameters.lanes),
                "write_place": In(parameters.place_bits),
                "write_inner": In(inner),
                "write_data": In(parameters.width),
                "h": In(parameters.place_bits),
                "inner": In(inner),
                **{f"word{j}": Out(parameters.width) for j in range(BANKS)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        inner_bits = parameters.inner_bits
        turn = self.h[:2]
        row = self.h[2:]
        words = []
        for bank in range(BANKS):
            ram = Ram(parameters.width, parameters.rows << inner_bits, parameters.lanes)
            m.submodules[f"bank{bank}"] = ram
            m.d.comb += [
                ram.write.eq(self.write & (self.write_place[:2] == bank).replicate(parameters.lanes)),
                ram.write_address.eq(Cat(self.write_inner[:inner_bits], self.write_place[2:])),
                ram.write_data.eq(self.write_data),
            ]
            m.d.sync += ram.read_address.eq(Cat(self.inner[:inner_bits], (row + (turn > bank))[: len(row)]))
            words.append(ram.read_data)
        turns = turn
        for _ in range(READ_LATENCY + 1):
            later = Signal(2, reset_less=True)
            m.d.sync += later.eq(turns)
            turns = later
        for j in range(BANKS):
            m.d.sync += getattr(self, f"word{j}").eq(Array(words)[(turns + j)[:2]])
        return m
