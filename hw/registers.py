"""The register map and the table windows, described once.

Gateware, driver, benches and documentation read this description. Registers are 32 bits wide; a quantity
wider than that takes consecutive registers, low word first (``Register.words``).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

IDENTITY = 0x424C5431
"""ASCII ``BLT1``: what register ``IDENTITY`` reads on every build."""

VERSION = 1
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


class Command(enum.IntFlag):
    """Bits of register ``COMMAND``; each acts once when written as 1."""

    RUN = 1
    STOP = 2
    RESET = 4


class Mode(enum.IntFlag):
    """Bits of register ``MODE``."""

    HORIZON = 1


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


class Table(enum.IntEnum):
    """Table windows, each an array of 64-bit words."""

    X = 0
    W = 1
    Q = 2
    V = 3
    POLICY = 4


def _layout() -> dict[str, Register]:
    rows = [
        ("IDENTITY", 32, Access.READ, False, "0x424C5431, ASCII BLT1"),
        ("VERSION", 32, Access.READ, False, "version of the register map"),
        ("BUILD_HASH", 64, Access.READ, False, "content hash of the build"),
        ("GRID_MAX", 32, Access.READ, False, "largest N_k, a power of two"),
        ("STATES_MAX", 32, Access.READ, False, "largest N_z"),
        ("RESULTS_MAX", 32, Access.READ, False, "words of the value and policy memories"),
        ("COMMAND", 32, Access.WRITE, False, "bit 0 run, bit 1 stop at the end of the sweep, bit 2 reset"),
        ("STATUS", 32, Access.READ, False, "see Status"),
        ("MODE", 32, Access.READ_WRITE, False, "bit 0: finite horizon, every sweep kept in its own slot"),
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
    ]
    registers: dict[str, Register] = {}
    offset = 0
    for name, bits, access, signed, description in rows:
        registers[name] = Register(name, offset, bits, access, signed, description)
        offset += 4 * registers[name].words
    return registers


REGISTERS: dict[str, Register] = _layout()
