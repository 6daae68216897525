"""The row memory of a lane, which all lanes read: expected values in two halves, and the grid or costs."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from beltline.hw.arithmetic.numbers import WIDTH
from beltline.hw.interface.parameters import ROW_WORDS
from beltline.hw.interface.windows import WORD_BYTES
from beltline.hw.memory.ram import BLOCK_DEPTH, Ram
from beltline.hw.sweep.lane.parameters import LaneParameters
from beltline.hw.sweep.parameters import HALF_WORDS, ROW_SHIFT


class Rows(wiring.Component):
    """Stores a lane's rows of eight words in eight banks, so that a row is read in one access.

    The memory holds two halves of expected values, of which one is read while the other is written, and one row of the
    grid for every eight points. A general build has a row of costs for each exogenous state in place of the grid's.

    The upper and lower four words of the grid's rows are exchanged. So one access returns either whole rows of expected
    values (check), or, for a local search, four expected values and the grid of the same four points.

    Latency: ``READ_LATENCY`` from address to row. Throughput: a row is read and a word written in every clock.
    Contract: no ready.

    Attributes
    ----------
    half : in, 1 bit
        The half of expected values that is read.
    write, word, row, ev : in, 1 bit, 3 bits, row address, 64 bits
        Writes an expected value, see :class:`beltline.hw.sweep.lane.expects.Expects`.
    x_write : in, 8 bits
        Byte strobes of the host's writes of grid or costs. They must not coincide with ``write``.
    write_address : in, ``position_bits``
        The point to write; of costs, the exogenous state in the lowest ``cost_bits`` bits and the point above them.
    data : in, 64 bits
        The word to write.
    bank : in, :class:`beltline.hw.sweep.row_buses.BankPort`
        Port of the row buses. Its address has, from the lowest bit: the row in the lane, the exogenous state, which
        half of a row a local search requests (1: the upper), and whether the request is for half a row of both tables.
    """

    def __init__(self, parameters: LaneParameters) -> None:
        self.parameters = parameters
        ports = parameters.ports
        super().__init__(
            {
                **{name: ports[name] for name in ("half", "x_write", "write_address", "data", "bank")},
                "write": In(1),
                "word": In(ROW_SHIFT),
                "row": In(range(parameters.rows)),
                "ev": In(WIDTH),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        build, depth = self.parameters.build, self.parameters.rows
        row_bits = build.local_bits
        inner = self.bank.address[row_bits:]
        of_state, upper, of_search = inner[: build.state_bits], inner[build.state_bits], inner[build.state_bits + 1]
        rows = []
        for high in range(2):
            of_grid = of_search & (upper != high)
            state = of_state if build.general else Mux(of_grid, 0, of_state)
            rows.append(Cat(self.bank.address[:row_bits], state, self.half & ~of_grid, of_grid))
        hosts_state, point = self.write_address[: build.cost_bits], self.write_address[build.cost_bits :]
        hosts_table = hosts_state, Const(0, build.state_bits + 1 - build.cost_bits), Const(1, 1)
        hosts_row = Cat(point[ROW_SHIFT : build.point_bits], *hosts_table)
        for bank in range(ROW_WORDS):
            ram = Ram(WIDTH, depth, WORD_BYTES, "ultra" if depth > BLOCK_DEPTH else "")
            m.submodules[f"rows{bank}"] = ram
            hosts = Signal(WORD_BYTES, name=f"hosts{bank}")
            m.d.comb += [
                hosts.eq(self.x_write & (point[:ROW_SHIFT] == bank ^ HALF_WORDS).replicate(WORD_BYTES)),
                ram.write.eq(Mux(self.write, (self.word == bank).replicate(WORD_BYTES), hosts)),
                ram.write_address.eq(Mux(self.write, self.row, hosts_row)),
                ram.write_data.eq(Mux(self.write, self.ev, self.data)),
                ram.read_address.eq(rows[bank // HALF_WORDS]),
                self.bank.data.word_select(bank, WIDTH).eq(ram.read_data),
            ]
        return m
