"""The rows of a lane that other lanes read: expected values twice, and the grid or what its points cost."""

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
    """A bank for each word of a row. One half of the expected values is read, and the other written.

    Words of the grid lie with the halves of their row exchanged: half a row of them comes with the same half of the
    expected values. A build with costs has a row of costs for every exogenous state in its place. A row a clock is
    read, ``READ_LATENCY`` behind its address, and a word a clock written.

    Attributes
    ----------
    half
        In: the half that is read.
    write, word, row, ev
        In: an expected value, see :class:`beltline.hw.sweep.lane.expects.Expects`.
    x_write, write_address, data
        In: the host's writes of the grid, as those of :class:`beltline.hw.sweep.lane.lane.Lane`; none may come with
        ``write``. With costs the address has the exogenous state in its lowest bits, and the point above them.
    bank
        From the buses, see :class:`beltline.hw.sweep.row_buses.BankPort`: the row in the lane, and above it the
        exogenous state, which half a walk asks for, and whether a walk asks.
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
        of_state, upper, of_walk = inner[: build.state_bits], inner[build.state_bits], inner[build.state_bits + 1]
        rows = []
        for high in range(2):
            of_grid = of_walk & (upper != high)
            state = of_state if build.costs else Mux(of_grid, 0, of_state)
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
