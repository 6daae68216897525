"""Clocks that a user can choose for the boards that Vivado builds: those that a board's clock source can generate."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from beltline.constraints.boards import BOARDS, Board, Flow

SHELL_HZ = 250_000_000
"""Clock in Hz of the buses between a card and its host: ``clk_main_a0`` of AWS F2, and ``axi_aclk`` of XDMA at Gen3
x16."""

TOLERANCE = 1e-4
"""Largest relative difference between a requested clock and the generated one; the same as in ``build.tcl``."""

LEAST_HZ = 10_000_000
"""Lowest clock in Hz that can be chosen."""


@dataclass(frozen=True)
class Mmcm:
    """Settings of an MMCM of UltraScale+, whose output is ``reference * multiplier / divider``.

    Parameters
    ----------
    reference
        Frequency of its input, in Hz.
    multiplier, divider
        ``CLKFBOUT_MULT_F`` and ``CLKOUT0_DIVIDE_F``, in eighths; ``DIVCLK_DIVIDE`` is 1.
    """

    reference: int
    multiplier: int
    divider: int

    @property
    def hertz(self) -> float:
        """Frequency of its output, in Hz."""
        return self.reference * self.multiplier / self.divider


@dataclass(frozen=True)
class Source:
    """Source of the machine's clock in a flow.

    Parameters
    ----------
    what
        Description, for messages.
    most
        Highest clock in Hz, by the vendor's data sheet or guide.
    made
        Function that returns all clocks, in Hz, that the source of a board can generate.
    """

    what: str
    most: int
    made: Callable[[Board], frozenset[int]]


def _divided(pll_hz: Callable[[Board], float]) -> Callable[[Board], frozenset[int]]:
    """Return the clocks of a processor: those of its PLL, divided by two dividers of six bits each."""

    def made(board: Board) -> frozenset[int]:
        divisors = {first * second for first in range(1, 64) for second in range(1, 64)}
        return frozenset(round(pll_hz(board) / divisor) for divisor in divisors)

    return made


def _zynq_pll(board: Board) -> float:
    """Return the frequency of the IO PLL, 20 times the crystal's, as Vivado sets it for the boards' peripherals."""
    return 50e6 * 20


def _mpsoc_pll(board: Board) -> float:
    """Return the frequency of the IO PLL. The clocks in ``boards.py`` are integer fractions of it, rounded to Hz."""
    crystal = {"zcu104": 33_333_333, "kv260": 33_333_000}[board.circuit]
    return crystal * 90 / 2


VCO_HZ = (800_000_000, 1_600_000_000)
"""Lowest and highest frequency of the VCO of an MMCM, in Hz (DS923)."""

_EIGHTHS = (16, 1024)
"""Least and largest values of an MMCM's multiplier and divider, in eighths; the divider may also be 1."""

REFERENCES = {Flow.F2: 100_000_000, Flow.XDMA: SHELL_HZ}
"""Clock in Hz at the input of the MMCM: ``clk_hbm_ref`` of F2's shell, ``axi_aclk`` of XDMA."""


@cache
def _mmcms(reference: int) -> dict[int, Mmcm]:
    """Return the best settings for every clock, by Hz: with an integer divider if possible, then with the highest VCO
    frequency.
    """
    low, high = (math.ceil(VCO_HZ[0] * 8 / reference), VCO_HZ[1] * 8 // reference)
    found: dict[int, Mmcm] = {}
    for multiplier in range(high, low - 1, -1):
        for divider in (8, *range(_EIGHTHS[0], _EIGHTHS[1] + 1)):
            mmcm = Mmcm(reference, multiplier, divider)
            hertz = round(mmcm.hertz)
            other = found.get(hertz)
            if other is None or (other.divider % 8 and not divider % 8):
                found[hertz] = mmcm
    return found


def _from_mmcm(board: Board) -> frozenset[int]:
    """Return the clocks of a card: those of an MMCM, and that of the buses."""
    return frozenset(_mmcms(REFERENCES[board.flow])) | {SHELL_HZ}


_TWICE = "divided by two whole numbers up to 63"

SOURCES = {
    # DS187, "Performance characteristics" of the processing system: 250 MHz towards the fabric.
    Flow.ZYNQ: Source(f"the IO PLL's 1,000 MHz {_TWICE}", 250_000_000, _divided(_zynq_pll)),
    # DS925 and DS987, likewise: 333 MHz of the AXI ports.
    Flow.MPSOC: Source(f"the IO PLL's 1,500 MHz {_TWICE}", 333_000_000, _divided(_mpsoc_pll)),
    # The greatest clock of the kit's recipes, hdk/docs/Clock_Recipes_User_Guide.md.
    Flow.F2: Source("the shell's 250 MHz, or 100 MHz through an MMCM", 500_000_000, _from_mmcm),
    Flow.XDMA: Source("XDMA's 250 MHz, or that through an MMCM", 500_000_000, _from_mmcm),
}
"""Sources of the flows in which a user can choose the clock."""


def clocks(board: Board) -> tuple[int, ...]:
    """Return all clocks in Hz that can be chosen for a board's machine, ascending."""
    source = SOURCES[board.flow]
    made = {hertz for hertz in source.made(board) if LEAST_HZ <= hertz <= source.most}
    return tuple(sorted(made | {BOARDS[board.name].machine.clock_hz}))


def mmcm(board: Board) -> Mmcm | None:
    """Return the MMCM that generates the clock of a card's machine; None if the machine uses the clock of the buses."""
    if board.flow not in REFERENCES or board.machine.clock_hz == SHELL_HZ:
        return None
    return _mmcms(REFERENCES[board.flow])[board.machine.clock_hz]


def shown(hertz: int) -> str:
    """Return a clock as text, in MHz with at most three decimals."""
    return f"{hertz / 1e6:.3f}".rstrip("0").rstrip(".")


def megahertz(text: str) -> float:
    """Read a clock in MHz from ``text``.

    Raises
    ------
    ValueError
        ``text`` is not a positive number.
    """
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not (math.isfinite(found) and found > 0):
        raise ValueError(f"clock must be a number of MHz, such as 125, not '{text}'")
    return found


def at_clock(board: Board, mhz: float) -> Board:
    """Return the board with a machine for another clock.

    Names of its files end with the clock, since the build hash does not depend on it. If the clock is the board's own,
    the board is returned unchanged.

    Parameters
    ----------
    board
        The board.
    mhz
        The clock in MHz.

    Raises
    ------
    ValueError
        The board cannot generate that clock. The message names the nearest ones that it can.
    """
    if board.flow not in SOURCES:
        raise ValueError(f"clock of board '{board.name}' cannot be chosen: its bitstream is not built by Vivado")
    made, wanted, own = clocks(board), mhz * 1e6, BOARDS[board.name].machine.clock_hz
    near = own if abs(own - wanted) <= TOLERANCE * wanted else min(made, key=lambda hertz: abs(hertz - wanted))
    if abs(near - wanted) > TOLERANCE * wanted:
        source = SOURCES[board.flow]
        below, above = [h for h in made if h < wanted][-1:], [h for h in made if h > wanted][:1]
        nearest = " and ".join(f"{shown(hertz)} MHz" for hertz in below + above)
        raise ValueError(
            f"clock of board '{board.name}' must be {source.what}, from {shown(LEAST_HZ)} to {shown(source.most)} MHz, "
            f"not {mhz:.10g} MHz: {'the nearest are' if below and above else 'the nearest is'} {nearest}"
        )
    if near == own:
        return board
    suffix = f"-{shown(near).replace('.', 'p')}MHz"
    return replace(board, machine=replace(board.machine, clock_hz=near), suffix=suffix)
