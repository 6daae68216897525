# amaranth: UnusedElaboratable=no
"""The AXI slave of the table windows, driven by cocotbext-axi's masters and by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from beltline.hw.bus.axi_tables import READ_CLOCKS, WRITE_CLOCKS, AxiTables
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import READABLE, WRITABLE, Table
from beltline.hw.interface.windows import WindowParameters
from beltline.sim.cocotb_runner import run_bench

MACHINE = MachineParameters(16, 3, 700)
"""Nine words of ``Q`` end in the middle of a wide beat; ``V`` holds a burst of 256 words, and crosses 4 KiB."""


@pytest.mark.gateware
@pytest.mark.parametrize("data_bits", [128, *(pytest.param(bits, marks=pytest.mark.slow) for bits in (64, 512))])
def test_bursts(data_bits: int) -> None:
    windows = WindowParameters(MACHINE)
    run_bench(
        AxiTables(replace(MACHINE, bus_bits=data_bits)),
        "beltline.sim.benches.axi_tables",
        parameters={
            "data_bits": data_bits,
            "window_bits": windows.window_bits,
            "words": [windows.words(table) for table in Table],
            "readable": [int(table) for table in READABLE],
            "writable": [int(table) for table in WRITABLE],
            "write_clocks": WRITE_CLOCKS,
            "read_clocks": READ_CLOCKS,
            "bursts": 50,
            "locks": 60,
        },
        seed=data_bits,
    )


def test_windows_lie_side_by_side() -> None:
    windows = WindowParameters(MachineParameters(65_536, 4))
    assert windows.window_bits == 21
    assert windows.address_bits == 24
    assert [windows.offset(table) for table in Table] == [k << 21 for k in range(5)]
    assert [windows.words(table) for table in Table] == [65_536, 262_144, 16, 262_144, 262_144]
    assert WindowParameters(MachineParameters(4, 1)).window_bits == 12
    assert WindowParameters(MachineParameters(4, 1, 513)).window_bits == 13
