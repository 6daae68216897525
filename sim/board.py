"""The simulated board: the gateware itself, compiled by Verilator into a shared library, and a master of its buses."""

from __future__ import annotations

import ctypes
import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beltline.sim import verilator
from beltline.sim.cache import Progress, SimulationError, cached, digest

TOP = "beltline"
"""The top module; its ports are those of :class:`beltline.hw.top.axi_machine.AxiMachine`."""

BLOCKS = ("beltline_evaluator", "beltline_lane")
"""Modules that a machine may instance many times, and that are then compiled once."""

OPTIMISE = "-O2 -ffp-contract=off"
"""Flags of the C++ compiler. ``-O3`` compiles longer and runs no faster, and neither does ``-march=native``."""

SLICE = 0.1
"""Seconds of simulation after which Python looks for Ctrl-C."""

CHUNK = 2048
"""Words after which Python looks for Ctrl-C: at 20,000 clocks a second, 0.1 s."""

SHIM = Path(__file__).with_name("board.cpp")


class SimulatedBoard:
    """A board whose chip is a simulation of ``files``, generated Verilog whose top module is ``beltline``.

    Parameters
    ----------
    files
        Verilog files, name to text.
    progress
        Told what goes on while the gateware is compiled, which takes from seconds to minutes and is done once: the
        result is kept in the cache.
    cache_dir
        The cache, ``beltline.sim.cache.cache_directory()`` by default.
    top
        The top module, with the ports of ``beltline``, where it is another.
    seed
        Of what registers and memories hold before anything sets them, as in hardware: anything.

    Raises
    ------
    SimulationError
        The gateware does not compile.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        *,
        progress: Progress | None = None,
        cache_dir: Path | None = None,
        seed: int = 1,
        top: str = TOP,
    ) -> None:
        self.seconds_simulating = 0.0
        """Seconds spent in simulating so far; ``clocks_simulated`` over it is the speed."""
        self._handle: int | None = None
        self._library = load_board(compile_board(files, top=top, progress=progress, cache_dir=cache_dir), (), _CALLS)
        self._handle = open_board(self._library, seed)

    @property
    def clocks_simulated(self) -> int:
        """Clocks since the board was opened, those of register and table accesses included."""
        return int(self._library.board_clocks(self._open()))

    def read_register(self, offset: int) -> int:
        """Return the 32-bit register at byte ``offset``.

        Raises
        ------
        SimulationError
            The gateware refused (SLVERR) or did not answer.
        """
        data = ctypes.c_uint32()
        self._call("read_register", offset, ctypes.byref(data))
        return data.value

    def write_register(self, offset: int, word: int) -> None:
        """Write the 32-bit register at byte ``offset``; raises as :meth:`read_register`."""
        self._call("write_register", offset, word)

    def write_block(self, offset: int, words: NDArray[np.int64]) -> None:
        """Write contiguous 64-bit ``words`` from byte ``offset`` of the table windows, in bursts.

        Raises
        ------
        SimulationError
            The gateware refused (SLVERR) or did not answer; what was written before stays.
        """
        self._block("write_block", offset, words)

    def read_block(self, offset: int, words: NDArray[np.int64]) -> None:
        """Fill contiguous 64-bit ``words`` from byte ``offset``, in bursts; raises as :meth:`write_block`."""
        self._block("read_block", offset, words)

    def wait(self, seconds: float) -> bool:
        """Simulate for about ``seconds``, less when the interrupt line goes high; whether it is.

        Ctrl-C is answered within about 0.1 s, between two clocks: the board can be used on.
        """
        end = time.monotonic() + seconds
        interrupted = ctypes.c_int()
        while True:
            self._call("run", min(max(end - time.monotonic(), 0.0), SLICE), ctypes.byref(interrupted))
            if interrupted.value or time.monotonic() >= end:
                return bool(interrupted.value)

    def close(self) -> None:
        """End the simulation. Closing twice is no error."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.board_close(handle)

    def _open(self) -> int:
        if self._handle is None:
            raise SimulationError("the simulated board is closed")
        return self._handle

    def _block(self, name: str, offset: int, words: NDArray[np.int64]) -> None:
        if words.dtype != np.int64 or words.ndim != 1 or not words.flags.c_contiguous:
            raise TypeError(f"words must be a contiguous vector of int64, not {words.ndim}-dimensional {words.dtype}")
        for first in range(0, words.size, CHUNK):
            part = words[first : first + CHUNK]
            self._call(name, offset + part.itemsize * first, part.ctypes.data, part.nbytes)

    def _call(self, name: str, *arguments: object) -> None:
        handle = self._open()
        started = time.perf_counter()
        try:
            failed = getattr(self._library, f"board_{name}")(handle, *arguments)
        finally:
            self.seconds_simulating += time.perf_counter() - started
        if failed:
            raise SimulationError(self._library.board_error(handle).decode())


def compile_board(
    files: Mapping[str, str],
    *,
    top: str = TOP,
    shim: Path = SHIM,
    hierarchical: bool = True,
    optimise: str = OPTIMISE,
    progress: Progress | None = None,
    cache_dir: Path | None = None,
) -> Path:
    """Compile ``files``, top module ``top``, and the C++ file ``shim`` around them into the shared library of a
    simulated board, once, and return its path.

    ``hierarchical`` compiles a module of ``BLOCKS`` by itself where it is instanced more than once (the default).

    Raises
    ------
    SimulationError
        They do not compile.
    """
    text = "\n".join(files.values())
    blocks = [block for block in BLOCKS if hierarchical and len(re.findall(rf"^\s*{block}\s", text, re.MULTILINE)) > 1]
    # Symbols of one library must not stand in for those of another: a process may open boards of several builds.
    flags = "-fPIC -fvisibility=hidden -fno-gnu-unique -DVL_USER_FATAL"
    arguments = ["-O3", "--x-assign", "fast", "-CFLAGS", flags, "-LDFLAGS", "-shared -Wl,-Bsymbolic"]
    configuration = [f'hier_block -module "{block}"' for block in blocks]
    if blocks:
        arguments.append("--hierarchical")
    key = digest(
        json.dumps([sorted(files.items()), arguments, configuration, optimise]),
        shim.read_text(),
        verilator.find().version,
        verilator.compiler(),
    )
    product = "board.so"
    directory = cached(
        "board",
        key,
        lambda directory: verilator.compile_design(
            directory,
            files,
            top=top,
            product=product,
            sources=[shim],
            arguments=arguments,
            configuration=configuration,
            optimise=optimise,
            progress=progress,
        ),
        progress=progress,
        directory=cache_dir,
    )
    return directory / product


Signature = tuple[Any, Sequence[Any]]
"""What a function of a board's library returns, and its arguments."""

_WORD, _BOARD = ctypes.c_uint32, ctypes.c_void_p

_CALLS: dict[str, Signature] = {
    "read_register": (ctypes.c_int, [_BOARD, _WORD, ctypes.POINTER(_WORD)]),
    "write_register": (ctypes.c_int, [_BOARD, _WORD, _WORD]),
    "write_block": (ctypes.c_int, [_BOARD, _WORD, ctypes.c_void_p, _WORD]),
    "read_block": (ctypes.c_int, [_BOARD, _WORD, ctypes.c_void_p, _WORD]),
    "run": (ctypes.c_int, [_BOARD, ctypes.c_double, ctypes.POINTER(ctypes.c_int)]),
}


def load_board(path: Path, settings: Sequence[Any], calls: Mapping[str, Signature]) -> ctypes.CDLL:
    """Load the library of a simulated board.

    Parameters
    ----------
    path
        As of :func:`compile_board`.
    settings
        Types of what its ``board_open`` takes besides the seed.
    calls
        Its functions ``board_NAME``, by ``NAME``, besides those that every board has.
    """
    library = ctypes.CDLL(str(path))
    every: dict[str, Signature] = {
        "open": (_BOARD, [ctypes.c_int, *settings, ctypes.c_char_p, ctypes.c_size_t]),
        "close": (None, [_BOARD]),
        "error": (ctypes.c_char_p, [_BOARD]),
        "clocks": (ctypes.c_uint64, [_BOARD]),
    }
    for name, (result, arguments) in {**every, **calls}.items():
        function = getattr(library, f"board_{name}")
        function.restype = result
        function.argtypes = arguments
    return library


def open_board(library: ctypes.CDLL, seed: int, *settings: int) -> int:
    """Return the handle of a new board, ``settings`` as of :func:`load_board`.

    Raises
    ------
    SimulationError
        The simulation does not start.
    """
    error = ctypes.create_string_buffer(1000)
    handle: int | None = library.board_open(seed, *settings, error, len(error))
    if not handle:
        raise SimulationError(f"the simulation does not start: {error.value.decode()}")
    return handle
