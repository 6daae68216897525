"""Simple dual-port RAM, and delay lines made of it.

Amaranth writes an initial value for every word of a ``Memory``, which makes large designs slow to generate. RAM is
therefore an instance of a Verilog module of a few lines, ``beltline_ram``. Its read and write port are synchronous. The
data of a word that is read in the clock in which it is written are undefined.
"""

from __future__ import annotations

from amaranth.hdl import ClockSignal, Const, Elaboratable, Instance, Module, Signal, ValueLike

from beltline.hw.interface.parameters import Multiplier

READ_LATENCY = 3
"""Clocks from a read address to its data: the array's own output register and two more, which let the tools cascade
block RAMs or UltraRAMs."""

MODULE = "beltline_ram"
"""Name of the Verilog module."""

ULTRA_DEPTH = 4096
"""Words of one UltraRAM, of 72 bits each. A RAM of at least this depth and ``ULTRA_WIDTH`` is built of UltraRAMs."""

ULTRA_WIDTH = 37
"""Least width, in bits, of a RAM that is built of UltraRAMs: more than half of the 72 bits of one."""

BLOCK_DEPTH = 512
"""Words of the shallowest block RAM. A RAM of at least this depth is built of block RAMs; the synthesis tool chooses
for shallower ones."""

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
    PLAINreg [WIDTH-1:0] first, second;
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
    """Return the Verilog text of module ``beltline_ram``.

    Only for ``DSP48E2`` (UltraScale+) does it set the attribute ``ram_style``: chips with another multiplier have no
    UltraRAM, and their tools infer block RAM without the attribute. Where LUTs can be shift registers, the attribute
    ``shreg_extract`` says that registers after a RAM are not: three flip-flops cost less than a LUT for each bit.
    """
    attribute = "(* ram_style = STYLE *) " if multiplier is Multiplier.DSP48E2 else ""
    plain = '(* shreg_extract = "no" *) ' if multiplier.wide_luts else ""
    return _VERILOG.replace("ATTRIBUTE", attribute).replace("PLAIN", plain)


def style(width: int, depth: int) -> str:
    """Return the value of the attribute ``ram_style`` on UltraScale+ for a RAM of ``depth`` words of ``width`` bits.

    It is ``"ultra"`` (UltraRAM), ``"block"`` (block RAM), or ``"auto"``, with which the synthesis tool chooses.
    """
    if depth >= ULTRA_DEPTH and width >= ULTRA_WIDTH:
        return "ultra"
    return "block" if depth >= BLOCK_DEPTH else "auto"


def address_bits(depth: int) -> int:
    """Return the width in bits of the address of a RAM of ``depth`` words, at least 1."""
    return max(1, (depth - 1).bit_length())


class Ram(Elaboratable):
    """A RAM with one write port and one read port, an instance of the Verilog module ``beltline_ram``.

    Throughput: one write and one read in every clock. Latency: ``READ_LATENCY`` clocks from ``read_address`` to
    ``read_data``. A word can be read from the clock after it was written; the data of a read in the clock of the write
    are undefined. Words are undefined until they are written.

    Parameters
    ----------
    width
        Bits of a word.
    depth
        Number of words.
    lanes
        Number of equal parts of a word, each with its own write enable; divides ``width``. A 64-bit word with 8 lanes
        can be written byte by byte.
    made_of
        Value of ``ram_style``, in place of the one that :func:`style` chooses. Empty to use :func:`style`.

    Attributes
    ----------
    write : in, ``lanes`` bits
        Write enables; bit 0 writes the lowest ``width / lanes`` bits of the word.
    write_address : in, ``address_bits(depth)`` bits
        Address of the word to write.
    write_data : in, ``width`` bits
        The word to write.
    read_address : in, ``address_bits(depth)`` bits
        Address of the word to read.
    read_data : out, ``width`` bits
        The word at the ``read_address`` of ``READ_LATENCY`` clocks ago; a register.
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
    """Delay ``value`` by ``clocks`` clocks with a RAM that serves as a ring buffer.

    Parameters
    ----------
    m
        The module to which the RAM and its address counter are added.
    value
        The value to delay; a new one in every clock.
    width
        Its bits.
    clocks
        The delay, at least ``READ_LATENCY`` + 2 (5) clocks.

    Returns
    -------
    Signal
        ``value`` of ``clocks`` clocks ago. Undefined in the first ``clocks`` clocks.
    """
    assert clocks > READ_LATENCY + 1, f"a delay line must have at least {READ_LATENCY + 2} clocks, not {clocks}"
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
