"""Addresses of the table windows on the tables' bus."""

from __future__ import annotations

from dataclasses import dataclass

from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Table

WORD_BYTES = 8
"""Bytes of a word."""

WORD_BITS = 3
"""``log2`` of the bytes of a word."""


@dataclass(frozen=True)
class WindowParameters:
    """Byte addresses of the table windows: windows of equal size, one after the other in the order of :class:`Table`.

    The size of a window is the least power of two, and at least 4 KiB, that holds the largest table.

    Parameters
    ----------
    machine
        The build.
    """

    machine: MachineParameters

    @property
    def window_bits(self) -> int:
        """``log2`` of the size of a window in bytes: bits of a byte address within a window."""
        largest = max(self.words(table) for table in Table) * WORD_BYTES
        return max(12, (largest - 1).bit_length())

    @property
    def address_bits(self) -> int:
        """Bits of a byte address on the tables' bus: the window, 3 bits, and the address within it."""
        return self.window_bits + 3

    def offset(self, table: Table) -> int:
        """Return the byte address of the first word of ``table``."""
        return int(table) << self.window_bits

    def words(self, table: Table) -> int:
        """Return the number of 64-bit words of ``table``."""
        machine = self.machine
        return {
            Table.X: machine.grid * (2 * machine.states if machine.general else 1),
            Table.W: machine.grid * machine.states,
            Table.Q: machine.states * machine.states * machine.matrices,
            Table.V: machine.results,
            Table.POLICY: machine.results,
        }[table]
