"""Synthesis of Verilog by Yosys, and a count of the multiplications and tables that were mapped to dedicated blocks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beltline.constraints.chips import FAMILIES
from beltline.hw.memory import ram
from beltline.sim.cache import Progress, SimulationError, run_tool
from beltline.sim.yosys import use_yosys


@dataclass(frozen=True)
class Synthesis:
    """Result of a synthesis.

    Parameters
    ----------
    modules
        The netlist and the family's cells, in the format of Yosys's JSON.
    multiplications
        Number of multiplications of two variables in the Verilog; each should be mapped to multipliers.
    tables
        Number of RAMs and ROMs in the Verilog with at least ``beltline.hw.memory.ram.BLOCK_DEPTH`` words.
    tables_in_ram
        Number of these that were mapped to block RAM or UltraRAM.
    verilog
        The netlist as Verilog that instantiates cells.
    """

    modules: dict[str, Any]
    multiplications: int
    tables: int
    tables_in_ram: int
    verilog: str


def run_with_log(command: list[str], directory: Path, doing: str, progress: Progress | None) -> None:
    """Run a tool in ``directory`` and write its output to ``tool.log`` there.

    Parameters
    ----------
    command
        The command and its arguments.
    directory
        Its working directory.
    doing
        Description of the work, for progress and messages.
    progress
        Called with a line of text about the work in progress.

    Raises
    ------
    SimulationError
        The tool failed; the message quotes the end of its output.
    """
    log = directory / "tool.log"
    try:
        run_tool(command, directory=directory, log=log, environment=os.environ, doing=doing, progress=progress)
    except subprocess.CalledProcessError:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise SimulationError(f"{doing} failed:\n{tail}") from None


def _multiplies(cell: Mapping[str, Any]) -> bool:
    """Return whether a cell multiplies two variables."""
    factors = [cell["connections"][port] for port in "AB"] if cell["type"] == "$mul" else []
    return bool(factors) and all(any(isinstance(bit, int) for bit in factor) for factor in factors)


_MAPPED = re.compile(r"^mapping memory (\S+) via (\S+)", re.M)
_RAM_CELLS = ("BLOCKRAM", "URAM", "DP16KD", "PDPW16KD")
"""Parts of the names of cells, in Yosys's libraries, that are block RAM or UltraRAM."""


def synthesise(
    files: Mapping[str, str], top: str, family: str, boxes: Iterable[str] = (), progress: Progress | None = None
) -> Synthesis:
    """Synthesise a module with all modules that it instantiates, as one flat netlist.

    Parameters
    ----------
    files
        Verilog, ``{file name: text}``.
    top
        Name of the module.
    family
        Family of the chip, of :data:`beltline.constraints.chips.FAMILIES`.
    boxes
        Modules that remain instances.
    progress
        Called with a line of text about the work in progress.

    Raises
    ------
    SimulationError
        Yosys is not installed or failed.
    """
    yosys = use_yosys(progress)
    with tempfile.TemporaryDirectory(prefix="beltline-area-") as name:
        directory = Path(name)
        for file, text in files.items():
            (directory / file).write_text(text, encoding="ascii")
        script = [f"read_verilog {' '.join(files)}"]
        script += [f"blackbox {box}" for box in boxes]
        script += ["design -save given", f"hierarchy -check -top {top}", "proc", "flatten", "opt_expr", "opt_clean"]
        script += ["delete t:$meminit*", "write_json given.json", "design -load given"]
        script += [FAMILIES[family].command.format(top=top), "write_json netlist.json"]
        script += ["write_verilog -noattr -noexpr netlist.v"]
        (directory / "script.ys").write_text("\n".join(script) + "\n", encoding="ascii")
        doing = f"synthesising {top} for {FAMILIES[family].title}"
        run_with_log([yosys, "-q", "-l", "yosys.log", "-s", "script.ys"], directory, doing, progress)
        given = json.loads((directory / "given.json").read_text())["modules"][top]
        modules: dict[str, Any] = json.loads((directory / "netlist.json").read_text())["modules"]
        mapped = dict(_MAPPED.findall((directory / "yosys.log").read_text()))
        text = (directory / "netlist.v").read_text()
    tables = [name for name, memory in given.get("memories", {}).items() if memory["size"] >= ram.BLOCK_DEPTH]
    return Synthesis(
        modules,
        sum(_multiplies(cell) for cell in given["cells"].values()),
        len(tables),
        sum(any(cell in mapped.get(f"{top}.{name}", "") for cell in _RAM_CELLS) for name in tables),
        text,
    )
