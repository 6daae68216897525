"""The device that needs no board: the bit-exact software model behind the machine's registers and table windows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from host.devices.base import DeviceError, Progress
from hw.parameters import MachineParameters
from hw.registers import IDENTITY, REGISTERS, VERSION, Access, Command, Mode, Status, Table
from hw.utility import UtilityConstants

if TYPE_CHECKING:
    from hw.model import SoftwareMachine


class ModelDevice:
    """A :class:`~host.devices.base.Device` that answers as the gateware would.

    Commands act at once; a run goes on inside :meth:`wait`, one whole sweep at a time.
    """

    name = "model"
    clocks_source = "modelled by formula"

    def __init__(self, machine: SoftwareMachine) -> None:
        self._machine = machine
        parameters = machine.parameters
        self._constants = {
            "IDENTITY": IDENTITY,
            "VERSION": VERSION,
            "BUILD_HASH": 0,
            "GRID_MAX": parameters.grid,
            "STATES_MAX": parameters.states,
            "RESULTS_MAX": parameters.results,
        }
        self._settings = {name: 0 for name, register in REGISTERS.items() if register.access is Access.READ_WRITE}

    def read_register(self, name: str) -> int:
        if name in self._constants:
            return self._constants[name]
        if name in self._settings:
            return self._settings[name]
        machine = self._machine
        counters = {
            "STATUS": machine.status,
            "CLOCKS": machine.clocks,
            "SWEEPS": machine.sweeps,
            "STATES_DONE": machine.states_done,
            "NORM": machine.norm,
        }
        if name not in counters:
            raise DeviceError(f"register {name} cannot be read")
        return int(counters[name])

    def write_register(self, name: str, value: int) -> None:
        if name == "COMMAND":
            self._command(Command(value))
            return
        if name not in self._settings:
            raise DeviceError(f"register {name} cannot be written")
        register = REGISTERS[name]
        low = -(2 ** (register.bits - 1)) if register.signed else 0
        if not low <= value < low + 2**register.bits:
            raise DeviceError(f"{value} does not fit the {register.bits} bits of register {name}")
        if not self._busy:
            self._settings[name] = value

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        if table is Table.POLICY:
            raise DeviceError("table POLICY is read only")
        window = self._window(table, first, words.size)
        if not self._busy:
            window[first : first + words.size] = words.view(window.dtype)

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        if table is Table.X:
            raise DeviceError("table X is write only")
        part = self._window(table, first, count)[first : first + count]
        return part.view(np.int64).copy() if part.itemsize == 8 else part.astype(np.int64)

    def wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self._busy and not self._machine.step() and time.monotonic() < end:
            pass
        return not self._busy

    def close(self) -> None:
        pass

    @property
    def _busy(self) -> bool:
        return bool(self._machine.status & Status.BUSY)

    def _window(self, table: Table, first: int, count: int) -> NDArray[Any]:
        machine = self._machine
        windows = {
            Table.X: machine.x,
            Table.W: machine.w,
            Table.Q: machine.q,
            Table.V: machine.v,
            Table.POLICY: machine.policy,
        }
        window = windows[table].reshape(-1)
        if not (first >= 0 and first + count <= window.size):
            raise DeviceError(f"table {table.name} has {window.size} words, not words {first} to {first + count - 1}")
        return window

    def _command(self, command: Command) -> None:
        if Command.STOP in command and self._busy:
            self._machine.stop()
        if Command.RUN in command and not self._busy:
            settings = self._settings
            form = settings["UTILITY_FORM"]
            self._machine.start(
                grid=settings["GRID"],
                states=settings["STATES"],
                mode=Mode(settings["MODE"]),
                sweep_limit=settings["SWEEP_LIMIT"],
                epsilon=settings["EPSILON"],
                constants=UtilityConstants(
                    a=settings["UTILITY_A"],
                    b=settings["UTILITY_B"],
                    negative=bool(form & 1),
                    log=bool(form & 2),
                    shift=form >> 8 & 63,
                ),
            )


def open_model(parameters: MachineParameters, progress: Progress | None = None) -> ModelDevice:
    """Open the software model of a machine of these sizes."""
    from hw.model import SoftwareMachine

    if progress:
        progress("preparing the software model (compiled once, then kept)")
    return ModelDevice(SoftwareMachine(parameters))
