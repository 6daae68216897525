"""The simulated board of a build with a serial line: its pins are connected, bit by bit, to a pseudo-terminal."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import threading
import tty
from collections.abc import Callable, Mapping
from pathlib import Path

from beltline.hw.top.serial_machine import MODULE, SerialParameters
from beltline.sim import board
from beltline.sim.cache import Progress, SimulationError

SHIM = Path(__file__).with_name("serial_board.cpp")
"""C++ source that drives and samples the pins."""

SLICE_CLOCKS = 2000
"""Clocks that are simulated between two transfers from and to the pseudo-terminal."""

_CALLS: dict[str, board.Signature] = {
    "run": (
        ctypes.c_int,
        [
            ctypes.c_void_p,
            ctypes.c_char_p,
            ctypes.c_uint32,
            ctypes.c_uint32,
            ctypes.c_void_p,
            ctypes.c_uint32,
            ctypes.POINTER(ctypes.c_uint32),
            ctypes.POINTER(ctypes.c_int),
        ],
    )
}

NAP = 0.02
"""Seconds to wait for a byte when the board is idle and not simulated."""


class SimulatedSerialBoard:
    """A board whose chip is a simulation of a build with a serial line; a host reaches it at the pseudo-terminal
    ``port``.

    The simulation runs in its own thread until the board is closed. After the last activity it continues for the time
    of silence after which the bridge discards an incomplete request; then it pauses until a byte arrives.

    Parameters
    ----------
    files
        Verilog from :func:`beltline.hw.top.verilog.generate_serial`.
    parameters
        Parameters of this build, with the bit rate.
    line
        Function that may alter bytes on the line, to simulate a disturbed one. It is called with the bytes and with
        whether they go to the board (True) or come from it (False), and returns the bytes that arrive.
    seed
        Seed of the initial contents of registers and memories.
    progress, cache_dir
        As of :class:`beltline.sim.board.SimulatedBoard`.

    Raises
    ------
    SimulationError
        The gateware cannot be compiled.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        parameters: SerialParameters,
        *,
        line: Callable[[bytes, bool], bytes] = lambda data, towards: data,
        seed: int = 1,
        progress: Progress | None = None,
        cache_dir: Path | None = None,
    ) -> None:
        self.line = line
        self._linger = parameters.silence_clocks + SLICE_CLOCKS
        self._divisor = parameters.uart.divisor
        path = board.compile_board(files, top=MODULE, shim=SHIM, progress=progress, cache_dir=cache_dir)
        self._library = board.load_board(path, [ctypes.c_uint32], _CALLS)
        self._handle = board.open_board(self._library, seed, self._divisor)
        self.error = ""
        """Reason why the simulation failed; empty if it did not fail."""
        # The slave side stays open here too: otherwise the terminal would hang up when a host closes it.
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        os.set_blocking(self._ours, False)
        self.port = os.ttyname(self._theirs)
        """Path of the terminal, which a host opens."""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="serial board", daemon=True)
        self._thread.start()

    def __enter__(self) -> SimulatedSerialBoard:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def clocks_simulated(self) -> int:
        """Clocks since the board was opened."""
        return int(self._library.board_clocks(self._handle))

    def close(self) -> None:
        """End the simulation and close the terminal, as when a board is unplugged. Further calls close nothing.

        Raises
        ------
        SimulationError
            The simulation had failed.
        """
        if not self._closing.is_set():
            self._closing.set()
            self._thread.join()
            self._library.board_close(self._handle)
            os.close(self._theirs)
            os.close(self._ours)
        if self.error:
            raise SimulationError(self.error)

    def _run(self) -> None:
        """Simulate, and transfer bytes between the terminal and the board, until the board is closed."""
        room = SLICE_CLOCKS // (10 * self._divisor) + 2
        answer, came, active = (ctypes.c_uint8 * room)(), ctypes.c_uint32(), ctypes.c_int()
        waiting = b""
        linger = self._linger
        while not self._closing.is_set():
            select.select([self._ours], [self._ours] if waiting else [], [], NAP if linger <= 0 else 0)
            data = b""
            with contextlib.suppress(BlockingIOError):
                data = self.line(os.read(self._ours, 4096), True)
            if not data and linger <= 0 and not waiting:
                continue
            failed = self._library.board_run(
                self._handle, data, len(data), SLICE_CLOCKS, answer, room, ctypes.byref(came), ctypes.byref(active)
            )
            if failed:
                self.error = self._library.board_error(self._handle).decode()
                return
            linger = self._linger if active.value or came.value else linger - SLICE_CLOCKS
            waiting += self.line(bytes(answer[: came.value]), False)
            with contextlib.suppress(BlockingIOError):
                waiting = waiting[os.write(self._ours, waiting) :] if waiting else b""
