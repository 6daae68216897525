"""The accelerator behind a serial line: three pins, for boards that have no processor and no PCIe."""

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


@dataclass(frozen=True)
class SerialParameters:
    """A build behind a serial line.

    Parameters
    ----------
    machine
        The machine; its ``clock_hz`` is the clock that the rate is divided from, its ``bus_bits`` are not looked at.
    baud
        Bits a second.
    silence
        Seconds of silence that end a frame, at least 16 bits.

    Raises
    ------
    ValueError
        The machine has no clock, or the rate cannot be divided from it within 2%, or the silence is too short.
    """

    machine: MachineParameters
    baud: int = BAUD
    silence: float = SILENCE

    def __post_init__(self) -> None:
        if not self.machine.clock_hz:
            raise ValueError("clock_hz of a build with a serial line must be given, not 0")
        _ = self.uart
        if self.silence * self.baud < 16 or self.silence > 10:
            raise ValueError(
                f"silence of a serial line must be from 16 bits, {16 / self.baud:g} seconds here, to 10 seconds, "
                f"not {self.silence:g}"
            )

    @property
    def uart(self) -> UartParameters:
        """The divisor."""
        return UartParameters.of(self.machine.clock_hz, self.baud)

    @property
    def silence_clocks(self) -> int:
        """``silence`` in clocks."""
        return max(round(self.silence * self.machine.clock_hz), 16 * self.uart.divisor)


class SerialMachine(wiring.Component):
    """:class:`beltline.hw.top.machine.Machine` behind :class:`beltline.hw.bus.serial_bridge.SerialBridge`.

    Parameters
    ----------
    parameters
    machine
        What has the ports of a :class:`Machine`, by default one of ``parameters``.

    Attributes
    ----------
    rx, tx
        The line: idle high, 8N1, from the host and to it.
    busy
        A run is under way: for a lamp.
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
