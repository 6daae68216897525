"""The device ``"serial"``: a board on a serial line, usually behind a USB bridge, by pyserial.

Requests and answers are the frames of :mod:`beltline.hw.bus.serial_frames`. The device was tested with simulated
gateware at the other end of a pseudo-terminal; it was never used with a board.

Every request is answered. A request whose answer is missing or damaged is sent again after a silence, by which the
bridge recognizes that the frame before has ended. No request is executed twice; see
:class:`beltline.hw.bus.serial_bridge.SerialBridge`.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import importlib.util
import os
import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import (
    Backend,
    BusDevice,
    DeviceError,
    DeviceInUseError,
    DeviceLostError,
    Progress,
    check_identity,
)
from beltline.host.devices.known_builds import OPTION, check_build, recorded
from beltline.host.devices.load_bitstream import checked, load
from beltline.host.devices.lock import BoardLock
from beltline.host.problem.checks import missing_package, path_of, pip_install, real, whole
from beltline.hw.bus import serial_frames
from beltline.hw.bus.serial_frames import (
    ANSWER,
    ANSWER_HEADER,
    BAUD,
    BLOCK_WORDS,
    BYTE_BITS,
    CHECK_BYTES,
    HEADER,
    SILENCE,
    WORD_BYTES,
    Operation,
    Outcome,
)
from beltline.hw.interface.builds import Build
from beltline.hw.interface.parameters import MachineParameters

PATIENCE = 0.5
"""Default of the option ``patience``: seconds that an answer may take in addition to the transmission of its bytes. It
is many times the delay of USB."""

LONGEST_SILENCE = 1.0
"""Longest silence before a request is sent again, in seconds. Each silence is twice as long as the one before."""

UNKNOWN = "no USB device: a board only if one is wired to it"
"""Note on a port of the computer itself, which exists with or without a board."""

RETRIES = 4
"""Default of the option ``retries``: how often a request is sent again."""

LARGEST_BYTES = HEADER.size + ANSWER_HEADER.size + WORD_BYTES * BLOCK_WORDS + 2 * CHECK_BYTES
"""Largest number of bytes of a request and its answer together."""


class SerialDevice(BusDevice):
    """A board as a :class:`~beltline.host.devices.base.Device`.

    Parameters
    ----------
    port
        An open ``serial.Serial``.
    patience, retries
        As in :func:`open_serial`.
    lock
        Lock of the port, released with the device.
    known
        Builds that the board may have, in addition to those that this version of Beltline generates.

    Raises
    ------
    DeviceLostError
        No device responds.
    DeviceError
        The device is not a Beltline accelerator, or its build is unknown.
    """

    name = "serial"
    clocks_source = "counted by the gateware on the board"

    def __init__(
        self, port: Any, patience: float, retries: int, lock: BoardLock | None = None, known: Sequence[Build] = ()
    ) -> None:
        self._port = port
        self._retries = retries
        self._lock = lock
        self._where = f"device 'serial' at '{port.port}', {port.baudrate} baud,"
        self._line_seconds = BYTE_BITS * LARGEST_BYTES / port.baudrate
        self._tag = 0
        with self._connected():
            port.timeout = port.write_timeout = patience + self._line_seconds
            port.reset_input_buffer()
        try:
            check_identity(self)
        except DeviceLostError as error:
            raise DeviceLostError(f"{error}: is it the board's port, and the rate of its build?") from None
        check_build(self, known)
        self.windows()

    def _read_word(self, offset: int) -> int:
        return int.from_bytes(self._ask(Operation.READ_REGISTER, offset), "little")

    def _write_word(self, offset: int, word: int) -> None:
        self._ask(Operation.WRITE_REGISTER, offset, payload=word.to_bytes(4, "little"))

    def _read_words(self, offset: int, words: NDArray[np.int64]) -> None:
        for first in range(0, words.size, BLOCK_WORDS):
            part = words[first : first + BLOCK_WORDS]
            data = self._ask(Operation.READ_WORDS, offset + WORD_BYTES * first, part.size)
            part[:] = np.frombuffer(data, dtype="<i8")

    def _write_words(self, offset: int, words: NDArray[np.int64]) -> None:
        for first in range(0, words.size, BLOCK_WORDS):
            part = words[first : first + BLOCK_WORDS].astype("<i8", copy=False)
            self._ask(Operation.WRITE_WORDS, offset + WORD_BYTES * first, part.size, part.tobytes())

    def _release(self) -> None:
        # Closing a port that was unplugged may fail.
        with contextlib.suppress(*_port_errors()):
            self._port.close()
        if self._lock is not None:
            self._lock.release()

    def _ask(self, operation: Operation, address: int, count: int = 1, payload: bytes = b"") -> bytes:
        """Send a request until it is answered, and return the payload of the answer. The device executes it once."""
        self._tag = (self._tag + 1) % 256
        request = serial_frames.request(self._tag, operation, address, count, payload)
        expected = serial_frames.payload_bytes(operation, count)[1]
        with self._connected():
            for attempt in range(self._retries + 1):
                if attempt:
                    self._pause(min(2**attempt * SILENCE, LONGEST_SILENCE))
                self._port.write(request)
                head = self._port.read(ANSWER_HEADER.size + CHECK_BYTES)
                if len(head) < ANSWER_HEADER.size + CHECK_BYTES:
                    fault = "does not answer" if not head else "does not answer in full"
                    continue
                first, tag, outcome = ANSWER_HEADER.unpack_from(head)
                answer = head + self._port.read(expected if outcome == Outcome.DONE else 0)
                if first != ANSWER or not serial_frames.sound(answer):
                    fault = "returned a damaged answer"
                elif outcome == Outcome.DAMAGED:
                    fault = "received a damaged request"
                elif tag != self._tag:
                    fault = "answered another request than the last one"
                elif outcome != Outcome.DONE:
                    why = "is busy" if outcome == Outcome.BUSY else "has no such register or table word"
                    raise DeviceError(f"{self._where} refuses {operation.name} at byte {address}: it {why}")
                else:
                    return answer[ANSWER_HEADER.size : -CHECK_BYTES]
        raise DeviceLostError(f"{self._where} {fault}, asked {attempt + 1} time{'s' if attempt else ''}")

    def _pause(self, seconds: float) -> None:
        """Send nothing and discard what arrives, until nothing arrived for ``seconds``, at most ten times as long."""
        pause = seconds + self._line_seconds
        for _ in range(10):
            time.sleep(pause)
            if not self._port.in_waiting:
                break
            self._port.reset_input_buffer()

    @contextlib.contextmanager
    def _connected(self) -> Iterator[None]:
        """Turn errors of the port in the block, as when its plug is pulled, into ``DeviceLostError``."""
        try:
            yield
        except DeviceError:
            raise
        except _port_errors() as error:
            raise DeviceLostError(f"{self._where} is gone: {error}") from error


def missing() -> str:
    """Return why the device cannot be used on this computer, in a few words; empty if it can."""
    if importlib.util.find_spec("serial") is None:
        return f"package pyserial not installed: {pip_install('serial')}"
    return "" if places() else "no serial port"


def places() -> list[tuple[str, str, str]]:
    """Return the serial ports of this computer, in the form of ``Backend.places``; nothing is sent to them."""
    found = []
    for port in importlib.import_module("serial.tools.list_ports").comports():
        what = "a serial port" if port.description in (None, "n/a") else port.description
        found.append((port.device, what, UNKNOWN if port.vid is None else ""))
    return found


def open_serial(
    parameters: MachineParameters | None = None,
    progress: Progress | None = None,
    *,
    port: str | os.PathLike[str] | None = None,
    baud: int = BAUD,
    patience: float = PATIENCE,
    retries: int = RETRIES,
    builds: str | os.PathLike[str] | None = None,
    bitstream: str | os.PathLike[str] | None = None,
) -> SerialDevice:
    """Open the accelerator on a board at a serial port.

    Parameters
    ----------
    parameters
        Ignored: a board has the sizes of its bitstream.
    progress
        Called with lines of progress while ``bitstream`` is loaded.
    port
        Path of the port, as in ``"/dev/ttyUSB0"``.
    baud
        Bits per second; must be that of the build.
    patience
        Seconds that an answer may take in addition to the transmission of its bytes.
    retries
        How often a request is sent again if its answer is missing or damaged.
    builds
        File of additional builds (:mod:`beltline.hw.interface.builds`) that the bitstream may have.
    bitstream
        Bitstream to load into the board first, through the board's own cable, after a check against
        ``bitstreams.json`` beside it. By default the board has its bitstream already.

    Raises
    ------
    ProblemError
        An option is wrong; nothing was done.
    DeviceInUseError
        Another process uses the port.
    DeviceLostError
        No device answers.
    DeviceError
        The package pyserial or the port is missing, or the device is not a Beltline, or its build is unknown; or the
        checksum of ``bitstream`` is wrong, or it could not be loaded.
    """
    path_of("port", port, "the path of a serial port, such as '/dev/ttyUSB0'")
    assert port is not None
    baud = whole("baud", baud, "a whole number of bits a second from 1 to 100000000", lambda v: 1 <= v <= 10**8)
    patience = real("patience", patience, "a number of seconds above 0, up to 3600", lambda v: 0 < v <= 3600)
    retries = whole("retries", retries, "a whole number from 0 to 100", lambda v: 0 <= v <= 100)
    known = recorded(builds)
    try:
        serial = importlib.import_module("serial")
    except ImportError:
        raise DeviceError(missing_package("device 'serial'", "pyserial", "serial")) from None
    if bitstream is not None:
        checked(bitstream, known)
    path = os.path.realpath(port)
    lock = BoardLock("serial-" + re.sub(r"[^\w.-]", "-", path.strip("/"), flags=re.ASCII))
    try:
        if bitstream is not None:
            load(bitstream, known, progress)
        opened = _opened(serial, os.fspath(port), baud)
        try:
            return SerialDevice(opened, patience, retries, lock, known)
        except BaseException:
            opened.close()
            raise
    except BaseException:
        lock.release()
        raise


def _port_errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of a port, and ``more``; where there is ``termios``, also its own, which is no ``OSError``."""
    try:
        import termios
    except ModuleNotFoundError:
        return OSError, *more
    return OSError, termios.error, *more


def _opened(serial: Any, port: str, baud: int) -> Any:
    try:
        # Exclusive, so that other programs such as terminals cannot open it in the meantime.
        opened = serial.Serial(port, baud, exclusive=True)
    except _port_errors(ValueError) as error:
        number = getattr(error, "errno", None)
        if number == errno.EAGAIN:
            raise DeviceInUseError(f"device 'serial' at '{port}' is in use: another program has the port") from None
        cure = (
            "; only members of a group may use serial ports, dialout on Debian and Ubuntu"
            if number == errno.EACCES
            else ""
        )
        raise DeviceError(
            f"device 'serial' cannot open '{port}' at {baud} baud: {os.strerror(number) if number else error}{cure}"
        ) from None
    # By default USB bridges collect received bytes for 16 ms. Not all of them can be set to less.
    with contextlib.suppress(*_port_errors(ValueError, NotImplementedError, AttributeError)):
        opened.set_low_latency_mode(True)
    return opened


BACKEND = Backend(
    description="a board on a serial line, such as USB",
    missing=missing,
    open=open_serial,
    options={
        "port": "path of the serial port, such as /dev/ttyUSB0; must be given",
        "baud": f"bits per second, which must be that of the build, up to 100000000 (default {BAUD})",
        "patience": f"seconds that an answer may take beyond its transmission, up to 3600 (default {PATIENCE:g})",
        "retries": f"how often a request without a valid answer is sent again, 0 to 100 (default {RETRIES})",
        "builds": OPTION,
        "bitstream": "bitstream to load first, checked against bitstreams.json beside it (default: that in the board)",
    },
    elastic=False,
    places=places,
)
