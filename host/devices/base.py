"""The interface between the driver and a device, and the common base of all devices that are reached over a bus."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from beltline.host.problem.checks import ProblemError
from beltline.hw.interface.parameters import MachineParameters, Multiplier
from beltline.hw.interface.registers import (
    ENGINE_MEANINGS,
    GENERAL_ENGINE,
    IDENTITY,
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
"""A function that is called with a short line of progress; each line replaces the one before."""

ALL_ONES = 0xFFFF_FFFF
"""The word that a bus returns if no device responds."""

POLL_FIRST, POLL_LAST = 20e-6, 2e-3
"""Seconds between two reads of the status of a busy device: the pause doubles from the first to the second value."""


_STATUS_BITS = sum(Status)


class DeviceError(RuntimeError):
    """A device cannot be opened, or does not behave as its register map says; a ``RuntimeError``.

    The message names the device, what went wrong, and where it is known what to do. The kinds
    :class:`DeviceInUseError`, :class:`DeviceLostError` and :class:`DeviceTimeoutError` can be caught one by one.

    Examples
    --------
    >>> import beltline as bl
    >>> try:
    ...     bl.open("pynq")
    ... except bl.DeviceError as error:
    ...     print("no board")
    no board
    """


class DeviceInUseError(DeviceError):
    """The device is in use by another process, another session, or another thread.

    The message names the process if it is known. Nothing was changed on the device, so the call can be repeated later.
    """


class DeviceLostError(DeviceError):
    """The device does not respond any more, or returned data that no Beltline device returns.

    The message has the last status that was read. The device must be opened again.
    """


class DeviceTimeoutError(DeviceError):
    """The device did not end its run before ``timeout``, or makes no progress.

    After ``timeout`` the run was stopped at the end of its sweep, and the ``checkpoint``, if one was given, was saved.
    """


@runtime_checkable
class Device(Protocol):
    """The interface of a device of the accelerator: registers by name, tables in blocks, and waiting.

    To add a device, implement these methods (``docs/add-a-device.md``); an object that has them can be passed as
    ``device=``. While the device is busy, every access except reading registers and writing ``COMMAND`` raises
    ``DeviceError`` and changes nothing.
    """

    @property
    def name(self) -> str:
        """Name of the device in reports."""

    @property
    def clocks_source(self) -> str:
        """Where the register ``CLOCKS`` comes from, for reports: "modelled by formula", for instance."""

    def read_register(self, name: str) -> int:
        """Return the value of a register, which may consist of several 32-bit words."""

    def write_register(self, name: str, value: int) -> None:
        """Write the value of a register, which may consist of several 32-bit words."""

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        """Write contiguous 64-bit ``words`` to a table window from word ``first``."""

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        """Return ``count`` 64-bit words of a table window from word ``first``."""

    def wait(self, seconds: float) -> bool:
        """Wait for about ``seconds``, or less if the device finishes; return whether it is not busy."""

    def close(self) -> None:
        """Release the device. Closing twice is fine."""


def _one_place() -> list[tuple[str, str, str]]:
    return []


def _none_ready() -> list[dict[str, Any]]:
    return []


def _unchecked(**options: object) -> None:
    pass


@dataclass(frozen=True)
class Backend:
    """A kind of device, registered in ``DEVICES`` under its name.

    Parameters
    ----------
    description
        Description of the device, in a few words.
    missing
        Function that returns why the device cannot be used on this computer, in a few words; empty if it can be used.
        It is fast, opens no device, and never raises an error.
    open
        Function that opens the device or raises ``DeviceError``. It is called with the sizes that are needed (None for
        any), a function for lines of progress, and the options as keywords.
    options
        Names of the options, with their meaning, limits and default as ``beltline devices --options`` prints them.
    elastic
        Whether the device is built for the sizes of a problem. A board has the sizes of its bitstream.
    places
        Function that lists the places where such a device may be, if there may be several, as tuples of a place, a
        description of the device there, and the reason why it cannot be used, such as
        ``("slot 0", "0000:34:00.0", "")``. The reason is empty if none is known. The function is fast, opens no device,
        and is called only if ``missing`` returns an empty text.
    check
        Function that is called with options before any work, and raises ``ProblemError`` if one is wrong.
    ready
        Function that returns the options of each device that is known to contain the accelerator. A solve for which no
        device is named may open it. The function is fast, opens no device, and accesses nothing that another program
        may use. By default it returns an empty list.
    """

    description: str
    missing: Callable[[], str]
    open: Callable[..., Device]
    options: dict[str, str]
    elastic: bool
    places: Callable[[], list[tuple[str, str, str]]] = _one_place
    check: Callable[..., None] = _unchecked
    ready: Callable[[], list[dict[str, Any]]] = _none_ready


def register_named(name: str, forbidden: Access) -> Register:
    """Return the register of this name.

    Raises
    ------
    DeviceError
        There is no such register, or its access is ``forbidden``: it can only be written, or only be read.
    """
    register = REGISTERS.get(name)
    if register is None:
        raise DeviceError(f"there is no register {name!r}")
    if register.access is forbidden:
        raise DeviceError(f"register {name} cannot be {'read' if forbidden is Access.WRITE else 'written'}")
    return register


def encoded(register: Register, value: int) -> list[int]:
    """Return the 32-bit words of a value for a register; raise ``DeviceError`` if the value is out of range."""
    try:
        return register.encode(value)
    except ValueError as error:
        raise DeviceError(str(error)) from None


def check_block(windows: WindowParameters, table: Table, first: int, count: int, writing: bool) -> None:
    """Check that a block lies inside a table that can be written or read.

    Raises
    ------
    DeviceError
        The block reaches beyond the table, or the table cannot be written or cannot be read.
    """
    if table not in (WRITABLE if writing else READABLE):
        raise DeviceError(f"table {Table(table).name} is {'read' if writing else 'write'} only")
    words = windows.words(table)
    if first < 0 or count < 0 or first + count > words:
        raise DeviceError(f"table {table.name} has {words} words, not words {first} to {first + count - 1}")


def check_words(words: NDArray[np.int64]) -> None:
    """Check that a block is a vector of int64.

    Raises
    ------
    TypeError
        It has another type or shape.
    """
    if words.dtype != np.int64 or words.ndim != 1:
        raise TypeError(f"words must be a vector of int64, not {words.ndim}-dimensional {words.dtype}")


def read_steady(device: Device, name: str) -> int:
    """Read a register whose value does not change, until two readings in a row agree, at most three times.

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
    """Read a register that should have ``value``: once if it has, and by :func:`read_steady` if it has not."""
    return value if device.read_register(name) == value else read_steady(device, name)


def check_identity(device: Device) -> None:
    """Check that ``device`` is a Beltline whose register map this host knows.

    Raises
    ------
    DeviceLostError
        No device responds.
    DeviceError
        The device has another identity, or another version of the register map.
    """
    identity = device.read_register("IDENTITY")
    if identity == ALL_ONES:
        raise DeviceLostError(f"device {device.name!r} does not answer: its register IDENTITY reads all ones")
    if identity != IDENTITY:
        raise DeviceError(f"device {device.name!r} has identity 0x{identity:08X}, not 0x{IDENTITY:08X}: not a Beltline")
    version = device.read_register("VERSION")
    if version != VERSION:
        raise DeviceError(
            f"device {device.name!r} has version {version} of the register map, but this host needs {VERSION}: rebuild "
            f"its bitstream with this version of Beltline"
        )


def built_sizes(device: Device) -> MachineParameters:
    """Read the parameters of a build from its registers: engine, sizes, and all that the number of clocks depends on.

    Raises
    ------
    DeviceError
        No build has such parameters, or this host does not know the engine.
    """
    word = read_steady(device, "ENGINE")
    general = word == GENERAL_ENGINE
    if not general and word not in set(Engine):
        known = ", ".join(f"{number} ({meaning})" for number, meaning in ENGINE_MEANINGS.items())
        raise DeviceError(f"device {device.name!r} has engine {word}, but this host knows only {known}")
    engine = Engine.SWEEP if general else Engine(word)
    sizes = {what: read_steady(device, f"{what.upper()}_MAX") for what in ("grid", "states", "results")}
    sizes["lanes"] = read_steady(device, "LANES")
    if engine is Engine.ASSEMBLY_LINE:
        sizes |= {what: read_steady(device, what.upper()) for what in ("fold", "evaluators")}
    try:
        multiplier = Multiplier.of(read_steady(device, "MULTIPLIER"))
        return MachineParameters(**sizes, general=general, engine=engine, multiplier=multiplier)
    except ValueError as error:
        raise DeviceError(f"device {device.name!r} reports sizes that no build has: {error}") from None


class BusDevice(ABC):
    """A :class:`Device` whose registers and table windows are accessed at byte addresses of a bus.

    A subclass implements the four accesses ``_read_word``, ``_write_word``, ``_read_words`` and ``_write_words``. All
    checks are made here before the bus is accessed (names, ranges, whether the device is busy and open), because an
    access that the device refuses ends the program on some buses (SIGBUS on Zynq).

    A bus shows that a device is gone only by the data that it returns: all ones, or a fixed word of a bridge.
    Therefore the identity is read again after every block, and also where a register reads all ones or a status has
    unknown flags.
    """

    _closed = False

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the device in reports."""

    @property
    @abstractmethod
    def clocks_source(self) -> str:
        """Where the register ``CLOCKS`` comes from, for reports."""

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
        """Release the device. Closing twice is fine; any other use of a closed device raises ``DeviceError``."""
        if not self._closed:
            self._closed = True
            self._release()

    @abstractmethod
    def _release(self) -> None:
        """Release the resources of the device. Called once."""

    def read_register(self, name: str) -> int:
        register = register_named(name, Access.WRITE)
        self._check_open()
        words = [self._read_word(register.offset + 4 * k) for k in range(register.words)]
        if all(word == ALL_ONES for word in words) and self._read_word(REGISTERS["IDENTITY"].offset) == ALL_ONES:
            raise DeviceLostError(f"device {self.name!r} does not answer: register {name} reads all ones")
        if name == "STATUS" and words[0] & ~_STATUS_BITS:
            raise DeviceLostError(
                f"device {self.name!r} returned data that no Beltline device returns: register STATUS reads "
                f"0x{words[0]:08X}"
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
        """Return the windows of the tables of this build, which follow from registers that are read once."""
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
            raise DeviceLostError(
                f"device {self.name!r} does not answer after {after}: its register IDENTITY reads all ones"
            )
        if identity != IDENTITY:
            raise DeviceLostError(
                f"device {self.name!r} has identity 0x{identity:08X} after {after}, not 0x{IDENTITY:08X}: "
                f"it is not a Beltline any more"
            )

    def _check_idle(self, what: str) -> None:
        if self.read_register("STATUS") & Status.BUSY:
            raise DeviceError(f"device {self.name!r} is busy, and {what} cannot be accessed until its run has ended")


def check_fits(device: Device, build: MachineParameters, points: int, states: int, results: int) -> None:
    """Check that a problem fits the build of a device.

    Parameters
    ----------
    device
        The device, for its name.
    build
        Parameters of its build.
    points, states, results
        Numbers of grid points and exogenous states of the problem, and of values to store: those of all ages if the
        problem has a horizon.

    Raises
    ------
    ProblemError
        One of these is larger than in the build; the message says which.
    """
    for what, size, largest in (
        ("grid points", points, build.grid),
        ("exogenous states", states, build.states),
        ("values to store", results, build.results),
    ):
        if size > largest:
            raise ProblemError(f"the problem has {size} {what}, more than the {largest} of device {device.name!r}")
