# amaranth: UnusedElaboratable=no
"""A substitute for the machine on the same buses: its ports, registers and tables, without a solver.

``RUN`` inverts every word of table ``V`` as many times as ``SWEEP_LIMIT`` says, one word a clock, and puts into
``NORM`` the sum of what the evaluators make of the address.
"""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import wiring

from beltline.hw.bus.ports import machine_ports
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import IDENTITY, REGISTERS, VERSION, Status, Table
from beltline.hw.top import verilog
from beltline.hw.top.axi_machine import MODULE, AxiMachine
from beltline.sim.yosys import use_yosys

WORD = 2**64


def number(register: str) -> int:
    return REGISTERS[register].offset // 4


def evaluator(multiplies: int) -> str:
    """Return the Verilog of ``y = f(f(.. f(a)))``, with ``f(v) = v (v | 1) + 3`` in 64 bits, one multiplication a
    clock.
    """
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


class StandIn(wiring.Component):
    """Module ``stand_in`` with the ports of :class:`beltline.hw.top.machine.Machine`."""

    def __init__(self, parameters: MachineParameters) -> None:
        super().__init__(machine_ports(parameters))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        registers, tables = self.registers, self.tables
        m.submodules.inside = Instance(
            "stand_in",
            i_clk=ClockSignal(),
            i_rst=ResetSignal(),
            i_register_address=registers.address,
            i_register_write=registers.write,
            i_register_write_data=registers.write_data,
            o_register_read_data=registers.read_data,
            i_write_table=tables.write_table,
            i_write_address=tables.write_address,
            i_write=tables.write,
            i_write_data=tables.write_data,
            i_read_table=tables.read_table,
            i_read_address=tables.read_address,
            i_read=tables.read,
            o_read_valid=tables.read_valid,
            o_read_data=tables.read_data,
            o_busy=self.busy,
            o_interrupt=self.interrupt,
        )
        return m


def machine(
    instances: int = 4, multiplies: int = 2, words: int = 64, fault: str = "", bus_bits: int = 64
) -> dict[str, str]:
    """Return the substitute as Verilog files; tables ``X``, ``W``, ``V`` and ``POLICY`` have ``words`` words."""
    parameters = MachineParameters(grid=words, states=1, bus_bits=bus_bits)
    use_yosys(print)
    evaluators = "\n".join(
        f"  wire [63:0] y{i};\n  beltline_evaluator e{i}(.clk(clk), .a({{40'd{i + 1}, position}}), .y(y{i}));"
        for i in range(instances)
    )
    total = " + ".join(f"y{i}" for i in range(instances))
    constants = {"IDENTITY": IDENTITY, "VERSION": VERSION, **parameters.reported}
    cases = "\n".join(f"      {number(name)}: register_read_data <= 32'd{value};" for name, value in constants.items())
    inside = f"""
module stand_in(
  input clk, input rst,
  input [7:0] register_address, input register_write, input [31:0] register_write_data,
  output reg [31:0] register_read_data,
  input [2:0] write_table, input [23:0] write_address, input [7:0] write, input [63:0] write_data,
  input [2:0] read_table, input [23:0] read_address, input read, output reg read_valid, output reg [63:0] read_data,
  output reg busy, output interrupt
);
  reg [31:0] registers [0:255];
  reg [63:0] tables [0:{len(Table) * words - 1}];
  reg done;
  reg [23:0] position;
  reg [31:0] sweeps;
  reg [63:0] clocks, norm, word;
  reg reading;
  integer i;
  wire [23:0] write_place = write_table * {words} + write_address;
  wire [23:0] read_place = read_table * {words} + read_address;
  wire [23:0] v = {Table.V * words} + position;
  assign interrupt = done & registers[{number("INTERRUPT")}][0];
{evaluators}
  {fault}
  always @(posedge clk) begin
    case (register_address)
{cases}
      {number("STATUS")}: register_read_data <= (busy ? {Status.BUSY} : 0) | (done ? {Status.DONE} : 0);
      {number("CLOCKS")}: register_read_data <= clocks[31:0];
      {number("CLOCKS") + 1}: register_read_data <= clocks[63:32];
      {number("NORM")}: register_read_data <= norm[31:0];
      {number("NORM") + 1}: register_read_data <= norm[63:32];
      default: register_read_data <= registers[register_address];
    endcase
    if (register_write) registers[register_address] <= register_write_data;
    for (i = 0; i < 8; i = i + 1)
      if (write[i] && !busy) tables[write_place][8*i +: 8] <= write_data[8*i +: 8];
    reading <= read;
    word <= tables[read_place];
    read_valid <= reading;
    read_data <= word;
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
      busy <= 0; done <= 0; reading <= 0; read_valid <= 0; position <= 0; norm <= 0; clocks <= 0;
    end
  end
endmodule
"""
    return {
        "beltline.v": verilog.convert(AxiMachine(parameters, StandIn(parameters)), MODULE),
        "stand_in.v": inside,
        "beltline_evaluator.v": evaluator(multiplies),
    }


def norm(instances: int, multiplies: int, words: int, sweeps: int) -> int:
    """Return the value of ``NORM`` after a run that starts with pipelines full of position 0."""
    total = 0
    for clock in range(words * sweeps):
        position = max(clock - multiplies, 0) if clock < multiplies else (clock - multiplies) % words
        for i in range(instances):
            value = ((i + 1) << 24) | position
            for _ in range(multiplies):
                value = (value * (value | 1) + 3) % WORD
            total += value
    return total % WORD
