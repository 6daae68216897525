# amaranth: UnusedElaboratable=no
"""Proofs that the AXI slaves obey the rules of the bus, whatever a master does that obeys them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from amaranth.asserts import AnyConst, AnySeq
from amaranth.hdl import Assume, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.bus import axi_tables
from beltline.hw.bus.axi import Axi, AxiLite, Response
from beltline.hw.bus.axi import Burst as Kind
from beltline.hw.bus.axi_registers import ADDRESS_BITS, AxiRegisters
from beltline.hw.bus.axi_tables import AxiTables
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import READABLE, REGISTERS, WRITABLE, Access, Table
from beltline.hw.interface.windows import WindowParameters
from support.formal import before, formal_module, must, prove, unchanged

pytestmark = [pytest.mark.gateware, pytest.mark.slow]

ANSWER_CLOCKS = 4
"""Clocks within which AXI4-Lite is answered, without those in which the master does not accept the answer of a read."""


class RegistersProof(wiring.Component):
    """The slave with free inputs, except that a master keeps what it offers until it is accepted, as AXI requires."""

    def __init__(self) -> None:
        super().__init__({"bus": In(AxiLite(ADDRESS_BITS)), "locked": In(1), "read_data": In(32)})

    def elaborate(self, platform: object) -> Module:
        m = formal_module()
        dut = AxiRegisters()
        m.submodules.dut = dut.elaborate(platform)
        bus = dut.bus
        wiring.connect(m, wiring.flipped(self.bus), dut.bus)
        m.d.comb += [dut.locked.eq(self.locked), dut.registers.read_data.eq(self.read_data)]
        m.d.comb += [
            Assume(unchanged(m, bus.awvalid, bus.awready, bus.awaddr)),
            Assume(unchanged(m, bus.wvalid, bus.wready, Cat(bus.wdata, bus.wstrb))),
            Assume(unchanged(m, bus.arvalid, bus.arready, bus.araddr)),
        ]
        must(
            m,
            keep_the_response=unchanged(m, bus.bvalid, bus.bready, bus.bresp),
            keep_the_data=unchanged(m, bus.rvalid, bus.rready, Cat(bus.rdata, bus.rresp)),
        )

        # Requests without an answer yet: at most one of each kind, as no other is accepted until then.
        aw, w, ar = Signal(), Signal(), Signal()
        address, read_address = Signal(ADDRESS_BITS), Signal(ADDRESS_BITS)
        data, strobes = Signal(32), Signal(4)
        written, refused = Signal(), Signal()
        with m.If(bus.bvalid & bus.bready):
            m.d.sync += [aw.eq(0), w.eq(0), written.eq(0), refused.eq(0)]
        with m.If(bus.rvalid & bus.rready):
            m.d.sync += ar.eq(0)
        with m.If(bus.awvalid & bus.awready):
            m.d.sync += [aw.eq(1), address.eq(bus.awaddr)]
        with m.If(bus.wvalid & bus.wready):
            m.d.sync += [w.eq(1), data.eq(bus.wdata), strobes.eq(bus.wstrb)]
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [ar.eq(1), read_address.eq(bus.araddr)]
        must(
            m,
            take_an_address_at_a_time=bus.awready == ~aw,
            take_data_at_a_time=bus.wready == ~w,
            take_a_read_at_a_time=bus.arready == ~ar,
            respond_to_writes_only=~bus.bvalid | (aw & w),
            respond_to_reads_only=~bus.rvalid | ar,
        )

        # A write reaches the registers once, or is refused once, or is illegal; the response tells which.
        def among(number: Signal, *accesses: Access) -> Signal:
            found = Signal()
            words = [r.offset + 4 * k for r in REGISTERS.values() if r.access in accesses for k in range(r.words)]
            m.d.comb += found.eq(Cat(number == word for word in words).any())
            return found

        names_setting, names_command = among(address, Access.READ_WRITE), among(address, Access.WRITE)
        setting, command = names_setting & strobes.all(), names_command & strobes.all()
        readable = among(read_address, Access.READ, Access.READ_WRITE)
        with m.If(dut.registers.write):
            m.d.sync += written.eq(1)
        with m.If(dut.refused):
            m.d.sync += refused.eq(1)
        must(
            m,
            write_once=~(dut.registers.write | dut.refused) | (aw & w & ~bus.bvalid & ~written & ~refused),
            write_or_refuse=~(dut.registers.write & dut.refused),
            write_there=~dut.registers.write | (Cat(dut.registers.address, Const(0, 2)) == address[2:]),
            write_that=~dut.registers.write | (dut.registers.write_data == data),
            write_what_is_legal=~dut.registers.write | command | (setting & ~self.locked),
            refuse_for_the_lock=~dut.refused | (setting & self.locked),
            say_okay=~bus.bvalid | (bus.bresp == Mux(written, Response.OKAY, Response.SLVERR)),
            flag_a_refusal=~bus.bvalid | (refused == (setting & ~written)),
            take_commands=~bus.bvalid | ~command | written,
        )

        # A read returns what the register file returned in the clock before, and 0 for registers that cannot be read.
        begins = bus.rvalid & ~before(m, bus.rvalid)
        asked = before(m, before(m, Cat(dut.registers.address, 0, 0) == read_address[2:]))
        must(
            m,
            read_that=~begins | ~readable | ((bus.rdata == before(m, self.read_data)) & asked),
            read_what_is_legal=~bus.rvalid | (bus.rresp == Mux(readable, Response.OKAY, Response.SLVERR)),
            read_nothing_else=~bus.rvalid | readable | (bus.rdata == 0),
        )

        # Every request is answered within a few clocks, even if requests of the other kind keep arriving.
        state = dut.states
        stalls = (bus.rvalid & ~bus.rready) | (bus.bvalid & ~bus.bready)
        for name, asks, answers, slow in (
            ("write", aw & w, bus.bvalid, {"READ": 0, "DELIVER": 1, "IDLE": 2, "WRITE": 3}),
            ("read", ar, bus.rvalid, {"IDLE": 0, "WRITE": 1, "RESPOND": 2, "READ": 3}),
        ):
            waits = Signal(4)
            with m.If(~asks | answers):
                m.d.sync += waits.eq(0)
            with m.Elif(~stalls):
                m.d.sync += waits.eq(waits + 1)
            must(m, **{f"answer_a_{name}_soon": waits <= ANSWER_CLOCKS})
            must(m, **{f"answer_a_{name}_soon_{s}": ~state[s] | (waits <= clocks) for s, clocks in slow.items()})

        # Invariants that make the proof inductive.
        must(
            m,
            state=Cat(*state.values()).any(),
            state_respond=bus.bvalid == state["RESPOND"],
            state_deliver=bus.rvalid == state["DELIVER"],
            state_read=~state["READ"] | ar,
            state_written=bus.bvalid | ~(written | refused),
            held_write=~aw | (dut.stored["write"] == address),
            held_setting=~aw | (dut.stored["setting"] == names_setting),
            held_command=~aw | (dut.stored["command"] == names_command),
            held_data=~w | ((dut.registers.write_data == data) & (dut.stored["strobes"] == strobes)),
            held_read=~ar | (dut.stored["read"] == read_address),
        )
        return m


def test_registers_keep_the_rules_for_ever(tmp_path: Path) -> None:
    prove(tmp_path, RegistersProof(), depth=12, induction=True)


class Burst:
    """The bytes of a burst by the specification of AXI, computed in another way than in the slave.

    ``begin`` is high when an address is accepted, and ``beat`` when one of its beats is done. ``lowest`` is the first
    byte of the present beat, and ``left`` the number of beats that remain.
    """

    def __init__(
        self, m: Module, windows: WindowParameters, bus: Any, prefix: str, tables: tuple[Table, ...], begin: Value
    ) -> None:
        self.bus_bytes = len(bus.wdata) // 8
        self.window_bits = window_bits = windows.window_bits
        self.beat = Signal()
        self.start, self.table, self.size, self.kind = Signal(window_bits), Signal(3), Signal(3), Signal(2)
        self.identifier = Signal.like(getattr(bus, f"{prefix}id"))
        self.end = Signal(window_bits + 1)
        self.lowest, self.last = Signal(window_bits + 16), Signal(window_bits + 16)
        self.left = Signal(9)
        self.legal = Signal()
        self.largest = self.bus_bytes.bit_length() - 1
        self.step = (Const(1, 8) << self.size)[:8]

        address, length, size = (getattr(bus, f"{prefix}{name}") for name in ("addr", "len", "size"))
        first = address[:window_bits]
        below = Signal(window_bits)
        m.d.comb += below.eq(self.floor(first, size))
        end = Signal.like(self.end)
        with m.Switch(address[window_bits:]):
            for table in tables:
                with m.Case(table):
                    m.d.comb += end.eq(8 * windows.words(table))
        last = below + (length << size)
        with m.If(begin):
            m.d.sync += [
                self.start.eq(first),
                self.table.eq(address[window_bits:]),
                self.size.eq(size),
                self.kind.eq(getattr(bus, f"{prefix}burst")),
                self.identifier.eq(getattr(bus, f"{prefix}id")),
                self.end.eq(end),
                self.lowest.eq(below),
                self.last.eq(last),
                self.left.eq(length + 1),
                self.legal.eq(
                    (getattr(bus, f"{prefix}burst") == Kind.INCR)
                    & (size <= self.largest)
                    & (self.word_floor(first, size) == first)
                    & (first < end)
                    & (last < end)
                ),
            ]
        with m.Elif(self.beat):
            m.d.sync += [self.left.eq(self.left - 1), self.lowest.eq(self.lowest + self.step)]

    @staticmethod
    def floor(byte: Value, size: Value, most: int = 7) -> Value:
        """Return the largest multiple of ``1 << min(size, most)`` that is at most ``byte``."""
        return Cat(*(byte[i] & (size <= i) for i in range(most)), byte[most:])

    @classmethod
    def word_floor(cls, byte: Value, size: Value) -> Value:
        return cls.floor(byte, size, 3)

    @property
    def advance(self) -> Value:
        return Mux(self.size < 3, self.step, 8)

    @property
    def final(self) -> Value:
        """Return the address of the last word, or of the last beat if beats are smaller than words."""
        whole = self.last | (self.step - 1)[:7]
        clipped = Mux(whole >= self.end, self.end - 1, whole)
        return Mux(self.size < 3, self.last, self.floor(clipped, Const(3, 3)))

    def from_start(self, lowest: Value) -> Value:
        return Mux(lowest < self.start, self.start, lowest)

    def covers(self, lowest: Value, byte: Value) -> Value:
        """Return whether the beat at ``lowest`` contains this byte, given by table and address in the window."""
        place = byte[: self.window_bits]
        return (
            (byte[self.window_bits :] == self.table) & (place >= self.from_start(lowest)) & (place < lowest + self.step)
        )

    def inside(self, byte: Value) -> Value:
        return byte[: self.window_bits] < self.end

    def beyond(self, lowest: Value) -> Value:
        """Return a flag for each byte of the bus: it belongs to the beat at ``lowest`` and lies beyond the table."""
        places = [Cat(Const(k, self.largest), lowest[self.largest :]) for k in range(self.bus_bytes)]
        return Cat((p >= self.end) & (p >= lowest) & (p < lowest + self.step) for p in places)

    def well_formed(self) -> Value:
        """Return what holds for every legal burst."""
        return ~self.legal | (
            (self.kind == Kind.INCR)
            & (self.size <= self.largest)
            & (self.word_floor(self.start, self.size) == self.start)
            & (self.floor(self.lowest, self.size) == self.lowest)
            & (self.floor(self.last, self.size) == self.last)
            & (self.start < self.end)
            & (self.last < self.end)
            & (self.floor(self.start, self.size) <= self.last)
            & ((self.end & 7) == 0)
            & (self.end <= 1 << self.window_bits)
        )

    def is_taken_by(self, burst: Any) -> Value:
        """Return whether the slave has stored the burst as it was requested."""
        return (
            (burst.address == Cat(self.start, self.table))
            & (burst.kind == self.kind)
            & (self.lowest == self.floor(self.start, self.size))
            & (self.last == self.lowest + (burst.left << self.size))
        )

    def is_at(self, burst: Any, lowest: Value) -> Value:
        """Return whether the slave is in the beat at ``lowest``."""
        address = burst.address[: self.window_bits]
        return (
            (burst.table == self.table)
            & (burst.final == self.final)
            & (burst.wide == Cat(self.size > i for i in range(3)))
            & (lowest + (burst.left << self.size) == self.last)
            & (self.floor(lowest, self.size) == lowest)
            & (address >= self.from_start(lowest))
            & (address < lowest + self.step)
            & (self.word_floor(address, self.size) == address)
        )


class TablesProof(wiring.Component):
    """One side of the slave, for writes or for reads.

    Tables answer after ``latency`` clocks. The proof knows the contents of one word, at any address. All other inputs
    are free, except that a master keeps what it offers until it is accepted, as AXI requires.
    """

    def __init__(self, data_bits: int, latency: int = 1) -> None:
        self.parameters, self.data_bits, self.latency = MachineParameters(4, 1, 5, data_bits), data_bits, latency
        self.windows = WindowParameters(self.parameters)
        super().__init__({"bus": In(Axi(self.windows.address_bits, data_bits, id_bits=1)), "locked": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = formal_module()
        dut = AxiTables(self.parameters, id_bits=1)
        m.submodules.dut = dut.elaborate(None)
        wiring.connect(m, wiring.flipped(self.bus), dut.bus)
        m.d.comb += dut.locked.eq(self.locked)
        byte = Signal(self.windows.address_bits)
        m.d.comb += byte.eq(AnyConst(len(byte)))
        self.claim(m, dut, byte)
        return m

    def claim(self, m: Module, dut: AxiTables, byte: Signal) -> None:
        raise NotImplementedError


def address_payload(bus: Any, prefix: str) -> Value:
    return Cat(*(getattr(bus, prefix + name) for name in ("id", "addr", "len", "size", "burst")))


class WritesProof(TablesProof):
    """All rules of writes, for bursts of any length."""

    def claim(self, m: Module, dut: AxiTables, byte: Signal) -> None:
        bus = dut.bus
        begin, taken = Signal(), Signal()
        burst = Burst(m, self.windows, bus, "aw", WRITABLE, begin)
        lane_bits = burst.largest
        m.d.comb += [
            Assume(unchanged(m, bus.awvalid, bus.awready, address_payload(bus, "aw"))),
            Assume(unchanged(m, bus.wvalid, bus.wready, Cat(bus.wdata, bus.wstrb, bus.wlast))),
            begin.eq(bus.awvalid & bus.awready),
            taken.eq(bus.wvalid & bus.wready),
            burst.beat.eq(taken),
        ]
        pending, wrong, locked, refused = Signal(), Signal(), Signal(), Signal()
        wanted, written, word = Signal(), Signal(), Signal(8)
        current = Signal.like(burst.lowest)
        with m.If(begin):
            m.d.sync += [signal.eq(0) for signal in (wrong, locked, refused, wanted, written)]
            m.d.sync += pending.eq(1)
        with m.Elif(bus.bvalid & bus.bready):
            m.d.sync += pending.eq(0)
        with m.If(taken):
            m.d.sync += current.eq(burst.lowest)
            with m.If((bus.wlast != (burst.left == 1)) | (bus.wstrb & burst.beyond(burst.lowest)).any()):
                m.d.sync += wrong.eq(1)
            strobed = bus.wstrb.bit_select(byte[:lane_bits], 1)
            with m.If(burst.covers(burst.lowest, byte) & burst.inside(byte) & strobed):
                m.d.sync += [wanted.eq(1), word.eq(bus.wdata.word_select(byte[:lane_bits], 8))]
        # In the clock after a burst's address is accepted, none of its beats has begun.
        began = before(m, begin)
        with m.If(pending & ~began & ~bus.bvalid & self.locked):
            m.d.sync += locked.eq(1)
        with m.If(dut.refused):
            m.d.sync += refused.eq(1)
        hit = Signal()
        m.d.comb += hit.eq(
            (Cat(dut.tables.write_address, dut.tables.write_table) == byte[3:])
            & dut.tables.write.bit_select(byte[:3], 1)
        )
        with m.If(hit):
            m.d.sync += written.eq(1)
        okay = bus.bresp == Response.OKAY
        must(
            m,
            keep_the_response=unchanged(m, bus.bvalid, bus.bready, Cat(bus.bid, bus.bresp)),
            take_a_write_at_a_time=~begin | ~pending,
            take_its_beats_only=~taken | (pending & (burst.left != 0)),
            respond_to_writes_only=~bus.bvalid | (pending & (burst.left == 0) & (bus.bid == burst.identifier)),
            say_okay=~bus.bvalid | (bus.bresp == Mux(burst.legal & ~locked & ~wrong, Response.OKAY, Response.SLVERR)),
            # Each byte that was sent is written once, unchanged, or not at all, and then the response reports an error.
            write_once=~hit | (pending & ~bus.bvalid & wanted & ~written),
            write_what_is_legal=~hit | (burst.legal & ~self.locked & ~locked),
            write_that=~hit | (dut.tables.write_data.word_select(byte[:3], 8) == word),
            lose_no_write=~bus.bvalid | ~okay | (written == wanted),
            # A write that the lock refuses is flagged once; nothing else is flagged.
            refuse_for_the_lock=~dut.refused | (pending & burst.legal & self.locked & ~refused),
            refuse_in_words=~bus.bvalid | (refused == (burst.legal & locked & refused)),
        )

        # Invariants that make the proof inductive: relations between the slave's state and that of ``burst``.
        inner = dut.writing
        state, slave, failed = inner["states"], inner["burst"], inner["failed"]
        moving = state["DATA"] | state["STORE"]
        fresh = state["CHECK"] | state["RANGE"]
        address = slave.address[: self.windows.window_bits]
        here = Mux(state["STORE"], current, burst.lowest)
        beyond = burst.beyond(current)
        spilled = inner["strobes"] & beyond
        visited = Cat(address[:lane_bits] > k for k in range(burst.bus_bytes))
        place = byte[: self.windows.window_bits]
        given = inner["strobes"].bit_select(byte[:lane_bits], 1)
        bad = ~burst.legal | locked | wrong
        lane = slave.lane & Cat(burst.size > 3 + k for k in range(lane_bits - 3)) if lane_bits > 3 else Const(0, 1)
        waits = Signal(range(self.data_bits // 64 + 4))
        with m.If(pending & ~bus.bvalid & ~bus.wready):
            m.d.sync += waits.eq(waits + 1)
        with m.Else():
            m.d.sync += waits.eq(0)
        must(
            m,
            answer_soon=waits <= self.data_bits // 64 + 2,
            answer_soon_check=~state["CHECK"] | (waits == 0),
            answer_soon_range=~state["RANGE"] | (waits <= 1),
            answer_soon_data=~state["DATA"] | (waits <= 2),
            answer_soon_store=~state["STORE"] | (waits <= lane),
            state=Cat(*state.values()).any(),
            state_pending=pending == ~state["ADDRESS"],
            state_respond=bus.bvalid == state["RESPOND"],
            state_began=began == state["CHECK"],
            burst_well_formed=~pending | burst.well_formed(),
            burst_taken=~fresh | burst.is_taken_by(slave),
            burst_same=~pending | ((slave.size == burst.size) & (slave.id == burst.identifier)),
            burst_left=~(fresh | moving) | (burst.left == slave.left + Mux(state["STORE"], 0, 1)),
            burst_at=~moving | ~burst.legal | burst.is_at(slave, here),
            burst_here=~state["DATA"] | ~burst.legal | (address == burst.from_start(here)),
            burst_current=~state["STORE"] | ~burst.legal | (burst.lowest == current + burst.step),
            nothing_yet=~fresh | ~(wrong | locked | refused | wanted | written),
            past=~moving | ~burst.legal | (inner["past"] == (state["STORE"] & (address > slave.final))),
            failed_data=~state["DATA"] | (failed == bad),
            failed_store=~state["STORE"] | ~failed | bad,
            failing=~state["STORE"]
            | failed
            | (
                burst.legal
                & ~locked
                & ~(spilled & visited).any()
                & (wrong == ((inner["last"] != (slave.left == 0)) | spilled.any()))
            ),
            refused=~refused | (locked & burst.legal),
            wanted=~wanted | ((byte[self.windows.window_bits :] == burst.table) & burst.inside(byte)),
            wanted_taken=~wanted | ~burst.legal | ((place >= burst.start) & (place < burst.lowest)),
            written_wanted=~written | wanted,
            written_passed=~moving | failed | (written == (wanted & (place < address))),
            given=~state["STORE"]
            | failed
            | ~(burst.covers(current, byte) & burst.inside(byte))
            | ((given == wanted) & (~given | (inner["data"].word_select(byte[:lane_bits], 8) == word))),
        )


class Fifo(wiring.Component):
    """Replaces Amaranth's FIFO with the same interface; its words are signals, so that claims can name them."""

    def __init__(self, *, width: int, depth: int) -> None:
        self.slots = [Signal(width, name=f"slot_{k}") for k in range(depth)]
        self.level = Signal(range(depth + 1))
        super().__init__(
            {
                "w_data": In(width),
                "w_en": In(1),
                "w_rdy": Out(1),
                "r_data": Out(width),
                "r_en": In(1),
                "r_rdy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shift = self.r_en & self.r_rdy
        m.d.comb += [
            self.w_rdy.eq(self.level != len(self.slots)),
            self.r_rdy.eq(self.level != 0),
            self.r_data.eq(self.slots[0]),
        ]
        m.d.sync += self.level.eq(self.level + (self.w_en & self.w_rdy) - shift)
        with m.If(shift):
            m.d.sync += [low.eq(high) for low, high in itertools.pairwise(self.slots)]
        place = Signal.like(self.level)
        m.d.comb += place.eq(self.level - shift)
        for k, slot in enumerate(self.slots):
            with m.If(self.w_en & self.w_rdy & (place == k)):
                m.d.sync += slot.eq(self.w_data)
        return m


class ReadsProof(TablesProof):
    """All rules of reads, for bursts of any length."""

    def claim(self, m: Module, dut: AxiTables, byte: Signal) -> None:
        bus = dut.bus
        begin, given = Signal(), Signal()
        burst = Burst(m, self.windows, bus, "ar", READABLE, begin)
        # The slave may accept an address while the last beat of the previous burst, ``old``, waits for the master.
        old, pending, old_identifier = Signal(), Signal(), Signal()
        m.d.comb += [
            Assume(unchanged(m, bus.arvalid, bus.arready, address_payload(bus, "ar"))),
            begin.eq(bus.arvalid & bus.arready),
            given.eq(bus.rvalid & bus.rready),
            burst.beat.eq(given & ~old),
            pending.eq(burst.left != 0),
        ]
        with m.If(begin):
            m.d.sync += [old_identifier.eq(burst.identifier), old.eq(bus.rvalid & ~bus.rready)]
        with m.Elif(given):
            m.d.sync += old.eq(0)
        fresh = bus.rvalid & ~old

        content = Signal(64)
        m.d.comb += content.eq(AnyConst(64))
        asked = Cat(dut.tables.read_address, dut.tables.read_table) == byte[3:]
        # Answers of the tables by age in clocks: whether there is one, and its word.
        flight = [(dut.tables.read, Mux(asked, content, AnySeq(64)))]
        for _ in range(self.latency):
            flight.append((before(m, flight[-1][0]), before(m, flight[-1][1])))
        m.d.comb += [dut.tables.read_valid.eq(flight[-1][0]), dut.tables.read_data.eq(flight[-1][1])]

        locked, was_refused = Signal(), Signal()
        began = before(m, begin)
        okay = bus.rresp == Response.OKAY
        with m.If(begin):
            m.d.sync += [locked.eq(0), was_refused.eq(0)]
        with m.Else():
            with m.If(self.locked & pending & ~began):
                m.d.sync += locked.eq(1)
            with m.If(fresh & ~okay):
                m.d.sync += was_refused.eq(1)
        lane_bits = burst.largest
        shown = bus.rdata.word_select(byte[:lane_bits], 8)
        known = content.word_select(byte[:3], 8)
        must(
            m,
            keep_the_data=unchanged(m, bus.rvalid, bus.rready, Cat(bus.rid, bus.rdata, bus.rresp, bus.rlast)),
            take_a_read_at_a_time=~begin | ~pending | ((burst.left == 1) & fresh),
            take_no_third_read=~begin | ~old,
            respond_to_reads_only=~bus.rvalid | old | pending,
            name_the_request=~bus.rvalid | (bus.rid == Mux(old, old_identifier, burst.identifier)),
            end_with_rlast=~bus.rvalid | (bus.rlast == (old | (burst.left == 1))),
            say_nothing_else=~bus.rvalid | okay | (bus.rresp == Response.SLVERR),
            ask_what_is_legal=~dut.tables.read | (pending & burst.legal & ~self.locked & ~locked),
            ask_inside=~dut.tables.read | (Cat(Const(0, 3), dut.tables.read_address) < burst.end),
            read_what_is_legal=~fresh | ~okay | burst.legal,
            refuse_for_a_reason=~fresh | okay | ~burst.legal | locked,
            refuse_the_rest=~fresh | ~was_refused | ~okay,
            read_nothing_else=~bus.rvalid | okay | (bus.rdata == 0),
            # Each byte of a beat is that of the table, or 0 beyond its end.
            read_that=~fresh | ~okay | ~burst.covers(burst.lowest, byte) | (shown == Mux(burst.inside(byte), known, 0)),
        )

        # Invariants that make the proof inductive: relations between the slave's state and that of ``burst``.
        inner = dut.reading
        state, slave, words = inner["states"], inner["burst"], inner["words"]
        under_way, asking, ask, begins = (inner[name] for name in ("under_way", "asking", "ask", "begins"))
        window_bits = self.windows.window_bits
        address = slave.address[:window_bits]
        deliver = state["DELIVER"]
        new = state["CHECK"] | state["RANGE"]
        here = Signal.like(burst.lowest)
        m.d.comb += here.eq(burst.lowest + Mux(fresh, burst.step, 0))
        next_ask = Signal(window_bits + 8)
        m.d.comb += next_ask.eq(address + (under_way << Mux(burst.size < 3, burst.size[:2], 3)))
        flying = [valid for valid, _ in flight[1:]]
        place = byte[:window_bits]

        def is_word(position: Value) -> Value:
            """Return whether the known word is this number of places after the next word that the bus takes."""
            word = address + (position << Mux(burst.size < 3, burst.size[:2], 3))
            return (byte[3:window_bits] == word[3:window_bits]) & (byte[window_bits:] == burst.table)

        held = [~(words.level > k) | ~is_word(Const(k, 4)) | (slot == content) for k, slot in enumerate(words.slots)]
        # Words that tables have not returned yet follow those in the FIFO, the oldest first.
        behind = words.level
        for valid, word in reversed(flight[1:]):
            held.append(~valid | ~is_word(behind) | (word == content))
            behind = behind + valid
        must(
            m,
            state=Cat(*state.values()).any(),
            state_began=began == state["CHECK"],
            state_idle=~(state["ADDRESS"] | new | state["REFUSE"]) | (~asking & (under_way == 0)),
            state_drain=~state["DRAIN"] | ~asking,
            state_legal=~deliver | (burst.legal & ~locked),
            state_refused=~(state["DRAIN"] | state["REFUSE"]) | ~burst.legal | locked,
            state_new=~new | (~fresh & ~was_refused & ~locked),
            state_old=~old | (bus.rvalid & ~state["ADDRESS"]),
            left=burst.left == Mux(state["ADDRESS"], 0, slave.left + 1) + fresh,
            last=~fresh | (bus.rlast == state["ADDRESS"]),
            burst_well_formed=~pending | burst.well_formed(),
            burst_taken=~new | (burst.is_taken_by(slave) & (ask == burst.start)),
            burst_same=state["ADDRESS"] | ((slave.size == burst.size) & (slave.id == burst.identifier)),
            burst_at=~deliver | (burst.is_at(slave, here) & (address <= slave.final)),
            begins=~deliver | (begins == (address == burst.from_start(here))),
            begins_alone=~deliver | ~bus.rvalid | begins,
            refused_only_at_the_end=~(was_refused | (fresh & ~okay)) | state["REFUSE"] | state["ADDRESS"],
            count=(under_way == words.level + sum(flying)) & (under_way <= axi_tables.READS_UNDER_WAY),
            ask_next=~deliver | (ask == next_ask[:window_bits]),
            ask_more=~deliver | ~asking | (next_ask <= slave.final),
            ask_no_more=~deliver | asking | (next_ask == slave.final + burst.advance),
            hold_those_words=~deliver | Cat(*held).all(),
            gather=~deliver
            | begins
            | ~burst.covers(here, byte)
            | (shown == Mux(place < Cat(Const(0, 3), address[3:]), known, 0)),
            gather_word=~deliver | begins | (burst.size > 3),
        )


@pytest.mark.parametrize("data_bits", [64, 128])
def test_writes_of_tables_keep_the_rules_for_ever(tmp_path: Path, data_bits: int) -> None:
    prove(tmp_path, WritesProof(data_bits), depth=3, induction=True, options="--syn")


@pytest.mark.parametrize("data_bits", [64, 128])
def test_reads_of_tables_keep_the_rules_for_ever(
    tmp_path: Path, data_bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(axi_tables, "SyncFIFOBuffered", Fifo)
    monkeypatch.setattr(axi_tables, "READS_UNDER_WAY", 4)
    prove(tmp_path, ReadsProof(data_bits), depth=3, induction=True)


@pytest.mark.parametrize(
    ("proof", "mistake", "broken"),
    [
        (WritesProof, ("_Burst.bytes", property(lambda _: Const(0xFF, 8))), "write_once"),
        (ReadsProof, ("READABLE", tuple(Table)), "ask_what_is_legal"),
    ],
)
def test_proofs_notice_mistakes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    proof: type[TablesProof],
    mistake: tuple[str, Any],
    broken: str,
) -> None:
    monkeypatch.setattr(axi_tables, "SyncFIFOBuffered", Fifo)
    monkeypatch.setattr(f"beltline.hw.bus.axi_tables.{mistake[0]}", mistake[1])
    with pytest.raises(AssertionError, match=f"trace: {broken}"):
        prove(tmp_path, proof(64), depth=8, induction=False, options="--syn")
