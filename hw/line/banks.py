"""Memory of a search stage: four neighbours in one clock."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Array, Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.memory.ram import READ_LATENCY, Ram

BANKS = 4


@dataclass(frozen=True)
class BanksParameters:
    """``4 * rows`` places of ``2**inner_bits`` words, in four banks by place modulo 4.

    A read gives the words of the places ``h, h + 1, h + 2, h + 3``, which lie in different banks, all of the same
    ``inner`` index.

    Parameters
    ----------
    rows
        Places in each bank, a power of two.
    inner_bits
        Bits of the index within a place (0 for one word a place).
    width
        Bits of a word.
    lanes
        Parts of a word that can be written apart, see :class:`beltline.hw.memory.ram.Ram`.
    """

    rows: int
    inner_bits: int
    width: int = 64
    lanes: int = 1

    @property
    def place_bits(self) -> int:
        return (BANKS * self.rows - 1).bit_length()

    @property
    def latency(self) -> int:
        """Clocks from ``h`` to the four words; a read enters every clock."""
        return READ_LATENCY + 2


class Banks(wiring.Component):
    """:class:`BanksParameters` in gateware: one write and one read of four neighbours a clock, never a conflict.

    ``h`` is at most ``4 * rows - 4``. A word must not be written in the clock after the one in which ``h`` asks for it.
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
