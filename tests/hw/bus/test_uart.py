"""Receiver and transmitter of the serial line."""

from __future__ import annotations

import re

import pytest
from amaranth.hdl import Module
from amaranth.lib.wiring import In, Out

from beltline.hw.bus.uart import UartParameters, UartReceiver, UartTransmitter
from beltline.sim.cocotb_runner import run_bench
from support.streams import Enclosed


class Both(Enclosed):
    """Receiver and transmitter in one component."""

    def __init__(self, parameters: UartParameters) -> None:
        self.sends = UartTransmitter(parameters)
        sent = {"send_payload": In(8), "send_valid": In(1), "send_ready": Out(1), "tx": Out(1)}
        super().__init__(UartReceiver(parameters), **sent)

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.submodules.transmitter = sends = self.sends
        m.d.comb += [
            sends.data.payload.eq(self.send_payload),
            sends.data.valid.eq(self.send_valid),
            self.send_ready.eq(sends.data.ready),
            self.tx.eq(sends.tx),
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
