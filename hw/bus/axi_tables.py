"""AXI4 slave of the table windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.axi import Axi, Burst, Response
from beltline.hw.bus.ports import TablePort
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import READABLE, WRITABLE, Table
from beltline.hw.interface.windows import WORD_BITS, WORD_BYTES, WindowParameters

READS_UNDER_WAY = 16
"""Largest number of words that were requested from the tables and not yet delivered to the bus. It exceeds the tables'
latency in clocks, so that a burst can read a word in every clock."""

WRITE_CLOCKS = 5
"""Clocks from the address of a write burst to the next one, beyond one clock for each word."""

READ_CLOCKS = 5
"""Clocks from the address of a read burst to the next one, beyond the tables' latency and one clock for each word."""

WRITE_STATES = ("ADDRESS", "CHECK", "RANGE", "DATA", "STORE", "RESPOND")
"""States of the state machine of writes."""

READ_STATES = ("ADDRESS", "CHECK", "RANGE", "DELIVER", "DRAIN", "REFUSE")
"""States of the state machine of reads."""


class _Burst:
    """Address generator of one burst: stores its address channel, checks it and steps through its words.

    :meth:`take` stores the address channel in one clock. The checks take two clocks more: the registers must not change
    in the first (state ``CHECK``), and in the second (state ``RANGE``) ``good`` is valid and :meth:`settle` stores the
    last word's address in ``final``. After that the owner adds ``advance`` to ``address`` for each word, or, where a
    beat is narrower than a word, for each beat.

    Parameters
    ----------
    m
        The module to which the logic is added.
    windows
        Address windows of the tables.
    data_bits, id_bits
        Widths of the bus.
    tables
        Tables that allow this direction of access.
    """

    def __init__(
        self, m: Module, windows: WindowParameters, data_bits: int, id_bits: int, tables: tuple[Table, ...]
    ) -> None:
        self._windows = windows
        self._lane_bits = (data_bits // 64).bit_length() - 1
        window_bits = windows.window_bits
        self.id = Signal(id_bits)
        self.address = Signal(windows.address_bits)
        self.size = size = Signal(3)
        self.left = Signal(8)
        self.good = Signal()
        self.final = Signal(window_bits)
        """Address of the burst's last word; of the table's last word if the burst ends beyond its table."""
        self.kind = Signal(2)
        self.wide = Signal(WORD_BITS)
        """Bit ``i``: beats are wider than ``2**i`` bytes. A register, as ``size`` is far from the write strobes."""

        # First clock: where the last beat begins. All beats but the first are aligned to their size, also where the
        # start is not.
        largest = (data_bits // 8).bit_length() - 1
        low = Cat(self.address[i] & (size <= i) for i in range(largest))
        last = Signal(window_bits + 16)
        legal = Signal()
        aligned = ~Cat(self.address[i] & (size > i) for i in range(WORD_BITS)).any()
        m.d.sync += [
            last.eq(Cat(low, self.address[largest:window_bits]) + (self.left << size)),
            legal.eq(aligned & (self.kind == Burst.INCR) & (size <= largest)),
        ]

        # Second clock: compare with the end of the table. Only a beat of several words can begin inside and end
        # outside.
        last_word = last[WORD_BITS:]
        end_word = Signal.like(last_word)
        inside, beyond = Signal(), Signal()
        end_of_table = Signal(window_bits - WORD_BITS)
        m.d.comb += end_word.eq(
            Cat(
                *(last_word[i] | (size > WORD_BITS + i) for i in range(self._lane_bits)),
                last_word[self._lane_bits :],
            )
        )
        with m.Switch(self.table):
            for table in tables:
                words = windows.words(table)
                with m.Case(table):
                    m.d.comb += [
                        inside.eq((last_word < words) & (self.word < words)),
                        beyond.eq(end_word >= words),
                        end_of_table.eq(words - 1),
                    ]
        m.d.comb += self.good.eq(legal & inside)
        self._end = Cat(last[:WORD_BITS], Mux(beyond, end_of_table, end_word))

    def take(self, channel: Mapping[str, Value]) -> list[Any]:
        """Return the statements that store an address channel; ``channel`` maps signal names without prefix ("addr") to
        signals.
        """
        return [
            self.id.eq(channel["id"]),
            self.address.eq(channel["addr"]),
            self.size.eq(channel["size"]),
            self.left.eq(channel["len"]),
            self.kind.eq(channel["burst"]),
        ]

    def settle(self) -> list[Any]:
        """Return the statements that store what follows from the burst, in the clock in which ``good`` is valid."""
        return [self.final.eq(self._end), self.wide.eq(Cat(self.size > i for i in range(WORD_BITS)))]

    @property
    def table(self) -> Value:
        """Number of the table, 3 bits."""
        return self.address[self._windows.window_bits :]

    @property
    def word(self) -> Value:
        """Address of the current word in its table, in words."""
        return self.address[WORD_BITS : self._windows.window_bits]

    @property
    def lane(self) -> Value:
        """Number of the current word among the words of a bus beat of full width."""
        return self.word[: self._lane_bits]

    @property
    def advance(self) -> Value:
        """Bytes from one access to the next, those of a word, or of a beat if beats are narrower."""
        return Mux(self.size >= WORD_BITS, WORD_BYTES, (1 << self.size)[:WORD_BITS])

    @property
    def beat_ends(self) -> Value:
        """Whether the current word is the last one of its beat."""
        return ~Cat(~self.lane[i] & (self.size > WORD_BITS + i) for i in range(self._lane_bits)).any()

    @property
    def at_final(self) -> Value:
        """Whether the current word is the last one of the burst that lies in the table."""
        return self.address[: self._windows.window_bits] == self.final

    @property
    def bytes(self) -> Value:
        """Which of the 8 bytes of the current word belong to the current beat, one bit each."""
        return Cat(
            Cat(self.wide[i] | (self.address[i] == (byte >> i & 1)) for i in range(WORD_BITS)).all()
            for byte in range(WORD_BYTES)
        )


class AxiTables(wiring.Component):
    """AXI4 slave that reads and writes the table windows, one 64-bit word in every clock.

    Illegal bursts: a burst is answered with SLVERR (a read in every beat) and changes nothing if

    - it is not of type INCR, or its beats are wider than the bus;
    - its address is not a multiple of the size of its beats. Beats of several words need only begin at a word; the
      words of the first beat before the start are then not part of the burst;
    - one of its beats begins outside its table;
    - it writes a read-only table or reads a write-only one.

    Ends of tables: a beat of several words may begin inside its table and end beyond it. (A master that has only
    full-width beats cannot avoid that where the table does not end with a whole beat; the shell of AWS F2 has only
    beats of 64 bytes.) Words beyond the end are read as 0. A byte strobe there writes nothing and makes the answer
    SLVERR.

    Strobes: bytes without a strobe keep their value; strobes outside the beat are ignored. ``awlen`` defines the length
    of a write. From a beat whose ``wlast`` disagrees with it, nothing more is written, and the answer is SLVERR.

    Locking: while ``locked`` is high, a write burst in progress writes nothing from then on and is answered with
    SLVERR, and ``refused`` is high for one clock. A read burst in progress answers SLVERR in every beat that is not yet
    valid on the bus, and requests no more words.

    Throughput: one write burst and one read burst can be in progress at a time, and each transfers a word in every
    clock: a beat takes one clock for each of its words, and at least one. From the address of a burst to the next one
    in the same direction it takes ``WRITE_CLOCKS`` (write) or ``READ_CLOCKS`` and the tables' latency (read), plus one
    clock for each word.

    Contract with ``tables``: for a read of a word in every clock, requested words must return within
    ``READS_UNDER_WAY`` - 3 clocks. Every word that was requested must return. Where the tables are reset while words
    are outstanding, this unit must be reset with them.

    Parameters
    ----------
    parameters
        The build: sizes of the tables and width of the bus.
    id_bits
        Width of the bus's transaction identifiers.

    Attributes
    ----------
    bus : in, :class:`beltline.hw.bus.axi.Axi`
        The AXI4 bus.
    locked : in, 1 bit
        The machine is busy: no access to tables.
    refused : out, 1 bit
        High for one clock when a write burst is refused because of ``locked``.
    tables : out, :class:`beltline.hw.bus.ports.TablePort`
        The machine's table port.
    """

    def __init__(self, parameters: MachineParameters, id_bits: int = 4) -> None:
        self.windows = WindowParameters(parameters)
        self.data_bits = parameters.bus_bits
        self.id_bits = id_bits
        super().__init__(
            {
                "bus": In(Axi(self.windows.address_bits, self.data_bits, id_bits)),
                "locked": In(1),
                "refused": Out(1),
                "tables": Out(TablePort(self.windows)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._writes(m)
        self._reads(m)
        return m

    def _channel(self, prefix: str) -> dict[str, Value]:
        return {name: getattr(self.bus, prefix + name) for name in ("id", "addr", "len", "size", "burst")}

    def _writes(self, m: Module) -> None:
        bus = self.bus
        burst = _Burst(m, self.windows, self.data_bits, self.id_bits, WRITABLE)
        data, strobes, last = Signal(self.data_bits), Signal(self.data_bits // 8), Signal()
        failed = Signal()
        past = Signal()
        fails = Signal()
        word_strobes = Signal(WORD_BYTES)
        m.d.comb += [
            word_strobes.eq(strobes.word_select(burst.lane, WORD_BYTES) & burst.bytes),
            self.tables.write_table.eq(burst.table),
            self.tables.write_address.eq(burst.word),
            self.tables.write_data.eq(data.word_select(burst.lane, 64)),
        ]

        def take() -> None:
            m.d.comb += bus.wready.eq(1)
            with m.If(bus.wvalid):
                m.d.sync += [data.eq(bus.wdata), strobes.eq(bus.wstrb), last.eq(bus.wlast)]
                m.next = "STORE"

        with m.FSM(name="write") as fsm:
            # The formal proofs refer to these signals.
            self.writing = {
                "burst": burst,
                "states": {name: fsm.ongoing(name) for name in WRITE_STATES},
                "failed": failed,
                "past": past,
                "data": data,
                "strobes": strobes,
                "last": last,
            }
            with m.State("ADDRESS"):
                m.d.comb += bus.awready.eq(1)
                with m.If(bus.awvalid):
                    m.d.sync += burst.take(self._channel("aw"))
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.next = "RANGE"
            with m.State("RANGE"):
                m.d.comb += self.refused.eq(burst.good & self.locked)
                m.d.sync += [*burst.settle(), failed.eq(~burst.good | self.locked), past.eq(0)]
                m.next = "DATA"
            with m.State("DATA"):
                m.d.comb += self.refused.eq(self.locked & ~failed)
                m.d.sync += failed.eq(failed | self.locked)
                take()
            with m.State("STORE"):
                m.d.comb += [
                    fails.eq(failed | self.locked | (last != (burst.left == 0)) | (past & word_strobes.any())),
                    self.tables.write.eq(Mux(fails | past, 0, word_strobes)),
                    self.refused.eq(self.locked & ~failed),
                ]
                m.d.sync += [
                    failed.eq(fails),
                    past.eq(past | burst.at_final),
                    burst.address.eq(burst.address + burst.advance),
                ]
                with m.If(burst.beat_ends):
                    m.d.sync += burst.left.eq(burst.left - 1)
                    m.next = "DATA"
                    with m.If(burst.left != 0):
                        take()
                    with m.Else():
                        m.d.sync += [
                            bus.bvalid.eq(1),
                            bus.bid.eq(burst.id),
                            bus.bresp.eq(Mux(fails, Response.SLVERR, Response.OKAY)),
                        ]
                        m.next = "RESPOND"
            with m.State("RESPOND"), m.If(bus.bready):
                m.d.sync += bus.bvalid.eq(0)
                m.next = "ADDRESS"

    def _reads(self, m: Module) -> None:
        bus, lanes = self.bus, self.data_bits // 64
        burst = _Burst(m, self.windows, self.data_bits, self.id_bits, READABLE)
        m.submodules.words = words = SyncFIFOBuffered(width=64, depth=READS_UNDER_WAY)
        m.d.comb += [words.w_data.eq(self.tables.read_data), words.w_en.eq(self.tables.read_valid)]

        # Requests to the tables: one word in every clock, as long as the FIFO has space for all outstanding words.
        under_way = Signal(range(READS_UNDER_WAY + 1))
        taken = Signal()
        m.d.comb += taken.eq(words.r_en & words.r_rdy)
        m.d.sync += under_way.eq(under_way + self.tables.read - taken)
        asking = Signal()
        ask = Signal(self.windows.window_bits)
        m.d.comb += [
            self.tables.read.eq(asking & ~self.locked & (under_way != READS_UNDER_WAY)),
            self.tables.read_table.eq(burst.table),
            self.tables.read_address.eq(ask[WORD_BITS:]),
        ]
        with m.If(self.tables.read):
            m.d.sync += ask.eq(ask + burst.advance)
            with m.If(ask == burst.final):
                m.d.sync += asking.eq(0)

        # Answers to the bus: words are collected into a beat, each in its lane.
        begins = Signal()
        free = ~bus.rvalid | bus.rready
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)

        def answer(response: Response) -> None:
            m.d.sync += [
                bus.rvalid.eq(1),
                bus.rresp.eq(response),
                bus.rid.eq(burst.id),
                bus.rlast.eq(burst.left == 0),
                burst.left.eq(burst.left - 1),
            ]
            with m.If(burst.left == 0):
                m.next = "ADDRESS"

        with m.FSM(name="read") as fsm:
            # The formal proofs refer to these signals.
            self.reading = {
                "burst": burst,
                "states": {name: fsm.ongoing(name) for name in READ_STATES},
                "words": words,
                "under_way": under_way,
                "asking": asking,
                "ask": ask,
                "begins": begins,
            }
            with m.State("ADDRESS"):
                m.d.comb += bus.arready.eq(1)
                with m.If(bus.arvalid):
                    m.d.sync += [*burst.take(self._channel("ar")), ask.eq(bus.araddr)]
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.next = "RANGE"
            with m.State("RANGE"):
                m.d.sync += [*burst.settle(), begins.eq(1)]
                m.next = "REFUSE"
                with m.If(burst.good & ~self.locked):
                    m.d.sync += asking.eq(1)
                    m.next = "DELIVER"
            with m.State("DELIVER"):
                with m.If(self.locked):
                    m.d.sync += asking.eq(0)
                    m.next = "DRAIN"
                with m.Else():
                    m.d.comb += words.r_en.eq(free)
                with m.If(taken):
                    m.d.sync += [burst.address.eq(burst.address + burst.advance), begins.eq(burst.beat_ends)]
                    with m.If(begins):
                        m.d.sync += bus.rdata.eq(0)
                    for k in range(lanes):
                        with m.If(burst.lane == k):
                            m.d.sync += bus.rdata[64 * k : 64 * (k + 1)].eq(words.r_data)
                    with m.If(burst.beat_ends | burst.at_final):
                        answer(Response.OKAY)
            with m.State("DRAIN"):
                # Discard the outstanding words: the beats to which they belong are answered with SLVERR.
                m.d.comb += words.r_en.eq(1)
                with m.If(under_way == 0):
                    m.next = "REFUSE"
            with m.State("REFUSE"), m.If(free):
                m.d.sync += bus.rdata.eq(0)
                answer(Response.SLVERR)
