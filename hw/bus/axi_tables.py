"""AXI4 slave in front of the table windows."""

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
"""Words asked of the tables and not yet taken by the master: more than the tables' latency, so that reads stream."""

WRITE_CLOCKS = 5
READ_CLOCKS = 5
"""Clocks of a burst beyond those of :class:`AxiTables`' words: from its address to the next one."""

WRITE_STATES = ("ADDRESS", "CHECK", "RANGE", "DATA", "STORE", "RESPOND")
READ_STATES = ("ADDRESS", "CHECK", "RANGE", "DELIVER", "DRAIN", "REFUSE")


class _Burst:
    """A burst as taken from the bus, what is wrong with it, and where in its table it is.

    ``take`` it, leave it alone for a clock (``CHECK``), and ``settle`` it in the next one (``RANGE``), when ``good``
    tells whether it is legal. Then ``address`` moves on by ``advance``, a word at a time or, where a beat is less than
    a word, a beat at a time.
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
        """The burst's last word, or where it ends beyond its table, the table's last word."""
        self.kind = Signal(2)

        # First clock. The last beat begins where whole beats, which an unaligned start does not shift, put it.
        largest = (data_bits // 8).bit_length() - 1
        low = Cat(self.address[i] & (size <= i) for i in range(largest))
        last = Signal(window_bits + 16)
        legal = Signal()
        aligned = ~Cat(self.address[i] & (size > i) for i in range(WORD_BITS)).any()
        m.d.sync += [
            last.eq(Cat(low, self.address[largest:window_bits]) + (self.left << size)),
            legal.eq(aligned & (self.kind == Burst.INCR) & (size <= largest)),
        ]

        # Second clock. Only a beat of several words can begin inside its table and end outside.
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
        """What to do when an address is accepted, ``channel`` being its signals less their prefix."""
        return [
            self.id.eq(channel["id"]),
            self.address.eq(channel["addr"]),
            self.size.eq(channel["size"]),
            self.left.eq(channel["len"]),
            self.kind.eq(channel["burst"]),
        ]

    def settle(self) -> list[Any]:
        return [self.final.eq(self._end)]

    @property
    def table(self) -> Value:
        return self.address[self._windows.window_bits :]

    @property
    def word(self) -> Value:
        return self.address[WORD_BITS : self._windows.window_bits]

    @property
    def lane(self) -> Value:
        """The word's place in a beat."""
        return self.word[: self._lane_bits]

    @property
    def advance(self) -> Value:
        return Mux(self.size >= WORD_BITS, WORD_BYTES, (1 << self.size)[:WORD_BITS])

    @property
    def beat_ends(self) -> Value:
        """Whether this word is the last of a beat."""
        return ~Cat(~self.lane[i] & (self.size > WORD_BITS + i) for i in range(self._lane_bits)).any()

    @property
    def at_final(self) -> Value:
        return self.address[: self._windows.window_bits] == self.final

    @property
    def bytes(self) -> Value:
        """Which bytes of the word belong to the beat."""
        return Cat(
            Cat((self.size > i) | (self.address[i] == (byte >> i & 1)) for i in range(WORD_BITS)).all()
            for byte in range(WORD_BYTES)
        )


class AxiTables(wiring.Component):
    """Turns AXI4 bursts into accesses of the table windows, one 64-bit word a clock.

    A burst answers SLVERR, in every beat if it is a read, and changes nothing when it is not INCR, has beats wider than
    the bus, begins at no multiple of its beats' size, has a beat that begins outside its table, writes what can only
    be read or reads what can only be written. Beats of several words need only begin at a word: what lies before the
    start is no part of the burst. Such a beat may also end beyond its table, as it must on a bus of whole beats when
    the table has not as many words: there it reads 0, and a strobe there writes nothing and answers SLVERR. (The shell
    of AWS F2 has no beats but those of 64 bytes.) Bytes without strobe keep what they held. Strobes outside the beat
    are ignored. The length counts, not ``wlast``; where they differ nothing is written from then on, and the answer is
    SLVERR.

    A write that is under way while ``locked`` answers SLVERR, too: nothing of it is written from then on, and
    ``refused`` is high for one clock. A read that is under way while ``locked`` answers SLVERR in every beat that is
    not yet offered, and asks for nothing more.

    One write burst and one read burst can be under way at a time, and each moves a word a clock: a beat takes a clock
    for each of its words, at least one. The next write's address is taken ``WRITE_CLOCKS`` and a clock for each word
    after the last, the next read's ``READ_CLOCKS``, the tables' latency and a clock for each word.

    Words that are asked of ``tables`` must come within ``READS_UNDER_WAY`` - 3 clocks if reads are to stream. Whatever
    else is reset then, they must come, or this must be reset with it.
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
            # The proofs look at these.
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

        # Asking: one word a clock while there is room for what is under way.
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

        # Answering: words gather in the lanes of a beat.
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
            # The proofs look at these.
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
                # The words that are under way belong to beats that are refused.
                m.d.comb += words.r_en.eq(1)
                with m.If(under_way == 0):
                    m.next = "REFUSE"
            with m.State("REFUSE"), m.If(free):
                m.d.sync += bus.rdata.eq(0)
                answer(Response.SLVERR)
