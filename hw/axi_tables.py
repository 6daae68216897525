"""AXI4 slave in front of the table windows."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from .axi import Axi, Burst, Response
from .parameters import MachineParameters
from .registers import Table

WORD_BYTES = 8
READS_UNDER_WAY = 16
"""Words asked of the tables and not yet taken by the master: more than the tables' latency, so that reads stream."""

WRITABLE = (Table.X, Table.W, Table.Q, Table.V)
READABLE = (Table.W, Table.V, Table.POLICY)


@dataclass(frozen=True)
class WindowParameters:
    """Where the tables lie in the byte addresses of the bus: equal windows, one after the other by :class:`Table`.

    A window is the smallest power of two that holds the largest table, at least 4 KiB.
    """

    machine: MachineParameters

    @property
    def window_bits(self) -> int:
        """``log2`` of a window's bytes."""
        largest = max(self.words(table) for table in Table) * WORD_BYTES
        return max(12, (largest - 1).bit_length())

    @property
    def address_bits(self) -> int:
        """``log2`` of the bytes of all windows."""
        return self.window_bits + 3

    def offset(self, table: Table) -> int:
        """Byte address of a table's first word."""
        return int(table) << self.window_bits

    def words(self, table: Table) -> int:
        """64-bit words of a table."""
        machine = self.machine
        return {
            Table.X: machine.grid,
            Table.W: machine.grid * machine.states,
            Table.Q: machine.states * machine.states,
            Table.V: machine.results,
            Table.POLICY: machine.results,
        }[table]


class _Burst:
    """A burst's address as taken from the bus, and what is wrong with it."""

    def __init__(
        self, m: Module, windows: WindowParameters, data_bits: int, id_bits: int, tables: tuple[Table, ...]
    ) -> None:
        bits = windows.address_bits
        self.id = Signal(id_bits)
        self.address = Signal(bits)
        self.size = Signal(3)
        self.left = Signal(8)
        self.kind = Signal(2)
        self.good = Signal()
        self._windows = windows
        step = Signal(7)
        m.d.comb += step.eq(1 << self.size)
        self.step = step
        largest = (data_bits // 8).bit_length() - 1
        aligned = ~(self.address[:7] & (step - 1)[:7]).any()
        last = Signal(windows.window_bits + 17)
        m.d.comb += last.eq(self.address[: windows.window_bits] + (self.left << self.size) + step - 1)
        inside = Signal()
        with m.Switch(self.table):
            for table in tables:
                with m.Case(table):
                    m.d.comb += inside.eq(last < windows.words(table) * WORD_BYTES)
        m.d.comb += self.good.eq(aligned & inside & (self.kind == Burst.INCR) & (self.size <= largest))

    @property
    def table(self) -> Value:
        return self.address[self._windows.window_bits :]

    @property
    def word(self) -> Value:
        return self.address[3 : self._windows.window_bits]


class AxiTables(wiring.Component):
    """Turns AXI4 bursts into accesses of the table windows, one 64-bit word a clock.

    A burst that is not INCR, not aligned to its size, reaches beyond its table, writes what can only be read or reads
    what can only be written answers SLVERR and changes nothing. A write while ``locked`` answers SLVERR, too, and
    ``refused`` is high for one clock; nothing of it is written from the moment the machine is locked. A read while
    ``locked`` answers SLVERR in every beat from then on. Bytes without strobe keep what they held. A beat of ``n``
    words takes ``n`` clocks either way; one write burst and one read burst can be under way at a time.

    ``write`` are the byte strobes of the word at ``write_address``; ``read`` asks for the word at ``read_address``,
    which must come back, in order, with ``read_valid``, even while ``locked``.
    """

    def __init__(self, parameters: MachineParameters, data_bits: int = 64, id_bits: int = 4) -> None:
        self.windows = WindowParameters(parameters)
        self.data_bits = data_bits
        self.id_bits = id_bits
        word_bits = self.windows.window_bits - 3
        super().__init__(
            {
                "bus": In(Axi(self.windows.address_bits, data_bits, id_bits)),
                "locked": In(1),
                "refused": Out(1),
                "write_table": Out(3),
                "write_address": Out(word_bits),
                "write": Out(WORD_BYTES),
                "write_data": Out(64),
                "read": Out(1),
                "read_table": Out(3),
                "read_address": Out(word_bits),
                "read_valid": In(1),
                "read_data": In(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._writes(m)
        self._reads(m)
        return m

    def _writes(self, m: Module) -> None:
        bus, lanes = self.bus, self.data_bits // 64
        burst = _Burst(m, self.windows, self.data_bits, self.id_bits, WRITABLE)
        failed = Signal()
        data, strobes, last = Signal(self.data_bits), Signal(self.data_bits // 8), Signal()
        lane = Signal(range(max(2, lanes)))

        def take() -> None:
            with m.If(bus.wvalid):
                m.d.sync += [data.eq(bus.wdata), strobes.eq(bus.wstrb), last.eq(bus.wlast), lane.eq(0)]
                m.next = "STORE"

        with m.FSM(name="write"):
            with m.State("ADDRESS"):
                m.d.comb += bus.awready.eq(1)
                with m.If(bus.awvalid):
                    m.d.sync += [
                        burst.id.eq(bus.awid),
                        burst.address.eq(bus.awaddr),
                        burst.size.eq(bus.awsize),
                        burst.left.eq(bus.awlen),
                        burst.kind.eq(bus.awburst),
                    ]
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += failed.eq(~burst.good)
                m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += bus.wready.eq(1)
                take()
            with m.State("STORE"):
                with m.If(self.locked & ~failed):
                    m.d.comb += self.refused.eq(1)
                    m.d.sync += failed.eq(1)
                with m.Elif(~failed):
                    m.d.comb += self.write.eq(strobes[:WORD_BYTES])
                m.d.sync += [data.eq(data >> 64), strobes.eq(strobes >> WORD_BYTES), lane.eq(lane + 1)]
                with m.If(lane == lanes - 1):
                    m.d.sync += burst.address.eq(burst.address + burst.step)
                    m.next = "DATA"
                    with m.If(~last):
                        m.d.comb += bus.wready.eq(1)
                        take()
                    with m.Else():
                        m.d.sync += [
                            bus.bvalid.eq(1),
                            bus.bid.eq(burst.id),
                            bus.bresp.eq(Mux(failed | self.locked, Response.SLVERR, Response.OKAY)),
                        ]
                        m.next = "RESPOND"
            with m.State("RESPOND"), m.If(bus.bready):
                m.d.sync += bus.bvalid.eq(0)
                m.next = "ADDRESS"
        lane_bits = (lanes - 1).bit_length()
        m.d.comb += [
            self.write_table.eq(burst.table),
            self.write_address.eq(Cat(lane[:lane_bits], burst.word[lane_bits:])),
            self.write_data.eq(data[:64]),
        ]

    def _reads(self, m: Module) -> None:
        bus, lanes = self.bus, self.data_bits // 64
        lane_bits = (lanes - 1).bit_length()
        burst = _Burst(m, self.windows, self.data_bits, self.id_bits, READABLE)
        m.submodules.words = words = SyncFIFOBuffered(width=64, depth=READS_UNDER_WAY)
        m.d.comb += [words.w_data.eq(self.read_data), words.w_en.eq(self.read_valid)]

        # Asking: one word a clock while there is room for what is under way.
        under_way = Signal(range(READS_UNDER_WAY + 1))
        taken = Signal()
        m.d.comb += taken.eq(words.r_en & words.r_rdy)
        m.d.sync += under_way.eq(under_way + self.read - taken)
        asking = Signal()
        ask = Signal.like(burst.address)
        asks_left = Signal(8)
        per_beat = Signal(range(lanes + 1))
        m.d.comb += per_beat.eq(Mux(burst.size <= 3, 1, burst.step[3:]))
        in_beat = Signal.like(per_beat)
        m.d.comb += [
            self.read.eq(asking & (under_way != READS_UNDER_WAY)),
            self.read_table.eq(burst.table),
            self.read_address.eq(ask[3 : self.windows.window_bits]),
        ]
        with m.If(self.read):
            m.d.sync += [ask.eq(ask + Mux(burst.size <= 3, burst.step, WORD_BYTES)), in_beat.eq(in_beat + 1)]
            with m.If(in_beat == per_beat - 1):
                m.d.sync += [in_beat.eq(0), asks_left.eq(asks_left - 1)]
                with m.If(asks_left == 0):
                    m.d.sync += asking.eq(0)

        # Answering: words gather in the lanes of a beat.
        gathered = Signal(range(lanes + 1))
        lane = Signal(range(max(2, lanes)))
        spoiled = Signal()
        free = ~bus.rvalid | bus.rready
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.FSM(name="read"):
            with m.State("ADDRESS"):
                m.d.comb += bus.arready.eq(1)
                with m.If(bus.arvalid):
                    m.d.sync += [
                        burst.id.eq(bus.arid),
                        burst.address.eq(bus.araddr),
                        burst.size.eq(bus.arsize),
                        burst.left.eq(bus.arlen),
                        burst.kind.eq(bus.arburst),
                        ask.eq(bus.araddr),
                        asks_left.eq(bus.arlen),
                        in_beat.eq(0),
                        gathered.eq(0),
                    ]
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += [lane.eq(burst.word[:lane_bits]), spoiled.eq(0)]
                m.next = "REFUSE"
                with m.If(burst.good & ~self.locked):
                    m.d.sync += asking.eq(1)
                    m.next = "DELIVER"
            with m.State("REFUSE"), m.If(free):
                m.d.sync += [
                    bus.rvalid.eq(1),
                    bus.rdata.eq(0),
                    bus.rresp.eq(Response.SLVERR),
                    bus.rid.eq(burst.id),
                    bus.rlast.eq(burst.left == 0),
                    burst.left.eq(burst.left - 1),
                ]
                with m.If(burst.left == 0):
                    m.next = "ADDRESS"
            with m.State("DELIVER"):
                m.d.comb += words.r_en.eq(free)
                with m.If(self.locked):
                    m.d.sync += spoiled.eq(1)
                with m.If(taken):
                    if lanes > 1:
                        same_word = (burst.size < 3) & ((burst.address[:3] + burst.step)[3:] == 0)
                        m.d.sync += lane.eq(Mux(same_word, lane, lane + 1))
                    with m.Switch(lane):
                        for k in range(lanes):
                            with m.Case(k):
                                m.d.sync += bus.rdata[64 * k : 64 * (k + 1)].eq(words.r_data)
                    m.d.sync += gathered.eq(gathered + 1)
                    with m.If(gathered == per_beat - 1):
                        m.d.sync += [
                            gathered.eq(0),
                            bus.rvalid.eq(1),
                            bus.rresp.eq(Mux(spoiled | self.locked, Response.SLVERR, Response.OKAY)),
                            bus.rid.eq(burst.id),
                            bus.rlast.eq(burst.left == 0),
                            burst.left.eq(burst.left - 1),
                            burst.address.eq(burst.address + burst.step),
                        ]
                        with m.If(burst.left == 0):
                            m.next = "ADDRESS"
