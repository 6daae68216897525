"""A stand-in for the machine: the ports, registers and tables of the real one, and no economics.

``RUN`` inverts every word of table ``V`` as many times as ``SWEEP_LIMIT`` says, one word a clock, and puts into
``NORM`` the sum of what the evaluators make of the address.
"""

from __future__ import annotations

from hw.registers import IDENTITY, REGISTERS, Status, Table

WORD = 2**64


def number(register: str) -> int:
    return REGISTERS[register].offset // 4


def evaluator(multiplies: int) -> str:
    """``y = f(f(.. f(a)))``, with ``f(v) = v (v | 1) + 3`` in 64 bits, one multiplication a clock."""
    stages = "\n".join(f"    v{i + 1} <= v{i} * (v{i} | 64'd1) + 64'd3;" for i in range(multiplies))
    wires = "\n".join(f"  reg [63:0] v{i + 1};" for i in range(multiplies))
    return f"""
module beltline_evaluator(input clk, input [63:0] a, output [63:0] y);
  wire [63:0] v0 = a;
{wires}
  always @(posedge clk) begin
{stages}
  end
  assign y = v{multiplies};
endmodule
"""


def machine(instances: int = 4, multiplies: int = 2, words: int = 64, fault: str = "") -> dict[str, str]:
    """Return the stand-in as Verilog files; every table has ``words`` words."""
    evaluators = "\n".join(
        f"  wire [63:0] y{i};\n  beltline_evaluator e{i}(.clk(clk), .a({{40'd{i + 1}, position}}), .y(y{i}));"
        for i in range(instances)
    )
    total = " + ".join(f"y{i}" for i in range(instances))
    top = f"""
module beltline(
  input clk, input rst,
  input [7:0] register_address, input register_write, input [31:0] register_write_data,
  output reg [31:0] register_read_data,
  input [2:0] table_select, input [23:0] table_address, input table_write, input [63:0] table_write_data,
  input table_read, output reg table_read_valid, output reg [63:0] table_read_data,
  output reg done
);
  reg [31:0] registers [0:255];
  reg [63:0] tables [0:{len(Table) * words - 1}];
  reg busy;
  reg [23:0] position;
  reg [31:0] sweeps;
  reg [63:0] clocks, norm, word;
  reg reading;
  wire [23:0] place = table_select * {words} + table_address;
  wire [23:0] v = {Table.V * words} + position;
{evaluators}
  {fault}
  always @(posedge clk) begin
    case (register_address)
      {number("IDENTITY")}: register_read_data <= 32'd{IDENTITY};
      {number("STATUS")}: register_read_data <= (busy ? {Status.BUSY} : 0) | (done ? {Status.DONE} : 0);
      {number("CLOCKS")}: register_read_data <= clocks[31:0];
      {number("CLOCKS") + 1}: register_read_data <= clocks[63:32];
      {number("NORM")}: register_read_data <= norm[31:0];
      {number("NORM") + 1}: register_read_data <= norm[63:32];
      default: register_read_data <= registers[register_address];
    endcase
    if (register_write) registers[register_address] <= register_write_data;
    if (table_write && !busy) tables[place] <= table_write_data;
    reading <= table_read && !busy;
    word <= tables[place];
    table_read_valid <= reading;
    table_read_data <= word;
    if (busy) begin
      clocks <= clocks + 1;
      norm <= norm + ({total});
      tables[v] <= ~tables[v];
      position <= position + 1;
      if (position == {words - 1}) begin
        position <= 0;
        sweeps <= sweeps + 1;
        if (sweeps + 1 == registers[{number("SWEEP_LIMIT")}]) begin busy <= 0; done <= 1; end
      end
    end else if (register_write && register_address == {number("COMMAND")}) begin
      done <= 0; busy <= register_write_data[0]; clocks <= 0; norm <= 0; position <= 0; sweeps <= 0;
    end
    if (rst) begin
      busy <= 0; done <= 0; reading <= 0; table_read_valid <= 0; position <= 0; norm <= 0; clocks <= 0;
    end
  end
endmodule
"""
    return {"beltline.v": top, "beltline_evaluator.v": evaluator(multiplies)}


def norm(instances: int, multiplies: int, words: int, sweeps: int) -> int:
    """Return what ``NORM`` reads after a run, the pipelines being full of position 0 when it starts."""
    total = 0
    for clock in range(words * sweeps):
        position = max(clock - multiplies, 0) if clock < multiplies else (clock - multiplies) % words
        for i in range(instances):
            value = ((i + 1) << 24) | position
            for _ in range(multiplies):
                value = (value * (value | 1) + 3) % WORD
            total += value
    return total % WORD
