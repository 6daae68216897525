"""RAM, and delay lines made of it.

Amaranth writes an initial value for every word of a ``Memory``, which makes large designs slow to generate, so RAM is
an instance of a few lines of Verilog. Read and write ports are synchronous; a word must not be read in the clock in
which it is written.
"""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Const, Elaboratable, Instance, Module, Signal, ValueLike

from beltline.hw.interface.parameters import Multiplier

READ_LATENCY = 3
"""Clocks from address to data: the array's own register and two more, for a cascade of block or ultra RAMs."""

MODULE = "beltline_ram"

ULTRA_DEPTH = 4096
"""Words of an UltraRAM, of 72 bits each: what fills one, and more than half of its width, is made of them."""

ULTRA_WIDTH = 37

BLOCK_DEPTH = 512
"""Words of the shallowest block RAM: what is deeper is made of block RAM, what is not is left to the tools."""

_VERILOG = f"""\
module {MODULE} #(
    parameter WIDTH = 64,
    parameter LANES = 1,
    parameter DEPTH = 1024,
    parameter ADDRESS_BITS = 10,
    parameter STYLE = "auto"
) (
    input clk,
    input [LANES-1:0] write,
    input [ADDRESS_BITS-1:0] write_address,
    input [WIDTH-1:0] write_data,
    input [ADDRESS_BITS-1:0] read_address,
    output reg [WIDTH-1:0] read_data
);
    localparam LANE = WIDTH / LANES;
    ATTRIBUTEreg [WIDTH-1:0] words [0:DEPTH-1];
    reg [WIDTH-1:0] first, second;
    genvar lane;
    generate
        if (LANES == 1) begin : whole
            always @(posedge clk) if (write) words[write_address] <= write_data;
        end else for (lane = 0; lane < LANES; lane = lane + 1) begin : part
            always @(posedge clk)
                if (write[lane]) words[write_address][lane*LANE +: LANE] <= write_data[lane*LANE +: LANE];
        end
    endgenerate
    always @(posedge clk) begin
        first <= words[read_address];
        second <= first;
        read_data <= second;
    end
endmodule
"""


def verilog(multiplier: Multiplier = Multiplier.DSP48E2) -> str:
    """The module. Chips of the other multipliers have block RAM only, which all tools find without being told."""
    attribute = "(* ram_style = STYLE *) " if multiplier is Multiplier.DSP48E2 else ""
    return _VERILOG.replace("ATTRIBUTE", attribute)


def style(width: int, depth: int) -> str:
    """What a RAM is made of on UltraScale+: ``ultra``, ``block``, or what the tools find best."""
    if depth >= ULTRA_DEPTH and width >= ULTRA_WIDTH:
        return "ultra"
    return "block" if depth >= BLOCK_DEPTH else "auto"


def address_bits(depth: int) -> int:
    """Bits of an address of ``depth`` words, at least one."""
    return max(1, (depth - 1).bit_length())


class Ram(Elaboratable):
    """``depth`` words of ``width`` bits, one write port and one read port of ``READ_LATENCY`` clocks.

    ``lanes`` equal parts of a word, low bits first, can be written apart: 8 of a 64-bit word are its bytes. ``made_of``
    is a kind of RAM where :func:`style` would find another.

    Attributes
    ----------
    write, write_address, write_data
        Write port; ``write`` has a bit for each lane.
    read_address, read_data
        Read port.
    """

    def __init__(self, width: int, depth: int, lanes: int = 1, made_of: str = "") -> None:
        self.width = width
        self.depth = depth
        self.lanes = lanes
        self.style = made_of or style(width, depth)
        bits = address_bits(depth)
        self.write = Signal(lanes)
        self.write_address = Signal(bits)
        self.write_data = Signal(width)
        self.read_address = Signal(bits)
        self.read_data = Signal(width)

    def elaborate(self, platform: object) -> Instance:
        return Instance(
            MODULE,
            p_WIDTH=self.width,
            p_LANES=self.lanes,
            p_DEPTH=self.depth,
            p_ADDRESS_BITS=address_bits(self.depth),
            p_STYLE=self.style,
            i_clk=ClockSignal(),
            i_write=self.write,
            i_write_address=self.write_address,
            i_write_data=self.write_data,
            i_read_address=self.read_address,
            o_read_data=self.read_data,
        )


def delay_line(m: Module, value: ValueLike, width: int, clocks: int) -> Signal:
    """``value``, ``clocks`` later (at least 5), through a RAM that is written and read round and round."""
    assert clocks > READ_LATENCY + 1, f"a delay line takes at least {READ_LATENCY + 2} clocks, not {clocks}"
    depth = clocks - READ_LATENCY + 1
    ram = Ram(width, depth)
    m.submodules += ram
    position = Signal(address_bits(depth))
    following = Signal.like(position)
    m.d.comb += following.eq(position + 1)
    with m.If(position == depth - 1):
        m.d.comb += following.eq(0)
    m.d.sync += position.eq(following)
    m.d.comb += [
        ram.write.eq(Const(1)),
        ram.write_address.eq(position),
        ram.write_data.eq(value),
        ram.read_address.eq(following),
    ]
    return ram.read_data
