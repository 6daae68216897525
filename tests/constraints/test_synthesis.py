"""Synthesis by Yosys: what it must leave alone."""

from __future__ import annotations

import pytest

from beltline.constraints.chips import FAMILIES
from beltline.constraints.netlist import Netlist
from beltline.constraints.synthesis import synthesise
from beltline.hw.interface.parameters import Multiplier
from beltline.hw.memory import ram

TOP = f"""\
module top (input clk, write, input [4:0] put, get, input [7:0] data, late, output [7:0] found, last);
    {ram.MODULE} #(.WIDTH(8), .LANES(1), .DEPTH(32), .ADDRESS_BITS(5)) words (clk, write, put, data, get, found);
    reg [7:0] first, second, third;
    assign last = third;
    always @(posedge clk) begin first <= late; second <= first; third <= second; end
endmodule
"""
"""A RAM made of LUTs with its two registers, and a delay of three clocks that may be a shift register."""


@pytest.mark.gateware
@pytest.mark.parametrize(("family", "multiplier"), [("xcup", Multiplier.DSP48E2), ("xc7", Multiplier.DSP48E1)])
def test_registers_that_are_no_shift_registers(family: str, multiplier: Multiplier) -> None:
    assert "{top}" in FAMILIES[family].command
    plain, shifted = ram.verilog(multiplier), ram.verilog(multiplier).replace("shreg_extract", "unknown")
    assert plain.count('(* shreg_extract = "no" *)') == 1
    kinds = []
    for text in (plain, shifted):
        module = synthesise({"ram.v": text, "top.v": TOP}, "top", family).modules["top"]
        cells = [cell["type"] for cell in module["cells"].values()]
        kinds.append({kind: cells.count(kind) for kind in ("SRL16E", "FDRE")})
        assert any(kind.startswith("RAM32M") for kind in cells)
        assert Netlist(module).area().bram18 == 0
    # The read register of the RAM, its second one and the output: 24 flip-flops, or 8 shift registers.
    assert kinds == [{"SRL16E": 8, "FDRE": 24}, {"SRL16E": 16, "FDRE": 0}]


def test_ecp5_has_no_shift_registers() -> None:
    assert "shreg_extract" not in ram.verilog(Multiplier.MULT18X18D)
