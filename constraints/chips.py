"""The chips of the boards, with their resources, and their families, with Yosys's synthesis commands."""

from __future__ import annotations

from dataclasses import dataclass

from beltline.constraints.boards import Board
from beltline.hw.interface.parameters import Multiplier


@dataclass(frozen=True)
class Family:
    """A family of chips.

    Attributes
    ----------
    title
        The vendor's name of the family.
    multiplier
        Its multiplier.
    command
        Yosys's synthesis commands, one in a line, with ``{top}`` for the top module.
    """

    title: str
    multiplier: Multiplier
    command: str


def _for_amd(options: str) -> str:
    """Return the commands for a family of AMD's, with the options that select it.

    Yosys ignores the attribute ``shreg_extract``. The flip-flops of signals that have it are marked to be left as they
    are, after RAMs have taken theirs.
    """
    run = f"synth_xilinx {options} -flatten -noiopad -noclkbuf -top {{top}}"
    plain = "a:shreg_extract=no %ci1:+$dff,$dffe,$sdff,$sdffe[Q] t:$* %i"
    return f"{run} -run begin:fine\nsetattr -set keep 1 {plain}\n{run} -run fine:"


FAMILIES: dict[str, Family] = {
    "xcup": Family("UltraScale+", Multiplier.DSP48E2, _for_amd("-family xcup -uram")),
    "xc7": Family("7-series", Multiplier.DSP48E1, _for_amd("-family xc7")),
    "ecp5": Family("ECP5", Multiplier.MULT18X18D, "synth_ecp5 -top {top}"),
}
"""Families by Yosys's name."""


@dataclass(frozen=True)
class Chip:
    """Resources of a chip: numbers of LUTs of the family's size, multipliers, RAM blocks of 18 kbit, and UltraRAMs, and
    of flip-flops for each LUT.
    """

    name: str
    lut: int
    dsp: int
    bram18: int
    uram: int
    registers: int = 2

    @property
    def ff(self) -> int:
        """Number of flip-flops."""
        return self.registers * self.lut


CHIPS = {
    # Resources that the small shell of AWS F2 leaves to the custom logic, by the HDK's floorplan
    # hdk/common/shell_stable/build/constraints/small_shell_level_1_fp_cl.xdc, release 2.0.2. The whole chip has
    # 1,304,000 LUTs, 9024 multipliers, 2016 RAM blocks of 36 kbit and 960 UltraRAMs.
    "xcvu47p": Chip("VU47P in F2", 1_144_000, 8016, 2 * 1800, 864),
    "xcu250": Chip("U250", 1_728_000, 12_288, 2 * 2688, 1280),
    "xczu7ev": Chip("ZU7EV", 230_000, 1728, 2 * 312, 96),
    "xck26": Chip("K26", 117_000, 1248, 2 * 144, 64),
    "xc7z020": Chip("XC7Z020", 53_000, 220, 2 * 140, 0),
    "LFE5UM5G-85F": Chip("LFE5UM5G-85F", 84_000, 156, 208, 0, registers=1),
    "LFE5U-85F": Chip("LFE5U-85F", 84_000, 156, 208, 0, registers=1),
}
"""Chips by the beginning of the part's name. All but the first are from the vendors' data sheets, which round LUTs to
thousands."""


def family_of(board: Board) -> str:
    """Return Yosys's name of the family of a board's chip."""
    return next(name for name, family in FAMILIES.items() if family.multiplier is board.machine.multiplier)


def chip_of(board: Board) -> Chip:
    """Return the chip of a board."""
    return next(chip for part, chip in CHIPS.items() if board.part.startswith(part))
