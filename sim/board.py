"""The simulated board: gateware compiled by Verilator into a shared library, with a bus master that Python calls."""

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
"""Modules that a machine may instantiate many times; each is compiled once."""

OPTIMISE = "-O1 -ffp-contract=off"
"""Flags of the C++ compiler. With ``-O2`` a sweep engine takes half as long again to compile, and the simulation is 3
to 10% faster; ``-O3`` and ``-march=native`` make it no faster than that."""

SLICE = 0.1
"""Seconds of simulation between two checks for Ctrl-C."""

CHUNK = 2048
"""Words of a transfer between two checks for Ctrl-C; 0.1 s at 20,000 clocks per second."""

SHIM = Path(__file__).with_name("board.cpp")
"""C++ source of the bus master."""


class SimulatedBoard:
    """A board whose chip is a simulation of generated Verilog with the top module ``beltline``.

    Parameters
    ----------
    files
        Verilog, ``{file name: text}``.
    progress
        Called with a line of text while the gateware is compiled. This takes seconds to minutes and is done once: the
        result is cached.
    cache_dir
        Directory of the cache; by default ``beltline.sim.cache.cache_directory()``.
    top
        Name of the top module, whose ports are those of ``beltline``.
    seed
        Seed of the random initial contents of registers and memories, which are undefined in hardware.

    Raises
    ------
    SimulationError
        The gateware cannot be compiled.
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
        """Seconds spent in the simulation; ``clocks_simulated`` divided by it is the speed."""
        self._handle: int | None = None
        self._library = load_board(compile_board(files, top=top, progress=progress, cache_dir=cache_dir), (), _CALLS)
        self._handle = open_board(self._library, seed)

    @property
    def clocks_simulated(self) -> int:
        """Clocks since the board was opened, including those of register and table accesses."""
        return int(self._library.board_clocks(self._open()))

    def read_register(self, offset: int) -> int:
        """Return the 32-bit register at byte ``offset``.

        Raises
        ------
        SimulationError
            The gateware answered with SLVERR or not at all.
        """
        data = ctypes.c_uint32()
        self._call("read_register", offset, ctypes.byref(data))
        return data.value

    def write_register(self, offset: int, word: int) -> None:
        """Write the 32-bit register at byte ``offset``; raises as :meth:`read_register`."""
        self._call("write_register", offset, word)

    def write_block(self, offset: int, words: NDArray[np.int64]) -> None:
        """Write ``words``, contiguous int64 of shape ``(n,)``, to the table windows from byte ``offset`` on, in bursts.

        Raises
        ------
        SimulationError
            The gateware answered with SLVERR or not at all; the bursts before have been written.
        TypeError
            ``words`` have another type or shape or are not contiguous.
        """
        self._block("write_block", offset, words)

    def read_block(self, offset: int, words: NDArray[np.int64]) -> None:
        """Read into ``words``, contiguous int64 of shape ``(n,)``, from byte ``offset`` on, in bursts.

        Raises as :meth:`write_block` does.
        """
        self._block("read_block", offset, words)

    def wait(self, seconds: float) -> bool:
        """Simulate for about ``seconds``, or until the interrupt line is high; returns whether it is high.

        Ctrl-C raises ``KeyboardInterrupt`` within about 0.1 s, between two clocks; the board remains usable.
        """
        end = time.monotonic() + seconds
        interrupted = ctypes.c_int()
        while True:
            self._call("run", min(max(end - time.monotonic(), 0.0), SLICE), ctypes.byref(interrupted))
            if interrupted.value or time.monotonic() >= end:
                return bool(interrupted.value)

    def close(self) -> None:
        """End the simulation. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.board_close(handle)

    def _open(self) -> int:
        """Return the handle of the open board; raise SimulationError if it is closed."""
        if self._handle is None:
            raise SimulationError("the simulated board is closed")
        return self._handle

    def _block(self, name: str, offset: int, words: NDArray[np.int64]) -> None:
        """Transfer ``words`` by the library's function ``board_{name}``."""
        if words.dtype != np.int64 or words.ndim != 1 or not words.flags.c_contiguous:
            raise TypeError(f"words must be a contiguous vector of int64, not {words.ndim}-dimensional {words.dtype}")
        for first in range(0, words.size, CHUNK):
            part = words[first : first + CHUNK]
            self._call(name, offset + part.itemsize * first, part.ctypes.data, part.nbytes)

    def _call(self, name: str, *arguments: object) -> None:
        """Call the library's function ``board_{name}``; raises SimulationError with its message if it fails."""
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
    """Compile Verilog and a C++ bus master into the shared library of a simulated board, once, and return its path.

    Parameters
    ----------
    files
        Verilog, ``{file name: text}``.
    top
        Name of the top module.
    shim
        C++ source of the bus master.
    hierarchical
        Whether modules of :data:`BLOCKS` that are instantiated more than once are compiled separately, once each.
    optimise
        Flags of the C++ compiler.
    progress, cache_dir
        As of :class:`SimulatedBoard`.

    Raises
    ------
    SimulationError
        The gateware cannot be compiled.
    """
    text = "\n".join(files.values())
    blocks = [block for block in BLOCKS if hierarchical and len(re.findall(rf"^\s*{block}\s", text, re.MULTILINE)) > 1]
    # A process may open boards of several builds, so symbols of one library must not resolve to those of another.
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
"""Types of the result and of the arguments of a function in a board's library."""

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
        Path of the library, from :func:`compile_board`.
    settings
        Types of the arguments of its ``board_open`` between the seed and the buffer for the error message.
    calls
        Signatures of its functions ``board_NAME``, by ``NAME``; ``open``, ``close``, ``error`` and ``clocks``, which
        all boards have, are added.
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
    """Open a new board and return its handle.

    Parameters
    ----------
    library
        Library from :func:`load_board`.
    seed
        Seed of the initial contents of registers and memories.
    settings
        Further arguments of ``board_open``, of the types that were given to :func:`load_board`.

    Raises
    ------
    SimulationError
        The simulation could not be started.
    """
    error = ctypes.create_string_buffer(1000)
    handle: int | None = library.board_open(seed, *settings, error, len(error))
    if not handle:
        raise SimulationError(f"the simulation does not start: {error.value.decode()}")
    return handle
