"""AXI4-Lite slave of the registers."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.axi import AxiLite, Response
from beltline.hw.bus.ports import RegisterPort
from beltline.hw.interface.registers import REGISTERS, Access, Register

ADDRESS_BITS = 12
"""Width of the byte address. The register window has 4 KiB, the smallest range that AXI maps to a slave."""


def hits(number: Value, chosen: Callable[[Register], bool]) -> Value:
    """Return one bit: whether word ``number`` (byte offset divided by 4) belongs to a register of ``chosen``.

    ``chosen`` is a predicate that selects registers of the register map.
    """
    words = [r.offset // 4 + k for r in REGISTERS.values() if chosen(r) for k in range(r.words)]
    return Cat(*(number == word for word in words)).any()


class AxiRegisters(wiring.Component):
    """AXI4-Lite slave that reads and writes :class:`beltline.hw.control.register_file.RegisterFile`.

    Carries out one transaction at a time; when reads and writes are both waiting, they alternate.

    These transactions are answered with SLVERR and change nothing: an address that is not a multiple of 4 or is beyond
    the registers, a write with fewer than four byte strobes, a write of a read-only register, a read of a write-only
    register, and, while ``locked`` is high, a write of any register but ``COMMAND``.

    Latency, with a ready master: a write response is valid 3 clocks after the later of address and data was accepted,
    read data are valid 3 clocks after the address was.

    Attributes
    ----------
    bus : in, :class:`beltline.hw.bus.axi.AxiLite`
        The AXI4-Lite bus, with addresses of ``ADDRESS_BITS`` bits.
    locked : in, 1 bit
        The machine is busy: only ``COMMAND`` can be written.
    refused : out, 1 bit
        High for one clock when a write is refused because of ``locked``.
    registers : out, :class:`beltline.hw.bus.ports.RegisterPort`
        The machine's register port.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "bus": In(AxiLite(ADDRESS_BITS)),
                "locked": In(1),
                "refused": Out(1),
                "registers": Out(RegisterPort()),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus = self.bus
        write_address, read_address = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        data, strobes = Signal(32), Signal(4)
        have_address, have_data, have_read = Signal(), Signal(), Signal()

        # What the address selects is decided when it arrives, not on the path to the registers' write enables.
        setting, command = Signal(), Signal()

        def writes(address: Value, access: Access) -> Value:
            return ~address[:2].any() & hits(address[2:], lambda r: r.access is access)

        m.d.comb += [bus.awready.eq(~have_address), bus.wready.eq(~have_data), bus.arready.eq(~have_read)]
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [
                write_address.eq(bus.awaddr),
                setting.eq(writes(bus.awaddr, Access.READ_WRITE)),
                command.eq(writes(bus.awaddr, Access.WRITE)),
                have_address.eq(1),
            ]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [data.eq(bus.wdata), strobes.eq(bus.wstrb), have_data.eq(1)]
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [read_address.eq(bus.araddr), have_read.eq(1)]

        good, refused = Signal(), Signal()
        m.d.comb += [
            good.eq((command | (setting & ~self.locked)) & strobes.all()),
            refused.eq(setting & self.locked & strobes.all()),
            self.registers.write_data.eq(data),
        ]
        with m.FSM() as fsm:
            # The formal proofs refer to these signals.
            self.states = {name: fsm.ongoing(name) for name in ("IDLE", "WRITE", "RESPOND", "READ", "DELIVER")}
            self.stored = {"write": write_address, "read": read_address, "strobes": strobes}
            self.stored |= {"setting": setting, "command": command}
            # Only a write needs the address of a write, and only its state decides on that.
            address = Mux(fsm.ongoing("WRITE"), write_address, read_address)
            m.d.comb += self.registers.address.eq(address[2:])
            with m.State("IDLE"):
                with m.If(have_address & have_data):
                    m.next = "WRITE"
                with m.Elif(have_read):
                    m.next = "READ"
            with m.State("WRITE"):
                m.d.comb += [self.registers.write.eq(good), self.refused.eq(refused)]
                m.d.sync += [bus.bvalid.eq(1), bus.bresp.eq(Mux(good, Response.OKAY, Response.SLVERR))]
                m.next = "RESPOND"
            with m.State("RESPOND"), m.If(bus.bready):
                m.d.sync += [bus.bvalid.eq(0), have_address.eq(0), have_data.eq(0)]
                # A waiting read comes before the next write, so that neither direction can starve.
                with m.If(have_read):
                    m.next = "READ"
                with m.Else():
                    m.next = "IDLE"
            with m.State("READ"):
                readable = ~read_address[:2].any() & hits(read_address[2:], lambda r: r.access is not Access.WRITE)
                m.d.sync += [
                    bus.rvalid.eq(1),
                    bus.rresp.eq(Mux(readable, Response.OKAY, Response.SLVERR)),
                    bus.rdata.eq(self.registers.read_data & readable.replicate(32)),
                ]
                m.next = "DELIVER"
            with m.State("DELIVER"), m.If(bus.rready):
                m.d.sync += [bus.rvalid.eq(0), have_read.eq(0)]
                m.next = "IDLE"
        return m
