"""Serial slave of registers and tables: receives requests, carries them out and answers them.

:mod:`beltline.hw.bus.serial_frames` defines the frames.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.crc.catalog import CRC32_ISO_HDLC
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.axi_registers import hits
from beltline.hw.bus.ports import RegisterPort, TablePort
from beltline.hw.bus.serial_frames import (
    ANSWER,
    ANSWER_HEADER,
    BLOCK_WORDS,
    CHECK_BYTES,
    HEADER,
    REGISTER_BYTES,
    REQUEST,
    Operation,
    Outcome,
)
from beltline.hw.bus.uart import UartParameters, UartReceiver, UartTransmitter
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import READABLE, WRITABLE, Access, Table
from beltline.hw.interface.windows import WORD_BITS, WORD_BYTES, WindowParameters
from beltline.hw.memory.ram import READ_LATENCY, Ram


class SerialBridge(wiring.Component):
    """Carries out the requests that arrive on a serial line, one at a time, and answers each of them.

    Integrity: a request has no effect before its check was received and found right. The words of a write are buffered
    in a RAM of ``BLOCK_WORDS`` words, so that no word of a damaged request reaches a table. The words of a read are
    sent while they are read; the host finds by the check of the answer whether all arrived.

    Recovery: an incomplete request is discarded when the line has been high for more than ``silence`` clocks. After
    bytes that are not a request, after a request with a wrong check and after a byte that arrives while a request is
    being answered, all bytes are ignored until the line has been high for that long; the next byte then begins a
    request. A byte arrives in the middle of its stop bit, and an answer ends with its last stop bit. A host that
    receives no correct answer therefore waits for ``silence`` clocks and sends the request again.

    Repetition: a write whose tag equals that of the last request with the outcome ``DONE`` is answered with ``DONE``
    and not carried out again. (Otherwise the repetition of a command ``RUN`` whose answer was lost would begin a second
    run.) A host must give consecutive requests different tags, and must begin with a read, as it does not know the last
    tag.

    Locking: while ``locked`` is high, accesses to tables and writes of any register but ``COMMAND`` are refused with
    the outcome ``BUSY``. Contract: ``locked`` does not rise while a request is being carried out. The machine satisfies
    it, since only requests start runs.

    Latency: at most 12 clocks from the last stop bit of a request to the start bit of its answer, and
    ``READ_LATENCY + 2`` (5) more for each word that is written.

    Parameters
    ----------
    machine
        The build.
    uart
        Bit rate of the line.
    silence
        Clocks of a high line after which an incomplete request is discarded; at least 16 bit times.

    Raises
    ------
    ValueError
        ``silence`` is shorter than 16 bit times.

    Attributes
    ----------
    rx : in, 1 bit
        Receive pin, asynchronous to the clock.
    tx : out, 1 bit
        Transmit pin.
    locked : in, 1 bit
        The machine is busy.
    refused : out, 2 bits
        High for one clock when a write is refused because of ``locked``: bit 0 for registers, bit 1 for tables, as in
        :class:`beltline.hw.interface.registers.Refused`.
    registers : out, :class:`beltline.hw.bus.ports.RegisterPort`
        The machine's register port.
    tables : out, :class:`beltline.hw.bus.ports.TablePort`
        The machine's table port.
    """

    def __init__(self, machine: MachineParameters, uart: UartParameters, silence: int) -> None:
        if silence < 16 * uart.divisor:
            raise ValueError(f"silence must be at least 16 bits of {uart.divisor} clocks, not {silence} clocks")
        self.windows = WindowParameters(machine)
        self.uart = uart
        self.silence = silence
        super().__init__(
            {
                "rx": In(1, init=1),
                "tx": Out(1),
                "locked": In(1),
                "refused": Out(2),
                "registers": Out(RegisterPort()),
                "tables": Out(TablePort(self.windows)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        """Build the receiver, the transmitter, the buffer and the state machine that handles a request.

        It is long because it is one state machine: each state has a few lines and shares registers with most others.
        """
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(self.uart)
        m.submodules.transmitter = transmitter = UartTransmitter(self.uart)
        m.submodules.check = check = CRC32_ISO_HDLC(data_width=8).create()
        m.submodules.buffer = buffer = Ram(8 * WORD_BYTES, BLOCK_WORDS)
        m.d.comb += [receiver.rx.eq(self.rx), self.tx.eq(transmitter.tx)]
        byte, heard = receiver.data, receiver.valid

        quiet = Signal(range(self.silence + 1))
        silent = Signal()
        m.d.sync += silent.eq(quiet == self.silence)
        with m.If(~receiver.line):
            m.d.sync += [quiet.eq(0), silent.eq(0)]
        with m.Elif(quiet != self.silence):
            m.d.sync += quiet.eq(quiet + 1)
        deaf = Signal()

        # The request: its header without the first byte, and the last eight bytes of its payload.
        header = Signal(8 * (HEADER.size - 1))
        tag, operation, count, address = header[0:8], header[8:16], header[16:24], header[24:56]
        data = Signal(8 * WORD_BYTES)
        left = Signal(range(WORD_BYTES + 1))
        word = Signal(range(BLOCK_WORDS))
        words = Signal()
        is_write = (operation == Operation.WRITE_REGISTER) | (operation == Operation.WRITE_WORDS)
        legal = self._legal(m, operation, count, address)
        commands = hits(address[2:8], lambda register: register.access is Access.WRITE)
        free = Signal()
        m.d.comb += free.eq(~self.locked | (operation == Operation.READ_REGISTER))
        with m.If((operation == Operation.WRITE_REGISTER) & commands):
            m.d.comb += free.eq(1)

        done_tag, any_done = Signal(8), Signal()
        repeated = Signal()
        m.d.comb += repeated.eq(is_write & any_done & (tag == done_tag))

        # The answer.
        outcome = Signal(Outcome)
        out = Signal(8 * WORD_BYTES)
        last = Signal()
        pending = Signal()
        clocks = Signal(range(READ_LATENCY + 1))

        place = address[WORD_BITS : self.windows.window_bits] + word
        table = address[self.windows.window_bits : self.windows.address_bits]
        m.d.comb += [
            check.data.eq(byte),
            buffer.write_address.eq(word),
            buffer.write_data.eq(Cat(data[8:], byte)),
            buffer.read_address.eq(word),
            self.registers.address.eq(address[2:10]),
            self.registers.write_data.eq(data[32:]),
            self.tables.write_table.eq(table),
            self.tables.write_address.eq(place),
            self.tables.write_data.eq(buffer.read_data),
            self.tables.read_table.eq(table),
            self.tables.read_address.eq(place),
            transmitter.data.payload.eq(out[:8]),
        ]

        with m.FSM() as fsm:
            with m.State("IDLE"), m.If(heard & ~deaf):
                m.d.comb += [check.start.eq(1), check.valid.eq(1)]
                m.d.sync += left.eq(HEADER.size - 1)
                m.next = "HEADER"
                with m.If(byte != REQUEST):
                    m.d.sync += deaf.eq(1)
                    m.next = "IDLE"
            with m.State("HEADER"):
                with m.If(heard):
                    m.d.comb += check.valid.eq(1)
                    m.d.sync += [header.eq(Cat(header[8:], byte)), left.eq(left - 1), word.eq(0)]
                    with m.If(left == 1):
                        # The last byte of the header is not yet shifted in, so the operation is one byte higher.
                        asked = header[16:24]
                        m.d.sync += [left.eq(CHECK_BYTES), words.eq(asked == Operation.WRITE_WORDS)]
                        m.next = "CHECK"
                        with m.If(asked == Operation.WRITE_REGISTER):
                            m.d.sync += left.eq(REGISTER_BYTES)
                            m.next = "PAYLOAD"
                        with m.Elif(asked == Operation.WRITE_WORDS):
                            m.d.sync += left.eq(WORD_BYTES)
                            m.next = "PAYLOAD"
                with m.Elif(silent):
                    m.next = "IDLE"
            with m.State("PAYLOAD"):
                with m.If(heard):
                    m.d.comb += check.valid.eq(1)
                    m.d.sync += [data.eq(Cat(data[8:], byte)), left.eq(left - 1)]
                    with m.If(left == 1):
                        m.d.comb += buffer.write.eq(words)
                        m.d.sync += [word.eq(word + 1), left.eq(WORD_BYTES)]
                        with m.If(~words | (word == count)):
                            m.d.sync += [word.eq(0), left.eq(CHECK_BYTES)]
                            m.next = "CHECK"
                with m.Elif(silent):
                    m.next = "IDLE"
            with m.State("CHECK"):
                with m.If(heard):
                    m.d.comb += check.valid.eq(1)
                    m.d.sync += left.eq(left - 1)
                    with m.If(left == 1):
                        m.next = "DECIDE"
                with m.Elif(silent):
                    m.next = "IDLE"
            with m.State("DECIDE"):
                m.next = "REPORT"
                with m.If(~check.match_detected):
                    m.d.sync += [outcome.eq(Outcome.DAMAGED), deaf.eq(1)]
                with m.Elif(~legal):
                    m.d.sync += outcome.eq(Outcome.ILLEGAL)
                with m.Elif(repeated):
                    m.d.sync += outcome.eq(Outcome.DONE)
                with m.Elif(~free):
                    m.d.sync += outcome.eq(Outcome.BUSY)
                    m.d.comb += self.refused.eq(
                        Cat(operation == Operation.WRITE_REGISTER, operation == Operation.WRITE_WORDS)
                    )
                with m.Else():
                    m.d.sync += [outcome.eq(Outcome.DONE), done_tag.eq(tag), any_done.eq(1)]
                    with m.If(operation == Operation.WRITE_REGISTER):
                        m.d.comb += self.registers.write.eq(1)
                    with m.Elif(operation == Operation.WRITE_WORDS):
                        m.next = "LOOK"
            with m.State("LOOK"):
                # The buffer delivers the word READ_LATENCY clocks after its address.
                m.d.sync += clocks.eq(clocks + 1)
                with m.If(clocks == READ_LATENCY):
                    m.d.sync += clocks.eq(0)
                    m.next = "STORE"
            with m.State("STORE"):
                m.d.comb += self.tables.write.eq(-1)
                m.d.sync += word.eq(word + 1)
                m.next = "LOOK"
                with m.If(word == count):
                    m.next = "REPORT"
            with m.State("REPORT"):
                m.d.comb += check.start.eq(1)
                m.d.sync += [
                    out.eq(Cat(Const(ANSWER, 8), tag, outcome)),
                    left.eq(ANSWER_HEADER.size),
                    last.eq(0),
                    word.eq(0),
                    pending.eq(~is_write & (outcome == Outcome.DONE)),
                ]
                m.next = "SEND"
            with m.State("FETCH"):
                # The register's data are already valid, as its address has not changed since the header arrived.
                m.d.comb += self.tables.read.eq(operation == Operation.READ_WORDS)
                m.d.sync += [out.eq(self.registers.read_data), left.eq(REGISTER_BYTES), pending.eq(0)]
                m.next = "SEND"
                with m.If(operation == Operation.READ_WORDS):
                    m.next = "AWAIT"
            with m.State("AWAIT"), m.If(self.tables.read_valid):
                m.d.sync += [
                    out.eq(self.tables.read_data),
                    left.eq(WORD_BYTES),
                    word.eq(word + 1),
                    pending.eq(word != count),
                ]
                m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += [transmitter.data.valid.eq(left != 0), check.data.eq(out[:8])]
                with m.If(left == 0):
                    # The last byte of the answer has been sent when the transmitter is ready for another.
                    with m.If(last), m.If(transmitter.data.ready):
                        m.next = "IDLE"
                    with m.Elif(pending):
                        m.next = "FETCH"
                    with m.Else():
                        m.d.sync += [out.eq(check.crc), left.eq(CHECK_BYTES), last.eq(1)]
                with m.Elif(transmitter.data.ready):
                    m.d.comb += check.valid.eq(~last)
                    m.d.sync += [out.eq(out[8:]), left.eq(left - 1)]

        receiving = Cat(fsm.ongoing(name) for name in ("IDLE", "HEADER", "PAYLOAD", "CHECK")).any()
        with m.If(heard & ~receiving):
            m.d.sync += deaf.eq(1)
        with m.If(silent):
            m.d.sync += deaf.eq(0)
        return m

    def _legal(self, m: Module, operation: Value, count: Value, address: Value) -> Signal:
        """Return whether the operation may access ``count + 1`` words at ``address``; valid two clocks after these are.

        Parameters
        ----------
        m
            The module to which the logic is added.
        operation, count, address
            Fields of the request's header, of 8, 8 and 32 bits.

        Returns
        -------
        Signal
            One bit, a register.
        """
        windows = self.windows
        word = address[WORD_BITS : windows.window_bits]
        last = Signal(windows.window_bits)
        m.d.sync += last.eq(word + count)

        def within(tables: tuple[Table, ...]) -> Value:
            here = address[windows.window_bits :]
            ends = [(here == table) & (last < windows.words(table)) for table in tables]
            return ~address[:WORD_BITS].any() & Cat(*ends).any()

        def register(access: Access) -> Value:
            found = hits(address[2:], lambda r: r.access in (access, Access.READ_WRITE))
            return ~address[:2].any() & found & (count == 0)

        legal = Signal()
        with m.Switch(operation):
            for case, verdict in (
                (Operation.READ_REGISTER, register(Access.READ)),
                (Operation.WRITE_REGISTER, register(Access.WRITE)),
                (Operation.READ_WORDS, within(READABLE)),
                (Operation.WRITE_WORDS, within(WRITABLE)),
            ):
                with m.Case(case):
                    m.d.sync += legal.eq(verdict)
            with m.Default():
                m.d.sync += legal.eq(0)
        return legal
