"""Signatures of the machine's register port and table port, to which the slave of a bus connects."""

from __future__ import annotations

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Refused
from beltline.hw.interface.windows import WORD_BITS, WORD_BYTES, WindowParameters


class RegisterPort(wiring.Signature):
    """Port of the registers: one access in every clock. Directions are those of the bus slave, the initiator.

    Attributes
    ----------
    address : out, 8 bits
        Number of the 32-bit register: its byte offset divided by 4.
    write : out, 1 bit
        Writes ``write_data`` to the register of ``address``.
    write_data : out, 32 bits
        Data of a write.
    read_data : in, 32 bits
        The register of the ``address`` of the clock before.
    """

    def __init__(self) -> None:
        super().__init__({"address": Out(8), "write": Out(1), "write_data": Out(32), "read_data": In(32)})


class TablePort(wiring.Signature):
    """Port of the tables: one write and one read of a 64-bit word in every clock. Directions are those of the bus
    slave.

    Contract: words that were requested are returned in the order of their requests, and there is no back-pressure in
    either direction. The data of a word that is read in the clock in which it is written are undefined.

    Parameters
    ----------
    windows
        Address windows of the build's tables.

    Attributes
    ----------
    write_table, read_table : out, 3 bits
        The table, as in :class:`beltline.hw.interface.registers.Table`.
    write_address, read_address : out, ``windows.window_bits - 3`` bits
        Address of the word in its table, in words.
    write : out, 8 bits
        Byte strobes of a write; 0 writes nothing.
    write_data : out, 64 bits
        Data of a write.
    read : out, 1 bit
        Requests the word at ``read_address`` of ``read_table``.
    read_valid : in, 1 bit
        High for one clock for every word that was requested.
    read_data : in, 64 bits
        The word, while ``read_valid`` is high.
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
    """Return the ports of :class:`beltline.hw.top.machine.Machine`, and of substitutes for it in tests.

    Attributes
    ----------
    registers, tables
        Ports of the registers and of the tables, for a bus slave.
    busy : out, 1 bit
        High while a run is in progress.
    refused : in, 2 bits
        Sets bits of :class:`beltline.hw.interface.registers.Refused`: the bus slave refused an access.
    interrupt : out, 1 bit
        The interrupt request.
    """
    return {
        "registers": In(RegisterPort()),
        "tables": In(TablePort(WindowParameters(parameters))),
        "busy": Out(1),
        "refused": In(len(Refused)),
        "interrupt": Out(1),
    }
