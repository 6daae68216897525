"""The boards that a machine is built for."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from hw.parameters import MachineParameters, Multiplier


class Flow(enum.Enum):
    """How a board's bitstream is made."""

    ZYNQ = "Vivado block design around the PS7"
    MPSOC = "Vivado block design around the PS of Zynq UltraScale+"
    F2 = "AWS F2 HDK, small shell"
    XDMA = "Vivado block design around the XDMA bridge"
    ECP5 = "Yosys, nextpnr and Project Trellis"


@dataclass(frozen=True)
class Board:
    """A board and the machine that is built for it.

    Parameters
    ----------
    name
        What ``BOARD=`` takes.
    title
        What the vendor calls it.
    part
        The chip, as the tools call it.
    flow
        How it is built.
    machine
        The build: engine, largest sizes, clock, bus.
    """

    name: str
    title: str
    part: str
    flow: Flow
    machine: MachineParameters


BOARDS: dict[str, Board] = {
    board.name: board
    for board in (
        Board(
            "pynq-z2",
            "TUL PYNQ-Z2",
            "xc7z020clg400-1",
            Flow.ZYNQ,
            MachineParameters(
                grid=2048, states=4, clock_hz=100_000_000, fold=15, evaluators=2, multiplier=Multiplier.DSP48E1
            ),
        ),
        Board(
            "arty-z7-20",
            "Digilent Arty Z7-20",
            "xc7z020clg400-1",
            Flow.ZYNQ,
            MachineParameters(
                grid=2048, states=4, clock_hz=100_000_000, fold=15, evaluators=2, multiplier=Multiplier.DSP48E1
            ),
        ),
        Board(
            "zcu104",
            "AMD ZCU104",
            "xczu7ev-ffvc1156-2-e",
            Flow.MPSOC,
            MachineParameters(grid=16_384, states=4, bus_bits=128, clock_hz=250_000_000, fold=2),
        ),
        Board(
            "kv260",
            "AMD Kria KV260",
            "xck26-sfvc784-2lv-c",
            Flow.MPSOC,
            MachineParameters(grid=8192, states=4, bus_bits=128, clock_hz=250_000_000, fold=4),
        ),
        Board(
            "f2",
            "AWS F2",
            "xcvu47p-fsvh2892-2-e",
            Flow.F2,
            MachineParameters(grid=65_536, states=4, bus_bits=512, clock_hz=250_000_000),
        ),
        Board(
            "u250",
            "AMD Alveo U250",
            "xcu250-figd2104-2L-e",
            Flow.XDMA,
            MachineParameters(grid=65_536, states=4, bus_bits=512, clock_hz=250_000_000),
        ),
        Board(
            "ecp5",
            "Lattice ECP5 evaluation board",
            "LFE5UM5G-85F-8BG381",
            Flow.ECP5,
            MachineParameters(
                grid=256, states=2, clock_hz=50_000_000, fold=15, evaluators=1, multiplier=Multiplier.MULT18X18D
            ),
        ),
    )
}
"""By name."""
