# amaranth: UnusedElaboratable=no
"""The AXI4-Lite slave in front of the register file, driven by cocotbext-axi's master and by hand."""

from __future__ import annotations

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.axi import Axi, AxiLite
from beltline.hw.bus.axi_registers import ADDRESS_BITS, AxiRegisters
from beltline.hw.control.register_file import RegisterFile
from beltline.hw.interface.registers import REGISTERS, Access, Command
from beltline.sim.cocotb_runner import run_bench


class Probe(wiring.Component):
    """The slave connected to a register file, whose settings and reports are ports."""

    def __init__(self) -> None:
        super().__init__(
            {
                "bus": In(AxiLite(ADDRESS_BITS)),
                "locked": In(1),
                "refused": Out(1),
                "command": Out(len(Command)),
                **{f"report_{r.name}": In(r.bits) for r in REGISTERS.values() if r.access is Access.READ},
                **{f"setting_{r.name}": Out(r.bits) for r in REGISTERS.values() if r.access is Access.READ_WRITE},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.axi = axi = AxiRegisters()
        m.submodules.file = file = RegisterFile(
            {r.name: getattr(self, f"report_{r.name}") for r in REGISTERS.values() if r.access is Access.READ}
        )
        wiring.connect(m, wiring.flipped(self.bus), axi.bus)
        m.d.comb += [
            axi.locked.eq(self.locked),
            file.locked.eq(self.locked),
            file.address.eq(axi.registers.address),
            file.write.eq(axi.registers.write),
            file.write_data.eq(axi.registers.write_data),
            axi.registers.read_data.eq(file.read_data),
            self.refused.eq(axi.refused),
            self.command.eq(file.command),
        ]
        m.d.comb += [getattr(self, f"setting_{name}").eq(signal) for name, signal in file.settings.items()]
        return m


@pytest.mark.gateware
def test_registers_over_the_bus() -> None:
    run_bench(Probe(), "beltline.sim.benches.axi_registers", seed=7)


def test_all_registers_fit_the_window() -> None:
    last = list(REGISTERS.values())[-1]
    assert last.offset + 4 * last.words <= 2**ADDRESS_BITS


def test_data_widths_of_the_bus() -> None:
    for bits in (64, 128, 256, 512):
        assert Axi(20, bits).data_bits == bits
    for bits in (0, 32, 96, 1024):
        with pytest.raises(ValueError, match=f"^data width must be 64, 128, 256 or 512 bits, not {bits}$"):
            Axi(20, bits)
