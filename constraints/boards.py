"""The boards that the project has builds for."""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Any

from beltline.hw.interface.parameters import CLOCK_HZ, MachineParameters, Multiplier
from beltline.hw.interface.registers import Engine


class Flow(enum.Enum):
    """How a board's bitstream is built."""

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
        Name of the build, for ``make ... BOARD=NAME``.
    title
        The vendor's name of the board.
    part
        The tools' name of the chip.
    flow
        How the bitstream is built.
    machine
        The build: engine, largest sizes, clock, bus.
    board_part
        Vivado's name of the vendor's board description, with ``*`` for any version; empty if none is needed.
    connections
        For a module, the carrier that it is plugged into: Vivado's property ``board_connections``.
    sources
        Public files from which these facts were taken.
    suffix
        Suffix of the names of its files if the user chose a clock, as in ``-150MHz``.
    """

    name: str
    title: str
    part: str
    flow: Flow
    machine: MachineParameters
    board_part: str = ""
    connections: str = ""
    sources: tuple[str, ...] = ()
    suffix: str = ""

    @property
    def circuit(self) -> str:
        """Name of the board itself, for which there may be several builds; files of this folder are named by it."""
        return self.name.removesuffix(SWEEP)


SWEEP = "-sweep"
"""Suffix of the names of builds with a sweep engine."""


def _fabric_clock(reference: int, divisor: int = 6) -> int:
    """Return the frequency in Hz of the fabric clock on Zynq UltraScale+: 250 MHz, or less with a larger divisor.

    The IOPLL multiplies ``reference``, the frequency of the processor's crystal in the board's preset.xml, by 90 and
    halves it; ``divisor`` divides the result.
    """
    return round(reference * 90 / 2 / divisor)


def _sweep(board: Board, grid: int, clock_hz: int, states: int = 4, **options: Any) -> Board:
    """Return the same board with a sweep engine in place of its assembly line; ``options`` are those of its machine."""
    machine = MachineParameters(
        grid=grid, states=states, bus_bits=board.machine.bus_bits, clock_hz=clock_hz,
        multiplier=board.machine.multiplier, engine=Engine.SWEEP, **{"lanes": 1, **options},
    )  # fmt: skip
    return replace(board, name=board.name + SWEEP, title=f"{board.title}, sweep engine", machine=machine)


_KV260_MODULE, _KV260_CARRIER = "1.4", "1.3"
"""Versions of the board files of the K26 module and of the kit's carrier that fit each other. The store may also have
module 2.0, with which this carrier cannot be connected."""

_STORE = "github.com/Xilinx/XilinxBoardStore, boards/"
_HDK = "github.com/aws/aws-fpga, branch f2, hdk/"

_BOARDS = (
    Board(
        "pynq-z2",
        "TUL PYNQ-Z2",
        "xc7z020clg400-1",
        Flow.ZYNQ,
        MachineParameters(
            grid=2048, states=4, clock_hz=100_000_000, fold=15, evaluators=2, multiplier=Multiplier.DSP48E1
        ),
        sources=(
            _STORE + "TUL/pynq-z2/A.0/board.xml and preset.xml",
            "github.com/Xilinx/PYNQ, boards/Pynq-Z2/petalinux_bsp/hardware_project/pynqz2.tcl",
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
        sources=(_STORE + "Digilent/arty-z7-20/A.0/board.xml and preset.xml",),
    ),
    Board(
        "zcu104",
        "AMD ZCU104",
        "xczu7ev-ffvc1156-2-e",
        Flow.MPSOC,
        MachineParameters(grid=16_384, states=4, bus_bits=128, clock_hz=_fabric_clock(33_333_333), fold=7),
        board_part="xilinx.com:zcu104:part0:*",
        sources=(
            _STORE + "Xilinx/zcu104/1.1/board.xml and preset.xml",
            "github.com/Xilinx/PYNQ, boards/ZCU104/base/base.tcl",
        ),
    ),
    Board(
        "kv260",
        "AMD Kria KV260",
        "xck26-sfvc784-2LV-c",
        Flow.MPSOC,
        MachineParameters(grid=8192, states=4, bus_bits=128, clock_hz=_fabric_clock(33_333_000), fold=6),
        board_part=f"xilinx.com:kv260_som:part0:{_KV260_MODULE}",
        connections=f"som240_1_connector xilinx.com:kv260_carrier:som240_1_connector:{_KV260_CARRIER}",
        sources=(
            _STORE + f"Xilinx/kv260_som/{_KV260_MODULE}/board.xml and preset_s4.xml",
            "github.com/Xilinx/kria-base-hardware, k26_starter_kits/kv260/scripts/ and xdc/default.xdc",
        ),
    ),
    Board(
        "f2",
        "AWS F2",
        "xcvu47p-fsvh2892-2-e",
        Flow.F2,
        MachineParameters(grid=65_536, states=4, bus_bits=512, clock_hz=CLOCK_HZ),
        sources=(
            _HDK + "common/shell_stable/build/scripts/build_all.tcl",
            _HDK + "common/shell_stable/design/interfaces/cl_ports.vh",
            _HDK + "docs/AWS_Shell_Interface_Specification.md",
        ),
    ),
    Board(
        "u250",
        "AMD Alveo U250",
        "xcu250-figd2104-2L-e",
        Flow.XDMA,
        MachineParameters(grid=65_536, states=4, bus_bits=512, clock_hz=CLOCK_HZ),
        sources=(
            _STORE + "Xilinx/au250/1.3/ at commit 5f19190f",
            "github.com/firesim/firesim, platforms/xilinx_alveo_u250/cl_firesim/scripts/bd_lib/2022.1/",
            "github.com/corundum/corundum, fpga/mqnic/Alveo/fpga_100g/fpga_au200.xdc",
            "github.com/fpgasystems/Coyote, the block design of its static layer",
        ),
    ),
    Board(
        "ecp5",
        "Lattice ECP5 evaluation board",
        "LFE5UM5G-85F-8BG381",
        Flow.ECP5,
        MachineParameters(
            grid=2048, states=4, clock_hz=84_000_000, fold=15, evaluators=1, multiplier=Multiplier.MULT18X18D
        ),
        sources=("amaranth_boards.ecp5_5g_evn",),
    ),
    Board(
        "ulx3s",
        "Radiona ULX3S-85F",
        "LFE5U-85F-6BG381",
        Flow.ECP5,
        MachineParameters(
            grid=2048, states=4, clock_hz=60_000_000, fold=15, evaluators=1, multiplier=Multiplier.MULT18X18D
        ),
        sources=("amaranth_boards.ulx3s",),
    ),
)

_SWEEPS: dict[str, dict[str, Any]] = {
    "pynq-z2": {"grid": 1024, "clock_hz": 50_000_000},
    "zcu104": {"grid": 8192, "clock_hz": _fabric_clock(33_333_333, 12), "lanes": 4},
    "kv260": {"grid": 4096, "clock_hz": _fabric_clock(33_333_000, 12), "lanes": 4},
    "f2": {"grid": 65_536, "clock_hz": 125_000_000, "lanes": 32},
    "ecp5": {"grid": 2048, "states": 2, "clock_hz": 60_000_000},
}
"""Boards that have a second build, with a sweep engine: arguments of :func:`_sweep`."""

BOARDS: dict[str, Board] = {
    build.name: build
    for board in _BOARDS
    for build in (board, *([_sweep(board, **_SWEEPS[board.name])] if board.name in _SWEEPS else ()))
}
"""All builds, by name."""

LINES = {name: board for name, board in BOARDS.items() if not board.machine.is_sweep}
"""Builds with an assembly line; the others have a sweep engine."""
