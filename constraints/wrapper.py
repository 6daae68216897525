"""The Verilog module around the machine that a block design of Vivado refers to."""

from __future__ import annotations

from pathlib import Path

from amaranth.lib.wiring import Out, Signature

from beltline.hw.bus.axi import Axi, AxiLite
from beltline.hw.bus.axi_registers import ADDRESS_BITS
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.top import axi_machine

REGISTERS, TABLES = "s_axi_registers", "s_axi_tables"
"""Names of the buses in the block design; the driver finds them by these names in the hardware handoff."""

WRAPPER = "beltline_board"
"""Name of the module."""


def wrapper(parameters: MachineParameters) -> str:
    """Return Verilog of a block design's module: the machine with attributes of its buses and a low-active
    reset.

    An AXI master may begin a burst at any byte, which makes the first beat shorter. The machine requires a multiple of
    the size of a beat, but at most of 8. The module therefore clears the lower address bits. This changes no data:
    strobes select the bytes of a write, and a master ignores the bytes of a read before its address.
    """
    bus = parameters.bus_bits
    buses: tuple[tuple[str, Signature, str], ...] = (
        (REGISTERS, AxiLite(ADDRESS_BITS), "PROTOCOL AXI4LITE, DATA_WIDTH 32"),
        (
            TABLES,
            Axi(WindowParameters(parameters).address_bits, bus, axi_machine.ID_BITS),
            f"PROTOCOL AXI4, DATA_WIDTH {bus}, ID_WIDTH {axi_machine.ID_BITS}, SUPPORTS_NARROW_BURST 1",
        ),
    )
    ports = [
        _port(
            "input",
            1,
            "clk",
            "signal:clock:1.0 clk CLK",
            f"ASSOCIATED_BUSIF {REGISTERS}:{TABLES}, ASSOCIATED_RESET aresetn",
        ),
        _port("input", 1, "aresetn", "signal:reset:1.0 aresetn RST", "POLARITY ACTIVE_LOW"),
        _port("output", 1, "interrupt", "signal:interrupt:1.0 interrupt INTERRUPT", "SENSITIVITY LEVEL_HIGH"),
    ]
    pins = []
    for name, signature, properties in buses:
        for signal, member in signature.members.items():
            port = f"{name}_{signal}"
            direction = "input" if member.flow is Out else "output"
            ports.append(
                _port(direction, member.shape, port, f"interface:aximm:1.0 {name} {signal.upper()}", properties)
            )
            properties = ""
            if name == TABLES and signal.endswith("addr"):
                size = f"{name}_{signal[:2]}size"
                pins.append(f"        .{port}({{{port}[{member.shape - 1}:3], aligned({port}[2:0], {size})}})")
            else:
                pins.append(f"        .{port}({port})")
    template = Path(__file__).with_name("wrapper.v").read_text(encoding="ascii")
    return template.replace("@PORTS@", ",\n".join(ports)).replace("@PINS@", ",\n".join(pins))


def _port(direction: str, width: int, name: str, info: str, properties: str = "") -> str:
    """Return the declaration of a port with the attributes by which Vivado recognises its interface."""
    kind = info.split()[1]
    lines = [f'    (* X_INTERFACE_INFO = "xilinx.com:{info}" *)']
    if properties:
        lines.append(f'    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME {kind}, {properties}" *)')
    vector = f"[{width - 1}:0] " if width > 1 else ""
    return "\n".join([*lines, f"    {direction} {vector}{name}"])
