"""The register map and the numbers of the tables, read by gateware, driver, benches and documentation.

Registers are 32 bits wide. A wider quantity has consecutive registers, low word first (``Register.words``).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

IDENTITY = 0x424C5431
"""Contents of register ``IDENTITY`` in every build, ASCII ``BLT1``."""

VERSION = 3
"""Version of this register map. A driver refuses a machine with another one."""


class Access(enum.Enum):
    """What the host may do with a register."""

    READ = "read only"
    WRITE = "write only"
    READ_WRITE = "read and write"


@dataclass(frozen=True)
class Register:
    """Description of a register.

    Parameters
    ----------
    name
        Its name, in upper case.
    offset
        Byte address of its lowest word.
    bits
        Width in bits.
    access
        What the host may do with it.
    signed
        Whether it holds a signed number, in two's complement.
    description
        Meaning, for the documentation.
    """

    name: str
    offset: int
    bits: int
    access: Access
    signed: bool
    description: str

    @property
    def words(self) -> int:
        """Number of 32-bit words."""
        return -(-self.bits // 32)

    @property
    def lowest(self) -> int:
        """Lowest number that it can hold."""
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self) -> int:
        """Highest number that it can hold."""
        return self.lowest + (1 << self.bits) - 1

    def encode(self, value: int) -> list[int]:
        """Return the 32-bit words of ``value``, low word first, negative values in two's complement.

        Raises
        ------
        ValueError
            ``value`` does not fit the register.
        """
        value = int(value)
        if not self.lowest <= value <= self.highest:
            raise ValueError(f"register {self.name} holds {self.lowest} to {self.highest}, not {value}")
        return [value >> 32 * k & 0xFFFF_FFFF for k in range(self.words)]

    def decode(self, words: Sequence[int]) -> int:
        """Return the value that :meth:`encode` turned into ``words``. Bits above the register's width are ignored."""
        value = sum(word << 32 * k for k, word in enumerate(words)) & ((1 << self.bits) - 1)
        return value - (1 << self.bits) if value > self.highest else value


class Engine(enum.IntEnum):
    """Engines, by the contents of register ``ENGINE``. Numbers 2 to 8 were those of builds of earlier versions."""

    ASSEMBLY_LINE = 1
    SWEEP = 9


GENERAL_ENGINE = 10
"""Contents of register ``ENGINE`` for a sweep engine that solves the general form."""

ENGINE_MEANINGS = {
    int(Engine.ASSEMBLY_LINE): "assembly line",
    int(Engine.SWEEP): "sweep engine",
    GENERAL_ENGINE: "sweep engine for the general form: costs, alternatives, taste shocks, bounds, linear utility",
}
"""What each engine number of register ``ENGINE`` means."""


class Command(enum.IntFlag):
    """Bits of register ``COMMAND``. Each acts once when a 1 is written; :data:`FLAGS` gives their meanings."""

    RUN = 1
    STOP = 2
    RESET = 4
    SUM = 8


class Mode(enum.IntFlag):
    """Bits of register ``MODE``; :data:`FLAGS` gives their meanings."""

    HORIZON = 1
    SHIFT = 2
    CHOICES = 4
    SPARSE = 8


STEPS_FIELD = slice(8, 16)
"""Bits of register ``MODE`` with the number of policy evaluation steps after each maximising sweep.

Such a step is a sweep that computes the values of unchanged choices.
"""


@dataclass(frozen=True)
class UtilityForm:
    """Contents of register ``UTILITY_FORM``, which are four of the utility unit's constants.

    Parameters
    ----------
    negative, log, linear
        Bits ``NEGATIVE``, ``LOG`` and ``LINEAR`` of the register. Only general builds read ``LINEAR``.
    shift
        Bits ``SHIFT`` of the register, 0 to 63.
    """

    NEGATIVE: ClassVar[int] = 0
    LOG: ClassVar[int] = 1
    LINEAR: ClassVar[int] = 2
    SHIFT: ClassVar[slice] = slice(8, 14)

    negative: bool
    log: bool
    shift: int
    linear: bool = False

    @classmethod
    def of(cls, word: int) -> UtilityForm:
        """Return the constants in the register's contents ``word``. Its other bits are ignored."""
        mask = (1 << cls.SHIFT.stop - cls.SHIFT.start) - 1
        negative, log, linear = (bool(word >> place & 1) for place in (cls.NEGATIVE, cls.LOG, cls.LINEAR))
        return cls(negative, log, word >> cls.SHIFT.start & mask, linear)

    @property
    def word(self) -> int:
        """Contents of the register."""
        flags = int(self.negative) << self.NEGATIVE | int(self.log) << self.LOG | int(self.linear) << self.LINEAR
        return flags | self.shift << self.SHIFT.start


class Interrupt(enum.IntFlag):
    """Bits of register ``INTERRUPT``; :data:`FLAGS` gives their meanings."""

    ENABLE = 1


class Refused(enum.IntFlag):
    """Bits of register ``REFUSED``: accesses that were refused because a run was in progress. A reset clears them."""

    REGISTER = 1
    TABLE = 2


class Status(enum.IntFlag):
    """Bits of register ``STATUS``. All but ``BUSY`` describe the last run that ended, and the next run clears them."""

    BUSY = 1
    DONE = 2
    CONVERGED = 4
    LIMIT = 8
    STOPPED = 16
    SATURATED = 32
    INFEASIBLE = 64
    BAD_CONFIGURATION = 128
    PROVEN = 256


def status_text(status: Status) -> str:
    """Return the names of the flags of a status, as in messages: ``"DONE and LIMIT"``, or ``"without a flag"``."""
    return " and ".join(str(flag.name) for flag in Status if flag in status) or "without a flag"


FLAGS: dict[type[enum.IntFlag], dict[enum.IntFlag, str]] = {
    Command: {
        Command.RUN: "start a run; ignored while busy",
        Command.STOP: "end the run when the sweep in progress ends",
        Command.RESET: "end the run at once; status, counters and `REFUSED` become 0. Settings and tables do not "
        "change, but `V` and `POLICY` are undefined if a run was in progress",
        Command.SUM: "read `SUM_COUNT` words of table `SUM_TABLE` from word `SUM_FIRST`, and add their hashes to "
        "`SUM`; ignored while busy, and aborted by a run",
    },
    Status: {
        Status.BUSY: "a run is in progress: tables, and registers other than `COMMAND`, cannot be written",
        Status.DONE: "a run has ended",
        Status.CONVERGED: "the sup norm of the last sweep was below `EPSILON`",
        Status.LIMIT: "the run ended after `SWEEP_LIMIT` sweeps, as a complete run with a horizon does",
        Status.STOPPED: "the run ended because of `STOP` in `COMMAND`",
        Status.SATURATED: "a utility, an expectation or the value of a choice did not fit in 64 bits and was saturated",
        Status.INFEASIBLE: "a state could not afford any choice; with alternatives, it could not afford any choice of "
        "any alternative",
        Status.BAD_CONFIGURATION: "no sweep was made, because `GRID` (at least 2), `STATES` (at least 1) or "
        "`SWEEP_LIMIT` (at least 1) is out of range, or because a run with a horizon is too large: more than "
        "`RESULTS_MAX` values or, on a sweep engine, more than one sweep",
        Status.PROVEN: "sweep engine: every choice of the last sweep is proven to be the best of all candidates, "
        "whatever the value function",
    },
    Refused: {
        Refused.REGISTER: "a register was written while busy",
        Refused.TABLE: "a table was written while busy",
    },
    Interrupt: {Interrupt.ENABLE: "the interrupt line is high while this bit and `DONE` of `STATUS` are"},
    Mode: {
        Mode.HORIZON: "finite horizon: every sweep stores value and policy in its own slot, and none is tested for "
        "convergence. A sweep engine has one slot, so `SWEEP_LIMIT` must be 1, and the next age is another run",
        Mode.SHIFT: "sweep engine that is not general: values are shifted between sweeps, by the weights after `Q`. "
        "Bits 8 to 15 are the number of policy evaluation sweeps, which do not change choices, after each maximising "
        "sweep. A run converges only on a maximising sweep without a shift, and the last sweep before the limit is one",
        Mode.CHOICES: "sweep engine: the searches of the first sweep begin from the choices that the last run left in "
        "table `POLICY`, and not from each state's own point. That run must have had the same `GRID` and `STATES` and "
        "have made a sweep; otherwise the number of clocks is undefined. Proven choices do not depend on it",
        Mode.SPARSE: "sweep engine that is not general: not every sweep is proven, but the first, the last and some "
        "between them. 9 sweeps without a proof follow the first one and each that moved a choice; any other is "
        "followed by twice as many as the one before it, at most 144. A run converges only on a sweep with a proof. "
        "Ignored with `HORIZON`",
    },
}
"""Meaning of every bit of each register with flags, for the documentation."""


class Table(enum.IntEnum):
    """Tables, each an array of 64-bit words in its own window: grid or costs, cash on hand, weights, value, policy."""

    X = 0
    W = 1
    Q = 2
    V = 3
    POLICY = 4


WRITABLE = (Table.X, Table.W, Table.Q, Table.V)
"""Tables that the host can write."""

READABLE = (Table.W, Table.V, Table.POLICY)
"""Tables that the host can read."""


def _layout() -> dict[str, Register]:
    """Return all registers by name, at consecutive addresses."""
    rows = [
        ("IDENTITY", 32, Access.READ, False, "0x424C5431, ASCII BLT1"),
        ("VERSION", 32, Access.READ, False, "version of the register map"),
        ("BUILD_HASH", 64, Access.READ, False, "content hash of the build"),
        ("ENGINE", 32, Access.READ, False, "the engine"),
        (
            "LANES",
            32,
            Access.READ,
            False,
            "lanes of a sweep engine; 1 for the assembly line",
        ),
        (
            "FOLD",
            32,
            Access.READ,
            False,
            "stages of the assembly line that one physical stage serves; 1 if not folded",
        ),
        (
            "EVALUATORS",
            32,
            Access.READ,
            False,
            "evaluators of a physical stage: 4 (3 where it needs no more), 2 or 1; of a lane: 1",
        ),
        ("CLOCK_HZ", 32, Access.READ, False, "clock for which the build was made, in Hz; 0 if none"),
        ("GRID_MAX", 32, Access.READ, False, "largest N_k, a power of two"),
        ("STATES_MAX", 32, Access.READ, False, "largest N_z"),
        ("RESULTS_MAX", 32, Access.READ, False, "words of the value and policy memories"),
        ("COMMAND", 32, Access.WRITE, False, "bit 0 run, bit 1 stop at the end of the sweep, bit 2 reset, bit 3 sum"),
        ("STATUS", 32, Access.READ, False, "bits of Status"),
        ("REFUSED", 32, Access.READ, False, "writes refused while busy: bit 0 a register's, bit 1 a table's"),
        ("INTERRUPT", 32, Access.READ_WRITE, False, "bit 0: the interrupt line is high while bit DONE of STATUS is"),
        (
            "MODE",
            32,
            Access.READ_WRITE,
            False,
            "bit 0: finite horizon, a slot for each sweep's results; bit 1: shifts; bit 2: begin from stored choices; "
            "bit 3: proofs of some sweeps only; bits 8 to 15: policy evaluation sweeps",
        ),
        ("GRID", 32, Access.READ_WRITE, False, "N_k of the problem"),
        ("STATES", 32, Access.READ_WRITE, False, "N_z of the problem"),
        ("SWEEP_LIMIT", 32, Access.READ_WRITE, False, "sweeps after which the run ends, at least 1"),
        ("EPSILON", 64, Access.READ_WRITE, False, "the run ends when the sup norm, in units of value, is below this"),
        ("UTILITY_A", 64, Access.READ_WRITE, True, "59 fraction bits"),
        ("UTILITY_B", 72, Access.READ_WRITE, True, "58 fraction bits"),
        (
            "UTILITY_FORM",
            32,
            Access.READ_WRITE,
            False,
            "bit 0 negative, bit 1 log, bits 8 to 13 shift; bit 2 linear, which only a general build reads: utility "
            "is consumption itself, and with bit 0 consumption may be negative",
        ),
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
        ("SUM", 32, Access.READ, False, "sum of the words that COMMAND requested"),
        (
            "SUMMING",
            32,
            Access.READ,
            False,
            "0 when the sums are complete; else bit 0 is set, and above it are the words still to be read",
        ),
        ("SUM_TABLE", 32, Access.READ_WRITE, False, "number of the table whose words are summed: W, V or POLICY"),
        ("SUM_FIRST", 32, Access.READ_WRITE, False, "first word to sum"),
        ("SUM_COUNT", 32, Access.READ_WRITE, False, "number of words to sum"),
    ]
    registers: dict[str, Register] = {}
    offset = 0
    for name, bits, access, signed, description in rows:
        registers[name] = Register(name, offset, bits, access, signed, description)
        offset += 4 * registers[name].words
    return registers


REGISTERS: dict[str, Register] = _layout()
