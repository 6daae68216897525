"""Signatures of the machine's own ports, between it and the slaves of a bus."""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Refused
from beltline.hw.interface.windows import WORD_BITS, WORD_BYTES, WindowParameters


class RegisterPort(wiring.Signature):
    """One register access a clock, seen from the bus: ``read_data`` is the register of ``address`` a clock before."""

    def __init__(self) -> None:
        super().__init__({"address": Out(8), "write": Out(1), "write_data": Out(32), "read_data": In(32)})


class TablePort(wiring.Signature):
    """One write and one read of a 64-bit word of the tables a clock, seen from the bus.

    ``write`` are the byte strobes of the word at ``write_address`` of ``write_table``; ``read`` asks for the word at
    ``read_address`` of ``read_table``, which comes back, in order, with ``read_valid``. Addresses count words from the
    beginning of their table. A word that is read in the clock in which it is written comes back as anything.
    """

    def __init__(self, windows: WindowParameters) -> None:
        self.windows = windows
        address_bits = windows.window_bits - WORD_BITS
        super().__init__(
            {
                "write_table": Out(3),
                "write_address": Out(address_bits),
                "write": Out(WORD_BYTES),
                "write_data": Out(64),
                "read_table": Out(3),
                "read_address": Out(address_bits),
                "read": Out(1),
                "read_valid": In(1),
                "read_data": In(64),
            }
        )


def machine_ports(parameters: MachineParameters) -> dict[str, wiring.Member]:
    """Ports of :class:`beltline.hw.top.machine.Machine`, and of what stands in for it."""
    return {
        "registers": In(RegisterPort()),
        "tables": In(TablePort(WindowParameters(parameters))),
        "busy": Out(1),
        "refused": In(len(Refused)),
        "interrupt": Out(1),
    }
