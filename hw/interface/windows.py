"""Where the tables lie in the byte addresses of the bus."""

from __future__ import annotations

from dataclasses import dataclass

from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Table

WORD_BYTES = 8
WORD_BITS = 3
"""``log2`` of the bytes of a word."""


@dataclass(frozen=True)
class WindowParameters:
    """Where the tables lie in the byte addresses of the bus: equal windows, one after the other by :class:`Table`.

    A window is the smallest power of two that holds the largest table, at least 4 KiB.
    """

    machine: MachineParameters

    @property
    def window_bits(self) -> int:
        """``log2`` of a window's bytes."""
        largest = max(self.words(table) for table in Table) * WORD_BYTES
        return max(12, (largest - 1).bit_length())

    @property
    def address_bits(self) -> int:
        """``log2`` of the bytes of all windows."""
        return self.window_bits + 3

    def offset(self, table: Table) -> int:
        """Byte address of a table's first word."""
        return int(table) << self.window_bits

    def words(self, table: Table) -> int:
        """64-bit words of a table."""
        machine = self.machine
        return {
            Table.X: machine.grid * (machine.states if machine.features.costs else 1),
            Table.W: machine.grid * machine.states,
            Table.Q: machine.states * machine.states * machine.features.matrices,
            Table.V: machine.results,
            Table.POLICY: machine.results,
        }[table]
