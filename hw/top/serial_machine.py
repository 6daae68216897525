"""Top module of a build with a serial line: for boards that have neither a processor nor PCIe."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.serial_bridge import SerialBridge
from beltline.hw.bus.serial_frames import BAUD, SILENCE
from beltline.hw.bus.uart import UartParameters
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.top.machine import Machine

MODULE = "beltline_serial"
"""Name of the Verilog module."""


@dataclass(frozen=True)
class SerialParameters:
    """Parameters of a build with a serial line.

    Parameters
    ----------
    machine
        The machine. Its ``clock_hz`` is divided to the bit rate; its ``bus_bits`` are ignored.
    baud
        Bits per second.
    silence
        Seconds of a silent line after which an incomplete frame is discarded: at least 16 bit times, at most 10 s.

    Raises
    ------
    ValueError
        ``machine.clock_hz`` is 0, or no divisor gives the bit rate within 2%, or ``silence`` is out of range.
    """

    machine: MachineParameters
    baud: int = BAUD
    silence: float = SILENCE

    def __post_init__(self) -> None:
        if not self.machine.clock_hz:
            raise ValueError("clock_hz of a build with a serial line must be given, not 0")
        _ = self.uart
        if self.silence == SILENCE and SILENCE * self.baud < 16:
            raise ValueError(
                f"baud of a serial line must be at least {16 / SILENCE:g}, so that 16 bits take no more than "
                f"{SILENCE:g} seconds, not {self.baud}"
            )
        if self.silence * self.baud < 16 or self.silence > 10:
            raise ValueError(
                f"silence of a serial line must be from 16 bits, {16 / self.baud:g} seconds here, to 10 seconds, "
                f"not {self.silence:g}"
            )

    @property
    def uart(self) -> UartParameters:
        """Parameters of receiver and transmitter."""
        return UartParameters.of(self.machine.clock_hz, self.baud)

    @property
    def silence_clocks(self) -> int:
        """``silence`` in clocks, at least 16 bit times."""
        return max(round(self.silence * self.machine.clock_hz), 16 * self.uart.divisor)


class SerialMachine(wiring.Component):
    """A :class:`beltline.hw.top.machine.Machine` whose host is connected by a serial line.

    :class:`beltline.hw.bus.serial_bridge.SerialBridge` describes the contract and latency of the line.

    Parameters
    ----------
    parameters
        The build.
    machine
        A component with the ports of :class:`Machine`, to use in its place; for tests.

    Attributes
    ----------
    rx : in, 1 bit
        Line from the host, asynchronous: idle high, 8 data bits, no parity, 1 stop bit.
    tx : out, 1 bit
        Line to the host, of the same format.
    busy : out, 1 bit
        A run is in progress; may drive a lamp.
    """

    def __init__(self, parameters: SerialParameters, machine: wiring.Component | None = None) -> None:
        self.parameters = parameters
        self._machine = Machine(parameters.machine) if machine is None else machine
        super().__init__({"rx": In(1, init=1), "tx": Out(1), "busy": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parameters = self.parameters
        m.submodules.machine = machine = self._machine
        m.submodules.bridge = bridge = SerialBridge(parameters.machine, parameters.uart, parameters.silence_clocks)
        wiring.connect(m, bridge.registers, machine.registers)
        wiring.connect(m, bridge.tables, machine.tables)
        m.d.comb += [
            bridge.rx.eq(self.rx),
            self.tx.eq(bridge.tx),
            bridge.locked.eq(machine.busy),
            machine.refused.eq(bridge.refused),
            self.busy.eq(machine.busy),
        ]
        return m
