"""The board's end of a serial line, without a board."""

from __future__ import annotations

import os
import select
import threading
import tty
from collections.abc import Callable

import numpy as np

from beltline.hw.bus import serial_frames
from beltline.hw.bus.serial_frames import HEADER, REQUEST, Operation, Outcome
from beltline.hw.interface.registers import READABLE, REGISTERS, WRITABLE
from support.boards import Fabric


class SerialEnd:
    """``fabric`` at the other end of pseudo-terminal ``port``, and a bridge written from its description alone.

    Attributes
    ----------
    spoil
        Function that returns what arrives of bytes on the line. Its arguments are the bytes, and whether they go to
        the board.
    requests
        Operation and address of every valid request, in order of arrival.
    """

    SILENCE = 0.015

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.spoil: Callable[[bytes, bool], bytes] = lambda data, towards: data
        self.requests: list[tuple[int, int]] = []
        self._done_tag = -1
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        self.port = os.ttyname(self._theirs)
        self._failed: BaseException | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close the port, as if the cable were unplugged."""
        if not self._closing.is_set():
            self._closing.set()
            self._thread.join()
            os.close(self._theirs)
            os.close(self._ours)
        if self._failed:
            raise self._failed

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as error:
            self._failed = error

    def _run(self) -> None:
        heard, deaf = b"", False
        while not self._closing.is_set():
            if not select.select([self._ours], [], [], self.SILENCE)[0]:
                heard, deaf = b"", False
                continue
            heard += self.spoil(os.read(self._ours, 65536), True)
            while heard and not deaf:
                size = self._size(heard)
                if len(heard) < size:
                    break
                request, heard = heard[:size], heard[size:]
                deaf = request[0] != REQUEST or not serial_frames.sound(request)
                if request[0] == REQUEST:
                    answer = self.spoil(self._answer(request), False)
                    while answer:
                        answer = answer[os.write(self._ours, answer) :]
            if deaf:
                heard = b""

    def _size(self, heard: bytes) -> int:
        if heard[0] != REQUEST:
            return 1
        if len(heard) < HEADER.size:
            return HEADER.size
        _, _, operation, count, _ = HEADER.unpack_from(heard)
        carried = serial_frames.payload_bytes(operation, count + 1)[0] if operation < len(Operation) else 0
        return HEADER.size + carried + serial_frames.CHECK_BYTES

    def _answer(self, request: bytes) -> bytes:
        _, tag, operation, count, address = HEADER.unpack_from(request)
        if not serial_frames.sound(request):
            return serial_frames.answer(tag, Outcome.DAMAGED)
        self.requests.append((operation, address))
        writes = operation in (Operation.WRITE_REGISTER, Operation.WRITE_WORDS)
        if writes and tag == self._done_tag:
            return serial_frames.answer(tag, Outcome.DONE)
        outcome, data = self._act(operation, address, count + 1, request[HEADER.size : -serial_frames.CHECK_BYTES])
        if outcome is Outcome.DONE:
            self._done_tag = tag
        return serial_frames.answer(tag, outcome, data)

    def _act(self, operation: int, address: int, count: int, data: bytes) -> tuple[Outcome, bytes]:
        fabric = self.fabric
        if operation == Operation.READ_REGISTER:
            return Outcome.DONE, fabric.read(address).to_bytes(4, "little")
        if operation == Operation.WRITE_REGISTER:
            if fabric.busy and address != REGISTERS["COMMAND"].offset:
                return Outcome.BUSY, b""
            fabric.write(address, int.from_bytes(data, "little"))
            return Outcome.DONE, b""
        tables = READABLE if operation == Operation.READ_WORDS else WRITABLE
        first = address // 8
        for table in tables:
            begin = fabric.windows.offset(table) // 8
            if begin <= first and first + count <= begin + fabric.windows.words(table) and address % 8 == 0:
                break
        else:
            return Outcome.ILLEGAL, b""
        if fabric.busy:
            return Outcome.BUSY, b""
        if operation == Operation.READ_WORDS:
            return Outcome.DONE, fabric.memory[first : first + count].tobytes()
        words = np.frombuffer(data, dtype="<i8")
        fabric.memory[first : first + count] = words
        fabric.wrote(address, words)
        return Outcome.DONE, b""
