"""The device that needs no board: the bit-exact software model behind the machine's registers and table windows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from host.devices.base import Backend, DeviceError, Progress, check_block, check_words, encoded, register_named
from host.devices.made import OPTIONS, check_options, folded
from hw.parameters import MachineParameters
from hw.registers import IDENTITY, REGISTERS, VERSION, Access, Command, Engine, Mode, Refused, Status, Table
from hw.windows import WindowParameters

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
            "ENGINE": int(Engine.ASSEMBLY_LINE),
            "LANES": 1,
            "FOLD": parameters.fold,
            "EVALUATORS": parameters.evaluators,
            "CLOCK_HZ": parameters.clock_hz,
            "GRID_MAX": parameters.grid,
            "STATES_MAX": parameters.states,
            "RESULTS_MAX": parameters.results,
        }
        self._windows = WindowParameters(parameters)
        self._refused = Refused(0)
        self._closed = False
        self._settings = {name: 0 for name, register in REGISTERS.items() if register.access is Access.READ_WRITE}

    def read_register(self, name: str) -> int:
        register_named(name, Access.WRITE)
        self._check_open()
        if name in self._constants:
            return self._constants[name]
        if name in self._settings:
            return self._settings[name]
        machine = self._machine
        counters = {
            "STATUS": machine.status,
            "REFUSED": self._refused,
            "CLOCKS": machine.clocks,
            "SWEEPS": machine.sweeps,
            "STATES_DONE": machine.states_done,
            "NORM": machine.norm,
        }
        return int(counters[name])

    def write_register(self, name: str, value: int) -> None:
        encoded(register_named(name, Access.READ), value)
        self._check_open()
        if name == "COMMAND":
            self._command(Command(value & sum(Command)))
            return
        self._check_idle(f"register {name}", Refused.REGISTER)
        self._settings[name] = value

    def write_block(self, table: Table, first: int, words: NDArray[np.int64]) -> None:
        check_words(words)
        self._check_open()
        check_block(self._windows, table, first, words.size, writing=True)
        self._check_idle(f"table {table.name}", Refused.TABLE)
        window = self._window(table)
        window[first : first + words.size] = words.view(window.dtype)

    def read_block(self, table: Table, first: int, count: int) -> NDArray[np.int64]:
        self._check_open()
        check_block(self._windows, table, first, count, writing=False)
        self._check_idle(f"table {table.name}", Refused(0))
        part = self._window(table)[first : first + count]
        return part.view(np.int64).copy() if part.itemsize == 8 else part.astype(np.int64)

    def wait(self, seconds: float) -> bool:
        self._check_open()
        end = time.monotonic() + seconds
        while self._busy and not self._machine.step() and time.monotonic() < end:
            pass
        return not self._busy

    def close(self) -> None:
        """Let go of the model. Closing twice is no error; any other use after it raises ``DeviceError``."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise DeviceError(f"device {self.name!r} is closed")

    @property
    def _busy(self) -> bool:
        return bool(self._machine.status & Status.BUSY)

    def _check_idle(self, what: str, flag: Refused) -> None:
        if self._busy:
            self._refused |= flag
            raise DeviceError(f"device {self.name!r} is busy and keeps {what} to itself")

    def _window(self, table: Table) -> NDArray[Any]:
        machine = self._machine
        windows = {
            Table.X: machine.x,
            Table.W: machine.w,
            Table.Q: machine.q,
            Table.V: machine.v,
            Table.POLICY: machine.policy,
        }
        return windows[table].reshape(-1)

    def _command(self, command: Command) -> None:
        if Command.RESET in command:
            self._machine.reset()
            self._refused = Refused(0)
            return
        if Command.STOP in command and self._busy:
            self._machine.stop()
        if Command.RUN in command and not self._busy:
            # Here, because it compiles: a list of devices needs it not.
            from hw.utility import UtilityConstants

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


def open_model(
    parameters: MachineParameters | None,
    progress: Progress | None = None,
    *,
    fold: int | None = None,
    evaluators: int | None = None,
) -> ModelDevice:
    """Open the software model of a machine of these sizes, by default the largest that the papers solve."""
    from hw.model import SoftwareMachine

    if progress:
        progress("preparing the software model (compiled once, then kept)")
    return ModelDevice(SoftwareMachine(folded(parameters or MachineParameters(), fold, evaluators)))


BACKEND = Backend(
    description="the bit-exact software model, compiled",
    missing=lambda: "",
    open=open_model,
    options=OPTIONS,
    elastic=True,
    check=check_options,
)
