"""What a device is to the driver, and what all devices behind a bus have in common."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.hw.interface.features import FEATURES
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import (
    ALTERNATIVES_ENGINE,
    COSTS_ENGINE,
    IDENTITY,
    PROVING_ENGINE,
    READABLE,
    REGISTERS,
    VERSION,
    WRITABLE,
    Access,
    Engine,
    Register,
    Status,
    Table,
)
from beltline.hw.interface.windows import WindowParameters

Progress = Callable[[str], None]
"""Called with a short line about what is going on; a later line replaces an earlier one."""

ALL_ONES = 0xFFFF_FFFF
"""What a bus reads where nobody answers."""

POLL_FIRST, POLL_LAST = 20e-6, 2e-3
"""Seconds between two looks at the status of a busy device: they double from the first to the last."""


_STATUS_BITS = sum(Status)


class DeviceError(RuntimeError):
    """A device that cannot be opened, or that does not behave as its register map says."""


class DeviceInUseError(DeviceError):
    """Another process, or another session of this one, holds the device."""


class DeviceLostError(DeviceError):
    """The device does not answer any more, or answers what no Beltline would."""


class DeviceTimeoutError(DeviceError):
    """The device did not end its run in time."""


@runtime_checkable
class Device(Protocol):
    """Registers by name, table windows in blocks, and time to run. Nothing here knows of problems.

    While the device is busy every access but the reading of registers and the writing of ``COMMAND`` raises
    ``DeviceError`` and changes nothing.
    """

    @property
    def name(self) -> str:
        """What reports call the device."""

    @property
    def clocks_source(self) -> str:
        """Where ``CLOCKS`` comes from, as in "... clocks (modelled by formula)"."""

    def read_register(self, name: str) -> int:
        """Return a whole quantity, however many 32-bit registers it takes."""

    def write_register(self, name: str, value: int) -> None:
        """Write a whole quantity, however many 32-bit registers it takes."""

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        """Write contiguous 64-bit ``words`` to a table window from word ``first``."""

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        """Return ``count`` 64-bit words of a table window from word ``first``."""

    def wait(self, seconds: float) -> bool:
        """Let the device go on for about ``seconds``, less when it finishes; true when it is not busy."""

    def close(self) -> None:
        """Let go of the device. Closing twice is no error."""


def _alone() -> list[tuple[str, str, str]]:
    return []


def _none_ready() -> list[dict[str, Any]]:
    return []


def _unchecked(**options: object) -> None:
    pass


@dataclass(frozen=True)
class Backend:
    """A kind of device, by its name.

    Parameters
    ----------
    description
        What runs, in a few words.
    missing
        Why it cannot be used here, in a few words; empty if it can. Quick, opens nothing, and never raises.
    open
        Called with the sizes that are needed, or None for whatever there is, with what to tell of progress, and with
        the backend's own options as keywords; opens the device or raises ``DeviceError``.
    options
        Names of those options, and what they mean.
    elastic
        Whether the machine is made to the sizes asked for. If not, it has those of its bitstream.
    places
        Where there may be several: ``(place, what is there, what is missing)`` of each, the last empty where nothing
        is known to be, as in ``("slot 0", "0000:34:00.0", "")``. Quick, opens nothing, and is only called where nothing
        is missing.
    check
        Called with options, of those that there are, before any work; raises ``ProblemError`` where one is wrong.
    ready
        The options of each machine that is known to be a Beltline, so that a solve which names no device may open it.
        Quick, opens nothing, and touches nothing that may be somebody else's; by default none is known.
    """

    description: str
    missing: Callable[[], str]
    open: Callable[..., Device]
    options: dict[str, str]
    elastic: bool
    places: Callable[[], list[tuple[str, str, str]]] = _alone
    check: Callable[..., None] = _unchecked
    ready: Callable[[], list[dict[str, Any]]] = _none_ready


def register_named(name: str, forbidden: Access) -> Register:
    """Return a register that can be accessed otherwise than ``forbidden``.

    Raises
    ------
    DeviceError
        There is none of that name, or it cannot be read or written.
    """
    register = REGISTERS.get(name)
    if register is None:
        raise DeviceError(f"there is no register {name!r}")
    if register.access is forbidden:
        raise DeviceError(f"register {name} cannot be {'read' if forbidden is Access.WRITE else 'written'}")
    return register


def encoded(register: Register, value: int) -> list[int]:
    """``Register.encode``, with its error as a ``DeviceError``."""
    try:
        return register.encode(value)
    except ValueError as error:
        raise DeviceError(str(error)) from None


def check_block(windows: WindowParameters, table: Table, first: int, count: int, writing: bool) -> None:
    """Check that a block lies inside a table that can be written or read.

    Raises
    ------
    DeviceError
        It does not.
    """
    if table not in (WRITABLE if writing else READABLE):
        raise DeviceError(f"table {Table(table).name} is {'read' if writing else 'write'} only")
    words = windows.words(table)
    if first < 0 or count < 0 or first + count > words:
        raise DeviceError(f"table {table.name} has {words} words, not words {first} to {first + count - 1}")


def check_words(words: NDArray[np.int64]) -> None:
    """Check the form of a block.

    Raises
    ------
    TypeError
        It is no vector of int64.
    """
    if words.dtype != np.int64 or words.ndim != 1:
        raise TypeError(f"words must be a vector of int64, not {words.ndim}-dimensional {words.dtype}")


def read_steady(device: Device, name: str) -> int:
    """Read a register that stands still until two readings in a row agree, three times at most.

    Raises
    ------
    DeviceError
        It reads three different values.
    """
    first, second = device.read_register(name), device.read_register(name)
    if first == second:
        return first
    third = device.read_register(name)
    if second == third:
        return second
    raise DeviceError(
        f"device {device.name!r} does not read register {name} reliably: it read {first}, {second} and {third}"
    )


def expected(device: Device, name: str, value: int) -> int:
    """Read a register that should hold ``value``: once where it does, and as :func:`read_steady` where it does not."""
    return value if device.read_register(name) == value else read_steady(device, name)


def check_identity(device: Device) -> None:
    """Check that ``device`` is a Beltline whose register map this host knows.

    Raises
    ------
    DeviceLostError
        Nobody answers.
    DeviceError
        It has another identity, or another version of the map.
    """
    identity = device.read_register("IDENTITY")
    if identity == ALL_ONES:
        raise DeviceLostError(f"device {device.name!r} does not answer: its identity reads all ones")
    if identity != IDENTITY:
        raise DeviceError(f"device {device.name!r} has identity 0x{identity:08X}, not 0x{IDENTITY:08X}: not a Beltline")
    version = device.read_register("VERSION")
    if version != VERSION:
        raise DeviceError(
            f"device {device.name!r} has version {version} of the register map, this host needs {VERSION}"
        )


def built_sizes(device: Device) -> MachineParameters:
    """Engine and sizes of the build, and what its clocks follow from, from its registers.

    Raises
    ------
    DeviceError
        They are those of no build, or this host does not know the engine.
    """
    number = read_steady(device, "ENGINE")
    alternatives = number == ALTERNATIVES_ENGINE
    costs = alternatives or number == COSTS_ENGINE
    proof = costs or number == PROVING_ENGINE
    if proof:
        number = Engine.SWEEP
    if number not in set(Engine):
        names = ", ".join(f"{engine.value} ({engine.name})" for engine in Engine)
        names += f", {PROVING_ENGINE} (SWEEP with proof), {COSTS_ENGINE} (SWEEP with proof and costs)"
        names += f", {ALTERNATIVES_ENGINE} (SWEEP with proof, costs and alternatives)"
        raise DeviceError(f"device {device.name!r} has engine {number}, this host knows {names}")
    sizes: dict[str, Any] = {what: read_steady(device, f"{what.upper()}_MAX") for what in ("grid", "states", "results")}
    sizes["lanes"] = read_steady(device, "LANES")
    if FEATURES[Engine(number)].folds:
        sizes |= {what: read_steady(device, what.upper()) for what in ("fold", "evaluators")}
    try:
        multiplier = Multiplier.of(read_steady(device, "MULTIPLIER"))
        kinds = {"proof": proof, "costs": costs, "alternatives": alternatives}
        return MachineParameters(**sizes, **kinds, engine=Engine(number), multiplier=multiplier)
    except ValueError as error:
        raise DeviceError(f"device {device.name!r} reports sizes of no build: {error}") from None


class BusDevice(ABC):
    """A :class:`Device` whose registers and table windows are reached at byte addresses.

    Subclasses give the four accesses. Everything is checked here before the bus is touched, because a refused access
    ends a program on some of them (SIGBUS on Zynq): names, ranges, whether the device is busy, and whether it is open.

    A bus tells of a device that is gone by what it reads: all ones, or the word that a bridge answers with. So the
    identity is read again after every block, and a status that no Beltline has, or a register of all ones, is doubted.
    """

    _closed = False

    @property
    @abstractmethod
    def name(self) -> str:
        """What reports call the device."""

    @property
    @abstractmethod
    def clocks_source(self) -> str:
        """Where ``CLOCKS`` comes from."""

    @abstractmethod
    def _read_word(self, offset: int) -> int:
        """Return the 32-bit register at byte ``offset``."""

    @abstractmethod
    def _write_word(self, offset: int, word: int) -> None:
        """Write the 32-bit register at byte ``offset``."""

    @abstractmethod
    def _write_words(self, offset: int, words: NDArray[np.int64]) -> None:
        """Write contiguous 64-bit ``words`` from byte ``offset`` of the windows, in a block."""

    @abstractmethod
    def _read_words(self, offset: int, words: NDArray[np.int64]) -> None:
        """Fill the contiguous ``words`` from byte ``offset`` of the windows, in a block."""

    def close(self) -> None:
        """Let go of the device. Closing twice is no error; any other use after it raises ``DeviceError``."""
        if not self._closed:
            self._closed = True
            self._release()

    @abstractmethod
    def _release(self) -> None:
        """Give back what the device holds. Called once."""

    def read_register(self, name: str) -> int:
        register = register_named(name, Access.WRITE)
        self._check_open()
        words = [self._read_word(register.offset + 4 * k) for k in range(register.words)]
        if all(word == ALL_ONES for word in words) and self._read_word(REGISTERS["IDENTITY"].offset) == ALL_ONES:
            raise DeviceLostError(f"device {self.name!r} does not answer: register {name} reads all ones")
        if name == "STATUS" and words[0] & ~_STATUS_BITS:
            raise DeviceLostError(
                f"device {self.name!r} answers as no Beltline would: register STATUS reads 0x{words[0]:08X}"
            )
        return register.decode(words)

    def write_register(self, name: str, value: int) -> None:
        register = register_named(name, Access.READ)
        words = encoded(register, value)
        self._check_open()
        if register.access is not Access.WRITE:
            self._check_idle(f"register {name}")
        for k, word in enumerate(words):
            self._write_word(register.offset + 4 * k, word)

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        check_words(words)
        offset = self._block(table, first, words.size, writing=True)
        if words.size:
            self._write_words(offset, np.ascontiguousarray(words))
            self._check_answers(f"a write of table {table.name}")

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        words = np.empty(max(count, 0), dtype=np.int64)
        offset = self._block(table, first, count, writing=False)
        if count:
            self._read_words(offset, words)
            self._check_answers(f"a read of table {table.name}")
        return words

    def wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        pause = POLL_FIRST
        while self.read_register("STATUS") & Status.BUSY:
            left = end - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, POLL_LAST)
        return True

    def windows(self) -> WindowParameters:
        """Where the tables of this build lie; read from the device once."""
        if self._windows is None:
            self._windows = WindowParameters(built_sizes(self))
        return self._windows

    _windows: WindowParameters | None = None

    def _block(self, table: Table, first: int, count: int, writing: bool) -> int:
        self._check_open()
        windows = self.windows()
        check_block(windows, table, first, count, writing)
        self._check_idle(f"table {table.name}")
        return windows.offset(table) + 8 * first

    def _check_open(self) -> None:
        if self._closed:
            raise DeviceError(f"device {self.name!r} is closed")

    def _check_answers(self, after: str) -> None:
        identity = self._read_word(REGISTERS["IDENTITY"].offset)
        if identity == ALL_ONES:
            raise DeviceLostError(f"device {self.name!r} does not answer after {after}: its identity reads all ones")
        if identity != IDENTITY:
            raise DeviceLostError(
                f"device {self.name!r} has identity 0x{identity:08X} after {after}, not 0x{IDENTITY:08X}: "
                f"no Beltline any more"
            )

    def _check_idle(self, what: str) -> None:
        if self.read_register("STATUS") & Status.BUSY:
            raise DeviceError(f"device {self.name!r} is busy and keeps {what} to itself")


def check_fits(device: Device, build: MachineParameters, points: int, states: int, results: int) -> None:
    """Check that a problem fits the build of a device.

    Raises
    ------
    ProblemError
        It is larger, in one sentence that says in what.
    """
    for what, size, largest in (
        ("grid points", points, build.grid),
        ("exogenous states", states, build.states),
        ("values to keep", results, build.results),
    ):
        if size > largest:
            raise ProblemError(f"the problem has {size} {what}, more than the {largest} of device {device.name!r}")
