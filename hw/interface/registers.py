"""The register map and the table windows, described once.

Gateware, driver, benches and documentation read this description. Registers are 32 bits wide; a quantity
wider than that takes consecutive registers, low word first (``Register.words``).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

IDENTITY = 0x424C5431
"""ASCII ``BLT1``: what register ``IDENTITY`` reads on every build."""

VERSION = 3
"""Version of this map; a driver refuses another one."""


class Access(enum.Enum):
    """What the host may do with a register."""

    READ = "read only"
    WRITE = "write only"
    READ_WRITE = "read and write"


@dataclass(frozen=True)
class Register:
    """One register: ``offset`` in bytes, ``bits`` wide, held in ``words`` 32-bit words, low word first."""

    name: str
    offset: int
    bits: int
    access: Access
    signed: bool
    description: str

    @property
    def words(self) -> int:
        return -(-self.bits // 32)

    @property
    def lowest(self) -> int:
        """Least value it holds."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """Largest value it holds."""
        return self.lowest + (1 << self.bits) - 1

    def encode(self, value: int) -> list[int]:
        """The 32-bit words of ``value``, low word first, negative values in two's complement.

        Raises
        ------
        ValueError
            It does not fit.
        """
        value = int(value)
        if not self.lowest <= value <= self.highest:
            raise ValueError(f"register {self.name} holds {self.lowest} to {self.highest}, not {value}")
        return [value >> 32 * k & 0xFFFF_FFFF for k in range(self.words)]

    def decode(self, words: Sequence[int]) -> int:
        """The value that :meth:`encode` turned into ``words``; bits above ``bits`` are not looked at."""
        value = sum(word << 32 * k for k, word in enumerate(words)) & ((1 << self.bits) - 1)
        return value - (1 << self.bits) if value > self.highest else value


class Engine(enum.IntEnum):
    """Values of register ``ENGINE``."""

    ASSEMBLY_LINE = 1
    SWEEP = 2


PROVING_ENGINE = 3
"""What register ``ENGINE`` reads of a sweep engine that proves the choices of every sweep."""

COSTS_ENGINE = 4
"""What register ``ENGINE`` reads of one that also has a table of costs in window ``X``."""

ALTERNATIVES_ENGINE = 5
"""What register ``ENGINE`` reads of one that also takes the maximum over alternatives before the expectation."""


class Command(enum.IntFlag):
    """Bits of register ``COMMAND``; each acts once when written as 1."""

    RUN = 1
    STOP = 2
    RESET = 4
    SUM = 8


class Mode(enum.IntFlag):
    """Bits of register ``MODE``."""

    HORIZON = 1
    SHIFT = 2
    PEAKS = 4


HELD = slice(8, 16)
"""Bits of register ``MODE``: how many sweeps with held choices follow each that maximises."""


@dataclass(frozen=True)
class UtilityForm:
    """What register ``UTILITY_FORM`` holds of the utility's constants.

    Parameters
    ----------
    negative, log
        Bits ``NEGATIVE`` and ``LOG``.
    shift
        Bits ``SHIFT``, 0 to 63.
    """

    NEGATIVE: ClassVar[int] = 0
    LOG: ClassVar[int] = 1
    SHIFT: ClassVar[slice] = slice(8, 14)

    negative: bool
    log: bool
    shift: int

    @classmethod
    def of(cls, word: int) -> UtilityForm:
        """The form in a word of the register; its other bits are not looked at."""
        mask = (1 << cls.SHIFT.stop - cls.SHIFT.start) - 1
        return cls(bool(word >> cls.NEGATIVE & 1), bool(word >> cls.LOG & 1), word >> cls.SHIFT.start & mask)

    @property
    def word(self) -> int:
        """The word of the register."""
        flags = int(self.negative) << self.NEGATIVE | int(self.log) << self.LOG
        return flags | self.shift << self.SHIFT.start


class Interrupt(enum.IntFlag):
    """Bits of register ``INTERRUPT``."""

    ENABLE = 1


class Refused(enum.IntFlag):
    """Bits of register ``REFUSED``: what was asked while busy, and was not done. They stay until a reset."""

    REGISTER = 1
    TABLE = 2


class Status(enum.IntFlag):
    """Bits of register ``STATUS``. All but ``BUSY`` describe the run that ended last, and are cleared by the next."""

    BUSY = 1
    DONE = 2
    CONVERGED = 4
    LIMIT = 8
    STOPPED = 16
    SATURATED = 32
    INFEASIBLE = 64
    BAD_CONFIGURATION = 128
    PEAKS = 256
    PROVEN = 512


FLAGS: dict[type[enum.IntFlag], dict[enum.IntFlag, str]] = {
    Command: {
        Command.RUN: "start a run; ignored while busy",
        Command.STOP: "end the run when the sweep in progress ends",
        Command.RESET: "end the run at once; status, counters and `REFUSED` become 0. Settings and tables stay, but "
        "`V` and `POLICY` hold anything if a run was under way",
        Command.SUM: "add to `SUM` the hashes of `SUM_COUNT` words of table `SUM_TABLE` from word `SUM_FIRST`, as they "
        "are read; ignored while busy, and broken off by a run",
    },
    Status: {
        Status.BUSY: "a run is under way: tables, and registers that are written, but for `COMMAND`, are locked",
        Status.DONE: "a run has ended",
        Status.CONVERGED: "the sup norm of the last sweep was below `EPSILON`",
        Status.LIMIT: "`SWEEP_LIMIT` sweeps were made, as a run with a horizon ends",
        Status.STOPPED: "`COMMAND` asked for it",
        Status.SATURATED: "a utility, an expectation or a chosen value left the 64 bits",
        Status.INFEASIBLE: "a state had no choice that it could afford; with alternatives, a state had none in any of "
        "them",
        Status.BAD_CONFIGURATION: "nothing was run: `GRID` (at least 2), `STATES` (at least 1) or `SWEEP_LIMIT` (at "
        "least 1) is out of range, or the values of a horizon are more than `RESULTS_MAX`, or its sweeps on a sweep "
        "engine more than one",
        Status.PEAKS: "the last sweep was searched for other peaks, as `MODE` asked, and one was found: a choice may "
        "not be the best",
        Status.PROVEN: "every choice of the last sweep is proven the best of all candidates, whatever the values: "
        "a sweep engine that was built with `proof`",
    },
    Refused: {
        Refused.REGISTER: "a register was written while busy",
        Refused.TABLE: "a table was written while busy",
    },
    Interrupt: {Interrupt.ENABLE: "the interrupt line is high while this bit and `DONE` of `STATUS` are"},
    Mode: {
        Mode.HORIZON: "finite horizon: every sweep keeps value and policy in its own slot, and none is tested for "
        "convergence. A sweep engine has one slot, so `SWEEP_LIMIT` must be 1, and the next age is the next run",
        Mode.SHIFT: "sweep engine: values are shifted between sweeps, by the weights after `Q`. Bits 8 to 15 say how "
        "many policy evaluation sweeps, which keep all choices, follow each that maximises. Only a sweep that does "
        "neither ends a run as converged, and the last one before the limit is such a sweep",
        Mode.PEAKS: "sweep engine: after the last sweep of a run that converges or reaches its limit every state is "
        "searched once more from the lowest candidates and once from the highest, and `PEAKS` of `STATUS` says whether "
        "a search ended elsewhere",
    },
}
"""What every flag of a register means."""


class Table(enum.IntEnum):
    """Table windows, each an array of 64-bit words."""

    X = 0
    W = 1
    Q = 2
    V = 3
    POLICY = 4


WRITABLE = (Table.X, Table.W, Table.Q, Table.V)
"""Tables that the host writes."""

READABLE = (Table.W, Table.V, Table.POLICY)
"""Tables that the host reads."""


def _layout() -> dict[str, Register]:
    rows = [
        ("IDENTITY", 32, Access.READ, False, "0x424C5431, ASCII BLT1"),
        ("VERSION", 32, Access.READ, False, "version of the register map"),
        ("BUILD_HASH", 64, Access.READ, False, "content hash of the build"),
        (
            "ENGINE",
            32,
            Access.READ,
            False,
            "1: assembly line, 2: sweep engine, 3: sweep engine that proves the choices of every sweep, 4: one that "
            "also has a table of costs in window `X`, 5: one that also takes the maximum over alternatives",
        ),
        ("LANES", 32, Access.READ, False, "1, or lanes of a sweep engine, each of which checks a state a clock"),
        (
            "FOLD",
            32,
            Access.READ,
            False,
            "stages of the line that one physical stage serves; 1 if not folded",
        ),
        (
            "EVALUATORS",
            32,
            Access.READ,
            False,
            "evaluators of a physical stage: 4 (3 where it needs no more), 2 or 1; of a lane: 1",
        ),
        ("CLOCK_HZ", 32, Access.READ, False, "clock the build was made for, in Hz; 0 if none"),
        ("GRID_MAX", 32, Access.READ, False, "largest N_k, a power of two"),
        ("STATES_MAX", 32, Access.READ, False, "largest N_z"),
        ("RESULTS_MAX", 32, Access.READ, False, "words of the value and policy memories"),
        ("COMMAND", 32, Access.WRITE, False, "bit 0 run, bit 1 stop at the end of the sweep, bit 2 reset, bit 3 sum"),
        ("STATUS", 32, Access.READ, False, "bits of Status"),
        ("REFUSED", 32, Access.READ, False, "writes refused while busy: bit 0 a register's, bit 1 a table's"),
        ("INTERRUPT", 32, Access.READ_WRITE, False, "bit 0: the interrupt line is high while STATUS says done"),
        (
            "MODE",
            32,
            Access.READ_WRITE,
            False,
            "bit 0: finite horizon, every sweep kept in its own slot; bit 1: shifts; bit 2: seeks other peaks; "
            "bits 8 to 15: policy evaluation sweeps",
        ),
        ("GRID", 32, Access.READ_WRITE, False, "N_k of the problem"),
        ("STATES", 32, Access.READ_WRITE, False, "N_z of the problem"),
        ("SWEEP_LIMIT", 32, Access.READ_WRITE, False, "sweeps after which the run ends, at least 1"),
        ("EPSILON", 64, Access.READ_WRITE, False, "the run ends when the sup norm, in units of value, is below this"),
        ("UTILITY_A", 64, Access.READ_WRITE, True, "59 fraction bits"),
        ("UTILITY_B", 72, Access.READ_WRITE, True, "58 fraction bits"),
        ("UTILITY_FORM", 32, Access.READ_WRITE, False, "bit 0 negative, bit 1 log, bits 8 to 13 shift"),
        ("CLOCKS", 64, Access.READ, False, "clocks of the last run, prologue included"),
        ("SWEEPS", 32, Access.READ, False, "sweeps of the last run"),
        ("STATES_DONE", 64, Access.READ, False, "states maximised in the last run"),
        ("NORM", 64, Access.READ, False, "sup norm of the last sweep's change of V, in units of value"),
        (
            "MULTIPLIER",
            32,
            Access.READ,
            False,
            "operand widths of the chip's multipliers, the larger in bits 0 to 7, the other in bits 8 to 15",
        ),
        ("WRITTEN_X", 32, Access.READ, False, "sum of all words that were written to X"),
        ("WRITTEN_W", 32, Access.READ, False, "sum of all words that were written to W"),
        ("WRITTEN_Q", 32, Access.READ, False, "sum of all words that were written to Q"),
        ("WRITTEN_V", 32, Access.READ, False, "sum of all words that were written to V"),
        ("SUM", 32, Access.READ, False, "sum of all words that COMMAND asked for"),
        (
            "SUMMING",
            32,
            Access.READ,
            False,
            "0 when the sums are complete; else bit 0 is set, and above it are the words still to be read",
        ),
        ("SUM_TABLE", 32, Access.READ_WRITE, False, "number of the table to be added up: W, V or POLICY"),
        ("SUM_FIRST", 32, Access.READ_WRITE, False, "its first word to be added up"),
        ("SUM_COUNT", 32, Access.READ_WRITE, False, "how many of its words"),
    ]
    registers: dict[str, Register] = {}
    offset = 0
    for name, bits, access, signed, description in rows:
        registers[name] = Register(name, offset, bits, access, signed, description)
        offset += 4 * registers[name].words
    return registers


REGISTERS: dict[str, Register] = _layout()
