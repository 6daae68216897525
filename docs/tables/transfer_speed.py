"""Measure the speed of block transfers to mapped memory: ``python -m docs.tables.transfer_speed``.

The speed is compared with that of copying to a plain memory-mapped file. No board is involved: the table windows are a
file in memory, so the result is the time of the host without the link. Devices with mapped memory (``pynq``, ``f2``,
``xdma``) copy by the same code.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Device
from beltline.host.devices.mapped import MappedDevice
from beltline.host.solver.transfers import read_table, write_table
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import IDENTITY, REGISTERS, VERSION, Table
from beltline.hw.interface.windows import WindowParameters

REPEATS = 15

MEMORY = Path("/dev/shm")
"""A file system in memory, so that no disk is involved."""


class MappedFile(MappedDevice):
    """A device whose table windows are a memory-mapped file; its registers report sizes, and no run can be started.

    Parameters
    ----------
    path
        Path of the file, which is created.
    parameters
        Sizes of the machine.
    """

    name = "file"
    clocks_source = "not counted: nothing runs"

    def __init__(self, path: Path, parameters: MachineParameters) -> None:
        words = (1 << WindowParameters(parameters).address_bits) // 8
        self._tables = np.memmap(path, dtype=np.int64, mode="w+", shape=(words,))
        constants = {"IDENTITY": IDENTITY, "VERSION": VERSION} | parameters.reported
        self._registers = {REGISTERS[name].offset: value for name, value in constants.items()}

    def _read_word(self, offset: int) -> int:
        return self._registers.get(offset, 0)

    def _write_word(self, offset: int, word: int) -> None:
        self._registers[offset] = word

    def _release(self) -> None:
        self._tables = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Speed:
    """Median and best speed in bytes per second, and the number of bytes."""

    what: str
    size: int
    median: float
    best: float


def measured(what: str, size: int, move: Callable[[], object], repeats: int = REPEATS) -> Speed:
    """Time ``move``, which transfers ``size`` bytes."""
    seconds = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        move()
        seconds.append(time.perf_counter() - begin)
    # The first call maps the pages.
    return Speed(what, size, size / statistics.median(seconds[1:]), size / min(seconds[1:]))


LOADED = (Table.X, Table.W, Table.Q, Table.V)
READ = (Table.V, Table.POLICY)
"""Tables that a solve writes, and tables that it reads back."""


def speeds(device: Device, build: MachineParameters, directory: Path, repeats: int = REPEATS) -> list[Speed]:
    """Measure the speed at which all tables of ``device`` are written and read back, and that of a plain file.

    Parameters
    ----------
    device
        The device, whose tables are moved in the driver's blocks.
    build
        Sizes of the device.
    directory
        Directory in which the plain file is created.
    repeats
        Number of timed transfers of each kind, after one that maps the pages.
    """
    windows = WindowParameters(build)
    tables = {table: np.arange(windows.words(table), dtype=np.int64) for table in LOADED}
    count = sum(windows.words(table) for table in READ)
    source = np.concatenate(list(tables.values()))
    plain = np.memmap(directory / "plain", dtype=np.int64, mode="w+", shape=source.shape)

    def write_plain() -> None:
        plain[:] = source

    def read_plain() -> NDArray[np.int64]:
        return np.array(plain[:count])

    def load() -> None:
        for table, words in tables.items():
            write_table(device, table, words)

    def read_back() -> list[NDArray[np.int64]]:
        return [read_table(device, table, windows.words(table)) for table in READ]

    return [
        measured("plain file, write", source.nbytes, write_plain, repeats),
        measured("mapped device, load", source.nbytes, load, repeats),
        measured("plain file, read", 8 * count, read_plain, repeats),
        measured("mapped device, read back", 8 * count, read_back, repeats),
    ]


def main() -> None:
    """Print a table for 65,536 x 4 states."""
    build = MachineParameters(grid=65_536, states=4)
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        print("65,536 x 4, host memory and no board:")
        for speed in speeds(MappedFile(Path(name) / "windows", build), build, Path(name)):
            print(
                f"{speed.what:<26}{speed.size / 1e6:5.1f} MB  {speed.median / 1e9:6.2f} GB/s, "
                f"at best {speed.best / 1e9:.2f}"
            )


if __name__ == "__main__":
    main()
