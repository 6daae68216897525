"""The device of docs/add-a-device.md passes the conformance suite."""

from __future__ import annotations

import functools
import runpy
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import beltline as bl
from beltline.host.devices import DEVICES
from beltline.hw.interface.parameters import MachineParameters
from support.boards import Fabric
from support.conformance import *  # noqa: F403 - the tests
from support.conformance import Bench
from support.paths import ROOT

EXAMPLE = runpy.run_path(str(ROOT / "examples" / "socket_device.py"))
REQUEST = EXAMPLE["REQUEST"]


class Server:
    """The server of the board: a software model at a port of this computer, for one client after the other."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._listening = socket.create_server(("localhost", 0))
        self.port = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        # Closing the socket alone does not end an accept that waits.
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(10)
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                while len(request := stream.read(REQUEST.size)) == REQUEST.size:
                    what, offset, count = REQUEST.unpack(request)
                    data = stream.read(count) if what in b"wW" else b""
                    stream.write(self._answer(what, offset, count, data))
                    stream.flush()

    def _answer(self, what: bytes, offset: int, count: int, data: bytes) -> bytes:
        memory = memoryview(self._fabric.memory).cast("B")
        if what == b"r":
            return self._fabric.read(offset).to_bytes(4, "little")
        if what == b"R":
            return bytes(memory[offset : offset + count])
        if what == b"w":
            self._fabric.write(offset, int.from_bytes(data, "little"))
        else:
            memory[offset : offset + count] = data
            self._fabric.wrote(offset, np.frombuffer(data, dtype="<i8"))
        return b"\0"


class SocketBench(Bench):
    """A :class:`support.conformance.Bench` with a software model at the other end of a socket."""

    def __init__(self, patch: pytest.MonkeyPatch, directory: Path) -> None:
        super().__init__("socket", patch, directory)
        self._servers: list[Server] = []

    def install(self, parameters: MachineParameters) -> None:
        self.fabric = Fabric(parameters)
        self._servers.append(Server(self.fabric))
        opened = functools.partial(EXAMPLE["open_socket"], port=self._servers[-1].port)
        self._patch.setitem(DEVICES, "socket", replace(EXAMPLE["BACKEND"], open=opened))

    def close(self) -> None:
        super().close()
        for server in self._servers:
            server.close()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SocketBench]:
    made = SocketBench(monkeypatch, tmp_path)
    yield made
    made.close()
    assert made.fabric is None or made.fabric.guards_hold()


def test_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("localhost", 0)) as taken:
        port = taken.getsockname()[1]
    monkeypatch.setitem(DEVICES, "socket", EXAMPLE["BACKEND"])
    with pytest.raises(bl.DeviceError, match=f"^device 'socket' finds no server at localhost:{port}: "):
        bl.open("socket", port=port)


def test_lost_in_the_middle(bench: SocketBench) -> None:
    device = bench.open()
    device._socket.shutdown(socket.SHUT_RDWR)
    with pytest.raises(bl.DeviceLostError, match=r"^device 'socket' does not answer any more: "):
        device.read_register("STATUS")
