"""Write scripts with which Vivado places and routes single units.

Command: ``python -m beltline.constraints.out_of_context BOARD``. A complete machine takes Vivado hours. The units that
determine its clock take minutes each: the evaluator, a lane or the last stage, and the deepest memory. Each is
implemented alone, "out of context", on the board's chip and at the machine's clock: its ports get no pins, and the
clock is ideal, so that only setup times are checked. The scripts were tested with a stand-in for Vivado's commands, and
not with Vivado.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from amaranth.back.verilog import YosysError

from beltline.constraints import fabric_clock, units
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.constraints.sweep_area import instanced
from beltline.constraints.written_directory import MANIFEST, place, untouched
from beltline.hw.arithmetic import evaluator
from beltline.hw.line.fold import FoldedLineParameters
from beltline.hw.line.folded_stage import FoldedStage
from beltline.hw.line.stage import Stage, StageParameters
from beltline.hw.memory import ram
from beltline.hw.sweep.lane import lane
from beltline.hw.top import verilog
from beltline.sim.yosys import use_yosys

SCRIPT = Path(__file__).with_name("out_of_context.tcl")
"""The script."""

MEMORY = "beltline_deepest_memory"
"""Name of the module with one RAM between registers."""

_PARAMETERS = re.compile(rf"^ +{ram.MODULE} #\((?P<parameters>.*?)^ +\) ", re.M | re.S)
_PARAMETER = re.compile(r"\.(\w+)\((?:\d+'[sd]*d(\d+)|\"(\w+)\")\)")


class Memory(NamedTuple):
    """Sizes of a RAM instance.

    Parameters
    ----------
    depth
        Words.
    width
        Bits of a word.
    lanes
        Parts of a word with write enables of their own.
    style
        Attribute ``ram_style``: ``auto``, ``block`` or ``ultra``.
    """

    depth: int
    width: int
    lanes: int
    style: str


def memories(files: dict[str, str]) -> list[Memory]:
    """Return all RAM instances in generated Verilog, in the order of the files; ``files`` is ``{file name: text}``."""
    found = []
    for text in files.values():
        for match in _PARAMETERS.finditer(text):
            named = {name: number or word for name, number, word in _PARAMETER.findall(match["parameters"])}
            found.append(Memory(int(named["DEPTH"]), int(named["WIDTH"]), int(named["LANES"]), named["STYLE"]))
    return found


def memory_wrapper(memory: Memory) -> str:
    """Return Verilog of ``beltline_deepest_memory``: the RAM, with registers before each input and after the output.

    Without the registers, paths between ports and the RAM would have no start or end point, and would not be timed.
    """
    bits = ram.address_bits(memory.depth)
    inputs = {
        "write": memory.lanes,
        "write_address": bits,
        "write_data": memory.width,
        "read_address": bits,
    }
    ports = ["input clk", *(f"input [{width - 1}:0] {name}" for name, width in inputs.items())]
    ports.append(f"output reg [{memory.width - 1}:0] read_data")
    registers = "".join(f"    reg [{width - 1}:0] {name}_register;\n" for name, width in inputs.items())
    moves = "".join(f"        {name}_register <= {name};\n" for name in inputs)
    connections = ", ".join(f".{name}({name}_register)" for name in inputs)
    listed = ",\n    ".join(ports)
    return (
        f"module {MEMORY}(\n    {listed}\n);\n{registers}"
        f"    wire [{memory.width - 1}:0] word;\n"
        f"    always @(posedge clk) begin\n{moves}        read_data <= word;\n    end\n"
        f"    {ram.MODULE} #(.WIDTH({memory.width}), .LANES({memory.lanes}), .DEPTH({memory.depth}), "
        f'.ADDRESS_BITS({bits}), .STYLE("{memory.style}")) memory (\n'
        f"        .clk(clk), {connections}, .read_data(word)\n    );\nendmodule\n"
    )


class Unit(NamedTuple):
    """A unit to implement.

    Attributes
    ----------
    top
        Name of its top module.
    files
        Its Verilog, ``{file name: text}``.
    """

    top: str
    files: dict[str, str]


def _stage(board: Board) -> Unit:
    """Return the last stage of a board's assembly line."""
    machine = board.machine
    if machine.fold:
        line = FoldedLineParameters.of(machine)
        stage: Stage | FoldedStage = FoldedStage(line.stages[-1], line.round_states)
    else:
        stage = Stage(StageParameters(machine.index_bits, machine.states, machine.stages, machine.multiplier))
    return Unit(units.TOP, units.sources(stage, machine.multiplier))


def units_of(board: Board) -> dict[str, Callable[[], Unit]]:
    """Return functions that generate the units of a board's machine, by unit. They need Amaranth and Yosys."""

    def generated() -> dict[str, str]:
        return verilog.generate(board.machine)

    def module(name: str) -> Callable[[], Unit]:
        return lambda: Unit(name, instanced(generated(), name))

    def deepest() -> Unit:
        files = generated()
        memory = max(memories(files))
        shared = {f"{ram.MODULE}.v": files[f"{ram.MODULE}.v"]}
        return Unit(MEMORY, shared | {f"{MEMORY}.v": memory_wrapper(memory)})

    search = {"lane": module(lane.MODULE)} if board.machine.is_sweep else {"stage": lambda: _stage(board)}
    return {"evaluator": module(evaluator.MODULE), **search, "memory": deepest}


def directory_of(board: Board, wanted: dict[str, Unit]) -> dict[str, str]:
    """Return the files of a directory in which one command of Vivado implements the units, ``{path: text}``."""
    period = 1e9 / board.machine.clock_hz
    settings = [
        f"# {board.title}: settings of out_of_context.tcl, which are the part, the clock, and the units to implement.",
        f"set part {{{board.part}}}",
        f"set clock_hz {board.machine.clock_hz}",
        "set units {",
        *(f"    {name} {unit.top}" for name, unit in wanted.items()),
        "}",
    ]
    return {
        "out_of_context.tcl": SCRIPT.read_text(encoding="ascii"),
        "settings.tcl": "\n".join(settings) + "\n",
        "clock.xdc": f"create_clock -name clk -period {period:.3f} [get_ports clk]\n",
        **{f"{name}/{file}": text for name, unit in wanted.items() for file, text in unit.files.items()},
    }


def main(argv: list[str] | None = None) -> int:
    """Write a board's directory and print the command to run in it; returns the exit code."""
    boards = [board.name for board in BOARDS.values() if board.flow is not Flow.ECP5]
    parser = argparse.ArgumentParser(
        prog="python -m beltline.constraints.out_of_context",
        description="Write the files from which Vivado places and routes single units of a board's machine: the "
        "evaluator, a lane or the last stage, and the deepest memory. Vivado then reports logic levels, slack and RAM "
        "in minutes.",
        epilog="Exit code 0: the directory was written or was up to date; 1: an error occurred and it was not written; "
        "2: the options are wrong.",
        allow_abbrev=False,
    )
    parser.add_argument("board", nargs="?", metavar="BOARD", help=f"one of {', '.join(boards)}")
    parser.add_argument("--unit", metavar="NAME", help="only this unit: evaluator, lane, stage or memory")
    parser.add_argument("--clock", metavar="MHZ", help="the clock in MHz instead of the board's own")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("build/vivado-ooc"),
        metavar="DIR",
        help="directory in which a directory is written for the board",
    )
    given = parser.parse_args(argv)
    if given.board is None:
        parser.exit(2, f"out_of_context: a board must be named, one of {', '.join(boards)}\n")
    if given.board not in boards:
        parser.exit(2, f"out_of_context: board must be one of {', '.join(boards)}, not '{given.board}'\n")
    board = BOARDS[given.board]
    try:
        board = fabric_clock.at_clock(board, fabric_clock.megahertz(given.clock)) if given.clock else board
    except ValueError as error:
        parser.exit(2, f"out_of_context: {error}\n")
    makers = units_of(board)
    if given.unit is not None and given.unit not in makers:
        parser.exit(2, f"out_of_context: unit of {board.name} must be one of {', '.join(makers)}, not '{given.unit}'\n")
    out = given.out / f"{board.name}{board.suffix}"
    if out.exists() and not (out / MANIFEST).is_file() and not (out.is_dir() and untouched(out)):
        parser.exit(2, f"out_of_context: '{out}' was not written by this program: move it, or give another --out\n")
    try:
        use_yosys(None)
        wanted = {name: make() for name, make in makers.items() if given.unit in (None, name)}
        new = place(directory_of(board, wanted), out.absolute())
    except YosysError as error:
        parser.exit(1, f"out_of_context: Yosys, which writes the Verilog, failed: {error}\n")
    except FileExistsError:
        parser.exit(2, f"out_of_context: '{out}' holds the results or changes of another run: move it, or delete it\n")
    except OSError as error:
        parser.exit(1, f"out_of_context: {error}\n")
    print(f"{out} {'is written' if new else 'is there already'}: {', '.join(wanted)} of {board.title}")
    print(f"    cd {out} && vivado -mode batch -source out_of_context.tcl")
    return 0


if __name__ == "__main__":
    sys.exit(main())
