"""Top module of a build with AXI: registers on AXI4-Lite, tables on AXI4, an interrupt line."""

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
"""Name of the Verilog module."""

ID_BITS = 4
"""Width of the transaction identifiers of the tables' bus."""


class AxiMachine(wiring.Component):
    """A :class:`beltline.hw.top.machine.Machine` whose host is connected by AXI.

    :class:`beltline.hw.bus.axi_registers.AxiRegisters` and :class:`beltline.hw.bus.axi_tables.AxiTables` describe
    contract, latency and throughput of the two buses.

    Parameters
    ----------
    parameters
        The build; its ``bus_bits`` are the data width of the tables' bus.
    machine
        A component with the ports of :class:`Machine`, to use in its place; for tests.

    Attributes
    ----------
    s_axi_registers : in, AXI4-Lite, 32 data bits
        Registers of :mod:`beltline.hw.interface.registers`, a window of 4 KiB.
    s_axi_tables : in, AXI4, ``bus_bits`` data bits
        Table windows of :class:`beltline.hw.interface.windows.WindowParameters`.
    interrupt : out, 1 bit
        High while ``STATUS`` has the bit ``DONE`` and register ``INTERRUPT`` the bit ``ENABLE``.
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
            # The order of the bits is that of beltline.hw.interface.registers.Refused.
            machine.refused.eq(Cat(registers.refused, tables.refused)),
            self.interrupt.eq(machine.interrupt),
        ]
        return m
