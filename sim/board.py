"""The simulated board: the gateware itself, compiled by Verilator into a shared library, behind a driver's calls."""

from __future__ import annotations

import ctypes
import json
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hw.registers import REGISTERS, Register, Status, Table
from sim import verilator
from sim.cache import Progress, SimulationError, cached, digest

TOP = "beltline"
"""The top module; its ports are those of the machine."""

BLOCK = "beltline_evaluator"
"""A module that the machine instances many times, and that is compiled once."""

OPTIMISE = "-O2 -ffp-contract=off"
"""Flags of the C++ compiler. ``-O3`` compiles longer and runs no faster, and neither does ``-march=native``."""

SLICE = 0.1
"""Seconds of simulation after which Python looks for Ctrl-C."""

CHUNK = 2048
"""Words after which Python looks for Ctrl-C: at 20,000 clocks a second, 0.1 s."""

WINDOW = 2**24
"""Words that ``table_address`` can name."""

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
        The cache, ``sim.cache.cache_directory()`` by default.
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
    ) -> None:
        self.seconds_simulating = 0.0
        """Seconds spent in simulating so far; ``clocks_simulated`` over it is the speed."""
        self._handle: int | None = None
        self._library = _load(compile_board(files, progress=progress, cache_dir=cache_dir))
        error = ctypes.create_string_buffer(1000)
        handle = self._library.board_open(seed, error, len(error))
        if not handle:
            raise SimulationError(f"the simulation does not start: {error.value.decode()}")
        self._handle = handle

    @property
    def clocks_simulated(self) -> int:
        """Clocks since the board was opened, those of register and table accesses included."""
        return int(self._library.board_clocks(self._open()))

    def read_register(self, name: str) -> int:
        """Return a whole quantity, signed where the register map says so."""
        register = _register(name)
        value = 0
        for word in range(register.words):
            data = ctypes.c_uint32()
            self._call("read_register", register.offset // 4 + word, ctypes.byref(data))
            value |= data.value << (32 * word)
        value &= (1 << register.bits) - 1
        if register.signed and value >> (register.bits - 1):
            value -= 1 << register.bits
        return value

    def write_register(self, name: str, value: int) -> None:
        """Write a whole quantity, low word first, negative ones in two's complement.

        Raises
        ------
        ValueError
            It does not fit.
        """
        register = _register(name)
        value = int(value)
        low = -(1 << (register.bits - 1)) if register.signed else 0
        high = (1 << (register.bits - register.signed)) - 1
        if not low <= value <= high:
            raise ValueError(f"register {name} holds {low} to {high}, not {value}")
        for word in range(register.words):
            self._call("write_register", register.offset // 4 + word, value >> (32 * word) & 0xFFFFFFFF)

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        """Write contiguous 64-bit ``words`` to a table window from word ``first``, one a clock."""
        if words.dtype != np.int64 or words.ndim != 1:
            raise TypeError(f"words must be a vector of int64, not {words.ndim}-dimensional {words.dtype}")
        data = np.ascontiguousarray(words)
        for start, count in _chunks(first, data.size):
            place = data.ctypes.data + data.itemsize * (start - first)
            self._call("write_block", int(table), start, place, count)

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        """Return ``count`` 64-bit words of a table window from word ``first``, one a clock.

        Raises
        ------
        SimulationError
            They did not all come back, for instance because the machine is busy.
        """
        data = np.empty(count, dtype=np.int64)
        received = ctypes.c_uint32()
        for start, wanted in _chunks(first, count):
            place = data.ctypes.data + data.itemsize * (start - first)
            self._call("read_block", int(table), start, place, wanted, ctypes.byref(received))
            if received.value != wanted:
                raise SimulationError(
                    f"only {start - first + received.value} of {count} words of table {Table(table).name} came back: "
                    "a machine that is busy keeps its tables to itself"
                )
        return data

    def wait(self, seconds: float) -> bool:
        """Simulate for about ``seconds``, less when the run ends; true when the machine is not busy.

        Ctrl-C is answered within about 0.1 s, between two clocks: the board can be used on.
        """
        handle = self._open()
        end = time.monotonic() + seconds
        while not self._library.board_done(handle):
            if not self.read_register("STATUS") & Status.BUSY:
                return True
            left = end - time.monotonic()
            if left <= 0:
                return False
            self._call("run", min(left, SLICE))
        return True

    def close(self) -> None:
        """End the simulation. Closing twice is no error."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self._library.board_close(handle)

    def _open(self) -> int:
        if self._handle is None:
            raise SimulationError("the simulated board is closed")
        return self._handle

    def _call(self, name: str, *arguments: object) -> None:
        handle = self._open()
        started = time.perf_counter()
        try:
            failed = getattr(self._library, f"board_{name}")(handle, *arguments)
        finally:
            self.seconds_simulating += time.perf_counter() - started
        if failed:
            raise SimulationError(f"the simulation stopped: {self._library.board_error(handle).decode()}")


def compile_board(
    files: Mapping[str, str],
    *,
    hierarchical: bool | None = None,
    optimise: str = OPTIMISE,
    progress: Progress | None = None,
    cache_dir: Path | None = None,
) -> Path:
    """Compile ``files`` into the shared library of a simulated board, once, and return its path.

    ``hierarchical`` compiles module ``beltline_evaluator`` by itself; by default where it is instanced more than once.

    Raises
    ------
    SimulationError
        They do not compile.
    """
    if hierarchical is None:
        text = "\n".join(files.values())
        hierarchical = len(re.findall(rf"^\s*{BLOCK}\s", text, re.MULTILINE)) > 1
    shim = SHIM.read_text()
    # Symbols of one library must not stand in for those of another: a process may open boards of several builds.
    flags = "-fPIC -fvisibility=hidden -fno-gnu-unique -DVL_USER_FATAL"
    arguments = ["-O3", "--x-assign", "fast", "-CFLAGS", flags, "-LDFLAGS", "-shared -Wl,-Bsymbolic"]
    configuration = []
    if hierarchical:
        arguments.append("--hierarchical")
        configuration.append(f'hier_block -module "{BLOCK}"')
    key = digest(
        json.dumps([sorted(files.items()), arguments, configuration, optimise]),
        shim,
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
            top=TOP,
            product=product,
            sources=[SHIM],
            arguments=arguments,
            configuration=configuration,
            optimise=optimise,
            progress=progress,
        ),
        progress=progress,
        directory=cache_dir,
    )
    return directory / product


def _load(path: Path) -> ctypes.CDLL:
    library = ctypes.CDLL(str(path))
    word, handle = ctypes.c_uint32, ctypes.c_void_p
    signatures = {
        "open": (handle, [ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t]),
        "close": (None, [handle]),
        "error": (ctypes.c_char_p, [handle]),
        "clocks": (ctypes.c_uint64, [handle]),
        "done": (ctypes.c_int, [handle]),
        "read_register": (ctypes.c_int, [handle, word, ctypes.POINTER(word)]),
        "write_register": (ctypes.c_int, [handle, word, word]),
        "write_block": (ctypes.c_int, [handle, word, word, handle, word]),
        "read_block": (ctypes.c_int, [handle, word, word, handle, word, ctypes.POINTER(word)]),
        "run": (ctypes.c_int, [handle, ctypes.c_double]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"board_{name}")
        function.restype = result
        function.argtypes = arguments
    return library


def _chunks(first: int, count: int) -> Iterator[tuple[int, int]]:
    if first < 0 or count < 0 or first + count > WINDOW:
        raise ValueError(f"a table window holds words 0 to {WINDOW - 1}, not {first} to {first + count - 1}")
    for start in range(first, first + count, CHUNK):
        yield start, min(CHUNK, first + count - start)


def _register(name: str) -> Register:
    if name not in REGISTERS:
        raise KeyError(f"no register {name} in the register map")
    return REGISTERS[name]
