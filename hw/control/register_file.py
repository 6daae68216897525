"""The registers of :mod:`beltline.hw.interface.registers` in gateware."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.interface.registers import REGISTERS, Access, Command, Mode, UtilityForm

WORD = 32


class RegisterFile(wiring.Component):
    """Holds what the host writes and shows what the machine reports.

    32 bits a clock; read data come one clock behind the address. ``settings[name]`` is the signal of every register
    that the host writes, ``reports[name]`` what it reads of the others; ``command`` pulses for one clock. While
    ``locked``, only commands are taken. After a reset every setting is 0.
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
    """The utility's constants (:data:`beltline.hw.arithmetic.utility.CONSTANTS`) as the registers hold them.

    ``settings`` has them as :class:`beltline.hw.control.datapath.Settings`.
    """
    form = settings.utility_form
    return {
        "a": settings.utility_a,
        "b": settings.utility_b,
        "negative": form[UtilityForm.NEGATIVE],
        "log": form[UtilityForm.LOG],
        "shift": form[UtilityForm.SHIFT],
    }


def asks(mode: Value, flag: Mode) -> Value:
    """Whether register ``MODE`` has a flag set."""
    return mode[int(flag).bit_length() - 1]
