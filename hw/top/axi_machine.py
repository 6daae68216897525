"""The accelerator as boards reach it: registers on AXI4-Lite, tables on AXI4, an interrupt line."""

from __future__ import annotations

from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.axi import Axi, AxiLite
from beltline.hw.bus.axi_registers import ADDRESS_BITS, AxiRegisters
from beltline.hw.bus.axi_tables import AxiTables
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.top.machine import Machine

MODULE = "beltline"
ID_BITS = 4


class AxiMachine(wiring.Component):
    """:class:`beltline.hw.top.machine.Machine` behind :class:`beltline.hw.bus.axi_registers.AxiRegisters` and
    :class:`beltline.hw.bus.axi_tables.AxiTables`.

    Parameters
    ----------
    parameters
        The build; its ``bus_bits`` are the width of the tables' bus.
    machine
        What has the ports of a :class:`Machine`, by default one of ``parameters``.

    Attributes
    ----------
    s_axi_registers
        AXI4-Lite, 4 KiB, the registers of :mod:`beltline.hw.interface.registers`.
    s_axi_tables
        AXI4, the windows of :class:`beltline.hw.interface.windows.WindowParameters`.
    interrupt
        High while a run has ended and register ``INTERRUPT`` enables it.
    """

    def __init__(self, parameters: MachineParameters, machine: wiring.Component | None = None) -> None:
        self.parameters = parameters
        self._machine = Machine(parameters) if machine is None else machine
        address_bits = WindowParameters(parameters).address_bits
        super().__init__(
            {
                "s_axi_registers": In(AxiLite(ADDRESS_BITS)),
                "s_axi_tables": In(Axi(address_bits, parameters.bus_bits, ID_BITS)),
                "interrupt": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.machine = machine = self._machine
        m.submodules.registers = registers = AxiRegisters()
        m.submodules.tables = tables = AxiTables(self.parameters, ID_BITS)
        wiring.connect(m, wiring.flipped(self.s_axi_registers), registers.bus)
        wiring.connect(m, wiring.flipped(self.s_axi_tables), tables.bus)
        wiring.connect(m, registers.registers, machine.registers)
        wiring.connect(m, tables.tables, machine.tables)
        m.d.comb += [
            registers.locked.eq(machine.busy),
            tables.locked.eq(machine.busy),
            # In the order of beltline.hw.interface.registers.Refused.
            machine.refused.eq(Cat(registers.refused, tables.refused)),
            self.interrupt.eq(machine.interrupt),
        ]
        return m
