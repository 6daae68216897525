"""The device that is the gateware itself, compiled by Verilator: cycle-accurate, for small and middle sizes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from host.devices.base import DeviceError, Progress
from hw.parameters import MachineParameters
from hw.registers import Table
from sim.cache import SimulationError

if TYPE_CHECKING:
    from sim.board import SimulatedBoard


@contextlib.contextmanager
def _device_errors() -> Iterator[None]:
    try:
        yield
    except SimulationError as error:
        raise DeviceError(str(error)) from error


class RtlDevice:
    """The simulated board as a :class:`~host.devices.base.Device`."""

    name = "rtl"

    def __init__(self, board: SimulatedBoard) -> None:
        self._board = board

    @property
    def clocks_source(self) -> str:
        speed = self._board.clocks_simulated / max(self._board.seconds_simulating, 1e-9)
        return f"counted by the gateware in simulation, at {speed:,.0f} clocks a second"

    def read_register(self, name: str) -> int:
        with _device_errors():
            return self._board.read_register(name)

    def write_register(self, name: str, value: int) -> None:
        with _device_errors():
            self._board.write_register(name, value)

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        with _device_errors():
            self._board.write_block(table, first, words)

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        with _device_errors():
            return self._board.read_block(table, first, count)

    def wait(self, seconds: float) -> bool:
        with _device_errors():
            return self._board.wait(seconds)

    def close(self) -> None:
        self._board.close()


def open_rtl(parameters: MachineParameters, progress: Progress | None = None) -> RtlDevice:
    """Generate and compile a machine of these sizes, or take it from the cache, and start its simulation.

    Raises
    ------
    DeviceError
        A tool is missing or failed.
    """
    try:
        from amaranth.back.verilog import YosysError

        from hw.verilog import generate
        from sim.board import SimulatedBoard
        from sim.yosys import use_yosys
    except ImportError as error:
        raise DeviceError(f"device 'rtl' needs the Python package {error.name}, which is not installed") from error
    with _device_errors():
        use_yosys(progress)
        if progress:
            progress("writing the gateware as Verilog")
        try:
            files = generate(parameters)
        except YosysError as error:
            raise DeviceError(f"Yosys did not turn the gateware into Verilog: {error}") from error
        return RtlDevice(SimulatedBoard(files, progress=progress))
