"""Receiver and transmitter of the serial line."""

from __future__ import annotations

import re

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.uart import UartParameters, UartReceiver, UartTransmitter
from beltline.sim.cocotb_runner import run_bench


class Both(wiring.Component):
    """Receiver and transmitter in one component."""

    def __init__(self, parameters: UartParameters) -> None:
        self._parameters = parameters
        receiver = {"rx": In(1), "data": Out(8), "valid": Out(1)}
        super().__init__({**receiver, "send_payload": In(8), "send_valid": In(1), "send_ready": Out(1), "tx": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.receiver = receiver = UartReceiver(self._parameters)
        m.submodules.transmitter = transmitter = UartTransmitter(self._parameters)
        m.d.comb += [
            receiver.rx.eq(self.rx),
            self.data.eq(receiver.data),
            self.valid.eq(receiver.valid),
            transmitter.data.payload.eq(self.send_payload),
            transmitter.data.valid.eq(self.send_valid),
            self.send_ready.eq(transmitter.data.ready),
            self.tx.eq(transmitter.tx),
        ]
        return m


@pytest.mark.gateware
@pytest.mark.parametrize("divisor", [4, 17])
def test_bytes_in_and_out(divisor: int) -> None:
    run_bench(Both(UartParameters(divisor)), "beltline.sim.benches.uart", parameters={"divisor": divisor})


def test_divisors() -> None:
    assert UartParameters.of(50_000_000, 1_000_000) == UartParameters(50)
    assert UartParameters.of(50_000_000, 3_000_000) == UartParameters(17)
    assert UartParameters.of(12_000_000, 115_200) == UartParameters(104)
    assert UartParameters.of(4_000_000, 1_000_000) == UartParameters(4)
    for clock_hz, baud in ((50_000_000, 20_000_000), (5_500_000, 1_000_000), (50_000_000, 0), (50_000_000, -9600)):
        sentence = (
            f"baud of a serial line must be, within 2%, a clock of {clock_hz} Hz divided by a whole number of at "
            f"least 4, not {baud}"
        )
        with pytest.raises(ValueError, match="^" + re.escape(sentence) + "$"):
            UartParameters.of(clock_hz, baud)
    with pytest.raises(ValueError, match=r"^divisor of a serial line must be at least 4 clocks, not 3$"):
        UartParameters(3)
