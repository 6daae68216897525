"""Register file of the machine: gateware of the register map :mod:`beltline.hw.interface.registers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.interface.registers import REGISTERS, Access, Command, Mode, UtilityForm

WORD = 32
"""Bits of a register access."""


class RegisterFile(wiring.Component):
    """Stores the registers that the host writes, and multiplexes the registers that it reads.

    Throughput: one access of 32 bits in every clock. Latency: read data are valid one clock after the address, a
    setting or command one clock after its write. All settings are 0 after reset.

    Parameters
    ----------
    reports
        Signals of the read-only registers, by name.

    Raises
    ------
    ValueError
        ``reports`` are not exactly the read-only registers of the register map.

    Attributes
    ----------
    settings
        Signals of the registers that the host can read and write, by name.
    address : in, 8 bits
        Number of the register: its byte offset divided by 4.
    write : in, 1 bit
        Writes ``write_data`` to the register.
    write_data : in, 32 bits
        Data of a write.
    read_data : out, 32 bits
        The register of the ``address`` of the clock before; 0 if there is no such register.
    locked : in, 1 bit
        Ignore writes of settings; ``COMMAND`` can still be written.
    command : out, one bit for each command
        Bits of :class:`beltline.hw.interface.registers.Command`, high for one clock.
    """

    def __init__(self, reports: Mapping[str, Value]) -> None:
        self._reports = dict(reports)
        self.settings = {
            name: Signal(register.bits, name=name.lower())
            for name, register in REGISTERS.items()
            if register.access is Access.READ_WRITE
        }
        wanted = {name for name, register in REGISTERS.items() if register.access is Access.READ}
        if wanted != set(reports):
            raise ValueError(f"reports must be {sorted(wanted)}, not {sorted(reports)}")
        super().__init__(
            {
                "address": In(8),
                "write": In(1),
                "write_data": In(WORD),
                "read_data": Out(WORD),
                "locked": In(1),
                "command": Out(len(Command)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += [self.command.eq(0), self.read_data.eq(0)]
        values = {**self._reports, **self.settings}
        with m.Switch(self.address):
            for name, register in REGISTERS.items():
                for k in range(register.words):
                    with m.Case(register.offset // 4 + k):
                        if name in values:
                            m.d.sync += self.read_data.eq(values[name][WORD * k : WORD * (k + 1)])
                        if name in self.settings:
                            with m.If(self.write & ~self.locked):
                                m.d.sync += self.settings[name][WORD * k : WORD * (k + 1)].eq(self.write_data)
                        if name == "COMMAND":
                            with m.If(self.write):
                                m.d.sync += self.command.eq(self.write_data)
        return m


def utility_constants(settings: Any) -> dict[str, Value]:
    """Return signals from the registers for the ports of the utility unit.

    These are ports :data:`beltline.hw.arithmetic.utility.CONSTANTS`, and
    :data:`beltline.hw.arithmetic.utility.LINEAR` where utility may be linear.

    ``settings`` is an interface of signature :class:`beltline.hw.control.datapath.Settings`.
    """
    form = settings.utility_form
    return {
        "a": settings.utility_a,
        "b": settings.utility_b,
        "negative": form[UtilityForm.NEGATIVE],
        "log": form[UtilityForm.LOG],
        "shift": form[UtilityForm.SHIFT],
        "linear": form[UtilityForm.LINEAR],
    }


def has_flag(mode: Value, flag: Mode) -> Value:
    """Return the bit ``flag`` of ``mode``, the content of register ``MODE``."""
    return mode[int(flag).bit_length() - 1]
