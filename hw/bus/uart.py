"""Receiver and transmitter of an asynchronous serial line: eight bits, low bit first, no parity, one stop bit."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.serial_frames import BYTE_BITS

DIVISOR_LEAST = 4
"""Least number of clocks per bit."""

TOLERANCE = 0.02
"""Largest relative error of the bit rate: half of what a receiver tolerates that samples in the middle of a bit."""


@dataclass(frozen=True)
class UartParameters:
    """Bit rate of a serial line.

    Parameters
    ----------
    divisor
        Clocks per bit, at least 4.

    Raises
    ------
    ValueError
        ``divisor`` is less than 4.
    """

    divisor: int

    def __post_init__(self) -> None:
        if self.divisor < DIVISOR_LEAST:
            raise ValueError(f"divisor of a serial line must be at least {DIVISOR_LEAST} clocks, not {self.divisor}")

    @classmethod
    def of(cls, clock_hz: int, baud: int) -> UartParameters:
        """Return parameters with the integer divisor whose rate is nearest to ``baud`` bits per second.

        Parameters
        ----------
        clock_hz
            Clock frequency in Hz.
        baud
            Bits per second.

        Raises
        ------
        ValueError
            The nearest rate differs from ``baud`` by more than 2%, or the divisor is less than 4.
        """
        divisor = round(clock_hz / baud) if baud > 0 else 0
        if divisor < DIVISOR_LEAST or abs(clock_hz / divisor / baud - 1) > TOLERANCE:
            raise ValueError(
                f"baud of a serial line must be, within {TOLERANCE:.0%}, a clock of {clock_hz} Hz divided by a whole "
                f"number of at least {DIVISOR_LEAST}, not {baud}"
            )
        return cls(divisor)


class UartReceiver(wiring.Component):
    """Receiver of a serial line: turns the bits on ``rx`` into bytes.

    Each bit is sampled once, in its middle, as timed from the falling edge of the start bit. A start bit that is no
    longer low in its middle is ignored as a glitch. A byte whose stop bit is low is dropped; the receiver then waits
    for a high line before it accepts a start bit.

    Throughput: one byte in ``10 * divisor`` clocks. Contract: the output has no ``ready``; a byte is valid for one
    clock and must be taken in it.

    Attributes
    ----------
    rx : in, 1 bit
        The pin, asynchronous to the clock.
    data : out, 8 bits
        The byte, while ``valid`` is high.
    valid : out, 1 bit
        High for one clock, in the middle of the stop bit.
    line : out, 1 bit
        ``rx``, synchronised to the clock: two clocks later.
    """

    def __init__(self, parameters: UartParameters) -> None:
        self.parameters = parameters
        super().__init__({"rx": In(1, init=1), "data": Out(8), "valid": Out(1), "line": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        divisor = self.parameters.divisor
        m.submodules.synchronizer = FFSynchronizer(self.rx, self.line, init=1)
        timer = Signal(range(divisor))
        left = Signal(range(9))
        sample = Signal()
        m.d.comb += sample.eq(timer == 0)
        m.d.sync += timer.eq(timer - 1)
        with m.If(sample):
            m.d.sync += timer.eq(divisor - 1)
        with m.FSM():
            with m.State("IDLE"), m.If(~self.line):
                m.d.sync += timer.eq(divisor // 2 - 1)
                m.next = "START"
            with m.State("START"), m.If(sample):
                m.d.sync += left.eq(8)
                m.next = "DATA"
                with m.If(self.line):
                    m.next = "IDLE"
            with m.State("DATA"), m.If(sample):
                m.d.sync += [self.data.eq(Cat(self.data[1:], self.line)), left.eq(left - 1)]
                with m.If(left == 1):
                    m.next = "STOP"
            with m.State("STOP"), m.If(sample):
                m.d.comb += self.valid.eq(self.line)
                m.next = "IDLE"
                with m.If(~self.line):
                    m.next = "BREAK"
            with m.State("BREAK"), m.If(self.line):
                m.next = "IDLE"
        return m


class UartTransmitter(wiring.Component):
    """Transmitter of a serial line: sends bytes on ``tx``.

    Throughput: one byte in ``10 * divisor`` clocks. Latency: the start bit begins in the clock after the byte was
    accepted.

    Attributes
    ----------
    data : in, a stream of 8 bits
        Bytes to send. ``ready`` is high while the line is idle and in the last clock of a stop bit.
    tx : out, 1 bit
        The pin: a register, high while the line is idle.
    """

    def __init__(self, parameters: UartParameters) -> None:
        self.parameters = parameters
        super().__init__({"data": In(stream.Signature(8)), "tx": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        divisor = self.parameters.divisor
        bits = Signal(BYTE_BITS, init=-1)
        left = Signal(range(BYTE_BITS + 1))
        timer = Signal(range(divisor))
        last = Signal()
        m.d.comb += [
            self.tx.eq(bits[0]),
            last.eq((left == 1) & (timer == 0)),
            self.data.ready.eq((left == 0) | last),
        ]
        m.d.sync += timer.eq(timer - 1)
        with m.If(timer == 0):
            m.d.sync += timer.eq(divisor - 1)
        with m.If((left != 0) & (timer == 0)):
            m.d.sync += [bits.eq(Cat(bits[1:], Const(1))), left.eq(left - 1)]
        with m.If(self.data.valid & self.data.ready):
            m.d.sync += [
                bits.eq(Cat(Const(0), self.data.payload, Const(1))),
                left.eq(BYTE_BITS),
                timer.eq(divisor - 1),
            ]
        return m
