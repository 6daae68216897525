"""A device on a TCP connection: a board with a network port, on which a small server runs."""

import contextlib
import socket
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Backend, BusDevice, DeviceError, DeviceLostError, check_identity

REQUEST = struct.Struct("<cQI")
"""Command, byte offset, and number of bytes that follow or, for a read, are returned. A write returns one byte."""


class SocketDevice(BusDevice):
    """A device whose bus accesses are messages: reads and writes of a 32-bit word or of a block of 64-bit words.

    Raises :class:`DeviceError` if no server accepts the connection, and :class:`DeviceLostError` if it is closed later.
    """

    name = "socket"
    clocks_source = "counted by the gateware at the other end of the connection"

    def __init__(self, address: tuple[str, int]) -> None:
        try:
            self._socket = socket.create_connection(address, timeout=10)
        except OSError as error:
            raise DeviceError(f"device 'socket' finds no server at {address[0]}:{address[1]}: {error}") from error
        self._stream = self._socket.makefile("rwb")
        # Refuse anything but a Beltline device, and sizes that no build has.
        check_identity(self)
        self.windows()

    def _read_word(self, offset: int) -> int:
        return int.from_bytes(self._ask(b"r", offset, 4), "little")

    def _write_word(self, offset: int, word: int) -> None:
        self._ask(b"w", offset, 4, word.to_bytes(4, "little"))

    def _read_words(self, offset: int, words: NDArray[np.int64]) -> None:
        words[:] = np.frombuffer(self._ask(b"R", offset, words.nbytes), dtype="<i8")

    def _write_words(self, offset: int, words: NDArray[np.int64]) -> None:
        self._ask(b"W", offset, words.nbytes, words.astype("<i8", copy=False).tobytes())

    def _release(self) -> None:
        # Data that a lost connection did not accept can no longer be sent.
        with contextlib.suppress(OSError):
            self._stream.close()
        self._socket.close()

    def _ask(self, what: bytes, offset: int, count: int, data: bytes = b"") -> bytes:
        """Send one request and return its answer: the bytes read, or the one byte that acknowledges a write."""
        try:
            self._stream.write(REQUEST.pack(what, offset, count) + data)
            self._stream.flush()
            answer = self._stream.read(1 if data else count)
        except OSError as error:
            raise DeviceLostError(f"device 'socket' does not answer any more: {error}") from error
        if len(answer) != (1 if data else count):
            raise DeviceLostError("device 'socket' does not answer any more: the connection was closed")
        return answer


def open_socket(
    parameters: Any = None, progress: Any = None, *, host: str = "localhost", port: int = 4242
) -> SocketDevice:
    """Connect to the board at ``host:port``. Its sizes are fixed in hardware, so ``parameters`` is ignored."""
    return SocketDevice((host, port))


BACKEND = Backend(
    description="a board that is reached by a TCP connection",
    missing=lambda: "",
    open=open_socket,
    options={"host": "name of the computer (default localhost)", "port": "TCP port (default 4242)"},
    elastic=False,
)
